/** Requests between agents until they are answered: linked, reminded of, expired. */

import type { Transaction } from "../../durable/database.ts";
import { Poller, type PollResult } from "../../durable/poller.ts";
import { isAcknowledgement, isBlank, isOneQuestion } from "../../jobs/conclusion.ts";
import { cutBytes } from "../../kernel/cut-bytes.ts";
import { enqueueNotice } from "../out/notices.ts";
import { addressOf, type OpenPlace, type Place } from "../place.ts";
import { roomReports } from "../out/reports.ts";
import type { RoomsSetting, Talk } from "../talk.ts";
import { GONE, roomTexts, STOPPED } from "../texts.ts";
import type { GoneReason } from "../../kernel/rooms.ts";

/** How often each process looks for unanswered requests, milliseconds. */
const LOOK_EVERY_MS = 1_000;
const AT_ONCE = 50;
/** Bytes of an answer in its event. */
const EVENT_BYTES = 8_192;

interface DueRequest {
  readonly id: string;
  readonly from_agent: string;
  readonly to_agent: string;
  readonly thread: string;
  readonly reminders: number;
  readonly waited_ms: number;
  /** Its turn about the request has not ended. */
  readonly is_at_it: boolean;
  readonly origin: RequestOrigin;
}

/** Where the work was asked for that was handed over. */
interface RequestOrigin {
  readonly place?: string;
  readonly session?: string;
}

/** What agents asked of each other: closed by exactly one answer, remembered until then. */
export class Requests {
  readonly #setting: RoomsSetting;
  readonly #talk: Talk;
  readonly #poller: Poller;

  constructor(setting: RoomsSetting, talk: Talk) {
    this.#setting = setting;
    this.#talk = talk;
    this.#poller = new Poller({
      what: "unanswered requests",
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

  /**
   * What an agent's turn said in a thread, in the end or by a tool, has been posted. The turn that
   * a request started answers that request; any other answers the oldest request to this agent
   * whose own turn ended without words that answered it. A reply to a reminder answers that request
   * or none, and mere politeness or one question back is no answer there. Returns the closed request.
   */
  async answeredBy(
    tx: Transaction,
    place: OpenPlace,
    answer: { agent: string; message: string },
  ): Promise<string | undefined> {
    const { store, directory, locale } = this.#setting;
    const [said] = await tx.query<SaidFor>(SAID_FOR, [answer.message]);
    if (!said || (said.reminded && isNoAnswer(said.text))) return undefined;
    const [closed] = await tx.query<{
      id: string;
      from_agent: string;
      to_agent: string;
      origin: RequestOrigin;
      reminders: number;
    }>(CLOSE_ONE, [place.id, answer.agent, said.request, answer.message, said.reminded]);
    if (!closed) return undefined;
    await store.settleEscalation(tx, `room:unanswered:${closed.id}`, closed.to_agent);
    await store.emit(tx, [
      {
        type: "collaborate.answered",
        role: "delegation",
        room: place.id,
        agent: closed.to_agent,
        session: closed.origin.session,
        data: {
          request: closed.id,
          from: closed.from_agent,
          to: closed.to_agent,
          message: answer.message,
          thread: place.id,
          text: cutBytes(said.text, EVENT_BYTES),
        },
      },
    ]);
    if (closed.origin.place !== undefined && closed.origin.place !== place.id) {
      const origin = await store.place(closed.origin.place, tx);
      await enqueueNotice(tx, {
        place: closed.origin.place,
        author: closed.from_agent,
        text: roomTexts(locale).answered(
          directory.nameOf(closed.to_agent),
          this.#linkTo(place, origin),
        ),
      });
    }
    return closed.id;
  }

  /** The thread as its own platform links it; seen from another platform it is a name. */
  #linkTo(place: OpenPlace, from: Place | undefined): string {
    return (
      (from?.adapter === place.adapter
        ? this.#setting.adapters.get(place.adapter)?.linkTo?.(addressOf(place), place)
        : undefined) ?? `“${place.name}”`
    );
  }

