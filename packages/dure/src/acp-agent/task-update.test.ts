import { expect, test } from "vitest";
import type { PlanStep, PortDetail, RunDetail, TranscriptLine } from "../client/index.ts";
import {
  changesOf,
  endOfTask,
  lineUpdateOf,
  mergeChoices,
  mergedWords,
  planEntriesOf,
} from "./task-update.ts";
import { modeOfTask } from "./task-mode.ts";
import { acpWords } from "./words.ts";

const EN = acpWords("en");
const KO = acpWords("ko");

const step = (kind: PlanStep["kind"], number: number, status: PlanStep["status"]): PlanStep =>
  ({ kind, try: number, status }) as PlanStep;

const portOf = (more: Partial<PortDetail>): PortDetail =>
  ({ title: "Write hello.", status: "running", steps: [], ...more }) as PortDetail;

const statuses = (run: Pick<RunDetail, "phase" | "report">, port: PortDetail): readonly string[] =>
  planEntriesOf(run, port, EN).map(({ status }) => status);

test("the plan of a task has what is done, what goes on and what is to come", () => {
  const before = [step("setup", 0, "done"), step("count", 0, "done")];
  const steps = [...before, step("implement", 1, "stopped"), step("count", 1, "done")];
  const port = portOf({ steps: [...steps, step("implement", 2, "running")] });

  const entries = planEntriesOf({ phase: "building", report: null }, port, EN);

  expect(entries.map(({ content, status }) => `${status} ${content}`)).toEqual([
    "completed Prepare a tree of its own",
    "completed Set up",
    "completed Run the acceptance at the start",
    "completed Try 1: implement",
    "completed Try 1: count tests",
    "in_progress Try 2: implement",
    "pending Bring the result to its branch",
  ]);
  const korean = planEntriesOf({ phase: "building", report: null }, port, KO);
  expect(korean[2]!.content).toBe("시작 상태에서 통과하는지 확인하기");
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

  expect(endOfTask(run({ status: "success", report: { commit: "c", branch: "dure/x" } }), EN)).toBe(
    "The task is done: dure/x. `dure plan merge r1` takes it over.",
  );
  expect(
    endOfTask(run({ status: "failed", report: null, because: { message: "No tries." } }), EN),
  ).toContain("ended as failed. No tries.");
  expect(endOfTask(run({ status: "cancelled", report: null }), EN)).toContain("was cancelled");
});

test("a person who is asked for the merge reads at most 50 files by name", () => {
  const changes = Array.from({ length: 52 }, (_, index) => {
    return { path: `${index}.txt`, kind: "new" as const };
  });

  const lines = changesOf({ changes, patch: "", isCut: false }, EN).split("\n");

  expect([lines.length, lines[0], lines.at(-1)]).toEqual([51, "new 0.txt", "and 2 more"]);
});

test("in a Korean team all that a task says and offers is Korean", () => {
  const run = (more: object): RunDetail => ({ id: "r1", because: null, ...more }) as RunDetail;
  const kinds = Object.keys(KO.steps) as PlanStep["kind"][];
  const port = portOf({
    title: "인사말",
    status: "held",
    steps: kinds.map((kind) => step(kind, 1, "done")),
  });
  const changes = Array.from({ length: 51 }, () => ({ path: "1", kind: "new" as const }));
  const said = [
    ...planEntriesOf({ phase: "over", report: null }, port, KO).map(({ content }) => content),
    ...["success", "partial", "failed", "cancelled"].map((status) =>
      endOfTask(run({ status, report: null }), KO),
    ),
    endOfTask(run({ status: "success", report: { commit: "c", branch: "1" } }), KO),
    ...mergeChoices(KO).map(({ name }) => name),
    KO.mergeTitle(undefined),
    ...changesOf({ changes, patch: "", isCut: false }, KO).split("\n"),
    mergedWords({ target: "1", commit: "2", updated: "/3" } as never, KO),
    modeOfTask({ owns: ["1"], acceptance: "2" } as never, KO).name,
    KO.taskAbout("1", "2"),
    KO.noMode("1"),
    KO.noService,
  ];

  // Commands stay as they are.
  const foreign = said.filter((words) => /[A-Za-z]{2,}/.test(words.replaceAll(/`[^`]*`/g, "")));
  expect(foreign).toEqual([]);
});
