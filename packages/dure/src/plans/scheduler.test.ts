import { FULL } from "../kernel/test-tiers.ts";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { buildGraph, type PortNode } from "./graph.ts";
import { blockReasons, decide, openRun } from "./scheduler.ts";
import {
  portState,
  type SchedulerAction,
  type SchedulerDecision,
  type SchedulerEvent,
} from "./schedule-state.ts";
import { emptyQueue, numbered, putIn, setAt, takeFirst } from "./scheduler-parts.ts";
import { isRunOver, type PortStatus } from "../kernel/plans.ts";

const isLong = process.env["DURE_TEST_LONG"] === "1";

/** `{ b: "a" }`: b needs a. */
function ports(needs: Readonly<Record<string, string>>): PortNode[] {
  return Object.entries(needs).map(([id, names]) => ({
    id,
    dependsOn: names.split(" ").filter(Boolean),
  }));
}

/**
 * A run that is told in words: `a ok`, `a bad`, `a stopped`, `retry a`, `pause`. Answers what is
 * done, in words.
 */
class ToldRun {
  last: SchedulerDecision;

  constructor(needs: Readonly<Record<string, string>>, maxConcurrency = 3) {
    this.last = openRun({ graph: buildGraph(ports(needs)), maxConcurrency });
  }

  tell(words: string): string[] {
    this.last = decide(this.last.state, eventOf(words, this.last));
    return this.said();
  }

  said(): string[] {
    return this.last.refused
      ? [`refused: ${this.last.refused}`]
      : this.last.actions.filter(({ type }) => type !== "ready").map(said);
  }

  statuses(): Record<string, PortStatus> {
    return statusesOf(this.last);
  }
}

function eventOf(words: string, { state }: SchedulerDecision): SchedulerEvent {
  const [first = "", second = ""] = words.split(" ");
  if (first === "retry" || first === "skip") return { type: first, port: second };
  if (first === "pause" || first === "resume" || first === "cancel") return { type: first };
  const type = ({ ok: "succeeded", bad: "failed", stopped: "stopped" } as const)[second]!;
  return { type, port: first, attempt: portState(state, first).attempt };
}

function said(action: SchedulerAction): string {
  switch (action.type) {
    case "start":
    case "stop":
      return `${action.type} ${action.port}${action.attempt > 1 ? ` #${action.attempt}` : ""}`;
    case "block":
      return `block ${action.port} by ${action.by}`;
    case "end":
      return `end ${action.outcome}: ${action.kept.join(" ")} | ${action.missing.join(" ")}`;
    default:
      return `${action.type} ${action.port}`;
  }
}

function statusesOf({ state }: SchedulerDecision): Record<string, PortStatus> {
  return Object.fromEntries(state.graph.ids.map((id, index) => [id, state.ports.at(index).status]));
}

