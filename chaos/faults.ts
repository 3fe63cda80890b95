import { setTimeout as sleep } from "node:timers/promises";
import type { Client } from "./client.ts";
import type { Double } from "./doubles.ts";
import type { Journal } from "./journal.ts";
import type { Cluster } from "./postgres.ts";
import type { Server } from "./servers.ts";
import type { FaultKind, PlannedFault } from "./timeline.ts";
import type { Violation } from "./violations.ts";

/** Everything that may be hurt. All of it was started by the harness. */
export interface Targets {
  readonly servers: readonly Server[];
  readonly cluster: Cluster;
  readonly bank: Double;
  readonly provider: Double;
  readonly client: Client;
  readonly journal: Journal;
  readonly onViolation: (violation: Violation) => void;
}

/** What a fault did, in words; undefined when its target was not there. */
type Outcome = string | undefined;

/** Does one fault and takes it back. Resolves when it is over. */
export async function doFault(fault: PlannedFault, targets: Targets): Promise<boolean> {
  const server = targets.servers[fault.server]!;
  const name = `fault ${fault.number} ${fault.kind}`;
  const said = (outcome: Outcome): void =>
    targets.journal.note("faults", `${name} ${outcome ?? "found nothing to hurt"}`);
  const outcome = await DEEDS[fault.kind]({ ...targets, server, dice: fault.dice, said }).catch(
    (error: unknown) => {
      said(`could not be done: ${(error as Error).message}`);
      return undefined;
    },
  );
  said(outcome);
  return outcome !== undefined;
}

interface Scene extends Targets {
  readonly server: Server;
  readonly dice: number;
  /** Notes the beginning of a fault that lasts. */
  readonly said: (what: string) => void;
}

const DEEDS: Readonly<Record<FaultKind, (scene: Scene) => Promise<Outcome>>> = {
  kill: async ({ server }) =>
    server.signal("SIGKILL") ? `killed ${server.name}, life ${server.life?.id}` : undefined,
  drain: async ({ server, onViolation }) => {
    const isAsked =
      server.isReady &&
      server.drain((life) =>
        onViolation({
          invariant: "drain",
          text: `server ${life.id} did not end within 30 s after SIGTERM`,
          ids: [`server-${life.id}`],
        }),
      );
    return isAsked ? `asked ${server.name}, life ${server.life?.id}, to end` : undefined;
  },
  "stop-short": (scene) => freeze(scene, 300 + scene.dice * 2_500),
  "stop-long": (scene) => freeze(scene, 8_000 + scene.dice * 6_000),
  "end-backend": endBackend,
  "cut-database": async ({ server }) => {
    const count = server.parts.database.cut();
    return count > 0 ? `cut ${count} connections of ${server.name}` : undefined;
  },
  "half-open": halfOpen,
  "restart-database": (scene) => outage(scene, "restarted", () => scene.cluster.restart()),
  "away-database": (scene) =>
    outage(scene, "was away and came back", () =>
      scene.cluster.restart(7_000 + scene.dice * 4_000),
    ),
  "kill-database": (scene) => outage(scene, "killed and recovered", () => scene.cluster.kill()),
  "slow-disk": async ({ cluster, dice, said }) => {
    const microseconds = 50_000 + Math.floor(dice * 50_000);
    await cluster.slowCommits(microseconds);
    said(`makes each commit wait ${microseconds} µs`);
    await sleep(3_500);
    await untilDone(() => cluster.slowCommits(0));
    return "is over: commits are quick again";
  },
  "stuck-disk": (scene) =>
    outage(scene, "stood still", async () => {
      const thaw = scene.cluster.freeze();
      await sleep(500 + scene.dice * 3_000);
      thaw();
    }),
  provider: async ({ provider, dice }) => {
    const kind = (["busy", "down", "cut", "slow"] as const)[Math.floor(dice * 4)]!;
    const times = kind === "cut" || kind === "slow" ? 1 : 2;
    await provider.suffer({ kind, times });
    return `makes the provider ${kind} for ${times}`;
  },
  bank: async ({ bank, dice }) => {
    const fault = BANK_FAULTS[Math.floor(dice * BANK_FAULTS.length)]!;
    await bank.suffer(fault);
    return `makes the bank suffer ${JSON.stringify(fault)}`;
  },
  clock: async ({ server, dice, said }) => {
    const byMs = Math.round((dice - 0.5) * 2 * 3_600_000);
    if (!server.shiftClock(byMs)) return undefined;
    said(`moves the clock of ${server.name} by ${byMs} ms`);
    await sleep(3_000);
    server.shiftClock(0);
    return `is over: the clock of ${server.name} is right again`;
  },
  "cut-clients": async ({ client, dice }) => {
    const count = client.cut(0.2 + dice * 0.8);
    return count > 0 ? `cut ${count} requests and streams` : undefined;
  },
  duplicates: async ({ client, dice }) => {
    const count = 1 + Math.floor(dice * 3);
    client.duplicate(count);
    return `sends the next ${count} requests with a key twice`;
  },
};

