import type { CodedMessage } from "../../kernel/coded-message.ts";
import type { Clock } from "../../kernel/clock.ts";
import { messageOf } from "../../kernel/errors.ts";
import type { Logger } from "../../kernel/logger.ts";

/** A line for each kind of packet at most so often, milliseconds; the next one has the count. */
const LINE_EVERY_MS = 60_000;
/** Kinds that are told apart. The adapter hears fewer. */
const MAX_KINDS = 50;
/** Characters of the reason in a line: zod names every member that is wrong. */
const REASON_LENGTH = 300;

/** What the gateway sent to one account that could not be understood. */
export class LeftOut {
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #account: string;
  readonly #kinds = new Map<string, { nextLineAt: number; silent: number }>();
  #told: CodedMessage | undefined;

  constructor(parts: { clock: Clock; logger: Logger; account: string }) {
    this.#clock = parts.clock;
    this.#logger = parts.logger;
    this.#account = parts.account;
  }

  /** What the account tells of itself: the first one of its session. */
  get told(): CodedMessage | undefined {
    return this.#told;
  }

  /** A new session begins. */
  forget(): void {
    this.#told = undefined;
  }

  add(event: string, error: unknown): void {
    this.#told ??= {
      code: "event-left-out",
      facts: { event },
      message: `Discord sent something that dure could not understand (${event}); it was left out.`,
    };
    const kind = this.#kindOf(event);
    const now = this.#clock.monotonic();
    if (now < kind.nextLineAt) {
      kind.silent++;
      return;
    }
    const more = kind.silent === 0 ? "" : `, and so were ${kind.silent} before it`;
    kind.nextLineAt = now + LINE_EVERY_MS;
    kind.silent = 0;
    const account = this.#account;
    const reason = messageOf(error).slice(0, REASON_LENGTH);
    this.#logger.warn(
      { account, event, reason },
      `${account} was sent ${event} in a form that is not known; it is left out${more}`,
    );
  }

  #kindOf(event: string): { nextLineAt: number; silent: number } {
    const known = this.#kinds.get(event);
    if (known !== undefined) return known;
    const kind = { nextLineAt: 0, silent: 0 };
    const [oldest] = this.#kinds.keys();
    if (this.#kinds.size >= MAX_KINDS && oldest !== undefined) this.#kinds.delete(oldest);
    this.#kinds.set(event, kind);
    return kind;
  }
}
