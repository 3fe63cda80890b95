import {
  chownSync,
  closeSync,
  existsSync,
  mkdirSync,
  openSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
  truncateSync,
} from "node:fs";
import { readdir, rename, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import pg from "pg";
import type { Clock } from "../../kernel/clock.ts";
import { codeOf, DureError, messageOf } from "../../kernel/errors.ts";
import { ulid } from "../../kernel/ids.ts";
import type { Logger } from "../../kernel/logger.ts";
import { findNativePackage, prepareBinaries, unavailable, type Binaries } from "./binaries.ts";
import { anyoneWorksIn, whoIs } from "./processes.ts";
import { decideRunners, holds, launch, run, type Owner, type Runner } from "./runner.ts";
import {
  chooseSettings,
  connectionOf,
  readSettings,
  ROLE,
  writeSettings,
  type ServerSettings,
} from "./settings.ts";

export interface EmbeddedServerOptions {
  /** Absolute; holds `pg` (data), `postgres.json`, `pg.log`, `run` (socket), `start` (lock). */
  readonly home: string;
  /** False gives up safety against a power cut (not against kill -9) for speed: for tests only. */
  readonly durable: boolean;
  readonly logger: Logger;
  readonly clock: Clock;
  readonly signal?: AbortSignal | undefined;
}

export interface EmbeddedServer {
  readonly settings: ServerSettings;
  /** The postmaster. */
  readonly pid: number;
  /** Whether it was already running. */
  readonly reused: boolean;
  /** A connection as `dure`, which counts this process among the users. The caller ends it. */
  readonly session: pg.Client;
}

/** Longest start in milliseconds; the recovery after a crash is the slow case. */
const START_TIMEOUT = 60_000;
/**
 * Pause between looks at a server that comes up, and between attempts to start one, in
 * milliseconds.
 */
const LOOK = 15;
const RETRY = 200;
/** `pg.log` starts anew beyond this many bytes (10 MB). */
const LONGEST_LOG = 10 * 1024 * 1024;

/**
 * Makes sure that a server runs on the folder: joins a running one, else starts one, first making
 * the data folder if needed. Call it under the folder's start lock. Every step can be repeated
 * after a kill at any point.
 */
export async function ensureServer(options: EmbeddedServerOptions): Promise<EmbeddedServer> {
  const { home, clock, logger, signal } = options;
  const giveUpAt = clock.monotonic() + START_TIMEOUT;
  let plan: StartPlan | undefined;
  let last = "";

  while (clock.monotonic() < giveUpAt) {
    signal?.throwIfAborted();
    const running = await joinRunning(options, giveUpAt);
    if (running) return running;

    plan ??= await prepare(options);
    await clearStaleLocks(home);
    const outcome = await startOnce(plan, options, giveUpAt);
    if (typeof outcome === "object") return outcome;
    if (outcome !== last) {
      logger.warn({ home }, `embedded PostgreSQL did not start, trying again: ${outcome}`);
    }
    last = outcome;
    await clock.sleep(RETRY, { signal });
  }

  throw new DureError(
    "EMBEDDED_FAILED",
    `PostgreSQL in ${home} did not start within ${START_TIMEOUT / 1000} s: ${last}`,
    {
      class: "unavailable",
      hint: `Read ${join(home, "pg.log")}.`,
    },
  );
}

/**
 * Stops the server quickly and in order (open transactions roll back), by force after 10 s. Under
 * the start lock.
 */
export async function stopServer(home: string, clock: Clock): Promise<void> {
  const pid = readPostmaster(home);
  if (pid === undefined) return;

  const giveUpAt = clock.monotonic() + 10_000;
  signalServer(pid, "SIGINT");

  while (whoIs(pid, dataFolder(home)) === "ours") {
    if (clock.monotonic() > giveUpAt) signalServer(pid, "SIGQUIT");
    await clock.sleep(LOOK);
  }
}

/** The pid of the postmaster that runs on the folder. */
function readPostmaster(home: string): number | undefined {
  const lines = readPidFile(home);
  if (!lines || lines[1] !== dataFolder(home)) return undefined; // also: a copied folder with the pid of the original

  const pid = Number(lines[0]);

  return Number.isInteger(pid) && pid > 0 && whoIs(pid, dataFolder(home)) === "ours"
    ? pid
    : undefined;
}

interface StartPlan {
  readonly runner: Runner;
  readonly binaries: Binaries;
}

async function joinRunning(
  options: EmbeddedServerOptions,
  giveUpAt: number,
): Promise<EmbeddedServer | undefined> {
  const { home, clock, logger, signal } = options;
  while (clock.monotonic() < giveUpAt) {
    const pid = readPostmaster(home);
    if (pid === undefined) return undefined;
    const settings = await readSettings(home);
    const session = settings && (await login(settings));
    if (settings && session instanceof pg.Client) return { settings, pid, reused: true, session };
    if (!settings || session === "refused") {
      logger.warn(
        { home, pid },
        "embedded PostgreSQL runs with another password than postgres.json has; starting it anew",
      );
      await stopServer(home, clock);
      if (settings) await writeSettings({ ...settings, provisioned: false });
      return undefined;
    }
    await clock.sleep(LOOK, { signal });
  }

  return undefined;
}

async function prepare(options: EmbeddedServerOptions): Promise<StartPlan> {
  const { home } = options;
  const { native, version } = await findNativePackage();
  const data = dataFolder(home);
  const owner = existsSync(data) ? statSync(data) : undefined;
  const self = process.getuid?.();

  for (const runner of decideRunners(self, owner, surroundingOwner(home))) {
    if (!holds(runner, 'cd "$1"', home)) continue;
    const binaries = await prepareBinaries(native, join(home, `native-${version}`), runner);
    if (!owner) await initialize(data, { runner, binaries }, options);
    const major = readFileSync(join(data, "PG_VERSION"), "utf8").trim();
    if (major === version.split(".")[0]) return { runner, binaries };
    throw new DureError(
      "EMBEDDED_VERSION",
      `The data in ${data} is of PostgreSQL ${major}; the installed package is ${version}.`,
      {
        class: "unavailable",
        hint: `Install the dure that made it, \`dure db backup\`, then restore with this one into a new folder.`,
      },
    );
  }

  throw unavailable(
    owner && self !== 0
      ? `The data in ${data} belongs to user ${owner.uid}; this process is user ${self}.`
      : `PostgreSQL refuses to run as root, and no other user of this machine can enter ${home}.`,
  );
}

/**
 * Makes the data folder aside and moves it into place when it is whole, so that a kill leaves
 * nothing half-made.
 */
async function initialize(
  data: string,
  { runner, binaries }: StartPlan,
  options: EmbeddedServerOptions,
): Promise<void> {
  const home = dirname(data);
  for (const name of await readdir(home)) {
    if (name.startsWith("pg.new-")) await rm(join(home, name), { recursive: true, force: true });
  }
  const draft = join(home, `pg.new-${ulid()}`);
  makeFolder(draft, runner);

  await run(
    runner,
    binaries.initdb,
    [
      "-D",
      draft,
      "-U",
      "postgres",
      "-E",
      "UTF8",
      "--no-locale",
      "--auth=reject",
      "--no-instructions",
      ...(options.durable ? [] : ["--no-sync"]),
    ],
    { signal: options.signal },
  );

  await writeFile(join(draft, "pg_hba.conf"), HBA);
  await rename(draft, data);
}

/**
 * Only dure's role may connect, always with its password. The superuser cannot; set-up runs without
 * a server.
 */
const HBA = `local all ${ROLE} scram-sha-256
host all ${ROLE} 127.0.0.1/32 scram-sha-256
`;

/**
 * Makes role and database, or sets the role's password anew, in single-user mode. Can be repeated:
 * what exists is an error in the log.
 */
async function provision(
  settings: ServerSettings,
  { runner, binaries }: StartPlan,
  options: EmbeddedServerOptions,
): Promise<void> {
  const data = dataFolder(options.home);
  const command = (database: string, ...lines: string[]): Promise<string> =>
    run(
      runner,
      binaries.postgres,
      [
        "--single",
        "-D",
        data,
        "-c",
        "log_min_messages=fatal",
        "-c",
        "log_min_error_statement=panic",
        ...speed(options),
        database,
      ],
      {
        input: `${lines.join("\n")}\n`,
        signal: options.signal,
      },
    );

  await command(
    "postgres",
    `create role ${ROLE}`,
    // CREATEDB: a restore is made beside the old database.
    `alter role ${ROLE} login nosuperuser nocreaterole noreplication createdb password '${settings.password}'`,
    `create database ${ROLE} owner ${ROLE}`,
  );
}

async function startOnce(
  plan: StartPlan,
  options: EmbeddedServerOptions,
  giveUpAt: number,
): Promise<EmbeddedServer | string> {
  const { home, clock, signal } = options;
  const { runner, binaries } = plan;
  let settings = await chooseSettings(home, await readSettings(home), ownerOf(runner));
  await writeSettings(settings);

  try {
    if (!settings.provisioned) {
      await provision(settings, plan, options);
      settings = { ...settings, provisioned: true };
      await writeSettings(settings);
    }
  } catch (error) {
    signal?.throwIfAborted();
    return messageOf(error);
  }

  const logFile = join(home, "pg.log");
  if (existsSync(logFile) && statSync(logFile).size > LONGEST_LOG) truncateSync(logFile);
  const log = openSync(logFile, "a", 0o600);
  const logStart = statSync(logFile).size;

  const child = launch(
    runner,
    binaries.postgres,
    ["-D", dataFolder(home), ...listening(settings), ...TUNING, ...speed(options)],
    log,
  );

  closeSync(log);
  let failure: string | undefined;
  child.once("error", (error) => (failure = messageOf(error)));
  child.once("exit", () => (failure ??= lastLine(logFile, logStart)));

  while (clock.monotonic() < giveUpAt) {
    if (failure !== undefined) return failure;
    const session = await login(settings);
    if (session instanceof pg.Client) return { settings, pid: child.pid!, reused: false, session };
    if (session === "refused") {
      await stopServer(home, clock);
      await writeSettings({ ...settings, provisioned: false });
      return "the server does not know the role; making it again";
    }
    await clock.sleep(LOOK, { signal });
  }

  return "the server did not get ready";
}

function listening({ host, port }: ServerSettings): string[] {
  const socket = host.startsWith("/");
  return [
    "-p",
    String(port),
    "-c",
    `listen_addresses=${socket ? "" : host}`,
    "-c",
    `unix_socket_directories=${socket ? `"${host.replaceAll('"', '""')}"` : ""}`,
    "-c",
    "unix_socket_permissions=0700",
  ];
}

const TUNING = [
  "max_connections=100",
  "timezone=UTC",
  "log_timezone=UTC",
  "log_line_prefix=%m [%p] %a ",
  "log_checkpoints=off",
  "jit=off", // costs more than it saves on short statements
  "client_connection_check_interval=2s", // a statement of a killed client ends soon
].flatMap((setting) => ["-c", setting]);

const MANY_TESTS_SHARE_IT_IN_MEMORY = [
  "fsync=off",
  "full_page_writes=off",
  "max_connections=300",
  "max_wal_size=256MB",
  "scram_iterations=1", // each connection would count to 4,096 twice; the password is random
];

function speed({ durable }: EmbeddedServerOptions): string[] {
  const settings = durable ? ["fsync=on", "synchronous_commit=on"] : MANY_TESTS_SHARE_IT_IN_MEMORY;
  return settings.flatMap((setting) => ["-c", setting]);
}

/** `refused`: the server runs and refuses our login; `waiting`: it is not ready, or gone. */
async function login(settings: ServerSettings): Promise<pg.Client | "refused" | "waiting"> {
  const client = new pg.Client({
    ...connectionOf(settings),
    connectionTimeoutMillis: 5_000,
    application_name: `dure-embedded:${process.pid}`,
    keepAlive: true,
  });

  client.on("error", () => {}); // its end is what the holder watches

  try {
    await client.connect();
    return client;
  } catch (error) {
    await client.end().catch(() => {});
    return /^(28|3D)/.test(codeOf(error) ?? "") ? "refused" : "waiting";
  }
}

/**
 * PostgreSQL refuses to start while a process with the number in `postmaster.pid`, or in the lock
 * beside its socket, exists, even an unrelated process or an uncollected zombie. It checks for
 * orphaned backends itself, through `postmaster.pid`, so we wait for those first. That file is
 * removed last, so a kill in between repeats the rest.
 */
async function clearStaleLocks(home: string): Promise<void> {
  const pid = Number(readPidFile(home)?.[0]);
  if (!Number.isInteger(pid) || anyoneWorksIn(dataFolder(home))) return;

  const settings = await readSettings(home);
  if (settings?.host.startsWith("/")) {
    rmSync(join(settings.host, `.s.PGSQL.${settings.port}.lock`), { force: true });
  }
  rmSync(join(dataFolder(home), "postmaster.pid"), { force: true });
}

function readPidFile(home: string): string[] | undefined {
  try {
    return readFileSync(join(dataFolder(home), "postmaster.pid"), "utf8").split("\n");
  } catch {
    return undefined;
  }
}

function signalServer(pid: number, signal: "SIGINT" | "SIGQUIT"): void {
  try {
    process.kill(pid, signal);
  } catch (error) {
    if (codeOf(error) !== "ESRCH") throw error;
  }
}

function makeFolder(folder: string, runner: Runner): void {
  mkdirSync(folder, { mode: 0o700 });
  const owner = ownerOf(runner);
  if (owner) chownSync(folder, owner.uid, owner.gid);
}

function ownerOf(runner: Runner): Owner | undefined {
  return runner.kind === "drop" ? { uid: runner.uid, gid: runner.gid } : undefined;
}

/** Owner of the folder around the home: with `sudo dure dev`, the owner of the project. */
function surroundingOwner(home: string): Owner {
  const { uid, gid } = statSync(dirname(home));
  return { uid, gid };
}

function dataFolder(home: string): string {
  return join(realpathSync(home), "pg");
}

function lastLine(file: string, from: number): string {
  return (
    readFileSync(file).subarray(from).toString().trim().split("\n").at(-1) ?? "ended without a word"
  );
}
