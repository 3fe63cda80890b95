import { conversationalAgent, defineService, tool } from "dure";
import { formTexts, slot, slotAgents, slotFlow, type Contact, type SlotReading } from "dure/slots";
import { expect, test } from "vitest";
import { z } from "zod";
import { FormDesk, type DeskModel } from "./form-desk.ts";
import { formAt, SERVICES } from "./services.ts";

/** What a form does around a reading: what it shows, asks, and never says. */
type Change = SlotReading["items"][number]["changes"][number];

function reads(...changes: readonly Change[]): SlotReading {
  return { kind: "details", items: [{ changes }], clear: [], note: "" };
}

const QUIET: SlotReading = { kind: "other", items: [], clear: [], note: "" };

/** A model that gives these readings one after the other, and then none. */
function inTurn(readings: readonly SlotReading[], aside = ""): DeskModel {
  const left = [...readings];
  return ({ agent }) => {
    if (agent === "intent") return { scenario: "ORDER" };
    return agent === "slots" ? (left.shift() ?? QUIET) : { action: "chat", message: aside };
  };
}

interface Tea {
  readonly who?: string;
  readonly sum?: number;
}

const SLOTS = { who: slot.person({ identifies: true }), sum: slot.money() };

/** A form in English alone, whose person has these contacts, and so many won. */
function teaShop(contacts: readonly Contact[] = [], balance?: number) {
  const texts = formTexts<Tea>("en", {
    slots: SLOTS,
    slotNames: { who: "recipient", sum: "amount" },
    questions: { who: "Who is it for?", sum: "How much?" },
    describe: ({ who = "" }) => who,
    confirmQuestion: ({ who = "", sum = 0 }) => `Shall I send ${sum} to ${who}?`,
    receipt: ({ who = "" }) => `Sent to ${who}.`,
  });
  return defineService({
    name: "tea",
    agents: {
      intent: conversationalAgent({ name: "intent", schema: z.object({ scenario: z.string() }) }),
      ...slotAgents(SLOTS, { interaction: "Answer." }),
    },
    ...slotFlow<Tea>({
      flow: "ORDER",
      slots: SLOTS,
      texts: { en: texts },
      entities: { contacts: () => contacts, whole: () => balance },
      deed: {
        call: "send",
        tool: tool({
          description: "Sends it.",
          inputSchema: z.looseObject({}),
          effect: "once",
          recover: "replay",
          execute: () => null,
        }),
        input: (values) => values,
        details: () => ({}),
      },
    }),
  });
}

const TO_MOM = reads(
  { slot: "who", value: "엄마", quote: "엄마한테" },
  { slot: "sum", value: 50_000, quote: "5만원" },
);

test.each([
  ["send all of it to Mom", "all of it", 70_000, "the whole amount = 70,000 won"],
  ["everything except 10,000 won to Mom", "everything except 10,000 won", 60_000, "= 60,000 won"],
])("all there is counts from what the service knows: %s", async (message, quote, sum, shown) => {
  const reading = reads(
    { slot: "who", value: "Mom", quote: "Mom" },
    { slot: "sum", value: sum, quote },
  );

  const known = await new FormDesk(teaShop([], 70_000), inTurn([reading]), { locale: "en" }).say(
    message,
  );
  const unknown = await new FormDesk(teaShop(), inTurn([reading]), { locale: "en" }).say(message);

  expect(known.message).toContain(shown);
  expect(known.state.slots).toEqual({ who: "Mom", sum });
  expect(unknown.nextAction).toBe("ASK");
});

test.each([Number.NaN, -1, 0, 1.5, 1e20, "70000" as never])(
  "%j is no amount of all there is, so it is asked about",
  async (balance) => {
    const reading = reads(
      { slot: "who", value: "Mom", quote: "Mom" },
      { slot: "sum", value: 70_000, quote: "all of it" },
    );
    const desk = new FormDesk(teaShop([], balance), inTurn([reading]), { locale: "en" });

    const { nextAction, state } = await desk.say("send all of it to Mom");

    expect([nextAction, state.slots]).toEqual(["ASK", { who: "Mom" }]);
  },
);

test("a form that speaks one language speaks it in every session", async () => {
  const desk = new FormDesk(teaShop(), inTurn([]), { locale: "ko" });

  expect((await desk.say("보내줘")).message).toBe("Please tell me: recipient and amount.");
});

