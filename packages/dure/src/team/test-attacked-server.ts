/**
 * The server of the attack table, in a process of its own: `fork("test-attacked-server.ts",
 * [database url, folder, options as JSON])`.
 */
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { chatAgent } from "../engine/agent/agent.ts";
import { defineService, flow } from "../engine/service/service.ts";
import { systemClock } from "../kernel/clock.ts";
import { silentLogger } from "../kernel/logger.ts";
import { readTeam, type TeamOptions } from "./config.ts";
import { readEnvironment } from "./environment.ts";
import { startTeam } from "./start.ts";

/** What the test asks, and what it gets: the worst since it asked the last time. */
export interface Strain {
  /**
   * Longest time between two looks of a timer, less the time that lay between them on purpose,
   * milliseconds.
   */
  readonly stallMs: number;
  /**
   * The same in processor time of the main thread alone: what other processes of the machine took
   * does not count.
   */
  readonly busyMs: number;
  /** Bytes that the process holds in memory. */
  readonly rss: number;
}

const LOOK_MS = 10;

class StrainGauge {
  #wall = systemClock.monotonic();
  #busy = process.threadCpuUsage();
  #stallMs = 0;
  #busyMs = 0;

  start(): void {
    systemClock.every(LOOK_MS, () => this.#look());
  }

  take(): Strain {
    this.#look();
    const strain = {
      stallMs: Math.round(this.#stallMs),
      busyMs: Math.round(this.#busyMs),
      rss: process.memoryUsage().rss,
    };

    this.#stallMs = 0;
    this.#busyMs = 0;

    return strain;
  }

  #look(): void {
    const wall = systemClock.monotonic();
    const used = process.threadCpuUsage(this.#busy);
    this.#stallMs = Math.max(this.#stallMs, wall - this.#wall - LOOK_MS);
    this.#busyMs = Math.max(this.#busyMs, (used.user + used.system) / 1_000);
    this.#wall = wall;
    this.#busy = process.threadCpuUsage();
  }
}

const [databaseUrl = "", folder = "", options = "{}", environment = "{}"] = process.argv.slice(2);
const parrot = chatAgent({ name: "parrot", prompt: "Say it again." });
const desk = defineService({
  name: "desk",
  agents: { parrot },
  flows: {
    DEFAULT: flow(async (turn) =>
      turn.done({
        message: turn.message === "long" ? "long ".repeat(8_000) : "ok",
        stateSnapshot: { ...turn.slots },
      }),
    ),
  },
});

setFlagsFromString("--expose-gc");
const collect = runInNewContext("gc") as () => void;
const loaded = await readTeam(
  { services: { desk }, ...(JSON.parse(options) as Partial<TeamOptions>) },
  folder,
);
const team = await startTeam(
  loaded,
  readEnvironment({
    DATABASE_URL: databaseUrl,
    PORT: "0",
    ...(JSON.parse(environment) as Record<string, string>),
  }),
  { logger: silentLogger },
);
const gauge = new StrainGauge();
gauge.start();
process.on("message", (ask: "strain" | "collect") => {
  if (ask === "collect") collect();
  process.send?.(gauge.take());
});
process.send?.({ url: team.url });
