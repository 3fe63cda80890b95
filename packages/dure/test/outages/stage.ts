import { z } from "zod";
import { expect } from "vitest";
import type { AttemptRules } from "../../src/engine/agent/agent-environment.ts";
import type { EngineOptions } from "../../src/engine/engine.ts";
import { tool, type AnyTool } from "../../src/engine/agent/tool.ts";
import { systemClock } from "../../src/kernel/clock.ts";
import type { OfflineReply } from "../../src/models/offline.ts";
import { worldOf, type Outage, type Provider, type World } from "./outage.ts";

/** Some work that meets an outage in its middle. */
export interface Stage {
  /** Gives the work, and waits until the outage was and the work has ended. */
  readonly run: () => Promise<void>;
  /** All is done, as without an outage. */
  readonly assertDone: () => Promise<void>;
  /** Nothing that was done is denied or done twice; no words are about the database. */
  readonly assertHonest: () => Promise<void>;
  /** How the work says that its provider stayed away for longer than its patience. */
  readonly excuse: () => Promise<string>;
  /** A person retries what ended so; resolves when it has ended again. */
  readonly retry: () => Promise<void>;
}

export type StageOf = (moment: Moment, engine: Partial<EngineOptions>) => Promise<Stage>;

/** One call before a wait. */
export const ONE_TRY: AttemptRules = {
  maxAttempts: 1,
  pauseMs: () => 0,
  idleTimeoutSec: 60,
  repeatsShown: false,
  finals: [],
};

/** What the answer of a model that is away looks like. */
export const REFUSED: OfflineReply = { text: "", error: { status: 503 } };

/** Words of databases and their places, which no model and no person reads. */
export const OF_THE_DATABASE =
  /DATABASE_|ECONN|PGSQL|No space|base\/|\b\d{2}[0-9P]\d{2}:|\/tmp|\/dev\/shm/;

/** Stays for longer than all patience: until it is ended by hand. */
export const OUTLASTING = Number.POSITIVE_INFINITY;

/** One outage that begins the first time that the work comes to its place. */
export class Moment {
  readonly provider: Provider = { isAway: false };
  /** The outage has been; one that outlasts all patience has begun. */
  readonly isOver: Promise<void>;
  readonly #place: string;
  readonly #outage: Outage;
  readonly #forMs: number;
  readonly #over = Promise.withResolvers<void>();
  readonly #world = Promise.withResolvers<World>();
  #isBegun = false;
  /** Ends an outage that outlasts all patience. */
  end: () => Promise<void> = async () => {};

  constructor(place: string, outage: Outage, forMs: number) {
    this.#place = place;
    this.#outage = outage;
    this.#forMs = forMs;
    this.isOver = this.#over.promise;
  }

  /** The database of the work is there. */
  async opened(url: string): Promise<void> {
    this.#world.resolve(await worldOf(url, this.provider));
  }

  /** The work is at `place`. */
  readonly at = async (place: string): Promise<void> => {
    if (place !== this.#place || this.#isBegun) return;
    this.#isBegun = true;
    const end = await this.#outage(await this.#world.promise);
    if (this.#forMs === OUTLASTING) {
      this.end = end;
      return this.#over.resolve();
    }
    systemClock.after(this.#forMs, () => void end().then(this.#over.resolve, this.#over.reject));
  };
}

/** A job or a run, when it has ended. */
export async function ended<Work extends { readonly finishedAt: unknown }>(
  look: () => Promise<Work>,
): Promise<Work> {
  await expect.poll(async () => (await look()).finishedAt, { timeout: 100_000 }).not.toBeNull();
  return look();
}

/** Books once per key, and knows what it has booked. */
export function bookingTool(
  before: () => Promise<void>,
  approval?: { readonly by: "person" },
): {
  readonly book: AnyTool;
  readonly booked: ReadonlyMap<string, number>;
} {
  const booked = new Map<string, number>();
  const book = tool({
    description: "Books a table.",
    inputSchema: z.object({}),
    effect: "once",
    timeout: "5s",
    settle: "0s",
    approval: approval ?? false,
    probe: async ({ key }) =>
      booked.has(key) ? { status: "happened", result: "booked" } : "not_happened",
    execute: async (_input, { key }) => {
      await before();
      booked.set(key, (booked.get(key) ?? 0) + 1);
      return "booked";
    },
  });
  return { book, booked };
}
