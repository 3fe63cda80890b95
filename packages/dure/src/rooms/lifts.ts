import type { Cancel } from "../kernel/clock.ts";
import { codeOf, messageOf } from "../kernel/errors.ts";
import type { RoomsSetting, Talk } from "./talk.ts";

/** How often somebody looks for answers that lift a stop, milliseconds. */
const LOOK_EVERY_MS = 1_000;

/** What the escalation of a guard is about. */
interface Lift {
  readonly id: string;
  readonly by: string | null;
  readonly context: { readonly guard?: string; readonly place?: string | null; readonly from?: string; readonly to?: string };
}

/**
 * A guard has stopped agents and asked a person; the person said `resume`: by a button, in the dashboard or over HTTP. The
 * answer is a row, whoever took it; what it lifts is done once, by the process that sees it first.
 */
export class Lifts {
  readonly #setting: RoomsSetting;
  readonly #talk: Talk;
  #cancel: Cancel | undefined;
  #looking: Promise<void> | undefined;

  constructor(setting: RoomsSetting, talk: Talk) {
    this.#setting = setting;
    this.#talk = talk;
  }

  start(): void {
    this.#cancel ??= this.#setting.clock.every(LOOK_EVERY_MS, () => void this.look());
  }

  async stop(): Promise<void> {
    this.#cancel?.();
    await this.#looking;
  }

  look(): Promise<void> {
    this.#looking ??= this.#lookOnce().finally(() => (this.#looking = undefined));
    return this.#looking;
  }

  async #lookOnce(): Promise<void> {
    const { database, logger } = this.#setting;
    try {
      const answered = await database.query<{ id: string }>(ANSWERED);
      for (const { id } of answered) await this.#lift(id);
      if (answered.length > 0) this.#talk.announce();
    } catch (error) {
      if (codeOf(error) !== "DATABASE_CLOSED") logger.warn({ error: messageOf(error) }, "could not look for stops that people have lifted; looking again");
    }
  }

  async #lift(id: string): Promise<void> {
    const { database, store } = this.#setting;
    await database.transaction(async (tx) => {
      const [lift] = await tx.query<Lift>(TAKE, [id]);
      if (!lift) return;
      const { guard, place, from, to } = lift.context;
      if (guard === "pair" && from !== undefined && to !== undefined) await tx.query(FORGET_CALLS, [from, to]);
      if (guard !== "thread-rate" || !place) return;
      const open = await store.open(tx, place);
      if (!open || open.state === "closed") return;
      await tx.query(RESUME, [place]);
      await store.emit(tx, [{ type: "room.resumed", role: "system", room: place, data: { by: lift.by, parent: open.parent } }]);
    });
  }
}

/** Agents may speak again in a place. */
export const RESUME = { name: "rooms.resume", text: "update dure.places set state = 'open', suspended_until = null, agent_messages = 0, recent = '{}' where id = $1" };

const IS_LIFT = "type = 'conflict' and status = 'resolved' and used_at is null and resolution->>'value' = 'resume' and starts_with(subject, 'room:loop:')";
const ANSWERED = { name: "lift.answered", text: `select id from dure.escalations where ${IS_LIFT} order by resolved_at limit 50` };
const TAKE = {
  name: "lift.take",
  text: `update dure.escalations set used_at = clock_timestamp() where id = (select id from dure.escalations where id = $1 and ${IS_LIFT} for update skip locked)
         returning id, resolved_by as by, context`,
};
const FORGET_CALLS = { name: "lift.forget_calls", text: "update dure.agent_pairs set calls = '{}' where (one = $1 and other = $2) or (one = $2 and other = $1)" };