  /** Reminds, and at last tells an operator. One process at a time per request. */
  async #look(): Promise<PollResult> {
    const due = await this.#setting.database.query<{ id: string }>(DUE, [AT_ONCE]);
    for (const { id } of due) await this.#remind(id);
    if (due.length > 0) this.#talk.announce();
    return "idle";
  }

  async #remind(id: string): Promise<void> {
    const { database, store, directory, limits, locale } = this.#setting;
    await database.transaction(async (tx) => {
      // The thread's place first, the lock order of all writers in it.
      const [at] = await tx.query<{ thread: string }>(THREAD_OF, [id]);
      const place = at && (await store.open(tx, at.thread));
      const [request] = await tx.query<DueRequest>(TAKE_DUE, [id]);
      if (!request || !place) return;
      const minutes = Math.round(request.waited_ms / 60_000);
      if (request.reminders < limits.reminderMs.length) {
        const next = limits.reminderMs[request.reminders + 1] ?? limits.unansweredMs;
        await tx.query(REMINDED, [id, next - limits.reminderMs[request.reminders]!]);
        const canAsk = directory.account(place.adapter, request.from_agent) !== undefined;
        if (place.state === "closed" || request.is_at_it || !canAsk) return;
        const text = roomTexts(locale).reminder(
          `<@${request.to_agent}>`,
          directory.nameOf(request.from_agent),
          minutes,
        );
        await this.#talk.say(tx, place, {
          author: request.from_agent,
          text,
          mark: "reminder",
          mentions: [request.to_agent],
          request: id,
        });
        return;
      }
      if (request.reminders > limits.reminderMs.length) return this.#expire(tx, request);
      await tx.query(GIVE_UP_REMINDING, [id, limits.participantsMs]);
      await store.escalate(tx, {
        subject: `room:unanswered:${id}`,
        type: "unanswered",
        severity: "medium",
        tenant: place.tenant,
        source: { room: place.id },
        ...roomReports(locale).unanswered(
          directory.nameOf(request.from_agent),
          directory.nameOf(request.to_agent),
          minutes,
          place.name,
        ),
        context: { request: id, from: request.from_agent, to: request.to_agent, thread: place.id },
      });
      await this.#tellOrigin(tx, request, (to) => roomTexts(locale).unanswered(to, minutes));
    });
  }

  /**
   * No request waits for ever: it ends as its thread forgets who takes part.
   * What the operator was told stands.
   */
  async #expire(tx: Transaction, request: DueRequest): Promise<void> {
    const { store, locale } = this.#setting;
    const hours = Math.round(request.waited_ms / 3_600_000);
    const { session } = request.origin;
    await tx.query(EXPIRE, [request.id]);
    await store.emit(tx, [
      {
        type: "collaborate.failed",
        role: "delegation",
        agent: request.from_agent,
        session,
        data: {
          request: request.id,
          to: request.to_agent,
          why: `no answer for ${hours} h`,
        },
      },
    ]);
    await this.#tellOrigin(tx, request, (to) => roomTexts(locale).expired(to, hours));
  }

  /** One line in the place where it began, unless that is the thread itself. */
  async #tellOrigin(
    tx: Transaction,
    { origin, thread, from_agent, to_agent }: DueRequest,
    sentence: (to: string) => string,
  ): Promise<void> {
    if (origin.place !== undefined && origin.place !== thread) {
      await enqueueNotice(tx, {
        place: origin.place,
        author: from_agent,
        text: sentence(this.#setting.directory.nameOf(to_agent)),
      });
    }
  }
}

/**
 * Places are gone, or a person has stopped what runs in them: what was asked there and not answered
 * (before a time) cannot be any more, and the places where it began are told. Gives how many.
 */
export async function withdrawRequestsIn(
  tx: Transaction,
  setting: Pick<RoomsSetting, "store" | "directory" | "locale">,
  places: readonly string[],
  { because, before }: { because: GoneReason | "stopped"; before?: Date | undefined },
): Promise<number> {
  const { store, directory, locale } = setting;
  const why = because === "stopped" ? STOPPED : GONE[because];
  const withdrawn = await tx.query<{
    id: string;
    from_agent: string;
    to_agent: string;
    thread: string;
    origin: RequestOrigin;
  }>(WITHDRAW_IN, [places, before ?? null]);
  for (const request of withdrawn) {
    const { place, session } = request.origin;
    await store.settleEscalation(tx, `room:unanswered:${request.id}`, request.from_agent);
    await store.emit(tx, [
      {
        type: "collaborate.failed",
        role: "delegation",
        agent: request.from_agent,
        session,
        data: { request: request.id, to: request.to_agent, why: why.en },
      },
    ]);
    if (place !== undefined && !places.includes(place)) {
      await enqueueNotice(tx, {
        place,
        author: request.from_agent,
        text: roomTexts(locale).withdrawn(directory.nameOf(request.to_agent), why[locale]),
      });
    }
  }
  return withdrawn.length;
}

