// @module-tag slow
import { expect, onTestFinished, test } from "vitest";
import { FULL } from "../../kernel/test-tiers.ts";
import { testDatabase } from "../../durable/test-database.ts";
import { systemClock, type Clock } from "../../kernel/clock.ts";
import { boundMs } from "../../kernel/test-bounds.ts";
import type { PortOutcome } from "../rows/outcomes.ts";
import type { PlanPort, PlanRun } from "../rows/run.ts";
import { planOf, startTestRuns, type TestRuns, type TestRunsOptions } from "../runs/test-runs.ts";
import { escalationFor } from "../ask/triggers.ts";
import type { PlatformEvent } from "../../wire/events.ts";

const done: PortOutcome = { status: "succeeded", commit: "c" };
const broken: PortOutcome = { status: "failed", because: { code: "TEST", message: "it broke" } };

async function open(options: Omit<TestRunsOptions, "url">): Promise<TestRuns & { url: string }> {
  const stack = new AsyncDisposableStack();
  onTestFinished(() => stack.disposeAsync());
  const { url } = stack.use(await testDatabase());
  const runs = stack.use(await startTestRuns({ url, ...options }));
  return { ...runs, url };
}

async function ended(
  runs: TestRuns,
  id: string,
  statuses: readonly string[] = ["success", "partial", "failed", "cancelled"],
): Promise<PlanRun & { readonly ports: readonly PlanPort[] }> {
  return expect
    .poll(
      async () => {
        const run = await runs.runs.get(id);
        return statuses.includes(run.status) ? run : undefined;
      },
      { timeout: 20_000, interval: 20 },
    )
    .toBeDefined()
    .then(() => runs.runs.get(id));
}

/** Begins a run of ports with what each needs, as `planOf` writes it. */
async function begin(runs: TestRuns, ports: Parameters<typeof planOf>[0]): Promise<string> {
  const { id } = await runs.runs.run({ plan: planOf(ports), repository: "/r", by: "me" });
  return id;
}

/** Ports that are built until their gate opens or they are stopped. */
function gated(
  outcomes: Readonly<Record<string, PortOutcome>> = {},
): Pick<TestRunsOptions, "build"> & { readonly gates: Map<string, () => void> } {
  const gates = new Map<string, () => void>();
  return {
    gates,
    build: (_run, port, { signal }) =>
      new Promise((resolve, reject) => {
        gates.set(port.id, () => resolve(outcomes[port.id] ?? done));
        signal.addEventListener("abort", () => reject(signal.reason as Error));
      }),
  };
}

async function statuses(runs: TestRuns, id: string): Promise<string> {
  return (await runs.runs.get(id)).ports.map((port) => `${port.id} ${port.status}`).join(", ");
}

/** Of the members that say what an event is about, the first. */
function subjectIn({ data }: PlatformEvent): unknown {
  if ("id" in data) return data.id;
  if ("port" in data) return data.port;
  return "outcome" in data ? data.outcome : undefined;
}

async function eventsOf(runs: TestRuns, run: string): Promise<readonly PlatformEvent[]> {
  await runs.events.caughtUp();
  return (await runs.events.read(undefined, { run }, 1_000)).events;
}

test("a port starts when all that it needs has succeeded, never more than there are slots", async () => {
  const log: string[] = [];
  let [now, most] = [0, 0];
  const runs = await open({
    build: async (_run, port) => {
      log.push(`+${port.id}`);
      most = Math.max(most, ++now);
      if (port.id === "b" || port.id === "c") await expect.poll(() => most).toBe(2);
      now--;
      log.push(`-${port.id}`);
      return done;
    },
  });

  const id = await begin(runs, { a: "", b: "a", c: "a", d: "a", e: "b c d" });
  const run = await ended(runs, id);

  expect(run).toMatchObject({
    status: "success",
    phase: "over",
    report: { commit: "merged", kept: ["a", "b", "c", "d", "e"], missing: [] },
  });
  expect(log[0]).toBe("+a");
  expect(log.at(-1)).toBe("-e");
  expect(log.indexOf("+e")).toBeGreaterThan(log.indexOf("-d"));
  expect(most).toBe(2);
  expect(
    (await eventsOf(runs, id)).map(({ type, data }) =>
      `${type} ${"port" in data ? String(data.port) : ""}`.trim(),
    ),
  ).toEqual(
    expect.arrayContaining([
      "session.start",
      "run.start",
      "port.ready a",
      "port.start a",
      "port.success a",
      "merge.done",
      "run.end",
    ]),
  );
});

