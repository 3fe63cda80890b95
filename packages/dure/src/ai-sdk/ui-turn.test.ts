import { expect, test } from "vitest";
import type { Done } from "../kernel/turn-events.ts";
import { UiTurn } from "./ui-turn.ts";

const TURN = "turn_1";
const done = (message: string): Done => ({
  message,
  nextAction: "DONE",
  stateSnapshot: {},
  hooks: [],
  trace: { turnId: TURN, totalElapsedMs: 1, agents: [] },
});

interface Chunk {
  readonly type: string;
  readonly delta?: string;
}

function chunksOf(text: string): readonly Chunk[] {
  const lines = text.split("\n\n").filter((line) => line.startsWith("data: {"));
  return lines.map((line) => JSON.parse(line.slice("data: ".length)) as Chunk);
}

/** The types of the chunks, and the text that stands at the end. `null`: an agent begins. */
function told(answer: string, ...pieces: readonly (string | null)[]) {
  const turn = new UiTurn(TURN);
  let text = "";
  for (const piece of pieces) {
    if (piece === null) turn.agentBegins();
    else text += turn.say(piece);
  }
  const chunks = chunksOf(text + turn.end(done(answer)));
  const shown = chunks.reduce(
    (so, { type, delta = "" }) => (type === "reset-step" ? "" : so + delta),
    "",
  );
  return { types: chunks.map(({ type }) => type), shown };
}

test("an answer that is said once is one text", () => {
  expect(told("Hello", null, "Hel", "lo")).toEqual({
    types: ["text-start", "text-delta", "text-delta", "text-end", "finish-step", "finish"],
    shown: "Hello",
  });
});

test("words that are void go when the first new one comes", () => {
  const { types, shown } = told("Good morning", null, "Hello", null, "Good ", "morning");

  expect(shown).toBe("Good morning");
  expect(types.filter((type) => type === "reset-step")).toHaveLength(1);
});

test("words of an agent that was followed by a silent one stay", () => {
  expect(told("Hello", null, "Hello", null).types).not.toContain("reset-step");
});

test("an answer that is another than what was said takes its place", () => {
  expect(told("Sent.", null, "I will send it").shown).toBe("Sent.");
  expect(told("Which one?").shown).toBe("Which one?");
});

test("an answer without words has no text", () => {
  expect(told("").types).toEqual(["finish-step", "finish"]);
});

const call = { callId: `${TURN}-1.2`, tool: "look_up" };
const begun = { ...call, effect: "none", args: { id: 1 } } as const;

test("a call of a tool is a part between words, and stays when words are taken back", () => {
  const turn = new UiTurn(TURN);
  const told = [
    turn.say("Let me see."),
    turn.toolBegins(begun),
    turn.toolEnds({ ...call, status: "done", result: { found: true } }),
    turn.say("\nIt is"),
  ].join("");
  const end = turn.end(done("Nothing was found."));

  expect(chunksOf(told).map(({ type }) => type)).toEqual([
    "text-start",
    "text-delta",
    "text-end",
    "tool-input-start",
    "tool-input-available",
    "tool-output-available",
    "text-start",
    "text-delta",
  ]);
  expect(chunksOf(end).map(({ type }) => type)).toEqual([
    "reset-step",
    "tool-input-start",
    "tool-input-available",
    "tool-output-available",
    "text-start",
    "text-delta",
    "text-end",
    "finish-step",
    "finish",
  ]);
});

test("a failed call says why, and one that waits for a person has no output", () => {
  const turn = new UiTurn(TURN);
  turn.toolBegins(begun);

  expect(chunksOf(turn.toolEnds({ ...call, status: "asks" }))).toEqual([]);
  const failed = { ...call, status: "failed", error: { code: "DESK_DOWN" } } as const;
  expect(chunksOf(turn.toolEnds(failed))).toMatchObject([
    { type: "tool-output-error", toolCallId: call.callId, errorText: "DESK_DOWN" },
  ]);
});
