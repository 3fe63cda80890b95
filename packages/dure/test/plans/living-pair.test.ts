import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { testDatabase } from "../../src/durable/test-database.ts";
import { systemClock } from "../../src/kernel/clock.ts";
import { ProcessError } from "../../src/kernel/errors.ts";
import { FULL } from "../../src/kernel/test-tiers.ts";
import type { MemberOutput } from "../../src/plans/port/port-steps.ts";
import type { PlanRun } from "../../src/plans/rows/run.ts";
import type { TestRuns } from "../../src/plans/runs/test-runs.ts";
import { AcpWorker } from "../../src/plans/workers/acp.ts";
import { workerError } from "../../src/plans/workers/worker-error.ts";
import { runWorker } from "../../src/plans/workers/worker-run.ts";
import type { Assignment, Worker } from "../../src/plans/workers/worker.ts";
import { LeaderProcess } from "./leader-process.ts";
import { realPlan, startRealRuns, testRepository, type TestRepository } from "./real-runs.ts";
import { openStage } from "./stage.ts";

const AGENT = fileURLToPath(new URL("acp-agent/agent.ts", import.meta.url));
const FILES = { "src/a.txt": "", "test/a.txt": "" };
/** The implementer is this program's own, the tester an agent that keeps its conversations. */
const plan = (acceptance: string, limits = "{ tries: 2 }"): string => `
plan: pair
roles: modules
limits: ${limits}
workers:
  default: { kind: own, name: asking }
  tester: { kind: acp, command: [${process.execPath}, ${AGENT}] }
ports:
  - id: a
    role: a
    goal: "REMEMBER goal"
    owns: [src/**]
    tests: [test/**]
    acceptance: ${JSON.stringify(acceptance)}
`;
const QUESTION = 'REMEMBER question\nAGENT {"say": "I know: $PAST"}';

/** Asks its partner in each try, and writes what it heard. */
class Asking implements Worker {
  readonly kind = "own";
  readonly #question: string;

  constructor(question = QUESTION) {
    this.#question = question;
  }

  run(assignment: Assignment, options: { signal: AbortSignal }) {
    return runWorker(
      assignment,
      async ({ signal }) => {
        const { channel, tree } = assignment;
        const summary = await channel.query(this.#question, { signal });
        await writeFile(join(tree, "src/a.txt"), `${assignment.try}: ${summary}`);
        return { status: "ready" as const, summary, claimedFiles: ["src/a.txt"] };
      },
      { clock: systemClock, ...options },
    );
  }
}

const workers =
  (question?: string) =>
  ({ kind }: { kind: string }): Worker =>
    kind === "acp"
      ? new AcpWorker({ command: [process.execPath, AGENT], clock: systemClock })
      : new Asking(question);

async function begin(runs: TestRuns, repository: TestRepository, text: string): Promise<string> {
  const wanted = { plan: realPlan(text), repository: repository.folder, by: "me" };
  const { signal } = new AbortController();
  return (await runs.runs.run(wanted, { signal })).id;
}

async function ended(runs: TestRuns, id: string): Promise<PlanRun> {
  await expect
    .poll(async () => (await runs.runs.get(id)).finishedAt !== null, {
      timeout: 90_000,
      interval: 250,
      message: "the run ended",
    })
    .toBe(true);
  return runs.runs.get(id);
}

const answersIn = async (runs: TestRuns, id: string): Promise<readonly unknown[]> =>
  (await runs.runs.port(id, "a")).messages
    .filter(({ type }) => type === "ack")
    .map(({ payload }) => (payload as { text: string }).text);

test(
  "a question reaches the conversation of the member that is asked, try after try",
  { ...FULL, timeout: 300_000 },
  async () => {
    const { runs, repository } = await openStage(FILES, { worker: workers() });

    const id = await begin(runs, repository, plan('grep -q "^2" src/a.txt'));
    const run = await ended(runs, id);

    expect(run.status, JSON.stringify(run.because)).toBe("success");
    // Asked before its first try it begins its conversation, and its tries go on with that.
    expect(await answersIn(runs, id)).toEqual([
      "I am looking at it.I know: question",
      "I am looking at it.I know: question goal question",
    ]);
    const { steps } = await runs.runs.port(id, "a");
    expect(steps.filter(({ member }) => member === "tester")).toMatchObject([
      { try: 1, session: "session_1" },
      { try: 2, session: "session_1" },
    ]);
    const { lines } = await runs.runs.transcript(id, "a", {});
    const heard = lines.filter(({ member, kind }) => member === "implementer" && kind === "heard");
    expect(heard.map(({ title }) => title)).toEqual(["tester", "tester"]);
    const asked = lines.filter(({ member, text }) => member === "tester" && text === QUESTION);
    expect(asked.map(({ kind }) => kind)).toEqual(["prompt"]);
  },
);

/** A partner that meets these one after the other, and then answers. */
class Troubled implements Worker {
  readonly kind = "own";
  readonly #troubles: Error[];

