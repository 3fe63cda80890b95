import type { MoneyReading } from "../money/money.ts";
import { isHypothetical } from "./orders.ts";
import { stepsOf, type PersonStep, type PaymentStep } from "./payment-steps.ts";
import { parsePerson } from "./person.ts";
import { LONGEST_SENTENCE, understood, type Reader } from "../reading.ts";

/** A person, and what is to go there; without an amount where none was said. */
export interface Payment {
  readonly to: string;
  readonly amount: MoneyReading | undefined;
}

/** The payments that a sentence names. */
export interface PaymentsReading {
  /** Every person who was named, in order. */
  readonly payments: readonly Payment[];
  /** What must be asked before any of them counts; empty where the sentence says one thing. */
  readonly doubts: readonly PaymentDoubt[];
}

/** What a sentence leaves open about who gets what. */
export type PaymentDoubt =
  /** 엄마랑 아빠한테 5만원: for each, or for both together? */
  | "each-or-total"
  /** 민수 영희한테 5만원: one person or two? */
  | "one-name-or-two"
  /** 엄마한테 5만원 3만원. */
  | "several-amounts"
  /** 5만원 보내줘. */
  | "amount-without-person";

/**
 * People with their amounts in one sentence: `엄마, 아빠, 동생한테 각각 3만원`, `엄마랑 아빠한테 5만원씩`,
 * `엄마 3만, 아빠 2만`, `10k each to Mom and Dad`. No person who was named is dropped; who is only
 * told about (`엄마한테 3만원 받았어`), or is not meant (`not to Bob but to Amy`), is not named. Pure.
 */
export function findPayments(sentence: string): PaymentsReading {
  const line = sentence.normalize("NFC").replaceAll(/[ \t]+/g, " ");
  if (line.length > LONGEST_SENTENCE) return { payments: [], doubts: [] };
  return paymentsOf(stepsOf(line));
}

/**
 * The people whom the grammar of a sentence marks as those who are to get something: `엄마한테`, `to
 * Jane`, `철수는 5만원`. Fewer than `findPayments` finds: none from a report, a question, a quotation,
 * and no word that only stands beside an amount. Pure.
 */
export function namedRecipients(sentence: string): readonly string[] {
  const said = sentence.normalize("NFC").replaceAll(QUOTED, " ");
  if (said.length > LONGEST_SENTENCE || isHypothetical(said)) return [];
  const steps = stepsOf(said);
  const paid = pairsOf(steps);
  const isAList = paid.size > 2;
  const named = steps.filter(
    (step): step is PersonStep =>
      step.kind === "person" && isMarked(step, { isPaid: paid.has(step), isAList }),
  );
  return [...new Set(named.map(({ name }) => name))];
}

const QUOTED =
  /"[^"]{1,200}"|“[^”]{1,200}”|‘[^’]{1,200}’|「[^」]{1,200}」|(?<![\p{L}\d])'[^']{1,200}'/gu;

function isMarked(
  { mark, isOpen, isPlain }: PersonStep,
  { isPaid, isAList }: { readonly isPaid: boolean; readonly isAList: boolean },
): boolean {
  if (isOpen) return false;
  if (mark === "dative") return true;
  if (mark === "to" || mark === "for") return isPlain;
  return isPaid && (isPlain || isAList || mark === "topic");
}

/** For a slot that is a person. */
export const personReader: Reader<string> = {
  parse: parsePerson,
  find: (sentence) =>
    findPayments(sentence).payments.map(({ to }) => ({
      ...understood(to, to),
      at: Math.max(0, sentence.indexOf(to)),
    })),
};

// --- who gets what

function paymentsOf(steps: readonly PaymentStep[]): PaymentsReading {
  const doubts = new Set<PaymentDoubt>();
  const pairs = pairsOf(steps);
  const groups = groupsOf(steps);
  const all = groups.flatMap((group) => {
    const { isOpen, isSeveral, amounts } = amountsOf(group, { steps, pairs });
    if (isSeveral) doubts.add("several-amounts");
    if (isOpen) doubts.add("each-or-total");
    return group.map((person, place) => ({ to: person.name, amount: amounts[place] }));
  });
  const payments = oncePerPerson(all);
  if (payments.some(({ to }) => amountsFor(to, all).length > 1)) doubts.add("several-amounts");
  if (steps.some((step) => step.kind === "person" && step.isOpen)) doubts.add("one-name-or-two");
  if (payments.length === 0 && steps.length > 0) doubts.add("amount-without-person");
  return { payments, doubts: [...doubts] };
}

/** Each person once: 엄마한테 3만원, 엄마한테 2만원 is one payment or two, so its amount is not known. */
function oncePerPerson(all: readonly Payment[]): Payment[] {
  const names = [...new Set(all.map(({ to }) => to))];
  return names.map((to) => {
    const amounts = amountsFor(to, all);
    return { to, amount: amounts.length === 1 ? amounts[0] : undefined };
  });
}

function amountsFor(to: string, all: readonly Payment[]): MoneyReading[] {
  const amounts = all.flatMap((one) => (one.to === to && one.amount ? [one.amount] : []));
  return amounts.filter((one, place) => amounts.findIndex((it) => isSameAmount(it, one)) === place);
}