test("what needs a failed port is blocked, the rest goes on; a retry goes on from there", async () => {
  let isMended = false;
  const built: string[] = [];
  const runs = await open({
    build: async (_run, port) => {
      built.push(port.id);
      return port.id === "b" && !isMended ? broken : done;
    },
  });

  const id = await begin(runs, { a: "", b: "a", c: "b", d: "a" });
  const partial = await ended(runs, id);

  expect(partial.status).toBe("partial");
  expect(partial.report).toMatchObject({
    kept: ["a", "d"],
    missing: [
      { port: "b", because: { message: "it broke" } },
      { port: "c", because: { code: "DEPENDENCY_FAILED", message: "It needs b, which failed." } },
    ],
  });
  expect(await statuses(runs, id)).toBe("a succeeded, b failed, c blocked, d succeeded");
  const { items: asked } = await runs.inbox.list({ tenant: "", run: id });
  expect(asked.map(({ type, status }) => [type, status])).toEqual([["dependency", "resolved"]]);
  const told = await eventsOf(runs, id);
  const dataOf = (type: string): readonly unknown[] =>
    told.filter((event) => event.type === type).map(({ data }) => data);
  expect(dataOf("port.failed")).toMatchObject([{ port: "b", because: "it broke", code: "TEST" }]);
  expect(dataOf("port.blocked")).toMatchObject([{ port: "c", by: "b" }]);
  expect(dataOf("escalation.new")).toMatchObject([{ id: asked[0]!.id, severity: "medium" }]);
  expect([dataOf("session.end"), dataOf("run.end")]).toMatchObject([
    [{ outcome: "partial" }],
    [{ outcome: "partial", kept: 2, missing: 2 }],
  ]);

  isMended = true;
  await runs.runs.commands.order(
    id,
    { type: "retry", port: "b", hint: "look again" },
    { by: "me" },
  );
  const whole = await ended(runs, id, ["success"]);

  expect(whole.report).toMatchObject({ kept: ["a", "b", "c", "d"], missing: [] });
  expect(built).toEqual(["a", "b", "d", "b", "c"]);
  expect((await runs.runs.port(id, "b")).hint).toBe("look again");
  const after = (await eventsOf(runs, id))
    .slice(told.length)
    .map((event) => [event.type, subjectIn(event)]);
  expect(after).toEqual(
    expect.arrayContaining([
      ["port.ready", "b"],
      ["port.success", "c"],
      ["session.end", "success"],
    ]),
  );
});

test("pause stops new starts and resume goes on; cancel stops what runs and drops the rest", async () => {
  const { gates, build } = gated();
  const runs = await open({ build });
  const id = await begin(runs, { a: "", b: "a", c: "b" });
  await expect.poll(() => gates.has("a")).toBe(true);

  await runs.runs.commands.order(id, { type: "pause" }, { by: "me" });
  gates.get("a")!();
  await expect.poll(() => statuses(runs, id)).toBe("a succeeded, b ready, c waiting");
  await expect(runs.runs.commands.order(id, { type: "pause" }, { by: "me" })).rejects.toMatchObject(
    {
      code: "RUN_ORDER_REFUSED",
      message: "The run is paused already.",
    },
  );
  await runs.runs.commands.order(id, { type: "resume" }, { by: "me" });
  await expect.poll(() => gates.has("b")).toBe(true);
  await runs.runs.commands.order(id, { type: "cancel" }, { by: "me" });
  const run = await ended(runs, id);

  expect(run.status).toBe("cancelled");
  expect(await statuses(runs, id)).toBe("a succeeded, b cancelled, c cancelled");
  const told = (await eventsOf(runs, id))
    .map(({ type }) => type)
    .filter((type) => /^(?:run|session)\./.test(type));
  expect(told.toSorted()).toEqual([
    "run.cancel",
    "run.end",
    "run.pause",
    "run.refused",
    "run.resume",
    "run.start",
    "session.end",
    "session.start",
  ]);
  await expect(
    runs.runs.commands.order(id, { type: "retry", port: "b" }, { by: "me" }),
  ).rejects.toMatchObject({ code: "RUN_ORDER_REFUSED" });
});

