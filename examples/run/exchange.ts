/**
 * `npm run example:exchange`: 루다 and 세움 agree on a time to deploy. The server is killed with
 * SIGKILL in the middle and started again: the exchange goes on behind its last finished turn, and
 * no finished turn is asked of a model twice.
 */
import { spawn, type ChildProcess } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { DureClient } from "dure/client";

const TEAM = fileURLToPath(new URL("../exchange", import.meta.url));
const DURE = fileURLToPath(new URL("../../packages/dure/src/cli/main.ts", import.meta.url));
/** The server is killed when this turn is finished. */
const KILLED_AFTER = 2;
/** Not every system says that this program belongs to the user of the server. */
const TOKEN = randomBytes(24).toString("base64url");
/** What is said, in order: who and the time that it is about. */
const EXPECTED = [
  "세움 목요일 14시",
  "루다 목요일 14시",
  "세움 화요일 03시",
  "루다 화요일 03시",
  "세움 수요일 06시",
  "루다 수요일 06시",
];

const home = await mkdtemp(path.join(tmpdir(), "dure-example-exchange-"));
const calls = path.join(home, "calls.txt");
let failed = 0;
let server: Server | undefined;
try {
  server = await startServer(0);
  console.log(`배포 회의 answers at ${server.url}\n`);
  const dure = new DureClient({
    baseUrl: server.url,
    token: TOKEN,
    reconnect: { maxDelayMs: 300 },
  });
  const asked = await dure.jobs.ask({
    agent: "ruda",
    target: "seum",
    message: "토론: 결제 서비스를 이번 주 언제 배포할지 정해요. 가능한 시간을 하나씩 말해 주세요.",
    topic: "배포 시간",
    waitSec: 0,
  });
  console.log("루다  결제 서비스를 이번 주 언제 배포할지 정해요.");

  const seen: number[] = [];
  // One reader through the whole story: the client comes back to the server by itself, behind the
  // last event that it has read.
  for await (const news of dure.jobs.stream(asked.jobId)) {
    if (news.kind !== "event") continue;
    const { event } = news;
    if (event.type === "job.started" && event.data.resumed) {
      console.log(`      (the job goes on in turn ${event.data.turn})`);
    }
    if (event.type !== "job.turn") continue;
    const { number, speaker, text } = event.data;
    seen.push(number);
    console.log(`${nameOf(speaker)}  ${text}`);
    if (number !== KILLED_AFTER) continue;
    const { port } = new URL(server.url);
    await until(async () => (await linesOf(calls)).includes(`seum ${KILLED_AFTER + 1}`));
    await server.kill();
    console.log(
      `      (the server is killed with SIGKILL while 세움 thinks about turn ${KILLED_AFTER + 1})`,
    );
    server = await startServer(Number(port));
    console.log("      (the server is there again)");
  }

  const job = await dure.jobs.get(asked.jobId);
  const made = await linesOf(calls);
  console.log("");
  check(
    "the exchange was completed by its agents",
    job.status === "COMPLETED" && job.outcome === "explicit_skip",
  );
  check(
    "the transcript is complete and in order",
    sameList(
      job.turns.map(({ number }) => number),
      EXPECTED.map((_, index) => index + 1),
    ),
  );
  check(
    "every turn says what it would have said undisturbed",
    job.turns.every(({ speaker, text }, index) =>
      sameWords(`${nameOf(speaker)} ${text}`, EXPECTED[index]!),
    ),
  );
  check(
    "the reader saw every turn once, through the crash",
    sameList(
      seen,
      job.turns.map(({ number }) => number),
    ),
  );
  check(
    "no finished turn was asked of a model twice",
    made.every(
      (line, index) => made.indexOf(line) === index || line === `seum ${KILLED_AFTER + 1}`,
    ),
  );
  check(
    "the turn that death cut off was asked again, and only that one",
    made.length === EXPECTED.length + 1,
  );
  check("the job says that it was resumed once", job.resumes === 1 && job.resumeCount === 0);
} finally {
  await server?.stop();
  await rm(home, { recursive: true, force: true });
}
console.log(
  failed === 0
    ? "\nexchange: everything is as it should be"
    : `\nexchange: ${failed} checks failed`,
);
process.exitCode = failed === 0 ? 0 : 1;

interface Server {
  readonly url: string;
  kill(): Promise<void>;
  stop(): Promise<void>;
}

/**
 * `dure start`, as a person starts it: embedded PostgreSQL in a folder of its own, or the one of
 * DATABASE_URL.
 */
async function startServer(port: number): Promise<Server> {
  const child = spawn(
    process.execPath,
    [...process.execArgv, DURE, "start", "--dir", TEAM, "--json"],
    {
      env: {
        ...process.env,
        PORT: String(port),
        DURE_HOME: home,
        DURE_TOKEN: TOKEN,
        EXCHANGE_CALLS: calls,
        LOG_LEVEL: "error",
      },
      stdio: ["ignore", "pipe", "inherit"],
    },
  );
  const lines = createInterface({ input: child.stdout });
  const end = once(child, "exit").then(() =>
    Promise.reject(new Error("The server ended before it was ready; its reason stands above.")),
  );
  const [line] = (await Promise.race([once(lines, "line"), end])) as [string];
  end.catch(() => undefined);
  const { url } = JSON.parse(line) as { url: string };
  return { url, kill: () => signal(child, "SIGKILL"), stop: () => signal(child, "SIGTERM") };
}

async function signal(child: ChildProcess, name: NodeJS.Signals): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = once(child, "exit");
  child.kill(name);
  await ended;
}

/** Notes whether something is as it should be; one that is not makes the exit code 1. */
function check(what: string, isSo: boolean): void {
  if (!isSo) failed += 1;
  console.log(`  ${isSo ? "✓" : "✗"} ${what}`);
}

function nameOf(agent: string): string {
  return { ruda: "루다", seum: "세움" }[agent] ?? agent;
}

function sameList(some: readonly number[], others: readonly number[]): boolean {
  return some.join() === others.join();
}

/** Whether a text holds all words of another one, such as who speaks and about which time. */
function sameWords(text: string, words: string): boolean {
  return words.split(" ").every((word) => text.includes(word));
}

async function linesOf(file: string): Promise<readonly string[]> {
  const text = await readFile(file, "utf8").catch(() => "");
  return text.split("\n").filter(Boolean);
}

/** Looks every 20 ms for 20 s. */
async function until(isSo: () => Promise<boolean>): Promise<void> {
  for (let tries = 0; tries < 1_000; tries++) {
    if (await isSo()) return;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  throw new Error("The exchange does not go on.");
}
