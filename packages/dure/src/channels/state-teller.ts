import type { Clock } from "../kernel/clock.ts";
import { sentenceOf } from "../kernel/coded-message.ts";
import { messageOf } from "../kernel/errors.ts";
import type { AccountDetail, ChannelAccount, ChannelPort } from "../rooms/channel-adapter.ts";
import type { AccountState } from "../kernel/rooms.ts";

interface AccountNotice {
  readonly account: ChannelAccount;
  readonly state: AccountState;
  readonly detail: AccountDetail | undefined;
  /** What is stored before it is told. Never rejects. */
  readonly after: Promise<void> | undefined;
}

/** Waits between attempts, milliseconds. */
const RETRY_MS = 1000;
/**
 * Then the next state tells more than this one would: a store that is away for so long has taken
 * the lease with it.
 */
const MAX_ATTEMPTS = 10;

/**
 * Tells the states of one account in order, each until it is stored or a newer one has come;
 * `settled` waits for the last.
 */
export class StateTeller {
  readonly #port: ChannelPort;
  readonly #clock: Clock;
  #wanted: AccountNotice | undefined;
  #last: AccountNotice | undefined;
  #telling: Promise<void> | undefined;

  constructor(port: ChannelPort) {
    this.#port = port;
    this.#clock = port.clock;
  }

  /** A state that is the last one already is not told again. */
  tell(
    account: ChannelAccount,
    state: AccountState,
    detail?: AccountDetail,
    after?: Promise<void>,
  ): void {
    if (this.#last?.state === state && isSame(this.#last.detail, detail)) return;
    this.#wanted = { account, state, detail, after };
    this.#last = this.#wanted;
    this.#telling ??= this.#tellWanted();
  }

  async settled(): Promise<void> {
    await this.#telling;
  }

  async #tellWanted(): Promise<void> {
    let attempts = 0;
    while (this.#wanted !== undefined) {
      const told: AccountNotice = this.#wanted;
      await told.after;
      if (this.#wanted !== told) continue;
      try {
        await this.#port.accountChanged(told.account, told.state, told.detail);
        attempts = 0;
        if (this.#wanted === told) this.#wanted = undefined;
      } catch (error) {
        const { id } = told.account;
        this.#port.logger.warn(
          { account: id, err: error },
          `the state ${told.state} of ${id} could not be stored (${messageOf(error)}); again in ` +
            `${RETRY_MS} ms`,
        );
        const isLast = told.state === "stopped" || ++attempts >= MAX_ATTEMPTS;
        if (isLast) this.#wanted = undefined;
        else await this.#clock.sleep(RETRY_MS);
      }
    }
    this.#telling = undefined;
  }
}

function isSame(one: AccountNotice["detail"], other: AccountNotice["detail"]): boolean {
  if (one === undefined || other === undefined) return one === other;
  return sentenceOf(one) === sentenceOf(other);
}
