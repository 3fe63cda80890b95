import type { TurnEvent } from "../kernel/turn-events.ts";
import type { RoomsSetting, Talk } from "./talk.ts";
import { waitButtons } from "./orders.ts";
import { roomTexts } from "./texts.ts";

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
 * while it works. The line is posted once, whichever process follows the turn, and says in the end
 * that the model is back.
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
    if (event.type === "DONE") await this.#change(null); // it waits no more
    if (isStart) await this.#change(roomTexts(this.#setting.locale).reconnected());
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
      const shown = await tx.query(SHOWN, [turn, agent]);
      if (shown.length > 0) return;
      await this.#talk.say(tx, place, {
        author: agent,
        text: roomTexts(locale).waiting(),
        mark: "notice",
        buttons: waitButtons(locale),
        during: turn,
        replyTo: message,
      });
    });
    this.#talk.announce();
  }

  async #change(text: string | null): Promise<void> {
    this.#isShown = false;
    const { agent, place, turn } = this.#answer;
    const { database, store } = this.#setting;
    await database.transaction(async (tx) => {
      const [changed] = await tx.query<{ id: string }>(CHANGE, [turn, agent, text]);
      if (changed) await store.emitEdited(tx, place, changed.id);
    });
    this.#talk.announce();
  }
}

const SHOWN = {
  name: "model_wait.shown",
  text: `
    select id
    from dure.room_messages
    where during = $1 and author = $2 and mark = 'notice'`,
};
const CHANGE = {
  name: "model_wait.change",
  text: `
    update dure.room_messages
    set text = coalesce($3, text), buttons = null, edited_at = clock_timestamp()
    where during = $1 and author = $2 and mark = 'notice' and buttons is not null
    returning id`,
};