describe("a run", () => {
  test("starts what nothing waits behind last, never more than its slots, and waits for no level", () => {
    const run = new ToldRun(
      { alone: "", first: "", last: "middle", middle: "first", other: "" },
      2,
    );

    expect(run.said()).toEqual(["start first", "start alone"]);
    expect(run.tell("first ok")).toEqual(["start middle"]);
    expect(run.tell("middle ok")).toEqual(["start last"]);
    expect(run.tell("last ok")).toEqual(["start other"]);
    expect(run.tell("alone ok")).toEqual([]);
    expect(run.tell("other ok")).toEqual(["end success: alone first last middle other | "]);
  });

  test("blocks what needs a failed port, keeps the rest, and ends in part", () => {
    const run = new ToldRun({ a: "", b: "a", c: "b", d: "" });

    expect(run.tell("a bad")).toEqual(["block b by a", "block c by a"]);
    expect(run.tell("d ok")).toEqual(["end partial: d | a b c"]);
    expect(blockReasons(run.last.state)).toEqual(
      new Map([
        ["b", ["a"]],
        ["c", ["a"]],
      ]),
    );
  });

  test("ends failed when nothing is kept", () => {
    expect(new ToldRun({ a: "", b: "a" }).tell("a bad")).toEqual([
      "block b by a",
      "end failed:  | a b",
    ]);
  });

  test("retries a failed port, also after the end, and unblocks its dependents when it succeeds", () => {
    const run = new ToldRun({ a: "", b: "a", c: "b", d: "" });
    run.tell("a bad");
    run.tell("d ok");

    expect(run.tell("retry b")).toEqual(["refused: port-blocked"]);
    expect(run.tell("retry d")).toEqual(["refused: port-not-failed"]);
    expect(run.tell("retry a")).toEqual(["start a #2"]);
    expect(run.statuses()).toEqual({ a: "running", b: "blocked", c: "blocked", d: "succeeded" });
    expect(run.tell("a bad")).toEqual(["end partial: d | a b c"]);
    run.tell("retry a");
    expect(run.tell("a ok")).toEqual(["unblock b", "unblock c", "start b"]);
    run.tell("b ok");
    expect(run.tell("c ok")).toEqual(["end success: a b c d | "]);
    expect(run.tell("retry a")).toEqual(["refused: port-not-failed"]);
  });

  test("goes on without a port that waits for a slot, and takes it up again once when it is retried", () => {
    const run = new ToldRun({ a: "", b: "", c: "", d: "c" }, 1);
    expect(run.tell("skip d")).toEqual(["refused: port-not-ready"]);
    expect(run.tell("skip a")).toEqual([]); // c runs first: d waits behind it
    expect(run.statuses()).toEqual({ a: "failed", b: "ready", c: "running", d: "waiting" });

    expect(run.tell("retry a")).toEqual([]);
    expect(run.tell("c ok")).toEqual(["start a"]);
    expect(run.tell("a ok")).toEqual(["start b"]);
    expect(run.tell("b ok")).toEqual(["start d"]);
    expect(run.tell("d ok")).toEqual(["end success: a b c d | "]);
  });

  test("keeps a port blocked as long as another one that it needs has failed", () => {
    const run = new ToldRun({ a: "", b: "", c: "a b", d: "c" });
    run.tell("a bad");
    expect(run.tell("b bad")).toEqual(["end failed:  | a b c d"]);
    run.tell("retry a");

    expect(run.tell("a ok")).toEqual(["end partial: a | b c d"]);
    expect(blockReasons(run.last.state)).toEqual(
      new Map([
        ["c", ["b"]],
        ["d", ["b"]],
      ]),
    );
    run.tell("retry b");
    expect(run.tell("b ok")).toEqual(["unblock c", "unblock d", "start c"]);
  });

  test("starts nothing while it is paused, and goes on where it stood", () => {
    const run = new ToldRun({ a: "", b: "a", c: "" }, 1);

    expect(run.tell("pause")).toEqual([]);
    expect(run.tell("pause")).toEqual(["refused: already-paused"]);
    expect(run.tell("a ok")).toEqual([]);
    expect(run.last.state.status).toBe("paused");
    expect(run.tell("resume")).toEqual(["start b"]);
    expect(run.tell("resume")).toEqual(["refused: not-paused"]);
  });

  test("ends also while it is paused, when nothing is left to do", () => {
    const run = new ToldRun({ a: "" });
    run.tell("pause");

    expect(run.tell("a ok")).toEqual(["end success: a | "]);
    expect(run.tell("pause")).toEqual(["refused: run-over"]);
  });

  test("stops what runs when it is cancelled, drops what waits, and keeps what succeeds all the same", () => {
    const run = new ToldRun({ a: "", b: "", c: "a", bad: "", x: "bad" });
    run.tell("bad bad");

    expect(run.tell("cancel")).toEqual(["drop c", "stop a", "stop b"]);
    expect(run.tell("cancel")).toEqual(["refused: already-cancelling"]);
    expect(run.tell("retry bad")).toEqual(["refused: run-cancelled"]);
    expect(run.tell("a ok")).toEqual([]);
    expect(run.tell("b stopped")).toEqual(["end cancelled: a | b c bad x"]);
    expect(run.statuses()).toEqual({
      a: "succeeded",
      b: "cancelled",
      c: "cancelled",
      bad: "failed",
      x: "blocked",
    });
    expect(run.tell("retry bad")).toEqual(["refused: run-cancelled"]);
  });

  test("drops what a retry unblocks after it was cancelled", () => {
    const run = new ToldRun({ a: "", b: "a", c: "" });
    run.tell("a bad");
    run.tell("retry a");

    expect(run.tell("cancel")).toEqual(["stop a #2", "stop c"]);
    expect(run.tell("a ok")).toEqual(["unblock b", "drop b"]);
    expect(run.tell("c stopped")).toEqual(["end cancelled: a | b c"]);
  });

  test("hears no report of an earlier start, and no second one", () => {
    const run = new ToldRun({ a: "" });
    run.tell("a bad");
    run.tell("retry a");
    const { state } = run.last;

    expect(decide(state, { type: "succeeded", port: "a", attempt: 1 })).toEqual({
      state,
      actions: [],
      refused: "stale-report",
    });
    expect(decide(state, { type: "stopped", port: "a", attempt: 2 }).refused).toBe(
      "not-cancelling",
    );
    run.tell("a ok");
    expect(run.tell("a bad")).toEqual(["refused: stale-report"]);
    expect(() => run.tell("nobody ok")).toThrow("The plan has no port nobody.");
  });

  test("goes on after the death of its process: what is finished is not redone, what ran starts anew", () => {
    const graph = buildGraph(ports({ a: "", b: "a", c: "a", bad: "", x: "bad", y: "c" }));
    const resumed = openRun({
      graph,
      maxConcurrency: 2,
      records: [
        { id: "a", status: "succeeded", attempt: 1 },
        { id: "b", status: "running", attempt: 2 },
        { id: "bad", status: "failed", attempt: 3 },
        { id: "x", status: "blocked", attempt: 0 },
      ],
    });

    expect(resumed.actions.map(said)).toEqual([
      "block x by bad",
      "ready b",
      "ready c",
      "start c",
      "start b #3",
    ]);
    expect(statusesOf(resumed)).toEqual({
      a: "succeeded",
      b: "running",
      c: "running",
      bad: "failed",
      x: "blocked",
      y: "waiting",
    });
    expect(openRun({ graph, maxConcurrency: 2, status: "paused" }).actions.map(said)).toEqual([
      "ready a",
      "ready bad",
    ]);
    expect(
      openRun({
        graph,
        maxConcurrency: 2,
        status: "cancelling",
        records: [{ id: "a", status: "succeeded", attempt: 1 }],
      })
        .actions.map(said)
        .at(-1),
    ).toBe("end cancelled: a | b c bad x y");
  });

  test("of no ports is a success, and of no slots is refused", () => {
    expect(openRun({ graph: buildGraph([]), maxConcurrency: 1 }).actions.map(said)).toEqual([
      "end success:  | ",
    ]);
    expect(() => openRun({ graph: buildGraph([]), maxConcurrency: 0 })).toThrow(
      "0 ports cannot work at the same time.",
    );
  });
});

