import type { Conversations } from "../engine/api.ts";
import { concludes } from "../engine/conclusion.ts";
import type { Transaction } from "../durable/database.ts";
import { enqueue } from "../durable/outbox.ts";
import { countsAsTry } from "../durable/passing.ts";
import type { ProcessLease } from "../durable/processes.ts";
import type { Cancel } from "../kernel/clock.ts";
import { storable } from "../durable/storable.ts";
import { codeOf, DureError, messageOf } from "../kernel/errors.ts";
import type { SuggestedAction } from "../kernel/escalation.ts";
import { newId } from "../kernel/ids.ts";
import type { Done } from "../kernel/turn-events.ts";
import { backgroundOf, messageFor, type BackgroundFacts } from "./background.ts";
import { addressOf, type OpenPlace, type Place } from "./place.ts";
import { Preview, previewKey } from "./preview.ts";
import {
  HANDLINGS_TOPIC,
  orderingOf,
  topicOf,
  type Over,
  type RoomsSetting,
  type Talk,
} from "./talk.ts";
import { checkText, cutText, LONGEST_TEXT } from "./text.ts";
import { roomTexts, type RoomLocale } from "./texts.ts";

/** Turns of agents that one process follows at once; what is beyond waits in its row. */
const AT_ONCE = 64;
/** How often a process looks for work that nobody told it of, milliseconds. */
const LOOK_EVERY_MS = 500;
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

interface HandlingRow {
  readonly id: string;
  readonly agent: string;
  readonly place: string;
  readonly message: string | null;
  readonly session: string;
  readonly rank: "PRIMARY" | "SECONDARY" | null;
  readonly request: string | null;
  readonly input: { readonly message: string; readonly background: string } | null;
  readonly turn: string | null;
  readonly tries: number;
}

interface Asked {
  readonly input: { readonly message: string; readonly background: string };
  readonly turn: string;
}

/** How the work that a message made has ended. */
type Outcome =
  | "answered"
  | "asked"
  | "silent"
  | "ended"
  | "left"
  | "empty"
  | "stopped"
  | "failed"
  | "refused"
  | "place_closed";

/**
 * Lets agents answer: takes the work that messages made, runs a turn of the agent's session for
 * each, and posts what it says. Work is a row; a process that dies leaves it to another one, which
 * finds the same turn by its key and reads it to its end, so that a message is answered once.
 */
export class Responder {
  readonly #setting: RoomsSetting;
  readonly #talk: Talk;
  readonly #conversations: Conversations;
  readonly #lease: ProcessLease;
  readonly #running = new Map<string, Promise<void>>();
  readonly #over = new AbortController();
  readonly #cancels: Cancel[] = [];
  #looking: Promise<void> | undefined;
  #again = false;

  constructor(
    setting: RoomsSetting,
    parts: { talk: Talk; conversations: Conversations; lease: ProcessLease },
  ) {
    this.#setting = setting;
    this.#talk = parts.talk;
    this.#conversations = parts.conversations;
    this.#lease = parts.lease;
  }

