/** Takes the work that messages make for agents, and brings each to its end. */

import type { Conversations } from "../../engine/api.ts";
import { Poller, type PollResult } from "../../durable/poller.ts";
import { countsAsTry } from "../../durable/passing.ts";
import { PAUSES_TOPIC, type Pauses } from "../../durable/pauses.ts";
import type { ProcessLease } from "../../durable/processes.ts";
import { backOffMs } from "../../kernel/back-off.ts";
import { codeOf, messageOf } from "../../kernel/errors.ts";
import { HandlingEnd } from "./handling-end.ts";
import { HandlingTurns } from "./handling-turns.ts";
import { saidBy, type HandlingRow } from "./handling.ts";
import type { Questions } from "./questions.ts";
import { HANDLINGS_TOPIC, type RoomsSetting, type Talk } from "../talk.ts";

/** Turns of agents that one process follows at once; what is beyond waits in its row. */
const AT_ONCE = 64;
/** How often a process looks for work that it was not notified of, milliseconds. */
const LOOK_EVERY_MS = 500;
/** Before work that failed in an unexpected way is tried again: doubled each time, milliseconds. */
const RETRY = { firstMs: 2_000, maxMs: 30_000 } as const;
/** Tries in all, about two minutes: then the work behind it in its session goes on. */
const TRIES = 8;

/**
 * Lets agents answer: takes the work that messages made, runs a turn of the agent's session for
 * each, and posts what it says. Work is a row. When a process dies, another one takes the row, finds
 * the same turn by its key and reads it to its end, so that a message is answered once.
 */
export class Responder {
  readonly #setting: RoomsSetting;
  readonly #turns: HandlingTurns;
  readonly #end: HandlingEnd;
  readonly #lease: ProcessLease;
  readonly #pauses: Pick<Pauses, "first">;
  readonly #running = new Map<string, { agent: string; end: Promise<void> }>();
  readonly #over = new AbortController();
  readonly #poller: Poller;
  readonly #unsubscribe: (() => void)[] = [];
  #cancelLook: (() => void) | undefined;

