/** What a person orders on a platform by a command, a button or a reaction. */

import type { Stopped } from "../../wire/rooms.ts";
import type { Locale } from "../../kernel/locales.ts";
import { RETRY_MODELS_TOPIC } from "../../engine/outage-reports.ts";
import type { MessageButton } from "../room-store.ts";
import type { AgentPauses } from "./agent-pauses.ts";
import { forbidden, mayAnswer, nameOf, type PressedBy, audited } from "./pressed-by.ts";
import type { Place } from "../place.ts";
import type { RoomReader } from "../look/reading.ts";
import type { RoomsSetting } from "../talk.ts";
import { cutText } from "../text.ts";
import { roomTexts } from "../texts.ts";

/** What a person can order on a platform: by a command, a button or a reaction. */
export const ORDERS = ["stop", "retry", "pause", "resume", "who", "jobs"] as const;
export type Order = (typeof ORDERS)[number];

/** How the value of a button begins that gives an order. */
export const ORDER_BUTTON = "order";

/** What a person can order while an agent waits for its model. */
export function waitButtons(locale: Locale): readonly MessageButton[] {
  const texts = roomTexts(locale);
  return [
    { value: `${ORDER_BUTTON}:stop`, label: texts.stop() },
    { value: `${ORDER_BUTTON}:retry`, label: texts.retry() },
  ];
}

/** Where an order was given, and to which agent's account. */
export interface OrderedAt {
  readonly agent: string;
  readonly place: Place;
  /** The same deed of a person, seen by several accounts, is done once. */
  readonly key?: string | undefined;
}

interface OrdersParts {
  readonly pauses: AgentPauses;
  readonly reader: Pick<RoomReader, "agents">;
  readonly approvers: readonly string[] | undefined;
  readonly stopIn: (place: Place, by: string) => Promise<Stopped>;
}

/** Jobs that one answer lists, and characters of what each was asked. */
const JOBS_SHOWN = 10;
const EXCERPT = 80;

/**
 * Carries out what people order where they talk. Who may write in a place may stop what runs there;
 * who may decide for the team may pause its agents; who is there may look.
 */
export class Orders {
  readonly #setting: RoomsSetting;
  readonly #parts: OrdersParts;

  constructor(setting: RoomsSetting, parts: OrdersParts) {
    this.#setting = setting;
    this.#parts = parts;
  }

  /** Gives what the person is told. Throws `STOP_FORBIDDEN`, `RETRY_FORBIDDEN`, `PAUSE_FORBIDDEN`. */
  async carryOut(order: Order, by: PressedBy, at: OrderedAt): Promise<string> {
    switch (order) {
      case "stop":
        return this.#stop(by, at);
      case "retry":
        return this.#retry(by, at);
      case "pause":
      case "resume":
        return this.#brake(order, by, at);
      case "who":
        return this.#who(at);
      case "jobs":
        return this.#jobs(at);
      default:
        return order satisfies never;
    }
  }

  async #stop(by: PressedBy, { place, key }: OrderedAt): Promise<string> {
    const name = nameOf(by);
    if (by.writes === false) throw forbidden("STOP_FORBIDDEN", `${name} may not stop ${place.id}.`);
    const first =
      key === undefined ? [key] : await this.#setting.database.query(CLAIM, [`order:${key}`]);
    if (first.length === 0) return "";
    const what = place.kind === "thread" ? "thread.stop" : "room.stop";
    const deed = { tenant: place.tenant, name, what, subject: place.id };
    const ended = await audited(this.#setting, deed, () => this.#parts.stopIn(place, by.name));
    return roomTexts(this.#setting.locale).stoppedFor(ended);
  }

  /** Turns that wait for a model that is away call it now. */
  #retry(by: PressedBy, { place }: OrderedAt): string {
    if (by.writes === false) {
      throw forbidden("RETRY_FORBIDDEN", `${nameOf(by)} may not retry in ${place.id}.`);
    }
    this.#setting.notifications.publish(RETRY_MODELS_TOPIC);
    return roomTexts(this.#setting.locale).retrying();
  }

  async #brake(
    order: "pause" | "resume",
    by: PressedBy,
    { agent, place }: OrderedAt,
  ): Promise<string> {
    const name = nameOf(by);
    if (!mayAnswer(by, this.#parts.approvers)) {
      throw forbidden("PAUSE_FORBIDDEN", `${name} may not ${order} ${agent}.`);
    }
    const { pauses } = this.#parts;
    const deed = { tenant: "", name, what: `agent.${order}`, subject: agent };
    const isChanged = await audited(this.#setting, deed, () =>
      pauses[order](agent, { by: by.name, place: place.id }),
    );
    const texts = roomTexts(this.#setting.locale);
    const who = this.#setting.directory.nameOf(agent);
    return order === "pause" ? texts.pausedFor(who, isChanged) : texts.resumedFor(who, isChanged);
  }

  async #who({ place }: OrderedAt): Promise<string> {
    const { locale } = this.#setting;
    const agents = await this.#parts.reader.agents({ tenant: place.tenant });
    const here = agents.filter(({ accounts }) =>
      accounts.some(({ adapter }) => adapter === place.adapter),
    );
    return here.map((agent) => roomTexts(locale).whoLine(agent)).join("\n");
  }

  async #jobs({ place }: OrderedAt): Promise<string> {
    const { database, directory, locale } = this.#setting;
    const texts = roomTexts(locale);
    const jobs = await database.query<OpenJob>(JOBS_OF, [place.id, JOBS_SHOWN]);
    if (jobs.length === 0) return texts.noJobs();
    const lines = jobs.map(({ requester, target, message, turns_done, max_turns }) => {
      const asked = cutText(message.replaceAll(/\s+/g, " "), EXCERPT);
      const names = `${directory.nameOf(requester)} → ${directory.nameOf(target)}`;
      return `• ${names}: ${asked} (${turns_done}/${max_turns})`;
    });
    return lines.join("\n");
  }
}

interface OpenJob {
  readonly requester: string;
  readonly target: string;
  readonly message: string;
  readonly turns_done: number;
  readonly max_turns: number;
}

/** After 10 s it is another deed: a person may react again. */
const CLAIM = {
  name: "orders.claim",
  text: `
    insert into dure.collaborations as c (key, result)
    values ($1, '{}')
    on conflict (key)
    do update set at = clock_timestamp()
    where c.at < clock_timestamp() - interval '10 seconds'
    returning key`,
};
const JOBS_OF = {
  name: "orders.jobs",
  text: `
    select j.requester, j.target, j.message, j.turns_done, j.max_turns
    from dure.jobs j
    join dure.places p
      on split_part(j.origin_session, '@@', 1)
        = 'room:' || split_part(j.origin_session, ':', 2) || ':' || p.id
    where j.status in ('PENDING', 'RUNNING')
      and j.origin_session like 'room:%'
      and (p.id = $1 or (p.parent = $1 and not starts_with(p.id, 'private_')))
    order by j.seq desc
    limit $2`,
};
