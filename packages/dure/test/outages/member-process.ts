/**
 * A process of a test with a database that restarts: `node member-process.ts '<settings as JSON>'`.
 * Hears `<kind> <n>`, and says `accepted` when that work is stored. It ends with 75 when another
 * one has taken it over.
 */
import { appendFileSync, readFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { z } from "zod";
import { enqueue } from "../../src/durable/outbox.ts";
import { mayPass } from "../../src/durable/passing.ts";
import { tool, type AnyTool } from "../../src/engine/agent/tool.ts";
import { startTestTeam as startJobs, type TestAgent } from "../../src/jobs/test-jobs.ts";
import { systemClock } from "../../src/kernel/clock.ts";
import { messageOf } from "../../src/kernel/errors.ts";
import type { Logger } from "../../src/kernel/logger.ts";
import { planOf, startTestRuns } from "../../src/plans/runs/test-runs.ts";
import { readyTeamOn } from "../rooms/helpers.ts";
import { webPlatform } from "../rooms/web-platform.ts";
import { WORDS, type Kind, type MemberSettings } from "./member-settings.ts";

/** Of each step of some work, so that outages meet them all. */
const STEP_MS = 120;
/** Between two tries to give work, milliseconds. */
const AGAIN_MS = 50;

const { url, effects } = JSON.parse(process.argv[2]!) as MemberSettings;

function say(what: string, facts: object = {}): void {
  process.stdout.write(`${JSON.stringify({ say: what, ...facts })}\n`);
}

const toStderr = (facts: object, line: string): void =>
  void process.stderr.write(`${line} ${JSON.stringify(facts)}\n`);
const logger: Logger = { debug() {}, info() {}, warn: toStderr, error: toStderr };
const onFenced = (): never => {
  say("fenced");
  process.exit(75);
};

// --- effects, which outlive databases

const isDone = (key: string): boolean => readFileSync(effects, "utf8").includes(` ${key}\n`);

async function effect(kind: Kind, n: string, key: string): Promise<void> {
  appendFileSync(effects, `${kind} ${n} ${key}\n`);
  await systemClock.sleep(STEP_MS); // it is done, and not yet recorded
}

function bookingTool(kind: Kind): AnyTool {
  return tool({
    description: "Books.",
    inputSchema: z.object({ n: z.string() }),
    effect: "once",
    timeout: "5s",
    settle: "0s",
    probe: async ({ key }) => (isDone(key) ? "happened" : "not_happened"),
    execute: async ({ n }, { key }) => {
      await effect(kind, n, key);
      return "booked";
    },
  });
}

/** The number of the work that a request is about. */
function numberIn(text: string): string {
  return /work (\d+)/.exec(text)?.[1] ?? "none";
}

// --- jobs, turns and the outbox

/** Books in its first turn; what it says depends on what was said alone. */
const talking: TestAgent = async ({ messages }, { signal }) => {
  await systemClock.sleep(STEP_MS, { signal });
  const asked = JSON.stringify(messages);
  const n = numberIn(asked);
  const said = WORDS.findLastIndex((words) => asked.includes(words)) + 1;
  const isBooked = messages.some(({ role }) => role === "tool");
  if (said === 0 && !isBooked) return { toolCalls: [{ name: "book", args: { n } }] };
  return `${WORDS[said % WORDS.length]} That is work ${n}.`;
};

const jobs = await startJobs({
  url: url.jobs,
  agents: { ruda: talking, eden: talking, seum: talking },
  tools: (_jobs, name) => ({ book: bookingTool(name === "seum" ? "turn" : "job") }),
  logger,
  onFenced,
});
jobs.outbox.handle("test.entry", {
  send: async (payload, { key }) => {
    await effect("entry", String((payload as { n: number }).n), key);
  },
  probe: async (_payload, { key }) => (isDone(key) ? "happened" : "not_happened"),
});

// --- rooms

const platform = webPlatform();
const rooms = await readyTeamOn(platform, {
  on: { url: url.rooms },
  gather: { policy: "queue" }, // which message was answered is what is counted
  behave: {
    ruda: async ({ text, results }) => {
      await systemClock.sleep(STEP_MS);
      const n = numberIn(text);
      return results.length === 0
        ? { toolCalls: [{ name: "book", args: { n } }] }
        : `예약했어요: work ${n}`;
    },
  },
  tools: { book: bookingTool("message") },
  logger,
  onFenced,
  onEnd: () => {},
});

// --- plan runs

const runs = await startTestRuns({
  url: url.runs,
  build: async (_run, port, { signal }) => {
    await systemClock.sleep(STEP_MS, { signal });
    return { status: "succeeded", commit: port.id };
  },
  onFenced,
});

// --- work that is given

const GIVE: Readonly<Record<Kind, (n: string) => Promise<unknown>>> = {
  job: (n) =>
    jobs.jobs.ask({
      requester: "ruda",
      agent: "eden",
      message: `Let's discuss: work ${n}`,
      maxTurns: WORDS.length,
      waitSec: 0,
      key: `job ${n}`,
    }),
  turn: (n) =>
    jobs.engine.accept(
      { session: `s${n}`, service: "seum", message: `Please do work ${n}` },
      { key: `turn ${n}`, path: "test" },
    ),
  message: (n) =>
    rooms.rooms.post(
      { tenant: "", person: "민준" },
      { place: "web:general", text: `work ${n}`, clientId: `message-${n}` },
    ),
  entry: (n) =>
    enqueue(jobs.database, [
      { topic: "test.entry", ordering: "one", payload: { n: Number(n) }, key: `entry ${n}` },
    ]),
  run: (n) =>
    runs.runs.run({ plan: planOf({ a: "", b: "a" }), repository: "/r", by: "me", key: `run ${n}` }),
};

async function give(kind: Kind, n: string): Promise<void> {
  for (;;) {
    try {
      await GIVE[kind](n);
      return say("accepted", { kind, n });
    } catch (error) {
      if (!mayPass(error)) return say("refused", { kind, n, because: messageOf(error) });
      await systemClock.sleep(AGAIN_MS);
    }
  }
}

createInterface({ input: process.stdin }).on("line", (line) => {
  const [kind, n] = line.split(" ") as [Kind, string];
  void give(kind, n);
});
say("ready");
