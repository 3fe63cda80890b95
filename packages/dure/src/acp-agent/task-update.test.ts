import { expect, test } from "vitest";
import type { PlanStep, PortDetail, RunDetail, TranscriptLine } from "../client/index.ts";
import { changesOf, endOfTask, lineUpdateOf, planEntriesOf } from "./task-update.ts";

const step = (kind: PlanStep["kind"], number: number, status: PlanStep["status"]): PlanStep =>
  ({ kind, try: number, status }) as PlanStep;

const portOf = (more: Partial<PortDetail>): PortDetail =>
  ({ title: "Write hello.", status: "running", steps: [], ...more }) as PortDetail;

const statuses = (run: Pick<RunDetail, "phase" | "report">, port: PortDetail): readonly string[] =>
  planEntriesOf(run, port).map(({ status }) => status);

test("the plan of a task has what is done, what goes on and what is to come", () => {
  const steps = [step("setup", 0, "done"), step("implement", 1, "stopped")];
  const port = portOf({ steps: [...steps, step("implement", 2, "running")] });

  const entries = planEntriesOf({ phase: "building", report: null }, port);

  expect(entries.map(({ content, status }) => `${status} ${content}`)).toEqual([
    "completed Prepare a tree of its own",
    "completed set up",
    "completed Try 1: implement",
    "in_progress Try 2: implement",
    "pending Bring the result to its branch",
  ]);
});

test("a task that was not begun, waits for a person or kept nothing is drawn so", () => {
  const report = { kept: [], missing: [], conflicts: [] };
  const preparing = statuses({ phase: "preparing", report: null }, portOf({}));
  const held = statuses({ phase: "building", report: null }, portOf({ status: "held" }));
  const failed = statuses({ phase: "over", report }, portOf({ status: "failed" }));

  expect(preparing).toEqual(["in_progress", "pending", "pending"]);
  expect(held).toEqual(["completed", "pending", "in_progress", "pending"]);
  expect(failed).toEqual(["completed", "pending", "pending"]);
});

test("words, thoughts and deeds of a worker are told; what it was told is not", () => {
  const line = (kind: TranscriptLine["kind"], status?: string): TranscriptLine => {
    const told = { id: 7, step: 3, try: 1, member: null, kind, title: "", text: "x", at: 0 };
    return status === undefined ? told : { ...told, status };
  };

  expect(lineUpdateOf("r", line("message"))).toMatchObject({
    sessionUpdate: "agent_message_chunk",
    messageId: "r-3",
  });
  expect(lineUpdateOf("r", line("thought"))!.sessionUpdate).toBe("agent_thought_chunk");
  expect(lineUpdateOf("r", line("tool", "failed"))).toMatchObject({ status: "failed" });
  expect(lineUpdateOf("r", line("refused"))).toMatchObject({ title: "refused", status: "failed" });
  expect(lineUpdateOf("r", line("prompt"))).toBeUndefined();
});

test("the end of a task says where its work is, or why there is none", () => {
  const run = (more: object): RunDetail => ({ id: "r1", because: null, ...more }) as RunDetail;

  expect(endOfTask(run({ status: "success", report: { commit: "c", branch: "dure/x" } }))).toBe(
    "The task is done: dure/x. `dure plan merge r1` takes it over.",
  );
  expect(
    endOfTask(run({ status: "failed", report: null, because: { message: "No tries." } })),
  ).toContain("ended as failed. No tries.");
  expect(endOfTask(run({ status: "cancelled", report: null }))).toContain("was cancelled");
});

test("a person who is asked for the merge reads at most 50 files by name", () => {
  const changes = Array.from({ length: 52 }, (_, index) => {
    return { path: `${index}.txt`, kind: "new" as const };
  });

  const lines = changesOf({ changes, patch: "", isCut: false }).split("\n");

  expect([lines.length, lines[0], lines.at(-1)]).toEqual([51, "new 0.txt", "and 2 more"]);
});
