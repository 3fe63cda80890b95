/** A post or a thread of which it is not known whether it has arrived: a person decides. */

import type { Transaction } from "../../durable/database.ts";
import { allPartsOf, FAILED } from "./outgoing.ts";
import type { RoomsSetting } from "../talk.ts";

/**
 * Of escalations about a post or a thread of which it is not known whether it has arrived; the
 * message or the place follows.
 */
export const UNSURE = "room:unsure:";
export const UNSURE_ACTIONS = [
  { value: "sent", code: "arrived", label: "It arrived" },
  { value: "again", code: "send-again", label: "Send again", style: "primary" },
  { value: "failed", code: "give-up", label: "Give up" },
] as const;
export const UNSURE_THREAD_ACTIONS = [
  {
    value: "sent",
    code: "thread-there",
    label: "It is there: its link or id",
    asks: "text",
  },
  {
    value: "again",
    code: "thread-missing",
    label: "It is not: make it",
    style: "primary",
  },
  { value: "failed", code: "give-up", label: "Give up" },
] as const;
export type UnsureDecision = (typeof UNSURE_ACTIONS)[number]["value"];

/** Carries out what a person says became of a post or thread that could not be found. */
export class UnsureDeliveries {
  readonly #setting: RoomsSetting;
  readonly #posted: (tx: Transaction, message: string) => Promise<void>;

  /** `posted`: all of a message has left. */
  constructor(
    setting: RoomsSetting,
    parts: { posted: (tx: Transaction, message: string) => Promise<void> },
  ) {
    this.#setting = setting;
    this.#posted = parts.posted;
  }

  /**
   * A post: its later parts, its request and the agents that wait for it go on from the decision.
   */
  async settleMessage(
    tx: Transaction,
    unsure: { readonly message: string; readonly outbox: string },
    decision: UnsureDecision,
  ): Promise<void> {
    const { store, outbox } = this.#setting;
    const message = await store.message(unsure.message, tx);
    if (!message || !(await outbox.resolveIn(tx, unsure.outbox, decision))) return;
    if (decision === "failed") {
      await tx.query(FAILED, [message.id, "failed", JSON.stringify(message.deliveryError)]);
      return;
    }
    await this.#reviveMessage(tx, message.id);
    const [later] = await tx.query(WAITING_PARTS, [allPartsOf(message.id)]);
    if (!later) await this.#posted(tx, message.id);
  }

  /**
   * A thread. `sent`: it is there, and is looked for once more, by what the person knows of it
   * (`note`); `again`: it is not, and is made. In either case what waited for it leaves then, in
   * order.
   */
  async settleThread(
    tx: Transaction,
    unsure: { readonly place: string; readonly outbox: string; readonly note: string | null },
    decision: UnsureDecision,
  ): Promise<void> {
    const { outbox } = this.#setting;
    const resolution = decision === "sent" ? "again" : decision;
    if (!(await outbox.resolveIn(tx, unsure.outbox, resolution))) return;
    if (decision === "failed") {
      await tx.query(UNSURE_FAILED, [unsure.place]);
      return;
    }
    if (decision === "again") {
      await tx.query(MAKE_THREAD, [unsure.outbox]);
      return this.reviveThread(tx, unsure.place);
    }
    // A person's note names the thread: as the platform calls it, where that is known.
    const { place, note } = unsure;
    const [known] =
      note === null ? [] : await tx.query<{ thread: string }>(THREAD_NAMED, [place, note]);
    const named = known?.thread ?? note ?? undefined;
    await tx.query(LOOK_FOR_THREAD, [unsure.outbox, JSON.stringify({ exists: { named } })]);
  }

  /**
   * A thread that was given up as unsure is used after all: what waited for it leaves, and its
   * requests are open again.
   */
  async reviveThread(tx: Transaction, place: string): Promise<void> {
    await tx.query(REOPEN_PLACE, [place]);
    const unsure = await tx.query<{ id: string }>(UNSURE_IN, [place]);
    for (const { id } of unsure) await this.#reviveMessage(tx, id);
  }

  async #reviveMessage(tx: Transaction, id: string): Promise<void> {
    await tx.query(QUEUED_AGAIN, [id]);
    await tx.query(REVIVE_PARTS, [allPartsOf(id)]);
    await tx.query(REOPEN, [id, this.#setting.limits.reminderMs[0]]);
  }
}

const QUEUED_AGAIN = {
  name: "room.queued_again",
  text: `
    update dure.room_messages
    set delivery = 'queued', delivery_error = null
    where id = $1`,
};
const REVIVE_PARTS = {
  name: "room.revive_parts",
  text: `
    update dure.outbox
    set state = 'pending', settled_at = null, error = null, next_at = clock_timestamp()
    where starts_with(key, $1)
      and state = 'failed'
      and error->>'code' in ('EARLIER_PART_FAILED', 'THREAD_NOT_MADE')`,
};
/** Of a thread that was given up because its outcome was unknown. */
const REOPEN_PLACE = {
  name: "room.reopen_place",
  text: `
    update dure.places
    set state = case
      when suspended_until > clock_timestamp() then 'suspended'
      else 'open'
    end,
      closed_because = null
    where id = $1
      and state = 'closed'
      and starts_with(closed_because, 'the thread could not be made')`,
};
const UNSURE_IN = {
  name: "room.unsure_in",
  text: `
    select id
    from dure.room_messages
    where place = $1 and delivery = 'unknown'
    order by seq`,
};
const UNSURE_FAILED = {
  name: "room.unsure_failed",
  text: `
    update dure.room_messages
    set delivery = 'failed'
    where place = $1 and delivery = 'unknown'`,
};
const MAKE_THREAD = {
  name: "room.make_thread",
  text: `
    update dure.outbox
    set payload = payload - 'exists'
    where key = $1`,
};
/** In doubt: the next attempt begins with looking. */
const LOOK_FOR_THREAD = {
  name: "room.look_for_thread",
  text: `
    update dure.outbox
    set payload = payload - 'exists' || $2::jsonb, in_doubt = true
    where key = $1`,
};
/**
 * A person wrote in the thread, so that dure has it as a place of its own, and the note names that
 * place.
 */
const THREAD_NAMED = {
  name: "room.thread_named",
  text: `
    select other.thread
    from dure.places p
    join dure.places other on other.parent = p.parent
      and other.kind = 'thread'
      and other.thread is not null
    where p.id = $1 and strpos($2, other.id) > 0
    limit 1`,
};
const WAITING_PARTS = {
  name: "room.waiting_parts",
  text: `
    select
    from dure.outbox
    where starts_with(key, $1) and state in ('pending', 'sending')
    limit 1`,
};
const REOPEN = {
  name: "room.reopen",
  text: `
    update dure.requests
    set state = 'open', closed_at = null,
      next_at = clock_timestamp() + $2::double precision * interval '1 millisecond'
    where message = $1 and state = 'withdrawn'`,
};
