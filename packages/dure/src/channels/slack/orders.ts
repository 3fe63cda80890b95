import { messageOf } from "../../kernel/errors.ts";
import type { ChannelAccount, ChannelPort, PressingPerson } from "../../rooms/channel-adapter.ts";
import { idOf, placeOf } from "./mapping.ts";
import type { Reader } from "./reader.ts";
import type { SocketEnvelope } from "./socket.ts";
import { plainAnswer, slashCommand, type ReactionEvent, type SlashCommand } from "./wire.ts";

interface OrderParts {
  readonly name: string;
  readonly port: ChannelPort;
  readonly reader: Reader;
  readonly accounts: () => readonly ChannelAccount[];
}

/** The name of 🛑 in Slack. */
const STOP_SIGN = "octagonal_sign";
/** Commands that are being answered; more are left unanswered, and Slack says so. */
const MAX_COMMANDS = 100;

/** Answers `/dure …` and the reaction 🛑. */
export class Orders {
  readonly #parts: OrderParts;
  #count = 0;

  constructor(parts: OrderParts) {
    this.#parts = parts;
  }

  /**
   * Acknowledged at once: Slack waits 3 s. What comes of it is told to the person alone. Source:
   * docs.slack.dev/interactivity/implementing-slash-commands. Never rejects.
   */
  async answer(told: SocketEnvelope, signal: AbortSignal): Promise<void> {
    const { name, port } = this.#parts;
    await told.acknowledge();
    const command = slashCommand.safeParse(told.payload);
    if (!command.success) {
      port.logger.warn({ account: name }, `${name} was told a malformed command by Slack`);
      return;
    }
    if (this.#count >= MAX_COMMANDS) return;
    this.#count += 1;
    try {
      const said = await this.#order(command.data, signal);
      await this.#show(command.data, said, signal);
    } catch (error) {
      port.logger.warn(
        { account: name, err: error },
        `a command of ${command.data.user_id} was not answered (${messageOf(error)})`,
      );
    } finally {
      this.#count -= 1;
    }
  }

  /** Slack takes no command in a thread: it is of the channel with its threads. */
  async #order(
    { text, channel_id: channel, user_id }: SlashCommand,
    signal: AbortSignal,
  ): Promise<string> {
    const { port, accounts } = this.#parts;
    const [order = "", ...words] = (text ?? "").trim().split(/\s+/);
    const named = words.join(" ");
    const isOfOne = order === "pause" || order === "resume";
    const account = accountNamed(accounts(), named);
    if (account === undefined || order === "") return USAGE;
    // Of several agents that share the app one is meant.
    if (isOfOne && named === "" && accounts().length > 1) return USAGE;
    const person = await this.#person(user_id, signal);
    const place = { adapter: "slack", channel, direct: channel.startsWith("D") || undefined };
    return port.pressed(account, { value: `order:${order}`, person, place });
  }

  /** The event does not say in which thread the message stands: that is asked for. */
  async react({ user, reaction, item }: ReactionEvent, signal: AbortSignal): Promise<void> {
    const { port, reader, accounts } = this.#parts;
    const [account] = accounts();
    if (reaction !== STOP_SIGN || account === undefined) return;
    const person = await this.#person(user, signal);
    const root = await reader.rootOf(item.channel, item.ts, signal);
    const place = placeOf(
      item.channel,
      { ts: item.ts, thread_ts: root },
      item.channel.startsWith("D"),
    );
    const key = `slack:${idOf(item.channel, item.ts)}:${user}`;
    await port.pressed(account, { value: "order:stop", person, place, key });
  }

  async #person(id: string, signal: AbortSignal): Promise<PressingPerson> {
    const { name, manages } = await this.#parts.reader.api.user(id, signal);
    return { id, name, manages };
  }

  /** Source: docs.slack.dev/reference/methods/chat.postEphemeral. */
  async #show(
    { channel_id: channel, user_id: user }: SlashCommand,
    text: string,
    signal: AbortSignal,
  ): Promise<void> {
    await this.#parts.reader.api.call({
      method: "chat.postEphemeral",
      args: { channel, user, text },
      answer: plainAnswer,
      doing: "answer a command",
      channel,
      signal,
    });
  }
}

const USAGE = "/dure stop · /dure pause AGENT · /dure resume AGENT · /dure who · /dure jobs";

/** By id or name; an app of one agent needs none. Pure. */
function accountNamed(
  accounts: readonly ChannelAccount[],
  name: string,
): ChannelAccount | undefined {
  if (name === "") return accounts[0];
  const plain = name.replace(/^@/, "").normalize("NFC").toLowerCase();
  return accounts.find(({ agent, displayName }) =>
    [agent, displayName].some((one) => one.normalize("NFC").toLowerCase() === plain),
  );
}
