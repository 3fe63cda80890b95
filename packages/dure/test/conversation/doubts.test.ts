import { expect, test } from "vitest";
import { agentAsked } from "../../../../examples/transfer/prompts.ts";
import { MESSAGES } from "../../../../examples/transfer/messages.ts";
import { FULL } from "../../src/kernel/test-tiers.ts";
import { openOffice, type Desk, type Office, type WireDone } from "./desk.ts";

/**
 * What a form asks because it is in doubt, over HTTP, with a bank that counts: it stands until it is
 * answered, whatever goes wrong in between, and its answer counts once.
 */
const { ko } = MESSAGES;
const CHANGE = "정하준님으로 바꾸기";
const TO_THE_OTHER = ko.confirmQuestion({ target: "정하준", amount: 50_000 });

interface Doubting extends AsyncDisposable {
  readonly office: Office;
  readonly desk: Desk;
  readonly doubted: WireDone;
}

/** 50,000 won to 홍길동, and a bare other name. */
async function inDoubt(): Promise<Doubting> {
  await using stack = new AsyncDisposableStack();
  const office = stack.use(await openOffice());
  const desk = await office.open();
  await desk.say({ message: "홍길동에게 5만원 보내줘", service: "transfer" });
  const doubted = await desk.say("정하준");
  expect(doubted.ui_hint.buttons).toEqual([CHANGE, "정하준님에게도 보내기"]);
  const kept = stack.move();
  return { office, desk, doubted, [Symbol.asyncDispose]: () => kept.disposeAsync() };
}

/** Its button, pressed at this process: then the yes, and one transfer as it was shown. */
async function expectAnsweredOnce({ office, doubted }: Doubting, desk: Desk): Promise<void> {
  const asked = await desk.press(CHANGE, doubted);
  expect(asked).toMatchObject({ next_action: "CONFIRM", message: TO_THE_OTHER });
  expect(office.bank.bookings()).toEqual([]);
  await desk.press("확인", asked);
  expect(office.bank.bookings()).toMatchObject([{ to: "정하준", amount: 50_000 }]);
}

test("a doubt stands, and its button counts, after a model that failed on another answer", async () => {
  await using place = await inDoubt();
  const { office, desk } = place;
  const isSlots = (system = ""): boolean => agentAsked(system) === "slots";
  office.mood.answer = ({ system }) => (isSlots(system) ? { error: { status: 400 } } : undefined);

  const failed = await desk.say("7만원으로 해줘");
  office.mood.answer = undefined;

  expect(failed.error).toBeDefined();
  await expectAnsweredOnce(place, desk);
});

test("a doubt is answered by its button while no model answers at all", async () => {
  await using place = await inDoubt();
  place.office.mood.answer = () => ({ error: { status: 400 } });

  await expectAnsweredOnce(place, place.desk);
});

test("a doubt that one process has asked is answered at another one", FULL, async () => {
  await using place = await inDoubt();
  const other = await place.office.open();

  await expectAnsweredOnce(place, other);
});

test(
  "both buttons of a doubt, pressed at two processes at once, are one answer",
  FULL,
  async () => {
    await using place = await inDoubt();
    const { office, desk, doubted } = place;
    const other = await office.open();

    const answers = await Promise.all([
      desk.press(CHANGE, doubted),
      other.press("정하준님에게도 보내기", doubted),
    ]);
    const last = answers.find(({ message }) => message.startsWith(ko.confirmAgain));
    expect(last).toBeDefined();
    const first = answers.find((one) => one !== last)!;

    const shown = first.message.split("\n").at(-1)!;
    expect(last!.message).toBe(`${ko.confirmAgain}\n${shown}`);
    await desk.press("확인", last!);
    const to = shown.includes("정하준") ? "정하준" : "홍길동";
    expect(office.bank.bookings()).toMatchObject([{ to, amount: 50_000 }]);
  },
);

test("the yes of a doubt that is over moves no money, however late it comes", async () => {
  await using office = await openOffice();
  const desk = await office.open();
  const doubted = await desk.say({ message: "홍길동에게 4만원쯤 보내줘", service: "transfer" });
  const asked = await desk.press("네", doubted);

  const again = await desk.press("네", doubted);

  expect(doubted.ui_hint.buttons).toEqual(["네", "아니요"]);
  expect(asked.next_action).toBe("CONFIRM");
  expect(again.message).toBe(`${ko.confirmAgain}\n${asked.message}`);
  expect(office.bank.bookings()).toEqual([]);
});
