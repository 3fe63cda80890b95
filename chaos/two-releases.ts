/**
 * An older and a newer release at work on one database: `npm run two-releases -- --old <commit>`.
 * The newer one is this tree. Both are attacked by SIGKILL while both live, and what the killed
 * one held must be finished by the other. What must hold is what `npm run chaos` checks.
 * docs/decisions/0016-sql-has-an-address.md says why, and what came out.
 *
 *   older alone → newer beside it, under load → kill the newer, n times → kill the older → come back
 */
import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { parseArgs } from "node:util";
import { checkAll } from "./checks.ts";
import { Client } from "./client.ts";
import { heldBy, untilOver, type Held } from "./held.ts";
import { Journal } from "./journal.ts";
import { Load } from "./load.ts";
import { Random } from "./random.ts";
import { unpackRelease, type Release } from "./release.ts";
import { machineName } from "./report.ts";
import { rest, until } from "./run.ts";
import type { Life, Server } from "./servers.ts";
import { storyOf } from "./story.ts";
import type { Violation } from "./violations.ts";
import { openWorld, type World } from "./world.ts";

const { values } = parseArgs({
  options: {
    old: { type: "string" },
    kills: { type: "string", default: "3" },
    seed: { type: "string", default: "1" },
    out: { type: "string" },
    keep: { type: "boolean", default: false },
  },
});

/** The first start of a server on a busy machine, milliseconds. */
const START_MS = 120_000;
/** Both work beside each other so long before the first kill, milliseconds. */
const BESIDE_MS = 5_000;
/**
 * The bank answers this much after it has booked, later than its callers wait: each booking is
 * unknown until it is asked about, and a kill finds some.
 */
const BANK_MS = 1_500;
/** So many of the next model calls are slow, again and again until a kill. */
const SLOW_CALLS = 4;
const SLOW_EVERY_MS = 1_000;

if (values.old === undefined) {
  console.error(
    "npm run two-releases -- --old <commit> [--kills 3] [--seed 1] [--out FILE] [--keep]",
  );
  process.exitCode = 2;
} else {
  process.exitCode = await main(values.old);
}

/** What one kill found in the hands of the killed process. */
interface Kill {
  readonly killed: "older" | "newer";
  readonly held: Readonly<Record<string, number>>;
  /** Until the other release had finished all of it. */
  readonly seconds: number;
}

interface Outcome {
  readonly kills: readonly Kill[];
  readonly comeback: string;
  readonly counts: Readonly<Record<string, number>>;
  readonly violations: readonly Violation[];
}

async function main(commit: string): Promise<number> {
  const folder = mkdtempSync(join(tmpdir(), "dure-releases-"));
  const journal = new Journal(folder);
  const over = new AbortController();
  for (const name of ["SIGINT", "SIGTERM", "SIGHUP"] as const) {
    process.once(name, () => over.abort(new Error(`${name} received`)));
  }
  try {
    const release = await unpackRelease(commit, join(folder, "older"));
    const seats = [{ hostName: "one", tree: release.tree }, { hostName: "one" }];
    await using world = await openWorld(folder, journal, { isLoopback: true }, seats);
    console.log(`older: ${release.commit} ${release.subject}\nnewer: this tree; logs in ${folder}`);
    if (release.installed.length > 0) console.log(`installed: ${release.installed.join(", ")}`);
    const outcome = await attack(world, journal, over.signal);
    if (values.keep || outcome.violations.length > 0) world.keepFolder();
    tell(release, outcome, journal);
    return outcome.violations.length > 0 ? 1 : 0;
  } catch (error) {
    console.error(error);
    return 2;
  } finally {
    await journal.close();
  }
}

async function attack(world: World, journal: Journal, signal: AbortSignal): Promise<Outcome> {
  const [older, newer] = world.servers as [Server, Server];
  const violations: Violation[] = [];
  const end = new AbortController();
  const client = new Client({
    ...world,
    journal,
    random: new Random(Number(values.seed)),
    onViolation: (violation) => void violations.push(violation),
    signal: AbortSignal.any([signal, end.signal]),
  });
  const load = new Load(client, world.repository.folder);
  const scene = { world, journal, signal };
  try {
    await start(scene, older);
    await world.bank.suffer({ kind: "delay", when: "after", ms: BANK_MS, times: "always" });
    load.start();
    await sleep(BESIDE_MS, undefined, { signal });
    await start(scene, newer); // its tables and functions come while the older one works
    await sleep(BESIDE_MS, undefined, { signal });

    const kills: Kill[] = [];
    for (let number = 0; number < Number(values.kills); number += 1) {
      kills.push(await killAndRestart(scene, newer));
    }
    const { last, comeback } = await killAndComeBack(scene, older);

    const servers = world.servers.filter(({ isRunning }) => isRunning);
    violations.push(...(await rest({ ...world, servers }, load, signal)));
    const checked = await checkAll({ ...world, load });
    violations.push(...checked.violations.filter((one) => !isRefusal(one, comeback)));
    return { kills: [...kills, last], comeback: comeback.text, counts: checked.counts, violations };
  } finally {
    end.abort(new Error("the run is over"));
    await Promise.all(world.servers.map((server) => server.stop(15_000)));
  }
}

