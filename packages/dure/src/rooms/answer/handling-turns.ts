/** The turn in which an agent answers a message: what it is asked, and who follows it. */

import type { Conversations } from "../../engine/api.ts";
import { storable } from "../../durable/storable.ts";
import { backOffMs } from "../../kernel/back-off.ts";
import type { Pauses } from "../../durable/pauses.ts";
import { codeOf, DureError, messageOf } from "../../kernel/errors.ts";
import { newId } from "../../kernel/ids.ts";
import type { RoomSpeaker } from "../../kernel/rooms.ts";
import type { Done } from "../../kernel/turn-events.ts";
import { backgroundOf, gatherFacts, messageFor } from "./background.ts";
import { messagesOf } from "./gathering.ts";
import { ANNOUNCE_SKIP, SIGNED, type HandlingInput, type HandlingRow } from "./handling.ts";
import { SIGNS } from "../channel-adapter.ts";
import { MessageFiles } from "./files.ts";
import { withoutCalls } from "../decide/mentions.ts";
import { ModelWaitNotice } from "./model-wait-notice.ts";
import { addressOf, type Place } from "../place.ts";
import { Preview } from "./preview.ts";
import type { RoomsSetting, Talk } from "../talk.ts";

/**
 * A platform shows a typing sign for about ten seconds. Source: Discord, "Trigger Typing
 * Indicator".
 */
const TYPING_EVERY_MS = 8_000;
/**
 * Bytes that a message of a room may have for a turn; half of what a turn takes. Source:
 * docs/spec/conversation §6 (64 KiB).
 */
const MESSAGE_BYTES = 48_000;
const ASK_BACK_OFF = { firstMs: 100, maxMs: 5_000 } as const;

interface HandlingTurn {
  readonly input: HandlingInput;
  readonly turn: string;
}

/** The turns that answer handlings: asked once each, read to their ends. */
export class HandlingTurns {
  readonly #setting: RoomsSetting;
  readonly #conversations: Conversations;
  readonly #pauses: Pick<Pauses, "first">;
  readonly #holder: string;
  readonly #talk: Talk;
  readonly #files: MessageFiles;

  /** `holder`: the process that works. */
  constructor(
    setting: RoomsSetting,
    parts: {
      conversations: Conversations;
      pauses: Pick<Pauses, "first">;
      talk: Talk;
      holder: string;
    },
  ) {
    this.#setting = setting;
    this.#pauses = parts.pauses;
    this.#conversations = parts.conversations;
    this.#holder = parts.holder;
    this.#talk = parts.talk;
    this.#files = new MessageFiles(setting);
  }

  /**
   * The turn that answers a message. Its id stands in the work's row before it begins: the agent's
   * tools look it up there.
   */
  async ask(
    handling: HandlingRow,
    place: Place,
    options: { signal: AbortSignal },
  ): Promise<string> {
    void this.#signSeen(handling, place, options.signal);
    const asked =
      handling.input && handling.turn !== null
        ? { input: handling.input, turn: handling.turn }
        : await this.#compose(handling, place, options);
    try {
      return await this.#accept(handling, place, asked, options);
    } catch (error) {
      if (!isFileGone(error)) throw error;
      const anew = await this.#composeAnew(handling, place, options);
      return this.#accept(handling, place, anew, options);
    }
  }

