/** The message that shows an answer while it is written. */

import { Poller, type PollResult } from "../../durable/poller.ts";
import { messageOf } from "../../kernel/errors.ts";
import type { TurnEvent } from "../../kernel/turn-events.ts";
import { ChannelError, type ChannelAccount, type ChannelAdapter } from "../channel-adapter.ts";
import { renderMentions } from "../decide/mentions.ts";
import { waitButtons } from "../orders/orders.ts";
import { addressOf, type Place } from "../place.ts";
import { postOnce } from "../out/outgoing.ts";
import { partLength } from "../out/notices.ts";
import type { RoomsSetting } from "../talk.ts";
import { cutText } from "../text.ts";
import { roomTexts } from "../texts.ts";
import { previewKey, removePreview } from "./handling.ts";

/** Between two edits of one message, milliseconds. Source: docs/spec/collaboration §9. */
const SHOW_EVERY_MS = 1_000;
/** How often it is looked whether there is something to show, milliseconds. */
const LOOK_EVERY_MS = 100;

/**
 * One message of the platform that shows a person that an agent works, with a button to stop it.
 * It is what the agent writes, where that is shown: from the first second on, edited at most once
 * per second. Before the first word, and where words are not shown, it is a notice, which comes
 * after `workingNoticeMs`. That the message may be there stands in the handling's row before it is
 * posted; the answer takes its place, or it is taken away.
 */
export class Preview {
  readonly #setting: RoomsSetting;
  readonly #parts: PreviewParts;
  readonly #over = new AbortController();
  #text = "";
  /** Its model cannot be reached. */
  #waits = false;
  #shown = "";
  #asked: { readonly platformId: string | undefined } | undefined;
  #platformId: string | undefined;
  readonly #poller: Poller;
  readonly #since: number;

