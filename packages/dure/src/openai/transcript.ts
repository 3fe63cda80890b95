import { turnOfCall, type CallerResult } from "../engine/caller/caller-tools.ts";
import { MAX_MESSAGE_FILES } from "../kernel/files.ts";
import type { Upload } from "../server/uploads.ts";
import { fieldError } from "../server/problem.ts";

/** One thing in the dialogue that a request tells. */
export type ChatTranscriptEntry =
  | {
      readonly kind: "words";
      readonly role: string;
      readonly text: string;
      readonly files?: readonly Upload[] | undefined;
    }
  | { readonly kind: "call"; readonly callId: string; readonly name: string; readonly args: string }
  | { readonly kind: "result"; readonly callId: string; readonly text: string }
  /** An answer of ours that is named, not told. */
  | { readonly kind: "reference"; readonly id: string };

/** What a request asks, of all that it tells. */
export interface TranscriptRequest {
  /** Empty where results are brought. */
  readonly message: string;
  readonly results: readonly CallerResult[] | undefined;
  /** What is asked carries them; where the session does not remember the rest, those of the rest too. */
  readonly files: readonly Upload[];
  /** Told to the agents as quoted data of this turn alone. */
  readonly before: readonly ChatTranscriptEntry[];
}

/**
 * The last message, or the results of the last calls. What stands before is told as background: of
 * a session that goes on the caller's instructions alone, for it remembers the rest. Pure.
 */
export function askedBy(
  said: readonly ChatTranscriptEntry[],
  field: string,
  goesOn: boolean,
): TranscriptRequest {
  const last = said.at(-1);
  if (last?.kind === "result") return askedByResults(said, last.callId, goesOn);
  if (last?.kind !== "words" || last.role !== "user") {
    const message = "does not end with a message of the user or with results of tools";
    throw fieldError("REQUEST_INVALID", field, message);
  }
  const earlier = said.slice(0, -1);
  const before = goesOn ? [...earlier.filter(isInstruction), ...resultsBefore(earlier)] : earlier;

  const files = goesOn ? (last.files ?? []) : said.flatMap(filesOf).slice(-MAX_MESSAGE_FILES);

  return { message: last.text, results: undefined, files, before };
}

/**
 * The session of the calls remembers its question. What was told before that question came with it
 * as background, and is told again.
 */
function askedByResults(
  said: readonly ChatTranscriptEntry[],
  callId: string,
  goesOn: boolean,
): TranscriptRequest {
  const turn = turnOfCall(callId);
  const results = said.flatMap((one) =>
    one.kind === "result" && turnOfCall(one.callId) === turn
      ? [{ callId: one.callId, output: one.text }]
      : [],
  );
  const question = said.findLastIndex((one) => one.kind === "words" && one.role === "user");
  const earlier = goesOn ? [] : said.slice(0, Math.max(question, 0));
  const instructions = said.slice(earlier.length).filter(isInstruction);

  return { message: "", results, files: [], before: [...earlier, ...instructions] };
}

function filesOf(said: ChatTranscriptEntry): readonly Upload[] {
  return said.kind === "words" ? (said.files ?? []) : [];
}

/** Results that came with a message: the session has them from nowhere else. */
function resultsBefore(earlier: readonly ChatTranscriptEntry[]): readonly ChatTranscriptEntry[] {
  const words = earlier.findLastIndex((one) => one.kind === "words" && !isInstruction(one));
  const tail = earlier.slice(words + 1).filter((one) => !isInstruction(one));
  return tail.some(({ kind }) => kind === "result") ? tail : [];
}

function isInstruction(said: ChatTranscriptEntry): boolean {
  return said.kind === "words" && (said.role === "system" || said.role === "developer");
}

/** Characters of an earlier result that are told again. */
const RESULT_TOLD = 2_000;

/** The background as the agents read it. Pure. */
export function backgroundOf(before: readonly ChatTranscriptEntry[]): string | undefined {
  const names = new Map(before.flatMap((one) => (one.kind === "call" ? [nameOf(one)] : [])));
  const told = before.flatMap((one) => toldAs(one, names)).join("\n\n");
  return told === "" ? undefined : told;
}

function nameOf({
  callId,
  name,
}: Extract<ChatTranscriptEntry, { kind: "call" }>): [string, string] {
  return [callId, name];
}

function toldAs(one: ChatTranscriptEntry, names: ReadonlyMap<string, string>): readonly string[] {
  if (one.kind === "words") return [`${one.role}: ${one.text}`];
  if (one.kind === "call") return [`assistant called ${one.name}: ${one.args}`];
  if (one.kind === "reference") return [];
  return [`result of ${names.get(one.callId) ?? "a tool"}: ${shortened(one.text)}`];
}

function shortened(text: string): string {
  return text.length > RESULT_TOLD ? `${text.slice(0, RESULT_TOLD).toWellFormed()} [cut]` : text;
}
