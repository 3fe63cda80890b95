import { DureError } from "../../kernel/errors.ts";
import type { FileRef } from "../../kernel/files.ts";
import type { DoneCall } from "../../kernel/turn-events.ts";
import type { ModelMessage } from "../../models/model.ts";
import { bounded } from "../agent/bounded.ts";
import { EMPTY_MEMORY, remember, withDeeds, type Memory } from "../agent/memory.ts";
import type { AgentWork } from "../agent/work.ts";
import type { TurnFacts } from "../turn/turn-context.ts";
import { CALLER_LIMITS, type CallerResult } from "./caller-tools.ts";

/** What an agent leaves that has called tools of the caller. */
export interface HandedCalls {
  readonly calls: readonly DoneCall[];
  /** The provider's ids of the calls, in their order. */
  readonly providerIds: readonly string[];
  /** What was said between the person's message and the results. */
  readonly said: readonly ModelMessage[];
  /** Who has called: `service/agent`. */
  readonly agent?: string | undefined;
}

/** Calls that a turn of the session has handed to its caller; part of the session's memory. */
export interface HandedOut {
  /** The turn that has ended with them. */
  readonly turn: string;
  readonly service: string;
  /** When the turn was accepted, milliseconds. */
  readonly at: number;
  /** Turns of this question that have ended with calls. */
  readonly rounds: number;
  /** Turns that took the results and failed: the results may be sent again. */
  readonly failures: number;
  /** Absent: the results have come. */
  readonly open?: (HandedCalls & HandedQuestion) | undefined;
}

/** What a person has said. */
interface HandedQuestion {
  readonly message: string;
  readonly files?: readonly FileRef[] | undefined;
}

export type OpenCalls = NonNullable<HandedOut["open"]>;

/** What a turn leaves that has ended as its handler says, or with an error. */
interface TurnEnd {
  readonly turn: string;
  readonly service: string;
  /** When it was accepted, milliseconds. */
  readonly at: number;
  readonly message: string;
  readonly files: readonly FileRef[];
  /** It takes the results of open calls. */
  readonly continues: boolean;
  readonly answer: string;
  /** What agents have done in it. */
  readonly work: readonly AgentWork[];
  readonly calls: HandedCalls | undefined;
  readonly failed: boolean;
}

/** Whether results are those that the session waits for. Pure. Source: docs/spec/conversation §4. */
export function refusalOfResults(
  handed: HandedOut | undefined,
  results: readonly CallerResult[],
  now: { readonly service: string | undefined; readonly at: number },
): DureError | undefined {
  const ids = results.map(({ callId }) => callId);
  const isOfTurn = handed !== undefined && ids.every((id) => isCallOf(handed.turn, id));
  if (!isOfTurn) return closed();
  if (now.at - handed.at > CALLER_LIMITS.openMs) return expired();
  if (now.service !== undefined && now.service !== handed.service) {
    return invalid(`The calls were made by ${handed.service}.`);
  }
  if (new Set(ids).size !== ids.length) return invalid("A call has two results.");
  const missing = handed.open?.calls.find(({ callId }) => !ids.includes(callId));
  if (missing) return invalid(`The result of the call ${missing.callId} is missing.`);
  const known = handed.open?.calls.map(({ callId }) => callId) ?? ids;
  const unknown = ids.find((id) => !known.includes(id));
  return unknown === undefined ? undefined : invalid(`There is no call ${unknown}.`);
}

function isCallOf(turn: string, callId: string): boolean {
  return callId.startsWith(`call_${turn.replace(/^turn_/, "")}_`);
}

export function closed(): DureError {
  return new DureError("TOOL_CALL_CLOSED", "The session does not wait for these results.", {
    class: "conflict",
    hint: "They were given already, or another message came instead. Ask anew.",
  });
}

function expired(): DureError {
  return new DureError("TOOL_CALL_EXPIRED", "The results of the calls come too late.", {
    class: "conflict",
    hint: "A call stays open for 24 h. Ask anew.",
  });
}

