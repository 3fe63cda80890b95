/** How an answer ends: posted, silent, failed, or waiting for a person. */

import { concludes } from "../../jobs/conclusion.ts";
import type { Transaction } from "../../durable/database.ts";
import type { ProcessLease } from "../../durable/processes.ts";
import { retryButton } from "./answer-retries.ts";
import { messagesOf } from "./gathering.ts";
import { endWait } from "./model-wait-notice.ts";
import { isStoppedTalk } from "../decide/guard-stop.ts";
import {
  type HandlingRow,
  type TurnOutcome,
  emitHandled,
  previewKey,
  removePreview,
} from "./handling.ts";
import type { OpenPlace } from "../place.ts";
import type { Questions } from "./questions.ts";
import type { StoredMessage } from "../room-store.ts";
import type { RoomsSetting, OutgoingMessage, Talk } from "../talk.ts";
import { roomReports } from "../out/reports.ts";
import { roomTexts } from "../texts.ts";

/** What an agent's tools asked for during its turn. */
interface Wishes {
  readonly isSilent: boolean;
  readonly ends: boolean;
  readonly leaves: boolean;
}

/** Outcomes of which a person is told. */
const TOLD: ReadonlySet<string> = new Set(["failed", "refused", "stopped"]);
/** What the notice of a wait for the model says in the end. */
const WAIT_BECAME: Readonly<Record<string, "gaveUp" | "waitStopped">> = {
  failed: "gaveUp",
  refused: "gaveUp",
  stopped: "waitStopped",
};

/** Ends handlings: posts what the agent said, and records the outcome. */
export class HandlingEnd {
  readonly #setting: RoomsSetting;
  readonly #talk: Talk;
  readonly #questions: Questions;
  readonly #lease: ProcessLease;

  constructor(
    setting: RoomsSetting,
    parts: { talk: Talk; questions: Questions; lease: ProcessLease },
  ) {
    this.#setting = setting;
    this.#questions = parts.questions;
    this.#talk = parts.talk;
    this.#lease = parts.lease;
  }

  /**
   * The words and the end of the work: one transaction. A request is answered when they are posted.
   */
  async settle(handling: HandlingRow, said: TurnOutcome): Promise<void> {
    await this.#setting.database.transaction((tx) => this.#settleIn(tx, handling, said));
    this.#talk.announce();
  }

