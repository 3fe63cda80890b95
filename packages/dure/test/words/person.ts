import { isTerminal } from "../../src/slots/stages.ts";
import type { FormState, SlotValues } from "../../src/slots/form-state.ts";
import type { SlotValue } from "../../src/slots/form.ts";
import type { Answered } from "./form-desk.ts";
import type { Dice } from "./grammar.ts";
import {
  adds,
  agrees,
  corrects,
  digresses,
  drops,
  meantIn,
  orders,
  reads,
  refuses,
  spelled,
  tells,
  visitAgain,
  type Meant,
  type Said,
  type Scene,
} from "./people-words.ts";

/** Changes of mind, words on the way and old buttons that one person is good for. */
const MOST = { changes: 3, asides: 3, oldButtons: 2 } as const;

/**
 * A person by seed: means something, says it in parts, and changes it on the way. What is shown is
 * compared with what is meant now; a yes is said to nothing else.
 */
export class Person {
  readonly scene: Scene;
  readonly #dice: Dice;
  #wants: readonly Meant[];
  #left: Record<keyof typeof MOST, number> = { ...MOST };
  /** Buttons of questions that were shown. */
  readonly #buttons: { readonly label: string; readonly confirmId: string }[] = [];
  /** Every value that was ever said or meant, by slot. */
  readonly #values = new Map<string, Set<SlotValue>>();

  constructor(scene: Scene, dice: Dice) {
    this.scene = scene;
    this.#dice = dice;
    this.#wants = wantsOf(scene, dice);
    this.#keepValues();
  }

  /** What is meant now, and not done yet. */
  get wants(): readonly Meant[] {
    return this.#wants;
  }

  /** Whether the person ever meant this value. */
  everMeant(slot: string, value: SlotValue): boolean {
    return this.#values.get(slot)?.has(value) ?? false;
  }

  /** What is meant was done, and is not wanted again. */
  isDone(meant: Meant): void {
    this.#wants = this.#wants.filter((one) => one !== meant);
  }

  /** Whether these values, and no others, are what is wanted now. */
  meansNow(slots: SlotValues): Meant | undefined {
    return this.#now.find((one) => isSame(slots, one));
  }

  /** The next message; undefined when all is done and nothing is open. */
  next(shown: Answered | undefined): Said | undefined {
    if (shown?.nextAction === "CONFIRM") this.#seeButtons(shown);
    const isOpen = shown !== undefined && isMidFlow(shown.state);
    if (!isOpen && this.#wants.length === 0) return undefined;
    if (this.#wants.length > 0 && this.#happens("changes", 0.15)) this.#changeMind();
    if (this.#wants.length === 0) return isOpen ? refuses(this.scene, this.#dice) : undefined;
    if (this.#happens("asides", 0.12)) return digresses(this.scene, this.#dice);
    const old = this.#oldButton(shown);
    if (old) return old;
    if (!isOpen) return this.#order();
    return this.#answerOffer(shown) ?? this.#answer(shown);
  }

  // --- what is meant

  /** What can be asked for now: payments in any order, else one after the other. */
  get #now(): readonly Meant[] {
    return this.scene.in === "transfer" ? this.#wants : this.#wants.slice(0, 1);
  }

  #changeMind(): void {
    const want = this.#dice.one(this.#now);
    const place = this.#wants.indexOf(want);
    const what = this.scene.in === "transfer" ? this.#dice.one(CHANGES) : "change";
    if (what === "drop") this.#wants = this.#wants.toSpliced(place, 1);
    if (what === "change") this.#wants = this.#wants.with(place, this.#changed(want));
    if (what === "add" && this.#wants.length < 3) this.#wants = [...this.#wants, this.#another()];
    this.#keepValues();
  }

  #changed(want: Meant): Meant {
    const slots = Object.keys(want).filter((slot) => !FIXED.has(slot));
    if (slots.length === 0) return want;
    const slot = this.#dice.one(slots);
    const taken = slot === "target" ? this.#taken() : new Set([want[slot]!.value]);
    return { ...want, [slot]: spelled(slot, this.scene, this.#dice, taken) };
  }

  #another(): Meant {
    return meantIn(this.scene, this.#dice, this.#taken());
  }

  /** Everyone who was ever named: a second payment to one of them would be another story. */
  #taken(): ReadonlySet<SlotValue> {
    return this.#values.get("target") ?? new Set();
  }

  #keepValues(): void {
    for (const [slot, { value }] of this.#wants.flatMap((want) => Object.entries(want))) {
      const known = this.#values.get(slot) ?? new Set();
      this.#values.set(slot, known.add(value));
    }
  }

  // --- what is said

  #happens(what: keyof typeof MOST, share: number): boolean {
    if (this.#left[what] === 0 || !this.#dice.is(share)) return false;
    this.#left[what] -= 1;
    return true;
  }

  #seeButtons({ buttons, confirmId }: Answered): void {
    if (confirmId === undefined) return;
    for (const label of buttons) this.#buttons.push({ label, confirmId });
  }

  #oldButton(shown: Answered | undefined): Said | undefined {
    const old = this.#buttons.filter(({ confirmId }) => confirmId !== shown?.confirmId);
    if (old.length === 0 || !this.#happens("oldButtons", 0.1)) return undefined;
    const { label, confirmId } = this.#dice.one(old);
    return { say: label, confirmId, reading: reads("other") };
  }

  #order(): Said {
    const count = this.#dice.one([1, this.#now.length]);
    return orders(this.scene, this.#dice, this.#now.slice(0, count));
  }

  /** An answer to what is asked before anything else: which value, and who else. */
  #answerOffer(shown: Answered): Said | undefined {
    const { choice, doubts } = shown.state.meta;
    if (choice?.about === "change-or-add") return this.#chooseOther(shown, choice.other);
    if (choice) {
      const isWanted = choice.names.every((name) => this.#wanted(name));
      return isWanted ? this.#says(shown.buttons[0]!) : this.#says(shown.buttons[1]!);
    }
    const [doubted] = Object.entries(doubts).filter(([slot]) => this.#isAsked(slot, shown));
    return (
      doubted &&
      this.#settle(
        shown,
        doubted[0],
        doubted[1].map(({ value }) => value),
      )
    );
  }

  #isAsked(slot: string, { state, buttons }: Answered): boolean {
    return buttons.length > 0 && state.meta.doubts[slot] !== undefined;
  }

