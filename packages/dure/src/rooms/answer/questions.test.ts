import { describe, expect, test } from "vitest";
import { saidToRoom, type AskedInRoom } from "../../engine/turn/heard-answers.ts";
import { mentionDirectory, withoutCalls } from "../decide/mentions.ts";
import { mayNotAnswer } from "../orders/pressed-by.ts";
import { questionButtons, questionText, type RoomQuestion } from "./questions.ts";

const ASKER = { adapter: "discord", id: "7", name: "민준" };

function aQuestion(given: Partial<RoomQuestion> = {}): RoomQuestion {
  return {
    id: "escalation_1",
    subject: "approval/s/pay/1",
    title: "보낼까요?",
    description: "",
    context: { tool: "pay", by: "person", asker: ASKER, input: { to: "홍길동" } },
    actions: [{ value: "reject", code: "reject", label: "Reject" }],
    status: "open",
    resolution: null,
    resolvedBy: null,
    ...given,
  };
}

const shown = (question: RoomQuestion, length = 1_800) =>
  questionText(question, { locale: "ko", length });

describe("the text of a question", () => {
  test("holds no sign that ends its block, hides a word, or hides an address", () => {
    const input = { to: "a```b\u202e\u200b", password: "1234" };
    const context = { ...aQuestion().context, input };
    const title = "`x` [은행](https://evil.example)\u202e로 보낼까요?";

    const { text } = shown(aQuestion({ title, context }));

    expect(text).toContain('"to": "a\\u0060\\u0060\\u0060b\\u202e\\u200b"');
    expect(text).not.toContain("1234");
    expect(text.match(/```/gu)).toHaveLength(2);
    expect(text).toContain("'x' [은행] (https://evil.example)로 보낼까요?");
  });

  test("fits its platform, and what does not stands whole above it", () => {
    const question = aQuestion({ title: "가".repeat(5_000) });

    const { whole, text } = shown(question);

    expect(whole).toContain("가".repeat(5_000));
    expect(text.length).toBeLessThanOrEqual(1_800);
    expect(text).toContain("바로 위에");
  });

  test.each([
    ["approve", "민준 (discord:7)", "민준 님이 승인했어요."],
    ["reject", "01J (token:01J)", "01J 님이 거절했어요."],
    ["reject", "tok_1", "운영자 님이 거절했어요."],
    ["left", "민준 (discord:7)", "민준 님이 다른 이야기를 해서"],
    ["time", "system", "답할 시간이 지나서"],
    ["settled", "eden", "더 필요하지 않아서"],
  ])("says how it ended: %s by %s", (value, resolvedBy, end) => {
    const question = aQuestion({ status: "resolved", resolution: { value }, resolvedBy });

    expect(shown(question).text).toContain(end);
    expect(questionButtons(question, "ko")).toBeUndefined();
  });

  test.each([
    [{}, "운영자에게"],
    [{ role: "treasury" }, "treasury 역할을 가진 분에게"],
    [{ role: "treasury", two: true }, "두 분의 승인을"],
  ])("of an operator says who is asked: %j", (needs, words) => {
    const actions = [{ value: "approve", code: "approve", label: "Approve" }];
    const context = { tool: "pay", input: {}, needs };

    expect(shown(aQuestion({ context, actions })).text).toContain(words);
  });

  test("offers the yes to its person alone", () => {
    expect(questionButtons(aQuestion(), "ko")).toEqual([
      { value: "escalation_1:approve", code: "approve", label: "승인", for: "7" },
      { value: "escalation_1:reject", code: "reject", label: "거절", for: "7" },
    ]);
    const ofOperator = { tool: "pay", input: {}, asker: ASKER };
    expect(questionButtons(aQuestion({ context: ofOperator }), "ko")).toEqual([
      { value: "escalation_1:reject", code: "reject", label: "거절", for: undefined },
    ]);
  });
});

describe("who may answer in a room", () => {
  const by = { adapter: "discord", id: "7", name: "민준" };
  const there = { approvers: ["9"], isThere: true };

  test.each([
    [by, there, undefined],
    [{ ...by, name: "다른 이름" }, there, undefined],
    [by, { ...there, isThere: false }, "elsewhere"],
    [{ ...by, id: "9", manages: true }, there, "for-another"],
    [{ ...by, adapter: "slack" }, there, "for-another"],
  ])("the person who was asked, there: %j %j", (person, place, because) => {
    expect(mayNotAnswer(aQuestion(), person, place)?.because).toBe(because);
  });

  test("of an operator's question those who decide for the team, wherever it stands", () => {
    const question = aQuestion({ context: { tool: "pay", asker: ASKER } });
    const elsewhere = { ...there, isThere: false };

    expect(mayNotAnswer(question, by, there)?.because).toBe("not-an-approver");
    expect(mayNotAnswer(question, { ...by, id: "9" }, elsewhere)).toBeUndefined();
  });

  test("of a call that needs a role those who have it on their platform", () => {
    const question = aQuestion({ context: { tool: "pay", needs: { role: "treasury" } } });
    const roles = { treasury: ["12", "R1"], audit: ["R2"] };
    const of = (person: object) =>
      mayNotAnswer(question, { ...by, ...person }, { ...there, roles });

    expect(of({ id: "12" })).toBeUndefined();
    expect(of({ roles: ["R1"] })).toBeUndefined();
    expect(of({ roles: ["R2"] })?.because).toBe("lacks-role");
    expect(mayNotAnswer(question, { ...by, roles: ["R1"] }, there)?.because).toBe("lacks-role");
  });
});

describe("a person's words in a room", () => {
  const asked = (seq: number, turn: string): AskedInRoom => ({
    subject: `approval/${seq}`,
    turn,
    message: `message_${seq}`,
    seq,
    at: 1_000,
  });
  const all = [asked(3, "turn_1"), asked(4, "turn_1"), asked(8, "turn_2")];
  const said = (text: string, given: { seq?: number; replyTo?: string; at?: number } = {}) =>
    saidToRoom(
      all,
      { text, seq: given.seq ?? 9, replyTo: given.replyTo },
      { acceptedAt: given.at ?? 2_000, holdsMs: 600_000 },
    );
  const EVERY = ["approval/3", "approval/4", "approval/8"];

  test.each([
    ["네", {}, "approve", ["approval/8"]],
    ["네", { replyTo: "message_3" }, "approve", ["approval/3"]],
    ["네", { replyTo: "message_7" }, "left", EVERY],
    ["네", { at: 601_001 }, "left", EVERY],
    ["아니요", { at: 601_001 }, "reject", ["approval/8"]],
    ["네", { seq: 8 }, "approve", ["approval/3", "approval/4"]],
    ["네 근데 7만원으로", {}, "left", EVERY],
  ] as const)("“%s” with %j is %s of %j", (text, given, what, subjects) => {
    expect(said(text, given)).toEqual({ said: what, subjects });
  });

  test("that were written before anything was shown say nothing to it", () => {
    expect(said("네", { seq: 3 })).toBeUndefined();
  });

  test.each([
    ["@루다 네", "네"],
    ["<@ruda> 응", "응"],
    ["@배포 담당 네", "네"],
    ["네 @루다", "네"],
    ["@모르는사람 네", "@모르는사람 네"],
    ["네", "네"],
  ])("“%s” is read as “%s”", (text, words) => {
    const directory = mentionDirectory([
      { agent: "ruda", names: ["루다"] },
      { agent: "deployer", names: ["배포 담당"] },
    ]);

    expect(withoutCalls(text, directory)).toBe(words);
  });
});
