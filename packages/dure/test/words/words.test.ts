import { describe, expect, test } from "vitest";
import { offlineIntent } from "../../../../examples/transfer/offline-model.ts";
import { answerTransfer } from "../../../../examples/transfer/offline.ts";
import { FULL } from "../../src/kernel/test-tiers.ts";
import { readCases, readingOf, type Case } from "./cases.ts";
import type { DeskModel } from "./form-desk.ts";
import { casesFrom } from "./grammar.ts";
import { hear, type Verdict } from "./judge.ts";
import { rudely } from "./rude-reading.ts";
import { SERVICES } from "./services.ts";

/**
 * Messages in context, half of them by a grammar, half by hand, over three services: nothing is shown
 * without a mark that was not meant, no person is lost or invented, and few are asked in vain.
 */
const BY_HAND = [
  "transfer-ko",
  "transfer-en",
  "cards",
  "appointments",
  "more-ko",
  "more-en",
].flatMap(readCases);
const SEED = 7;
const BY_GRAMMAR = casesFrom(SEED, 1_300);
const ALL = [...BY_HAND, ...BY_GRAMMAR];
/** Of each test file's part, so many messages in the short tier. */
const EVERY = 8;
const SAMPLE = ALL.filter((_, place) => place % EVERY === 0);

/** Asked in vain, of all messages, at most; a sample may have a few more of them by chance. */
const MOST_ASKED = { all: 0.03, sample: 0.045 } as const;

type ModelOf = (one: Case) => DeskModel;

/** Reads what the case says that a competent model reads. */
const competent: ModelOf = (one) => (asked) => {
  if (asked.agent !== "intent") return readingOf(one);
  const begins =
    one.model.kind === "details" && one.model.items.some(({ move }) => move !== "remove");
  return { scenario: begins ? SERVICES[one.in].flow : "GENERAL" };
};

/** The stand-in for a model: patterns, and no model at all. */
const offline: ModelOf = () => (asked) => {
  const { agent, system, message } = asked;
  if (agent === "intent") return { scenario: offlineIntent(message).scenario };
  return answerTransfer({ system, messages: [{ role: "user", text: message }] } as never)?.object;
};

interface Heard {
  readonly counts: Readonly<Record<Verdict, number>>;
  readonly wrong: readonly string[];
}

async function hearAll(cases: readonly Case[], modelOf: ModelOf): Promise<Heard> {
  const counts = { right: 0, asked: 0, wrong: 0 };
  const wrong: string[] = [];
  for (const one of cases) {
    const { verdict, because } = await hear(one, modelOf(one));
    counts[verdict] += 1;
    if (verdict === "wrong") wrong.push(`${one.in} ${one.at} “${one.say}”: ${because}`);
  }
  return { counts, wrong };
}

test("the set has 2,500 messages, half of them by hand, each said once in its place", () => {
  const keys = ALL.map((one) => [one.in, one.lang, one.at, one.say].join("|"));

  expect(BY_HAND.length).toBeGreaterThanOrEqual(1_250);
  expect(BY_GRAMMAR.length).toBeGreaterThanOrEqual(1_250);
  expect(new Set(BY_HAND.map((one) => [one.in, one.lang, one.at, one.say].join("|"))).size).toBe(
    BY_HAND.length,
  );
  expect(keys.length).toBeGreaterThanOrEqual(2_500);
});

describe.each([
  ["a sample of them", SAMPLE, { timeout: 120_000 }],
  ["all of them", ALL, { ...FULL, timeout: 600_000 }],
] as const)("%s", (_, cases, tier) => {
  test(
    "with a competent model nothing wrong is shown, and few are asked in vain",
    tier,
    async () => {
      const { counts, wrong } = await hearAll(cases, competent);

      expect(wrong).toEqual([]);
      const most = cases === SAMPLE ? MOST_ASKED.sample : MOST_ASKED.all;
      expect(counts.asked / cases.length).toBeLessThanOrEqual(most);
    },
  );

  test("without a model nothing wrong is shown", tier, async () => {
    const { wrong } = await hearAll(
      cases.filter((one) => one.in === "transfer"),
      offline,
    );

    expect(wrong).toEqual([]);
  });

  test("with a rude model nothing that was not meant is shown without a mark", tier, async () => {
    const found: string[] = [];
    for (const [place, one] of cases.entries()) found.push(...(await rudely(one, place)));

    expect(found).toEqual([]);
  });
});
