import { describe, expect, test } from "vitest";
import {
  decideAlerts,
  decideTelling,
  type AlertedMessage,
  type AlertedPerson,
} from "./decide-alerts.ts";

const GENERAL = {
  adapter: "web",
  kind: "channel",
  tenant: "",
  person: null,
  isPrivate: false,
} as const;
const DIRECT = { ...GENERAL, kind: "direct", person: "민준", isPrivate: true } as const;
const AGENTS = [
  { agent: "eden", names: ["이든"] },
  { agent: "ruda", names: ["루다"] },
];

const said = (of: Partial<AlertedMessage>): AlertedMessage => ({
  authorKind: "agent",
  author: "eden",
  text: "확인했어요",
  buttons: null,
  repliedTo: null,
  place: GENERAL,
  ...of,
});
const toldOf = (of: Partial<AlertedMessage>, people: readonly string[] = []) =>
  Object.fromEntries(decideAlerts(said(of), people, AGENTS));

describe("a message waits for", () => {
  test("the person whose message an agent answers", () => {
    expect(toldOf({ repliedTo: "민준" })).toEqual({ 민준: "answer" });
  });

  test("the person of a direct room, whatever the agent says there", () => {
    expect(toldOf({ place: DIRECT })).toEqual({ 민준: "answer" });
  });

  test("the person who is asked, before it counts as an answer", () => {
    const buttons = [{ value: "escalation_1:approve", label: "Approve", for: "민준" }];
    expect(toldOf({ repliedTo: "민준", buttons })).toEqual({ 민준: "question" });
  });

  test("people who are called by name, with Korean particles and the wide sign", () => {
    const text = "@서연님 봐 주세요, ＠민준한테";
    expect(toldOf({ text }, ["서연", "민준", "하준"])).toEqual({
      서연: "mention",
      민준: "mention",
    });
  });

  test("no person whose name stands in code or in a quotation", () => {
    expect(toldOf({ text: "`@민준`\n> @서연 그랬어요" }, ["민준", "서연"])).toEqual({});
  });

  test("no agent, and no person of a shorter name than an agent's", () => {
    expect(toldOf({ text: "@이든 봐 줘" }, ["이"])).toEqual({});
  });

  test("not its author, also where they name themselves or answer themselves", () => {
    const own = { authorKind: "person", author: "민준", repliedTo: "민준" } as const;
    expect(toldOf({ ...own, text: "@민준 @서연" }, ["민준", "서연"])).toEqual({ 서연: "mention" });
  });

  test("no person who may not read a private place", () => {
    expect(toldOf({ place: DIRECT, text: "@서연" }, ["서연"])).toEqual({ 민준: "answer" });
  });

  test("fifty people at most", () => {
    const people = Array.from({ length: 60 }, (_none, index) => `p${index}x`);
    const text = people.map((name) => `@${name}`).join(" ");
    expect(Object.keys(toldOf({ text }, people))).toHaveLength(50);
  });
});

describe("a person is told", () => {
  const free: AlertedPerson = {
    told: "all",
    isMuted: false,
    hasRead: false,
    lately: 0,
    hasWay: true,
  };

  test.each([
    ["told", "answer", {}],
    ["no-way", "answer", { hasWay: false }],
    ["unwanted", "question", { told: "nothing" }],
    ["unwanted", "escalation", { told: "mentions-and-answers" }],
    ["told", "question", { told: "mentions-and-answers" }],
    ["muted", "mention", { isMuted: true }],
    ["read", "answer", { hasRead: true }],
    ["told", "answer", { lately: 59 }],
    ["many", "answer", { lately: 60 }],
  ] as const)("or not, and the reason is known: %s of %s", (because, kind, changed) => {
    expect(decideTelling(kind, { ...free, ...changed }, 60)).toBe(because);
  });
});
