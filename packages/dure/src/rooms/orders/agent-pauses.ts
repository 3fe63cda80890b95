/** The pause of an agent, as people order it and rooms tell of it. */

import type { Transaction } from "../../durable/database.ts";
import { Poller, type PollResult } from "../../durable/poller.ts";
import type { Pause, Pauses } from "../../durable/pauses.ts";
import { enqueueNotice } from "../out/notices.ts";
import { HANDLINGS_TOPIC, type RoomsSetting } from "../talk.ts";
import { roomTexts } from "../texts.ts";

/** How often each process looks for places in which a paused agent is waited for, milliseconds. */
const LOOK_EVERY_MS = 1_000;
const AT_ONCE = 50;

/** The order of a person, and where it was given; that place is told of it at once. */
export interface PauseOrder {
  readonly by: string;
  readonly place?: string | undefined;
}

/**
 * Pauses the agents of rooms. What is asked of a paused agent waits in its rows; each place in which
 * it is waited for is told once, and again when the agent goes on.
 */
export class AgentPauses {
  readonly #setting: RoomsSetting;
  readonly #pauses: Pauses;
  readonly #poller: Poller;
  readonly #leave: (() => void)[] = [];

  constructor(setting: RoomsSetting, pauses: Pauses) {
    this.#setting = setting;
    this.#pauses = pauses;
    this.#poller = new Poller({
      what: "places that wait for a paused agent",
      poll: () => this.#look(),
      everyMs: LOOK_EVERY_MS,
      clock: setting.clock,
      logger: setting.logger,
    });
  }

  start(): void {
    if (this.#leave.length > 0) return;
    const { notifications } = this.#setting;
    this.#leave.push(this.#pauses.onChange(() => this.#poller.wake()));
    this.#leave.push(notifications.subscribe(HANDLINGS_TOPIC, () => this.#poller.wake()));
    this.#poller.start();
  }

  async stop(): Promise<void> {
    for (const leave of this.#leave.splice(0)) leave();
    await this.#poller.stop();
  }

  get(agent: string): Pause | undefined {
    return this.#pauses.get(agent);
  }

  /** No new model call of it. Throws `AGENT_UNKNOWN`. False: it is paused already. */
  async pause(agent: string, { by, place }: PauseOrder): Promise<boolean> {
    const { id } = this.#setting.directory.get(agent);
    const isNew = await this.#pauses.pause(id, by, async (tx, pause) => {
      if (place === undefined) return;
      await tx.query(NOTE, [id, place]);
      await this.#tell(tx, { agent: pause.agent, by: pause.by, place }, "paused");
    });
    this.#wakeOutbox();
    return isNew;
  }

  /** It goes on with what waits for it. Throws `AGENT_UNKNOWN`. False: it is not paused. */
  async resume(agent: string, { by, place }: PauseOrder): Promise<boolean> {
    const { id } = this.#setting.directory.get(agent);
    const isOver = await this.#pauses.resume(id, by, async (tx, pause) => {
      const told = await tx.query<{ place: string }>(TOLD, [id]);
      const places = new Set(told.map((row) => row.place));
      if (place !== undefined) places.add(place);
      await tx.query(REMIND_LATER, [id, new Date(pause.at)]);
      for (const one of places) await this.#tell(tx, { agent: id, by, place: one }, "goesOn");
    });
    for (const topic of [HANDLINGS_TOPIC, "jobs"]) this.#setting.notifications.publish(topic);
    this.#wakeOutbox();
    return isOver;
  }

  async #look(): Promise<PollResult> {
    if (!this.#pauses.some) return "idle";
    const { database } = this.#setting;
    const told = await database.transaction(async (tx) => {
      const waited = await tx.query<ToldOf>(WAITED_FOR, [AT_ONCE]);
      for (const pause of waited) await this.#tell(tx, pause, "paused");
      return waited.length;
    });
    if (told > 0) this.#wakeOutbox();
    return told === AT_ONCE ? "more" : "idle";
  }

  async #tell(tx: Transaction, { agent, by, place }: ToldOf, what: "paused" | "goesOn") {
    const { store, directory, locale } = this.#setting;
    if (what === "paused" && !directory.find(agent)) return;
    const at = await store.place(place, tx);
    const who = at?.tenant === "" ? by : ""; // no operator of all, to a tenant's people
    const text = roomTexts(locale)[what](directory.nameOf(agent), who);
    await enqueueNotice(tx, { place, author: agent, text });
  }

  #wakeOutbox(): void {
    this.#setting.notifications.publish("outbox");
  }
}

/** Who has paused or resumed an agent, and the place that is told of it. */
interface ToldOf {
  readonly agent: string;
  readonly by: string;
  readonly place: string;
}

/** The pause is locked, so that it cannot end before what is told of it is written. */
const WAITED_FOR = {
  name: "pause.waited_for",
  text: `
    with paused as (
      select agent, by, at
      from dure.pauses
      for key share skip locked
    ),
    noted as (
      insert into dure.pause_notices (agent, place)
      select distinct h.agent, h.place
      from paused
      join dure.handlings h on h.agent = paused.agent and h.state <> 'done'
      where not exists (
        select
        from dure.pause_notices n
        where n.agent = h.agent and n.place = h.place
      )
      limit $1
      on conflict do nothing
      returning agent, place
    )
    select noted.agent, noted.place, paused.by, paused.at
    from noted
    join paused on paused.agent = noted.agent`,
};
const NOTE = {
  name: "pause.note",
  text: `
    insert into dure.pause_notices (agent, place)
    values ($1, $2)
    on conflict do nothing`,
};
const TOLD = {
  name: "pause.told_in",
  text: `
    select place
    from dure.pause_notices
    where agent = $1
    order by place
    limit 200`,
};
/** The time of a request stands still while the agent that is asked is paused. */
const REMIND_LATER = {
  name: "pause.remind_later",
  text: `
    update dure.requests
    set next_at = next_at + (clock_timestamp() - greatest($2::timestamptz, created_at))
    where to_agent = $1 and state = 'open' and next_at is not null`,
};