/** That a release may stop is no violation here: it is told. */
function isRefusal({ invariant, ids }: Violation, { refused }: Comeback): boolean {
  return invariant === "exit" && refused !== undefined && ids.includes(`server-${refused.id} `);
}

interface Scene {
  readonly world: World;
  readonly journal: Journal;
  readonly signal: AbortSignal;
}

async function start({ signal }: Scene, server: Server): Promise<void> {
  server.start();
  await until(`${server.name} is ready`, START_MS, () => server.isReady, signal);
}

/**
 * Kills a release when it holds work of each kind, and waits until the other one has finished all
 * of it. The killed one stays dead meanwhile.
 */
async function kill(scene: Scene, server: Server, killed: Kill["killed"]): Promise<Kill> {
  const { world, journal, signal } = scene;
  const slow = setInterval(() => void slowDown(scene), SLOW_EVERY_MS);
  const held = await heldBy(world.cluster, server.pid!, signal).finally(() => clearInterval(slow));
  server.signal("SIGKILL");
  const killedAt = performance.now();
  journal.note("faults", `${killed} killed, holding ${held.map(({ id }) => id).join(", ")}`);
  await untilOver(world.cluster, held, signal);
  const seconds = Math.round((performance.now() - killedAt) / 100) / 10;
  console.log(`killed the ${killed}; the other finished ${told(held)} in ${seconds} s`);
  return { killed, held: countsOf(held), seconds };
}

/** Model calls take seconds, so that answers and jobs are under way at the time of a kill. */
async function slowDown({ world, journal }: Scene): Promise<void> {
  await world.provider
    .suffer({ kind: "slow", times: SLOW_CALLS })
    .catch((error: unknown) => journal.note("faults", `no slow calls: ${String(error)}`));
}

async function killAndRestart(scene: Scene, server: Server): Promise<Kill> {
  const mayStart = server.holdBack();
  const outcome = await kill(scene, server, "newer");
  mayStart();
  await until(`${server.name} is ready again`, START_MS, () => server.isReady, scene.signal);
  return outcome;
}

/** Whether the older release works beside the newer one when it starts once more. */
interface Comeback {
  readonly text: string;
  /** The life that ended by itself. */
  readonly refused: Life | undefined;
}

async function killAndComeBack(
  scene: Scene,
  server: Server,
): Promise<{ last: Kill; comeback: Comeback }> {
  const { journal, signal } = scene;
  const mayStart = server.holdBack();
  const last = await kill(scene, server, "older");
  const [killed, from] = [server.life, journal.lines.length];
  mayStart();
  await until("the older one starts", START_MS, () => server.life !== killed, signal);
  server.holdBack(); // it starts once
  const { life } = server;
  await until(
    "the older one is up or down",
    START_MS,
    () => server.isReady || life?.endedAt !== undefined,
    signal,
  );
  if (server.isReady) {
    return { last, comeback: { text: "it works beside the newer one", refused: undefined } };
  }
  const code = journal.lines
    .slice(from)
    .map(({ text }) => /"code":"([A-Z_]+)"/.exec(text)?.[1])
    .find((found) => found !== undefined);
  return { last, comeback: { text: `it stops: ${code ?? "it does not say why"}`, refused: life } };
}

function countsOf(held: readonly Held[]): Readonly<Record<string, number>> {
  return Object.fromEntries(
    [...Map.groupBy(held, ({ what }) => what)].map(([what, rows]) => [what, rows.length]),
  );
}

function told(held: readonly Held[]): string {
  return Object.entries(countsOf(held))
    .map(([what, count]) => `${count} ${what}`)
    .join(", ");
}

function tell(release: Release, outcome: Outcome, journal: Journal): void {
  const { violations, counts, comeback } = outcome;
  for (const violation of violations.slice(0, 5)) {
    console.log(`\n${storyOf(violation, journal.lines).join("\n")}`);
  }
  for (const { invariant, text } of violations) console.log(`VIOLATION ${invariant}: ${text}`);
  for (const [name, count] of Object.entries(counts)) console.log(`  ${name.padEnd(30)} ${count}`);
  console.log(`the older release starts once more: ${comeback}`);
  console.log(`violations: ${violations.length} · ${machineName()}`);
  if (values.out === undefined) return;
  const { commit, subject } = release;
  writeFileSync(values.out, `${JSON.stringify({ commit, subject, ...outcome }, null, 2)}\n`);
}
