/** The line that says that an agent waits for its model. */

import type { Transaction } from "../../durable/database.ts";
import type { TurnEvent } from "../../kernel/turn-events.ts";
import type { RoomsSetting, Talk } from "../talk.ts";
import { waitButtons } from "../orders/orders.ts";
import type { MessageButton } from "../room-store.ts";
import { roomTexts } from "../texts.ts";

/** Whose wait a person reads about, and where. */
interface WaitingAnswer {
  readonly agent: string;
  readonly place: string;
  /** What is answered. */
  readonly message: string;
  readonly turn: string;
}

/**
 * Says in a place that an agent waits for its model, where the platform cannot edit what is shown
 * while it works. The line is posted once, whichever process follows the turn. It says in the end
 * what became of the wait: the model is back, or the agent waits no more.
 */
export class ModelWaitNotice {
  readonly #setting: RoomsSetting;
  readonly #talk: Talk;
  readonly #answer: WaitingAnswer;
  #isShown = false;

  constructor(setting: RoomsSetting, talk: Talk, answer: WaitingAnswer) {
    this.#setting = setting;
    this.#talk = talk;
    this.#answer = answer;
  }

  /** Events of the turn, in order. */
  async hear(event: TurnEvent): Promise<void> {
    const isStart = event.type === "AGENT_START";
    const waits = isStart && event.data.waits === "model";
    if (waits && !this.#isShown) await this.#show();
    if (!this.#isShown || waits) return;
    if (!isStart) return;
    this.#isShown = false;
    const { database, locale } = this.#setting;
    const text = roomTexts(locale).reconnected();
    await database.transaction((tx) => endWait(tx, this.#setting, this.#answer, text));
    this.#talk.announce();
  }

  async #show(): Promise<void> {
    const { agent, place: id, message, turn } = this.#answer;
    const { database, store, locale, directory } = this.#setting;
    await database.transaction(async (tx) => {
      const place = await store.open(tx, id);
      if (!place || place.state === "closed") return;
      if (!directory.account(place.adapter, agent)) return;
      const asked = await store.message(message, tx);
      if (asked?.authorKind !== "person") return; // agents wait for each other without a notice
      this.#isShown = true;
      const buttons = waitButtons(locale);
      const text = roomTexts(locale).waiting();
      const [shown] = await tx.query<{ id: string }>(SHOWN, [turn, agent]);
      if (shown) return this.#waitAgain(tx, shown.id, { text, buttons });
      await this.#talk.say(tx, place, {
        author: agent,
        text,
        mark: "notice",
        buttons,
        during: turn,
        replyTo: message,
      });
    });
    this.#talk.announce();
  }

  /** The model was back, or the answer was retried, and it is away again. */
  async #waitAgain(
    tx: Transaction,
    id: string,
    { text, buttons }: { text: string; buttons: readonly MessageButton[] },
  ): Promise<void> {
    const changed = await tx.query(WAIT_AGAIN, [id, text, JSON.stringify(buttons)]);
    if (changed.length === 0) return;
    await this.#setting.store.emitEdited(tx, this.#answer.place, id);
  }
}

/**
 * The notice says what became of the wait. With the end of the work it is one transaction, so that no
 * process which dies leaves a promise behind that is not kept.
 */
export async function endWait(
  tx: Transaction,
  { store }: Pick<RoomsSetting, "store">,
  { agent, place, turn }: Pick<WaitingAnswer, "agent" | "place"> & { readonly turn: string | null },
  text: string,
): Promise<void> {
  if (turn === null) return;
  const [changed] = await tx.query<{ id: string }>(CHANGE, [turn, agent, text]);
  if (changed) await store.emitEdited(tx, place, changed.id);
}

const SHOWN = {
  name: "model_wait.shown",
  text: `
    select id
    from dure.room_messages
    where during = $1 and author = $2 and mark = 'notice'`,
};
const WAIT_AGAIN = {
  name: "model_wait.again",
  text: `
    update dure.room_messages
    set text = $2, buttons = $3, edited_at = clock_timestamp()
    where id = $1 and buttons is null
    returning id`,
};
const CHANGE = {
  name: "model_wait.change",
  text: `
    update dure.room_messages
    set text = $3, buttons = null, edited_at = clock_timestamp()
    where during = $1 and author = $2 and mark = 'notice' and buttons is not null
    returning id`,
};
