import type { MoneyReading } from "../money/money.ts";
import { isPlainName } from "./names.ts";
import { isCapital, withWholeNames, type NamedToken, type WholeName } from "./payment-names.ts";
import { isPurposeName, peopleIn } from "./payment-people.ts";
import { wordsOf, type Mark } from "./payment-words.ts";

/** What stands between two steps. */
export interface Gap {
  /** A comma, and, 랑. */
  readonly joiner: boolean;
  /** A verb, or words that say something else. */
  readonly end: boolean;
  /** 용돈 */
  readonly purpose: boolean;
  /** 각각 */
  readonly each: boolean;
}

export interface PersonStep {
  readonly kind: "person";
  readonly name: string;
  readonly mark: Mark | "to" | "for";
  /** It may be two names. */
  readonly isOpen: boolean;
  /** A name beyond doubt, also without a mark. */
  readonly isPlain: boolean;
  /** What stands before it, and after it. */
  readonly gap: Gap;
  readonly after: Gap;
}

/** A person or an amount that a sentence names. */
export type PaymentStep =
  | PersonStep
  | {
      readonly kind: "money";
      readonly money: MoneyReading;
      readonly gap: Gap;
      readonly after: Gap;
    };

/** The people and the amounts that a sentence names, in their order. Pure. */
export function stepsOf(sentence: string): PaymentStep[] {
  const tokens = withWholeNames(wordsOf(sentence));
  return withoutOwners(gapped(tokens, peopleIn(tokens)));
}

const NO_GAP: Gap = { joiner: false, end: false, purpose: false, each: false };

function gapped(tokens: readonly NamedToken[], people: readonly boolean[]): PaymentStep[] {
  const steps: PaymentStep[] = [];
  let gap = NO_GAP;
  for (const [place, token] of tokens.entries()) {
    const isPerson = token.kind === "name" && people[place] === true;
    if (!isPerson && token.kind !== "money") {
      gap = widened(gap, tokens, place);
      continue;
    }
    const last = steps.pop();
    if (last) steps.push({ ...last, after: gap });
    const around = { gap, after: NO_GAP };
    steps.push(
      token.kind === "money"
        ? { kind: "money", money: token.money, ...around }
        : { ...personOf(token, tokens[place - 1]), ...around },
    );
    gap = token.kind === "name" && token.mark === "joined" ? { ...NO_GAP, joiner: true } : NO_GAP;
  }
  const last = steps.pop();
  return last ? [...steps, { ...last, after: gap }] : steps;
}

function personOf(
  { name, mark, isOpen = false }: WholeName,
  before: NamedToken | undefined,
): Omit<PersonStep, "gap" | "after"> {
  const isBehind = before?.kind === "to" || before?.kind === "for" ? before.kind : undefined;
  const isPlain = isPlainName(name) || isCapital(name);
  return {
    kind: "person",
    name,
    mark: mark === "bare" ? (isBehind ?? mark) : mark,
    isOpen,
    isPlain,
  };
}

/** These say nothing about what stands around them. */
const SILENT: ReadonlySet<NamedToken["kind"]> = new Set([
  "small",
  "to",
  "for",
  "arrow",
  "pair",
  "particle",
  "close",
]);

function widened(gap: Gap, tokens: readonly NamedToken[], place: number): Gap {
  const { kind } = tokens[place]!;
  if (SILENT.has(kind)) return gap;
  if (kind === "joiner" || kind === "each" || kind === "purpose") return { ...gap, [kind]: true };
  return isPurposeName(tokens, place) ? { ...gap, purpose: true } : { ...gap, end: true };
}

/** Without whose the purpose is: 친구 축의금 10만원 민호한테, 50k for Jane to Bob. */
function withoutOwners(steps: readonly PaymentStep[]): PaymentStep[] {
  return steps.filter((step, place) => {
    if (step.kind === "money") return true;
    const isOwner =
      step.mark === "bare" && step.after.purpose && steps[place + 1]?.kind === "money";
    const isFor = step.mark === "for" && steps[place - 1]?.kind === "money";
    if (isOwner) return !isRecipient(steps, place + 2);
    return !isFor || !isRecipient(steps, place + 1);
  });
}

/** Whether a marked person without an amount of its own stands here. */
function isRecipient(steps: readonly PaymentStep[], place: number): boolean {
  const step = steps[place];
  if (step?.kind !== "person" || step.gap.joiner || step.gap.end) return false;
  return (step.mark === "dative" || step.mark === "to") && steps[place + 1]?.kind !== "money";
}
