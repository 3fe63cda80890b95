import { describe, expect, test } from "vitest";
import { FULL } from "../../src/kernel/test-tiers.ts";
import type { SlotReading } from "../../src/slots/prompts.ts";
import { FormDesk, type DeskModel } from "./form-desk.ts";
import { reads } from "./people-words.ts";
import { talk, told } from "./people.ts";
import { SERVICES } from "./services.ts";

/** People of the normal tier, of the full one, and of one test there. */
const COUNTS = { normal: 200, full: 10_000, each: 500 } as const;

/** Runs the person of this seed alone. */
const ONLY = process.env["DURE_TEST_SEED"];

const BLOCKS = Array.from({ length: COUNTS.full / COUNTS.each }, (_, place) => ({
  from: COUNTS.normal + 1 + place * COUNTS.each,
}));

describe.skipIf(ONLY !== undefined)("people who change their mind", () => {
  test(
    "people get what they mean and said yes to, once, whatever a model reads",
    { timeout: 120_000 },
    async () => {
      await expectNoFaults(1, COUNTS.normal);
    },
  );

  test.each(BLOCKS)(
    "500 people from seed $from get what they mean, once",
    { ...FULL, timeout: 300_000 },
    async ({ from }) => {
      await expectNoFaults(from, COUNTS.each);
    },
  );
});

test.runIf(ONLY !== undefined)(
  "the person of DURE_TEST_SEED gets what they mean, once",
  async () => {
    await expectNoFaults(Number(ONLY), 1);
  },
);

test("the button of an earlier question answers no doubt", async () => {
  const { service, flow } = SERVICES.transfer;
  const readings = [readsTarget("Peter", "Peter"), readsTarget("ian", "Brian")];
  const model: DeskModel = ({ agent }) =>
    agent === "intent" ? { scenario: flow } : readings.shift();
  const desk = new FormDesk(service, model, { locale: "en" });
  const { confirmId } = await desk.say("send 50,000 won to Peter");
  const doubt = await desk.say("sorry, 50,000 won to Brian");

  const pressed = await desk.say("Confirm", { confirmId });

  expect(doubt.state.meta.doubts["target"]).toEqual([{ value: "ian" }]);
  expect(pressed.state.slots).toEqual(doubt.state.slots);
  expect(pressed.state.meta.doubts).toEqual(doubt.state.meta.doubts);
});

function readsTarget(value: string, quote: string): SlotReading {
  const amount = { slot: "amount", value: 50_000, quote: "50,000 won" };
  return reads("details", { move: "correct", changes: [{ slot: "target", value, quote }, amount] });
}

async function expectNoFaults(from: number, count: number): Promise<void> {
  const faulty: string[] = [];
  let done = 0;
  for (let seed = from; seed < from + count; seed++) {
    const talked = await talk(seed);
    done += talked.done;
    if (talked.faults.length > 0) faulty.push(told(talked));
  }

  expect(faulty.slice(0, 3).join("\n\n")).toBe("");
  // People who get nothing done would prove nothing.
  if (count > 1) expect(done).toBeGreaterThan(count);
}