function invalid(message: string): DureError {
  return new DureError("TOOL_RESULT_INVALID", message, {
    class: "input",
    hint: "Send one result for each call of the last answer, to the model that has asked.",
  });
}

/** The results as the model reads them: each in its call's place. Pure. */
export function resultMessages(
  open: OpenCalls,
  results: readonly CallerResult[],
): readonly ModelMessage[] {
  return open.calls.map(({ callId, tool }, index) => ({
    role: "tool",
    callId: open.providerIds[index] ?? callId,
    name: tool,
    result: bounded(results.find((result) => result.callId === callId)?.output ?? ""),
  }));
}

/**
 * The memory with which a turn begins: a person that says something else has left the calls that
 * were open. What dure itself says in between leaves them open. Pure.
 */
export function memoryAtStart(
  stored: Partial<Memory>,
  turn: { readonly leavesCalls: boolean },
): Partial<Memory> {
  const { handedOut, ...memory } = stored;
  if (!turn.leavesCalls || handedOut === undefined) return stored;
  const { open } = handedOut;
  const rest = { ...EMPTY_MEMORY, ...memory };
  if (open === undefined) return rest;
  const { agent = "", said, message, files } = open;
  const answer = { content: leftText(open), work: [{ agent, messages: said }] };
  return remember(rest, message, answer, files);
}

function leftText({ calls }: OpenCalls): string {
  const names = [...new Set(calls.map(({ tool }) => tool))].join(", ");
  return `[Asked the caller for ${names}. No result came.]`;
}

/** What is remembered of a turn: of a question that waits for results nothing yet. Pure. */
export function memoryAfter(memory: Memory, end: TurnEnd): Memory {
  const { calls, continues, failed, answer, work } = end;
  if (calls && !failed) return withCalls(memory, calls, end);
  if (continues && failed) return withFailure(memory, work);

  const said = { content: answer, work };
  return remember(withAnswered(memory, end), questionOf(memory, end), said, filesOf(memory, end));
}

/** What the person has said last: results are no words of a person. Pure. */
export function questionOf(
  { handedOut }: Memory,
  { continues, message }: Pick<TurnEnd, "continues" | "message">,
): string {
  return continues ? (handedOut?.open?.message ?? message) : message;
}

/** What it carried. Pure. */
export function filesOf(
  { handedOut }: Memory,
  { continues, files }: Pick<TurnEnd, "continues" | "files">,
): readonly FileRef[] {
  return continues ? (handedOut?.open?.files ?? files) : files;
}

/** What the person's last words carried, as a turn begins. Pure. */
export function filesAsked(
  memory: Memory,
  { callerTools, files }: Pick<TurnFacts, "callerTools" | "files">,
): readonly FileRef[] {
  return filesOf(memory, { continues: callerTools?.results !== undefined, files });
}

function withCalls(memory: Memory, calls: HandedCalls, end: TurnEnd): Memory {
  const { turn, service, at } = end;
  const before = end.continues ? memory.handedOut : undefined;
  const files = filesOf(memory, end);
  const asked = { message: questionOf(memory, end), files: files.length > 0 ? files : undefined };
  const open = { ...calls, ...asked };
  return {
    ...memory,
    handedOut: { turn, service, at, rounds: (before?.rounds ?? 0) + 1, failures: 0, open },
  };
}

/** The same results once more are the same turn, so it is kept which calls they were for. Pure. */
export function withAnswered(memory: Memory, { continues }: Pick<TurnEnd, "continues">): Memory {
  const { handedOut } = memory;
  if (!continues || handedOut === undefined) return memory;
  return { ...memory, handedOut: { ...handedOut, open: undefined } };
}

/** The results may be sent again. What was done with them stays known. */
function withFailure(memory: Memory, work: readonly AgentWork[]): Memory {
  const { handedOut } = memory;
  if (handedOut?.open === undefined) return memory;
  const deeds = withDeeds(
    memory,
    work.flatMap((one) => one.deeds ?? []),
  );
  return { ...deeds, handedOut: { ...handedOut, failures: handedOut.failures + 1 } };
}
