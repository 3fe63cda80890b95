import { expect, test } from "vitest";
import { DureError } from "../kernel/errors.ts";
import { exchangeInMemory, MemoryJobs, type MemoryAgent } from "./memory-exchange.ts";

const chatty: MemoryAgent = ({ number }) =>
  Array.from({ length: 8 }, (_, index) => `w${number * 8 + index}`).join(" ");
const failing =
  (code: string): MemoryAgent =>
  () =>
    Promise.reject(new DureError(code, "It does not work."));
const REQUEST = {
  requester: "ruda",
  agent: "eden",
  message: "Let's discuss: the login module",
  maxTurns: 4,
};

test.each([
  ["max_turns", { ruda: chatty, eden: chatty }, "COMPLETED", 4],
  ["explicit_skip", { ruda: () => "REPLY_SKIP", eden: chatty }, "COMPLETED", 2],
  ["empty_reply", { ruda: chatty, eden: () => "" }, "COMPLETED", 1],
  [
    "repetition",
    { ruda: chatty, eden: () => "the very same words again and again, every time" },
    "COMPLETED",
    3,
  ],
  ["conclusion", { ruda: () => "Thank you!", eden: () => "You're welcome." }, "COMPLETED", 1],
  ["minimal_content", { ruda: () => "Fine.", eden: chatty }, "COMPLETED", 2],
  ["agent_error", { ruda: chatty, eden: failing("MODEL_UNAUTHORIZED") }, "FAILED", 0],
  ["budget", { ruda: failing("BUDGET_EXCEEDED"), eden: chatty }, "FAILED", 1],
  ["no_reply", { ruda: chatty, eden: () => new Promise<string>(() => {}) }, "FAILED", 0],
  ["turn_timeout", { ruda: () => new Promise<string>(() => {}), eden: chatty }, "FAILED", 1],
] as const)("an exchange in memory ends with %s", async (outcome, agents, status, turns) => {
  const message = outcome === "conclusion" ? "Thanks!" : REQUEST.message;

  const ended = await exchangeInMemory(
    { ...REQUEST, message },
    { agents, limits: { firstReplyMs: 100, turnMs: 100 } },
  );

  expect(ended).toMatchObject({ outcome, status });
  expect(ended.turns).toHaveLength(turns);
  expect(ended.lastError === null).toBe(status === "COMPLETED");
});

test("the tool end_conversation ends it with the turn in which it was called", async () => {
  const leaving: MemoryAgent = (turn) => {
    turn.end();
    return "We are done; the module is split in two.";
  };

  const ended = await exchangeInMemory(REQUEST, { agents: { ruda: chatty, eden: leaving } });

  expect(ended).toMatchObject({
    outcome: "explicit_skip",
    turns: [{ text: "We are done; the module is split in two." }],
  });
});

test("the result is what was given to finish, or the message that answers, never the politeness", async () => {
  const finishing: MemoryAgent = (turn) => {
    turn.finish("Split the module in two.");
    return "Gladly done!";
  };
  const polite = (...texts: readonly string[]): MemoryAgent => {
    const left = [...texts];
    return () => left.shift()!;
  };
  const result = "The comparison of passwords leaks time; compare in constant time.";

  const asked = [
    { ruda: chatty, eden: finishing },
    { ruda: () => "Thank you so much!", eden: polite(result, "You are welcome, any time!") },
  ].map((agents) => new MemoryJobs({ agents }).ask(REQUEST));

  expect(await Promise.all(asked)).toMatchObject([
    { status: "ok", how: "finish", by: "eden", reply: "Split the module in two." },
    { status: "ok", how: "message", by: "eden", reply: result },
  ]);
});

