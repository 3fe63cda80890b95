// @module-tag slow
import { expect, test } from "vitest";
import { modeOfRun } from "../mode.ts";
import { parsePlan } from "../plan-file.ts";
import { modulesOfPlan } from "../plan-modules.ts";
import { PlanThreads } from "./plan-threads.ts";
import { FULL } from "../../kernel/test-tiers.ts";

const PLAN = `plan: small
roles: modules
workers: { default: { kind: offline } }
ports: [{ id: one, role: web, owns: [src/**], acceptance: "true", goal: Say hello. }]
`;

/**
 * 4,000 ports whose patterns begin alike, so that each pair of them is compared: some seconds of
 * work, until it is refused for it.
 */
const EXPENSIVE = `plan: expensive
roles: modules
workers: { default: { kind: offline } }
ports:
${Array.from({ length: 4_000 }, (_, index) => `  - { id: p${index}, role: web, owns: ["**/a${index}.ts"], acceptance: "true", goal: g }`).join("\n")}
`;

async function opened(
  limits: ConstructorParameters<typeof PlanThreads>[0] = {},
): Promise<PlanThreads & AsyncDisposable> {
  const threads = new PlanThreads(limits);
  return Object.assign(threads, { [Symbol.asyncDispose]: () => threads.stop() });
}

test("a plan that is read in a thread is the plan that is read without one", async () => {
  await using threads = await opened();

  const { plan, problems } = await threads.run("read", ["plan.yaml", PLAN]);

  expect(problems).toEqual([]);
  expect(plan).toMatchObject({ name: "small", ports: [{ id: "one", owns: ["src/**"] }] });
});

/** A plan of more ports than are looked at without a thread. */
const MANY = parsePlan(
  "many.yaml",
  EXPENSIVE.split("\n").slice(0, 204).join("\n").replaceAll("**/", ""),
);
const FILES = ["a1.ts", "a2.ts", "web/package.json", "web/b.ts"];

test.each(["mode", "modules"] as const)(
  "the %s of a run of many ports is found while this thread does other work",
  async (task) => {
    await using threads = await opened();
    let turns = 0;
    const turn = (): void => {
      turns++;
      next = setImmediate(turn);
    };
    let next = setImmediate(turn);

    const found = await threads[task](MANY, FILES);
    clearImmediate(next);

    expect(turns).toBeGreaterThan(10);
    expect(found).toEqual(task === "mode" ? modeOfRun(MANY, FILES) : modulesOfPlan(MANY, FILES));
  },
);

test(
  "a plan that takes too long is refused with PLAN_TOO_EXPENSIVE, and the next one is read",
  FULL,
  async () => {
    await using threads = await opened({ limits: { taskMs: 500 } });

    const refused = threads.run("read", ["plan.yaml", EXPENSIVE]);
    await expect(refused).rejects.toMatchObject({
      code: "PLAN_TOO_EXPENSIVE",
      message: "The plan cannot be looked at. It took longer than 500 ms.",
    });
    const next = await threads.run("read", ["plan.yaml", PLAN]);

    expect(next.plan?.name).toBe("small");
  },
);

test(
  "a plan that takes too much memory is refused with PLAN_TOO_EXPENSIVE, and the next one is read",
  { ...FULL, timeout: 60_000 },
  async () => {
    await using threads = await opened({ limits: { memoryMb: 40, taskMs: 50_000 } });
    const huge = `ports: [${"{ a: [1, 2, 3] }, ".repeat(60_000)}]`;

    const refused = threads.run("read", ["plan.yaml", huge]);
    await expect(refused).rejects.toMatchObject({
      code: "PLAN_TOO_EXPENSIVE",
      message: "The plan cannot be looked at. It needs more than 40 MiB of memory.",
    });

    expect((await threads.run("read", ["plan.yaml", PLAN])).plan?.name).toBe("small");
  },
);

test("more plans than may wait for a thread are refused with PLAN_THREADS_BUSY", async () => {
  await using threads = await opened({ limits: { waiting: 2 } });

  const reads = Array.from({ length: 5 }, () =>
    threads.run("read", ["plan.yaml", PLAN]).then(
      () => "read",
      (error: { code: string }) => error.code,
    ),
  );

  expect(await Promise.all(reads)).toEqual([
    "read",
    "read",
    "read",
    "PLAN_THREADS_BUSY",
    "PLAN_THREADS_BUSY",
  ]);
});

test("a reader that leaves frees its thread for the next one", async () => {
  await using threads = await opened();
  const left = new AbortController();

  const first = threads.run("read", ["plan.yaml", EXPENSIVE], { signal: left.signal });
  const second = threads.run("read", ["plan.yaml", PLAN]);
  left.abort(new Error("gone"));

  await expect(first).rejects.toThrow("gone");
  expect((await second).plan?.name).toBe("small");
});

test("threads that are stopped refuse what waits and what comes", async () => {
  const threads = await opened();
  const first = threads.run("read", ["plan.yaml", EXPENSIVE]);
  const second = threads.run("read", ["plan.yaml", PLAN]);
  const ended = Promise.allSettled([first, second]);

  await threads.stop();

  expect((await ended).map(({ status }) => status)).toEqual(["rejected", "rejected"]);
  await expect(threads.run("read", ["plan.yaml", PLAN])).rejects.toMatchObject({
    code: "PLAN_THREADS_BUSY",
  });
});

test("one share fills no more than its part of the queue, and the others' turns come first", async () => {
  await using threads = await opened({ limits: { waiting: 10, shareWaiting: 3 } });
  const done: string[] = [];
  const read = (share: string): Promise<string> =>
    threads.run("read", ["plan.yaml", PLAN], { share }).then(
      () => (done.push(share), "read"),
      (error: { code: string }) => error.code,
    );

  const greedy = Array.from({ length: 8 }, () => read("tenant:greedy"));
  const others = [read("tenant:acme"), read("caller:ann")];

  expect(await Promise.all(others)).toEqual(["read", "read"]);
  expect((await Promise.all(greedy)).filter((code) => code === "read")).toHaveLength(4);
  expect(done).toEqual([
    "tenant:greedy",
    "tenant:acme",
    "caller:ann",
    "tenant:greedy",
    "tenant:greedy",
    "tenant:greedy",
  ]);
});

test("a short text that is much work is read in a thread, and refused there by its count", async () => {
  await using threads = await opened();
  const globs = Array.from({ length: 80 }, (_, at) => `"*{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}x${at}z"`);
  const port = (id: string): string =>
    `  - { id: ${id}, role: web, acceptance: "true", goal: g, owns: [${globs.map((glob) => glob.replace("x", id)).join(",")}] }\n`;
  const text = PLAN.replace(/ports:.*\n/, `ports:\n${port("one")}${port("two")}`);
  expect(text.length).toBeLessThan(8_000);

  await expect(threads.read("plan.yaml", text)).rejects.toMatchObject({
    code: "PLAN_TOO_EXPENSIVE",
    class: "input",
    hint: "Split it into smaller plans, and let fewer patterns begin with **.",
  });
});
