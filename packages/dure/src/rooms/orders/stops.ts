/** Stops in a place: what runs there ends, and an agent is taken out of a thread. */

import type { Stopped } from "../../wire/rooms.ts";
import type { Transaction } from "../../durable/database.ts";
import { Poller, type PollResult } from "../../durable/poller.ts";
import { UNATTENDED_TOPIC } from "../../durable/turns.ts";
import { newId } from "../../kernel/ids.ts";
import { endUnsaid, type UnsaidHandling } from "../answer/handling.ts";
import type { OpenPlace, Place } from "../place.ts";
import { endWait } from "../answer/model-wait-notice.ts";
import { withdrawRequestsIn } from "../handover/requests.ts";
import { HANDLINGS_TOPIC, type RoomsSetting, type Talk } from "../talk.ts";
import { roomTexts } from "../texts.ts";
import { DureError } from "../../kernel/errors.ts";

/** How often each process looks for stops that another one has begun, milliseconds. */
const LOOK_EVERY_MS = 1_000;
const AT_ONCE = 20;

interface StopRow extends Stopped {
  readonly id: string;
  readonly place: string;
  readonly by: string;
  readonly at: Date;
}

/**
 * Ends what runs in a place and in the threads under it: answers with their turns, open requests
 * with their reminders, jobs that were asked for there. The order is a row first. It counts for what
 * was there before it, so any process may carry it out, also twice; it is said in the place once.
 */
export class Stops {
  readonly #setting: RoomsSetting;
  readonly #talk: Talk;
  readonly #poller: Poller;

  constructor(setting: RoomsSetting, talk: Talk) {
    this.#setting = setting;
    this.#talk = talk;
    this.#poller = new Poller({
      what: "stops of places",
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

  /** Stored when the row is written; what this process cannot finish another one does. */
  async stopIn(place: Place, by: string): Promise<Stopped> {
    const { database, clock } = this.#setting;
    const id = newId("stop", clock.now());
    await database.query(ORDER, [id, place.id, by]);
    await this.#carryOut(id);
    const [row] = await database.query<StopRow>(STOP, [id]);
    const { answers = 0, requests = 0, jobs = 0 } = row ?? {};
    return { answers, requests, jobs };
  }

  async #look(): Promise<PollResult> {
    const open = await this.#setting.database.query<{ id: string }>(OPEN, [AT_ONCE]);
    for (const { id } of open) await this.#carryOut(id);
    return open.length === AT_ONCE ? "more" : "idle";
  }

  /** Each step may be repeated; the last one is done once. */
  async #carryOut(id: string): Promise<void> {
    const { database, notifications } = this.#setting;
    const [stop] = await database.query<StopRow>(STOP, [id]);
    if (!stop) return;
    const places = await database.query<{ id: string }>(BUSY, [stop.place, stop.at]);
    for (const place of places) await this.#endIn(stop, place.id);
    await database.transaction(async (tx) => {
      const [ended] = await tx.query<{ count: number }>(END_JOBS, [stop.place, stop.by, stop.at]);
      if (ended && ended.count > 0) await tx.query(COUNT_JOBS, [id, ended.count]);
    });
    await database.query(STOP_TURNS, [stop.place, stop.at, stop.by]);
    await database.transaction((tx) => this.#tell(tx, id));
    for (const topic of ["stops", "jobs", "outbox", UNATTENDED_TOPIC, HANDLINGS_TOPIC]) {
      notifications.publish(topic);
    }
    this.#talk.announce();
  }

