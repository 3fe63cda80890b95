import { messageOf } from "../../kernel/errors.ts";
import type { ChannelAccount, ChannelPort } from "../../rooms/channel-adapter.ts";
import { placeOf } from "./mapping.ts";
import type { Reader } from "./reader.ts";
import type { SocketEnvelope } from "./socket.ts";
import { blockActions, plainAnswer, type BlockActions } from "./wire.ts";

interface PressParts {
  readonly name: string;
  readonly port: ChannelPort;
  readonly reader: Reader;
  readonly accounts: () => readonly ChannelAccount[];
}

/** Buttons that are being answered; more are told to press again. */
const MAX_PRESSES = 100;

/** Answers the buttons that people press. */
export class Presses {
  readonly #parts: PressParts;
  #count = 0;

  constructor(parts: PressParts) {
    this.#parts = parts;
  }

  /**
   * The decision is stored, then acknowledged, then told to the person who pressed alone. Slack
   * shows a warning after 3 s without; pressing twice is one decision. Never rejects.
   */
  async answer(told: SocketEnvelope, signal: AbortSignal): Promise<void> {
    const { name, port } = this.#parts;
    const press = blockActions.safeParse(told.payload);
    if (!press.success) {
      port.logger.warn({ account: name }, `${name} was told a malformed press by Slack`);
      return told.acknowledge();
    }
    this.#count += 1;
    try {
      const said = this.#count > MAX_PRESSES ? "⏳" : await this.#ask(press.data, signal);
      await told.acknowledge();
      if (said !== undefined) await this.#show(press.data, said, signal);
    } catch (error) {
      port.logger.warn(
        { account: name, err: error },
        `a button that ${press.data.user.id} pressed was not answered (${messageOf(error)})`,
      );
    } finally {
      this.#count -= 1;
    }
  }

  async #ask(press: BlockActions, signal: AbortSignal): Promise<string | undefined> {
    const { port, reader, accounts } = this.#parts;
    const [account] = accounts();
    const value = press.actions.find(({ type }) => type === "button")?.value;
    if (!account || !value) return undefined; // a link, or another app's block
    const { container, user } = press;
    const place = placeOf(
      container.channel_id,
      { ts: container.message_ts, thread_ts: container.thread_ts ?? undefined },
      container.channel_id.startsWith("D"),
    );
    const { name, manages } = await reader.api.user(user.id, signal);
    return port.pressed(account, { value, person: { id: user.id, name, manages }, place });
  }

  /** Source: docs.slack.dev/reference/methods/chat.postEphemeral. */
  async #show({ container, user }: BlockActions, text: string, signal: AbortSignal): Promise<void> {
    const thread = container.thread_ts ?? undefined;
    await this.#parts.reader.api.call({
      method: "chat.postEphemeral",
      args: { channel: container.channel_id, user: user.id, text, thread_ts: thread },
      answer: plainAnswer,
      doing: "answer a button",
      channel: container.channel_id,
      signal,
    });
  }
}
