import { fileLine } from "../../kernel/files.ts";
import type { ModelMessage, ModelRequest } from "../../models/model.ts";
import { estimateRequestTokens } from "../../models/prices.ts";
import { shortened } from "./kept-result.ts";
import { callLines, doneNote, newestDeeds } from "./work.ts";

/** Bytes that stay of a result: of the history, of earlier rounds of the turn, and of the last one. */
const RESULT_BYTES = { history: 600, earlier: 2_000, last: 6_000 } as const;

type Messages = readonly ModelMessage[];

/**
 * A request of at most so many estimated tokens, as far as that is possible; one that fits stays as
 * it is. First results of the history become short, then its oldest exchanges go, with a line for
 * each of their calls; then results of this turn become short. Calls and results stay together.
 * Pure.
 *
 * @param turnFrom where this turn's messages begin: these never go. Default: the last of the person.
 */
export function fitRequest(
  request: ModelRequest,
  most: number,
  turnFrom = lastOfPerson(request.messages),
): ModelRequest {
  for (const messages of shorterAndShorter(request.messages, turnFrom)) {
    const shorter = messages === request.messages ? request : { ...request, messages };
    if (estimateRequestTokens(shorter) <= most) return shorter;
  }
  return { ...request, messages: shortest(request.messages, turnFrom) };
}

/** Whether something of a request can go at all. Pure. */
export function canShrink({ messages }: ModelRequest, turnFrom?: number): boolean {
  const from = turnFrom ?? lastOfPerson(messages);
  return sizeOf(shortest(messages, from)) < sizeOf(messages);
}

function* shorterAndShorter(messages: Messages, turnFrom: number): Generator<Messages> {
  const history = messages.slice(0, turnFrom);
  const turn = messages.slice(turnFrom);
  const short = withShortResults(history, RESULT_BYTES.history);
  yield messages;
  yield [...short, ...turn];
  for (const cut of exchangesOf(history)) yield [...withoutOldest(short, cut), ...turn];
  const rest = withoutOldest(short, history.length);
  const last = lastRoundOf(turn);
  yield [
    ...rest,
    ...withShortResults(turn.slice(0, last), RESULT_BYTES.earlier),
    ...turn.slice(last),
  ];
  yield shortest(messages, turnFrom);
}

function shortest(messages: Messages, turnFrom: number): Messages {
  const short = withShortResults(messages.slice(0, turnFrom), RESULT_BYTES.history);
  const turn = messages.slice(turnFrom);
  const last = lastRoundOf(turn);
  return [
    ...withoutOldest(short, turnFrom),
    ...withShortResults(turn.slice(0, last), RESULT_BYTES.earlier),
    ...withShortResults(turn.slice(last), RESULT_BYTES.last),
  ];
}

function withShortResults(messages: Messages, most: number): Messages {
  return messages.map((message) => (message.role === "tool" ? shortened(message, most) : message));
}

/** Where an exchange of the history ends: what begins there may be the first that stays. */
function exchangesOf(history: Messages): readonly number[] {
  return history.flatMap(({ role }, index) => (role === "user" && index > 0 ? [index] : []));
}

/** Of what goes, each call and each file keeps a line. */
function withoutOldest(history: Messages, cut: number): Messages {
  const gone = history.slice(0, cut);
  const lines = callLines({ agent: "", messages: gone });
  return [...fileNote(gone), ...doneNote(newestDeeds(lines)), ...history.slice(cut)];
}

/** Files of which a request tells that they were there. */
const TOLD_FILES = 20;

function fileNote(gone: Messages): Messages {
  const files = gone.flatMap((one) => (one.role === "user" ? (one.files ?? []) : []));
  if (files.length === 0) return [];
  const lines = files.slice(-TOLD_FILES).map((file) => `[File ${fileLine(file)}: sent long ago]`);
  return [{ role: "user", text: lines.join("\n") }];
}

/** Where the calls of the last round stand; the end, where there are none. */
function lastRoundOf(turn: Messages): number {
  const last = turn.findLastIndex((one) => one.role === "assistant" && one.toolCalls !== undefined);
  return last < 0 ? turn.length : last;
}

function lastOfPerson(messages: Messages): number {
  return Math.max(
    messages.findLastIndex(({ role }) => role === "user"),
    0,
  );
}

function sizeOf(messages: Messages): number {
  return estimateRequestTokens({ messages });
}