test("a changed list leaves the old one as it was", () => {
  const old = numbered(Array.from({ length: 300 }, (_, index) => index));
  const next = setAt(old, 200, -1);

  expect([old.at(200), next.at(200), next.at(199), next.at(299)]).toEqual([200, -1, 199, 299]);
});

test("a queue gives what comes first, whatever the order it was put in", () => {
  fc.assert(
    fc.property(fc.array(fc.integer()), (values) => {
      const isBefore = (a: number, b: number): boolean => a < b;
      let queue = values.reduce((built, value) => putIn(built, value, isBefore), emptyQueue);
      const taken: number[] = [];
      for (let step = takeFirst(queue, isBefore); step; step = takeFirst(queue, isBefore)) {
        taken.push(step.first);
        queue = step.rest;
      }

      expect(taken).toEqual(values.toSorted((a, b) => a - b));
    }),
  );
});

/**
 * The same rules said in another way: everything is worked out anew from who has succeeded and who
 * has failed, by walking over all ports, with nothing counted along.
 */
class ReferenceRun {
  readonly needs: readonly (readonly number[])[];
  readonly slots: number;
  readonly running = new Set<number>();
  readonly succeeded = new Set<number>();
  readonly held = new Set<number>();
  readonly failed = new Set<number>();
  /** Failed once, and not succeeded since. */
  readonly unhealed = new Set<number>();
  readonly stopped = new Set<number>();
  readonly attempts: number[];
  isPaused = false;
  isCancelled = false;
  isOver = false;

  constructor(needs: readonly (readonly number[])[], slots: number) {
    this.needs = needs;
    this.slots = slots;
    this.attempts = needs.map(() => 0);
  }

  status(port: number): PortStatus {
    if (this.running.has(port)) return "running";
    if (this.succeeded.has(port)) return "succeeded";
    if (this.held.has(port)) return "held";
    if (this.failed.has(port)) return "failed";
    if (this.stopped.has(port)) return "cancelled";
    if (!this.unhealed.has(port) && this.hasBrokenNeed(port)) return "blocked";
    if (this.isCancelled) return "cancelled";
    return this.hasAllNeeds(port) ? "ready" : "waiting";
  }

  hasBrokenNeed(port: number): boolean {
    return this.needs[port]!.some(
      (needed) => this.unhealed.has(needed) || this.status(needed) === "blocked",
    );
  }

  hasAllNeeds(port: number): boolean {
    return this.needs[port]!.every((needed) => this.succeeded.has(needed));
  }

  /** Work behind a port: the longest chain that begins with it. */
  behind(port: number): number {
    return (
      1 +
      Math.max(
        0,
        ...this.needs.map((needed, other) => (needed.includes(port) ? this.behind(other) : 0)),
      )
    );
  }

