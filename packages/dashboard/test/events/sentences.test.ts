import type { PlatformEvent } from "dure/client";
import { describe, expect, test } from "vitest";
import { SENTENCES_WORDS } from "words:later/sentences";
import { z } from "zod";
import { EVENTS } from "../../../dure/src/wire/events.ts";
import { actorOf } from "../../src/actor.ts";
import { isChosen, partakersOf, placeOf } from "../../src/events/facets.ts";
import type { EventNames } from "../../src/events/names.ts";
import { sentenceOf } from "../../src/events/sentences.ts";
import { TEXTS } from "../texts.ts";

const KOREAN_NAMES: EventNames = {
  agent: (id) => (id === "x" ? "루다" : id),
  actor: (by) => actorOf(by, { text: TEXTS.ko, nameOf: () => "루다" }),
  service: () => "송금",
  place: () => "일반 방",
};
const ENGLISH_NAMES: EventNames = {
  agent: () => "Ruda",
  actor: (by) => actorOf(by, { text: TEXTS.en, nameOf: () => "Ruda" }),
  service: () => "Transfer",
  place: () => "room general",
};

/** The simplest value of a JSON schema; texts are `x`. */
function valueOf(given: z.core.JSONSchema._JSONSchema): unknown {
  const schema = typeof given === "object" ? given : {};
  if (schema.const !== undefined) return schema.const;
  if (schema.enum !== undefined) return schema.enum[0];
  const [first] = schema.anyOf ?? [];
  if (first !== undefined) return valueOf(first);
  if (schema.type === "object") {
    const members = Object.entries(schema.properties ?? {});
    return Object.fromEntries(members.map(([name, member]) => [name, valueOf(member)]));
  }
  const type: unknown = schema.type;
  if (Array.isArray(type)) return valueOf({ type: type[0] });
  if (schema.type === "array") return [];
  if (schema.type === "boolean") return true;
  return schema.type === "string" ? "x" : 1;
}

const TYPES = Object.entries(EVENTS).map(([type, { role, data }]): [string, PlatformEvent] => [
  type,
  {
    ...{ id: "1.1.1", at: 0, type, role },
    ...{ agent: "x", room: "web:general", service: "transfer", run: "run_1", job: "job_1" },
    data: valueOf(z.toJSONSchema(data, { io: "output" })),
  } as unknown as PlatformEvent,
]);

describe("sentences of events", () => {
  test("there is one for each type of event, in both languages, and none for another", () => {
    const types = Object.keys(EVENTS).toSorted();

    expect(Object.keys(SENTENCES_WORDS.ko.events).toSorted()).toEqual(types);
    expect(Object.keys(SENTENCES_WORDS.en.events).toSorted()).toEqual(types);
  });

  test.each(TYPES)("%s is told naturally in each language alone", (_type, event) => {
    const korean = sentenceOf(event, "ko", KOREAN_NAMES);
    const english = sentenceOf(event, "en", ENGLISH_NAMES);

    expect(korean).toMatch(/(요\.?|[:(”].*)$/u);
    expect(korean).toMatch(/\p{Script=Hangul}/u);
    expect(english).toMatch(/^[\p{Lu}\d].*[.x”]$/u);
    expect(english).not.toMatch(/\p{Script=Hangul}/u);
    expect(`${korean} ${english}`).not.toMatch(/undefined|null|NaN|\[object/u);
  });

  test("an answer is told of the one who was asked", () => {
    const data = { request: "r", from: "ruda", to: "eden", message: "m", thread: "t", text: "네." };
    const event = { id: "1.1.1", at: 0, type: "collaborate.answered", role: "delegation", data };
    const names = { ...KOREAN_NAMES, agent: (id: string) => ({ ruda: "루다", eden: "이든" })[id]! };

    const sentence = (language: "ko" | "en"): string | undefined =>
      sentenceOf(event as unknown as PlatformEvent, language, names);

    expect(sentence("ko")).toMatch(/^이든이 루다에게 답했어요/);
    expect(sentence("en")).toMatch(/^이든 answered 루다/);
  });

  test("a start says that it started; after a crash it says what goes on", () => {
    const started = (resumed: number): PlatformEvent => {
      const data = { resumed, abandoned: 0, removed: 0, incomplete: 0 };
      return { id: "1.1.1", at: 0, type: "jobs.recovered", role: "system", data };
    };

    expect(sentenceOf(started(0), "ko", KOREAN_NAMES)).toBe("서버가 시작됐어요.");
    expect(sentenceOf(started(0), "en", ENGLISH_NAMES)).toBe("The server started.");
    expect(sentenceOf(started(2), "ko", KOREAN_NAMES)).toContain("2건을 이어");
    expect(sentenceOf(started(2), "en", ENGLISH_NAMES)).toContain("2 jobs go on");
  });

  test("an event of a newer server, or with strange data, has no sentence and breaks nothing", () => {
    const [, event] = TYPES[0]!;
    const newer = { ...event, type: "moon.rises" } as unknown as PlatformEvent;
    const strange = { ...event, type: "escalation.routed", data: null } as unknown as PlatformEvent;

    expect(sentenceOf(newer, "ko", KOREAN_NAMES)).toBeUndefined();
    expect(sentenceOf(strange, "ko", KOREAN_NAMES)).toBeUndefined();
  });
});

test("an address is never who did something; agents and people are called by name", () => {
  const said = (by: string): string =>
    actorOf(by, { text: TEXTS.ko, nameOf: (id) => (id === "ruda" ? "루다" : id) });

  expect(["127.0.0.1", "::1", "::ffff:10.0.0.7", "operator"].map(said)).toEqual(
    Array.from({ length: 4 }, () => TEXTS.ko.common.actors.atMachine),
  );
  expect(["agent:ruda", "cli:mina", "machine:서연", "서연", "10:30 조", ""].map(said)).toEqual([
    "루다",
    "mina",
    "서연",
    "서연",
    "10:30 조",
    "",
  ]);
});

test("who, where and since when are asked of an event together", () => {
  const event = {
    ...{ id: "1.1.1", at: 1_000, type: "room.message", role: "conversation", room: "web:general" },
    data: { message: "m", author: "서연", author_kind: "person", parent: null },
  } as PlatformEvent;
  const all = { who: "", where: "", since: "" } as const;
  const chosen = (part: object, now = 2_000): boolean =>
    isChosen(event, { ...all, ...part }, { names: KOREAN_NAMES, now });

  expect(partakersOf(event, KOREAN_NAMES)).toEqual(["서연"]);
  expect(placeOf(event, KOREAN_NAMES)).toBe("일반 방");
  expect([chosen({}), chosen({ who: "서연", where: "일반 방" }), chosen({ who: "루다" })]).toEqual([
    true,
    true,
    false,
  ]);
  expect([chosen({ since: "hour" }), chosen({ since: "hour" }, 3_700_000)]).toEqual([true, false]);
});
