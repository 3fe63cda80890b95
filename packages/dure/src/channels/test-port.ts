import { sentenceOf } from "../kernel/coded-message.ts";
import { systemClock, type Clock } from "../kernel/clock.ts";
import { silentLogger, type Logger } from "../kernel/logger.ts";
import type {
  AccountDetail,
  Audience,
  ChannelAccount,
  ChannelAdapter,
  ChannelPort,
  InboundMessage,
  PlaceAddress,
  PlaceChange,
} from "../rooms/channel-adapter.ts";
import type { AccountState } from "../kernel/rooms.ts";

/**
 * A port that keeps what it is told, and reads gaps as dure does: each of its places since the last
 * message it stored there.
 */
export class RecordingPort implements ChannelPort {
  readonly clock: Clock = systemClock;
  /** What was warned of, or worse. */
  readonly lines: string[] = [];
  readonly logger: Logger = {
    ...silentLogger,
    warn: (_facts, line) => this.lines.push(line),
    error: (_facts, line) => this.lines.push(line),
  };
  readonly messages: { readonly account: string; readonly message: InboundMessage }[] = [];
  readonly edits: {
    readonly platformId: string;
    readonly place: PlaceAddress;
    readonly text: string;
  }[] = [];
  /** Platform ids of messages that were deleted. */
  readonly gone: string[] = [];
  readonly reactions: Parameters<ChannelPort["reacted"]>[1][] = [];
  readonly changes: PlaceChange[] = [];
  readonly audiences: Audience[] = [];
  readonly states: {
    readonly account: ChannelAccount;
    readonly state: AccountState;
    readonly detail: string | undefined;
    readonly needsPeople: boolean;
  }[] = [];
  /** Places that a gap is read in. */
  readonly watched: PlaceAddress[] = [];
  /** Gaps that it began to read, and those that it has read. */
  gaps = 0;
  gapsRead = 0;
  /** What `received` waits for before it stores. */
  before: (message: InboundMessage) => Promise<void> = async () => {};
  /** What `mayHaveMissed` waits for before it reads. */
  beforeGap: (account: string) => Promise<void> = async () => {};
  answer: (value: string) => Promise<string> = async (value) => `pressed ${value}`;
  readonly #adapter: Pick<ChannelAdapter, "readSince">;

  constructor(adapter: Pick<ChannelAdapter, "readSince">) {
    this.#adapter = adapter;
  }

  /** The texts that an account stored, each message once. */
  texts(account: string): string[] {
    const own = this.messages
      .filter((entry) => entry.account === account)
      .map(({ message }) => message);
    return [...new Map(own.map((message) => [message.platformId, message])).values()].map(
      ({ text }) => text,
    );
  }

  stateOf(account: string): AccountState | undefined {
    return this.states.findLast((entry) => entry.account.id === account)?.state;
  }

  async received(account: ChannelAccount, message: InboundMessage): Promise<void> {
    await this.before(message);
    this.messages.push({ account: account.id, message });
  }

  async deleted(
    _account: ChannelAccount,
    { platformId }: { platformId: string; place: PlaceAddress },
  ): Promise<void> {
    this.gone.push(platformId);
  }

  async reacted(
    _account: ChannelAccount,
    reaction: Parameters<ChannelPort["reacted"]>[1],
  ): Promise<void> {
    this.reactions.push(reaction);
  }

  async edited(
    _account: ChannelAccount,
    change: { platformId: string; place: PlaceAddress; text: string },
  ): Promise<void> {
    this.edits.push(change);
  }

  async placeChanged(_account: ChannelAccount, change: PlaceChange): Promise<void> {
    this.changes.push(change);
  }

  async audienceChanged(_account: ChannelAccount, audience: Audience): Promise<void> {
    this.audiences.push(audience);
  }

  async accountChanged(
    account: ChannelAccount,
    state: AccountState,
    detail?: AccountDetail,
  ): Promise<void> {
    const needsPeople = typeof detail === "object" && detail.needsPeople === true;
    this.states.push({ account, state, detail: detail && sentenceOf(detail), needsPeople });
  }

  async mayHaveMissed(account: ChannelAccount): Promise<void> {
    this.gaps++;
    await this.beforeGap(account.id);
    for (const place of this.watched) {
      const last = this.messages.findLast(
        ({ account: id, message }) => id === account.id && sameChannel(message.place, place),
      );
      const after = last === undefined ? {} : { after: last.message.platformId };
      const missed = await this.#adapter.readSince(account, place, {
        ...after,
        limit: 100,
        signal: new AbortController().signal,
      });
      for (const message of missed) await this.received(account, message);
    }
    this.gapsRead++;
  }

  async pressed(_account: ChannelAccount, press: { value: string }): Promise<string> {
    return this.answer(press.value);
  }
}

function sameChannel(one: PlaceAddress, other: PlaceAddress): boolean {
  return (one.thread ?? one.channel) === (other.thread ?? other.channel);
}
