import {
  classifyReply,
  dayReader,
  deriveAmounts,
  findMoney,
  findPayments,
  findRecurrence,
  moneyReader,
  personReader,
  type Found,
  type IsoDate,
  type MoneyReading,
  type ReplyKind,
} from "dure/slots";
import { SHOWN, type PaymentLabel, type Utterance } from "./utterances.ts";

/** What was made of an utterance. */
export interface Outcome {
  /**
   * `details`: people, amounts, days. `refused`: the transfer was given up. `kept`: nothing moved,
   * the question was asked again.
   */
  readonly kind: ReplyKind | "details" | "unsupported" | "refused" | "kept";
  readonly payments: readonly PaymentLabel[];
  readonly day?: IsoDate | undefined;
  /** Something is to be asked before any of it counts. */
  readonly asks: boolean;
}

/** What the deterministic parsers alone make of an utterance, without a model and a service. */
export function understand({ text: said, stage, asked }: Utterance, today: IsoDate): Outcome {
  const text = said.normalize("NFC");
  const clock = { today, time: "10:00" };
  if (stage === "READY") return readReply(text, clock);

  const { kind } = classifyReply(text);
  if (kind === "cancel-one" || kind === "cancel-all") return nothing(kind);
  if (stage === "FILLING" && kind === "question" && findMoney(text).length === 0) {
    return nothing(kind);
  }
  return stage === "FILLING" ? readAnswer(text, asked, clock) : readOrder(text, clock);
}

type Clock = Parameters<typeof dayReader>[0];

function nothing(kind: Outcome["kind"]): Outcome {
  return { kind, payments: [], asks: false };
}

/** Asks what has been, or about the service: no order. */
const ASKS_ABOUT = /보낸 ?거|보냈|갔어|됐어|수수료|한도|법 알려|뭐야/u;

function readOrder(text: string, clock: Clock): Outcome {
  const { kind } = classifyReply(text);
  if (ASKS_ABOUT.test(text)) return nothing("question");
  if (findRecurrence(text).length > 0 || findMoney(text).some(isForeign)) {
    return { kind: "unsupported", payments: [], asks: true };
  }

  const { payments, doubts } = findPayments(text);
  const day = readDay(text, clock);
  if (payments.length === 0 && doubts.length === 0) {
    return nothing(kind === "question" ? "question" : "other");
  }
  const asks = doubts.length > 0 || day.asks || payments.some(({ amount }) => isUnsure(amount));
  return {
    kind: "details",
    payments: payments.map(({ to, amount }) =>
      amount?.ok === true ? { to, won: amount.value } : { to },
    ),
    day: day.value,
    asks,
  };
}

function readReply(text: string, clock: Clock): Outcome {
  const { kind } = classifyReply(text);
  if (kind !== "change") return nothing(kind);

  const day = readDay(text, clock);
  const amounts = findMoney(text);
  const people = findPayments(text).payments.map(({ to }) => to);
  const [amount] = amounts;
  const [derived, ...others] = deriveAmounts(text, { current: SHOWN.won });
  const won = derived?.value ?? (amount?.ok === true ? amount.value : undefined);
  const isDoubted = derived ? others.length > 0 || !derived.isWhole : isUnsure(amount);
  const asks = day.asks || amounts.length > 1 || isDoubted;
  return { kind, payments: [{ to: people.at(-1) ?? "", won }], day: day.value, asks };
}

function readAnswer(text: string, asked: Utterance["asked"], clock: Clock): Outcome {
  if (asked === "date") {
    const read = dayReader(clock).parse(text);
    const sure = read.ok && read.sure === "exact";
    return { kind: "details", payments: [], day: read.ok ? read.value : undefined, asks: !sure };
  }
  if (asked === "target") {
    const read = personReader.parse(text);
    return { kind: "details", payments: read.ok ? [{ to: read.value }] : [], asks: !read.ok };
  }
  const whole = moneyReader.parse(text);
  const read = whole.ok ? whole : (findMoney(text)[0] ?? whole);
  if (!read.ok && read.because === "foreign-currency") return nothing("unsupported");
  const payments = read.ok ? [{ to: "", won: read.value }] : [];
  const isQuestion = classifyReply(text).kind === "question";
  return { kind: "details", payments, asks: !read.ok || read.sure !== "exact" || isQuestion };
}

function readDay(text: string, clock: Clock): { value: IsoDate | undefined; asks: boolean } {
  const [first, ...others] = dayReader(clock).find(text);
  if (!first) return { value: undefined, asks: false };
  const sure = first.ok && first.sure === "exact" && others.length === 0;
  return { value: first.ok ? first.value : undefined, asks: !sure };
}

function isForeign(money: Found<MoneyReading>): boolean {
  return !money.ok && money.because === "foreign-currency";
}

function isUnsure(money: MoneyReading | undefined): boolean {
  return money !== undefined && (!money.ok || money.sure !== "exact");
}
