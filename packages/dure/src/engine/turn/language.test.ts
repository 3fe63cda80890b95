import { afterAll, beforeAll, expect, test } from "vitest";
import { z } from "zod";
import { tool } from "../agent/tool.ts";
import { defineService, flow } from "../service/service.ts";
import { startTestEngine, type TestEngine } from "../test-engine.ts";

const STOPPED = { ko: "처리하는 중에 문제가 생겼어요", en: "Something went wrong on our side" };

/** Fails at `fail`, so that the engine speaks; else says in which language it was asked. */
const speaker = defineService({
  name: "speaker",
  agents: {},
  flows: {
    DEFAULT: flow(async (turn) => {
      if (turn.message.includes("🔥")) throw new Error("as the test wants");
      return turn.done({ message: turn.locale, nextAction: "CONFIRM" });
    }),
  },
});

let korean: TestEngine;
beforeAll(async () => {
  korean = await startTestEngine(speaker, { engine: { locale: "ko" } });
});
afterAll(() => korean[Symbol.asyncDispose]());

async function heard(session: string, ...messages: readonly string[]): Promise<string[]> {
  const languages: string[] = [];
  for (const message of messages) {
    languages.push((await korean.say(message, { session })).done.message);
  }
  return languages;
}

test("a session speaks the language of the person's words, until they clearly change", async () => {
  const languages = await heard(
    "sticky",
    "When does my parcel arrive?",
    "ok",
    "홍길동",
    "ㅋㅋ",
    "소포가 언제 오는지 알려 주세요",
    "OK",
    "John Smith",
    "Could you say that in English?",
  );

  expect(languages).toEqual(["en", "en", "en", "en", "ko", "ko", "ko", "en"]);
});

test.each([
  [
    "en",
    ["parcel status", "ok", "홍길동", "소포가 언제 오는지 알려 주세요"],
    ["en", "en", "en", "ko"],
  ],
  ["ko", ["소포 조회", "parcel status"], ["ko", "ko"]],
] as const)(
  "unclear first words are answered in the language of their letters, which sticks: %s",
  async (language, messages, languages) => {
    expect(await heard(`letters-${language}`, ...messages)).toEqual(languages);
  },
);

test("the team's language is spoken where nothing tells one, and does not stick", async () => {
  expect(await heard("neutral", "ok", "👍", "Where is my parcel?", "ok")).toEqual([
    "ko",
    "ko",
    "en",
    "en",
  ]);
});

test("a request that names a language is answered in it, whatever its words", async () => {
  const asked = await korean.say("Where is my parcel?", { session: "named", locale: "ko" });

  expect(asked.done.message).toBe("ko");
  expect(asked.done.uiHint?.buttons).toEqual(["확인", "취소"]);
});

test.each([
  ["en", "Where is my parcel? 🔥", "Where is my parcel?", ["Confirm", "Cancel"]],
  ["ko", "제 소포는 어디에 있나요? 🔥", "제 소포는 어디에 있나요?", ["확인", "취소"]],
] as const)(
  "errors and buttons of a turn are in %s with it",
  async (language, fails, asks, buttons) => {
    const failed = await korean.say(fails, { session: `errors-${language}` });
    const asked = await korean.say(asks, { session: `errors-${language}` });

    expect(failed.done.message).toContain(STOPPED[language]);
    expect(asked.done.uiHint?.buttons).toEqual(buttons);
  },
);

test("a turn that begins again keeps its language when a later message has another", async () => {
  const lives: string[] = [];
  const blocked = Promise.withResolvers<void>();
  const slow = defineService({
    name: "slow",
    agents: {},
    flows: {
      DEFAULT: flow(async (turn) => {
        lives.push(turn.locale);
        if (lives.length === 1) await blocked.promise;
        return turn.done({ message: turn.locale });
      }),
    },
  });
  await using first = await startTestEngine(slow, { engine: { locale: "ko" } });
  const english = first.engine.turn({ session: "s", message: "Where is my parcel?" });
  await english.turnId;
  const neutral = first.engine.turn({ session: "s", message: "ok" });
  await neutral.turnId;
  const later = first.engine.turn({ session: "s", message: "소포가 어디에 있는지 알려 주세요" });
  await later.turnId;
  first.fence();
  await first.database.query({
    text: "update dure.turns set holder = null where status = 'running'",
  });

  await using second = await startTestEngine(slow, { on: first, engine: { locale: "ko" } });

  const ends = await Promise.all(
    [english, neutral, later].map(async (turn) => doneOf(second, await turn.turnId)),
  );
  expect(ends).toEqual(["en", "en", "ko"]);
  blocked.resolve();
});

test("people are asked in the team's language what a person of another one began", async () => {
  const pay = tool({
    description: "Pays.",
    inputSchema: z.object({ won: z.number() }),
    effect: "once",
    execute: () => {
      throw Object.assign(new Error("cut"), { sent: true, class: "network" });
    },
  });
  const payer = defineService({
    name: "payer",
    agents: {},
    flows: {
      DEFAULT: flow(async (turn) => {
        await turn.call("pay", pay, { won: 1 }, { key: ["one"] });
        return turn.done({ message: "" });
      }),
    },
  });
  await using t = await startTestEngine(payer, { engine: { locale: "ko" } });

  const { done } = await t.say("Pay it please, I am in a hurry");

  expect(done.message).toBe(
    "I could not confirm the outcome yet. I will tell you as soon as it is checked.",
  );
  const [asked] = await t.database.query<{ title: string }>({
    text: "select title from dure.escalations",
  });
  expect(asked!.title).toContain("상대 시스템에서 실제로 처리되었나요?");
});

async function doneOf({ engine }: TestEngine, turn: string): Promise<string> {
  for await (const { event } of engine.read(turn)) {
    if (event.type === "DONE") return event.data.message;
  }
  throw new Error("the turn ended without DONE");
}