  all(status: PortStatus): number[] {
    return this.needs.flatMap((_needed, port) => (this.status(port) === status ? [port] : []));
  }

  /** Ports that start now, in their order. */
  start(): number[] {
    const queue =
      this.isPaused || this.isCancelled
        ? []
        : this.all("ready").sort((a, b) => this.behind(b) - this.behind(a) || a - b);
    const started = queue.slice(0, Math.max(0, this.slots - this.running.size));
    for (const port of started) {
      this.running.add(port);
      this.attempts[port]!++;
    }
    this.isOver = this.running.size + this.all("ready").length + this.held.size === 0;
    if (this.isOver) this.isPaused = false; // who retries later wants it to start
    return started;
  }

  outcome(): string {
    if (this.succeeded.size === this.needs.length) return "success";
    if (this.isCancelled) return "cancelled";
    return this.succeeded.size > 0 ? "partial" : "failed";
  }

  /** Whether the event means something now; if so, it is done. */
  take(event: SchedulerEvent): boolean {
    const port = "port" in event ? Number(event.port.slice(1)) : -1;
    switch (event.type) {
      case "succeeded":
      case "held":
      case "failed":
      case "stopped":
        if (
          !this.running.has(port) ||
          event.attempt !== this.attempts[port] ||
          (event.type === "stopped" && !this.isCancelled)
        ) {
          return false;
        }
        this.running.delete(port);
        if (event.type === "stopped") this.stopped.add(port);
        if (event.type === "succeeded") this.succeeded.add(port);
        if (event.type === "held") (this.isCancelled ? this.stopped : this.held).add(port);
        if (event.type === "succeeded") this.unhealed.delete(port);
        if (event.type === "failed") this.failed.add(port);
        if (event.type === "failed") this.unhealed.add(port);
        return true;
      case "retry":
        return !this.isCancelled && this.hasAllNeeds(port) && this.failed.delete(port);
      case "approve":
        if (!this.held.delete(port)) return false;
        this.succeeded.add(port);
        this.unhealed.delete(port);
        return true;
      case "reopen":
        // What had all succeeded nevertheless was not cancelled.
        if (this.succeeded.size === this.needs.length) this.isCancelled = false;
        if (this.isCancelled || !this.hasAllNeeds(port)) return false;
        return this.held.delete(port) || this.succeeded.delete(port);
      case "skip":
        if (!["ready", "held"].includes(this.status(port))) return false;
        this.held.delete(port);
        this.failed.add(port);
        this.unhealed.add(port);
        return true;
      case "pause":
        if (this.isOver || this.isCancelled || this.isPaused) return false;
        return (this.isPaused = true);
      case "resume":
        if (this.isOver || !this.isPaused) return false;
        this.isPaused = false;
        return true;
      case "cancel":
        if (this.isOver || this.isCancelled) return false;
        for (const dropped of [...this.all("waiting"), ...this.all("ready"), ...this.held]) {
          this.stopped.add(dropped);
        }
        this.held.clear();
        this.isPaused = false;
        return (this.isCancelled = true);
    }
  }
}

/** Needs point to earlier numbers only, which are then shuffled over the plan. */
const anyPlan = fc.integer({ min: 1, max: 12 }).chain((size) =>
  fc.record({
    needs: fc.tuple(
      ...Array.from({ length: size }, (_, index) =>
        index === 0
          ? fc.constant<number[]>([])
          : fc.uniqueArray(fc.integer({ min: 0, max: index - 1 }), { maxLength: 3 }),
      ),
    ),
    places: fc.shuffledSubarray(
      Array.from({ length: size }, (_, index) => index),
      { minLength: size, maxLength: size },
    ),
    slots: fc.integer({ min: 1, max: 4 }),
    events: fc.array(
      fc.record({
        kind: fc.integer({ min: 0, max: 99 }),
        pick: fc.nat(1_000),
        isStale: fc.integer({ min: 0, max: 15 }).map((number) => number === 0),
      }),
      { maxLength: 60 },
    ),
  }),
);