  constructor(troubles: readonly Error[]) {
    this.#troubles = [...troubles];
  }

  run(assignment: Assignment, options: { signal: AbortSignal }) {
    return runWorker(
      assignment,
      async () => {
        const trouble = this.#troubles.shift();
        if (trouble) throw trouble;
        return { status: "ready" as const, summary: "Blue.", claimedFiles: [] };
      },
      { clock: systemClock, ...options },
    );
  }
}

const OWN_PAIR = `
plan: pair
roles: modules
limits: { tries: 1 }
workers:
  default: { kind: own, name: asking }
  tester: { kind: own, name: troubled }
ports: [{ id: a, role: a, goal: g, owns: [src/**], tests: [test/**], acceptance: "true" }]
`;

test.each([
  {
    of: "the database",
    trouble: new ProcessError("DATABASE_UNAVAILABLE", "connect ECONNREFUSED"),
    answer: "Blue.",
    stored: ["Blue."],
  },
  {
    of: "the partner's provider",
    trouble: workerError("WORKER_RATE_LIMITED", "MODEL_RATE_LIMITED: 429"),
    answer:
      "The tester cannot answer now: its model is not reachable. Its answer is not known. Decide by yourself.",
    stored: [],
  },
])(
  "an outage of $of is stored as no answer of a partner",
  FULL,
  async ({ trouble, answer, stored }) => {
    const troubled = new Troubled([trouble]);
    const { runs, repository } = await openStage(FILES, {
      worker: (spec) => ("name" in spec && spec.name === "troubled" ? troubled : new Asking("?")),
    });

    const id = await begin(runs, repository, OWN_PAIR);
    const run = await ended(runs, id);

    expect(await answersIn(runs, id)).toEqual(stored);
    const { steps } = await runs.runs.port(id, "a");
    expect(run.status, JSON.stringify(run.because)).toBe("success");
    const summaries = steps.map(({ output }) => (output as MemberOutput | null)?.result?.summary);
    expect(summaries).toContain(answer);
  },
);

/** Leaders that can be killed, and a process that asks and looks; it leads nothing itself. */
async function openCrashStage(stack: AsyncDisposableStack, script: string) {
  const { url } = stack.use(await testDatabase());
  const repository = stack.use(await testRepository(FILES));
  const home = await mkdtemp(join(tmpdir(), "dure-home-"));
  stack.defer(() => rm(home, { recursive: true, force: true }));
  const file = join(home, "script.json");
  await writeFile(file, script);
  const watcher = stack.use(await startRealRuns({ url, home, script: "ports: {}" }));
  await watcher.runs.stop();
  const lead = (): LeaderProcess => stack.use(new LeaderProcess({ url, home, script: file }));
  return { watcher, repository, lead };
}

test(
  "a kill -9 while a member answers loses no question: it is asked again in its conversation",
  { ...FULL, timeout: 180_000 },
  async () => {
    await using stack = new AsyncDisposableStack();
    const asks = QUESTION.replace('{"say"', '{"mode": "hangs-once", "say"');
    const edit = { path: "src/a.txt", content: "done" };
    const tries = [{ edits: [{ ...edit, content: "begun" }] }, { queries: [asks], edits: [edit] }];
    const script = JSON.stringify({ ports: { a: { implementer: tries } } });
    const { watcher, repository, lead } = await openCrashStage(stack, script);
    const first = lead();
    await first.ready;
    const begun = plan("grep -q done src/a.txt").replace(
      "kind: own, name: asking",
      "kind: offline",
    );
    const id = await begin(watcher, repository, begun);
    const { folder } = await watcher.runs.get(id);
    const told = join(folder, "ports/a/scratch/tester/home/.test-agent.json");
    await expect
      .poll(() => readFile(told, "utf8").catch(() => ""), {
        timeout: 90_000,
        interval: 250,
        message: "the tester is asked",
      })
      .toContain("REMEMBER question");

    await first.kill();
    const second = lead();
    const run = await ended(watcher, id);

    expect(run.status, second.log.join("\n")).toBe("success");
    expect(await answersIn(watcher, id)).toEqual([
      "I am looking at it.I know: goal question question",
    ]);
    const { steps, messages } = await watcher.runs.port(id, "a");
    expect(messages.filter(({ type }) => type === "query")).toHaveLength(1);
    expect(
      steps.find(({ try: number, kind }) => number === 2 && kind === "implement"),
    ).toMatchObject({
      starts: 2,
      log: expect.stringContaining("I know: goal question question") as string,
    });
  },
);

/** One agent, one try: it works until the file is there. */
const talkative = `
plan: talk
roles: modules
limits: { tries: 1 }
workers: { default: { kind: acp, command: [${process.execPath}, ${AGENT}] } }
ports:
  - id: a
    role: a
    goal: 'AGENT {"until": "src/go.txt", "say": "Done."}'
    owns: [src/**]
    acceptance: "true"
`;

async function untilItWorks(runs: TestRuns, id: string): Promise<void> {
  await expect
    .poll(async () => (await runs.runs.port(id, "a")).steps.map(({ session }) => session), {
      timeout: 60_000,
      interval: 250,
      message: "the agent works",
    })
    .toEqual(["session_1"]);
}

const saidIn = async (runs: TestRuns, id: string) =>
  (await runs.runs.port(id, "a")).messages.filter(({ from }) => from === "operator");

test(
  "a person's words reach an agent in its last try, and are shown as sent, delivered and read",
  { ...FULL, timeout: 300_000 },
  async () => {
    const { runs, repository } = await openStage(FILES);
    const id = await begin(runs, repository, talkative);
    await untilItWorks(runs, id);
    const words = { to: "implementer", text: 'AGENT {"say": "I heard you."}' } as const;

    await runs.runs.commands.say(id, "a", words, { by: "me" });
    await expect
      .poll(() => saidIn(runs, id), { timeout: 30_000, interval: 250, message: "it is delivered" })
      .toMatchObject([{ deliveredAt: expect.any(Number) as number, processedAt: null }]);
    const { folder } = await runs.runs.get(id);
    await writeFile(join(folder, "ports/a/tree/src/go.txt"), "go");
    const run = await ended(runs, id);

    expect(run.status, JSON.stringify(run.because)).toBe("success");
    expect(await saidIn(runs, id)).toMatchObject([
      { payload: { text: words.text, by: "me" }, processedAt: expect.any(Number) as number },
    ]);
    const { lines } = await runs.runs.transcript(id, "a", { search: "heard you" });
    expect(lines.map(({ kind }) => kind)).toEqual(["heard", "message", "end"]);
    await expect(runs.runs.commands.say(id, "a", words, { by: "me" })).rejects.toMatchObject({
      code: "RUN_OVER",
    });
  },
);

test(
  "words that were read in a step that a kill -9 ended are told again",
  { ...FULL, timeout: 180_000 },
  async () => {
    await using stack = new AsyncDisposableStack();
    const { watcher, repository, lead } = await openCrashStage(stack, "ports: {}");
    const first = lead();
    await first.ready;
    const id = await begin(watcher, repository, talkative);
    await untilItWorks(watcher, id);
    const text = 'The colour is teal.\nAGENT {"mode": "hangs-once", "say": "I see."}';
    await watcher.runs.commands.say(id, "a", { to: "implementer", text }, { by: "me" });
    const { folder } = await watcher.runs.get(id);
    await writeFile(join(folder, "ports/a/tree/src/go.txt"), "go");
    await expect
      .poll(() => saidIn(watcher, id), { timeout: 60_000, interval: 250, message: "it is read" })
      .toMatchObject([{ processedAt: expect.any(Number) as number }]);

    await first.kill();
    await rm(join(folder, "ports/a/tree/src/go.txt"), { force: true });
    const second = lead();
    const told = join(folder, "ports/a/scratch/implementer/home/.test-agent.json");
    await expect
      .poll(async () => (await readFile(told, "utf8")).split("teal").length, {
        timeout: 60_000,
        interval: 250,
        message: "it is told again",
      })
      .toBe(3);
    await writeFile(join(folder, "ports/a/tree/src/go.txt"), "go");
    const run = await ended(watcher, id);

    expect(run.status, second.log.join("\n")).toBe("success");
  },
);
