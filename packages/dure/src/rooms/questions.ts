import type { Queryable, Transaction } from "../durable/database.ts";
import type { TransactionalHandler } from "../durable/outbox-handler.ts";
import type { HandlingRow, TurnOutcome } from "./handling.ts";
import { askerIn } from "../kernel/rooms.ts";
import { partLength } from "./outbox-keys.ts";
import type { OpenPlace } from "./place.ts";
import {
  isForAsker,
  questionButtons,
  questionText,
  type QuestionText,
  type RoomQuestion,
} from "./question-text.ts";
import type { StoredMessage } from "./room-store.ts";
import { sayAnew } from "./say-anew.ts";
import type { RoomsSetting, Talk } from "./talk.ts";
import { roomTexts } from "./texts.ts";

/** What ends is told its room under it, in the transaction that closes (`dure.close_escalation`). */
export const QUESTION_TOPIC = "room.question";

/** A question, and where it stands. */
export interface AskedQuestion extends RoomQuestion {
  readonly tenant: string;
  /** The message that asks it, and where. Null: it stands in no room. */
  readonly message: string | null;
  readonly place: string | null;
}

/**
 * Questions of turns as messages of their rooms: each stands there once with its buttons, counts from
 * when its platform has it, and says its end when it is closed, wherever that happened.
 */
export class Questions {
  readonly #setting: RoomsSetting;
  readonly #talk: Talk;

  constructor(setting: RoomsSetting, talk: Talk) {
    this.#setting = setting;
    this.#talk = talk;
  }

  /**
   * The turn waits for people: what it asks stands in the place, with its answers as buttons. What is
   * asked there already is waited for.
   */
  async show(
    tx: Transaction,
    { turn, agent }: HandlingRow,
    place: OpenPlace,
    { said, replyTo }: { said: TurnOutcome; replyTo: string | undefined },
  ): Promise<void> {
    const asked = await tx.query<AskedQuestion>(ASKED, [turn, said.asked ?? []]);
    for (const question of asked) {
      const message = { author: agent, mark: "notice" as const, replyTo };
      if (question.message !== null) {
        await this.#talk.say(tx, place, { ...message, text: this.#waiting(question) });
        continue;
      }
      const { whole, text } = this.#textOf(question, place);
      if (whole !== undefined) await this.#talk.say(tx, place, { ...message, text: whole });
      const buttons = questionButtons(question, this.#setting.locale);
      const { messageId } = await this.#talk.say(tx, place, { ...message, text, buttons });
      await tx.query(SHOWN_IN, [question.id, messageId]);
    }
  }

  /**
   * The platform has a question: from here on words count for it. One that was closed while it left
   * says so.
   */
  async posted(tx: Transaction, { id, mark }: StoredMessage, place: OpenPlace): Promise<void> {
    if (mark !== "notice") return;
    const [shown] = await tx.query<{ escalation: string }>(SHOWN, [id, place.id]);
    const question = shown && (await this.find(shown.escalation, tx));
    if (question && question.status !== "open") await this.#end(tx, question);
  }

  /** For `QUESTION_TOPIC`: the buttons go, and the message says what was decided and by whom. */
  handler(): TransactionalHandler {
    return {
      transactional: true,
      run: async (payload, { tx }) => {
        const { escalation } = payload as { escalation: string };
        const closed = await this.find(escalation, tx);
        if (closed) await this.#end(tx, closed);
        this.#setting.clock.after(0, () => this.#talk.announce());
      },
    };
  }

  async find(
    id: string,
    tx: Queryable = this.#setting.database,
  ): Promise<AskedQuestion | undefined> {
    const [row] = await tx.query<AskedQuestion>(QUESTION, [id]);
    return row;
  }

  async #end(tx: Transaction, question: AskedQuestion): Promise<void> {
    const { store } = this.#setting;
    const place = question.place === null ? undefined : await store.open(tx, question.place);
    if (!place || question.message === null) return;
    const { text } = this.#textOf(question, place);
    await tx.query(END, [question.message, text]);
    await store.emitEdited(tx, place.id, question.message);
    if (place.state !== "closed") await sayAnew(tx, this.#setting, question.message, place);
  }

  #textOf(question: RoomQuestion, { adapter }: OpenPlace): QuestionText {
    const { adapters, locale } = this.#setting;
    const length = partLength(adapters.get(adapter)?.limits.messageLength ?? DEFAULT_LENGTH);
    return questionText(question, { locale, length });
  }

  #waiting(question: RoomQuestion): string {
    const texts = roomTexts(this.#setting.locale);
    const asker = isForAsker(question) ? askerIn(question.context) : undefined;
    return asker ? texts.waitsForPerson(asker.name) : texts.waitsForOperator();
  }
}

/** Of a platform that is gone; nothing is posted there. */
const DEFAULT_LENGTH = 2_000;

const QUESTIONS = `
    select e.id, e.tenant, e.subject, e.title, e.description, e.context, e.actions, e.status,
      e.resolution,
      coalesce(t.name || ' (token:' || t.id || ')', e.resolved_by) as "resolvedBy",
      q.message, m.place
    from dure.escalations e
    left join dure.room_questions q on q.escalation = e.id
    left join dure.room_messages m on m.id = q.message
    left join dure.tokens t on t.id = e.resolved_by`;
const ASKED = {
  name: "question.asked",
  text: `${QUESTIONS}
    where (e.turn_id = $1 or e.id = any($2::text[])) and e.status = 'open'
    order by e.created_at, e.id`,
};
const QUESTION = {
  name: "question.read",
  text: `${QUESTIONS}
    where e.id = $1`,
};
const SHOWN_IN = {
  name: "question.shown_in",
  text: `
    insert into dure.room_questions (escalation, message)
    values ($1, $2)
    on conflict do nothing`,
};
/** Under the lock of the place: what is said later has a greater position. */
const SHOWN = {
  name: "question.shown",
  text: `
    update dure.room_questions
    set shown_at = clock_timestamp(),
      shown_seq = (select max(seq) from dure.room_messages where place = $2)
    where message = $1
    returning escalation`,
};
const END = {
  name: "question.end",
  text: `
    update dure.room_messages
    set text = $2, buttons = null, edited_at = clock_timestamp()
    where id = $1`,
};