  constructor(setting: RoomsSetting, parts: PreviewParts) {
    this.#setting = setting;
    this.#parts = parts;
    this.#poller = new Poller({
      what: "what is being written",
      poll: () => this.#show(),
      everyMs: LOOK_EVERY_MS,
      clock: setting.clock,
      logger: setting.logger,
    });
    this.#since = setting.clock.monotonic();
    this.#poller.start({ inMs: parts.streams ? SHOW_EVERY_MS : setting.limits.workingNoticeMs });
  }

  /** A text that is begun again (`AGENT_START`) voids what was written before. */
  hear(event: TurnEvent): void {
    if (event.type === "LLM_TOKEN") this.#text += event.data;
    if (event.type !== "AGENT_START") return;
    this.#text = "";
    this.#waits = event.data.waits === "model";
    if (this.#waits) this.#poller.wake();
  }

  /** Nothing is shown after this. What is on its way is waited for. */
  async stop(): Promise<void> {
    await this.#poller.stop();
    this.#over.abort(new DOMException("The text is whole.", "AbortError"));
  }

  /**
   * The second counts from the platform's answer: an edit that was long under way is not followed
   * at once.
   */
  async #show(): Promise<PollResult> {
    const words = this.#parts.streams && !this.#waits ? this.#words() : undefined;
    const text = words ?? this.#notice();
    if (text === undefined || text === this.#shown) {
      // Where words are not shown, a notice changes when the agent says that it waits.
      return this.#parts.streams || this.#shown === "" ? "idle" : { pauseMs: SHOW_EVERY_MS };
    }
    try {
      const asked = await this.#answered();
      const isNotice = words === undefined && asked === undefined;
      if (isNotice && !this.#parts.streams) {
        this.#end(); // agents wait for each other without a notice
        return "idle";
      }
      if (!isNotice) await this.#put(text, asked);
      return { pauseMs: SHOW_EVERY_MS };
    } catch (error) {
      return this.#afterTrouble(error);
    }
  }

  /** What is written so far; undefined: nothing, or what may turn out to be no answer. */
  #words(): string | undefined {
    const { directory } = this.#setting;
    const { adapter, isShowable } = this.#parts;
    const whole = renderMentions(this.#text, (agent) => directory.find(agent)?.displayName).trim();
    const text = `${cutText(whole, partLength(adapter.limits.messageLength))} …`;
    return whole === "" || !isShowable(whole) ? undefined : text;
  }

  /** Undefined: it is too early, something was shown already, or the agent rests. */
  #notice(): string | undefined {
    const { clock, limits, locale } = this.#setting;
    const texts = roomTexts(locale);
    if (this.#waits) return texts.waiting();
    const isLong = clock.monotonic() - this.#since >= limits.workingNoticeMs;
    const isFree = this.#shown === "" ? isLong : this.#shown === texts.waiting();
    return isFree && this.#parts.isWorking() ? texts.working() : undefined;
  }

  async #put(text: string, replyTo: string | undefined): Promise<void> {
    const { database } = this.#setting;
    const { handling, holder, adapter, account, place } = this.#parts;
    const signal = this.#over.signal;
    const key = previewKey(handling);
    const all = waitButtons(this.#setting.locale);
    const buttons = this.#waits ? all : all.slice(0, 1);
    const post = { account, place: addressOf(place), text, mentions: [], key, buttons };
    if (this.#platformId === undefined) {
      const [begun] = await database.query<{ preview: string }>(BEGIN, [handling, holder]);
      if (!begun) return this.#end(); // settled, or taken by another
      this.#platformId =
        begun.preview === ""
          ? (await postOnce(adapter, { ...post, replyTo }, { signal })).platformId
          : begun.preview;
      await this.#record(this.#platformId);
      if (begun.preview === "") {
        this.#shown = text;
        return;
      }
    }
    await adapter.edit!(post, this.#platformId, { signal });
    this.#shown = text;
  }

  /** Its work may have been stopped while it was posted: then nothing else takes it away. */
  async #record(platformId: string): Promise<void> {
    const { handling, account, place } = this.#parts;
    await this.#setting.database.transaction(async (tx) => {
      const [posted] = await tx.query<{ is_stopped: boolean }>(POSTED, [handling, platformId]);
      if (!posted?.is_stopped) return;
      const shown = { id: handling, agent: account.agent };
      await removePreview(tx, this.#setting, shown, { place, preview: platformId });
    });
  }

  /** What a person said, at the platform: the answer is a reply to it, streamed or not. */
  async #answered(): Promise<string | undefined> {
    const { handling, adapter } = this.#parts;
    if (this.#asked === undefined) {
      const [row] = await this.#setting.database.query<{ platform_id: string }>(ANSWERED, [
        adapter.name,
        handling,
      ]);
      this.#asked = { platformId: row?.platform_id };
    }
    return this.#asked.platformId;
  }

  /** It is only a preview: the answer comes through the outbox, whatever becomes of this. */
  #afterTrouble(error: unknown): PollResult {
    const { logger } = this.#setting;
    const { handling, account } = this.#parts;
    logger.debug(
      { handling, error: messageOf(error) },
      `what ${account.agent} writes is not shown: ${messageOf(error)}`,
    );
    const failure = error instanceof ChannelError ? error : undefined;
    if (failure?.failure === "rate-limited" || failure?.failure === "transient") {
      return { pauseMs: failure.retryAfterMs ?? SHOW_EVERY_MS };
    }
    this.#end();
    return "idle";
  }

  /** Called from within a look: no other follows it. */
  #end(): void {
    void this.#poller.stop();
  }
}

interface PreviewParts {
  readonly handling: string;
  /** The process whose work it is. */
  readonly holder: string;
  readonly adapter: ChannelAdapter;
  readonly account: ChannelAccount;
  readonly place: Place;
  /** What is written is shown as it comes. */
  readonly streams: boolean;
  /** False while the agent is paused. */
  readonly isWorking: () => boolean;
  /** False for what may turn out to be no answer. */
  readonly isShowable: (text: string) => boolean;
}

const BEGIN = {
  name: "preview.begin",
  text: `
    update dure.handlings
    set preview = coalesce(preview, '')
    where id = $1 and state = 'running' and holder = $2
    returning preview`,
};
const ANSWERED = {
  name: "preview.answered",
  text: `
    select p.platform_id
    from dure.handlings h
    join dure.room_messages m on m.id = h.message and m.author_kind = 'person'
    join dure.room_parts p on p.message = m.id and p.adapter = $1
    where h.id = $2
    order by p.part
    limit 1`,
};
const POSTED = {
  name: "preview.posted",
  text: `
    update dure.handlings
    set preview = $2
    where id = $1
    returning outcome is not distinct from 'stopped' as is_stopped`,
};