test("a port that works, waits or has failed is left out on request, and the rest goes on", async () => {
  const { gates, build } = gated({ d: broken });
  const runs = await open({ build });
  const id = await begin(runs, { a: "", b: "", c: "", d: "", e: "a" });
  await expect.poll(() => gates.size).toBe(2);

  await expect(
    runs.runs.commands.order(id, { type: "skip", port: "e" }, { by: "me" }),
  ).rejects.toMatchObject({
    code: "RUN_ORDER_REFUSED",
    message: "The port has not begun; what it needs is still worked on.",
  });
  const waiting = runs.runs.commands.order(id, { type: "skip", port: "c" }, { by: "me" }); // has no slot yet
  await runs.runs.commands.order(id, { type: "skip", port: "a" }, { by: "me" });
  await waiting;
  await expect.poll(() => gates.has("d")).toBe(true);
  for (const gate of gates.values()) gate();
  await ended(runs, id, ["partial"]);
  await runs.runs.commands.order(id, { type: "skip", port: "d" }, { by: "me" });

  const ports = (await runs.runs.get(id)).ports.map((port) =>
    `${port.id} ${port.status} ${port.because?.code ?? ""}`.trim(),
  );
  expect(ports).toEqual([
    "a failed PORT_SKIPPED",
    "b succeeded",
    "c failed PORT_SKIPPED",
    "d failed PORT_SKIPPED",
    "e blocked DEPENDENCY_FAILED",
  ]);
  await expect(
    runs.runs.commands.order(id, { type: "skip", port: "b" }, { by: "me" }),
  ).rejects.toMatchObject({ message: "The port has succeeded meanwhile." });
});

test(
  "what a working port is given counts from its next step; more tokens resume ports",
  FULL,
  async () => {
    const gates = new Map<string, (outcome: PortOutcome) => void>();
    const runs = await open({
      build: (_run, port) => new Promise((resolve) => gates.set(port.id, resolve)),
    });
    const plan = planOf({ a: "", b: "" });
    const { id } = await runs.runs.run({
      plan: {
        ...plan,
        limits: { ...plan.limits, budget: { tokens: 1_000 } },
        ports: plan.ports.map((port) => ({ ...port, budget: { tokens: 400 } })),
      },
      repository: "/r",
      by: "me",
    });
    await expect.poll(() => gates.size).toBe(2);

    await runs.runs.commands.order(
      id,
      {
        type: "retry",
        port: "a",
        tokens: 200,
        timeMs: 5_000,
        hint: "smaller steps",
        grant: { path: "src/x.ts", wants: "own" },
      },
      { by: "me" },
    );
    await expect(
      runs.runs.commands.order(id, { type: "retry", port: "b" }, { by: "me" }),
    ).rejects.toMatchObject({ message: "The port has not failed." });

    const given = await runs.runs.get(id);
    expect(given.tokensMost).toBe(1_200);
    expect(given.ports[0]).toMatchObject({
      status: "running",
      attempt: 1,
      tokensMost: 600,
      timeMs: plan.ports[0]!.timeoutMs + 5_000,
      hint: "smaller steps",
      grants: [{ path: "src/x.ts", wants: "own", by: "operator" }],
    });

    // Two answers that come in the same moment: neither takes away what the other gave.
    const { records } = runs.runs;
    await runs.database.transaction(async (tx) => {
      for (const path of ["src/y.ts", "src/z.ts"]) {
        await records.orders.give(
          tx,
          id,
          { type: "retry", port: "a", tokens: 100, grants: [{ path, wants: "read" }] },
          "me",
        );
      }
    });
    await expect.poll(async () => (await runs.runs.get(id)).tokensMost).toBe(1_400);
    expect((await runs.runs.port(id, "a")).grants.map(({ path }) => path)).toEqual([
      "src/x.ts",
      "src/y.ts",
      "src/z.ts",
    ]);

    gates.get("b")!({
      status: "failed",
      because: { code: "RUN_TOKENS_EXHAUSTED", message: "nothing left" },
    });
    await expect.poll(() => statuses(runs, id)).toBe("a running, b failed");
    gates.delete("b");
    await runs.runs.commands.order(id, { type: "extend", tokens: 500 }, { by: "me" });
    await expect.poll(() => gates.has("b")).toBe(true);
    for (const gate of gates.values()) gate(done);
    expect(await ended(runs, id)).toMatchObject({ status: "success", tokensMost: 1_900 });
  },
);

test("a run without its leader goes on elsewhere; what has succeeded is not built again", async () => {
  const first = await open({
    build: async (_run, port, { signal }) =>
      port.id === "a"
        ? done
        : new Promise((_, reject) =>
            signal.addEventListener("abort", () => reject(signal.reason as Error)),
          ),
  });
  const { id } = await first.runs.run({
    plan: planOf({ a: "", b: "a", c: "b" }),
    repository: "/r",
    by: "me",
  });
  await expect.poll(() => statuses(first, id)).toBe("a succeeded, b running, c waiting");
  const built: string[] = [];
  await using second = await startTestRuns({
    url: first.url,
    build: async (_run, port) => (built.push(port.id), done),
  });

  await first.runs.stop();
  const run = await ended(second, id);

  expect(run.status).toBe("success");
  expect(built).toEqual(["b", "c"]);
  expect((await second.runs.port(id, "b")).attempt).toBe(2);
});

