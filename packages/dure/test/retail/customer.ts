import type { Done } from "../../src/kernel/turn-events.ts";
import type { Task, Wish } from "./tasks.ts";

/** A message of a customer; `presses`: the button of the question instead of words. */
export interface Said {
  readonly text: string;
  readonly presses?: boolean;
  /** Whether it is a yes to what was shown. */
  readonly agrees?: boolean;
}

/** What counts of the end of a turn. */
export type Answer = Pick<Done, "message" | "approvals" | "error">;

/** How a customer proves who they are. */
const PROOFS: Readonly<Record<string, string>> = {
  ada: "My name is Ada Lind, zip code 10115.",
  ben: "My name is Ben Okoro, zip code 20095.",
  cho: "My name is Mina Cho, zip code 45240.",
  dov: "My name is Dov Katz, zip code 50667.",
  eva: "My name is Eva Ruiz, zip code 28001.",
  fay: "My name is Fay Moreau, zip code 75011.",
};

/** Words without a meaning for the shop. */
const CHAT = [
  "Thanks for helping me.",
  "The weather is lovely here today.",
  "My sister says your shop is great.",
  "Sorry, I am typing on the bus.",
];

const YES = ["yes", "ok", "네", "확인"];

/** A typing error, which leads to no customer. */
const WRONG_EMAIL = "typo@post.example";

/** A customer of one task: what they say depends on the seed and on what they are told. */
export class Customer {
  readonly #task: Task;
  readonly #random: () => number;
  readonly #talksMuch: boolean;
  /** Says all wishes at once; else one after the other. */
  readonly #atOnce: boolean;
  readonly #untold: Wish[];
  /** Wishes whose details are still to be said, in their order. */
  readonly #silent: Wish[] = [];
  readonly #twisted = new Set<Wish>();
  #proofs: string[];
  #insists: boolean;

  constructor(task: Task, random: () => number) {
    this.#task = task;
    this.#random = random;
    this.#talksMuch = random() < 0.5;
    this.#atOnce = random() < 0.5;
    this.#untold = [...task.wishes];
    const email = `My e-mail address is ${task.user}@post.example.`;
    const proof = random() < 0.5 ? email : PROOFS[task.user]!;
    const wrong = `It is ${WRONG_EMAIL}.`;
    this.#proofs = random() < 0.15 ? [wrong, proof] : [proof];
    this.#insists = task.wishes.some(({ told }) => told !== undefined) && random() < 0.5;
  }

  open(): Said {
    const hello = this.#talksMuch ? ["Hello!", this.#chat()] : [];
    const proof = this.#random() < 0.3 ? [this.#proofs.shift()!] : [];
    return { text: [...hello, ...proof, this.#nextWishes()].join(" ") };
  }

  /** Undefined: they have what they want, or what they can get. */
  answer(done: Answer): Said | undefined {
    const asked = done.approvals?.filter(({ by }) => by === "person") ?? [];
    if (asked.length > 0) return this.#decide(asked[0]!.tool);
    const text = this.#answerInWords(done.message);
    if (text === undefined) return undefined;
    return { text: this.#talksMuch ? `${this.#chat()} ${text}` : text };
  }

  #decide(tool: string): Said {
    const wish = this.#task.wishes.find(
      (one) => one.write === tool && one.twist && !this.#twisted.has(one),
    );
    if (wish) {
      this.#twisted.add(wish);
      const { twist } = wish;
      return {
        text: twist!.is === "forget" ? "no, forget it" : (twist as { words: string }).words,
      };
    }
    return { text: this.#pick(YES), presses: this.#random() < 0.3, agrees: true };
  }

  #answerInWords(message: string): string | undefined {
    if (/e-mail address/u.test(message)) return this.#proofs.shift() ?? PROOFS[this.#task.user]!;
    if (/Which order do you mean/u.test(message)) {
      return `Sorry, I mean ${this.#task.wishes.find(({ means }) => means)!.means}.`;
    }
    if (/do you still want it/u.test(message)) return "Please go on.";
    if (/which reason|Which way of payment|Where shall I send the money/u.test(message)) {
      return this.#silent.shift()?.details ?? "I do not know.";
    }
    if (this.#untold.length > 0) return this.#nextWishes();
    if (!this.#insists) return undefined;
    this.#insists = false;
    return "Please make an exception for me!";
  }

  #nextWishes(): string {
    const wishes = this.#untold.splice(0, this.#atOnce ? this.#untold.length : 1);
    const saysAll = this.#talksMuch && wishes.length === 1;
    if (!saysAll) this.#silent.push(...wishes.filter(({ details }) => details !== undefined));
    return wishes
      .map(({ says, details }) => (saysAll && details ? `${says} ${details}` : says))
      .join(" ");
  }

  #chat(): string {
    return this.#pick(CHAT);
  }

  #pick<T>(of: readonly T[]): T {
    return of[Math.floor(this.#random() * of.length)]!;
  }
}
