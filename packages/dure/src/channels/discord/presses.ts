import { messageOf } from "../../kernel/errors.ts";
import type {
  ChannelAccount,
  ChannelPort,
  PlaceAddress,
  PressingPerson,
} from "../../rooms/channel-adapter.ts";
import type { AccountApi } from "./account-api.ts";
import { orderIn } from "./commands.ts";
import { cut, nameOf, PLATFORM_MESSAGE_LENGTH } from "./mapping.ts";
import { patiently } from "../patience.ts";
import type { PlaceFinder } from "./place-finder.ts";
import type { WireInteraction, WireReaction, WireUser } from "./wire-forms.ts";

interface PressParts {
  readonly account: () => ChannelAccount;
  readonly port: ChannelPort;
  readonly api: AccountApi;
  readonly places: PlaceFinder;
}

/** A button that a person pressed. */
interface Press {
  readonly value: string;
  readonly user: WireUser;
  readonly channel: string;
  readonly interaction: WireInteraction;
}

/** The emoji that stops: U+1F6D1. */
const STOP_SIGN = "\u{1f6d1}";
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
   * Answers at once that an answer will come, since the platform waits 3 s
   * only, then asks the port and shows what it says. Source: "Receiving and
   * Responding: Interaction Callback Type" 5, and flag 64: only the person who
   * pressed sees it. Never rejects.
   */
  async answer(interaction: WireInteraction, signal: AbortSignal): Promise<void> {
    const press = pressOf(interaction);
    if (press === undefined) return;
    this.#count += 1;
    try {
      if (this.#count > MAX_PRESSES) {
        return await this.#respond(press, { type: 4, data: { content: "⏳", flags: 64 } });
      }
      await this.#respond(press, { type: 5, data: { flags: 64 } });
      const said = await this.#ask(press, signal);
      await this.#show(press, said, signal);
    } catch (error) {
      const { account, port } = this.#parts;
      port.logger.warn(
        { account: account().id, err: error, interaction: interaction.id },
        `a button pressed by ${nameOf(press.user)} was not answered on Discord ` +
          `(${messageOf(error)})`,
      );
    } finally {
      this.#count -= 1;
    }
  }

  /**
   * A person sets 🛑 below a message: what runs there ends. Each bot is told of
   * it; the first does it. The room says what was stopped. Never rejects.
   */
  async react(reaction: WireReaction, signal: AbortSignal): Promise<void> {
    const user = reaction.member?.user;
    if (reaction.emoji.name !== STOP_SIGN || user === undefined || user.bot === true) return;
    if (this.#count >= MAX_PRESSES) return;
    this.#count += 1;
    const { account, port, places } = this.#parts;
    try {
      const place = await places.find(reaction, signal);
      if (place === undefined) return;
      const { nick, roles } = reaction.member ?? {};
      await port.pressed(account(), {
        value: "order:stop",
        person: { id: user.id, name: nick ?? nameOf(user), roles },
        place: place.address,
        key: `discord:${reaction.message_id}:${user.id}`,
      });
    } catch (error) {
      port.logger.warn(
        { account: account().id, err: error, message: reaction.message_id },
        `a stop sign of ${nameOf(user)} did nothing (${messageOf(error)})`,
      );
    } finally {
      this.#count -= 1;
    }
  }

  async #respond({ interaction, channel }: Press, body: object): Promise<void> {
    await this.#parts.api.request({
      method: "POST",
      route: `/interactions/${interaction.id}/${interaction.token}/callback`,
      body,
      doing: "answer a button",
      channel,
      withoutToken: true,
    });
  }

  /** Never rejects. */
  async #ask({ value, user, channel, interaction }: Press, signal: AbortSignal): Promise<string> {
    const { account, port, places } = this.#parts;
    const { member, guild_id } = interaction;
    try {
      const place = await places.find({ channel_id: channel, guild_id }, signal);
      if (place === undefined) return "⚠️";
      const person = personOf(user, member, place.address);
      return await port.pressed(account(), { value, person, place: place.address });
    } catch (error) {
      port.logger.warn(
        { account: account().id, err: error, value },
        `a button pressed by ${nameOf(user)} could not be handled (${messageOf(error)})`,
      );
      return `⚠️ ${messageOf(error)}`;
    }
  }

  async #show({ interaction, channel }: Press, said: string, signal: AbortSignal): Promise<void> {
    const { api, port } = this.#parts;
    const content = cut(said.trim() === "" ? "✓" : said, PLATFORM_MESSAGE_LENGTH);
    await patiently(port.clock, signal, () =>
      api.request({
        method: "PATCH",
        route: `/webhooks/${interaction.application_id}/${interaction.token}/messages/@original`,
        body: { content, allowed_mentions: { parse: [] } },
        doing: "show the answer to a button",
        channel,
        withoutToken: true,
      }),
    );
  }
}

/**
 * Undefined: neither a button nor a command, or nothing to answer. Source:
 * "Interaction Type" 2 and 3. Pure.
 */
function pressOf(interaction: WireInteraction): Press | undefined {
  const { channel_id: channel } = interaction;
  const user = interaction.member?.user ?? interaction.user;
  const value = valueOf(interaction);
  if (value === undefined || user === undefined || channel === undefined) return undefined;
  return { value, user, channel, interaction };
}

function valueOf(interaction: WireInteraction): string | undefined {
  if (interaction.type === 2) return orderIn(interaction);
  return interaction.type === 3 ? interaction.data?.custom_id : undefined;
}

/**
 * Source: "Permissions: Bitwise Permission Flags": ADMINISTRATOR, MANAGE_GUILD.
 */
const MANAGING = (1n << 3n) | (1n << 5n);
/**
 * The same: ADMINISTRATOR, SEND_MESSAGES; SEND_MESSAGES_IN_THREADS, which
 * counts in a thread instead.
 */
const WRITING = { channel: (1n << 3n) | (1n << 11n), thread: (1n << 3n) | (1n << 38n) } as const;

/** Who pressed, with what the platform says that they may do there. Pure. */
function personOf(
  user: WireUser,
  member: WireInteraction["member"],
  place: PlaceAddress,
): PressingPerson {
  const { roles, permissions } = member ?? {};
  const may = (bits: bigint): boolean =>
    permissions !== undefined && (BigInt(permissions) & bits) !== 0n;
  const writing = place.thread === undefined ? WRITING.channel : WRITING.thread;
  return {
    id: user.id,
    name: nameOf(user),
    roles,
    manages: may(MANAGING),
    writes: place.direct === true ? undefined : may(writing),
  };
}
