/** What one platform tells of messages, places and people, brought into dure's words. */

import { codeOf, messageOf } from "../../kernel/errors.ts";
import type { Accounts } from "./accounts.ts";
import { bystandersOf } from "../decide/bystanders.ts";
import type {
  AccountDetail,
  ChannelAccount,
  ChannelAdapter,
  Audience,
  ChannelPort,
  InboundMessage,
  PlaceAddress,
  PlaceChange,
} from "../channel-adapter.ts";
import type { Pressed } from "../orders/buttons.ts";
import { CatchUp } from "./catch-up.ts";
import { deleteMessage, editMessage } from "./changes.ts";
import { keepReaction } from "./reactions.ts";
import { UnreadablePlaceReports } from "./unreadable-places.ts";
import { IncomingPlaces, PlaceChanges } from "./platform-places.ts";
import { ORDER_BUTTON, ORDERS, type Order, type OrderedAt } from "../orders/orders.ts";
import type { PressedBy } from "../orders/pressed-by.ts";
import { wasAway, type Place } from "../place.ts";
import type { RoomsSetting, Talk } from "../talk.ts";
import { checkText, textOf } from "../text.ts";
import { roomTexts } from "../texts.ts";
import type { AccountState } from "../../kernel/rooms.ts";

/** What platforms tell, brought into dure's words: the port of one adapter. */
export class Inbound implements ChannelPort {
  readonly #setting: RoomsSetting;
  readonly #adapter: ChannelAdapter;
  readonly #talk: Talk;
  readonly #accounts: Accounts;
  readonly #press: ButtonAnswer;
  readonly #order: OrderAnswer;
  readonly #places: IncomingPlaces;
  readonly #unreadable: UnreadablePlaceReports;
  readonly #changes: PlaceChanges;
  readonly #catchUp: CatchUp;
  readonly #over = new AbortController();

