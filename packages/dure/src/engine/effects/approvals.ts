/** The approvals that calls of a turn need, have, or ask for. */

import { canonicalJson } from "../../kernel/json.ts";
import { askerIn, type RoomAsker } from "../../kernel/rooms.ts";
import type { ClaimedTurn, TurnStore } from "../../durable/turns.ts";
import type { AnyTool } from "../agent/tool.ts";
import type { EffectOutcome, EscalationAnswer, TurnFacts } from "../turn/turn-context.ts";
import {
  ApprovalPendingError,
  approvalEscalation,
  approvalSubject,
  isUnderTerms,
  type AskingPlace,
} from "../turn/turn-escalations.ts";
import type { ApprovalReader } from "./approval-reader.ts";
import { isCovered } from "./standing.ts";

/** A call that may need a yes. */
interface CallForApproval {
  readonly name: string;
  readonly tool: AnyTool;
  readonly input: unknown;
  /** In the ledger, where no approval of its own allows it. */
  readonly key: string;
}

/** Whether code may make a call, and with which approval. */
type Permit = { readonly is: "allowed"; readonly approval?: string } | { readonly is: "refused" };

/** Outcome of a call that a person has refused. */
export const REFUSED: EffectOutcome<unknown> = {
  status: "failed",
  error: { code: "APPROVAL_REJECTED", message: "A person refused this call." },
};

/**
 * What people allow one turn to do: answers that it was begun with, earlier ones that stand, and
 * those that it has to ask for.
 */
export class Approvals {
  readonly #held: ClaimedTurn;
  readonly #facts: TurnFacts;
  readonly #store: Pick<TurnStore, "isApprovalUsed" | "isEffectKnown">;
  readonly #reader: Pick<ApprovalReader, "find" | "standing">;
  readonly #signal: AbortSignal;
  readonly #place: () => AskingPlace;
  readonly #locale: string;
  readonly #given: string[] = [];
  #isSettled = false;

  constructor(options: {
    held: ClaimedTurn;
    facts: TurnFacts;
    store: Pick<TurnStore, "isApprovalUsed" | "isEffectKnown">;
    reader: Pick<ApprovalReader, "find" | "standing">;
    signal: AbortSignal;
    /** Where a question is asked. */
    place: () => AskingPlace;
    /** Of the team, whose people answer. */
    locale: string;
  }) {
    this.#held = options.held;
    this.#facts = options.facts;
    this.#store = options.store;
    this.#reader = options.reader;
    this.#signal = options.signal;
    this.#place = options.place;
    this.#locale = options.locale;
  }

  /**
   * The approval for exactly these arguments; undefined: it was allowed for the rest of the session.
   * Without either it throws, which ends the turn by asking.
   */
  async of(call: CallForApproval): Promise<{ id: string } | undefined> {
    const { name, tool, input } = call;
    if (await this.#isStanding(call)) return undefined;
    const approval = await this.#reader.find(approvalSubject(this.#held.session, call), {
      turn: this.#held.turn,
      known: this.#given,
    });
    if (!approval || approval.isOpen) {
      const locales = { team: this.#locale, person: this.#facts.locale };
      const about = { name, tool, input, asker: askerOf(this.#facts) };
      const asked = approvalEscalation(this.#held, locales, this.#place(), about);
      throw new ApprovalPendingError(name, { ...asked, openId: approval?.id });
    }
    this.#given.push(approval.id);
    return approval;
  }

  async #isStanding({ name, tool, input, key }: CallForApproval): Promise<boolean> {
    if (!tool.approval?.standing) return false;
    const { session, accepted_at: acceptedAt } = this.#held;
    const { needs } = tool.approval;
    const all = await this.#reader.standing(session, { tool: name, key, acceptedAt, needs });
    return all.some(({ standing, used }) => used <= standing.times && isCovered(standing, input));
  }

  /**
   * Of a call that code makes. What a person has just said about exactly this call counts; else a
   * tool that needs an approval waits for one, unless its key is in the ledger: then it was allowed
   * before.
   */
  async permitFor(call: CallForApproval): Promise<Permit> {
    const { tool, name, input, key } = call;
    const answer = this.#facts.answers.find((given) => isAnswerTo(given, name, input));
    if (answer && !isYes(answer)) return { is: "refused" };
    if (answer && isUnderTerms(tool, answer.context)) {
      return { is: "allowed", approval: answer.id };
    }
    if (!tool.approval || !(tool.approval.when?.(input) ?? true)) return { is: "allowed" };
    if (await this.#store.isEffectKnown(key, { signal: this.#signal })) return { is: "allowed" };
    const approval = await this.of(call);
    return approval ? { is: "allowed", approval: approval.id } : { is: "allowed" };
  }

  /** The approvals that the turn was given need no call any more. */
  settle(): void {
    this.#isSettled = true;
  }

  /** The turn has failed: its settling of the approval does not count. */
  unsettle(): void {
    this.#isSettled = false;
  }

  /** The escalations whose approvals are used up with `DONE`. */
  get settled(): readonly string[] {
    return this.#isSettled ? this.#facts.answers.filter(isYes).map(({ id }) => id) : [];
  }

  /** The approvals that the turn was given and that no call has used. */
  async unused(): Promise<readonly EscalationAnswer[]> {
    if (this.#isSettled) return [];
    const unused: EscalationAnswer[] = [];
    for (const answer of this.#facts.answers.filter(isYes)) {
      const isUsed = await this.#store.isApprovalUsed(answer.id, { signal: this.#signal });
      if (!isUsed) unused.push(answer);
    }
    return unused;
  }
}

/** In a room: who has led to the turn, by words of their own or by the yes that began it. */
function askerOf({ speaker, answers }: TurnFacts): RoomAsker | undefined {
  if (!speaker) return answers.map(({ context }) => askerIn(context)).find(Boolean);
  const { adapter, id, name } = speaker;
  return { adapter, id, name };
}

/** An answer that allows a call of a tool. */
function isYes({ type, answer, context }: EscalationAnswer): boolean {
  return type === "decision" && answer === "approve" && typeof context["tool"] === "string";
}

/** Whether a person was asked for exactly this call. */
function isAnswerTo({ type, context }: EscalationAnswer, tool: string, input: unknown): boolean {
  return (
    type === "decision" &&
    context["tool"] === tool &&
    canonicalJson(context["input"]) === canonicalJson(JSON.parse(JSON.stringify(input ?? null)))
  );
}
