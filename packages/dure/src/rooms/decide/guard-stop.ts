/** A guard that has stopped a place: what is not said any more, and how it goes on. */

import type { Database, Transaction } from "../../durable/database.ts";
import { DureError } from "../../kernel/errors.ts";
import { dropParts, failMessage } from "../out/outgoing.ts";
import { endUnsaid, type UnsaidHandling } from "../answer/handling.ts";
import type { OpenPlace, Place } from "../place.ts";
import { inLocale } from "../../escalations/action-words.ts";
import { LIFT_BUTTON, type GuardStep } from "./guards.ts";
import type { MessageButton, StoredMessage } from "../room-store.ts";
import type { RoomsSetting, Talk } from "../talk.ts";
import { roomTexts } from "../texts.ts";
import { Poller, type PollResult } from "../../durable/poller.ts";
import { UNSURE, type UnsureDecision, type UnsureDeliveries } from "../out/unsure.ts";

/**
 * A guard has stopped the agents of a place, which is locked: what they were about to say to each
 * other is not said. Answers that have not begun end as `silent`; words that wait to leave, and have
 * certainly not left, are dropped. One that is being written ends silent by `isStoppedTalk`. Answers
 * to people, and to a request, are none of it. Source: docs/spec/collaboration §5.
 */
export async function stopTalkIn(
  tx: Transaction,
  setting: RoomsSetting,
  place: OpenPlace,
): Promise<void> {
  for (const handling of await tx.query<UnsaidHandling>(END_WAITING, [place.id])) {
    await endUnsaid(tx, setting, place, { handling, outcome: "silent" });
  }
  for (const { id, author } of await tx.query<{ id: string; author: string }>(UNSENT, [place.id])) {
    await dropParts(tx, id, STOPPED);
    const unsent = { id, author, place: place.id };
    await failMessage(tx, setting, unsent, { outcome: "failed", error: STOPPED });
  }
}

/** Whether a handling answers an agent in a place whose talk a guard has stopped. */
export async function isStoppedTalk(
  tx: Transaction,
  { state }: Pick<OpenPlace, "state">,
  handling: { readonly id: string },
): Promise<boolean> {
  if (state !== "suspended" && state !== "resting") return false;
  return (await tx.query(IS_TALK, [handling.id])).length > 0;
}

/**
 * Words that were on their way when the guard stopped their place, and were not taken: they are not
 * brought again. Throws `GUARD_STOPPED`.
 */
export async function refuseStopped(
  database: Database,
  { state }: Pick<Place, "state">,
  message: string,
): Promise<void> {
  if (state !== "suspended" && state !== "resting") return;
  const [stopped] = await database.query(IS_STOPPED, [message]);
  if (stopped) throw new DureError(STOPPED.code, STOPPED.message);
}

/** Code of words that a guard has kept from leaving. */
export const GUARD_STOPPED = "GUARD_STOPPED";
const STOPPED = {
  code: GUARD_STOPPED,
  message: "A guard stopped the agents here before it left.",
};

/** `m` is what is answered: an agent's words that ask for nothing. */
const TALK = `m.author_kind <> 'person' and m.mark is null
  and not exists (select from dure.requests r where r.message = m.id)`;
/** Those that another process is starting right now end by `isStoppedTalk`. */
const END_WAITING = {
  name: "guard_stop.end_waiting",
  text: `
    with waiting as (
      select h.id
      from dure.handlings h
      join dure.room_messages m on m.id = h.message
      where h.place = $1 and h.state = 'waiting' and ${TALK}
      order by h.id
      for update of h skip locked
    )
    update dure.handlings h
    set state = 'done', outcome = 'silent', finished_at = clock_timestamp(), input = null
    from waiting
    where h.id = waiting.id
    returning h.id, h.agent, h.session, h.turn, h.message, h.preview`,
};
/** Locks the first part of each, so that no process sends it meanwhile. */
const UNSENT = {
  name: "guard_stop.unsent",
  text: `
    select said.id, said.author
    from dure.room_messages said
    join dure.handlings h on h.turn = said.turn
    join dure.room_messages m on m.id = h.message
    join dure.outbox o on o.key = said.id || '/0'
    where said.place = $1
      and said.delivery = 'queued'
      and said.author_kind = 'agent'
      and said.mark is null
      and o.state = 'pending'
      and not o.in_doubt
      and ${TALK}
    order by said.seq
    for update of o skip locked`,
};
const IS_TALK = {
  name: "guard_stop.is_talk",
  text: `
    select
    from dure.handlings h
    join dure.room_messages m on m.id = h.message
    where h.id = $1 and ${TALK}`,
};
const IS_STOPPED = {
  name: "guard_stop.is_stopped",
  text: `
    select
    from dure.room_messages said
    join dure.places p on p.id = said.place
    join dure.handlings h on h.turn = said.turn
    join dure.room_messages m on m.id = h.message
    where said.id = $1
      and said.author_kind = 'agent'
      and said.mark is null
      and (
        p.state = 'resting'
        or p.state = 'suspended' and p.suspended_until > clock_timestamp()
      )
      and ${TALK}`,
};

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
      if (guard === "thread-rate" && place) {
        const open = await this.#setting.store.open(tx, place);
        if (open && open.state !== "closed") await resumeIn(tx, this.#setting, open, lift.by);
      }
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
}

