import { expect, test } from "vitest";
import type { Done } from "../kernel/turn-events.ts";
import { RunEvents, changesOf, stateChange } from "./run-events.ts";

const TURN = "turn_1";
const INPUT = {
  threadId: "t",
  runId: "r",
  messages: [{ id: "m1", role: "user", content: "Hi" }],
};

const done = (message: string): Done => ({
  message,
  nextAction: "DONE",
  stateSnapshot: {},
  hooks: [],
  trace: { turnId: TURN, totalElapsedMs: 1, agents: [] },
});

interface Event {
  readonly type: string;
  readonly delta?: string;
}

function eventsOf(text: string): readonly Record<string, unknown>[] {
  const lines = text.split("\n\n").filter(Boolean);
  return lines.map((line) => JSON.parse(line.slice("data: ".length)) as Record<string, unknown>);
}

/** The types of the events, and the text that stands at the end. `null`: an agent begins. */
function told(answer: string, ...pieces: readonly (string | null)[]) {
  const run = new RunEvents(INPUT, TURN);
  const parts = pieces.map((piece) => (piece === null ? run.agentBegins("ruda") : run.say(piece)));
  const lines = `${parts.join("")}${run.end(done(answer), [])}`.split("\n\n").filter(Boolean);
  const events = lines.map((line) => JSON.parse(line.slice("data: ".length)) as Event);
  const shown = events.reduce(
    (so, { type, delta = "" }) => (type === "MESSAGES_SNAPSHOT" ? "" : so + delta),
    "",
  );

  return { types: events.map(({ type }) => type), shown };
}

test("an answer that is said once is one message, in the step of its agent", () => {
  expect(told("Hello", null, "Hel", "lo")).toEqual({
    types: [
      "STEP_STARTED",
      "TEXT_MESSAGE_START",
      "TEXT_MESSAGE_CONTENT",
      "TEXT_MESSAGE_CONTENT",
      "TEXT_MESSAGE_END",
      "STEP_FINISHED",
      "STATE_SNAPSHOT",
      "RUN_FINISHED",
    ],
    shown: "Hello",
  });
});

test("words that are void are taken back when the first new one comes", () => {
  const { types, shown } = told("Good morning", null, "Hello", null, "Good ", "morning");

  expect(shown).toBe("Good morning");
  expect(types.filter((type) => type === "TEXT_MESSAGE_START")).toHaveLength(2);
  expect(types.filter((type) => type === "STEP_STARTED")).toHaveLength(1);
});

test("words that are not the answer are taken back at the end", () => {
  expect(told("No.", null, "Yes").shown).toBe("No.");
});

const call = { callId: `${TURN}-1.2`, tool: "look_up" };
const begun = { ...call, effect: "none", args: { id: 1 } } as const;

test("a call of a tool ends the words before it, and stays when words are taken back", () => {
  const run = new RunEvents(INPUT, TURN);
  const told = [
    run.say("Let me see."),
    run.toolBegins(begun),
    run.toolEnds({ ...call, status: "done", result: { found: true } }),
    run.say("It is"),
    run.end(done("Nothing."), []),
  ].join("");
  const events = eventsOf(told);

  expect(events.map(({ type }) => type)).toEqual([
    "TEXT_MESSAGE_START",
    "TEXT_MESSAGE_CONTENT",
    "TEXT_MESSAGE_END",
    "TOOL_CALL_START",
    "TOOL_CALL_ARGS",
    "TOOL_CALL_END",
    "TOOL_CALL_RESULT",
    "TEXT_MESSAGE_START",
    "TEXT_MESSAGE_CONTENT",
    "TEXT_MESSAGE_END",
    "MESSAGES_SNAPSHOT",
    "TEXT_MESSAGE_START",
    "TEXT_MESSAGE_CONTENT",
    "TEXT_MESSAGE_END",
    "STATE_SNAPSHOT",
    "RUN_FINISHED",
  ]);
  const snapshot = events.find(({ type }) => type === "MESSAGES_SNAPSHOT");
  expect(snapshot).toMatchObject({
    messages: [
      { role: "user" },
      { role: "assistant", toolCalls: [{ function: { arguments: '{"id":1}' } }] },
      { role: "tool", toolCallId: call.callId, content: '{"found":true}' },
    ],
  });
});

test("no call is left without a result, unless a person is asked", () => {
  const end = (waits: Parameters<RunEvents["end"]>[1]) => {
    const run = new RunEvents(INPUT, TURN);
    run.toolBegins(begun);
    run.toolEnds({ ...call, status: "asks", error: { code: "APPROVAL_PENDING" } });
    return eventsOf(run.end(done("Wait."), waits)).map(({ type }) => type);
  };
  const waits = [{ id: "escalation_1", title: "?", suggestedActions: [], expiresAt: null }];

  expect(end([])).toContain("TOOL_CALL_RESULT");
  expect(end(waits)).not.toContain("TOOL_CALL_RESULT");
});

test("a client that has a state is told what has changed, any other the whole", () => {
  const state = { stage: "READY", slots: { "a/b": 1, c: [1, 2] }, gone: undefined };
  const known = { stage: "FILLING", slots: { "a/b": 1, c: [1] }, old: true };

  expect(stateChange(undefined, state)).toEqual([{ type: "STATE_SNAPSHOT", snapshot: state }]);
  expect(stateChange({}, state)).toHaveLength(1);
  expect(stateChange(known, state)).toEqual([
    { type: "STATE_SNAPSHOT", snapshot: known },
    {
      type: "STATE_DELTA",
      delta: [
        { op: "remove", path: "/old" },
        { op: "replace", path: "/stage", value: "READY" },
        { op: "replace", path: "/slots/c", value: [1, 2] },
      ],
    },
  ]);
  expect(stateChange({ stage: "READY" }, { stage: "READY" })).toEqual([]);
  expect(changesOf({}, { "a/b~": 1 }, "")).toEqual([{ op: "add", path: "/a~1b~0", value: 1 }]);
});
