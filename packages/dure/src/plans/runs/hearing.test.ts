import { expect, test } from "vitest";
import type { Member } from "../../kernel/plans.ts";
import { willHear } from "./run-requests.ts";

type View = Parameters<typeof willHear>[0];
/** Steps as `try kind member status`, such as `1 implement implementer done`. */
const stepsOf = (...steps: string[]): View["steps"] =>
  steps.map((step) => {
    const [number, kind, member, status] = step.split(" ");
    return { try: Number(number), kind, member, status } as View["steps"][number];
  });
const portWith = (steps: string[], more: Partial<View> = {}): View => ({
  status: "running",
  triesPair: 1,
  triesOrchestrator: 0,
  steps: stepsOf(...steps),
  ...more,
});
const WORKS = ["1 implement implementer running"];
const TESTED = ["1 implement implementer done", "1 test tester running"];

test.each<[string, View, Member, boolean]>([
  ["a port that waits", portWith([], { status: "waiting" }), "implementer", true],
  ["a last try under way", portWith(WORKS), "implementer", false],
  ["a try under way, with one left", portWith(WORKS, { triesPair: 2 }), "implementer", true],
  ["a last try before its test", portWith(WORKS), "tester", true],
  ["a last try that is tested", portWith(TESTED), "tester", false],
  ["a last try that is tested", portWith(TESTED), "implementer", false],
  ["a step that was stopped", portWith(["1 implement implementer stopped"]), "implementer", true],
  ["a plan without tries of it", portWith(WORKS), "orchestrator", false],
  ["tries of its own to come", portWith(WORKS, { triesOrchestrator: 2 }), "orchestrator", true],
])("of %s a program that reads its prompt alone is told: %#", (_name, port, to, hears) => {
  expect(willHear(port, to, "command")).toBe(hears);
});

test("who listens while it works reads in its last try too, and not when that is over", () => {
  expect(willHear(portWith(WORKS), "implementer", "acp")).toBe(true);
  expect(willHear(portWith(TESTED), "tester", "model")).toBe(true);
  expect(willHear(portWith(TESTED), "implementer", "acp")).toBe(false);
});
