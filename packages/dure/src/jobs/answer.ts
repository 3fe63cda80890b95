import { isAcknowledgement, isBlank, isOneQuestion, similarity } from "./conclusion.ts";
import { cutBytes } from "../kernel/cut-bytes.ts";
import { spokenBy } from "../kernel/quoted-words.ts";
import type { GivenAnswer, JobTurn } from "../wire/jobs.ts";

/** Bytes of an answer. A longer exchange is cut in each of its turns alike. */
export const ANSWER_BYTES = 32_768;
/** From here on two texts of one speaker say the same. Source: docs/spec/jobs §3.5. */
const REPETITION = 0.85;

type SpokenWords = Pick<JobTurn, "speaker" | "text">;

/** What an agent gave to the tool `finish`. */
export interface FinishedExchange {
  readonly by: string | null;
  readonly text: string;
}

export interface AnswerFacts {
  readonly target: string;
  /** Finished turns in their order, the newest last. */
  readonly turns: readonly SpokenWords[];
  /** In one of these turns. */
  readonly finished?: FinishedExchange | undefined;
  /** Display name of an agent. */
  readonly nameOf: (agent: string) => string;
}

/**
 * What an exchange has answered so far; null as long as the target has said nothing. Pure; the first
 * rule that applies wins. Source: docs/spec/jobs §3.6.
 *
 * 1. What was given to `finish`.
 * 2. The only message of the target, or the only one that answers (`isAnswer`).
 * 3. The whole exchange in its order: no rule knows which of several messages is the answer.
 */
export function decideAnswer({ target, turns, finished, nameOf }: AnswerFacts): GivenAnswer | null {
  if (finished) return { how: "finish", by: finished.by, text: finished.text };

  const said = turns.filter(({ text }) => !isBlank(text));
  const ofTarget = said.filter(({ speaker }) => speaker === target);
  const answering = ofTarget.filter((words) => isAnswer(words, said));
  const candidates = ofTarget.length > 1 ? answering : ofTarget;
  const [only] = candidates;
  if (ofTarget.length === 0) return null;
  if (only && candidates.length === 1) return { how: "message", by: target, text: only.text };
  return { how: "exchange", by: null, text: wholeOf(said, nameOf) };
}

/**
 * Whether a message answers a request: it is no politeness and no answer to politeness, it does not
 * only ask back, and the speaker has not said it before.
 */
function isAnswer(words: SpokenWords, said: readonly SpokenWords[]): boolean {
  if (isAcknowledgement(words.text) || isOneQuestion(words.text)) return false;
  const before = said.slice(0, said.indexOf(words));
  const answered = before.at(-1)?.text;
  if (answered !== undefined && isAcknowledgement(answered)) return false;
  const own = before.filter(({ speaker }) => speaker === words.speaker);
  return own.every(({ text }) => similarity(text, words.text) < REPETITION);
}

function wholeOf(said: readonly SpokenWords[], nameOf: AnswerFacts["nameOf"]): string {
  const most = Math.floor(ANSWER_BYTES / said.length) - GAP.length;
  return said.map(({ speaker, text }) => cutBytes(spokenBy(nameOf(speaker), text), most)).join(GAP);
}

const GAP = "\n\n";
