import { inLocale } from "../escalations/action-words.ts";
import type { Database } from "../durable/database.ts";
import type { Inbox } from "../escalations/inbox.ts";
import { DureError } from "../kernel/errors.ts";
import type { SuggestedAction } from "../kernel/escalation.ts";
import type { Logger } from "../kernel/logger.ts";
import { audited } from "./audited.ts";
import { RETRY_BUTTON, type Retried } from "./answer-retries.ts";
import { LIFT_BUTTON } from "./guards.ts";
import { forbidden, mayAnswer, nameOf, type PressedBy } from "./pressed-by.ts";
import { roomTexts, type RoomLocale } from "./texts.ts";

/** Carries out what people decide by the buttons of a platform. */
export class Buttons {
  readonly #database: Database;
  readonly #inbox: Inbox;
  readonly #logger: Logger;
  readonly #locale: RoomLocale;
  readonly #approvers: readonly string[] | undefined;
  readonly #resume: (place: string, person: string) => Promise<unknown>;
  readonly #retryAnswer: (handling: string, person: string) => Promise<Retried>;

  /** `resume`: agents may speak again in a place. */
  constructor(parts: {
    database: Database;
    inbox: Inbox;
    logger: Logger;
    locale: RoomLocale;
    approvers: readonly string[] | undefined;
    resume: (place: string, person: string) => Promise<unknown>;
    retryAnswer: (handling: string, person: string) => Promise<Retried>;
  }) {
    this.#database = parts.database;
    this.#inbox = parts.inbox;
    this.#logger = parts.logger;
    this.#locale = parts.locale;
    this.#approvers = parts.approvers;
    this.#resume = parts.resume;
    this.#retryAnswer = parts.retryAnswer;
  }

  /**
   * Gives the label of the answer, or what the person is told. Every person who can write in a place may lift what stops the
   * agents' talk there; only persons that the team trusts decide anything else.
   */
  async press(id: string, value: string, by: PressedBy): Promise<Pressed> {
    const name = nameOf(by);
    if (id === RETRY_BUTTON) return this.#retry(value, name, by);
    if (id === LIFT_BUTTON) return this.#lift(value, name, by);

    const [row] = await this.#database.query<AnsweredEscalation>(ACTIONS, [id]);
    const isStop = row?.subject.startsWith("room:loop:") === true;
    if (isStop && by.writes === false) throw mayNotLift(name, id);
    if (row && !isStop && !mayAnswer(by, this.#approvers)) {
      throw new DureError("ANSWER_FORBIDDEN", `${name} may not answer ${id}.`, {
        class: "forbidden",
        hint: "Add the user's or a role's id to rooms.approvers.",
      });
    }

    const tenant = row?.tenant ?? "";
    const deed = { tenant, name, what: `escalation.${value}`, subject: id };
    await audited(this.#audit, deed, () => this.#inbox.answer(id, { value }, { tenant, name }));
    const action = row?.actions.find((one) => one.value === value);
    return { label: action ? inLocale(action, this.#locale).label : value };
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

interface AnsweredEscalation {
  readonly tenant: string;
  readonly subject: string;
  readonly actions: readonly SuggestedAction[];
}

function mayNotLift(name: string, what: string): DureError {
  return new DureError("LIFT_FORBIDDEN", `${name} may not lift ${what}.`, {
    class: "forbidden",
    hint: "Only who may write there can let the agents go on.",
  });
}

const ACTIONS = {
  name: "rooms.actions",
  text: `
    select tenant, subject, actions
    from dure.escalations
    where id = $1`,
};
