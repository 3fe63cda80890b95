/** The button under a failed answer that lets its turn go on. */

import type { Locale } from "../../kernel/locales.ts";
import { turnUnknown } from "../../engine/turn/turn-reader.ts";
import { retryRefusal } from "../../engine/turn/turn-request.ts";
import { UNATTENDED_TOPIC, type RetryAnswer } from "../../durable/turns.ts";
import type { Transaction } from "../../durable/database.ts";
import type { MessageButton } from "../room-store.ts";
import type { Place } from "../place.ts";
import { sayAnew } from "../out/notices.ts";
import { HANDLINGS_TOPIC, type RoomsSetting, type Talk } from "../talk.ts";
import { roomTexts } from "../texts.ts";

/** How the value of a button begins that goes on with an answer; the handling follows. */
export const RETRY_BUTTON = "retry";

/** Under the notice that an agent could not answer. */
export function retryButton(handling: string, locale: Locale): MessageButton {
  return { value: `${RETRY_BUTTON}:${handling}`, label: roomTexts(locale).resume() };
}

/** Whether this press was the one that began it. */
export type Retried = "resumed" | "running";

interface FailedAnswer {
  readonly turn: string | null;
  readonly state: "waiting" | "running" | "done";
}

/**
 * Goes on with an answer that ended because the agent's model was away: its turn is opened again,
 * and the work waits for a process that posts what it says. Both in one transaction, so that a
 * second press finds the work open and changes nothing.
 */
export class AnswerRetries {
  readonly #setting: RoomsSetting;
  readonly #talk: Talk;

  constructor(setting: RoomsSetting, talk: Talk) {
    this.#setting = setting;
    this.#talk = talk;
  }

  /** Throws `TURN_UNKNOWN`, `TURN_NOT_RETRYABLE`, `TURN_PASSED`. */
  async retry(handling: string, place: Place, by: string): Promise<Retried> {
    const { database, notifications } = this.#setting;
    const retried = await database.transaction((tx) => this.#open(tx, handling, place, by));
    for (const topic of [UNATTENDED_TOPIC, HANDLINGS_TOPIC]) notifications.publish(topic);
    this.#talk.announce();
    return retried;
  }

  /** Where it was pressed on a platform, which shows the button to those who are there. */
  async retryAnywhere(handling: string, by: string): Promise<Retried> {
    const [row] = await this.#setting.database.query<{ place: string }>(PLACE, [handling]);
    const place = row && (await this.#setting.store.place(row.place));
    if (!place) throw turnUnknown(handling);
    return this.retry(handling, place, by);
  }

  async #open(tx: Transaction, handling: string, place: Place, by: string): Promise<Retried> {
    const [failed] = await tx.query<FailedAnswer>(LOCK, [handling, place.id]);
    if (!failed || failed.turn === null) throw turnUnknown(handling);
    if (failed.state !== "done") return "running";
    const { turn } = failed;
    const [row] = await tx.query<{ value: RetryAnswer }>(RETRY, [turn, place.tenant, by]);
    if (!row?.value) throw turnUnknown(turn);
    const refusal = retryRefusal(row.value, turn);
    if (refusal) throw refusal;
    await tx.query(REOPEN, [handling]);
    await this.#takeButton(tx, handling, place);
    return "resumed";
  }

  async #takeButton(tx: Transaction, handling: string, place: Place): Promise<void> {
    const { store, locale } = this.#setting;
    const text = roomTexts(locale).resuming();
    const value = JSON.stringify([{ value: `${RETRY_BUTTON}:${handling}` }]);
    const changed = await tx.query<{ id: string }>(TAKE_BUTTON, [place.id, value, text]);
    for (const { id } of changed) {
      await store.emitEdited(tx, place.id, id);
      await sayAnew(tx, this.#setting, id, place);
    }
  }
}

const PLACE = {
  name: "answer_retry.place",
  text: "select place from dure.handlings where id = $1",
};
const LOCK = {
  name: "answer_retry.lock",
  text: `
    select turn, state
    from dure.handlings
    where id = $1 and place = $2
    for update`,
};
const RETRY = {
  name: "answer_retry.turn",
  text: "select dure.retry_turn($1, $2, $3) as value",
};
const REOPEN = {
  name: "answer_retry.reopen",
  text: `
    update dure.handlings
    set state = 'waiting', outcome = null, answer = null, finished_at = null, holder = null,
      preview = null, wishes = '{}', tries = 0
    where id = $1`,
};
const TAKE_BUTTON = {
  name: "answer_retry.take_button",
  text: `
    update dure.room_messages
    set text = $3, buttons = null, edited_at = clock_timestamp()
    where place = $1 and mark = 'notice' and buttons @> $2::jsonb
    returning id`,
};
