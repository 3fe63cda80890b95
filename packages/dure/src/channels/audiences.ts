import { messageOf } from "../kernel/errors.ts";
import type {
  Audience,
  ChannelAccount,
  ChannelPort,
  PlaceAddress,
} from "../rooms/channel-adapter.ts";

/** Channels that are remembered; the oldest is forgotten, and told again when it is described. */
const KEPT_CHANNELS = 20_000;

/** Who may read the channels of a platform, as one connection hears it and tells it: once, in order. */
export class Audiences {
  readonly #port: ChannelPort;
  readonly #account: () => ChannelAccount | undefined;
  /** By the channel's id. */
  readonly #known = new Map<string, Audience>();
  readonly #told = new Map<string, boolean>();
  #telling: Promise<void> = Promise.resolve();

  constructor(port: ChannelPort, account: () => ChannelAccount | undefined) {
    this.#port = port;
    this.#account = account;
  }

  /** Whether this is news. */
  learn(place: PlaceAddress, seenByAll: boolean): boolean {
    const { channel } = place;
    this.#known.delete(channel); // so that it counts as the youngest
    this.#known.set(channel, { place, seenByAll });
    const [oldest] = this.#known.keys();
    if (this.#known.size > KEPT_CHANNELS && oldest !== undefined) this.forget(oldest);
    return this.#told.get(channel) !== seenByAll;
  }

  forget(channel: string): void {
    this.#known.delete(channel);
    this.#told.delete(channel);
  }

  /** The configuration has other channels than before: all of them are told anew. */
  forgetTold(): void {
    this.#told.clear();
  }

  /** Tells what is not told yet. Rejects when it was not stored: then it is to be told again. */
  tell(): Promise<void> {
    const telling = this.#telling.then(() => this.#tellAll());
    this.#telling = telling.catch(() => {});
    return telling;
  }

  /** The same; what is not stored is told before the next message is. */
  async tryToTell(): Promise<void> {
    try {
      await this.tell();
    } catch (error) {
      const message = `who may read its channels could not be stored (${messageOf(error)})`;
      this.#port.logger.warn({ err: error }, message);
    }
  }

  async #tellAll(): Promise<void> {
    const account = this.#account();
    if (!account) return;
    for (const [channel, audience] of [...this.#known]) {
      if (this.#told.get(channel) === audience.seenByAll) continue;
      await this.#port.audienceChanged(account, audience);
      this.#told.set(channel, audience.seenByAll);
    }
  }
}
