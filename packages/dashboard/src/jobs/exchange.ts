import type { Job, JobDetail, JobTurn, JobWords } from "dure/client";

/** One line of an exchange, in the order in which they were heard. */
export type ExchangeLine =
  | { readonly kind: "request" }
  | { readonly kind: "turn"; readonly turn: JobTurn }
  | { readonly kind: "words"; readonly words: JobWords };

/**
 * The request, then each turn behind the words of persons that reached it, then words that wait for
 * the next turn. Pure.
 */
export function linesOf({
  turns,
  words,
}: Pick<JobDetail, "turns" | "words">): readonly ExchangeLine[] {
  const heard = (number: number | null): ExchangeLine[] =>
    words.filter(({ turn }) => turn === number).map((one) => ({ kind: "words", words: one }));
  const last = turns.at(-1)?.number ?? 0;
  const coming = words
    .filter(({ turn }) => turn === null || turn > last)
    .map((one): ExchangeLine => ({ kind: "words", words: one }));

  return [
    { kind: "request" },
    ...turns.flatMap((turn): ExchangeLine[] => [...heard(turn.number), { kind: "turn", turn }]),
    ...coming,
  ];
}

/** Who speaks next: the target in odd turns. Pure. */
export function nextSpeaker(job: Pick<Job, "turnsDone" | "target" | "requester">): string {
  return job.turnsDone % 2 === 0 ? job.target : job.requester;
}

export function nameIn(
  job: Pick<Job, "target" | "targetName" | "requester" | "requesterName">,
  agent: string,
): string {
  return agent === job.target
    ? job.targetName
    : agent === job.requester
      ? job.requesterName
      : agent;
}

export interface Spent {
  readonly tokens: number;
  readonly microUsd: number;
  /** Some turn's model has an unknown price. */
  readonly isAtLeast: boolean;
}

/** What the finished turns have used. Pure. */
export function spentOf(turns: readonly JobTurn[]): Spent {
  return {
    tokens: turns.reduce((sum, { tokensIn, tokensOut }) => sum + tokensIn + tokensOut, 0),
    microUsd: turns.reduce((sum, { costMicroUsd }) => sum + (costMicroUsd ?? 0), 0),
    isAtLeast: turns.some(
      ({ costMicroUsd, tokensIn, tokensOut }) => costMicroUsd === null && tokensIn + tokensOut > 0,
    ),
  };
}

/** Longest excerpt, UTF-16 units. */
const LONGEST_EXCERPT = 160;

/** A text in one line, without its markdown; `…` where it is cut. Pure. */
export function excerptOf(text: string): string {
  const line = plainLineOf(text);
  if (line.length <= LONGEST_EXCERPT) return line;
  return `${line.slice(0, LONGEST_EXCERPT - 1).toWellFormed()}…`;
}

/** A text in one line, without its markdown; a `*` that is no emphasis, as in a glob, stays. Pure. */
function plainLineOf(text: string): string {
  return text
    .replaceAll(/!?\[([^\]\n]*)\]\([^)\s]*\)/g, "$1")
    .replaceAll(/\*\*(\S|\S[^\n]*?\S)\*\*(?!\*)/g, "$1")
    .replaceAll(/(?<=^|[\s(])[*_](\S|\S[^\n*_]*\S)[*_](?=$|[\s).,!?:])/gm, "$1")
    .replaceAll(/`+|~{3,}|^\s*(?:[>#*+-]+|\d+\.)\s/gm, "")
    .replaceAll(/\s+/g, " ")
    .trim();
}
