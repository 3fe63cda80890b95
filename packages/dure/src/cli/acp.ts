import { Readable, Writable } from "node:stream";
import { ndJsonStream } from "@agentclientprotocol/sdk";
import { AcpAgent, type AcpAgentOptions } from "../acp-agent/acp-agent.ts";
import { systemClock } from "../kernel/clock.ts";
import { DURE_VERSION } from "../team/version.ts";
import { EXIT, type ExitCode, type Streams } from "./output.ts";

/** Bytes of one message of the editor. */
const MAX_MESSAGE = 1_048_576;

/** Serves the team to an editor over standard input and output until it closes them. */
export async function serveAcp(
  { connect, task }: Pick<AcpAgentOptions, "connect" | "task">,
  { stdin, stdout }: Streams,
): Promise<ExitCode> {
  const stream = ndJsonStream(
    Writable.toWeb(stdout),
    Readable.toWeb(stdin) as ReadableStream<Uint8Array>,
    {
      maxMessageBytes: MAX_MESSAGE,
    },
  );
  const served = new AcpAgent({ connect, task, clock: systemClock, version: DURE_VERSION });
  await served.app().connect(stream).closed;

  return EXIT.ok;
}
