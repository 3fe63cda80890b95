import { orderOf } from "../../../../examples/transfer/send-money.ts";
import { canonicalJson, type JsonObject } from "../../src/kernel/json.ts";
import type { FormState, FormTask, SlotValues } from "../../src/slots/form-state.ts";
import type { Case } from "./cases.ts";
import { FormDesk, type Answered, type DeskModel } from "./form-desk.ts";
import { Dice, numbersFrom } from "./grammar.ts";
import type { Said, Scene } from "./people-words.ts";
import { Person } from "./person.ts";
import { CLAIM, rudely } from "./rude-model.ts";
import { SERVICES } from "./services.ts";

/** How a talk ended: what was done, and what must not have been. */
export interface Talked {
  readonly seed: number;
  /** Share of the model's answers that were rude. */
  readonly rude: number;
  readonly turns: number;
  readonly done: number;
  readonly reached: boolean;
  /** What was wrong, in plain words. */
  readonly faults: readonly string[];
  /** Who said what, and what was shown. */
  readonly script: readonly string[];
}

/** Shares of rude answers: of two models in five, none is. */
const RUDE = [0, 0, 0.2, 0.4, 0.7] as const;

/** Turns after which a person goes away. */
const MAX_TURNS = 25;

/** Lets the person of this seed talk until all is done, or until the person goes away. */
export async function talk(seed: number): Promise<Talked> {
  return new Talk(seed).run();
}

/** What is printed of a talk that went wrong. */
export function told({ seed, faults, script }: Talked): string {
  return [`DURE_TEST_SEED=${seed}: ${faults.join("; ")}`, ...script].join("\n");
}

class Talk {
  readonly #seed: number;
  readonly #rude: number;
  readonly #dice: Dice;
  readonly #person: Person;
  readonly #desk: FormDesk;
  readonly #flow: string;
  /** What was shown with each question. */
  readonly #questions = new Map<string, SlotValues>();
  readonly #faults: string[] = [];
  readonly #script: string[] = [];
  readonly #messages: string[] = [];
  #said: Said | undefined;
  #shown: Answered | undefined;

  constructor(seed: number) {
    const dice = new Dice(numbersFrom(seed));
    const scene = dice.one(SCENES);
    const { service, flow } = SERVICES[scene.in];
    this.#seed = seed;
    this.#rude = dice.one(RUDE);
    this.#dice = dice;
    this.#flow = flow;
    this.#person = new Person(scene, dice);
    const model: DeskModel = (asked) => this.#answerAsModel(asked.agent);
    this.#desk = new FormDesk(service, model, { locale: scene.lang });
  }