  async #endIn(stop: StopRow, id: string): Promise<void> {
    const { database, store } = this.#setting;
    await database.transaction(async (tx) => {
      const place = await store.open(tx, id);
      if (!place) return;
      const ended = await tx.query<UnsaidHandling>(END_HANDLINGS, [place.id, stop.at]);
      const text = roomTexts(this.#setting.locale).waitStopped();
      for (const handling of ended) {
        await endWait(tx, this.#setting, { ...handling, place: place.id }, text);
        await endUnsaid(tx, this.#setting, place, { handling, outcome: "stopped" });
      }
      const requests = await withdrawRequestsIn(tx, this.#setting, [place.id], {
        because: "stopped",
        before: stop.at,
      });
      await tx.query(COUNT, [stop.id, ended.length, requests]);
    });
  }

  async #tell(tx: Transaction, id: string): Promise<void> {
    const { store, locale } = this.#setting;
    const [at] = await tx.query<{ place: string }>(PLACE_OF, [id]);
    const place = at && (await store.open(tx, at.place));
    const [stop] = await tx.query<StopRow>(DONE, [id]);
    if (!stop || !place) return;
    const { by, answers, requests, jobs } = stop;
    const data = { by, answers, requests, jobs, parent: place.parent };
    await store.emit(tx, [{ type: "room.stopped", role: "system", room: place.id, data }]);
    const speaker = this.#speakerIn(place);
    if (place.state === "closed" || speaker === undefined) return;
    if (answers + requests + jobs === 0) return;
    const text = roomTexts(locale).stopped(by, { answers, requests, jobs });
    await this.#talk.say(tx, place, { author: speaker, text, mark: "notice" });
    this.#setting.logger.info(
      { stop: id, room: place.id, answers, requests, jobs },
      `what ran in ${place.name} was stopped`,
    );
  }

  /** The agent in whose name it is said: the first that takes part, else the one that leads. */
  #speakerIn({ adapter, agent, participants }: OpenPlace): string | undefined {
    const { directory } = this.#setting;
    const lead = directory.lead?.id;
    const all = [...participants, agent, lead, ...directory.agents.map(({ id }) => id)];
    return all.find((one) => typeof one === "string" && directory.account(adapter, one)) as
      | string
      | undefined;
  }
}

const ORDER = {
  name: "stop.order",
  text: "insert into dure.stops (id, place, by) values ($1, $2, $3)",
};
const STOP = { name: "stop.read", text: "select * from dure.stops where id = $1" };
const OPEN = {
  name: "stop.open",
  text: `
    select id
    from dure.stops
    where done_at is null
    order by at
    limit $1`,
};
/** The place and its threads, as far as something is open there. */
const BUSY = {
  name: "stop.busy",
  text: `
    select p.id
    from dure.places p
    where (p.id = $1 or p.parent = $1)
      and (
        p.id in (select place from dure.handlings where state <> 'done' and created_at <= $2)
        or p.id in (select thread from dure.requests where state = 'open' and created_at <= $2)
      )
    order by p.id`,
};
const END_HANDLINGS = {
  name: "stop.end_handlings",
  text: `
    update dure.handlings
    set state = 'done', outcome = 'stopped', finished_at = clock_timestamp(), input = null
    where place = $1 and state <> 'done' and created_at <= $2
    returning id, agent, session, turn, message, preview`,
};
const COUNT = {
  name: "stop.count",
  text: `
    update dure.stops
    set answers = answers + $2, requests = requests + $3
    where id = $1`,
};
const END_JOBS = {
  name: "stop.end_jobs",
  text: "select dure.stop_jobs_of($1, $2, $3) as count",
};
const COUNT_JOBS = {
  name: "stop.count_jobs",
  text: "update dure.stops set jobs = jobs + $2 where id = $1",
};
/** Of the answers that this stop, or one like it, has ended: their turns end where they run. */
const STOP_TURNS = {
  name: "stop.turns",
  text: `
    update dure.turns t
    set stop = coalesce(t.stop, jsonb_build_object('by', $3::text))
    from dure.handlings h
    join dure.places p on p.id = h.place
    where h.state = 'done'
      and h.outcome = 'stopped'
      and h.finished_at >= $2
      and (p.id = $1 or p.parent = $1)
      and t.id = h.turn
      and t.status <> 'done'`,
};
const PLACE_OF = { name: "stop.place_of", text: "select place from dure.stops where id = $1" };
const DONE = {
  name: "stop.done",
  text: `
    update dure.stops
    set done_at = clock_timestamp()
    where id = $1 and done_at is null
    returning *`,
};

/** A person takes an agent out of a thread, which is told there. Throws `PARTICIPANT_UNKNOWN`. */
export async function takeOut(
  { database, store, directory, locale }: RoomsSetting,
  talk: Talk,
  { place, agent, by }: { readonly place: Place; readonly agent: string; readonly by: string },
): Promise<void> {
  await database.transaction(async (tx) => {
    const open = await store.open(tx, place.id);
    if (!(await store.depart(tx, place.id, agent))) {
      throw new DureError("PARTICIPANT_UNKNOWN", `${agent} takes no part in ${place.name}.`, {
        class: "not-found",
      });
    }
    const data = { by, parent: place.parent };
    await store.emit(tx, [{ type: "room.left", role: "system", room: place.id, agent, data }]);
    if (!open || open.state === "closed" || !directory.account(place.adapter, agent)) return;
    const text = roomTexts(locale).removed(directory.nameOf(agent), by);
    await talk.say(tx, open, { author: agent, text, mark: "notice" });
  });
}