test("the name of a contact is shown with the name that was said, and is what is done", async () => {
  const shop = teaShop([{ name: "김영숙", says: ["엄마"] }]);
  const desk = new FormDesk(shop, inTurn([TO_MOM]));

  const asked = await desk.say("엄마한테 5만원");
  await desk.say("yes");

  expect(asked.message).toBe("“엄마” = 김영숙\nShall I send 50000 to 김영숙?");
  expect(desk.done.map(({ input }) => input)).toEqual([{ who: "김영숙", sum: 50_000 }]);
});

test("a value of which one is not sure is taken by a yes, and that is no yes to the deed", async () => {
  const rough = reads(
    { slot: "who", value: "Mom", quote: "Mom" },
    { slot: "sum", value: 50_000, quote: "about 50k won" },
  );
  const desk = new FormDesk(teaShop(), inTurn([rough]), { locale: "en" });

  const doubted = await desk.say("about 50k won to Mom");
  const asked = await desk.say("yes");

  expect(doubted.buttons).toEqual(["Yes", "No"]);
  expect(doubted.message).toMatch(/^Amount: is it .*50,000.*\?$/);
  expect(asked).toMatchObject({ nextAction: "CONFIRM", message: "Shall I send 50000 to Mom?" });
  expect(desk.done).toEqual([]);
});

test("a change of something else leaves open who is meant, and a bare one says it", async () => {
  const { service, flow } = SERVICES.transfer;
  const readings = [
    reads(
      { slot: "target", value: "홍길동", quote: "홍길동" },
      { slot: "amount", value: 10_000, quote: "만원" },
    ),
    reads({ slot: "target", value: "정하준", quote: "정하준" }),
    reads({ slot: "amount", value: 70_000, quote: "7만원" }),
  ];
  const desk = new FormDesk(service, (asked) =>
    asked.agent === "intent" ? { scenario: flow } : (readings.shift() ?? QUIET),
  );
  await desk.say("홍길동에게 만원 보내줘");
  const asked = await desk.say("정하준");

  const changed = await desk.say("7만원으로 바꿔줘");
  const same = await desk.say("7만원으로");
  const settled = await desk.say("바꿔줘");

  expect([changed.buttons, same.buttons]).toEqual([asked.buttons, asked.buttons]);
  expect(changed.state.slots).toEqual({ target: "홍길동", amount: 70_000 });
  expect(settled.state.slots).toEqual({ target: "정하준", amount: 70_000 });
});

test("an amount of each month is no repetition where a slot takes it, and another one is", async () => {
  const { service, flow } = SERVICES.card;
  const read = reads(
    { slot: "kind", value: "credit", quote: "신용카드" },
    { slot: "limit", value: 2_000_000, quote: "매달 200만원" },
  );
  const model: DeskModel = ({ agent }) => (agent === "intent" ? { scenario: flow } : read);
  const desk = new FormDesk(service, model);

  const repeated = await desk.say("매달 신용카드 신청해줘");
  const taken = await desk.say("신용카드, 한도는 매달 200만원");

  expect(repeated.message).toContain("되풀이");
  expect(taken.state.slots).toEqual({ kind: "credit", limit: 2_000_000 });
});

test("a button of a doubt that is over says no yes to the question behind it", async () => {
  const rough = reads(
    { slot: "who", value: "Mom", quote: "Mom" },
    { slot: "sum", value: 50_000, quote: "about 50k won" },
  );
  const desk = new FormDesk(teaShop(), inTurn([rough]), { locale: "en" });
  const doubted = await desk.say("about 50k won to Mom");
  const asked = await desk.say("Yes", { confirmId: doubted.confirmId });

  const again = await desk.say("Yes", { confirmId: doubted.confirmId });

  expect(asked.nextAction).toBe("CONFIRM");
  expect(again.message).toBe(`This is not done yet. Please check it again.\n${asked.message}`);
  expect(desk.done).toEqual([]);
});

test("an old button of cancelling leaves a fresh form alone, and says that it is old", async () => {
  const toDad = reads({ slot: "who", value: "Dad", quote: "Dad" });
  const desk = new FormDesk(teaShop(), inTurn([TO_MOM, toDad]), { locale: "en" });
  const { confirmId } = await desk.say("엄마한테 5만원");
  await desk.say("Cancel", { confirmId });
  const nothing = await desk.say("Cancel", { confirmId });
  await desk.say("to Dad");

  const { message, state } = await desk.say("Cancel", { confirmId });

  expect(nothing.message).toBe("There is nothing to cancel right now.");
  expect(message).toBe(
    "That button belongs to an earlier question, so nothing has changed.\nHow much?",
  );
  expect(state).toMatchObject({ stage: "FILLING", slots: { who: "Dad" } });
});

