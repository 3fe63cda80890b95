import { expect, test } from "vitest";
import { classifyReply, parseMoney } from "dure/slots";
import { contextBlock } from "../../packages/dure/src/slots/form-agents.ts";
import { emptyForm, type FormState } from "../../packages/dure/src/slots/form-state.ts";
import { hold, mannerOf } from "../../packages/dure/src/slots/hearing.ts";
import { applyMoves } from "../../packages/dure/src/slots/moves.ts";
import type { SlotReading } from "../../packages/dure/src/slots/prompts.ts";
import { MESSAGES } from "./messages.ts";
import { offlineIntent } from "./offline-model.ts";
import { answerTransfer } from "./offline.ts";
import { doubtsIn, SLOTS } from "./slots.ts";

/** How people type who are in a hurry, and what is made of it: exactly that, or a question. */
const TODAY = "2026-11-18";

/**
 * `엄마 50000`; `-` for what is asked for, `15000|5000` where it is asked which. By the stand-in for
 * a model, and the code that judges what a model reads.
 */
function readAs(message: string, before: FormState = emptyForm()): string {
  const { slots, meta } = before;
  const context = contextBlock({
    agent: "slots",
    locale: "ko",
    today: TODAY,
    stage: before.stage,
    slots,
    slot_errors: meta.slot_errors,
    problems: [],
    missing: [],
    asked_slot: slots["target"] === undefined ? "target" : "amount",
    progress: { index: 1, total: 1 },
  });
  const system = `<context>\n${context}\n</context>`;
  const messages = [{ role: "user", text: message }] as const;
  const reading = answerTransfer({ system, messages })?.object as unknown as SlotReading;
  const heard = hold(reading, {
    specs: SLOTS,
    texts: MESSAGES.ko,
    locale: "ko",
    message,
    state: before,
    contacts: [],
    doubted: doubtsIn(message),
    today: TODAY,
  });
  const manner = mannerOf(message);
  const { state } = applyMoves(before, heard.moves, { specs: SLOTS, today: TODAY, manner });
  const options = state.meta.doubts["amount"]?.map(({ value }) => value).join("|");
  const entries = [state, ...state.tasks].map(({ slots: { target = "-", amount } }) =>
    [target, amount ?? (options || "-")].join(" "),
  );
  return entries.join(", ");
}

function filling(slots: FormState["slots"]): FormState {
  return { ...emptyForm(), stage: "FILLING", slots };
}

test.each([
  // without spaces
  ["엄마에게5만원보내줘", "엄마 50000"],
  ["엄마한테5만원", "엄마 50000"],
  ["엄마한테오만원보내줘", "엄마 50000"],
  ["엄마한테만원", "엄마 10000"],
  ["엄마만원", "엄마 10000"],
  ["홍길동5만", "홍길동 50000"],
  ["홍길동5만원보내줘", "홍길동 50000"],
  ["홍길동오만원", "홍길동 50000"],
  ["홍길동50000", "홍길동 50000"],
  ["엄마50,000원", "엄마 50000"],
  ["홍길동한테3만5천원", "홍길동 35000"],
  ["홍길동3.5만원", "홍길동 35000"],
  ["박성천5만원", "박성천 50000"],
  ["김만원한테5만원", "김만원 50000"],
  ["신입사원한테5만원", "신입사원 50000"],
  ["우리엄마한테5만원", "엄마 50000"],
  ["내일엄마한테5만원", "엄마 50000"],
  ["엄마한테보내줘5만원", "엄마 50000"],
  ["국민110-234-567890으로5만원", "국민110-234-567890 50000"],
  ["엄마한테3만원아빠한테2만원", "엄마 30000, 아빠 20000"],
  ["엄마3만아빠2만", "엄마 30000, 아빠 20000"],
  ["엄마랑아빠한테5만원씩", "엄마 50000, 아빠 50000"],
  ["엄마 아빠 5만씩", "엄마 50000, 아빠 50000"],
  // the amount first
  ["오만원 엄마한테", "엄마 50000"],
  ["5만원을엄마한테", "엄마 50000"],
  ["5만원보내줘엄마한테", "엄마 50000"],
  ["5만 엄마", "엄마 50000"],
  ["50000 홍길동", "홍길동 50000"],
  ["보내줘 5만 엄마", "엄마 50000"],
  // in other forms
  ["엄마 5만 보내줘 ㄱㄱ", "엄마 50000"],
  ["홍길동한테 3만 5천원", "홍길동 35000"],
  ["홍길동 5만 원", "홍길동 50000"],
  ["홍길동 삼만오천원", "홍길동 35000"],
  // typos that leave the amount whole
  ["홍길동 5만웡", "홍길동 50000"],
  ["엄마한테 5만우너", "엄마 50000"],
  ["엄마에게5마넌", "엄마 50000"],
  ["엄마한태 5만원", "엄마 50000"],
  ["엄마하테5만원", "엄마 50000"],
] as const)("reads %j as %s", (message, expected) => {
  expect(readAs(message)).toBe(expected);
  expect(offlineIntent(message).scenario).toBe("TRANSFER");
});

