import { FULL } from "../../kernel/test-tiers.ts";
import { lstat, readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { systemClock } from "../../kernel/clock.ts";
import { beLate } from "../../kernel/test-late.ts";
import { OfflineWorker } from "./offline.ts";
import { readOfflineScript, tryOf } from "./offline-script.ts";
import { aPlace, isAlive, workOn } from "./test-worker.ts";

const SCRIPT = readOfflineScript(
  "team.offline.yaml",
  `ports:
  api:
    implementer:
      - edits: [{ path: src/login.ts, content: "export const tries = 6;\\n" }, { path: src/new/deep.ts, content: "new\\n" }]
        summary: First try.
        queries: [how many tries?]
      - edits: [{ path: src/login.ts, replace: { old: "6", new: "5" } }]
      - { try: 4, summary: Fourth try. }
  outside:
    implementer:
      - edits: [{ path: README.md, content: mine }, { path: src/a.ts, content: kept }, { path: test/a.test.ts, content: mine }, { path: src/b.ts, content: never }]
  crash:
    implementer: [{ edits: [{ path: src/a.ts, content: half }], crash: true }]
  hang:
    implementer: [{ edits: [{ path: src/a.ts, content: half }], hang: true }]
  unasked:
    implementer: [{ edits: [{ path: README.md, content: mine, unasked: true }, { path: src/out, link: /etc/hostname }] }]
  misfit:
    implementer: [{ edits: [{ path: src/login.ts, replace: { old: not there, new: nor this } }] }]
  default:
    tester: [{ edits: [{ path: src/t.ts, content: t, unasked: true }], summary: Tested. }]
`,
);

const worker = () => new OfflineWorker({ script: SCRIPT, clock: systemClock });

test("makes the edits of its try in real files, by a process of its own that is gone afterwards", async () => {
  await using place = await aPlace({ "src/login.ts": "old\n" });

  const first = await workOn(worker(), place.assignment);
  const second = await workOn(worker(), { ...place.assignment, try: 2 });
  const repeated = await workOn(worker(), { ...place.assignment, try: 2 });

  expect(first.result).toEqual({
    status: "ready",
    summary: "First try.",
    claimedFiles: ["src/login.ts", "src/new/deep.ts"],
    tokens: { input: 0, cached: 0, output: 0 },
    calls: 1,
  });
  expect(first.events).toContainEqual({
    type: "said",
    text: "asked: how many tries? — answered: about how many tries?: yes",
  });
  expect([second.result.status, repeated.result.status]).toEqual(["ready", "ready"]);
  expect(await readFile(join(place.tree, "src/login.ts"), "utf8")).toBe(
    "export const tries = 5;\n",
  );
  expect(await readFile(join(place.tree, "src/new/deep.ts"), "utf8")).toBe("new\n");
  expect(place.started).toHaveLength(3);
  expect(place.started.some(({ pid }) => isAlive(pid))).toBe(false);
});

test("asks before it edits, and is stopped at its second violation", async () => {
  await using place = await aPlace({}, { port: "outside" });

  const { events, result } = await workOn(worker(), place.assignment);

  expect(events.filter(({ type }) => type === "violation")).toEqual([
    {
      type: "violation",
      path: "README.md",
      wanted: "write",
      because: "not-owned",
      detail: "an edit of the script",
    },
    {
      type: "violation",
      path: "test/a.test.ts",
      wanted: "write",
      because: "others-tests",
      detail: "an edit of the script",
    },
  ]);
  expect(result).toMatchObject({ status: "failed", error: { code: "WORKER_STOPPED_VIOLATIONS" } });
  expect(await readFile(join(place.tree, "src/a.ts"), "utf8")).toBe("kept");
  await expect(lstat(join(place.tree, "src/b.ts"))).rejects.toThrow("ENOENT");
});

test("a crash is a failed result and leaves what was written before", async () => {
  await using place = await aPlace({}, { port: "crash" });

  const { result } = await workOn(worker(), place.assignment);

  expect(result).toMatchObject({
    status: "failed",
    error: { code: "WORKER_DIED", message: "The worker's process ended by signal SIGKILL." },
  });
  expect(await readFile(join(place.tree, "src/a.ts"), "utf8")).toBe("half");
});

test("one that hangs is ended by its time", FULL, async () => {
  await using place = await aPlace({}, { port: "hang" });

  const { result } = await workOn(worker(), {
    ...place.assignment,
    limits: { ...place.assignment.limits, timeMs: 1_500 },
  });

  expect(result.error?.code).toBe("WORKER_TIMEOUT");
});

test("an abort throws its reason when the process is gone", async () => {
  await using place = await aPlace({}, { port: "hang" });
  const controller = new AbortController();

  const work = (async () => {
    for await (const event of worker().run(place.assignment, { signal: controller.signal })) {
      if (event.type === "result") return event;
    }
    return undefined;
  })();
  await beLate();
  while (place.started.length === 0) await systemClock.sleep(10);
  controller.abort(new Error("cancelled by the operator"));

  await expect(work).rejects.toThrow("cancelled by the operator");
  expect(isAlive(place.started[0]!.pid)).toBe(false);
});

test("an unasked edit is tried for real: only a sandbox could stand in its way", async () => {
  await using place = await aPlace({}, { port: "unasked" });

  const { events, result } = await workOn(worker(), place.assignment);

  expect(events.some(({ type }) => type === "violation")).toBe(false);
  expect(result.status).toBe("ready");
  expect(await readFile(join(place.tree, "README.md"), "utf8")).toBe("mine");
  expect((await lstat(join(place.tree, "src/out"))).isSymbolicLink()).toBe(true);
});

test("a script that does not fit the files says so", async () => {
  await using place = await aPlace({ "src/login.ts": "x" }, { port: "misfit" });

  const { result } = await workOn(worker(), place.assignment);

  expect(result.error).toMatchObject({
    code: "WORKER_SCRIPT",
    message: expect.stringContaining("stands in src/login.ts 0 times") as string,
  });
});

test("a try is chosen by its number or its place, the default stands for other ports", () => {
  const at = { port: "api", member: "implementer" as const, try: 1 };

  expect(tryOf(SCRIPT, at)?.summary).toBe("First try.");
  expect(tryOf(SCRIPT, { ...at, try: 3 })).toBeUndefined();
  expect(tryOf(SCRIPT, { ...at, try: 4 })?.summary).toBe("Fourth try.");
  expect(tryOf(SCRIPT, { ...at, try: 7 })).toBeUndefined();
  expect(tryOf(SCRIPT, { ...at, port: "domain", member: "tester" })?.summary).toBe("Tested.");
  expect(tryOf(SCRIPT, { ...at, port: "constructor" })).toBeUndefined();
});

test("a delay is told as progress", async () => {
  await using place = await aPlace();
  const slow = new OfflineWorker({
    script: { ports: { api: { implementer: [{ delay: 40 }] } } },
    clock: systemClock,
  });

  const { events } = await workOn(slow, place.assignment);

  expect(
    events.filter((event) => event.type === "progress").map(({ progress }) => progress),
  ).toEqual([0, 0.2, 0.4, 0.6, 0.8, 1]);
});

test("names every problem of a script at its line", () => {
  expect(() =>
    readOfflineScript(
      "s.yaml",
      "ports:\n  a:\n    implementer:\n      - edits: [{ path: x }]\n        summry: y\n",
    ),
  ).toThrow(
    /s\.yaml:4:\d+ .*needs one of content, replace, delete and link[\s\S]*s\.yaml:5:\d+ .*did you mean "summary"/,
  );
});