test("a run of another machine is left alone", async () => {
  const first = await open({ build: async () => done, host: "host-1" });
  await first.runs.stop();
  await using second = await startTestRuns({
    url: first.url,
    host: "host-2",
    build: async () => done,
  });
  const { id } = await first.runs.run(
    { plan: planOf({ a: "" }), repository: "/r", by: "me" },
    { signal: new AbortController().signal },
  );
  const own = await second.runs.run({ plan: planOf({ a: "" }), repository: "/r", by: "me" });

  await ended(second, own.id);

  expect((await second.runs.get(id)).status).toBe("running");
  expect(await statuses(second, id)).toBe("a waiting");
});

test(
  "a run whose machine is gone asks the operator, and goes on when the machine is back",
  FULL,
  async () => {
    const never = (
      _run: unknown,
      _port: unknown,
      { signal }: { signal: AbortSignal },
    ): Promise<PortOutcome> =>
      new Promise((_, reject) =>
        signal.addEventListener("abort", () => reject(signal.reason as Error)),
      );
    const first = await open({ build: never, host: "host-1", runsOptions: { hostGoneMs: 1_000 } });
    const { id } = await first.runs.run({ plan: planOf({ a: "" }), repository: "/r", by: "me" });
    await expect.poll(() => statuses(first, id)).toBe("a running");
    await first.runs.stop();
    await using elsewhere = await startTestRuns({
      url: first.url,
      host: "host-2",
      build: async () => done,
      runsOptions: { hostGoneMs: 1_000 },
    });

    await expect
      .poll(async () => (await elsewhere.runs.get(id)).status, { timeout: 15_000 })
      .toBe("waiting_host");
    const { items } = await elsewhere.inbox.list({ tenant: "", run: id });
    await using back = await startTestRuns({
      url: first.url,
      host: "host-1",
      build: async () => done,
      runsOptions: { hostGoneMs: 1_000 },
    });
    const run = await ended(back, id);

    expect(items).toMatchObject([
      { type: "blocked", severity: "critical", title: expect.stringContaining("machine") },
    ]);
    expect(run.status).toBe("success");
  },
);

test("the same key gives the same run, and is refused for another one", async () => {
  const runs = await open({ build: async () => done });
  const request = { plan: planOf({ a: "" }), repository: "/r", by: "me", key: "once" };

  const [one, two] = await Promise.all([runs.runs.run(request), runs.runs.run(request)]);

  expect(two.id).toBe(one.id);
  await expect(runs.runs.run({ ...request, repository: "/other" })).rejects.toMatchObject({
    code: "IDEMPOTENCY_KEY_REUSED",
  });
});

test("an answer to an escalation is an order: another try with what the person said", async () => {
  let isMended = false;
  const runs = await open({
    build: async (run, port) => {
      if (isMended) return done;
      return {
        ...broken,
        escalation: escalationFor("tries-exhausted", {
          tenant: "",
          run: run.id,
          plan: run.plan.name,
          port: port.id,
          title: "a: three tries failed",
        }),
      };
    },
  });
  const id = await begin(runs, { a: "" });
  expect((await ended(runs, id)).status).toBe("failed");
  const {
    items: [escalation],
  } = await runs.inbox.list({ tenant: "", run: id, type: "test_failure" });
  isMended = true;

  await runs.inbox.answer(
    escalation!.id,
    { value: "retry", note: "mind the time zone" },
    { tenant: "", name: "민준" },
  );
  await ended(runs, id, ["success"]);

  expect(await runs.runs.port(id, "a")).toMatchObject({
    status: "succeeded",
    hint: "mind the time zone",
    triesPair: 4,
  });
});

test(
  "a fault of dure in a port fails that port with its words, and the others go on",
  FULL,
  async () => {
    const runs = await open({
      build: async (_run, port) => {
        if (port.id === "a") throw new Error("the shelf fell down");
        return done;
      },
    });
    const id = await begin(runs, { a: "", b: "" });

    const run = await ended(runs, id);

    expect(run.status).toBe("partial");
    expect(run.report!.missing).toEqual([
      { port: "a", because: expect.objectContaining({ message: "the shelf fell down" }) },
    ]);
  },
);

/** Ends with the abort of its signal alone. */
const untilAborted = (signal: AbortSignal): Promise<never> =>
  new Promise((_, reject) =>
    signal.addEventListener("abort", () => reject(signal.reason as Error)),
  );

test("a fault of dure that passes is met by beginning the port again", FULL, async () => {
  let faults = 0;
  const runs = await open({
    build: async () => {
      if (++faults < 3) throw new Error("the shelf fell down");
      return done;
    },
  });
  const id = await begin(runs, { a: "" });

  expect((await ended(runs, id)).status).toBe("success");
});