  async #settleIn(tx: Transaction, handling: HandlingRow, said: TurnOutcome): Promise<void> {
    await this.#lease.guard(tx);
    const place = await this.#setting.store.open(tx, handling.place);
    const [open] = await tx.query<OpenHandling>(LOCK, [handling.id, this.#lease.id]);
    if (!open || !place) return; // settled before, or taken by another

    const wishes = wishesOf(open);
    const isSilent = wishes.isSilent || (await isHeldBack(tx, place, handling, said));
    const outcome = isSilent ? "silent" : said.outcome;
    const text = outcome === "answered" ? said.text : "";
    const { files } = said;
    const answer = (await this.#say(tx, handling, place, { text, files, wishes, open })) ?? null;

    if (wishes.leaves) await this.#leave(tx, place, handling.agent);
    if (outcome === "asked") await this.#ask(tx, handling, place, said);
    if (answer === null && TOLD.has(outcome)) await this.#tellFailure(tx, handling, place, said);
    await this.#noteModel(tx, handling, place, said);
    const became = WAIT_BECAME[outcome] ?? "reconnected";
    await endWait(tx, this.#setting, handling, roomTexts(this.#setting.locale)[became]());

    const recorded = wishes.leaves ? "left" : wishes.ends ? "ended" : outcome;
    await tx.query(FINISH, [handling.id, recorded, answer]);
    await emitHandled(tx, this.#setting, place, { handling, outcome, answer });
  }

  /**
   * The id of the answer; undefined where nothing is said. It takes the place of what was shown as
   * it was written. A mere notice is taken away: people hear of a new message, not of an edit.
   */
  async #say(
    tx: Transaction,
    handling: HandlingRow,
    place: OpenPlace,
    words: { text: string; files: TurnOutcome["files"]; wishes: Wishes; open: OpenHandling },
  ): Promise<string | undefined> {
    const { text, files, wishes } = words;
    const { preview } = words.open;
    const isSaid = text !== "" && place.state !== "closed";
    const isOver = preview !== null && isSaid && this.#setting.stream;
    const said = isSaid
      ? await this.#post(tx, handling, place, {
          text,
          files,
          ends: wishes.ends || wishes.leaves,
          over: isOver ? { key: previewKey(handling.id), platformId: preview } : undefined,
        })
      : undefined;
    if (preview !== null && !isOver) {
      await removePreview(tx, this.#setting, handling, { place, preview });
    }
    return said;
  }

  async #post(
    tx: Transaction,
    handling: HandlingRow,
    place: OpenPlace,
    { ends, ...words }: Pick<OutgoingMessage, "text" | "files" | "over"> & { ends: boolean },
  ): Promise<string> {
    const message = await this.#messageOf(tx, handling);
    const isByPerson = message?.authorKind === "person";
    const [previous] = await tx.query<{ text: string }>(PREVIOUS_OWN, [place.id, handling.agent]);
    const concluded =
      message && !isByPerson ? concludes(previous?.text, message.text, words.text) : undefined;

    const { messageId } = await this.#talk.say(tx, place, {
      ...words,
      author: handling.agent,
      ends: ends || concluded !== undefined,
      turn: handling.turn ?? undefined,
      replyTo: isByPerson ? message.id : undefined,
    });
    await tx.query(ANSWERED, [handling.id, handling.agent, messageId]);
    return messageId;
  }

  /** After its farewell: an agent that says something in a thread takes part in it. */
  async #leave(tx: Transaction, place: OpenPlace, agent: string): Promise<void> {
    const { store } = this.#setting;
    if (await store.depart(tx, place.id, agent)) {
      await store.emit(tx, [
        {
          type: "room.left",
          role: "system",
          room: place.id,
          agent,
          data: { by: agent, parent: place.parent },
        },
      ]);
    }
  }

  async #ask(tx: Transaction, handling: HandlingRow, place: OpenPlace, said: TurnOutcome) {
    const message = await this.#messageOf(tx, handling);
    const replyTo = message?.authorKind === "person" ? message.id : undefined;
    await this.#questions.show(tx, handling, place, { said, replyTo });
  }

  /**
   * A person always gets an answer, also of a turn that was stopped elsewhere than in the room; agents
   * are not told of failures, they would talk about them.
   */
  async #tellFailure(
    tx: Transaction,
    handling: HandlingRow,
    place: OpenPlace,
    { outcome, brokenBy, canResume }: TurnOutcome,
  ): Promise<void> {
    const message = await this.#messageOf(tx, handling);
    if (message?.authorKind !== "person" || place.state === "closed") return;
    const { directory, locale } = this.#setting;
    if (!directory.account(place.adapter, handling.agent)) return;

    const failed = brokenBy === undefined ? "failed" : "broken";
    const said = outcome === "stopped" ? "answerStopped" : failed;
    await this.#talk.say(tx, place, {
      author: handling.agent,
      text: roomTexts(locale)[said](),
      mark: "notice",
      buttons: canResume ? [retryButton(handling.id, locale)] : undefined,
      replyTo: message.id,
    });
  }

  /** An operator is told once what the agent's model refuses; its next answer closes that. */
  async #noteModel(
    tx: Transaction,
    { agent }: HandlingRow,
    place: OpenPlace,
    { outcome, brokenBy }: TurnOutcome,
  ): Promise<void> {
    const { store, directory, locale } = this.#setting;
    const subject = `room:model:${agent}`;
    if (outcome === "answered") return store.settleEscalation(tx, subject, agent);
    if (brokenBy === undefined) return;
    await store.escalate(tx, {
      subject,
      type: "account",
      severity: "high",
      tenant: place.tenant,
      source: { room: place.id },
      ...roomReports(locale).modelRefused(directory.nameOf(agent), brokenBy),
      context: { agent, place: place.id },
    });
  }

  /**
   * What is answered; of several messages that a person wrote in a row, the newest. After an answer to
   * a question: what a person wrote that has led to it.
   */
  async #messageOf(tx: Transaction, handling: HandlingRow): Promise<StoredMessage | undefined> {
    if (handling.message !== null) return (await messagesOf(tx, handling)).at(-1);
    const [led] = await tx.query<{ message: string }>(LED_TO, [handling.turn]);
    return led && this.#setting.store.message(led.message, tx);
  }
}

/** Whether a guard has stopped the agents' talk that this answer would go on with. */
async function isHeldBack(
  tx: Transaction,
  place: OpenPlace,
  handling: HandlingRow,
  { outcome }: TurnOutcome,
): Promise<boolean> {
  return outcome === "answered" && isStoppedTalk(tx, place, handling);
}

/** A handling that this process still holds. */
interface OpenHandling {
  readonly wishes: readonly ("silent" | "end" | "leave")[];
  /** Null: no preview was begun. Empty: it is not recorded whether it was posted. */
  readonly preview: string | null;
}

function wishesOf({ wishes }: OpenHandling): Wishes {
  return {
    isSilent: wishes.includes("silent"),
    ends: wishes.includes("end"),
    leaves: wishes.includes("leave"),
  };
}

const LOCK = {
  name: "handling.lock",
  text: `
    select wishes, preview
    from dure.handlings
    where id = $1 and state = 'running' and holder = $2
    for update`,
};
const FINISH = {
  name: "handling.finish",
  text: `
    update dure.handlings
    set state = 'done', outcome = $2, answer = $3, finished_at = clock_timestamp(),
      input = null
    where id = $1`,
};
const LED_TO = {
  name: "handling.led_to",
  text: `
    select asking.reply_to as message
    from dure.messages answer
    join dure.room_questions q on q.escalation = answer.input->'escalation'->>'id'
    join dure.room_messages asking on asking.id = q.message
    where answer.turn_id = $1 and asking.reply_to is not null`,
};
const PREVIOUS_OWN = {
  name: "handling.previous_own",
  text: `
    select text
    from dure.room_messages
    where place = $1 and author = $2 and author_kind = 'agent' and mark is null
    order by seq desc
    limit 1`,
};
const ANSWERED = {
  name: "handling.answered",
  text: `
    update dure.room_messages
    set roles = jsonb_set(
      roles #- array[$2::text, 'outcome'], array[$2::text, 'answer'], to_jsonb($3::text)
    )
    where id in (select message from dure.handlings where id = $1 or gathered_by = $1)
      and roles ? $2::text`,
};
