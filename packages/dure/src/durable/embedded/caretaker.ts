import { spawn } from "node:child_process";
import { closeSync, openSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import pg from "pg";
import type { Clock } from "../../kernel/clock.ts";
import { codeOf } from "../../kernel/errors.ts";
import { stopServer } from "./server.ts";
import { connectionOf, readSettings } from "./settings.ts";
import { acquireStartLock } from "./start-lock.ts";

/**
 * How long an embedded server may run without any client, milliseconds. A restart after a crash
 * comes sooner.
 */
export const IDLE_MS = 300_000;
/** Session lock that the caretaker of a server holds: "care" as ASCII. */
const CARETAKER_LOCK = 0x63617265;
/** Longest pause between two looks of a caretaker, milliseconds. */
const LOOK_MS = 15_000;
/** No secret of ours is needed there; Windows cannot start a program without its environment. */
const ENVIRONMENT = process.platform === "win32" ? {} : { env: {} };
/** Not the sources: compiled, the program ends in `.js`. */
const PROGRAM = new URL(
  import.meta.url.endsWith(".ts") ? "./caretaker-main.ts" : "./caretaker-main.js",
  import.meta.url,
);

/**
 * Makes sure that a caretaker runs beside the server: a process of its own, which stops the server
 * in good order when its last client has been gone for `idleMs`. Users stop it themselves when they
 * leave; the caretaker is for those that were killed. Any user replaces a killed caretaker at its
 * next look.
 */
export async function ensureCaretaker(
  session: pg.Client,
  { home, idleMs }: { home: string; idleMs: number },
): Promise<void> {
  const { rows } = await session.query<{ free: boolean }>(
    "select pg_try_advisory_lock($1) as free",
    [CARETAKER_LOCK],
  );

  if (rows[0]?.free !== true) return;

  await session.query("select pg_advisory_unlock($1)", [CARETAKER_LOCK]);
  const log = openSync(join(home, "pg.log"), "a", 0o600);

  const child = spawn(process.execPath, [fileURLToPath(PROGRAM), home, String(idleMs)], {
    cwd: "/",
    detached: true,
    ...ENVIRONMENT,
    stdio: ["ignore", log, log],
    windowsHide: true,
  });

  child.on("error", () => {}); // the next look of a user starts another
  child.unref();
  closeSync(log);
}

/**
 * The work of a caretaker. `stopped`: the server had no client for `idleMs`. `over`: the server has
 * ended, or another caretaker is there. A start that comes at the same moment holds the start lock:
 * then it is not stopped.
 */
export async function takeCare({
  home,
  idleMs,
  clock,
}: {
  home: string;
  idleMs: number;
  clock: Clock;
}): Promise<"stopped" | "over"> {
  const settings = await readSettings(home);
  if (!settings) return "over";

  const session = new pg.Client({
    ...connectionOf(settings),
    application_name: "dure-caretaker",
    keepAlive: true,
  });

  const over = new AbortController();
  session.on("error", () => {}); // its end says it
  session.once("end", () => over.abort());
  await session.connect();

  try {
    const { rows } = await session.query<{ mine: boolean }>(
      "select pg_try_advisory_lock($1) as mine",
      [CARETAKER_LOCK],
    );
    return rows[0]?.mine === true
      ? await watch(session, { home, idleMs, clock, signal: over.signal })
      : "over";
  } catch (error) {
    if (over.signal.aborted) return "over";
    throw error;
  } finally {
    await session.end().catch(() => {});
  }
}

async function watch(
  session: pg.Client,
  options: { home: string; idleMs: number; clock: Clock; signal: AbortSignal },
): Promise<"stopped"> {
  const { idleMs, clock, signal } = options;
  let idleSince: number | undefined;

  for (;;) {
    await clock.sleep(Math.min(idleMs / 4, LOOK_MS), { signal });
    if (await hasClients(session)) {
      idleSince = undefined;
      continue;
    }
    idleSince ??= clock.monotonic();
    if (clock.monotonic() - idleSince >= idleMs && (await stopIdle(session, options))) {
      return "stopped";
    }
  }
}

/**
 * Under the start lock: a starting process is either counted already, or waits and then starts the
 * server anew.
 */
async function stopIdle(
  session: pg.Client,
  { home, clock }: { home: string; clock: Clock },
): Promise<boolean> {
  let release: () => Promise<void>;
  try {
    release = await acquireStartLock(join(home, "start"), { clock, patience: 0 });
  } catch (error) {
    if (codeOf(error) === "EMBEDDED_BUSY") return false; // one is starting: it will be a client
    throw error;
  }

  try {
    if (await hasClients(session)) return false;
    await stopServer(home, clock);
    return true;
  } finally {
    await release();
  }
}

async function hasClients(session: pg.Client): Promise<boolean> {
  const { rows } = await session.query<{ some: boolean }>(
    `select exists (select from pg_stat_activity
        where backend_type = 'client backend'
        and pid <> pg_backend_pid()) as some`,
  );
  return rows[0]?.some === true;
}