test("while contracts are written a pause counts for the ports, and cancel ends it soon", async () => {
  let writing = Promise.withResolvers<void>();
  let aborted = 0;
  const runs = await open({
    build: async () => done,
    work: {
      prepare: async (_run, { signal }) => {
        signal.addEventListener("abort", () => aborted++);
        await Promise.race([writing.promise, untilAborted(signal)]);
        return { maxConcurrency: 1 };
      },
    },
  });
  const first = await runs.runs.run({ plan: planOf({ a: "" }), repository: "/r", by: "me" });
  expect(await runs.runs.commands.order(first.id, { type: "pause" }, { by: "me" })).toEqual({
    carriedOut: true,
  });
  await expect(
    runs.runs.commands.order(first.id, { type: "pause" }, { by: "me" }),
  ).rejects.toMatchObject({
    message: "The run is paused already.",
  });
  writing.resolve();
  await expect.poll(async () => (await runs.runs.get(first.id)).phase).toBe("building");
  expect(await statuses(runs, first.id)).toBe("a ready");
  await runs.runs.commands.order(first.id, { type: "resume" }, { by: "me" });
  expect((await ended(runs, first.id)).status).toBe("success");

  writing = Promise.withResolvers();
  const second = await runs.runs.run({
    plan: planOf({ a: "", b: "a" }),
    repository: "/r",
    by: "me",
  });
  const asked = performance.now();
  expect(await runs.runs.commands.order(second.id, { type: "cancel" }, { by: "me" })).toEqual({
    carriedOut: true,
  });

  expect(performance.now() - asked).toBeLessThan(boundMs(2_000));
  expect(aborted).toBeGreaterThan(0);
  expect(await runs.runs.get(second.id)).toMatchObject({
    status: "cancelled",
    phase: "over",
    report: {
      kept: [],
      missing: [{ port: "a", because: { code: "RUN_CANCELLED" } }, { port: "b" }],
    },
  });
  expect(await statuses(runs, second.id)).toBe("a cancelled, b cancelled");
});

test("cancel is heard while the merged tree is tried; what the ports have made stays theirs", async () => {
  const runs = await open({
    build: async () => done,
    work: { merge: (_run, _ports, { signal }) => untilAborted(signal) },
  });
  const id = await begin(runs, { a: "", b: "a" });
  await expect.poll(async () => (await runs.runs.get(id)).phase).toBe("merging");

  expect(await runs.runs.commands.order(id, { type: "cancel" }, { by: "me" })).toEqual({
    carriedOut: true,
  });

  expect(await runs.runs.get(id)).toMatchObject({
    status: "cancelled",
    report: { kept: ["a", "b"], missing: [] },
  });
  expect(await statuses(runs, id)).toBe("a succeeded, b succeeded");
});

test(
  "what cannot be merged is kept as it is, and the operator's answer merges it again",
  FULL,
  async () => {
    let isBroken = true;
    const untried: string[] = [];
    const runs = await open({
      build: async () => done,
      work: {
        merge: async (_run, ports, options) => {
          const report = {
            commit: "merged",
            branch: "dure/test",
            kept: ports.map(({ id }) => id),
            missing: [],
            conflicts: [],
          };
          if (options.untried) {
            return (
              untried.push(options.untried.code), { report, dropped: [], because: options.untried }
            );
          }
          if (isBroken) {
            throw Object.assign(new Error("no space left on device"), { code: "ENOSPC" });
          }
          return { report, dropped: [] };
        },
      },
    });
    const id = await begin(runs, { a: "", b: "" });
    const partial = await ended(runs, id);
    const {
      items: [asked],
    } = await runs.inbox.list({ tenant: "", run: id, status: "open" });

    expect(untried).toEqual(["ENOSPC"]);
    expect(partial).toMatchObject({
      status: "partial",
      because: { code: "ENOSPC" },
      report: { commit: "merged", branch: "dure/test", kept: ["a", "b"], missing: [] },
    });
    expect(asked).toMatchObject({
      type: "general",
      source: { run: id },
      suggestedActions: [{ value: "retry" }, { value: "known" }],
    });

    isBroken = false;
    await runs.inbox.answer(asked!.id, { value: "retry" }, { tenant: "", name: "민준" });

    expect(await ended(runs, id, ["success"])).toMatchObject({
      because: null,
      report: { kept: ["a", "b"] },
    });
    await expect(
      runs.runs.commands.order(id, { type: "again" }, { by: "me" }),
    ).rejects.toMatchObject({
      message: "The run has succeeded.",
    });
  },
);

