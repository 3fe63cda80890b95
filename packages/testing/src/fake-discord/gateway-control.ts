import type { BotAccount } from "./bots.ts";
import type { FakeBot } from "./fake-discord.ts";
import type { AlterPacket, Gateway, GatewayEnding } from "./gateway.ts";

/** What tests do to the gateway itself: odd packets, early ends, a day's session starts. */
export class FakeGateway {
  readonly #gateway: Gateway;
  readonly #bot: (bot: FakeBot) => BotAccount;

  constructor(gateway: Gateway, bot: (bot: FakeBot) => BotAccount) {
    this.#gateway = gateway;
    this.#bot = bot;
  }

  /**
   * From now on every packet leaves as this makes it: another packet, a text that may be no JSON,
   * or undefined for none. Without an argument all is as before.
   */
  alter(alter?: AlterPacket): void {
    this.#gateway.alter(alter);
  }

  /** What a bot's sessions were sent, oldest first; the last 1,000 of each. */
  events(bot: FakeBot): readonly { readonly type: string; readonly data: unknown }[] {
    return this.#gateway.eventsOf(this.#bot(bot));
  }

  /**
   * Hands a bot an event that did not happen, in whatever form; those of `events` are true ones to
   * begin with.
   */
  sendEvent(bot: FakeBot, type: string, data: unknown): void {
    this.#gateway.send(this.#bot(bot), type, data);
  }

  /** The next connections end early. */
  endNext(how: GatewayEnding, times = 1): void {
    this.#gateway.endNext(how, times);
  }

  /** Uses up session starts of a bot, as another program with its token does. */
  useSessionStarts(bot: FakeBot, count: number): void {
    this.#gateway.useSessionStarts(this.#bot(bot), count);
  }
}