  constructor(
    setting: RoomsSetting,
    parts: {
      talk: Talk;
      questions: Questions;
      conversations: Conversations;
      lease: ProcessLease;
      pauses: Pick<Pauses, "first">;
    },
  ) {
    const { talk, questions, conversations, lease, pauses } = parts;
    this.#setting = setting;
    this.#pauses = pauses;
    this.#turns = new HandlingTurns(setting, { conversations, pauses, talk, holder: lease.id });
    this.#end = new HandlingEnd(setting, { talk, questions, lease });
    this.#lease = lease;
    this.#poller = new Poller({
      what: "messages to answer",
      poll: () => this.#claim(),
      everyMs: LOOK_EVERY_MS,
      clock: setting.clock,
      logger: setting.logger,
      signal: lease.signal,
    });
  }

  start(): void {
    if (this.#unsubscribe.length > 0) return;
    const { notifications } = this.#setting;
    for (const topic of [HANDLINGS_TOPIC, PAUSES_TOPIC]) {
      this.#unsubscribe.push(notifications.subscribe(topic, () => this.#look()));
    }
    this.#poller.start();
  }

  /** Stops following. Turns go on in the engine; the process that takes the work posts their words. */
  async stop(): Promise<void> {
    for (const unsubscribe of this.#unsubscribe.splice(0)) unsubscribe();
    this.#cancelLook?.();
    this.#over.abort(new DOMException("Rooms were stopped.", "AbortError"));
    await this.#poller.stop();
    await Promise.allSettled([...this.#running.values()].map(({ end }) => end));
  }

  /** At once, and when who wrote just now has rested. */
  #look(): void {
    const { clock, gather } = this.#setting;
    this.#poller.wake();
    this.#cancelLook?.();
    this.#cancelLook = clock.after(gather.restMs + 1, () => this.#poller.wake());
  }

  async #claim(): Promise<PollResult> {
    const free = AT_ONCE - this.#working;
    if (free <= 0) return "idle";
    const claimed = await this.#setting.database.query<HandlingRow>(CLAIM, [
      this.#lease.id,
      free,
      [...this.#running.keys()],
    ]);
    for (const handling of claimed) this.#begin(handling);
    return claimed.length === free ? "more" : "idle";
  }

  /** Work of an agent that was paused in the middle of it takes no room from the others. */
  get #working(): number {
    const all = [...this.#running.values()];
    return all.filter(({ agent }) => !this.#pauses.first([agent])).length;
  }

  #begin(handling: HandlingRow): void {
    const { logger } = this.#setting;
    const end = this.#handle(handling)
      .catch((error: unknown) => {
        if (!this.#isOver) {
          logger.warn(
            { handling: handling.id, code: codeOf(error), error: messageOf(error) },
            `${handling.agent} could not handle ${subjectOf(handling)}; it is tried again`,
          );
        }
        return this.#giveBack(handling, error);
      })
      .finally(() => {
        this.#running.delete(handling.id);
        this.#poller.wake();
      });
    this.#running.set(handling.id, { agent: handling.agent, end });
  }

  async #handle(handling: HandlingRow): Promise<void> {
    const { store, directory, logger, locale } = this.#setting;
    const place = await store.place(handling.place);
    if (!place) return; // deleted with everything in it
    if (place.state === "closed") {
      return this.#end.settle(handling, { outcome: "place_closed", text: "" });
    }
    if (!directory.account(place.adapter, handling.agent)) {
      logger.error(
        { handling: handling.id, agent: handling.agent, adapter: place.adapter },
        `${handling.agent} has no account on ${place.adapter} any more: ` +
          `what waited for it in ${place.name} is not answered`,
      );
      return this.#end.settle(handling, { outcome: "refused", text: "" });
    }

    if (await this.#isWithdrawn(handling)) {
      return this.#end.settle(handling, { outcome: "stopped", text: "" });
    }

    const signal = AbortSignal.any([this.#over.signal, this.#lease.signal]);
    const turn = begunTurnOf(handling) ?? (await this.#turns.ask(handling, place, { signal }));
    if (turn !== "refused" && (await this.#turns.endWithStopped(handling, turn))) return;
    if (turn === "refused") return this.#end.settle(handling, { outcome: "refused", text: "" });

    const done = await this.#turns.follow(handling, place, turn, { signal });
    await this.#end.settle({ ...handling, turn }, saidBy(done, locale));
  }

  /** A person has stopped the request before its message had left; a reminder is of an open one. */
  async #isWithdrawn({ request, turn }: HandlingRow): Promise<boolean> {
    if (request === null || turn !== null) return false;
    const rows = await this.#setting.database.query(WITHDRAWN, [request]);
    return rows.length > 0;
  }

  /**
   * It keeps its place: what stands behind it in its session waits for the next try. Trouble that
   * would come again ends the work after `TRIES` tries, and the next goes on.
   */
  async #giveBack(handling: HandlingRow, error: unknown): Promise<void> {
    if (this.#isOver) return; // the process that takes it sees that this one is gone, or going
    const { clock, database } = this.#setting;
    const isCounted = countsAsTry(error);
    if (isCounted && handling.tries + 1 >= TRIES) return this.#giveUp(handling);

    const pause = backOffMs(isCounted ? handling.tries + 1 : 1, RETRY);
    await database
      .query(GIVE_BACK, [handling.id, this.#lease.id, pause, isCounted ? 1 : 0])
      .catch(() => {});
    await clock.sleep(50, { signal: this.#over.signal }).catch(() => {});
  }

  async #giveUp(handling: HandlingRow): Promise<void> {
    const { database, logger } = this.#setting;
    logger.error(
      { handling: handling.id, agent: handling.agent, tries: TRIES },
      `${handling.agent} could not handle ${subjectOf(handling)} in ${TRIES} tries; ` +
        "it ends as failed, and the next goes on",
    );
    try {
      await this.#end.settle(handling, { outcome: "failed", text: "" });
    } catch {
      // Its end could not be posted in its place either.
      await database.query(GIVE_UP, [handling.id, this.#lease.id]).catch(() => {});
    }
  }

  get #isOver(): boolean {
    return this.#over.signal.aborted || this.#lease.signal.aborted;
  }
}

/** Of an answer from the inbox, and of a retry: its turn is there and is only followed. */
function begunTurnOf({ message, input, turn }: HandlingRow): string | undefined {
  return (message === null || input === null) && turn !== null ? turn : undefined;
}

/** What a handling is about, in log lines. */
function subjectOf({ message, turn }: HandlingRow): string | null {
  return message ?? turn;
}

/**
 * Which work may start is decided there, for every process: what came first in a session is
 * answered first.
 */
const CLAIM = {
  name: "handling.claim",
  text: `
    select id, agent, place, message, session, rank, request, input, turn, tries
    from dure.start_handlings($1, $2, $3, true)`,
};
const WITHDRAWN = {
  name: "handling.request_withdrawn",
  text: `
    select id
    from dure.requests
    where id = $1 and state = 'withdrawn'`,
};
const GIVE_BACK = {
  name: "handling.give_back",
  text: `update dure.handlings
            set state = 'waiting', holder = null, behind = null, tries = tries + $4::integer,
                not_before = clock_timestamp() + $3::double precision * interval '1 millisecond'
          where id = $1 and state = 'running' and holder = $2`,
};
const GIVE_UP = {
  name: "handling.give_up",
  text: `
    update dure.handlings
    set state = 'done', outcome = 'failed', finished_at = clock_timestamp(), input = null
    where id = $1 and state = 'running' and holder = $2`,
};