test("an order to an ended run that cannot be prepared any more is refused and changes nothing", async () => {
  let isThere = true;
  const runs = await open({
    build: async (_run, port) => (port.id === "b" ? broken : done),
    work: {
      prepare: async () =>
        isThere
          ? { maxConcurrency: 1 }
          : {
              failed: {
                code: "ISOLATION_UNAVAILABLE",
                message: "Nothing keeps workers apart here.",
              },
            },
    },
  });
  const id = await begin(runs, { a: "", b: "" });
  const before = await ended(runs, id);
  isThere = false;

  await expect(
    runs.runs.commands.order(id, { type: "retry", port: "b" }, { by: "me" }),
  ).rejects.toMatchObject({
    code: "RUN_ORDER_REFUSED",
    message: "Nothing keeps workers apart here.",
  });

  expect(await runs.runs.get(id)).toMatchObject({
    status: "partial",
    report: before.report!,
    because: null,
  });
  expect((await eventsOf(runs, id)).at(-1)).toMatchObject({
    type: "run.refused",
    data: { order: "retry", port: "b", by: "me", code: "ISOLATION_UNAVAILABLE" },
  });
});

test("a run that could not be prepared takes no order but the one to begin again", async () => {
  let isThere = false;
  const runs = await open({
    build: async () => done,
    work: {
      prepare: async () =>
        isThere
          ? { maxConcurrency: 1 }
          : {
              failed: {
                code: "ISOLATION_UNAVAILABLE",
                message: "Nothing keeps workers apart here.",
              },
            },
    },
  });
  const id = await begin(runs, { a: "" });
  expect(await ended(runs, id)).toMatchObject({
    status: "failed",
    report: { missing: [{ port: "a", because: { code: "ISOLATION_UNAVAILABLE" } }] },
  });
  isThere = true;

  await expect(
    runs.runs.commands.order(id, { type: "cancel" }, { by: "me" }),
  ).rejects.toMatchObject({
    message: "The run has ended.",
  });
  await runs.runs.commands.order(id, { type: "again" }, { by: "me" });

  expect(await ended(runs, id, ["success"])).toMatchObject({
    because: null,
    report: { kept: ["a"] },
  });
});

test(
  "a paused run whose machine went away is paused when it is back, and its question closed",
  FULL,
  async () => {
    const first = await open({
      build: (_run, _port, { signal }) => untilAborted(signal),
      host: "host-1",
      runsOptions: { hostGoneMs: 1_000 },
    });
    const { id } = await first.runs.run({ plan: planOf({ a: "" }), repository: "/r", by: "me" });
    await expect.poll(() => statuses(first, id)).toBe("a running");
    await first.runs.commands.order(id, { type: "pause" }, { by: "me" });
    await first.runs.stop();
    await using elsewhere = await startTestRuns({
      url: first.url,
      host: "host-2",
      build: async () => done,
      runsOptions: { hostGoneMs: 1_000 },
    });
    await expect
      .poll(async () => (await elsewhere.runs.get(id)).status, { timeout: 15_000 })
      .toBe("waiting_host");

    await using back = await startTestRuns({
      url: first.url,
      host: "host-1",
      build: async () => done,
      runsOptions: { hostGoneMs: 1_000 },
    });
    await expect
      .poll(async () => (await back.runs.get(id)).status, { timeout: 15_000 })
      .toBe("paused");

    expect((await back.inbox.list({ tenant: "", run: id })).items).toMatchObject([
      { type: "blocked", status: "resolved", resolvedBy: "system" },
    ]);
    await expect.poll(() => statuses(back, id), { timeout: 15_000 }).toBe("a ready"); // its new leader says so
    await back.runs.commands.order(id, { type: "resume" }, { by: "me" });
    expect((await ended(back, id)).status).toBe("success");
  },
);

test("questions are closed when the port succeeds after all, and what waited for it goes on", async () => {
  let isMended = false;
  const runs = await open({
    build: async (run, port) => {
      const asked = escalationFor("tries-exhausted", {
        tenant: "",
        run: run.id,
        plan: run.plan.name,
        port: port.id,
        title: "…",
      });
      return isMended || port.id === "e" ? done : { ...broken, escalation: asked };
    },
  });
  const id = await begin(runs, { a: "", b: "", c: "a", d: "b", e: "" });
  await ended(runs, id, ["partial"]);
  const stillOpen = async (): Promise<string[]> =>
    (await runs.inbox.list({ tenant: "", run: id, status: "open" })).items
      .map(({ type, source }) => `${type} ${source.port}`)
      .toSorted();
  expect(await stillOpen()).toEqual(["test_failure a", "test_failure b"]);

  isMended = true;
  await runs.runs.commands.order(id, { type: "retry", port: "a" }, { by: "me" });
  await ended(runs, id, ["partial"]);
  await expect
    .poll(() => statuses(runs, id))
    .toBe("a succeeded, b failed, c succeeded, d blocked, e succeeded");
  expect(await stillOpen()).toEqual(["test_failure b"]);
  await runs.runs.commands.order(id, { type: "retry", port: "b" }, { by: "me" });
  await ended(runs, id, ["success"]);

  const { items } = await runs.inbox.list({ tenant: "", run: id });
  expect(items.map(({ status, resolvedBy }) => `${status} by ${resolvedBy}`)).toEqual(
    Array.from({ length: 4 }, () => "resolved by system"),
  );
});