/**
 * A delay is longer than the tool's timeout and ends well before its `settle`: with a bank that
 * ignores keys, "booked once" is promised for such delays alone. Source: docs/spec/conversation
 * §4.
 */
const BANK_FAULTS = [
  { kind: "delay", when: "before", ms: 1_300 },
  { kind: "delay", when: "after", ms: 1_300 },
  { kind: "ignore_keys", times: 5 },
  { kind: "status", when: "before", status: 503 },
  { kind: "status", when: "after", status: 500 },
  { kind: "cut", when: "before" },
  { kind: "cut", when: "after" },
  { kind: "cut", when: "before", on: "probe" },
  { kind: "status", when: "before", status: 502, on: "probe" },
] as const;

async function freeze({ server, said }: Scene, ms: number): Promise<Outcome> {
  const { life } = server;
  if (!server.isReady || !server.signal("SIGSTOP")) return undefined;
  said(`stops ${server.name}, life ${life?.id}, for ${Math.round(ms)} ms`);
  await sleep(ms);
  if (server.life === life) server.signal("SIGCONT");
  return `lets ${server.name}, life ${life?.id}, go on`;
}

async function endBackend({ cluster, dice }: Scene): Promise<Outcome> {
  const backends = await cluster.ask<{ pid: number; name: string }>(
    "select pid, application_name as name from pg_stat_activity where usename = 'dure' order by " +
      "application_name, pid",
  );
  const backend = backends[Math.floor(dice * backends.length)];
  if (!backend) return undefined;
  await cluster.ask("select pg_terminate_backend($1)", [backend.pid]);
  return `ended backend ${backend.pid} of ${backend.name}`;
}

async function halfOpen({ server, dice, said }: Scene): Promise<Outcome> {
  const ms = 1_000 + dice * 7_000;
  const count = server.parts.database.fallSilent();
  said(`leaves ${count} connections of ${server.name} half-open for ${Math.round(ms)} ms`);
  await sleep(ms);
  server.parts.database.speakAgain();
  return `is over: ${server.name} reaches PostgreSQL again`;
}

async function outage(
  { cluster, said }: Scene,
  what: string,
  deed: () => Promise<void>,
): Promise<Outcome> {
  const from = Date.now();
  said(`begins for PostgreSQL, pid ${cluster.pid}`);
  await deed();
  return `is over: PostgreSQL ${what}, ${Date.now() - from} ms`;
}

/** What takes a fault back is tried until it works: PostgreSQL may be down for another one. */
async function untilDone(deed: () => Promise<void>): Promise<void> {
  for (let attempt = 0; attempt < 120; attempt += 1) {
    if (
      await deed().then(
        () => true,
        () => false,
      )
    ) {
      return;
    }
    await sleep(500);
  }
}