interface SaidFor {
  readonly request: string | null;
  readonly text: string;
  /** The turn was started by a reminder. */
  readonly reminded: boolean;
}

function isNoAnswer(text: string): boolean {
  return isBlank(text) || isAcknowledgement(text) || isOneQuestion(text);
}

/** The words of a turn or of its tools, and the request that it was started for. */
const SAID_FOR = {
  name: "request.said_for",
  text: `
    select h.request, m.text, coalesce(s.mark = 'reminder', false) as reminded
    from dure.room_messages m
    join dure.handlings h on h.turn = coalesce(m.turn, m.during)
    left join dure.room_messages s on s.id = h.message
    where m.id = $1 and m.mark is null`,
};
const CLOSE_ONE = {
  name: "request.close_one",
  text: `
    with one as (
      select r.id
      from dure.requests r
      where r.thread = $1
        and r.to_agent = $2
        and r.state = 'open'
        and (
          r.id = $3
          or not $5::boolean
          and (
            $3::text is null
            or not exists (
              select 1
              from dure.requests o
              where o.id = $3 and o.state = 'open' and o.to_agent = $2 and o.thread = $1
            )
          )
            and exists (
              select 1
              from dure.handlings h
              left join dure.room_messages m on m.id = h.answer
              where h.request = r.id
                and h.agent = r.to_agent
                and h.state = 'done'
                -- one that was sent and left the request open was no answer
                and (h.answer is null or m.delivery in ('failed', 'unknown', 'sent'))
            )
        )
      order by (r.id = $3) desc nulls last, r.created_at
      limit 1
      for update
    )
    update dure.requests r
    set state = 'answered', answer = $4, closed_at = clock_timestamp(), next_at = null
    from one
    where r.id = one.id
    returning r.id, r.from_agent, r.to_agent, r.origin, r.reminders`,
};
const DUE = {
  name: "request.due",
  text: `
    select id
    from dure.requests
    where state = 'open'
      and next_at <= clock_timestamp()
      and not exists (select from dure.pauses p where p.agent = to_agent)
    order by next_at
    limit $1`,
};
const THREAD_OF = {
  name: "request.thread_of",
  text: "select thread from dure.requests where id = $1",
};
const TAKE_DUE = {
  name: "request.take_due",
  text: `
    select id, from_agent, to_agent, thread, reminders, origin,
      (
        extract(epoch from clock_timestamp() - created_at) * 1000
      )::double precision as waited_ms,
      exists (
        select 1
        from dure.handlings h
        where h.request = r.id and h.agent = r.to_agent and h.state <> 'done'
      ) as is_at_it
    from dure.requests r
    where id = $1
      and state = 'open'
      and next_at <= clock_timestamp()
      and not exists (select from dure.pauses p where p.agent = to_agent)
    for update`,
};
const REMINDED = {
  name: "request.reminded",
  text: `
    update dure.requests
    set reminders = reminders + 1,
      next_at = next_at + $2::double precision * interval '1 millisecond'
    where id = $1`,
};
const WITHDRAW_IN = {
  name: "request.withdraw_in",
  text: `
    update dure.requests
    set state = 'withdrawn', closed_at = clock_timestamp(), next_at = null
    where thread = any($1::text[])
      and state = 'open'
      and created_at <= coalesce($2::timestamptz, clock_timestamp())
    returning id, from_agent, to_agent, thread, origin`,
};
const GIVE_UP_REMINDING = {
  name: "request.no_more_reminders",
  text: `
    update dure.requests
    set reminders = reminders + 1,
      next_at = clock_timestamp() + $2::double precision * interval '1 millisecond'
    where id = $1`,
};
const EXPIRE = {
  name: "request.expire",
  text: `
    update dure.requests
    set state = 'expired', closed_at = clock_timestamp(), next_at = null
    where id = $1`,
};
