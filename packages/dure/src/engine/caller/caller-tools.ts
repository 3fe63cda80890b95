import { DureError } from "../../kernel/errors.ts";
import type { ToolChoice, ToolSpec } from "../../models/model.ts";
import { schemaFault } from "../../models/tool-arguments.ts";

/**
 * Tools that the one who asks has, beside those of the agent. A call of one ends the turn
 * (`Done.calls`); its result begins the next one. Source: docs/spec/conversation §4.
 */
export interface CallerTools {
  readonly tools: readonly ToolSpec[];
  /** Counts for the turn's first call of the model. Default `auto`. */
  readonly choice?: ToolChoice | undefined;
  /** Of several calls at once the first one alone counts. */
  readonly oneAtATime?: boolean | undefined;
  /** What the calls gave that the session waits for: one of each. */
  readonly results?: readonly CallerResult[] | undefined;
}

/** What a call of a caller's tool gave: text of others. */
export interface CallerResult {
  /** As in `Done.calls`. */
  readonly callId: string;
  readonly output: string;
}

/** Source: docs/spec/conversation §4. */
export const CALLER_LIMITS = {
  tools: 128,
  descriptionBytes: 4_096,
  schemaBytes: 32_768,
  /** Of all tools together. They are stored with the message. */
  toolBytes: 131_072,
  /** Of one step of the model. */
  callsAtOnce: 32,
  argumentBytes: 65_536,
  /** Of all results together; of each the model reads 64 KiB. */
  resultBytes: 262_144,
  /** Turns of one question that end with calls. */
  rounds: 32,
  /** Of all that was said since the question. It is stored with the session. */
  saidBytes: 524_288,
  /** How long a call stays open. An answer may be asked for again for as long. */
  openMs: 86_400_000,
} as const;

/** As every provider wants it. */
const TOOL_NAME = /^[a-zA-Z0-9_-]{1,64}$/;

/** Throws what is wrong with the tools and results of a request. Pure. */
export function checkCallerTools({ tools, results = [] }: CallerTools): void {
  if (tools.length > CALLER_LIMITS.tools) {
    throw refused(`There are ${tools.length} tools; ${CALLER_LIMITS.tools} are allowed.`);
  }
  for (const tool of tools) checkTool(tool);
  const names = tools.map(({ name }) => name);
  const twice = names.find((name, index) => names.indexOf(name) !== index);
  if (twice !== undefined) throw refused(`Two tools are called "${twice}".`);
  checkBytes("The tools have", bytesOf(tools), CALLER_LIMITS.toolBytes);
  checkBytes("The results have", bytesOf(results), CALLER_LIMITS.resultBytes);
}

function checkTool({ name, description = "", inputSchema }: ToolSpec): void {
  if (!TOOL_NAME.test(name)) {
    throw refused(`"${name.slice(0, 80)}" cannot be the name of a tool.`);
  }
  const { descriptionBytes, schemaBytes } = CALLER_LIMITS;
  checkBytes(`The description of ${name} has`, Buffer.byteLength(description), descriptionBytes);
  const fault = schemaFault(inputSchema);
  if (fault !== undefined) throw refused(`The schema of ${name} ${fault}.`);
  checkBytes(`The schema of ${name} has`, bytesOf(inputSchema), schemaBytes);
}

function checkBytes(what: string, bytes: number, most: number): void {
  if (bytes > most) throw refused(`${what} ${bytes} bytes; ${most} are allowed.`);
}

export function bytesOf(value: unknown): number {
  return Buffer.byteLength(JSON.stringify(value));
}

function refused(message: string): DureError {
  return new DureError("CALLER_TOOLS_INVALID", message, {
    class: "input",
    hint: "Send fewer or shorter tools: a name of 1 to 64 of a-z A-Z 0-9 _ - and a JSON Schema.",
  });
}

/** A handler decides what is done; see docs/spec/interop §3. */
export function takesNoCallerTools(service: string): DureError {
  return new DureError("NOT_SPOKEN", `${service} takes no tools of its caller.`, {
    class: "input",
    hint: "It is a service: its handler decides what is done. Agents of the team take them.",
    details: { errors: [{ field: "tools", message: "are not taken" }] },
  });
}

/** A tool of the agent would be hidden, or the caller's. */
export function nameTaken(name: string, service: string): DureError {
  return new DureError("TOOL_NAME_TAKEN", `${service} has a tool "${name}" of its own.`, {
    class: "conflict",
    hint: "Give yours another name.",
  });
}

const CALL_ID = /^call_([0-9A-Z]{26})_(\d{1,3})$/;

/** Pure. */
export function callIdOf(turn: string, index: number): string {
  return `call_${turn.replace(/^turn_/, "")}_${index}`;
}

/** The turn that has handed out a call; undefined: no id of ours. Pure. */
export function turnOfCall(callId: string): string | undefined {
  const ulid = CALL_ID.exec(callId)?.[1];
  return ulid && `turn_${ulid}`;
}
