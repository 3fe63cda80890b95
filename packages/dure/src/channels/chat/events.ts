import { messageOf } from "../../kernel/errors.ts";
import { isObject } from "../../kernel/json.ts";
import type { ChannelAccount, ChannelPort, PlaceAddress } from "../../rooms/channel-adapter.ts";
import type { ChatAdapter } from "./chat-types.ts";
import {
  authorOf,
  heardMessage,
  idIn,
  placeOf,
  platformIdOf,
  type Bot,
  type HeardMessage,
  type Listener,
} from "./heard.ts";
import { sendTo } from "./sent.ts";

/** Orders that a person can give by a command. Source: rooms/orders/orders.ts, `ORDERS`. */
const ORDERS: readonly string[] = ["stop", "retry", "pause", "resume", "who", "jobs"];
/** The emoji that stops, by the name that adapters give it. */
const STOP_SIGNS: readonly string[] = ["stop", "\u{1f6d1}"];
/** Channels outside of the team that are told of once. */
const MOST_STRANGE = 100;

export interface AccountEventsParts {
  readonly port: ChannelPort;
  readonly listener: Listener;
  readonly account: () => ChannelAccount;
  readonly self: () => Bot;
  /** The platform's ids of the team's channels. */
  readonly channels: () => readonly string[];
}

/**
 * What one account hears, handed to rooms: in order within a thread, threads beside each other. Each
 * rejects when it was not stored. What cannot be read is one line of the log.
 */
export class AccountEvents {
  readonly #parts: AccountEventsParts;
  /** The last of each thread. */
  readonly #lanes = new Map<string, Promise<void>>();
  readonly #strange = new Set<string>();

  constructor(parts: AccountEventsParts) {
    this.#parts = parts;
  }

  /** A message, or the function that makes it. Adapters tell edits like this too. */
  message(threadId: string, message: unknown): Promise<void> {
    return this.#inLane(threadId, async () => {
      const heard = this.#read("a message", await made(message), heardMessage);
      if (heard === undefined) return;
      this.#tellStrange(heard.message.place);
      await this.#received(heard);
    });
  }

  /** `event`: `{ threadId, message }`. */
  updated(event: unknown): Promise<void> {
    const threadId = isObject(event) ? idIn(event, "threadId") : undefined;
    return this.#inLane(threadId ?? "", async () => {
      const value = isObject(event) ? await made(event["message"]) : undefined;
      const heard = this.#read("an edit", value, heardMessage);
      if (heard !== undefined) await this.#received({ ...heard, isEdited: true });
    });
  }

  /** `event`: `{ threadId, messageId }`. */
  deleted(event: unknown): Promise<void> {
    const gone = this.#read("a deletion", event, whereOf);
    if (gone === undefined) return Promise.resolve();
    const { port, account } = this.#parts;

    return this.#inLane(gone.threadId, () => port.deleted(account(), gone));
  }

  /** A button: `{ threadId, actionId, user }`. The person sees what rooms say. */
  async pressed(event: unknown): Promise<void> {
    const press = this.#read("a press", event, pressOf);
    if (press === undefined) return;
    await this.#press(press);
  }

  /** A person sets 🛑 below a message: what runs there ends. */
  async reacted(event: unknown): Promise<void> {
    if (!isObject(event) || event["added"] !== true || !isStop(event)) return;
    const press = this.#read("a reaction", { ...event, actionId: "order:stop" }, pressOf);
    if (press !== undefined) await this.#press(press);
  }

  /** `/stop` and the other orders; every other command is said like a message. */
  async commanded(event: unknown): Promise<void> {
    if (!isObject(event)) return this.#skip("a command", "it is no object");
    const command = idIn(event, "command")?.replace(/^\//u, "") ?? "";
    const threadId = idIn(event, "threadId") ?? idIn(event, "channelId") ?? "";
    if (ORDERS.includes(command)) {
      return this.pressed({ ...event, threadId, actionId: `order:${command}` });
    }
    const { listener } = this.#parts;
    const parse = (): unknown => listener.adapter.parseMessage(event["raw"]);

    return this.message(threadId, this.#read("a command", undefined, parse));
  }

  async #received({ message, isEdited }: HeardMessage): Promise<void> {
    const { port, account, listener } = this.#parts;
    await port.received(account(), message);
    const { platformId, place, text, author } = message;
    // What an agent said is dure's own record, whatever the platform makes of it.
    const isOurs = listener.bots().some(({ id }) => id === author.platformId);
    if (isEdited && !isOurs) await port.edited(account(), { platformId, place, text });
  }

  async #press({ value, person, place, threadId }: ReadPress): Promise<void> {
    const { port, account, listener } = this.#parts;
    const said = await port.pressed(account(), { value, person, place });
    if (said === "") return;
    try {
      await tellPerson(listener.adapter, { threadId, place, person: person.id, text: said });
    } catch (error) {
      port.logger.warn(
        { account: account().id, err: error },
        `${person.name} was not told what a button of ${account().id} did (${messageOf(error)})`,
      );
    }
  }

  /** What an adapter told, or nothing and a line of the log. */
  #read<T>(what: string, value: unknown, read: Reader<T>): T | undefined {
    const { listener, self } = this.#parts;
    try {
      const found = read(value, { listener, self: self() });
      if (found === undefined) this.#skip(what, "it lacks what dure needs");
      return found;
    } catch (error) {
      this.#skip(what, messageOf(error));
      return undefined;
    }
  }

  #skip(what: string, why: string): void {
    const { port, account } = this.#parts;
    port.logger.warn(
      { account: account().id },
      `${what} that ${account().id} heard could not be read and is left out (${why})`,
    );
  }

  /** The id of a channel is shown nowhere on most platforms: the operator copies it from here. */
  #tellStrange({ adapter, channel, direct }: PlaceAddress): void {
    const { port, channels } = this.#parts;
    const isKnown = direct === true || channels().includes(channel) || this.#strange.has(channel);
    if (isKnown || this.#strange.size >= MOST_STRANGE) return;
    this.#strange.add(channel);
    port.logger.info(
      { adapter, channel },
      `something was said in ${channel}, which is no channel of the team; to answer there, give ` +
        `one of rooms.channels the ids: { ${adapter}: "${channel}" }`,
    );
  }

  #inLane(threadId: string, work: () => Promise<void>): Promise<void> {
    const before = this.#lanes.get(threadId) ?? Promise.resolve();
    const run = before.catch(() => {}).then(work);
    this.#lanes.set(threadId, run);
    const leave = (): void => {
      if (this.#lanes.get(threadId) === run) this.#lanes.delete(threadId);
    };
    run.then(leave, leave);

    return run;
  }
}