test("a question on the way takes no button away, and one that was shown before it counts", async () => {
  const desk = new FormDesk(SERVICES.appointment.service, ({ agent, message }) => {
    if (agent === "intent") return { scenario: "VISIT" };
    const book = reads({ slot: "deed", value: "book", quote: message });
    return message === "예약하기" ? book : { ...QUIET, message: "9시부터예요." };
  });
  const { buttons, confirmId } = await desk.say("진료 때문에요");

  const aside = await desk.say("몇 시부터 해요?");
  const chosen = await desk.say("예약하기", { confirmId });
  const old = await desk.say("예약 취소하기", { confirmId });

  expect(aside.buttons).toEqual(buttons);
  expect(chosen.state.slots).toEqual({ deed: "book" });
  expect(old.message).toBe(`지난 질문의 버튼이라 바뀐 것은 없어요.\n${chosen.message}`);
  expect(old.state.slots).toEqual({ deed: "book" });
});

test("an aside that reports a deed is not shown, and the question stands as it was", async () => {
  const desk = new FormDesk(teaShop(), inTurn([TO_MOM], "I have moved it for you."), {
    locale: "en",
  });
  const asked = await desk.say("엄마한테 5만원");

  const { message } = await desk.say("Is it raining?");

  expect(message).toBe(`I cannot answer that.\n${asked.message}`);
});

test("an error is said with what is asked, whatever a model says", async () => {
  const dollars = reads(
    { slot: "who", value: "Mom", quote: "Mom" },
    { slot: "sum", value: 50, quote: "50 dollars" },
  );
  const desk = new FormDesk(teaShop(), inTurn([dollars], "What can I do for you?"), {
    locale: "en",
  });

  const { message } = await desk.say("50 dollars to Mom");

  expect(message).toMatch(/\S+ How much\?$/);
  expect(message).not.toContain("What can I do");
});

test("which of several deeds is meant is asked with a button for each", async () => {
  const desk = new FormDesk(SERVICES.appointment.service, ({ agent }) =>
    agent === "intent" ? { scenario: "VISIT" } : QUIET,
  );

  const { message, buttons } = await desk.say("진료 때문에요");

  expect(message).toBe("예약하기, 옮기기, 취소하기 중 무엇을 도와드릴까요?");
  expect(buttons).toEqual(["예약하기", "예약 옮기기", "예약 취소하기"]);
});

test.each([
  ["today at 9am", "09:00", "That time has passed. At what time?"],
  ["today at 4pm", "16:00", "Shall I book Dr. Kim, November 18, 2026 at 4:00 pm?"],
])("what the practice says of %j is said before the question", async (said, time, expected) => {
  const { service, flow } = SERVICES.appointment;
  const day = { slot: "day", value: "2026-11-18", quote: "today" };
  const visit = reads(
    { slot: "deed", value: "book", quote: "Book" },
    { slot: "doctor", value: "kim", quote: "Dr. Kim" },
    ...[day, { slot: "time", value: time, quote: said.slice("today at ".length) }],
  );
  const desk = new FormDesk(
    service,
    ({ agent }) => (agent === "intent" ? { scenario: flow } : visit),
    { locale: "en" },
  );

  const { message } = await desk.say(`Book Dr. Kim ${said}`);

  expect(message).toBe(expected);
});

test("a value that the deed has no place for is left out of the question, and that is said", async () => {
  const { service, flow } = SERVICES.card;
  const readings = [
    reads(
      { slot: "kind", value: "credit", quote: "credit" },
      { slot: "applicant", value: "Mina", quote: "Mina" },
      { slot: "birthday", value: "1990-05-03", quote: "May 3, 1990" },
      { slot: "phone", value: "01012345678", quote: "010-1234-5678" },
      { slot: "address", value: "1 Main Street", quote: "1 Main Street" },
      { slot: "limit", value: 2_000_000, quote: "2,000,000 won" },
    ),
    reads({ slot: "kind", value: "debit", quote: "debit" }),
  ];
  const desk = new FormDesk(
    service,
    ({ agent }) => (agent === "intent" ? { scenario: flow } : readings.shift()),
    { locale: "en" },
  );
  const asked = await desk.say(
    "A credit card for Mina, May 3, 1990, 010-1234-5678, 1 Main Street, limit 2,000,000 won",
  );

  const changed = await desk.say("make it a debit card");

  expect(asked.message).toContain("2,000,000");
  expect(changed.nextAction).toBe("CONFIRM");
  expect(changed.message).toMatch(/^Not used here, so left out: monthly limit\.\n/u);
  expect(changed.message).not.toContain("2,000,000");
  expect(changed.state.slots).not.toHaveProperty("limit");
});

