import {
  ChannelError,
  type ChannelAccount,
  type ChannelPort,
} from "../../rooms/channel-adapter.ts";
import { Audiences } from "../audiences.ts";
import { SLACK } from "./mapping.ts";
import type { Reader } from "./reader.ts";
import type { MessageEvent } from "./wire.ts";

/**
 * Which channels all of the workspace may read: asked when the app connects, and told with each
 * message, also with the one that a channel was made private or public. A channel that could not be
 * asked stays as it is known; before that it counts as private. Source: docs.slack.dev/reference,
 * methods/conversations.info, events/message/channel_convert_to_private.
 */
export class Viewers {
  readonly audiences: Audiences;
  readonly #name: string;
  readonly #port: ChannelPort;
  readonly #reader: Reader;
  readonly #channels: () => readonly string[];
  /** Channels of which the log says that they cannot be asked. */
  readonly #unasked = new Set<string>();

  constructor(parts: {
    name: string;
    port: ChannelPort;
    reader: Reader;
    channels: () => readonly string[];
    accounts: () => readonly ChannelAccount[];
  }) {
    this.#name = parts.name;
    this.#port = parts.port;
    this.#reader = parts.reader;
    this.#channels = parts.channels;
    this.audiences = new Audiences(parts.port, () => parts.accounts()[0]);
  }

  async ask(signal: AbortSignal): Promise<void> {
    for (const channel of this.#channels()) {
      try {
        const seenByAll = await this.#reader.isSeenByAll(channel, signal);
        this.audiences.learn({ adapter: SLACK, channel }, seenByAll);
      } catch (error) {
        if (!(error instanceof ChannelError)) throw error;
        this.#warn(channel, error);
      }
    }
  }

  /** Resolves when it is stored. */
  async hear({ channel, channel_type: kind }: MessageEvent): Promise<void> {
    if (kind !== "channel" && kind !== "group") return;
    await this.learn(channel, kind === "channel");
  }

  /** The same of what was read. */
  async learn(channel: string, seenByAll: boolean): Promise<void> {
    const isNews = this.audiences.learn({ adapter: SLACK, channel }, seenByAll);
    if (isNews) await this.audiences.tell();
  }

  #warn(channel: string, { message }: ChannelError): void {
    if (this.#unasked.has(channel)) return;
    this.#unasked.add(channel);
    this.#port.logger.warn(
      { account: this.#name, channel },
      `${this.#name} could not ask whether the channel ${channel} is private (${message}). Until it ` +
        "is known, what is said there is kept as private. Give the app channels:read and groups:read",
    );
  }
}
