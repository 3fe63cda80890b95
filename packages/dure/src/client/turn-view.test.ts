import { expect, test } from "vitest";
import type { TurnFrame } from "./turn-cursor.ts";
import { EMPTY_TURN_VIEW, shownText, turnView } from "./turn-view.ts";

const DONE: TurnFrame = {
  type: "DONE",
  data: {
    message: "끝",
    nextAction: "DONE",
    stateSnapshot: {},
    hooks: [],
    trace: { turnId: "t", totalElapsedMs: 1, agents: [] },
  },
};

function view(...frames: TurnFrame[]): ReturnType<typeof turnView> {
  return frames.reduce((state, frame, index) => turnView(state, frame, index), EMPTY_TURN_VIEW);
}

test("a retry stays one line of the log, with its attempts counted", () => {
  const state = view(
    { type: "AGENT_START", data: { agent: "a", label: "찾는 중" } },
    { type: "AGENT_START", data: { agent: "a", label: "찾는 중", attempt: 2 } },
  );

  expect(state.runs).toMatchObject([
    { agent: "a", attempt: 2, retries: 1, status: "running", startedAt: 0 },
  ]);
});

test("the same agent called twice is two lines", () => {
  const ran: TurnFrame[] = [
    { type: "AGENT_START", data: { agent: "a", label: "l" } },
    {
      type: "AGENT_DONE",
      data: { agent: "a", label: "l", success: true, retryCount: 0, elapsedMs: 3 },
    },
  ];

  expect(view(...ran, ...ran).runs.map((run) => run.status)).toEqual(["done", "done"]);
});

test("LLM_DONE is the truth of the text, and DONE of the answer", () => {
  const said = view(
    { type: "AGENT_START", data: { agent: "a", label: "l" } },
    { type: "LLM_TOKEN", data: "틀린 말" },
    { type: "LLM_DONE", data: { message: "맞는 말" } },
  );

  expect(shownText(said)).toBe("맞는 말");
  expect(shownText(turnView(said, DONE, 9))).toBe("끝");
});

test("an agent that was running when the turn ended is shown as stopped", () => {
  expect(
    view({ type: "AGENT_START", data: { agent: "a", label: "l" } }, DONE).runs[0]?.status,
  ).toBe("stopped");
});

test("progress keeps the latest word on each task", () => {
  const state = view(
    { type: "TASK_PROGRESS", data: { index: 1, total: 2, slots: { amount: 1 } } },
    { type: "TASK_PROGRESS", data: { index: 2, total: 2, slots: { amount: 2 } } },
    { type: "TASK_PROGRESS", data: { index: 1, total: 2, slots: { amount: 3 } } },
  );

  expect(state.progress).toHaveLength(2);
  expect(state.progress.find((task) => task.index === 1)?.slots).toEqual({ amount: 3 });
});

test("a call of a tool stands once, with the last word about it", () => {
  const call = { callId: "t-1.2", tool: "find", agent: "a" };
  const begun: TurnFrame = {
    type: "TOOL_START",
    data: { ...call, effect: "none", args: { id: 1 } },
  };
  const state = view(
    begun,
    { type: "TOOL_DONE", data: { ...call, status: "asks", error: { code: "EFFECT_UNKNOWN" } } },
    begun,
    { type: "TOOL_DONE", data: { ...call, status: "done", result: 2, elapsedMs: 3 } },
    { type: "TOOL_START", data: { callId: "t-1.3", tool: "send", effect: "once" } },
    DONE,
  );

  expect(state.tools).toMatchObject([
    { tool: "find", status: "done", args: { id: 1 }, result: 2, startedAt: 0 },
    { tool: "send", status: "stopped" },
  ]);
});