test.each([
  ["don't book Dr. Kim tomorrow at 3pm", "en"],
  ["김 원장님 내일 3시 예약하지 마세요", "ko"],
])("%j begins no booking", async (words, locale) => {
  const { service, flow } = SERVICES.appointment;
  const visit = reads(
    { slot: "deed", value: "book", quote: locale === "en" ? "book" : "예약" },
    { slot: "doctor", value: "kim", quote: locale === "en" ? "Dr. Kim" : "김 원장님" },
  );
  const desk = new FormDesk(
    service,
    ({ agent }) =>
      agent === "intent" ? { scenario: flow } : agent === "slots" ? visit : { message: "" },
    { locale },
  );

  const { state } = await desk.say(words);

  expect(state.slots).toEqual({});
});

test.each([
  ["don't move it", "reschedule", { number: "A-7", day: "2026-11-20", time: "15:00" }],
  ["don't cancel it", "cancel", { number: "A-7" }],
])("%j gives up the deed that is asked about", async (words, deed, slots) => {
  const { service, flow } = SERVICES.appointment;
  const desk = new FormDesk(service, () => QUIET, { locale: "en" });
  const form = formAt({ in: "appointment", lang: "en", at: "ready" })!;
  await desk.stand({ ...form, slots: { deed, ...slots } }, flow);

  const { state } = await desk.say(words);

  expect(state.stage).toBe("CANCELLED");
  expect(desk.done).toEqual([]);
});

test("a skip of what is needed gives nothing up", async () => {
  const { service, flow } = SERVICES.appointment;
  const readings: SlotReading[] = [QUIET, { ...QUIET, kind: "refuse" }];
  const desk = new FormDesk(
    service,
    ({ agent }) => (agent === "slots" ? readings.shift() : { message: "" }),
    { locale: "en" },
  );
  await desk.stand(formAt({ in: "appointment", lang: "en", at: "filling" })!, flow);

  const { state, message } = await desk.say("skip");

  expect(state.slots).toEqual({ deed: "book", doctor: "kim" });
  expect(message).toBe("Please tell me: day and time.");
});

test("a bare cancel that can mean the deed or the form is asked about with both names", async () => {
  const { service, flow } = SERVICES.appointment;
  const desk = new FormDesk(service, () => QUIET, { locale: "en" });
  await desk.stand(formAt({ in: "appointment", lang: "en", at: "cancelling" })!, flow);

  const { message } = await desk.say("cancel");

  expect(message).toContain("That can mean “Cancel the visit” or “Never mind”.");
});

test("a doubt between two deeds calls them by the names on their buttons", async () => {
  const { service, flow } = SERVICES.appointment;
  const visit = reads({ slot: "deed", value: "cancel", quote: "예약해둔 거 취소" });
  const desk = new FormDesk(service, ({ agent }) =>
    agent === "intent" ? { scenario: flow } : visit,
  );

  const { message, buttons } = await desk.say("저 예약해둔 거 취소 좀 할게요");

  expect(message).toBe("예약하기, 예약 취소하기 중 어느 쪽인가요?");
  expect(buttons).toEqual(["예약하기", "예약 취소하기"]);
});

test.each([0.5, 1, 1.5, 2])(
  "a turn that dies at step %d does its deed once",
  async (diesBefore) => {
    const desk = new FormDesk(teaShop(), inTurn([TO_MOM]), { locale: "en" });
    await desk.say("엄마한테 5만원");

    await desk.say("yes", { diesBefore: diesBefore - 0.5 });

    expect(desk.done).toHaveLength(1);
  },
);

test("five slots one by one and one misunderstanding do not end a form", async () => {
  const { service, flow } = SERVICES.card;
  const readings = [
    reads({ slot: "kind", value: "debit", quote: "체크" }),
    QUIET,
    reads({ slot: "applicant", value: "김하늘", quote: "김하늘" }),
    reads({ slot: "birthday", value: "1990-05-03", quote: "1990년 5월 3일" }),
    QUIET,
    reads({ slot: "phone", value: "01012345678", quote: "010-1234-5678" }),
    reads({ slot: "address", value: "서울시 강남구 1", quote: "서울시 강남구 1" }),
  ];
  const desk = new FormDesk(service, (asked) =>
    asked.agent === "intent" ? { scenario: flow } : asked.agent === "slots" ? readings.shift() : {},
  );
  const said = [
    "체크",
    "음…",
    "김하늘",
    "1990년 5월 3일",
    "글쎄요",
    "010-1234-5678",
    "서울시 강남구 1",
  ];

  let last = "";
  for (const words of said) last = String((await desk.say(words)).nextAction);

  expect(last).toBe("CONFIRM");
});