test("a person's words are told in the turn that they reach, and put off a natural end", async () => {
  const gate = Promise.withResolvers<string>();
  const heard: string[] = [];
  const jobs = new MemoryJobs({
    agents: {
      ruda: ({ message }) => (heard.push(message), "Sessions it is, then."),
      eden: () => gate.promise,
    },
  });
  const request = { ...REQUEST, maxTurns: 1, key: "k" };

  const { jobId } = await jobs.ask({ ...request, waitSec: 0 });
  await jobs.speak(jobId, "Sessions first.", { by: "mina" });
  gate.resolve("The module holds sessions and passwords together.");
  await jobs.ask(request);

  expect(heard).toEqual([
    expect.stringMatching(/A person, mina.*before everything else.*Sessions first\./s),
  ]);
  expect(await jobs.get(jobId)).toMatchObject({
    status: "COMPLETED",
    turnsDone: 2,
    maxTurns: 2,
    words: [{ author: "mina", text: "Sessions first.", turn: 2 }],
  });
});

test("in memory one turn is told twenty texts, and more is refused", async () => {
  const jobs = new MemoryJobs({
    agents: { ruda: chatty, eden: () => new Promise<string>(() => {}) },
  });
  const { jobId } = await jobs.ask({ ...REQUEST, waitSec: 0 });

  for (let n = 1; n <= 20; n++) await jobs.speak(jobId, `Words ${n}.`, { by: "mina" });

  await expect(jobs.speak(jobId, "Words 21.", { by: "mina" })).rejects.toMatchObject({
    code: "JOB_WORDS_FULL",
  });
  await jobs.cancel(jobId);
});

test.each([
  ["JOB_SELF", { agent: "ruda" }],
  ["JOB_NOT_ALLOWED", { requester: "eden", agent: "ruda" }],
  ["AGENT_UNKNOWN", { agent: "nobody" }],
  ["MESSAGE_INVALID", { message: " " }],
  ["MESSAGE_TOO_LONG", { message: "x".repeat(16_385) }],
  ["PAYLOAD_INVALID", { payload: { kind: "answer" } }],
  ["TURNS_INVALID", { maxTurns: 51 }],
  ["WAIT_INVALID", { waitSec: 301 }],
  ["SESSION_UNKNOWN", { agent: undefined, session: "s1" }],
] as const)("in memory a wrong request is refused as in the product: %s", async (code, wrong) => {
  const jobs = new MemoryJobs({ agents: { ruda: chatty, eden: chatty }, allow: ["ruda -> *"] });

  await expect(jobs.ask({ ...REQUEST, ...wrong })).rejects.toMatchObject({ code });
});

test("in memory one waits, gets the answer, or comes back for it; the same key is the same job", async () => {
  const gate = Promise.withResolvers<string>();
  const jobs = new MemoryJobs({ agents: { ruda: chatty, eden: () => gate.promise } });
  const question = {
    ...REQUEST,
    message: "How long does the build take?",
    maxTurns: undefined,
    key: "k1",
  };

  const early = await jobs.ask({ ...question, waitSec: 0.02 });
  gate.resolve("It takes eleven minutes on the new machine.");
  const answer = await jobs.ask(question);

  expect(early).toEqual({ status: "timeout", jobId: answer.jobId });
  expect(answer).toMatchObject({
    status: "ok",
    reply: "It takes eleven minutes on the new machine.",
  });
  await expect(jobs.ask({ ...question, message: "And the other?" })).rejects.toMatchObject({
    code: "IDEMPOTENCY_KEY_REUSED",
  });
});

test("in memory an abort or a cancel ends the exchange as cancelled", async () => {
  const silent: MemoryAgent = () => new Promise<string>(() => {});
  const jobs = new MemoryJobs({ agents: { ruda: chatty, eden: silent } });
  const { jobId } = await jobs.ask({ ...REQUEST, waitSec: 0 });

  expect(await jobs.cancel(jobId)).toMatchObject({ status: "CANCELLED", outcome: "cancelled" });
  expect(
    await exchangeInMemory(REQUEST, {
      agents: { ruda: chatty, eden: silent },
      signal: AbortSignal.timeout(20),
    }),
  ).toMatchObject({ status: "CANCELLED", outcome: "cancelled", turns: [] });
});
