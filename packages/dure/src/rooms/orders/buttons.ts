/** What a press of a button does. */

import type { Locale } from "../../kernel/locales.ts";
import { inLocale } from "../../escalations/action-words.ts";
import type { Database } from "../../durable/database.ts";
import type { Inbox } from "../../escalations/inbox.ts";
import { DureError } from "../../kernel/errors.ts";
import type { Logger } from "../../kernel/logger.ts";
import { RETRY_BUTTON, type Retried } from "../answer/answer-retries.ts";
import { LIFT_BUTTON } from "../decide/guards.ts";
import {
  forbidden,
  mayNotAnswer,
  nameOf,
  rolesOf,
  type MayNotAnswer,
  type PressedBy,
  type RoomDeciders,
  audited,
} from "./pressed-by.ts";
import { type AskedQuestion, type Questions, APPROVE, isForAsker } from "../answer/questions.ts";
import { roomTexts } from "../texts.ts";

/** Carries out what people decide by the buttons of a platform. */
export class Buttons {
  readonly #database: Database;
  readonly #inbox: Inbox;
  readonly #questions: Pick<Questions, "find">;
  readonly #logger: Logger;
  readonly #locale: Locale;
  readonly #deciders: RoomDeciders;
  readonly #resume: (place: string, person: string) => Promise<unknown>;
  readonly #retryAnswer: (handling: string, person: string) => Promise<Retried>;

  /** `resume`: agents may speak again in a place. */
  constructor(parts: {
    database: Database;
    inbox: Inbox;
    questions: Pick<Questions, "find">;
    logger: Logger;
    locale: Locale;
    approvers?: RoomDeciders["approvers"];
    roles?: RoomDeciders["roles"];
    resume: (place: string, person: string) => Promise<unknown>;
    retryAnswer: (handling: string, person: string) => Promise<Retried>;
  }) {
    this.#database = parts.database;
    this.#inbox = parts.inbox;
    this.#questions = parts.questions;
    this.#logger = parts.logger;
    this.#locale = parts.locale;
    this.#deciders = { approvers: parts.approvers, roles: parts.roles };
    this.#resume = parts.resume;
    this.#retryAnswer = parts.retryAnswer;
  }

  /**
   * Gives the label of the answer, or what the person is told. Every person who can write in a place may lift what stops the
   * agents' talk there; what else they may answer `mayNotAnswer` decides. `at`: the place of the button.
   */
  async press(id: string, value: string, by: PressedBy, at?: string): Promise<Pressed> {
    const name = nameOf(by);
    if (id === RETRY_BUTTON) return this.#retry(value, name, by);
    if (id === LIFT_BUTTON) return this.#lift(value, name, by);

    const question = await this.#questions.find(id);
    const isStop = question?.subject.startsWith("room:loop:") === true;
    if (isStop && by.writes === false) throw mayNotLift(name, id);
    const refusal = question && !isStop ? this.#refusal(question, by, at) : undefined;
    if (refusal) return { told: this.#told(refusal) };

    const tenant = question?.tenant ?? "";
    const deed = { tenant, name, what: `escalation.${value}`, subject: id };
    const person = { roles: rolesOf(by, this.#deciders.roles) };
    const answerer = { tenant, name, asker: { adapter: by.adapter, id: by.id }, person };
    await audited(this.#audit, deed, () => this.#inbox.answer(id, { value }, answerer));
    const action = question?.actions.find((one) => one.value === value);
    const said = action ?? (value === APPROVE.value ? APPROVE : undefined);
    return { label: said ? inLocale(said, this.#locale).label : value };
  }

  /**
   * The same for a person of a web room, who answers there what they were asked; the inbox takes every
   * other answer. Throws `ANSWER_FORBIDDEN`, and as `Inbox.answer`.
   */
  async answer(id: string, value: string, { tenant, person, place }: WebAnswerer): Promise<void> {
    const by = { adapter: "web", id: person, name: person };
    const question = await this.#questions.find(id);
    if (question && !isForAsker(question)) throw mayNotAnswerHere(id, "An operator answers it.");
    const refusal = question && this.#refusal(question, by, place);
    if (refusal) {
      const who = refusal.because === "for-another" ? refusal.who : person;
      throw mayNotAnswerHere(id, `${who} answers it, where it stands.`);
    }
    const answerer = { tenant, name: nameOf(by), asker: { adapter: by.adapter, id: by.id } };
    await this.#inbox.answer(id, { value }, answerer);
  }

  #refusal(question: AskedQuestion, by: PressedBy, at: string | undefined) {
    const isThere = question.place === at;
    return mayNotAnswer(question, by, { ...this.#deciders, isThere });
  }

  #told(refusal: MayNotAnswer): string {
    const texts = roomTexts(this.#locale);
    if (refusal.because === "for-another") return texts.asksOther(refusal.who);
    if (refusal.because === "elsewhere") return texts.noSuchQuestion();
    return refusal.because === "lacks-role" ? texts.lacksRole() : texts.notYours();
  }

  get #audit(): { database: Database; logger: Logger } {
    return { database: this.#database, logger: this.#logger };
  }

  async #retry(handling: string, name: string, by: PressedBy): Promise<Pressed> {
    if (by.writes === false) {
      throw forbidden("RETRY_FORBIDDEN", `${name} may not retry ${handling}.`);
    }
    const deed = { tenant: "", name, what: "room.retry", subject: handling };
    const retried = await audited(this.#audit, deed, () => this.#retryAnswer(handling, name));
    const texts = roomTexts(this.#locale);
    return { told: retried === "resumed" ? texts.resuming() : texts.resumingAlready() };
  }

  async #lift(place: string, name: string, by: PressedBy): Promise<{ label: string }> {
    if (by.writes === false) throw mayNotLift(name, place);
    const deed = { tenant: "", name, what: "thread.resume", subject: place };
    await audited(this.#audit, deed, () => this.#resume(place, name));
    return { label: roomTexts(this.#locale).lift() };
  }
}

/** What a person is told of a press: the label of an answer, or a sentence. */
export type Pressed = { readonly label: string } | { readonly told: string };

/** A person of a web room, and where they answer. */
interface WebAnswerer {
  readonly tenant: string;
  readonly person: string;
  readonly place: string;
}

function mayNotAnswerHere(id: string, hint: string): DureError {
  return new DureError("ANSWER_FORBIDDEN", `This person may not answer ${id}.`, {
    class: "forbidden",
    hint,
  });
}

function mayNotLift(name: string, what: string): DureError {
  return new DureError("LIFT_FORBIDDEN", `${name} may not lift ${what}.`, {
    class: "forbidden",
    hint: "Only who may write there can let the agents go on.",
  });
}