test.each([
  ["5만원 고마워", "- 50000"],
  ["5만원 부탁", "- 50000"],
  ["5만원ㄱㄱ", "- 50000"],
  ["엄마한테 5망원", "엄마 -"],
  ["엄마한테 5마원", "엄마 -"],
  ["엄마한테보내줘", "엄마 -"],
  ["엄마한테만오천원", "엄마 15000|5000"],
  ["엄마만오천원", "엄마 15000|5000"],
  ["동생이만원", "동생 20000|10000"],
  ["홍길동이만원", "홍길동 20000|10000"],
  ["철수오만원", "- 50000|10000"],
  ["엄마한테 3만 5처원", "엄마 35000|30005"],
  ["엄마랑아빠한테5만원", "엄마 -, 아빠 -"],
  ["김만원", "김만원 -"],
  ["민수1004", "민수1004 -"],
  ["ㄱㄱ", "- -"],
  ["네보내주세요", "- -"],
] as const)("asks about %j: %s", (message, expected) => {
  expect(readAs(message)).toBe(expected);
});

const KNOWN = filling({ target: "홍길동" });
test.each([
  ["5만", "홍길동 50000"],
  ["5만원만요", "홍길동 50000"],
  ["5만 원", "홍길동 50000"],
  ["3.5만원", "홍길동 35000"],
  ["삼만오천원", "홍길동 35000"],
  ["아니 3만원", "홍길동 30000"],
  ["아니3만원", "홍길동 30000"],
  ["5만웡", "홍길동 50000"],
  ["5", "홍길동 50000|5"],
  ["5마원", "홍길동 -"],
  ["5반원", "홍길동 -"],
  ["3,5만원", "홍길동 -"],
  ["고마워", "홍길동 -"],
] as const)("takes the answer %j to how much: %s", (message, expected) => {
  expect(readAs(message, KNOWN)).toBe(expected);
});

test("a change without spaces changes the amount that is asked about", () => {
  const ready: FormState = { ...filling({ target: "홍길동", amount: 50_000 }), stage: "READY" };

  expect(readAs("아니3만원", ready)).toBe("홍길동 30000");
  expect(classifyReply("아니3만원").kind).toBe("change");
});

test.each([
  ["ㅇㅇ", "yes"],
  ["웅", "yes"],
  ["넹", "yes"],
  ["넹넹", "yes"],
  ["네ㅔ", "yes"],
  ["보내줘ㅓ", "yes"],
  ["네보내줘", "yes"],
  ["ㅇㅇ보내", "yes"],
  ["보내줭", "yes"],
  ["ㄴㄴ", "no"],
  ["노", "no"],
  ["놉", "no"],
  ["안됨", "no"],
  ["아니다", "no"],
  ["됐어", "cancel-one"],
  ["취소", "cancel-one"],
  ["취소염", "cancel-one"],
  ["ㄴㄴ취소", "cancel-one"],
  ["네취소해주세요", "cancel-one"],
  ["아니보내줘", "unsure"],
  ["ㄱㄱ", "yes"],
  ["ㅇ", "unsure"],
  ["ㅇㅇ ㄱㄱ", "yes"],
  ["확인ㄴㄴ", "other"],
  ["좋아해줘", "other"],
  ["내", "other"],
  ["넼", "other"],
  ["최소", "other"],
  ["ㅊㅅ", "other"],
] as const)("hears %j as %s", (message, kind) => {
  expect(classifyReply(message).kind).toBe(kind);
});

test("an amount is the same however it is glued, or it is asked", () => {
  const amounts = ["5만원", "3만5천원", "오만원", "만원", "50,000원", "12만", "3.5만원"];
  for (const name of ["엄마", "홍길동", "엄마한테", "홍길동에게", "누나"]) {
    for (const amount of amounts) {
      const read = parseMoney(amount);
      const who = name.replace(/한테|에게/u, "");
      expect(readAs(`${name}${amount}`)).toBe(`${who} ${read.ok ? read.value : ""}`);
    }
  }
});