/** 7만원이야, 7만원: an amount that is said again is one. */
function isSameAmount(one: MoneyReading | undefined, other: MoneyReading): boolean {
  if (one === other) return true;
  return one?.ok === true && other.ok && one.value === other.value && one.sure === other.sure;
}

/** People who stand together: 엄마, 아빠, 동생. */
function groupsOf(steps: readonly PaymentStep[]): PersonStep[][] {
  const groups: PersonStep[][] = [];
  for (const [place, step] of steps.entries()) {
    if (step.kind === "money") continue;
    const isFollowing = steps[place - 1]?.kind === "person" && !step.gap.end;
    if (isFollowing) groups.at(-1)!.push(step);
    else groups.push([step]);
  }
  return groups;
}

interface Sentence {
  readonly steps: readonly PaymentStep[];
  readonly pairs: ReadonlyMap<PaymentStep, PaymentStep>;
}

/** The amount of each person of a group: an amount of one alone is for all of them. */
function amountsOf(
  group: readonly PersonStep[],
  { steps, pairs }: Sentence,
): {
  readonly amounts: readonly (MoneyReading | undefined)[];
  readonly isOpen: boolean;
  readonly isSeveral: boolean;
} {
  const paid = group.map((person) => moneyOf(pairs.get(person)));
  const amounts = paid.filter((money) => money !== undefined);
  const [amount] = amounts;
  if (amounts.length > 0 && hasSpare(group, { steps, pairs })) {
    return { amounts: [], isOpen: false, isSeveral: true };
  }
  if (group.length === 1 || amounts.length !== 1) {
    return { amounts: paid, isOpen: false, isSeveral: false };
  }
  const isEach =
    (amount?.ok === true && amount.per === "each") || saysEach(group, { steps, pairs });
  return { amounts: group.map(() => amount), isOpen: !isEach, isSeveral: false };
}

function moneyOf(step: PaymentStep | undefined): MoneyReading | undefined {
  return step?.kind === "money" ? step.money : undefined;
}

/** Whether 각각 or each stands with a group or its amount. */
function saysEach(group: readonly PersonStep[], { steps, pairs }: Sentence): boolean {
  const places = group
    .flatMap((person) => [person, pairs.get(person)])
    .filter((step) => step !== undefined)
    .map((step) => steps.indexOf(step));
  const [first, last] = [Math.min(...places), Math.max(...places)];
  return steps.some(({ gap, after }, place) => {
    if (place < first || place > last) return false;
    return gap.each || (place === last && after.each);
  });
}

/** Whether an amount that is no one's stands with the amount of a group: 엄마한테 5만원 3만원. */
function hasSpare(group: readonly PersonStep[], { steps, pairs }: Sentence): boolean {
  const own = new Set<PaymentStep | undefined>(
    group.flatMap((person) => [person, pairs.get(person)]),
  );
  return steps.some((step, place) => {
    if (step.kind === "person" || pairs.has(step) || isSum(step.money)) return false;
    if (group.some((person) => isSameAmount(moneyOf(pairs.get(person)), step.money))) return false;
    const before = steps.slice(0, place).findLast((one) => pairs.has(one));
    const nearest = before ?? steps.slice(place).find((one) => pairs.has(one));
    return own.has(nearest);
  });
}

/** 합쳐서 8만원, behind the amounts of each. */
function isSum(money: MoneyReading): boolean {
  return money.ok && money.per === "total";
}

// --- which amount goes with which person

/** What a way to pair people and amounts costs; the cheapest is meant. */
const COSTS = { single: 10, joiner: 3, end: 2, order: 1 } as const;

interface PairingWay {
  readonly cost: number;
  readonly pairs: readonly (readonly [PaymentStep, PaymentStep])[];
}

/**
 * Each person with the amount beside it, and each amount with its person: as many pairs as there can
 * be, over as few commas and verbs as there can be, in the order in which the sentence began.
 */
function pairsOf(steps: readonly PaymentStep[]): ReadonlyMap<PaymentStep, PaymentStep> {
  const ways: PairingWay[] = [{ cost: 0, pairs: [] }];
  for (const [place, step] of steps.entries()) {
    const alone = ways[place]!;
    const single: PairingWay = { cost: alone.cost + COSTS.single, pairs: alone.pairs };
    const before = steps[place - 1];
    const earlier = ways[place - 1];
    if (!before || !earlier || before.kind === step.kind) {
      ways.push(single);
      continue;
    }
    const paired: PairingWay = {
      cost: earlier.cost + costOf(before, step, steps[0]!),
      pairs: [...earlier.pairs, [before, step]],
    };
    ways.push(paired.cost <= single.cost ? paired : single);
  }
  return new Map(
    ways.at(-1)!.pairs.flatMap(([one, other]) => [
      [one, other],
      [other, one],
    ]),
  );
}

function costOf(before: PaymentStep, { gap }: PaymentStep, first: PaymentStep): number {
  const order = before.kind === first.kind ? 0 : COSTS.order;
  return order + (gap.joiner ? COSTS.joiner : 0) + (gap.end ? COSTS.end : 0);
}
