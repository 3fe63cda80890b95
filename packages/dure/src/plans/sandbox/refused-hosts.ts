import type { Clock } from "../../kernel/clock.ts";
import type { OnRefusal, SandboxEnd } from "./sandbox.ts";

/** Hosts that are named of one process. */
const MOST = 10;
/** Until a process that was refused is ended, milliseconds. It is gone at most 1 s later. */
const GRACE_MS = 3_000;

/** The hosts that one process was refused, and what follows from them. */
export class RefusedHosts {
  readonly #hosts = new Set<string>();
  readonly #rule: OnRefusal | undefined;
  #onFirst: (() => void) | undefined;

  constructor(rule: OnRefusal | undefined) {
    this.#rule = rule;
  }

  /** Undefined: none. */
  get list(): readonly string[] | undefined {
    return this.#hosts.size === 0 ? undefined : [...this.#hosts];
  }

  note(host: string): void {
    if (this.#hosts.has(host) || this.#hosts.size === MOST) return;
    this.#hosts.add(host);
    if (typeof this.#rule === "function") this.#rule(host);
    this.#onFirst?.();
  }

  /**
   * Looks at a tree from the first refusal on, until it is cancelled.
   *
   * @param tree.printed bytes that it has printed so far
   */
  watch(
    tree: { readonly printed: () => number },
    { clock, onOver }: { readonly clock: Clock; readonly onOver: () => void },
  ): () => void {
    if (this.#rule === undefined || typeof this.#rule === "function") return () => {};
    let cancel = (): void => {};
    const look = (before: number): void => {
      const printed = tree.printed();
      if (this.#rule === "end" || printed === before) onOver();
      else cancel = clock.after(GRACE_MS, () => look(printed));
    };
    this.#onFirst = () => {
      this.#onFirst = undefined;
      const printed = tree.printed();
      cancel = clock.after(GRACE_MS, () => look(printed));
    };
    if (this.#hosts.size > 0) this.#onFirst();

    return () => {
      this.#onFirst = undefined;
      cancel();
    };
  }
}

/** Who may not be reached, as a sentence; empty where none was refused. Pure. */
export function refusedWords({ refused = [] }: Pick<SandboxEnd, "refused">): string {
  return refused.length === 0 ? "" : ` It may not reach ${refused.join(", ")}.`;
}