/** Fails, and asks what is to become of it. */
const asking: TestRunsOptions["build"] = async (run, port) => {
  const about = { tenant: "", run: run.id, plan: run.plan.name, port: port.id, title: "…" };

  return { ...broken, escalation: escalationFor("tries-exhausted", about) };
};

const openOf = async ({ inbox }: TestRuns, run: string): Promise<readonly string[]> =>
  (await inbox.list({ tenant: "", run, status: "open" })).items
    .map(({ context, source }) => `${String(context["trigger"])} ${source.port}`)
    .toSorted();

const askForPath = ({ database, inbox }: TestRuns, run: string): Promise<unknown> => {
  const about = { tenant: "", run, plan: "test", port: "a", title: "…", key: "src/x.ts" };

  return database.transaction((tx) => inbox.raise(tx, [escalationFor("access-asked", about)]));
};

test("a run closes its questions in the transaction that ends it, also when that dies", async () => {
  const gate = Promise.withResolvers<void>();
  const runs = await open({ build: async (...all) => (await gate.promise, asking(...all)) });
  const id = await begin(runs, { a: "" });
  await askForPath(runs, id);
  await runs.database.query({
    text: `create sequence deaths;
      create function die() returns trigger language plpgsql as $$ begin
        perform nextval('deaths'), pg_terminate_backend(pg_backend_pid());
        return new;
      end $$;
      create trigger die before insert on dure.events for each row
        when (new.type = 'run.end') execute function die();`,
  });

  gate.resolve();
  const deaths = { name: "test.deaths", text: "select 1 from deaths where is_called" };
  await expect.poll(() => runs.database.query(deaths), { timeout: 20_000 }).toHaveLength(1);
  const between = [(await runs.runs.get(id)).status, await openOf(runs, id)];
  await runs.database.query({ name: "test.live", text: "drop trigger die on dure.events" });
  await ended(runs, id);

  expect(between).toEqual(["running", ["access-asked a", "tries-exhausted a"]]);
  // What goes on with the run is still asked.
  expect(await openOf(runs, id)).toEqual(["access-asked a", "tries-exhausted a"]);
});

test.each(["success", "cancelled"])("a run that ends as %s leaves no question", async (outcome) => {
  const { build, gates } = gated();
  const runs = await open({ build });
  const id = await begin(runs, { a: "" });
  await expect.poll(() => gates.has("a")).toBe(true);
  await askForPath(runs, id);

  if (outcome === "success") gates.get("a")!();
  else await runs.runs.commands.order(id, { type: "cancel" }, { by: "me" });

  await ended(runs, id, [outcome]);
  expect(await openOf(runs, id)).toEqual([]);
});

test("a run that succeeds closes what earlier runs of its plan still ask of its ports", async () => {
  let isMended = false;
  const runs = await open({ build: async (...all) => (isMended ? done : asking(...all)) });
  const one = await begin(runs, { a: "", b: "" });
  const other = (await runs.runs.run({ plan: planOf({ a: "" }), repository: "/other", by: "me" }))
    .id;
  await ended(runs, one);
  await ended(runs, other);

  isMended = true;
  await ended(runs, await begin(runs, { a: "" }), ["success"]);

  expect(await openOf(runs, one)).toEqual(["tries-exhausted b"]);
  expect(await openOf(runs, other)).toEqual(["tries-exhausted a"]);
});

test("a failure that ended its try gives another one with whatever lets the port go on", async () => {
  const runs = await open({
    build: async (_run, port) =>
      port.triesPair > 3
        ? done
        : { status: "failed", because: { code: "OWNERSHIP_VIOLATED", message: "…" } },
  });
  const id = await begin(runs, { a: "" });
  await ended(runs, id);

  await expect(
    runs.runs.commands.order(
      id,
      { type: "retry", port: "a", grant: { path: "../x", wants: "own" } },
      { by: "me" },
    ),
  ).rejects.toMatchObject({ code: "PATH_INVALID" });
  await runs.runs.commands.order(
    id,
    { type: "retry", port: "a", grants: [{ path: "src/x.ts", wants: "own" }] },
    { by: "me" },
  );

  expect((await ended(runs, id, ["success"])).ports[0]).toMatchObject({
    triesPair: 4,
    grants: [{ path: "src/x.ts", wants: "own", by: "operator" }],
  });
});

