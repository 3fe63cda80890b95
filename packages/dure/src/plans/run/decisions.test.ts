import { describe, expect, test } from "vitest";
import { ESCALATION_TYPES } from "../../kernel/escalation.ts";
import { decideMode, modeFacts, type ModeFacts } from "./mode.ts";
import { planOf } from "./test-runs.ts";
import { narrowed } from "./plans.ts";
import { escalationFor, orderOf, tokensTrigger, TRIGGERS, type TriggerName } from "./triggers.ts";
import { decideTry } from "./tries.ts";

describe("who makes the next try", () => {
  test.each([
    [0, 3, 0, "1 of 3 by the pair"],
    [2, 3, 0, "3 of 3 by the pair"],
    [3, 3, 0, "nobody: pair-exhausted"],
    [3, 3, 2, "4 of 5 by the orchestrator"],
    [5, 3, 2, "nobody: all-exhausted"],
    [5, 4, 2, "6 of 6 by the orchestrator"],
    [3, 4, 2, "4 of 6 by the pair"],
  ])("after %i tries, with %i of the pair and %i of the orchestrator: %s", (made, triesPair, triesOrchestrator, said) => {
    const next = decideTry(made, { triesPair, triesOrchestrator });

    expect(next.go ? `${next.number} of ${next.most} by the ${next.by}` : `nobody: ${next.because}`).toBe(said);
  });
});

describe("in one context, in order or side by side", () => {
  const facts: ModeFacts = { files: 12, layers: 3, modules: 3, targets: 2, moduleCycle: [], openContracts: [], parallelEnabled: true };

  test.each<[Partial<ModeFacts>, string, string]>([
    [{}, "parallel", "every condition"],
    [{ files: 4 }, "one-context", "4 files are fewer than 5"],
    [{ files: 4, layers: 5 }, "one-context", "4 files"],
    [{ files: 9 }, "in-order", "at least 10 files change"],
    [{ files: 7, layers: 2, modules: 2 }, "in-order", "between the bounds"],
    [{ modules: 2 }, "in-order", "at least 3 modules in the project"],
    [{ targets: 1 }, "in-order", "at least 2 modules are worked on"],
    [{ moduleCycle: ["a", "b", "a"] }, "in-order", "a → b → a"],
    [{ openContracts: ["src/x.ts"] }, "in-order", "src/x.ts"],
    [{ parallelEnabled: false }, "in-order", "parallel_enabled"],
  ])("%j is %s, because of %s", (change, mode, because) => {
    const decided = decideMode({ ...facts, ...change });

    expect(decided.mode).toBe(mode);
    expect(decided.because).toContain(because);
    expect(decided.conditions).toHaveLength(9);
  });

  test("files are counted at the base: what matches and is there, and listed paths that are not there yet", () => {
    const plan = planOf({ a: "", b: "a" });
    const own = modeFacts({ ...plan, ports: [{ ...plan.ports[0]!, owns: ["a/**", "a/new.ts"] }, plan.ports[1]!] }, ["a/x.ts", "a/y.ts", "b/z.ts", "other.ts"], (port, path) => path.startsWith(`${port.id}/`));

    expect(own.files).toBe(4);
  });
});

describe("what makes a run ask", () => {
  test.each(Object.entries(TRIGGERS))("%s gives a type and actions that the inbox knows", (name, trigger) => {
    const asked = escalationFor(name as TriggerName, { tenant: "", run: "run_1", plan: "login", port: "api", title: "…" });

    expect(ESCALATION_TYPES).toContain(asked.type);
    expect(asked.severity).toBe(trigger.severity);
    expect(asked.suggestedActions.length).toBeGreaterThan(0);
    expect(asked.source).toEqual({ run: "run_1", port: "api" });
  });

  test.each([
    [79, 100, undefined],
    [80, 100, "tokens-80"],
    [94, 100, "tokens-80"],
    [95, 100, "tokens-95"],
    [200, 100, "tokens-95"],
    [200, null, undefined],
  ] as const)("%i of %s tokens: %s", (used, most, trigger) => {
    expect(tokensTrigger(used, most)).toBe(trigger);
  });

  test.each([
    [{ value: "retry", note: "use UTC" }, { type: "retry", port: "api", tries: 1, hint: "use UTC" }],
    [{ value: "more_tokens" }, { type: "retry", port: "api", tokens: 500 }],
    [{ value: "more_time" }, { type: "retry", port: "api", timeMs: 900_000 }],
    [{ value: "own", note: "src/x.ts" }, { type: "retry", port: "api", tries: 1, grant: { path: "src/x.ts", wants: "own" } }],
    [{ value: "read" }, { type: "retry", port: "api", tries: 1, grant: { path: "docs/a.md", wants: "read" } }],
    [{ value: "skip" }, { type: "skip", port: "api" }],
    [{ value: "cancel" }, { type: "cancel" }],
    [{ value: "known" }, undefined],
  ])("the answer %j is the order %j", (answer, order) => {
    expect(orderOf(answer, { port: "api", path: "docs/a.md", timeMs: 1_800_000, tokensMost: 1_000 })).toEqual(order);
  });

  test("more tokens, asked for by the run itself, are the run's; a port without a bound of its own takes its share of the run's", () => {
    expect(orderOf({ value: "more_tokens" }, { runTokensMost: 1_000 })).toEqual({ type: "extend", tokens: 500 });
    expect(orderOf({ value: "more_tokens" }, { port: "api", tokensMost: null, runTokensMost: 1_000 })).toEqual({ type: "retry", port: "api", tokens: 500 });
    expect(orderOf({ value: "retry" }, { runTokensMost: 1_000 })).toBeUndefined();
  });
});

describe("a part of a plan", () => {
  const plan = planOf({ a: "", b: "a", c: "b", d: "a", e: "" });
  const ids = (part: Parameters<typeof narrowed>[0]): string => narrowed(part).ports.map(({ id, dependsOn }) => `${id}(${dependsOn.join(" ")})`).join(" ");

  test.each([
    [{ only: ["c"] }, "a() b(a) c(b)"],
    [{ from: ["b"] }, "b() c(b)"],
    [{ only: ["e"], from: ["d"] }, "d() e()"],
    [{}, "a() b(a) c(b) d(a) e()"],
  ])("%j has the ports %s", (part, expected) => {
    expect(ids({ plan, ...part })).toBe(expected);
  });

  test("of a port that is not there is refused with those that are", () => {
    expect(() => narrowed({ plan, only: ["x"] })).toThrow(expect.objectContaining({ code: "PLAN_PORT_UNKNOWN", hint: "Its ports are a, b, c, d, e." }));
  });
});
