import { codeOf } from "../kernel/errors.ts";
import { EXIT, type Streams } from "./output.ts";

type OutputStreams = Pick<Streams, "stdout" | "stderr">;

/** Commands that work on when what they say is no longer read. */
const OUTLIVING = new Set(["start", "dev"]);

/**
 * Ends the process well when the reader of its output has gone, as `dure events | head -3` does. A
 * server goes on without a reader.
 */
export function endWithReader({
  stdout,
  stderr,
  argv,
}: OutputStreams & { argv: readonly string[] }): void {
  const command = argv.slice(2).find((word) => !word.startsWith("-"));
  const goesOn = command !== undefined && OUTLIVING.has(command);

  for (const stream of [stdout, stderr]) {
    stream.on("error", (error) => {
      if (codeOf(error) !== "EPIPE") throw error;
      if (!goesOn) process.exit(process.exitCode ?? EXIT.ok);
    });
  }
}