  #chooseOther(shown: Answered, other: string): Said {
    if (!this.#wanted(other)) return refuses(this.scene, this.#dice);
    const isCurrentWanted = this.#wanted(shown.state.slots["target"]);
    return this.#picks(shown, isCurrentWanted ? 1 : 0);
  }

  /** By button, by its place, or by its words. */
  #picks({ buttons }: Answered, place: number): Said {
    const ordinals =
      this.scene.lang === "ko" ? ["첫 번째요", "두 번째요"] : ["the first one", "the second one"];
    const ordinal = buttons.length === 2 ? ordinals[place]! : buttons[place]!;
    return this.#says(this.#dice.one([buttons[place]!, ordinal]));
  }

  #says(say: string): Said {
    return { say, reading: reads("other") };
  }

  #settle(shown: Answered, slot: string, options: readonly SlotValue[]): Said {
    const want = this.#meantAt(shown.state, slot);
    const meant = want?.[slot];
    const place = meant === undefined ? -1 : options.indexOf(meant.value);
    if (place >= 0 && options.length === 1) {
      return this.#dice.is(0.5)
        ? this.#says(shown.buttons[0]!)
        : { ...agrees(this.scene, this.#dice), isYes: false };
    }
    if (place >= 0) return this.#picks(shown, place);
    if (options.length === 1 || meant === undefined) return refuses(this.scene, this.#dice);
    return tells(this.scene, this.#dice, want!, [slot]);
  }

  #answer(shown: Answered): Said {
    const { slots, stage } = shown.state;
    const aside = this.#putRight(shown.state);
    if (aside) return aside;
    const isReady = stage === "READY" && shown.nextAction === "CONFIRM";
    if (isReady && this.meansNow(slots)) return this.#agree(shown);
    const want = this.#meantAt(shown.state);
    if (!want) return refuses(this.scene, this.#dice);
    return isReady ? this.#correct(want, slots) : this.#fill(want, shown.state);
  }

  #agree(shown: Answered): Said {
    if (this.#dice.is(0.7)) return agrees(this.scene, this.#dice);
    const { confirmId, buttons } = shown;
    return { say: buttons[0]!, confirmId, isYes: true, reading: reads("confirm") };
  }

  /** What is wrong now and can be said already: who else, who not any more, another sum for one. */
  #putRight(state: FormState): Said | undefined {
    const { stage, tasks } = state;
    if (this.scene.in !== "transfer" || stage !== "READY") return undefined;
    const another = this.#wanted(state.slots["target"]) && this.#notYetSaid(state);
    if (another && this.#dice.is(0.4)) return adds(this.scene, this.#dice, another);
    const waiting = tasks.map((task) => task.slots);
    const unwanted = waiting.find(({ target }) => target !== undefined && !this.#wanted(target));
    if (unwanted && this.#dice.is(0.4)) {
      return drops(this.scene, this.#dice, String(unwanted["target"]));
    }
    const wrong = waiting.find((slots) => !this.meansNow(slots) && this.#wanted(slots["target"]));
    if (wrong && this.#dice.is(0.4)) {
      const want = this.#wanted(wrong["target"])!;
      return corrects(this.scene, this.#dice, want, "amount", String(wrong["target"]));
    }
    return undefined;
  }

  #correct(want: Meant, slots: SlotValues): Said {
    const isMore = Object.keys(slots).some((slot) => want[slot] === undefined);
    if (isMore || slots["deed"] !== want["deed"]?.value) return refuses(this.scene, this.#dice);
    const wrong = Object.keys(want).filter((slot) => slots[slot] !== want[slot]!.value);
    if (wrong.length === 0) return refuses(this.scene, this.#dice);
    return corrects(this.scene, this.#dice, want, this.#dice.one(wrong));
  }

  #fill(want: Meant, { slots }: FormState): Said {
    const { target } = slots;
    if (target !== undefined && target !== want["target"]?.value) {
      return corrects(this.scene, this.#dice, want, "target");
    }
    const missing = Object.keys(want).filter((slot) => slots[slot] === undefined);
    if (missing.length === 0) return this.#correct(want, slots);
    const count = this.#dice.one([1, 1, 2, 3]);
    return tells(this.scene, this.#dice, want, missing.slice(0, count));
  }

  #wanted(name: SlotValue | undefined): Meant | undefined {
    return this.#wants.find(
      (want) => want["target"] !== undefined && want["target"].value === name,
    );
  }

  /** What the entry that is open is about; undefined where nothing that is wanted is left for it. */
  #meantAt({ slots, tasks }: FormState, doubted = ""): Meant | undefined {
    if (this.scene.in !== "transfer") return this.#now[0];
    const own = this.#wanted(slots["target"]);
    if (own) return own;
    const waiting = new Set(tasks.map((task) => task.slots["target"]));
    const free = this.#wants.filter((want) => !waiting.has(want["target"]!.value));
    const byAmount = free.find(
      (want) => doubted !== "amount" && want["amount"]!.value === slots["amount"],
    );
    return byAmount ?? free[0];
  }

  /** A payment that is wanted, and that the form does not have. */
  #notYetSaid({ slots, tasks }: FormState): Meant | undefined {
    const known = new Set([slots, ...tasks.map((task) => task.slots)].map(({ target }) => target));
    return this.#wants.find((want) => !known.has(want["target"]!.value as string));
  }
}

const CHANGES = ["change", "change", "drop", "add"] as const;

/** Values that a person does not change on the way. */
const FIXED: ReadonlySet<string> = new Set(["deed", "number", "kind", "limit"]);

function wantsOf(scene: Scene, dice: Dice): readonly Meant[] {
  const first = meantIn(scene, dice);
  if (scene.in === "card") return [first];
  if (scene.in === "appointment") {
    const later = (["reschedule", "cancel"] as const).filter(() => dice.is(0.5));
    return [first, ...later.map((deed) => visitAgain(scene, dice, deed))];
  }
  const wants = [first];
  for (let more = dice.one([0, 1, 2]); more > 0; more--) {
    const taken = new Set(wants.map((want) => want["target"]!.value));
    wants.push(meantIn(scene, dice, taken));
  }
  return wants;
}

function isMidFlow({ stage }: FormState): boolean {
  return stage !== "INIT" && !isTerminal(stage);
}

function isSame(slots: SlotValues, meant: Meant): boolean {
  const names = Object.keys(meant);
  const isWhole = names.every((slot) => slots[slot] === meant[slot]!.value);
  return isWhole && Object.keys(slots).length === names.length;
}
