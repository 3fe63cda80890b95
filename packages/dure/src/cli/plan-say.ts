import { systemClock } from "../kernel/clock.ts";
import { isPortOver } from "../kernel/plans.ts";
import type { ChannelMessage, PortDetail, PortWords } from "../client/index.ts";
import { EXIT, type ExitCode } from "./output.ts";
import type { PlansCommand } from "./plans.ts";
import type { CliWords } from "./words/words.ts";

/** Between two looks whether words were read, milliseconds. */
const LOOK_MS = 1_000;

/** How far words of the operator have come. `lost`: their port ended before they were read. */
type ReadState = "sent" | "delivered" | "read" | "lost";

/** `dure plan say`: sends the words; with `wait` it stays until they are read, or never will be. */
export async function sayToPort(
  { run, port }: { readonly run: string; readonly port: string },
  words: PortWords,
  { client, output, wait }: PlansCommand & { readonly wait: boolean | undefined },
): Promise<ExitCode> {
  const { id } = await client.plans.say(run, port, words);
  const look = async (): Promise<ReadState> => readingOf(await client.plans.port(run, port), id);
  let reading = await look();
  const { say } = output.words.plans;
  output.line(`${port}: ${say[reading](words.to)}`);
  while (wait === true && (reading === "sent" || reading === "delivered")) {
    await systemClock.sleep(LOOK_MS);
    const now = await look();
    if (now !== reading) output.line(`${port}: ${say[now](words.to)}`);
    reading = now;
  }
  output.result({ run, port, to: words.to, message: id, state: reading });

  return reading === "lost" ? EXIT.failed : EXIT.ok;
}

/** Words of the operator to members of a port, a line each, oldest first. Pure. */
export function saidLines(port: PortDetail, { say }: CliWords["plans"]): readonly string[] {
  return port.messages.flatMap((message) => {
    const text = operatorText(message);
    if (text === undefined) return [];
    const reading = readingOf(port, message.id);

    return [`  > "${text.slice(0, 200)}" — ${say[reading](message.to)}`];
  });
}

function operatorText({ from, type, payload }: ChannelMessage): string | undefined {
  if (from !== "operator" || type !== "feedback") return undefined;
  const { text } = (payload ?? {}) as { readonly text?: unknown };

  return typeof text === "string" ? text.replaceAll("\n", " ") : undefined;
}

/** Pure. */
function readingOf({ status, messages }: PortDetail, id: number): ReadState {
  const message = messages.find((one) => one.id === id);
  if (message?.processedAt != null) return "read";
  if (isPortOver(status)) return "lost";

  return message?.deliveredAt == null ? "sent" : "delivered";
}
