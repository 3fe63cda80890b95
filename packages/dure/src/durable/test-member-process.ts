/**
 * A process of a test: `node test-member-process.ts <role> <database url> …`. Says what happens as
 * JSON lines.
 */
import { createInterface } from "node:readline";
import { systemClock } from "../kernel/clock.ts";
import { newId } from "../kernel/ids.ts";
import type { Logger } from "../kernel/logger.ts";
import { SCHEMA } from "../team/schema.ts";
import { Database } from "./database.ts";
import { EventLog } from "./event-log.ts";
import { migrate } from "./migrate.ts";
import { Notifications } from "./notify.ts";
import { Outbox } from "./outbox.ts";
import { applicationName, ProcessLease } from "./processes.ts";
import type { Migration } from "./release.ts";
import { Takeover } from "./takeover.ts";
import type { NewPlatformEvent } from "../wire/events.ts";

const [role = "", url = "", ...rest] = process.argv.slice(2);

function say(what: string, facts: object = {}): void {
  process.stdout.write(`${JSON.stringify({ say: what, ...facts })}\n`);
}

const toStderr = (_fields: object, message: string): void =>
  void process.stderr.write(`${message}\n`);
const logger: Logger = { debug() {}, info: toStderr, warn: toStderr, error: toStderr };

/** What the writers write, which no release does. */
type TestData = Readonly<Record<"name" | "lane" | "n", unknown>>;
const keyOf = ({ name, lane, n }: TestData): string => [name, lane, n].join("/");

const id = newId("process");
const startedAt = performance.now();
const database = await Database.open({ url, applicationName: applicationName(id), logger, max: 8 });
const notifications = new Notifications({ database, logger });
await notifications.start();
const lease = new ProcessLease({
  database,
  id,
  appVersion: "test",
  logger,
  notifications,
  onFenced: (error) => {
    say("fenced", { because: error.details?.["because"] });
    process.exit(75);
  },
  onSuspended: () => say("suspended"),
  onResumed: () => say("resumed"),
});
await lease.start();
const takeover = new Takeover({ database, lease, logger, notifications });
const stops: (() => Promise<void>)[] = [];

const roles: Record<string, () => Promise<void>> = {
  /** Holds a lease, takes over from others. */
  async member() {
    takeover.onDead("test", async (dead) =>
      say("recovers", { ...dead, after: performance.now() - startedAt }),
    );
    await takeover.start();
  },

  /** Takes over, but its recoverer never ends. */
  async stuck() {
    takeover.onDead("test", async (dead, { signal }) => {
      say("recovers", { ...dead });
      await systemClock.sleep(600_000, { signal });
    });
    await takeover.start();
  },

  /**
   * Appends events until told to stop: short and long transactions, some rolled back. Arguments:
   * writer name, count.
   */
  async writer() {
    const [name = "w", count = "300"] = rest;
    const events = new EventLog({ database, logger, notifications });
    const seed = Number(name.replace(/\D/g, "") || 1);
    const random = randomFrom(seed);

    const lanes = Array.from({ length: 4 }, async (_, lane) => {
      for (let n = 0; n < Number(count) / 4; n++) {
        const fail = random() < 0.1;
        await database
          .transaction(async (tx) => {
            const event = fail
              ? { type: "test.void", role: "system", data: {} }
              : { type: "test.kept", role: "system", session: name, data: { name, lane, n } };
            await events.append(tx, [event as unknown as NewPlatformEvent]);
            if (random() < 0.3) await systemClock.sleep(random() * 60);
            if (fail) throw new Error("rolled back on purpose");
          })
          .catch((error: Error) => {
            if (!error.message.includes("on purpose")) throw error;
          });
        events.announce();
        if (!fail) say("wrote", { key: `${name}/${lane}/${n}` });
      }
    });

    await Promise.all(lanes);
    say("finished");
  },

  /** Follows all events and reconnects at random. Arguments: seed, position to begin with. */
  async reader() {
    const [seed = "1", from = ""] = rest;
    const random = randomFrom(Number(seed));
    const events = new EventLog({ database, logger, notifications });
    let position = from || (await events.now());
    say("reading", { from: position });

    for (;;) {
      const cut = new AbortController();
      const cancel = systemClock.after(20 + random() * 300, () => cut.abort());
      for await (const item of events.follow(
        { types: ["test.*"] },
        { after: position, signal: cut.signal },
      )) {
        if (item.kind !== "event") {
          say("reset", item);
          continue;
        }
        position = item.event.id;
        say("read", {
          id: item.event.id,
          type: item.event.type,
          key: keyOf(item.event.data as TestData),
        });
        if (random() < 0.02) break;
      }
      cancel();
    }
  },

  /**
   * Sends outbox entries to the table test_desk, outside the outbox's transaction; may stop between
   * sending and recording.
   */
  async sender() {
    const [hang = ""] = rest;
    const outbox = new Outbox({ database, lease, logger, notifications });

    outbox.handle("desk", {
      async send(payload, { key }) {
        await database.query(
          { text: "insert into test_desk (key, payload, process) values ($1, $2, $3)" },
          [key, JSON.stringify(payload), id],
        );

        say("sent", { key });
        if (hang === "hang-after-send") await systemClock.sleep(600_000);
      },
      async probe(_payload, { key }) {
        say("probes", { key });
        const rows = await database.query({ text: "select from test_desk where key = $1" }, [key]);
        return rows.length > 0 ? "happened" : "not_happened";
      },
    });

    outbox.handle("hook", {
      transactional: true,
      async run(payload, { tx, key }) {
        await tx.query({ text: "insert into test_hooks (key, payload) values ($1, $2)" }, [
          key,
          JSON.stringify(payload),
        ]);
      },
    });

    await takeover.start();
    outbox.start();
  },

  /** Upgrades the database to a release with more migrations, given as JSON. */
  async upgrader() {
    const more = JSON.parse(rest[0]!) as readonly Migration[];
    const migrations = [...SCHEMA.migrations, ...more];
    await migrate(database, { ...SCHEMA, number: SCHEMA.number + 1, migrations }, { logger });
  },
};

function randomFrom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;

    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
}

createInterface({ input: process.stdin }).on("line", (word) => {
  if (word === "stop") void leave();
});

async function leave(): Promise<void> {
  for (const stop of stops) await stop();
  await takeover.stop();
  await lease.stop();
  say("stopped");
  process.exit(0);
}

await roles[role]!();
say("ready", { id, epoch: lease.epoch });
