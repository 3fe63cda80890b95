import { createInterface } from "node:readline/promises";
import type { DureClient, MessageRequest } from "../client/index.ts";
import { DureError } from "../kernel/errors.ts";
import type { Done } from "../kernel/turn-events.ts";
import { EXIT, isTerminal, type ExitCode, type Output } from "./output.ts";

export interface ChatOptions {
  readonly client: DureClient;
  readonly output: Output;
  readonly session: string;
  readonly service: string | undefined;
}

/** One message, its answer, the end. The exit code is 1 when the turn ended in an error. */
export async function chatOnce(message: string, options: ChatOptions): Promise<ExitCode> {
  const done = await sendTurn({ message }, options);
  return done.error ? EXIT.failed : EXIT.ok;
}

/**
 * Messages line by line, from a person or a pipe, until the end of input. While an answer comes,
 * ctrl-C stops the turn; at the prompt it leaves. Buttons are offered by number.
 */
export async function chatLoop(options: ChatOptions): Promise<ExitCode> {
  const { output } = options;
  const { stdin, stdout } = output.streams;
  const isPerson = isTerminal(stdin) && output.isTerminal;
  const lines = createInterface({
    input: stdin,
    output: isPerson ? stdout : undefined,
    terminal: isPerson,
    prompt: "> ",
  });
  const stop = new StopOnInterrupt(options.client, output, () => lines.close());
  lines.on("SIGINT", () => stop.interrupt());
  if (isPerson) output.note(`Session ${options.session}. An empty line or ctrl-D leaves.`);

  let last: Done | undefined;
  let failed = false;
  if (isPerson) lines.prompt();
  for await (const line of lines) {
    if (line.trim() === "") {
      if (isPerson) break;
      continue;
    }
    try {
      last = await sendTurn(messageFor(line, last), options, stop);
      failed = last.error !== undefined;
    } catch (error) {
      output.error(error);
      failed = true;
      if (!isPerson) break;
    }
    if (isPerson) lines.prompt();
  }
  lines.close();
  return failed && !isPerson ? EXIT.failed : EXIT.ok;
}

/** A number chooses a button; the confirm button says what it was bound to. Pure. */
export function messageFor(
  line: string,
  last: Done | undefined,
): Pick<MessageRequest, "message" | "confirmId"> {
  const buttons = last?.uiHint?.buttons ?? [];
  const index = /^\d{1,2}$/.test(line.trim()) ? Number(line.trim()) - 1 : -1;
  const label = buttons[index];
  if (label === undefined) return { message: line };
  const confirmId =
    index === 0 && last?.nextAction === "CONFIRM" ? last.uiHint?.confirmId : undefined;
  return { message: label, ...(confirmId !== undefined && { confirmId }) };
}

/** Ctrl-C: the turn if one runs, else the chat. A second one during the stop leaves. */
class StopOnInterrupt {
  turnId: string | undefined;
  readonly #client: DureClient;
  readonly #output: Output;
  readonly #leave: () => void;
  #asked = false;

  constructor(client: DureClient, output: Output, leave: () => void) {
    this.#client = client;
    this.#output = output;
    this.#leave = leave;
  }

  begin(turnId: string | undefined): void {
    this.turnId = turnId;
    this.#asked = false;
  }

  interrupt(): void {
    if (this.turnId === undefined || this.#asked) return this.#leave();
    this.#asked = true;
    this.#client.stopTurn(this.turnId).catch((error: unknown) => this.#output.error(error));
  }
}

async function sendTurn(
  message: Pick<MessageRequest, "message" | "confirmId">,
  options: ChatOptions,
  stop?: StopOnInterrupt,
): Promise<Done> {
  const { client, output, session, service } = options;
  const turn = client.sendMessage({
    ...message,
    sessionId: session,
    ...(service !== undefined && { service }),
  });
  void turn.turnId.then((id) => stop?.begin(id)).catch(() => {}); // the error arrives by the loop below
  let shown = "";
  try {
    for await (const frame of turn) {
      if (frame.type === "AGENT_START" && frame.data.restart) {
        if (shown !== "") output.line();
        output.note(`${frame.data.label}: begins again after an interruption`);
        shown = "";
      } else if (frame.type === "AGENT_START" && output.isTerminal) {
        output.note(frame.data.label);
      } else if (frame.type === "LLM_TOKEN") {
        output.write(frame.data);
        shown += frame.data;
      } else if (frame.type === "TASK_PROGRESS") {
        output.note(`${frame.data.index}/${frame.data.total}`);
      }
    }
    const done = await turn.done;
    if (shown !== "") output.line();
    if (shown.trim() !== done.message.trim()) output.line(done.message);
    if (done.error) output.note(`${done.error.code}: ${done.error.message}`);
    for (const [index, label] of (done.uiHint?.buttons ?? []).entries()) {
      output.line(`  ${index + 1}) ${label}`);
    }
    output.result({ sessionId: session, turnId: await turn.turnId, interaction: done });
    return done;
  } finally {
    stop?.begin(undefined);
  }
}

/** Session ids are 1–200 characters of `[A-Za-z0-9._:@-]`. Source: docs/spec/conversation §6. */
export function assertSession(session: string): string {
  if (/^[A-Za-z0-9._:@-]{1,200}$/.test(session)) return session;
  throw new DureError("SESSION_INVALID", `"${session}" cannot be a session's id.`, {
    class: "input",
    hint: "Use 1 to 200 letters, digits or . _ : @ -",
  });
}
