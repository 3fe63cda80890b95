import path from "node:path";
import { expect, test } from "vitest";
import { parsePlan } from "../plans/plan-file.ts";
import { repositoryFrom } from "./commands/values.ts";
import { planOfTask, type Task } from "./task.ts";

const TASK: Task = {
  goal: "Answer 429 after five failures.\nKeep the old route.",
  owns: ["src/api/**"],
  tests: ["test/api/**"],
  acceptance: "npm test",
  worker: { agent: "claude" },
};

const planOf = (task: Task) => {
  const source = planOfTask(task);
  return parsePlan(source.file, source.text);
};

test("a task is a plan of one port with the words as its goal", () => {
  const plan = planOf(TASK);

  expect(plan.name).toBe("task-answer-429-after-five-failures-keep-the");
  expect(plan.limits.tries).toBe(3);
  expect(plan.workers.default).toMatchObject({ kind: "acp", agent: "claude" });
  expect(plan.ports).toMatchObject([
    {
      id: "task",
      title: "Answer 429 after five failures.",
      goal: TASK.goal,
      owns: ["src/api/**"],
      tests: ["test/api/**"],
      acceptance: "npm test",
    },
  ]);
});

test.each<[string, Partial<Task>, object]>([
  ["a model", { worker: { kind: "model", model: "openai:gpt-5" } }, { kind: "model" }],
  ["a program", { worker: { kind: "command", command: ["sh", "-c", "x"] } }, { kind: "command" }],
])("%s does it where one is named, without a tester where no tests are", (_who, change, worker) => {
  const plan = planOf({ ...TASK, tests: [], tries: 1, ...change });

  expect(plan.workers.default).toMatchObject(worker);
  expect([plan.limits.tries, plan.ports[0]!.tests]).toEqual([1, []]);
});

test("words that no branch can be called after have a name all the same", () => {
  expect(planOf({ ...TASK, goal: "로그인을 고쳐 줘" }).name).toBe("task");
  expect(planOf({ ...TASK, title: "로그인 fix" }).name).toBe("task-fix");
});

test("a repository is a path from the person's own folder; a word that is none stays a name", () => {
  expect(repositoryFrom(".")).toBe(process.cwd());
  expect(repositoryFrom("../shop")).toBe(path.resolve("../shop"));
  expect(repositoryFrom("packages")).toBe(path.resolve("packages"));
  expect(repositoryFrom("no-such-folder")).toBe("no-such-folder");
});
