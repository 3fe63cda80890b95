import type { Desk } from "./service.ts";
import type { Town } from "./town.ts";

/**
 * At which steps of one play its process dies: of each kind the first, or the second, … of every so
 * many. At one step it dies once, so that the play goes on.
 */
export class Kills {
  count = 0;
  readonly #every: number;
  readonly #first: number;
  readonly #seen = new Set<string>();
  readonly #steps = new Map<string, number>();

  constructor({ every, first }: { every: number; first: number }) {
    this.#every = every;
    this.#first = first;
  }

  isDue(kind: string, step: string): boolean {
    const name = `${kind} ${step}`;
    if (this.#seen.has(name)) return false;
    this.#seen.add(name);
    const number = this.#steps.get(kind) ?? 0;
    this.#steps.set(kind, number + 1);
    if (number % this.#every !== this.#first) return false;
    this.count += 1;
    return true;
  }
}

/** A process that is killed at steps of its play, and comes back. */
export interface Mortal {
  /** Of the play that goes on. */
  kills: Kills;
  /** Ends the process; resolves when another one lives in its place. */
  kill(): Promise<void>;
}

/** What one process does outside of itself. When it has died it does nothing more. */
export class Life {
  isOver = false;
  readonly #host: Mortal;

  constructor(host: Mortal) {
    this.#host = host;
  }

  /** Around something that happens outside: the process may die before and after it. */
  async around<T>(kind: string, step: string, work: () => Promise<T> | T): Promise<T> {
    this.#pass(kind, `before ${step}`);
    const result = await work();
    this.#pass(kind, `after ${step}`);
    return result;
  }

  #pass(kind: string, step: string): void {
    if (!this.isOver && this.#host.kills.isDue(kind, step)) void this.#host.kill();
    if (this.isOver) throw new Error("this process is dead");
  }

  /** The shops, as this process reaches them. */
  deskOf(town: Town): Desk {
    return {
      read: (call) =>
        this.around("read", `${call.name} ${JSON.stringify(call.input)}`, () => town.read(call)),
      write: (call) => this.around("write", call.key, () => town.write(call)),
      find: (call) => this.around("find", call.key, () => town.find(call)),
    };
  }
}