/** Mostly reports of what runs; else what a person does. */
function drawEvent(
  { kind, pick, isStale }: { kind: number; pick: number; isStale: boolean },
  reference: ReferenceRun,
): SchedulerEvent {
  const running = [...reference.running].sort((a, b) => a - b);
  const failed = reference.all("failed");
  const anybody = pick % reference.needs.length;
  const reported =
    running.length > 0 && kind % 10 !== 9 ? running[pick % running.length]! : anybody;
  const attempt = reference.attempts[reported]! - (isStale ? 1 : 0);
  if (kind < 8) return { type: "held", port: `p${reported}`, attempt };
  if (kind < 50) return { type: "succeeded", port: `p${reported}`, attempt };
  if (kind < 70) return { type: "failed", port: `p${reported}`, attempt };
  if (kind < 78) return { type: "stopped", port: `p${reported}`, attempt };
  if (kind < 88) {
    return {
      type: "retry",
      port: `p${failed.length > 0 && kind % 3 !== 0 ? failed[pick % failed.length]! : anybody}`,
    };
  }
  const ready = reference.all("ready");
  if (kind < 90) {
    return {
      type: "skip",
      port: `p${ready.length > 0 && kind % 2 === 0 ? ready[pick % ready.length]! : anybody}`,
    };
  }
  const done = [...reference.held, ...reference.succeeded];
  const port = `p${done.length > 0 ? done[pick % done.length]! : anybody}`;
  if (kind === 90) return { type: "approve", port };
  if (kind === 91) return { type: "reopen", port };
  if (kind < 93) return { type: "pause" };
  return { type: kind < 98 ? "resume" : "cancel" };
}

test(
  "any run of any graph does what the reference does, keeps to its slots, and ends",
  { ...FULL, timeout: 600_000 },
  () => {
    let hits = { blocked: 0, cancelled: 0, retried: 0, over: 0 };
    fc.assert(
      fc.property(anyPlan, ({ needs: drawn, places, slots, events }) => {
        const needs: number[][] = drawn.map(() => []);
        for (const [from, to] of drawn.entries()) {
          needs[places[from]!] = to.map((number) => places[number]!);
        }
        const reference = new ReferenceRun(needs, slots);
        let run = openRun({
          graph: buildGraph(
            needs.map((numbers, index) => ({
              id: `p${index}`,
              dependsOn: numbers.map((number) => `p${number}`),
            })),
          ),
          maxConcurrency: slots,
        });
        const compare = (): void => {
          const started = reference.start();
          const statuses = needs.map((_numbers, port) => reference.status(port));
          expect(
            run.actions.flatMap((action) =>
              action.type === "start" ? [`${action.port}#${action.attempt}`] : [],
            ),
          ).toEqual(started.map((port) => `p${port}#${reference.attempts[port]}`));
          expect(needs.map((_numbers, port) => run.state.ports.at(port).status)).toEqual(statuses);
          for (const status of Object.keys(run.state.counts) as PortStatus[]) {
            expect(run.state.counts[status]).toBe(
              statuses.filter((other) => other === status).length,
            );
          }
          expect(reference.running.size).toBeLessThanOrEqual(slots);
          expect(isRunOver(run.state.status)).toBe(reference.isOver);
          if (reference.isOver) expect(run.state.status).toBe(reference.outcome());
          expect(run.actions.filter(({ type }) => type === "end")).toHaveLength(
            reference.isOver ? 1 : 0,
          );
          hits = {
            ...hits,
            blocked: hits.blocked + Number(statuses.includes("blocked")),
            cancelled: hits.cancelled + Number(statuses.includes("cancelled")),
            over: hits.over + Number(reference.isOver),
          };
        };
        const tell = (event: SchedulerEvent): void => {
          const before = run;
          const snapshot = JSON.stringify(before.state.ports.pieces);
          run = decide(before.state, event);
          expect(JSON.stringify(before.state.ports.pieces)).toBe(snapshot);
          const isHeard = reference.take(event);
          expect(run.refused === undefined).toBe(isHeard);
          if (isHeard && event.type === "retry") hits = { ...hits, retried: hits.retried + 1 };
          if (isHeard) compare();
          else expect(run).toEqual({ state: before.state, actions: [], refused: run.refused });
        };

        compare();
        for (const drawnEvent of events) tell(drawEvent(drawnEvent, reference));
        // Whatever happened, reports of what runs bring the run to its end.
        if (run.state.status === "paused") tell({ type: "resume" });
        for (let reports = 0; !isRunOver(run.state.status); reports++) {
          expect(reports).toBeLessThanOrEqual(needs.length);
          const [port] = reference.running;
          const [held] = reference.held;
          if (port === undefined && held !== undefined) {
            tell({ type: "approve", port: `p${held}` });
            continue;
          }
          tell({
            type: reference.isCancelled ? "stopped" : "succeeded",
            port: `p${port}`,
            attempt: reference.attempts[port!]!,
          });
        }
      }),
      { numRuns: isLong ? 10_000 : 300 },
    );

    expect(
      Math.min(hits.blocked, hits.cancelled, hits.retried, hits.over),
      "the graphs that were drawn never came to one of these",
    ).toBeGreaterThan(0);
  },
);