  async run(): Promise<Talked> {
    let turns = 0;
    for (; turns < MAX_TURNS && this.#faults.length === 0; turns++) {
      const said = this.#person.next(this.#shown);
      if (!said) break;
      await this.#turn(said);
    }
    const reached = this.#person.wants.length === 0;
    if (!reached && this.#rude === 0) this.#faults.push("the goal was not reached");
    const { done } = this.#desk;
    const result = { seed: this.#seed, rude: this.#rude, turns, done: done.length, reached };
    return { ...result, faults: this.#faults, script: this.#script };
  }

  async #turn(said: Said): Promise<void> {
    const before = this.#desk.done.length;
    const asked = this.#desk.question?.id;
    const diesBefore = this.#dice.is(0.2) ? this.#dice.one([0, 0.5, 1, 1.5, 2, 2.5]) : undefined;
    this.#said = said;
    this.#messages.push(said.say);
    const button = said.confirmId === undefined ? "" : ` [button of ${said.confirmId}]`;
    const dies = diesBefore === undefined ? "" : ` (dies at ${diesBefore})`;
    this.#script.push(`- ${said.say}${button}${dies}`);
    const { confirmId } = said;
    const known = entriesOf(this.#shown?.state);
    const answered = await this.#desk.say(said.say, { confirmId, diesBefore });
    this.#shown = answered;
    const { nextAction, message, state } = answered;
    const values = JSON.stringify([state.slots, ...state.tasks.map(({ slots }) => slots)]);
    this.#script.push(`  ${nextAction ?? "-"} ${message.replaceAll("\n", " / ")} ${values}`);
    this.#judgeDeeds(said, asked, before);
    this.#judgeWords(answered);
    this.#judgePairs(said, known, entriesOf(answered.state));
  }

  /** A deed is what was shown last, what is meant now, and what a yes was said to. */
  #judgeDeeds(said: Said, asked: string | undefined, before: number): void {
    const deeds = this.#desk.done.slice(before);
    if (deeds.length === 0) return;
    this.#expect(deeds.length === 1, "one message led to two deeds");
    this.#expect(said.isYes === true, `a deed was done without a yes: ${said.say}`);
    const [{ call, key, input }] = deeds as [(typeof deeds)[number]];
    this.#expect(key === `${call}/${asked}`, `the deed ${key} is not of the last question`);
    const shown = this.#questions.get(asked ?? "") ?? {};
    const scene = this.#person.scene.in;
    this.#expect(isSame(INPUTS[scene](shown), input), "what was done is not what was shown");
    this.#expect(call === CALLS[scene](shown), `${call} was done, and another deed was shown`);
    const meant = this.#person.meansNow(shown);
    this.#expect(meant !== undefined, "what was done is not what is meant");
    if (meant) this.#person.isDone(meant);
  }

  #expect(isRight: boolean, fault: string): void {
    if (!isRight) this.#faults.push(fault);
  }

  /** What is shown for a yes was said, or is marked; and no model's report of a deed is shown. */
  #judgeWords({ nextAction, state, message, confirmId }: Answered): void {
    this.#expect(!message.includes(CLAIM), "the model's report of a deed is shown");
    if (nextAction !== "CONFIRM" || confirmId === undefined) return;
    this.#questions.set(confirmId, state.slots);
    const question = this.#desk.question!.slots;
    this.#expect(isSame(question, state.slots), "the question is about other values");
    for (const [slot, value] of Object.entries(state.slots)) {
      const isMarked = slot === "deed" || state.meta.derived[slot] !== undefined;
      if (isMarked || this.#person.everMeant(slot, value)) continue;
      const isQuoted = TEXTS.has(slot) && this.#messages.some((one) => one.includes(String(value)));
      if (!isQuoted) this.#faults.push(`${slot} ${value} is shown, and was never said`);
    }
  }

  /** Who was named with a sum has this sum, or the one of before, or one that is marked. */
  #judgePairs({ reading }: Said, before: readonly Entry[], after: readonly Entry[]): void {
    for (const { changes } of reading.items) {
      const valueOf = (name: string) => changes.find(({ slot }) => slot === name)?.value;
      const [target, amount] = [valueOf("target"), valueOf("amount")];
      if (target === undefined || amount === undefined) continue;
      const isTheirs = ({ slots }: Entry): boolean => slots["target"] === target;
      const sums = new Set([
        amount,
        ...before.filter(isTheirs).map(({ slots }) => slots["amount"]),
      ]);
      for (const { slots, derived = {} } of after.filter(isTheirs)) {
        const sum = slots["amount"];
        if (sum === undefined || sums.has(sum) || derived["amount"] !== undefined) continue;
        this.#faults.push(`${target} has ${sum}, and ${amount} was said`);
      }
    }
  }

  #answerAsModel(agent: string): unknown {
    const isRude = this.#dice.is(this.#rude);
    if (agent === "intent") return { scenario: isRude ? "GENERAL" : this.#flow };
    if (agent === "interaction") return { action: "chat", message: isRude ? CLAIM : "…" };
    const { reading, say } = this.#said!;
    if (!isRude) return reading;
    const answer = rudely(reading, say, this.#dice);
    this.#script.push(`  (the model: ${JSON.stringify(answer)})`);
    return answer;
  }
}

type Entry = Pick<FormTask, "slots" | "derived">;

/** The entries of a form, the current one first. */
function entriesOf(state: FormState | undefined): readonly Entry[] {
  return state ? [{ slots: state.slots, derived: state.meta.derived }, ...state.tasks] : [];
}

const SCENES: readonly Scene[] = (["transfer", "transfer", "card", "appointment"] as const).flatMap(
  (service) => (["ko", "en"] as const).map((lang) => ({ in: service, lang })),
);

/** Slots that keep words of the message as they are. */
const TEXTS: ReadonlySet<string> = new Set(["memo", "alias", "address", "number"]);

/** What a deed is given, by what was shown. */
const INPUTS: Readonly<Record<Case["in"], (slots: SlotValues) => unknown>> = {
  transfer: orderOf,
  card: (slots) => slots,
  appointment: ({ deed, number, doctor = "", day = "", time = "" }) => {
    if (deed === "cancel") return { number };
    return deed === "book" ? { doctor, day, time } : { doctor, day, time, number };
  },
};

const CALLS: Readonly<Record<Case["in"], (slots: SlotValues) => unknown>> = {
  transfer: () => "transfer",
  card: () => "apply",
  appointment: ({ deed }) => deed,
};

function isSame(one: unknown, other: unknown): boolean {
  const plain = (value: unknown): JsonObject => JSON.parse(JSON.stringify(value)) as JsonObject;
  return canonicalJson(plain(one)) === canonicalJson(plain(other));
}
