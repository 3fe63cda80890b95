import { expect, test } from "vitest";
import type { Done } from "../kernel/turn-events.ts";
import { RunEvents } from "./run-events.ts";

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
