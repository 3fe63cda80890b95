import { createInterface } from "node:readline/promises";
import type { DureClient, MessageRequest, TurnFrame } from "../client/index.ts";
import { DureError } from "../kernel/errors.ts";
import { pathOfFile } from "../client/client.ts";
import { fileLine } from "../kernel/files.ts";
import type { AgentStart, Done } from "../kernel/turn-events.ts";
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
  if (isPerson) output.note(output.words.admin.chat.session(options.session));

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

/** A number chooses a button, which says what it was bound to. Pure. */
export function messageFor(
  line: string,
  last: Done | undefined,
): Pick<MessageRequest, "message" | "confirmId"> {
  const buttons = last?.uiHint?.buttons ?? [];
  const index = /^\d{1,2}$/.test(line.trim()) ? Number(line.trim()) - 1 : -1;
  const label = buttons[index];
  if (label === undefined) return { message: line };

  const confirmId = last?.uiHint?.confirmId;

  return confirmId === undefined ? { message: label } : { message: label, confirmId };
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
  const request = { ...message, sessionId: session };
  const turn = client.sendMessage(service === undefined ? request : { ...request, service });
  void turn.turnId.then((id) => stop?.begin(id)).catch(() => {}); // the error arrives by the loop below
  const said = new ShownAnswer(output);

  try {
    for await (const frame of turn) said.show(frame);
    const done = await turn.done;
    said.end(done);
    for (const file of done.files ?? []) {
      output.line(`  ${fileLine(file)}: ${pathOfFile(file.id)}`);
    }
    output.result({ sessionId: session, turnId: await turn.turnId, interaction: done });
    return done;
  } finally {
    stop?.begin(undefined);
  }
}

/** Prints an answer as it comes. */
class ShownAnswer {
  readonly #output: Output;
  /** What stands on the screen. */
  #text = "";

  constructor(output: Output) {
    this.#output = output;
  }

  show(frame: TurnFrame): void {
    if (frame.type === "AGENT_START") this.#start(frame.data);
    else if (frame.type === "LLM_TOKEN") this.#say(frame.data);
    else if (frame.type === "TOOL_START" && this.#output.isTerminal) {
      this.#output.note(frame.data.tool);
    } else if (frame.type === "TASK_PROGRESS") {
      this.#output.note(`${frame.data.index}/${frame.data.total}`);
    }
  }

  #say(token: string): void {
    this.#output.write(token);
    this.#text += token;
  }

  #start({ label, restart }: AgentStart): void {
    if (restart) {
      if (this.#text !== "") this.#output.line();
      this.#output.note(this.#output.words.admin.chat.again(label));
      this.#text = "";
    } else if (this.#output.isTerminal) {
      this.#output.note(label);
    }
  }

  /** Prints what was not said yet: another wording, an error, the buttons. */
  end({ message, error, uiHint }: Done): void {
    if (this.#text !== "") this.#output.line();
    if (this.#text.trim() !== message.trim()) this.#output.line(message);
    if (error) this.#output.note(`${error.code}: ${this.#output.words.reason(error)}`);
    for (const [index, label] of (uiHint?.buttons ?? []).entries()) {
      this.#output.line(`  ${index + 1}) ${label}`);
    }
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
