/** What the person's message answers of the questions that were asked before it. */

import { classifyReply, REFUSING_KINDS } from "../../parse/replies/reply.ts";
import type { RoomSpeaker } from "../../kernel/rooms.ts";
import { isOwnSession } from "../../kernel/tenant.ts";
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

/** A question that stands in a room, as its platform has it. */
export interface AskedInRoom {
  readonly subject: string;
  /** The turn that asks. */
  readonly turn: string;
  readonly message: string;
  /** Position of the newest message of the place when the platform had the question. */
  readonly seq: number;
  /** When that was, by the clock of the database, milliseconds. */
  readonly at: number;
}

/** Which questions a message answers, and how. */
interface ApprovalReply {
  readonly subjects: readonly string[];
  readonly said: SaidToApprovals;
}

/**
 * Closes what the person was asked a yes for, by what they say now: yes, no, or something else, which
 * leaves it. Recorded.
 */
export async function hearAnswers(parts: TurnParts): Promise<void> {
  const { facts, steps, held, environment, heard, route } = parts;
  if (facts.author !== "person") return;
  heard.add(route.session.left ?? []);
  const said = isOwnSession(facts.session) ? await saidInRoom(parts) : saidInTalk(parts);
  if (said === undefined) return;

  const { turn, epoch } = held;
  const answers = await steps
    .nextRoute("answers")
    .once(() =>
      environment.store.answerAsked({ turn, epoch, ...said }, { signal: environment.lease }),
    );
  heard.add(answers);
}

/** To what the session's last answer asked; a question of the inbox is closed by a no alone. */
function saidInTalk({ facts, route: { question } }: TurnParts): ApprovalReply | undefined {
  if (question?.approvals === undefined) return undefined;
  return { subjects: question.approvals, said: saidTo(question, facts) };
}

/** To what the place has asked this person. Others speak there too, and change nothing about it. */
async function saidInRoom({
  facts,
  held,
  environment,
}: TurnParts): Promise<ApprovalReply | undefined> {
  const { speaker, acceptedAt } = facts;
  if (!speaker) return undefined;
  const asked = await environment.approvals.askedIn(held.session, speaker, held.turn);
  return saidToRoom(asked, speaker, { acceptedAt, holdsMs: environment.limits.confirmMs });
}

/**
 * A message counts for what its platform had before it. A yes counts for the newest question, or for
 * the one that it replies to, and for a time; a no closes it also later, and anything else closes all
 * of them. Pure.
 */
export function saidToRoom(
  asked: readonly AskedInRoom[],
  { text, seq, replyTo }: Pick<RoomSpeaker, "text" | "seq" | "replyTo">,
  { acceptedAt, holdsMs }: { readonly acceptedAt: number; readonly holdsMs: number },
): ApprovalReply | undefined {
  const shown = asked.filter((question) => question.seq < seq);
  const newest = shown.at(-1);
  if (!newest) return undefined;

  const meant = shown.filter(({ turn, message }) =>
    replyTo === undefined ? turn === newest.turn : message === replyTo,
  );
  const { kind } = classifyReply(text);
  const isInTime = meant.every(({ at }) => acceptedAt - at <= holdsMs);
  const subjects = meant.map(({ subject }) => subject);
  if (meant.length > 0 && kind === "yes" && isInTime) return { subjects, said: "approve" };
  if (meant.length > 0 && REFUSING_KINDS.has(kind)) return { subjects, said: "reject" };
  return { subjects: shown.map(({ subject }) => subject), said: "left" };
}

/** A yes counts for what was shown last, and for a time; a no also later. Pure. */
function saidTo(question: Question, facts: TurnFacts): SaidToApprovals {
  const { kind } = classifyReply(facts.message);
  const answering = answeringOf(question, { ...facts, service: question.service });
  if (answering.question && kind === "yes") return "approve";
  const isShown = answering.question !== undefined || answering.because === "expired";
  return isShown && REFUSING_KINDS.has(kind) ? "reject" : "left";
}