/** Resuming a thread also lets the pairs call again that work in it. */
async function liftPairsIn(
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

/** A person lifts what a guard has stopped in a place. Throws `PLACE_CLOSED`. */
export async function resumeTalk(
  setting: RoomsSetting,
  { id, name }: Pick<Place, "id" | "name">,
  by: string,
): Promise<void> {
  const { database, store } = setting;
  await database.transaction(async (tx) => {
    const place = await store.open(tx, id);
    if (!place || place.state === "closed") {
      const because = place?.closedBecause ?? "it is gone";
      throw new DureError("PLACE_CLOSED", `${name} is closed: ${because}.`, { class: "conflict" });
    }
    await store.settleEscalation(tx, `room:loop:${id}`, by);
    await liftPairsIn(tx, setting, id, by);
    await resumeIn(tx, setting, place, by);
  });
}

async function resumeIn(
  tx: Transaction,
  { store }: RoomsSetting,
  { id, parent }: OpenPlace,
  by: string | null,
): Promise<void> {
  await tx.query(RESUME, [id]);
  await store.emit(tx, [{ type: "room.resumed", role: "system", room: id, data: { by, parent } }]);
}

/** Agents may speak again in a place. */
const RESUME = {
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

/** The answer that lifts what a guard has stopped. */
export const LIFT = {
  value: "resume",
  code: "lift",
  label: "Lift",
  style: "primary",
} as const;

/** Once, in the name of the agent whose message tripped a guard; it names no agent. */
export async function tellTrip(
  tx: Transaction,
  setting: RoomsSetting,
  talk: Pick<Talk, "say">,
  tripped: {
    readonly place: OpenPlace;
    readonly message: Pick<StoredMessage, "author" | "authorKind">;
    readonly trip: NonNullable<GuardStep["trip"]>;
  },
): Promise<void> {
  const { store, directory, locale } = setting;
  const { place, message, trip } = tripped;
  const text = tripText(setting, trip);
  // What is suspended waits for a decision; what rests is woken by any word of a person, and by the
  // button.
  const lift =
    trip === "thread-rate"
      ? await askToLift(tx, setting, place, text)
      : inLocale({ ...LIFT, value: `${LIFT_BUTTON}:${place.id}` }, locale);

  const speaker = message.authorKind === "agent" ? message.author : directory.lead?.id;
  if (speaker === undefined || !directory.account(place.adapter, speaker)) return;
  const after = await store.open(tx, place.id);
  if (!after) return;
  await talk.say(tx, after, { author: speaker, text, mark: "notice", buttons: [lift] });
}

/** Gives the button that answers. */
async function askToLift(
  tx: Transaction,
  { store, locale }: RoomsSetting,
  place: OpenPlace,
  title: string,
): Promise<MessageButton> {
  const id = await store.escalate(tx, {
    subject: `room:loop:${place.id}`,
    type: "conflict",
    severity: "medium",
    tenant: place.tenant,
    source: { room: place.id },
    title,
    context: { place: place.id, name: place.name, guard: "thread-rate" },
    suggestedActions: [LIFT, { value: "seen", code: "seen", label: "Seen" }],
  });
  return inLocale({ ...LIFT, value: `${id}:${LIFT.value}` }, locale);
}

function tripText(
  { limits, locale }: Pick<RoomsSetting, "limits" | "locale">,
  trip: NonNullable<GuardStep["trip"]>,
): string {
  const texts = roomTexts(locale);
  if (trip !== "thread-rate") return texts.resting(limits.exchangeMessages);
  const perSeconds = limits.threadPerMs / 1_000;
  const minutes = Math.round(limits.suspendMs / 60_000);
  return texts.suspended(perSeconds, minutes, limits.threadMessages);
}
