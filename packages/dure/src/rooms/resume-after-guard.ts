import type { Transaction } from "../durable/database.ts";
import { Poller, type PollResult } from "../durable/poller.ts";
import type { RoomsSetting, Talk } from "./talk.ts";
import { UNSURE, type UnsureDecision, type UnsureDeliveries } from "./unsure.ts";

/** How often each process looks for answers that lift a stop, milliseconds. */
const LOOK_EVERY_MS = 1_000;

/** What the escalation of a guard, or of a post or thread that was not found, is about. */
interface Lift {
  readonly id: string;
  readonly by: string | null;
  readonly subject: string;
  readonly value: string;
  readonly note: string | null;
  readonly context: {
    readonly guard?: string;
    readonly place?: string | null;
    readonly from?: string;
    readonly to?: string;
    readonly message?: string;
    readonly outbox?: string;
  };
}

/**
 * A guard has stopped agents and asked a person, who said `resume`; or a post or thread cannot be
 * found, and a person said what became of it: by a button, in the dashboard or over HTTP. The
 * answer is a row, whichever process took it; what it lifts is done once, by the process that sees
 * it first.
 */
export class GuardResumes {
  readonly #setting: RoomsSetting;
  readonly #talk: Talk;
  readonly #unsure: UnsureDeliveries;
  readonly #poller: Poller;

  constructor(setting: RoomsSetting, parts: { talk: Talk; unsure: UnsureDeliveries }) {
    this.#setting = setting;
    this.#talk = parts.talk;
    this.#unsure = parts.unsure;
    this.#poller = new Poller({
      what: "stops that people have lifted",
      poll: () => this.#look(),
      everyMs: LOOK_EVERY_MS,
      clock: setting.clock,
      logger: setting.logger,
    });
  }

  start(): void {
    this.#poller.start();
  }

  async stop(): Promise<void> {
    await this.#poller.stop();
  }

  async #look(): Promise<PollResult> {
    const answered = await this.#setting.database.query<{ id: string }>(ANSWERED);
    for (const { id } of answered) await this.#lift(id);
    if (answered.length > 0) this.#talk.announce();
    return "idle";
  }

  async #lift(id: string): Promise<void> {
    const { database } = this.#setting;
    await database.transaction(async (tx) => {
      const [lift] = await tx.query<Lift>(TAKE, [id]);
      if (!lift) return;
      if (lift.subject.startsWith(UNSURE)) return this.#settleUnsure(tx, lift);

      const { guard, place, from, to } = lift.context;
      if (guard === "pair" && from !== undefined && to !== undefined) {
        await tx.query(FORGET_CALLS, [from, to]);
      }
      if (guard === "thread-rate" && place) await this.#resume(tx, place, lift.by);
    });
  }

  async #settleUnsure(tx: Transaction, { value, note, context }: Lift): Promise<void> {
    const { place, message, outbox } = context;
    if (outbox === undefined) return;
    const decision = value as UnsureDecision;
    if (message !== undefined) {
      await this.#unsure.settleMessage(tx, { message, outbox }, decision);
    } else if (place) {
      await this.#unsure.settleThread(tx, { place, outbox, note }, decision);
    }
  }

  async #resume(tx: Transaction, place: string, by: string | null): Promise<void> {
    const { store } = this.#setting;
    const open = await store.open(tx, place);
    if (!open || open.state === "closed") return;
    await tx.query(RESUME, [open.id]);
    await store.emit(tx, [
      {
        type: "room.resumed",
        role: "system",
        room: open.id,
        data: { by, parent: open.parent },
      },
    ]);
  }
}

/** Resuming a thread also lets the pairs call again that work in it. */
export async function liftPairsIn(
  tx: Transaction,
  { store }: Pick<RoomsSetting, "store">,
  place: string,
  by: string,
): Promise<void> {
  const pairs = await tx.query<{ one: string; other: string }>(FORGET_CALLS_IN, [place]);
  for (const { one, other } of pairs) {
    await store.settleEscalation(tx, `room:loop:${one}:${other}:pair`, by);
  }
}

/** Agents may speak again in a place. */
export const RESUME = {
  name: "rooms.resume",
  text: `
    update dure.places
    set state = 'open', suspended_until = null, agent_messages = 0, recent = '{}'
    where id = $1`,
};

const IS_LIFT = `status = 'resolved' and used_at is null and (type = 'conflict' and \
resolution->>'value' = 'resume' and starts_with(subject, 'room:loop:')
    or type = 'delivery' and resolution->>'value' in ('sent', 'again', 'failed') and \
starts_with(subject, '${UNSURE}'))`;
const ANSWERED = {
  name: "lift.answered",
  text: `
    select id
    from dure.escalations
    where ${IS_LIFT}
    order by resolved_at
    limit 50`,
};
const TAKE = {
  name: "lift.take",
  text: `
    update dure.escalations
    set used_at = clock_timestamp()
    where id = (
      select id
      from dure.escalations
      where id = $1 and ${IS_LIFT}
      for update skip locked
    )
    returning id, subject, resolution->>'value' as value, resolution->>'note' as note,
      resolved_by as by, context`,
};
const FORGET_CALLS_IN = {
  name: "lift.forget_calls_in",
  text: `
    update dure.agent_pairs p
    set calls = '{}'
    where p.calls <> '{}'
      and exists (
        select
        from dure.requests r
        where r.thread = $1
          and (r.from_agent, r.to_agent) in ((p.one, p.other), (p.other, p.one))
      )
    returning p.one, p.other`,
};
const FORGET_CALLS = {
  name: "lift.forget_calls",
  text: `
    update dure.agent_pairs
    set calls = '{}'
    where (one = $1 and other = $2) or (one = $2 and other = $1)`,
};
