import { conversationalAgent, defineService, tool } from "dure";
import { formTexts, slot, slotAgents, slotFlow, type SlotReading } from "dure/slots";
import { expect, test } from "vitest";
import { z } from "zod";
import { FormDesk } from "./form-desk.ts";

/** Slots that people may leave empty, and what they say to do so. */
interface Table {
  readonly day?: string;
  readonly memo?: string;
  readonly chairs?: number;
  readonly quiet?: boolean;
}

const SLOTS = {
  day: slot.date(),
  memo: slot.text({ max: 20, askOnce: true }),
  quiet: slot.boolean({ askOnce: true, needed: ({ memo }) => memo === "quiet, please" }),
  chairs: slot.number({ max: 4, required: false }),
};
const NAMES = { day: "day", memo: "memo", quiet: "quiet corner", chairs: "chairs" };
const NAMES_KO = { day: "날짜", memo: "메모", quiet: "조용한 자리", chairs: "의자" };

function textsIn(locale: "ko" | "en") {
  return formTexts<Table>(locale, {
    slots: SLOTS,
    slotNames: locale === "ko" ? NAMES_KO : NAMES,
    questions: {
      day: "Which day?",
      memo: "Any note for us?",
      quiet: "A quiet corner?",
      chairs: "How many chairs?",
    },
    describe: () => "a table",
    confirmQuestion: (slots) => `Shall I book ${JSON.stringify(slots)}?`,
    receipt: () => "Booked.",
  });
}

