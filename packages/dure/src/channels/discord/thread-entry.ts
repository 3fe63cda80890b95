import { messageOf } from "../../kernel/errors.ts";
import type { ChannelAccount, ChannelPort, PlaceAddress } from "../../rooms/channel-adapter.ts";
import { PAGE, type AccountApi } from "./account-api.ts";
import type { Inbox } from "../inbox.ts";
import { patiently } from "../patience.ts";
import { NEEDS } from "./permissions.ts";
import type { KnownPlace, PlaceDirectory } from "./places.ts";
import type { WireMessage } from "./wire-forms.ts";

export interface ThreadEntryParts {
  readonly port: ChannelPort;
  readonly api: AccountApi;
  readonly places: PlaceDirectory;
  readonly inbox: Inbox;
  /** Whether the bot joins without having been asked. */
  readonly joinsThread: (place: PlaceAddress, account: ChannelAccount) => boolean;
  readonly account: () => ChannelAccount;
  readonly signal: () => AbortSignal;
  readonly receive: (message: WireMessage, place: KnownPlace) => Promise<void>;
}

/**
 * How a bot comes into threads. It hears those alone that it is in: its own, those where it was
 * named or put in, and those that it joins. What was said before is read, because the platform does
 * not send it again. Source: "Threads".
 */
export class ThreadEntry {
  readonly #parts: ThreadEntryParts;
  /** Threads that the bot is joining: the platform tells of it as if others had put it in. */
  readonly #joining = new Set<string>();

  constructor(parts: ThreadEntryParts) {
    this.#parts = parts;
  }

  /** A thread in use that the bot is not in. Into a private one it has to be asked. */
  seen({ address, name }: Pick<KnownPlace, "address" | "name">): void {
    if (address.private === true) return;
    if (this.#parts.joinsThread(address, this.#parts.account())) this.join(address, name);
  }

  /** A bot that cannot join is no message that was not stored: it is told, and nothing else. */
  join(address: PlaceAddress, name: string): void {
    const { thread } = address;
    if (thread === undefined) return;
    const place = { address, name, archived: false };
    this.#parts.inbox.push(thread, async () => {
      this.#joining.add(thread);
      const messages = await this.#joined(thread, place);
      this.#joining.delete(thread);
      for (const message of messages) await this.#parts.receive(message, place);
    });
  }

  /** Others have put the bot in. */
  wasPutIn(address: PlaceAddress, name: string): void {
    const { thread } = address;
    if (thread === undefined || this.#joining.has(thread)) return;
    const place = { address, name, archived: false };
    this.#parts.inbox.push(thread, async () => {
      const messages = await this.#said(thread).catch((error: unknown) => {
        this.#warn(thread, place, error);
        return [];
      });
      for (const message of messages) await this.#parts.receive(message, place);
    });
  }

  /** Joins; gives what was said before. */
  async #joined(thread: string, place: KnownPlace): Promise<readonly WireMessage[]> {
    const { api, places, port, signal } = this.#parts;
    try {
      await patiently(port.clock, signal(), () =>
        api.request({
          method: "PUT",
          route: `/channels/${thread}/thread-members/@me`,
          doing: "join the thread",
          channel: thread,
          needs: NEEDS.see,
          signal: signal(),
        }),
      );
      places.joined(thread);
      return await this.#said(thread);
    } catch (error) {
      this.#warn(thread, place, error);
      return [];
    }
  }

  async #said(thread: string): Promise<readonly WireMessage[]> {
    const { api, port, signal } = this.#parts;
    const page = await patiently(port.clock, signal(), () =>
      api.messages(thread, { limit: PAGE, signal: signal() }),
    );
    return page.messages;
  }

  #warn(thread: string, { name }: KnownPlace, error: unknown): void {
    const { port, account, signal } = this.#parts;
    if (signal().aborted) return;
    const { id } = account();
    port.logger.warn(
      { account: id, thread, err: error },
      `${id} could not enter the thread ${name}: it hears nothing there until it is ` +
        `mentioned (${messageOf(error)})`,
    );
  }
}
