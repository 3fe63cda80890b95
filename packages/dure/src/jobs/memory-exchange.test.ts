import { expect, test } from "vitest";
import { DureError } from "../kernel/errors.ts";
import { exchangeInMemory, type MemoryAgent } from "./memory-exchange.ts";

const chatty: MemoryAgent = ({ number }) => Array.from({ length: 8 }, (_, index) => `w${number * 8 + index}`).join(" ");
const failing = (code: string): MemoryAgent => () => Promise.reject(new DureError(code, "It does not work."));
const REQUEST = { requester: "ruda", target: "eden", message: "Let's discuss: the login module", maxTurns: 4 };

test.each([
  ["max_turns", { ruda: chatty, eden: chatty }, "COMPLETED", 4],
  ["explicit_skip", { ruda: () => "REPLY_SKIP", eden: chatty }, "COMPLETED", 2],
  ["empty_reply", { ruda: chatty, eden: () => "" }, "COMPLETED", 1],
  ["repetition", { ruda: chatty, eden: () => "the very same words again and again, every time" }, "COMPLETED", 3],
  ["conclusion", { ruda: () => "Thank you!", eden: () => "You're welcome." }, "COMPLETED", 1],
  ["minimal_content", { ruda: () => "Fine.", eden: chatty }, "COMPLETED", 2],
  ["agent_error", { ruda: chatty, eden: failing("MODEL_UNAUTHORIZED") }, "FAILED", 0],
  ["budget", { ruda: failing("BUDGET_EXCEEDED"), eden: chatty }, "FAILED", 1],
  ["agent_removed", { eden: chatty }, "FAILED", 1],
  ["no_reply", { ruda: chatty, eden: () => new Promise<string>(() => {}) }, "FAILED", 0],
  ["turn_timeout", { ruda: () => new Promise<string>(() => {}), eden: chatty }, "FAILED", 1],
] as const)("an exchange in memory ends with %s", async (outcome, agents, status, turns) => {
  const message = outcome === "conclusion" ? "Thanks!" : REQUEST.message;

  const ended = await exchangeInMemory({ ...REQUEST, message, agents }, { limits: { firstReplyMs: 100, turnMs: 100 } });

  expect(ended).toMatchObject({ outcome, status });
  expect(ended.turns).toHaveLength(turns);
  expect(ended.lastError === null).toBe(status === "COMPLETED");
});

test("the tool end_conversation ends it with the turn in which it was called", async () => {
  const leaving: MemoryAgent = (turn) => {
    turn.end();
    return "We are done; the module is split in two.";
  };

  const ended = await exchangeInMemory({ ...REQUEST, agents: { ruda: chatty, eden: leaving } });

  expect(ended).toMatchObject({ outcome: "explicit_skip", turns: [{ text: "We are done; the module is split in two." }] });
});

test("a person's words are told in the turn that they reach", async () => {
  const heard: string[] = [];
  const listening: MemoryAgent = (turn, options) => {
    heard.push(turn.message);
    return chatty(turn, options);
  };

  await exchangeInMemory({ ...REQUEST, agents: { ruda: listening, eden: listening } }, { words: (turn) => (turn === 2 ? [{ author: "mina", text: "Sessions first." }] : []) });

  expect(heard.map((message) => message.includes("Sessions first."))).toEqual([false, true, false, false]);
});