  constructor(
    setting: RoomsSetting,
    parts: {
      adapter: ChannelAdapter;
      talk: Talk;
      accounts: Accounts;
      press: ButtonAnswer;
      order: OrderAnswer;
    },
  ) {
    this.#setting = setting;
    this.#adapter = parts.adapter;
    this.#talk = parts.talk;
    this.#accounts = parts.accounts;
    this.#press = parts.press;
    this.#order = parts.order;
    const adapter = parts.adapter.name;
    this.#places = new IncomingPlaces(setting, { adapter, signal: this.#over.signal });
    this.#unreadable = new UnreadablePlaceReports(setting, { adapter, talk: parts.talk });
    this.#changes = new PlaceChanges(setting, { adapter, deaf: this.#unreadable });
    this.#catchUp = new CatchUp(setting, {
      ...parts,
      places: this.#places,
      deaf: this.#unreadable,
      receive: (account, message) => this.#receive(account, message),
      port: this,
      wordsOf: (message) => {
        const checked = checkText(textOf(message));
        return checked.ok ? this.#inOurWords(checked.text) : undefined;
      },
      signal: this.#over.signal,
    });
  }

  get clock(): ChannelPort["clock"] {
    return this.#setting.clock;
  }

  get logger(): ChannelPort["logger"] {
    return this.#setting.logger;
  }

  stop(): void {
    this.#over.abort(new DOMException("Rooms were stopped.", "AbortError"));
  }

  /**
   * Also what was said in a thread before the account joined it, and what waited while nothing
   * could be stored: the same rule of age.
   */
  async received(account: ChannelAccount, message: InboundMessage): Promise<void> {
    const place = await this.#receive(account, message);
    if (place) await this.#catchUp.tellMissed(place, account, message.at);
  }

  async edited(
    _account: ChannelAccount,
    change: { platformId: string; place: PlaceAddress; text: string },
  ): Promise<void> {
    const checked = checkText(change.text);
    if (!checked.ok) return;
    const message = { adapter: this.#adapter.name, platformId: change.platformId };
    await editMessage(this.#setting, this.#talk, message, this.#inOurWords(checked.text));
  }

  async deleted(
    _account: ChannelAccount,
    gone: { platformId: string; place: PlaceAddress },
  ): Promise<void> {
    const message = { adapter: this.#adapter.name, platformId: gone.platformId };
    await deleteMessage(this.#setting, this.#talk, message);
  }

  async reacted(
    _account: ChannelAccount,
    reaction: Parameters<ChannelPort["reacted"]>[1],
  ): Promise<void> {
    const { platformId, person: author, emoji, isSet } = reaction;
    if (this.#setting.directory.byPlatformId(this.#adapter.name, author)) return; // an agent's own
    const message = { adapter: this.#adapter.name, platformId };
    await keepReaction(this.#setting, this.#talk, message, { author, emoji, isSet });
  }

  async placeChanged(account: ChannelAccount, change: PlaceChange): Promise<void> {
    await this.#changes.record(account, change);
    this.#talk.announce();
  }

  async audienceChanged(_account: ChannelAccount, audience: Audience): Promise<void> {
    await this.#changes.recordAudience(audience);
  }

  async accountChanged(
    account: ChannelAccount,
    state: AccountState,
    detail?: AccountDetail,
  ): Promise<void> {
    this.#learn(account);
    await this.#accounts.changed(this.#adapter.name, account, state, detail);
  }

  /** Who the agent is on its platform; logged once, beside the table of the start (M3). */
  #learn({ agent, id, platformId }: ChannelAccount): void {
    const { directory, logger } = this.#setting;
    const adapter = this.#adapter.name;
    if (platformId === undefined || directory.platformIdOf(adapter, agent) === platformId) return;

    directory.learnPlatformId(adapter, id, platformId);
    logger.info(
      { agent, adapter, account: id, platformId },
      `agent ${agent} is the user ${platformId} on ${adapter}`,
    );
  }

  /**
   * Reads what came while the account was not connected: young messages are decided as usual, older
   * ones recorded; an old mention is told to have been missed.
   */
  async mayHaveMissed(account: ChannelAccount): Promise<void> {
    await this.#catchUp.readAll(account);
  }

  /**
   * A thread was there before it was known: what people wrote in it meanwhile has reached no account
   * that connected in between.
   */
  async threadFound(place: string): Promise<void> {
    for (const account of this.#setting.directory.accountsOf(this.#adapter.name)) {
      await this.#catchUp.read(account, { id: place, last: null });
    }
  }

  async pressed(
    account: ChannelAccount,
    press: Parameters<ChannelPort["pressed"]>[1],
  ): Promise<string> {
    const texts = roomTexts(this.#setting.locale);
    const [escalation, value] = splitButton(press.value);
    try {
      if (escalation === ORDER_BUTTON) return await this.#ordered(account, value, press);
      const by = { adapter: this.#adapter.name, ...press.person };
      const place = await this.#setting.store.placeAt(press.place);
      const done = await this.#press(escalation, value, by, place?.id);
      return "told" in done ? done.told : texts.answeredBy(press.person.name, done.label);
    } catch (error) {
      const said = REFUSED_PRESSES[codeOf(error) ?? ""];
      if (said) return texts[said]();
      this.#setting.logger.warn(
        { err: error, button: press.value, person: press.person.id },
        `a button pressed by ${press.person.name} did nothing (${messageOf(error)})`,
      );
      return texts.pressFailed();
    }
  }

  async #ordered(
    account: ChannelAccount,
    value: string,
    { person, place: address, key }: Parameters<ChannelPort["pressed"]>[1],
  ): Promise<string> {
    const order = ORDERS.find((one) => one === value);
    const place = order && (await this.#places.find(account, address, undefined));
    if (!place || place.state === "closed") return roomTexts(this.#setting.locale).notHere();
    const by = { adapter: this.#adapter.name, ...person };
    return this.#order(order, by, { agent: account.agent, place, key });
  }

  /**
   * Returns the place if the message came too late for the answer that it asked this account for.
   */
  async #receive(account: ChannelAccount, message: InboundMessage): Promise<Place | undefined> {
    const { clock, directory, allowBots, limits, store } = this.#setting;
    const isOld = clock.now() - message.at > limits.missedMs;
    await this.#learnAccounts(message);
    const own = directory.byPlatformId(this.#adapter.name, message.author.platformId);
    // A team agent's words are dure's own record; they are decided when their sending is recorded.
    if (own || (message.author.isBot && !allowBots)) {
      const known = await store.placeAt(message.place);
      if (known) await this.#catchUp.markRead(account, known.id, message.platformId);
      return undefined;
    }
    const place = await this.#places.find(account, message.place, message.threadName);
    // What was said before a place was closed may come after that: no agent is there to answer it.
    if (!place || place.state === "closed" || wasAway(place, message.at)) return undefined;

    const isUnheeded = await this.#hear(account, place, message, isOld);
    await this.#catchUp.markRead(account, place.id, message.platformId);
    await this.#unreadable.hearsAgain(account, place);
    return isUnheeded ? place : undefined;
  }

  /**
   * An agent whose account another process has connected a moment ago is not known here: it must
   * not be taken for a stranger.
   */
  async #learnAccounts({ author, mentions }: InboundMessage): Promise<void> {
    const mentioned = mentions.map(({ platformId }) => platformId);
    const named = author.isBot ? [author.platformId, ...mentioned] : mentioned;
    const { directory } = this.#setting;
    const isStrange = named.some((id) => !directory.byPlatformId(this.#adapter.name, id));
    if (isStrange) await this.#accounts.learn();
  }

  /** Whether this account did not answer what it was asked, since the message is old. */
  async #hear(
    account: ChannelAccount,
    place: Place,
    message: InboundMessage,
    isOld: boolean,
  ): Promise<boolean> {
    const checked = checkText(textOf(message));
    if (!checked.ok) return false;
    const { store, directory, database } = this.#setting;
    const replied =
      message.replyTo === undefined
        ? undefined
        : await store.messageAt(this.#adapter.name, message.replyTo);
    const { unheeded } = await this.#talk.hear(
      place.id,
      {
        authorKind: message.author.isBot ? "foreign" : "person",
        author: message.author.platformId,
        authorName: message.author.name,
        text: this.#inOurWords(checked.text),
        platformId: message.platformId,
        attachments: message.attachments,
        at: message.at,
        replyTo: replied?.id,
        repliedTo: this.#repliedTo(message),
        bystanders: isOld
          ? []
          : await bystandersOf(place, account.agent, {
              adapter: this.#adapter,
              directory,
              database,
            }),
      },
      [account.agent],
      isOld ? { only: "record" } : {},
    );
    return unheeded.length > 0;
  }

  /**
   * The agent whose message is answered. The agents that the text names are read from the text: a
   * mention at −1 stands in none.
   */
  #repliedTo({ mentions }: InboundMessage): readonly string[] {
    const { directory } = this.#setting;
    const replied = mentions
      .filter(({ at }) => at < 0)
      .flatMap(({ platformId }) => directory.byPlatformId(this.#adapter.name, platformId) ?? []);
    return replied.map(({ id }) => id);
  }

  /** Mentions of the platform as `<@agent-id>`; those of strangers stay as they are. */
  #inOurWords(text: string): string {
    return text.replace(/<@!?([A-Za-z0-9]{1,40})>/g, (mention, platformId: string) => {
      const agent = this.#setting.directory.byPlatformId(this.#adapter.name, platformId);
      return agent ? `<@${agent.id}>` : mention;
    });
  }
}

/** What a person is told of a press that changed nothing, by the code of the refusal. */
const REFUSED_PRESSES: Readonly<Record<string, RefusedPress>> = {
  ESCALATION_CLOSED: "closedAlready",
  ESCALATION_UNKNOWN: "noSuchQuestion",
  ANSWER_INVALID: "noSuchQuestion",
  APPROVAL_ROLE_MISSING: "lacksRole",
  APPROVAL_PERSON_UNKNOWN: "unknownPerson",
  LIFT_FORBIDDEN: "notYoursToLift",
  STOP_FORBIDDEN: "notYoursToStop",
  RETRY_FORBIDDEN: "notYoursToRetry",
  PAUSE_FORBIDDEN: "notYoursToPause",
  TURN_NOT_RETRYABLE: "notResumable",
  TURN_PASSED: "passed",
  TURN_UNKNOWN: "notResumable",
};
type RefusedPress =
  | "closedAlready"
  | "noSuchQuestion"
  | "lacksRole"
  | "unknownPerson"
  | "notYoursToLift"
  | "notYoursToStop"
  | "notYoursToRetry"
  | "notYoursToPause"
  | "notResumable"
  | "passed";

/**
 * Carries out a press; gives the label of the answer, or what the person is told. Throws the codes of
 * `REFUSED_PRESSES`.
 */
export type ButtonAnswer = (
  escalation: string,
  value: string,
  by: PressedBy,
  at: string | undefined,
) => Promise<Pressed>;

/** Carries out an order; gives what the person is told. Throws the codes of `REFUSED_PRESSES`. */
export type OrderAnswer = (order: Order, by: PressedBy, at: OrderedAt) => Promise<string>;

/** `escalation_…:approve` in its two halves. */
function splitButton(value: string): readonly [string, string] {
  const colon = value.indexOf(":");
  return colon < 0 ? [value, ""] : [value.slice(0, colon), value.slice(colon + 1)];
}
