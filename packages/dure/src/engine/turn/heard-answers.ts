import { classifyReply, REFUSING_KINDS } from "../../parse/reply.ts";
import { answeringOf, type Question } from "./question.ts";
import type { EscalationAnswer, TurnFacts } from "./turn-context.ts";
import type { TurnParts } from "./turn-parts.ts";

/**
 * What became of the questions about tools that were asked before this turn: the answer of the
 * inbox that began it, or what the person's own words say to them.
 */
export class HeardAnswers {
  #all: readonly EscalationAnswer[];

  constructor(ofInbox: EscalationAnswer | undefined) {
    this.#all = ofInbox ? [ofInbox] : [];
  }

  get all(): readonly EscalationAnswer[] {
    return this.#all;
  }

  /** The first that was answered. A question that the person left leads nowhere. */
  get deciding(): EscalationAnswer | undefined {
    return this.#all.find(({ answer }) => !UNANSWERED.has(answer));
  }

  add(answers: readonly EscalationAnswer[]): void {
    this.#all = [...this.#all, ...answers];
  }
}

/** Values of questions that were closed without an answer. */
const UNANSWERED: ReadonlySet<string> = new Set(["left", "time"]);

/** What a person's message says to the calls that wait for a yes. */
export type SaidToApprovals = "approve" | "reject" | "left";

/**
 * Closes what the session's last answer asked a yes for, by what the person says now: yes, no, or
 * something else, which leaves it. Recorded; a question of the inbox is closed by a no alone.
 */
export async function hearAnswers(parts: TurnParts): Promise<void> {
  const { facts, route, steps, held, environment, heard } = parts;
  const { question } = route;
  if (question?.approvals === undefined || facts.author !== "person") return;

  const { turn, epoch } = held;
  const { approvals: subjects } = question;
  const said = saidTo(question, facts);
  const answers = await steps
    .nextRoute("answers")
    .once(() =>
      environment.store.answerAsked({ turn, epoch, subjects, said }, { signal: environment.lease }),
    );
  heard.add(answers);
}

/** A yes counts for what was shown last, and for a time; a no also later. Pure. */
function saidTo(question: Question, facts: TurnFacts): SaidToApprovals {
  const { kind } = classifyReply(facts.message);
  const answering = answeringOf(question, { ...facts, service: question.service });
  if (answering.question && kind === "yes") return "approve";
  const isShown = answering.question !== undefined || answering.because === "expired";
  return isShown && REFUSING_KINDS.has(kind) ? "reject" : "left";
}
