import { expect, test } from "vitest";
import { PairTalk, type AskingMember } from "./pair-talk.ts";
import type { PortWork } from "./pair-parts.ts";

test("a member gets an answer to five questions of one step, and is told so at the sixth", async () => {
  const asked: string[] = [];
  const channel = {
    inbox: async function* (): AsyncGenerator<never> {},
    query: async ({ text }: { text: string }): Promise<{ answer: { text: string } }> => {
      asked.push(text);
      return { answer: { text: `about ${text}` } };
    },
  };
  const work = { channel } as unknown as PortWork;
  const member = { member: "implementer", step: { id: "step_1", starts: 1 }, left: [] };
  const over = new AbortController();
  const talk = new PairTalk(work, member as unknown as AskingMember, over.signal);

  const answers: string[] = [];
  for (let number = 1; number <= 7; number += 1) {
    answers.push(await talk.ask(`q${number}`, over.signal));
  }
  over.abort();

  expect(asked).toEqual(["q1", "q2", "q3", "q4", "q5"]);
  expect(answers.slice(0, 5)).toEqual(asked.map((text) => `about ${text}`));
  expect(new Set(answers.slice(5))).toEqual(
    new Set(["No more than 5 questions are answered in one step."]),
  );
});