  /**
   * Whether a person has stopped the place, or what was asked there, while the turn was accepted:
   * then it is stopped too.
   */
  async endWithStopped({ id }: HandlingRow, turn: string): Promise<boolean> {
    const [row] = await this.#setting.database.query<{ tenant: string }>(STOPPED, [id]);
    if (!row) return false;
    const caller = { tenant: row.tenant, name: "rooms" };
    await this.#conversations.stopTurn(turn, { caller }).catch((error: unknown) => {
      if (codeOf(error) !== "TURN_FINISHED") throw error;
    });
    return true;
  }

  /** Reads the turn to its end, wherever it runs; shows meanwhile that the agent writes. */
  async follow(
    handling: HandlingRow,
    place: Place,
    turn: string,
    { signal }: { signal: AbortSignal },
  ): Promise<Done> {
    const stopTyping = this.#showTyping(handling, place);
    const preview = this.#previewOf(handling, place);
    const { agent, message } = handling;
    const asked = { agent, place: place.id, turn };
    const notice =
      preview || message === null
        ? undefined // the preview says it
        : new ModelWaitNotice(this.#setting, this.#talk, { ...asked, message });
    try {
      const caller = { tenant: place.tenant, name: "rooms" };
      for await (const { event } of this.#conversations.read(turn, { signal, caller })) {
        preview?.hear(event);
        await notice?.hear(event);
        if (event.type === "DONE") return event.data;
      }
    } finally {
      stopTyping();
      await preview?.stop();
    }
    throw new DureError("TURN_UNREADABLE", `The turn ${turn} has no end.`);
  }

  /** Asked again after a crash it is the same request, word for word. */
  async #compose(
    handling: HandlingRow,
    place: Place,
    options: { signal: AbortSignal },
  ): Promise<HandlingTurn> {
    const composed = storable(await this.#inputOf(handling, place, options));
    const [row] = await this.#setting.database.query<HandlingTurn>(COMPOSED, [
      handling.id,
      composed,
      newId("turn", this.#setting.clock.now()),
    ]);
    return row ?? gone(handling);
  }

  /**
   * A file that was brought is not kept any more, since its turn was not accepted for a day: it is
   * brought again, or told as one that is gone. No turn has the words of before.
   */
  async #composeAnew(
    handling: HandlingRow,
    place: Place,
    options: { signal: AbortSignal },
  ): Promise<HandlingTurn> {
    const { database, logger } = this.#setting;
    logger.warn(
      { handling: handling.id, agent: handling.agent },
      `files for ${handling.agent} are not kept any more; they are read again`,
    );
    const composed = storable(await this.#inputOf(handling, place, options));
    const [row] = await database.query<HandlingTurn>(COMPOSED_ANEW, [
      handling.id,
      composed,
      this.#holder,
    ]);
    return row ?? gone(handling);
  }

  async #inputOf(
    handling: HandlingRow,
    place: Place,
    options: { signal: AbortSignal },
  ): Promise<HandlingInput> {
    const messages = await messagesOf(this.#setting.database, handling);
    const { files, lines } = await this.#files.bring(handling, place, messages, options);
    const message = messages.find(({ id }) => id === handling.message)!;
    const facts = await gatherFacts(this.#setting, { handling, place, message });
    const said = messages.map((one) => ({
      ...facts,
      message: one,
      files: lines.get(one.id) ?? [],
    }));
    return {
      message: messageFor(said, MESSAGE_BYTES),
      background: backgroundOf(facts),
      files,
    };
  }

  /**
   * The engine keeps the key: a turn that was accepted before a crash is found, not made again. A
   * full queue is waited for.
   */
  async #accept(
    handling: HandlingRow,
    place: Place,
    { input, turn }: HandlingTurn,
    { signal }: { signal: AbortSignal },
  ): Promise<string> {
    const { clock, directory, locale, logger } = this.#setting;
    const speaker = await this.#speakerOf(handling, place);
    const request = {
      session: handling.session,
      service: directory.get(handling.agent).service,
      message: input.message,
      background: input.background,
      files: input.files,
      locale,
    };
    for (let failures = 1; ; failures++) {
      try {
        const accepted = await this.#conversations.accept(request, {
          key: handling.id,
          path: "room",
          turnId: turn,
          speaker,
          caller: { tenant: place.tenant, name: "rooms" },
        });
        return accepted.turnId;
      } catch (error) {
        if (isFileGone(error)) throw error;
        if (isRefusal(error)) {
          logger.error(
            {
              handling: handling.id,
              agent: handling.agent,
              code: codeOf(error),
              error: messageOf(error),
            },
            `${handling.agent} cannot be asked: ${messageOf(error)}`,
          );
          return "refused";
        }
        if (isTold(failures)) {
          logger.warn(
            {
              handling: handling.id,
              agent: handling.agent,
              failures,
              code: codeOf(error),
              error: messageOf(error),
            },
            `${handling.agent} could not be asked ${failures} times: ${messageOf(error)}; it is tried again`,
          );
        }
        await clock.sleep(backOffMs(failures, ASK_BACK_OFF), { signal });
      }
    }
  }

  /** Undefined: an agent asks, reminds or reports, and no person's own words are answered. */
  async #speakerOf(handling: HandlingRow, place: Place): Promise<RoomSpeaker | undefined> {
    const { database, directory } = this.#setting;
    const messages = await messagesOf(database, handling);
    const [first] = messages;
    if (first?.authorKind !== "person" || first.mark !== null) return undefined;
    const { author, authorName: name, seq } = first;
    const text = messages.map((one) => withoutCalls(one.text, directory.names)).join("\n");
    // A yes that belongs to one question among other words is none: it says which one by itself.
    const [replyTo, ...others] = new Set(messages.map((one) => one.replyTo ?? undefined));
    const answers = others.length === 0 ? replyTo : undefined;
    return { adapter: place.adapter, id: author, name, seq, text, replyTo: answers };
  }

  /**
   * Shows below a person's message that the agent has begun; a sign that does not come is no trouble.
   * The end of the work takes it away.
   */
  async #signSeen({ agent, message }: HandlingRow, place: Place, signal: AbortSignal) {
    const { adapters, directory, database, signs, logger } = this.#setting;
    const adapter = adapters.get(place.adapter);
    const account = directory.account(place.adapter, agent);
    if (!signs || !adapter?.react || !account) return;
    try {
      const [post] = await database.query<{ platform_id: string }>(SIGNED, [
        message,
        place.adapter,
      ]);
      const sign = post && { platformId: post.platform_id, emoji: SIGNS.seen, isSet: true };
      if (sign) await adapter.react(account, addressOf(place), sign, { signal });
    } catch (error) {
      logger.debug(
        { agent, message, error: messageOf(error) },
        `${agent} could not sign ${message}`,
      );
    }
  }

  /** Gives the end of the typing sign. */
  #showTyping(handling: HandlingRow, place: Place): () => void {
    const { adapters, directory, clock } = this.#setting;
    const adapter = adapters.get(place.adapter);
    const account = directory.account(place.adapter, handling.agent);
    const show = (): void => {
      if (this.#pauses.first([handling.agent])) return;
      if (adapter && account) adapter.typing(account, addressOf(place));
    };
    show();
    return clock.every(TYPING_EVERY_MS, show);
  }

  /** Undefined: the platform shows nothing before the answer. */
  #previewOf(handling: HandlingRow, place: Place): Preview | undefined {
    const { adapters, directory, stream } = this.#setting;
    const adapter = adapters.get(place.adapter);
    const account = directory.account(place.adapter, handling.agent);
    const isThere = place.kind !== "thread" || place.thread !== null;
    if (!adapter?.edit || !account || !isThere) return undefined;

    return new Preview(this.#setting, {
      handling: handling.id,
      holder: this.#holder,
      adapter,
      account,
      place,
      streams: stream,
      isWorking: () => !this.#pauses.first([handling.agent]),
      isShowable: (text) => !ANNOUNCE_SKIP.startsWith(text),
    });
  }
}