const SERVICE = defineService({
  name: "tables",
  agents: {
    intent: conversationalAgent({ name: "intent", schema: z.object({ scenario: z.string() }) }),
    ...slotAgents(SLOTS, { interaction: "Answer." }),
  },
  ...slotFlow<Table>({
    flow: "TABLE",
    slots: SLOTS,
    texts: { ko: textsIn("ko"), en: textsIn("en") },
    deed: {
      call: "book",
      tool: tool({
        description: "Books it.",
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

function reading(
  changes: SlotReading["items"][number]["changes"],
  more: Partial<SlotReading> = {},
): SlotReading {
  return { kind: "details", items: [{ changes }], clear: [], note: "", ...more };
}

const TOMORROW = { slot: "day", value: "2026-11-19", quote: "tomorrow" };
const QUIET: SlotReading = { kind: "other", items: [], clear: [], note: "" };

/** A session whose model reads these messages so; it is asked of no others. */
function deskOf(readings: Readonly<Record<string, SlotReading>>): FormDesk {
  return new FormDesk(
    SERVICE,
    ({ agent, message }) => {
      if (agent === "intent") return { scenario: "TABLE" };
      return agent === "slots" ? (readings[message] ?? QUIET) : { action: "chat", message: "Hm." };
    },
    { locale: "en" },
  );
}

const BOOK = "a table tomorrow";
const READ = { [BOOK]: reading([TOMORROW]) };

test("a slot of askOnce is asked for behind those that are needed, with a button to skip it", async () => {
  const desk = deskOf({ table: reading([]), tomorrow: reading([TOMORROW]) });

  const [first, second] = [await desk.say("table"), await desk.say("tomorrow")];

  expect([first.message, second.message]).toEqual(["Which day?", "Any note for us?"]);
  expect([first.buttons, second.buttons]).toEqual([[], ["Skip"]]);
});

test.each([
  ..."없어요,없음,없습니다,따로 없어요,딱히 없어요,건너뛸게요,건너뛰어 주세요,패스,스킵할게요".split(
    ",",
  ),
  ..."비워 주세요,비워둘게요,필요 없어요,됐어요,아니요,아니요 괜찮아요,괜찮아요,안 할래요".split(
    ",",
  ),
  ..."메모는 없이,메모 없이 해주세요,메모는 없어요,메모는 빼 주세요,메모는 됐어요,없이 해주세요".split(
    ",",
  ),
  ..."skip,skip it please,Skip,no,nope,no thanks,none,nothing,pass,no need,n/a".split(","),
  ..."leave it empty,leave it blank,no memo,without a memo,skip the memo,I don't need a memo".split(
    ",",
  ),
  ..."leave the memo empty,no memo please,no memo thanks,I'm good".split(","),
])("%s leaves the memo empty that was asked for, and it is not asked for again", async (words) => {
  const desk = deskOf(READ);
  await desk.say(BOOK);

  const left = await desk.say(words);
  const booked = await desk.say("yes");

  expect(left.message).toBe('Shall I book {"day":"2026-11-19"}?');
  expect(booked.message).toBe("Booked.");
  expect(desk.done.map(({ input }) => input)).toEqual([{ day: "2026-11-19" }]);
});

test.each(["취소", "취소해줘", "그만할게요", "cancel", "stop it", "never mind", "보내지 마"])(
  "%s to a slot that may be left empty gives the form up",
  async (words) => {
    const desk = deskOf(READ);
    await desk.say(BOOK);

    expect((await desk.say(words)).message).toBe("Cancelled. Nothing was done.");
  },
);

test.each(["없어요", "no day", "날짜는 없이", "none"])(
  "%s leaves no slot empty that is needed",
  async (words) => {
    const desk = deskOf({ table: reading([]) });
    await desk.say("table");

    expect((await desk.say(words)).message).toContain("Which day?");
  },
);

test.each([
  "메모 없어요?",
  "no memo?",
  "no memo on Friday",
  "메모는 없이 금요일로",
  "네 메모 남길게요",
])("%s is read by the model, and leaves nothing empty by itself", async (words) => {
  const desk = deskOf(READ);
  await desk.say(BOOK);

  expect((await desk.say(words)).message).toContain("Any note for us?");
});

test("a model that empties a slot, or hears a refusal of it, leaves it empty", async () => {
  const cleared = deskOf({ [BOOK]: reading([TOMORROW], { clear: ["memo"] }) });
  const removed = deskOf({
    [BOOK]: reading([TOMORROW], {
      items: [
        { changes: [TOMORROW] },
        { move: "remove", changes: [{ slot: "memo", value: "", quote: "" }] },
      ],
    }),
  });
  const refused = deskOf({ ...READ, "nah, that is fine": { ...QUIET, kind: "refuse" } });
  await refused.say(BOOK);

  const asked = [
    await cleared.say(BOOK),
    await removed.say(BOOK),
    await refused.say("nah, that is fine"),
  ];

  for (const { message } of asked) expect(message).toBe('Shall I book {"day":"2026-11-19"}?');
});

test("a model that gives the form up does so", async () => {
  const desk = deskOf({ ...READ, "I give up on all this": { ...QUIET, kind: "cancel" } });
  await desk.say(BOOK);

  expect((await desk.say("I give up on all this")).message).toBe("Cancelled. Nothing was done.");
});

test("an optional slot is taken out by its name before the yes, and is not asked for again", async () => {
  const note = reading([{ slot: "memo", value: "by the window", quote: "by the window" }]);
  const desk = deskOf({ ...READ, "by the window": note });
  await desk.say(BOOK);

  const shown = await desk.say("by the window");
  const emptied = await desk.say("no memo");

  expect(shown.message).toContain('"memo":"by the window"');
  expect(emptied.message).toBe('Shall I book {"day":"2026-11-19"}?');
});

test("a value of an optional slot that is refused may be left out instead", async () => {
  const nine = { slot: "chairs", value: 9, quote: "9 chairs" };
  const said = "tomorrow, 9 chairs, no memo";
  const desk = deskOf({ [said]: reading([TOMORROW, nine], { clear: ["memo"] }) });

  const refused = await desk.say(said);
  const left = await desk.say("skip");

  expect(refused.message).toBe("It must be 4 or less. How many chairs?");
  expect(refused.buttons).toEqual(["Skip"]);
  expect(left.message).toBe('Shall I book {"day":"2026-11-19"}?');
});

test("a no to what is asked with yes or no is its value, and gives nothing up", async () => {
  const note = reading([{ slot: "memo", value: "quiet, please", quote: "quiet, please" }]);
  const no = reading([{ slot: "quiet", value: false, quote: "no" }]);
  const desk = deskOf({ ...READ, "quiet, please": note, no });
  await desk.say(BOOK);

  const asked = await desk.say("quiet, please");
  const answered = await desk.say("no");

  expect(asked.message).toBe("A quiet corner?");
  expect(answered.message).toContain('"quiet":false');
});

test("each of several entries is asked for its own memo", async () => {
  const two = reading([], {
    items: [
      { changes: [TOMORROW] },
      { move: "add", changes: [{ slot: "day", value: "2026-11-20", quote: "Friday" }] },
    ],
  });
  const desk = deskOf({ "tomorrow and Friday": two });
  await desk.say("tomorrow and Friday");

  expect((await desk.say("skip")).state.meta.declined).toEqual(["memo"]);
});