  start(): void {
    if (this.#cancels.length > 0) return;
    const { clock, notifications } = this.#setting;
    this.#cancels.push(
      clock.every(LOOK_EVERY_MS, () => void this.#look()),
      notifications.subscribe(HANDLINGS_TOPIC, () => void this.#look()),
    );
    void this.#look();
  }

  /**
   * Stops following; turns go on in the engine, and their words are posted by whoever takes the
   * work.
   */
  async stop(): Promise<void> {
    for (const cancel of this.#cancels.splice(0)) cancel();
    this.#over.abort(new DOMException("Rooms were stopped.", "AbortError"));
    await this.#looking;
    await Promise.allSettled(this.#running.values());
  }

  #look(): Promise<void> {
    this.#again = true;
    this.#looking ??= (async () => {
      const { database, logger } = this.#setting;
      try {
        while (this.#again && !this.#over.signal.aborted && !this.#lease.signal.aborted) {
          this.#again = false;
          const room = AT_ONCE - this.#running.size;
          if (room <= 0) return;
          const claimed = await database.query<HandlingRow>(CLAIM, [
            this.#lease.id,
            room,
            [...this.#running.keys()],
          ]);
          for (const handling of claimed) this.#begin(handling);
          if (claimed.length === room) this.#again = true;
        }
      } catch (error) {
        if (!this.#over.signal.aborted && !this.#lease.signal.aborted) {
          logger.warn(
            { code: codeOf(error), error: messageOf(error) },
            "could not look for messages to answer; looking again",
          );
        }
      }
    })().finally(() => (this.#looking = undefined)); // outside: the work may end before this assignment
    return this.#looking;
  }

  #begin(handling: HandlingRow): void {
    const { logger } = this.#setting;
    const running = this.#handle(handling)
      .catch((error: unknown) => {
        if (!this.#over.signal.aborted && !this.#lease.signal.aborted) {
          logger.warn(
            { handling: handling.id, code: codeOf(error), error: messageOf(error) },
            `${handling.agent} could not handle ${handling.message ?? handling.turn}; it is tried again`,
          );
        }
        return this.#giveBack(handling, error);
      })
      .finally(() => {
        this.#running.delete(handling.id);
        void this.#look();
      });
    this.#running.set(handling.id, running);
  }

  async #handle(handling: HandlingRow): Promise<void> {
    const { store, directory, logger } = this.#setting;
    const place = await store.place(handling.place);
    if (!place) return; // deleted with everything in it
    if (place.state === "closed") {
      return this.#settle(handling, { outcome: "place_closed", text: "" });
    }
    if (!directory.account(place.adapter, handling.agent)) {
      logger.error(
        { handling: handling.id, agent: handling.agent, adapter: place.adapter },
        `${handling.agent} has no account on ${place.adapter} any more: what waited for it in ${place.name} is not answered`,
      );
      return this.#settle(handling, { outcome: "refused", text: "" });
    }
    const turn = handling.message === null ? handling.turn! : await this.#ask(handling, place);
    if (turn === "refused") return this.#settle(handling, { outcome: "refused", text: "" });
    const done = await this.#follow(handling, place, turn);
    await this.#settle({ ...handling, turn }, this.#said(done));
  }

  /**
   * The turn that answers a message. Its id stands in the work's row before it begins: the agent's
   * tools look it up there.
   */
  async #ask(handling: HandlingRow, place: Place): Promise<string> {
    const asked =
      handling.input && handling.turn !== null
        ? { input: handling.input, turn: handling.turn }
        : await this.#compose(handling, place);
    return this.#accept(handling, place, asked);
  }

  /** Asked again after a crash it is the same request, word for word. */
  async #compose(handling: HandlingRow, place: Place): Promise<Asked> {
    const facts = await this.#facts(handling, place);
    const composed = { message: messageFor(facts, MESSAGE_BYTES), background: backgroundOf(facts) };
    const [row] = await this.#setting.database.query<Asked>(COMPOSED, [
      handling.id,
      storable(composed),
      newId("turn", this.#setting.clock.now()),
    ]);
    if (!row) {
      throw new DureError("PLACE_UNKNOWN", `The work ${handling.id} is gone with its place.`, {
        class: "not-found",
      });
    }
    return row;
  }

  async #facts(handling: HandlingRow, place: Place): Promise<BackgroundFacts> {
    const { store, database, directory, limits, locale } = this.#setting;
    const message = await store.message(handling.message!);
    const participants = await database.query<{ agent: string }>(PARTICIPANTS, [place.id]);
    const heard = await database.query<{ sender: string; excerpt: string; at: Date; name: string }>(
      HEARD,
      [place.id, handling.agent, limits.observations, limits.observationsMs],
    );
    const primary = handling.rank === "SECONDARY" ? message!.mentions[0] : undefined;
    const [answer] =
      primary === undefined
        ? []
        : await database.query<{ text: string }>(ANSWER_OF, [handling.message, primary]);
    const [request] =
      handling.request === null
        ? []
        : await database.query<{ from_agent: string; chain: string[] }>(REQUEST, [
            handling.request,
          ]);
    return {
      self: directory.get(handling.agent),
      directory,
      locale,
      place,
      message: message!,
      participants: participants.map(({ agent }) => agent),
      heard: heard.map(({ sender, excerpt, at, name }) => ({
        sender,
        excerpt,
        at: at.getTime(),
        place: name,
      })),
      ...(handling.rank && { rank: handling.rank }),
      ...(primary !== undefined && {
        primary: { agent: primary, ...(answer && { answer: answer.text }) },
      }),
      ...(request && { request: { from: request.from_agent } }),
    };
  }

  /**
   * The engine keeps the key: a turn that was accepted before a crash is found, not made again. A
   * full queue is waited for.
   */
  async #accept(handling: HandlingRow, place: Place, { input, turn }: Asked): Promise<string> {
    const { clock, directory, locale, logger } = this.#setting;
    const request = {
      session: handling.session,
      service: directory.get(handling.agent).service,
      message: input.message,
      background: input.background,
      locale,
    };
    for (let wait = 100; ; wait = Math.min(wait * 2, 5_000)) {
      try {
        const accepted = await this.#conversations.accept(request, {
          key: handling.id,
          path: "room",
          turnId: turn,
          caller: { tenant: place.tenant, name: "rooms" },
        });
        return accepted.turnId;
      } catch (error) {
        const code = codeOf(error);
        const isInput =
          error instanceof DureError && (error.class === "input" || error.class === "not-found");
        if (isInput) {
          logger.error(
            { handling: handling.id, agent: handling.agent, code, error: messageOf(error) },
            `${handling.agent} cannot be asked: ${messageOf(error)}`,
          );
          return "refused";
        }
        await clock.sleep(wait, { signal: this.#signal });
      }
    }
  }

  /** Reads the turn to its end, wherever it runs; shows meanwhile that the agent writes. */
  async #follow(handling: HandlingRow, place: Place, turn: string): Promise<Done> {
    const { adapters, directory, clock } = this.#setting;
    const adapter = adapters.get(place.adapter);
    const account = directory.account(place.adapter, handling.agent);
    const show = (): void => {
      if (adapter && account) adapter.typing(account, addressOf(place));
    };
    show();
    const cancel = clock.every(TYPING_EVERY_MS, show);
    const isShowable = (text: string): boolean => !ANNOUNCE_SKIP.startsWith(text);
    const isThere = place.kind !== "thread" || place.thread !== null;
    const preview =
      this.#setting.stream && adapter?.edit && account && isThere
        ? new Preview(this.#setting, {
            handling: handling.id,
            holder: this.#lease.id,
            adapter,
            account,
            place,
            isShowable,
          })
        : undefined;
    try {
      for await (const { event } of this.#conversations.read(turn, {
        signal: this.#signal,
        caller: { tenant: place.tenant, name: "rooms" },
      })) {
        preview?.hear(event);
        if (event.type === "DONE") return event.data;
      }
    } finally {
      cancel();
      await preview?.stop();
    }
    throw new DureError("TURN_UNREADABLE", `The turn ${turn} has no end.`);
  }

  #said(done: Done): { outcome: Outcome; text: string } {
    const { error } = done;
    if (error) return { outcome: OUTCOME_OF_ERROR[error.code] ?? "failed", text: "" };
    const checked = checkText(postable(done.message ?? "", this.#setting.locale));
    if (!checked.ok) return { outcome: "empty", text: "" };
    return checked.text.trim() === ANNOUNCE_SKIP
      ? { outcome: "silent", text: "" }
      : { outcome: "answered", text: checked.text };
  }

  /**
   * The words and the end of the work: one transaction. A request is answered when they are posted.
   */
  async #settle(handling: HandlingRow, said: { outcome: Outcome; text: string }): Promise<void> {
    const { database, store } = this.#setting;
    await database.transaction(async (tx) => {
      await this.#lease.guard(tx);
      const place = await store.open(tx, handling.place);
      const [open] = await tx.query<{
        wishes: readonly ("silent" | "end" | "leave")[];
        preview: string | null;
      }>(LOCK, [handling.id, this.#lease.id]);
      if (!open || !place) return; // settled before, or taken by another
      const [isSilent, ends, leaves] = (["silent", "end", "leave"] as const).map((wish) =>
        open.wishes.includes(wish),
      );
      const outcome = isSilent ? "silent" : said.outcome;
      const text = outcome === "answered" ? said.text : "";
      const answer =
        text === "" || place.state === "closed"
          ? undefined
          : await this.#post(tx, handling, place, text, {
              ends: ends === true || leaves === true,
              ...(open.preview !== null && {
                over: { key: previewKey(handling.id), platformId: open.preview },
              }),
            });
      if (answer === undefined && open.preview !== null) {
        await this.#unsay(tx, handling, place, open.preview);
      }
      if (leaves) await this.#leave(tx, place, handling.agent);
      if (outcome === "asked") await this.#showQuestions(tx, handling, place);
      if (answer === undefined && (outcome === "failed" || outcome === "refused")) {
        await this.#tellFailure(tx, handling, place);
      }
      await tx.query(FINISH, [
        handling.id,
        leaves ? "left" : ends ? "ended" : outcome,
        answer ?? null,
      ]);
      await store.emit(tx, [
        {
          type: "room.handled",
          role: "conversation",
          room: place.id,
          agent: handling.agent,
          session: handling.session,
          ...(handling.turn !== null && { turn: handling.turn }),
          data: {
            message: handling.message,
            outcome,
            answer: answer ?? null,
            parent: place.parent,
          },
        },
      ]);
    });
    this.#talk.announce();
  }

  async #post(
    tx: Transaction,
    handling: HandlingRow,
    place: OpenPlace,
    text: string,
    { ends, over }: { ends: boolean; over?: Over },
  ): Promise<string> {
    const message =
      handling.message === null
        ? undefined
        : await this.#setting.store.message(handling.message, tx);
    const [previous] = await tx.query<{ text: string }>(PREVIOUS_OWN, [place.id, handling.agent]);
    const isBetweenAgents = message !== undefined && message.authorKind !== "person";
    const concluded = isBetweenAgents ? concludes(previous?.text, message.text, text) : undefined;
    const { messageId } = await this.#talk.say(tx, place, {
      author: handling.agent,
      text,
      ends: ends || concluded !== undefined,
      ...(handling.turn !== null && { turn: handling.turn }),
      ...(message?.authorKind === "person" && { replyTo: message.id }),
      ...(over && { over }),
    });
    await tx.query(ANSWERED, [handling.message, handling.agent, messageId]);
    return messageId;
  }

  /** What was shown while it was written turned out to be no answer. */
  async #unsay(
    tx: Transaction,
    { id, agent }: HandlingRow,
    place: OpenPlace,
    preview: string,
  ): Promise<void> {
    const account = this.#setting.directory.account(place.adapter, agent);
    if (!account) return;
    const isLocal = this.#setting.adapters.get(place.adapter)?.isLocal === true;
    await enqueue(tx, [
      {
        topic: topicOf(place.adapter, account.id, isLocal),
        ordering: orderingOf(account.id, place.id),
        key: `${id}/unsay`,
        payload: {
          kind: "unsay",
          place: place.id,
          agent,
          over: { key: previewKey(id), platformId: preview },
        },
      },
    ]);
  }

  /** After its farewell, for whoever says something in a thread takes part in it. */
  async #leave(tx: Transaction, place: OpenPlace, agent: string): Promise<void> {
    const left = await tx.query(LEAVE, [place.id, agent]);
    if (left.length > 0) {
      await this.#setting.store.emit(tx, [
        {
          type: "room.left",
          role: "system",
          room: place.id,
          agent,
          data: { by: agent, parent: place.parent },
        },
      ]);
    }
  }

  /**
   * The turn waits for a person's decision: the question stands in the place, with its answers as
   * buttons. First answer wins.
   */
  async #showQuestions(tx: Transaction, handling: HandlingRow, place: OpenPlace): Promise<void> {
    const asked = await tx.query<{
      id: string;
      title: string;
      description: string;
      actions: readonly SuggestedAction[];
    }>(QUESTIONS_OF, [handling.turn]);
    for (const { id, title, description, actions } of asked) {
      await this.#talk.say(tx, place, {
        author: handling.agent,
        text: description === "" ? title : description,
        mark: "notice",
        buttons: actions.map(({ value, code, label }) => ({
          value: `${id}:${value}`,
          code,
          label,
        })),
      });
    }
  }

  /**
   * A person is never left in silence; agents are not told of failures, they would talk about them.
   */
  async #tellFailure(tx: Transaction, handling: HandlingRow, place: OpenPlace): Promise<void> {
    const message =
      handling.message === null
        ? undefined
        : await this.#setting.store.message(handling.message, tx);
    if (
      message?.authorKind !== "person" ||
      place.state === "closed" ||
      !this.#setting.directory.account(place.adapter, handling.agent)
    ) {
      return;
    }
    await this.#talk.say(tx, place, {
      author: handling.agent,
      text: roomTexts(this.#setting.locale).failed(),
      mark: "notice",
      replyTo: message.id,
    });
  }

  /**
   * It keeps its place: what stands behind it in its session waits for the next try. Trouble that
   * would come again ends the work after `TRIES` tries, and the next goes on.
   */
  async #giveBack(handling: HandlingRow, error: unknown): Promise<void> {
    const { clock, database } = this.#setting;
    if (this.#over.signal.aborted || this.#lease.signal.aborted) return; // the process that takes it sees that this one is gone, or going
    const isCounted = countsAsTry(error);
    if (isCounted && handling.tries + 1 >= TRIES) return this.#giveUp(handling);
    const pause = isCounted ? Math.min(RETRY_MS * 2 ** handling.tries, MAX_RETRY_MS) : RETRY_MS;
    await database
      .query(GIVE_BACK, [handling.id, this.#lease.id, pause, isCounted ? 1 : 0])
      .catch(() => {});
    await clock.sleep(50, { signal: this.#over.signal }).catch(() => {});
  }

  async #giveUp(handling: HandlingRow): Promise<void> {
    const { database, logger } = this.#setting;
    logger.error(
      { handling: handling.id, agent: handling.agent, tries: TRIES },
      `${handling.agent} could not handle ${handling.message ?? handling.turn} in ${TRIES} tries; it ends as failed, and the next goes on`,
    );
    try {
      await this.#settle(handling, { outcome: "failed", text: "" });
    } catch {
      // Also its end could not be told in its place.
      await database.query(GIVE_UP, [handling.id, this.#lease.id]).catch(() => {});
    }
  }

  get #signal(): AbortSignal {
    return AbortSignal.any([this.#over.signal, this.#lease.signal]);
  }
}

/**
 * What a turn has said, as a room can take it: who waits for it could not mend its length or half a
 * character. Pure.
 */
function postable(text: string, locale: RoomLocale): string {
  const whole = text.replaceAll("\0", "").toWellFormed();
  if (whole.length <= LONGEST_TEXT) return whole;
  const kept = cutText(whole, LONGEST_TEXT - CUT_NOTE);
  return `${kept.slice(0, -1)}\n${roomTexts(locale).cut(whole.length - kept.length + 1)}`;
}

/** Characters that a note about what was cut may take. */
const CUT_NOTE = 200;

/**
 * What an agent answers when the result of its background work concerns nobody. Source:
 * docs/spec/jobs §3.6.
 */
const ANNOUNCE_SKIP = "ANNOUNCE_SKIP";

/** A turn that waits for a person has said nothing yet. */
const OUTCOME_OF_ERROR: Readonly<Record<string, Outcome>> = {
  TURN_STOPPED: "stopped",
  APPROVAL_PENDING: "asked",
  EFFECT_UNKNOWN: "asked",
};

/** Before work that failed in an unexpected way is tried again: doubled each time, milliseconds. */
const RETRY_MS = 2_000;
const MAX_RETRY_MS = 30_000;
/** Tries in all, which is about two minutes: those who wait behind it wait no longer. */
const TRIES = 8;

/**
 * Which work may start is decided there, for every process: what came first in a session is
 * answered first.
 */
const CLAIM = {
  name: "handling.claim",
  text: "select id, agent, place, message, session, rank, request, input, turn, tries from dure.start_handlings($1, $2, $3)",
};
const COMPOSED = {
  name: "handling.composed",
  text: "update dure.handlings set input = coalesce(input, $2), turn = coalesce(turn, $3) where id = $1 returning input, turn",
};
const LOCK = {
  name: "handling.lock",
  text: "select wishes, preview from dure.handlings where id = $1 and state = 'running' and holder = $2 for update",
};
const FINISH = {
  name: "handling.finish",
  text: "update dure.handlings set state = 'done', outcome = $2, answer = $3, finished_at = clock_timestamp(), input = null where id = $1",
};
const GIVE_BACK = {
  name: "handling.give_back",
  text: `update dure.handlings
            set state = 'waiting', holder = null, behind = null, tries = tries + $4::integer,
                not_before = clock_timestamp() + $3::double precision * interval '1 millisecond'
          where id = $1 and state = 'running' and holder = $2`,
};
const GIVE_UP = {
  name: "handling.give_up",
  text: `update dure.handlings set state = 'done', outcome = 'failed', finished_at = clock_timestamp(), input = null
          where id = $1 and state = 'running' and holder = $2`,
};
const PARTICIPANTS = {
  name: "handling.participants",
  text: "select agent from dure.participants where place = $1 order by since, agent",
};
const HEARD = {
  name: "handling.heard",
  text: `
    select * from (
      select o.sender, o.excerpt, o.at, p.name from dure.observations o join dure.places p on p.id = o.place
       where (p.id = $1 or p.parent = $1) and $2 = any(o.agents) and o.at > clock_timestamp() - $4::double precision * interval '1 millisecond'
       order by o.at desc limit $3) newest
     order by at`,
};
const ANSWER_OF = {
  name: "handling.answer_of",
  text: "select m.text from dure.handlings h join dure.room_messages m on m.id = h.answer where h.message = $1 and h.agent = $2",
};
const REQUEST = {
  name: "handling.request",
  text: "select from_agent, chain from dure.requests where id = $1",
};
const QUESTIONS_OF = {
  name: "handling.questions",
  text: "select id, title, description, actions from dure.escalations where turn_id = $1 and status = 'open' order by created_at",
};
const LEAVE = {
  name: "handling.leave",
  text: "delete from dure.participants where place = $1 and agent = $2 returning agent",
};
const PREVIOUS_OWN = {
  name: "handling.previous_own",
  text: "select text from dure.room_messages where place = $1 and author = $2 and author_kind = 'agent' and mark is null order by seq desc limit 1",
};
const ANSWERED = {
  name: "handling.answered",
  text: "update dure.room_messages set roles = jsonb_set(roles, array[$2::text, 'answer'], to_jsonb($3::text)) where id = $1 and roles ? $2::text",
};