/** The third failure in a row, then each time there are twice as many: trouble is told, not poured. */
function isTold(failures: number): boolean {
  return failures >= 3 && Number.isInteger(Math.log2(failures / 3));
}

/** The request itself is wrong: it would be refused again. */
function isRefusal(error: unknown): boolean {
  return error instanceof DureError && (error.class === "input" || error.class === "not-found");
}

function isFileGone(error: unknown): boolean {
  return codeOf(error) === "FILE_UNKNOWN";
}

function gone({ id }: HandlingRow): never {
  throw new DureError("PLACE_UNKNOWN", `The work ${id} is gone with its place.`, {
    class: "not-found",
  });
}

const COMPOSED = {
  name: "handling.composed",
  text: `
    update dure.handlings
    set input = coalesce(input, $2), turn = coalesce(turn, $3)
    where id = $1
    returning input, turn`,
};
const COMPOSED_ANEW = {
  name: "handling.composed_anew",
  text: `
    update dure.handlings
    set input = $2
    where id = $1 and state = 'running' and holder = $3
    returning input, turn`,
};
const STOPPED = {
  name: "handling.stopped",
  text: `
    select p.tenant
    from dure.handlings h
    join dure.places p on p.id = h.place
    where h.id = $1 and h.state = 'done' and h.outcome in ('stopped', 'deleted')`,
};