test("two runs of one machine have TCP ports of their own, and give them back", async () => {
  const gate = Promise.withResolvers<void>();
  const runs = await open({ build: async () => (await gate.promise, done) });
  const ids = (
    await Promise.all(
      ["a", "b"].map((id) =>
        runs.runs.run({ plan: planOf({ [id]: "" }), repository: "/r", by: "me" }),
      ),
    )
  ).map(({ id }) => id);
  const slots = (): Promise<(number | null)[]> =>
    Promise.all(ids.map(async (id) => (await runs.runs.get(id)).listenSlot));
  await expect
    .poll(async () => (await slots()).toSorted((one, other) => (one ?? -1) - (other ?? -1)))
    .toEqual([0, 1]);

  gate.resolve();

  await expect.poll(slots).toEqual([null, null]);
});

test(
  "files of old runs go by themselves: twenty an hour, the oldest first, and none is passed over",
  { ...FULL, timeout: 60_000 },
  async () => {
    let hour = (): void => {};
    const removed: string[] = [];
    const clock: Clock = {
      ...systemClock,
      after: (ms, work) =>
        ms === 3_600_000 ? ((hour = work), () => {}) : systemClock.after(ms, work),
    };
    const keeps = new Set<string>();
    const runs = await open({
      build: async () => done,
      runsOptions: { clock },
      work: {
        whyKept: async ({ id }) =>
          keeps.has(id) ? { code: "RUN_UNMERGED", message: "It is on no branch." } : undefined,
        remove: async ({ id }) => void removed.push(id),
      },
    });
    const ids: string[] = [];
    for (let count = 0; count < 23; count++) {
      ids.push((await runs.runs.run({ plan: planOf({ a: "" }), repository: "/r", by: "me" })).id);
    }
    for (const id of ids) await ended(runs, id);
    await expect.poll(() => runs.runs.leading, { timeout: 20_000 }).toBe(0);
    keeps.add(ids[0]!);
    await runs.database.query(
      { text: "update dure.plan_runs set finished_at = clock_timestamp() - interval '91 days'" },
      [],
    );

    hour();
    await expect.poll(() => removed.length, { timeout: 20_000 }).toBe(19);
    await expect
      .poll(async () => (await runs.runs.get(ids[19]!)).cleanedAt !== null, { timeout: 20_000 })
      .toBe(true);
    expect(removed).toEqual(ids.slice(1, 20));
    await expect.poll(() => (hour(), removed.length), { timeout: 20_000 }).toBe(22);
    expect(removed.slice(19)).toEqual(ids.slice(20));
    expect((await runs.runs.get(ids[0]!)).cleanedAt).toBeNull();
  },
);

test("two thousand ports are written in batches", { ...FULL, timeout: 120_000 }, async () => {
  const runs = await open({ build: async () => done, maxConcurrency: 100 });
  const plan = planOf({ seed: "" });
  const ports = Array.from({ length: 2_000 }, (_, index) => ({
    ...plan.ports[0]!,
    id: `p${index}`,
    dependsOn: index < 100 ? [] : [`p${index - 100}`],
  }));
  const before = runs.database.statements;

  const { id } = await runs.runs.run({ plan: { ...plan, ports }, repository: "/r", by: "me" });
  const run = await ended(runs, id);

  expect(run.status).toBe("success");
  expect(run.report!.kept).toHaveLength(2_000);
  expect(runs.database.statements - before).toBeLessThan(2_000 * 2);
});

test("a run that may not have its repository any more is stopped before anything is read", async () => {
  const held = gated();
  const first = await open({ build: held.build });
  const id = await begin(first, { a: "", b: "a" });
  await expect.poll(() => held.gates.has("a")).toBe(true);
  await first.runs.stop();

  const touched: string[] = [];
  const because = { code: "REPOSITORY_UNKNOWN", message: "It is not known.", hint: "Name it." };
  await using second = await startTestRuns({
    url: first.url,
    build: async () => done,
    work: {
      clear: async () => void touched.push("clear"),
      prepare: async () => (touched.push("prepare"), { maxConcurrency: 1 }),
    },
    runsOptions: { whyRefused: async (run) => (run.id === id ? because : undefined) },
  });
  const run = await ended(second, id);

  expect(run).toMatchObject({
    status: "failed",
    phase: "over",
    because,
    report: {
      kept: [],
      missing: [
        { port: "a", because },
        { port: "b", because },
      ],
    },
  });
  expect(touched).toEqual(["clear"]);
  await expect(
    second.runs.commands.order(id, { type: "again" }, { by: "me" }),
  ).rejects.toMatchObject({ code: "RUN_ORDER_REFUSED", message: because.message });
  expect(touched).not.toContain("prepare");
});
