import { expect, test } from "vitest";
import { systemClock } from "../../kernel/clock.ts";
import { DureError } from "../../kernel/errors.ts";
import { PairTalk, type AskingMember } from "./pair-talk.ts";
import type { PortWork } from "./pair-parts.ts";

type Fault = (what: "send" | "answer") => void;

/** A member whose partner answers in another process: it says what it was asked about. */
function asking(fault: Fault = () => {}): {
  talk: PairTalk;
  asked: string[];
  over: AbortController;
} {
  const asked: string[] = [];
  const channel = {
    inbox: async function* (): AsyncGenerator<never> {},
    deliverLetters: async (): Promise<void> => {},
    send: async ({ payload }: { payload: { text: string } }): Promise<number> => {
      fault("send");
      return asked.push(payload.text);
    },
    answer: async (id: number): Promise<{ text: string }> => {
      fault("answer");
      return { text: `about ${asked[id - 1]}` };
    },
  };
  const work = { channel, parts: { clock: systemClock } } as unknown as PortWork;
  const member = { member: "implementer", step: { id: "step_1", starts: 1 }, left: [] };
  const over = new AbortController();

  return { talk: new PairTalk(work, member as unknown as AskingMember, over.signal), asked, over };
}

test("a member gets an answer to five questions of one step, and is told so at the sixth", async () => {
  const { talk, asked, over } = asking();

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

test("a database that is away while a question is asked is waited for, and is no answer", async () => {
  const left = { send: 2, answer: 2 };
  const { talk, over } = asking((what) => {
    if (left[what]-- > 0) throw new DureError("DATABASE_UNAVAILABLE", "connect ECONNREFUSED");
  });

  expect(await talk.ask("q", over.signal)).toBe("about q");
  over.abort();
});

test("a question of a process that has lost the run has no answer there", async () => {
  const { talk, over } = asking(() => {
    throw new DureError("FENCED", "Another process leads the run.");
  });

  await expect(talk.ask("q", over.signal)).rejects.toMatchObject({ code: "FENCED" });
  over.abort();
});