type Reader<T> = (value: unknown, by: { listener: Listener; self: Bot }) => T | undefined;

/** Adapters hand a message or the function that makes it. */
async function made(message: unknown): Promise<unknown> {
  return typeof message === "function" ? ((await message()) as unknown) : message;
}

interface ReadPress {
  readonly value: string;
  readonly person: { readonly id: string; readonly name: string };
  readonly place: PlaceAddress;
  readonly threadId: string;
}

const pressOf: Reader<ReadPress> = (event, { listener, self }) => {
  if (!isObject(event)) return undefined;
  const threadId = idIn(event, "threadId");
  const value = idIn(event, "actionId");
  const author = authorOf(event["user"], self, listener.bots());
  if (threadId === undefined || value === undefined || author === undefined) return undefined;
  const person = { id: author.platformId, name: author.name };

  return { value, person, place: placeOf(threadId, listener), threadId };
};

const whereOf: Reader<{ platformId: string; place: PlaceAddress; threadId: string }> = (
  event,
  { listener },
) => {
  if (!isObject(event)) return undefined;
  const threadId = idIn(event, "threadId");
  const messageId = idIn(event, "messageId");
  if (threadId === undefined || messageId === undefined) return undefined;
  const place = placeOf(threadId, listener);

  return { platformId: platformIdOf(place, messageId), place, threadId };
};

function isStop({ emoji, rawEmoji }: Readonly<Record<string, unknown>>): boolean {
  const name = isObject(emoji) ? emoji["name"] : undefined;
  return [name, rawEmoji].some((one) => typeof one === "string" && STOP_SIGNS.includes(one));
}

/** To this person alone where the platform can, else where the button stands. */
async function tellPerson(
  adapter: ChatAdapter,
  told: { threadId: string; place: PlaceAddress; person: string; text: string },
): Promise<void> {
  const message = { markdown: told.text };
  const shown = await adapter.postEphemeral?.(told.threadId, told.person, message, {
    fallbackToDM: false,
  });
  if (shown === undefined || shown === null) await sendTo(adapter, told.place, message);
}
