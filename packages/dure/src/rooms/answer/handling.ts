/** The work that one message makes for one agent, as its row has it. */

import type { Locale } from "../../kernel/locales.ts";
import type { FileRef } from "../../kernel/files.ts";
import type { Done } from "../../kernel/turn-events.ts";
import { FAILURES } from "../../models/failures.ts";
import { checkText, cutText, LONGEST_TEXT, textOf } from "../text.ts";
import { roomTexts } from "../texts.ts";
import type { HandlingOutcome, Rank } from "../../kernel/rooms.ts";
import type { Transaction } from "../../durable/database.ts";
import type { Place } from "../place.ts";
import type { RoomsSetting } from "../talk.ts";
import { enqueue } from "../../durable/outbox.ts";
import { nonceOf } from "../out/outgoing.ts";
import { orderingOf, topicOf } from "../out/notices.ts";

/** What the turn of a handling is asked, once and for all its lives. */
export interface HandlingInput {
  readonly message: string;
  readonly background: string;
  /** Of the agent's session. Absent: none, or a process of the release before composed it. */
  readonly files?: readonly string[] | undefined;
}

/** Work that a message makes for an agent, as its row has it. */
export interface HandlingRow {
  readonly id: string;
  readonly agent: string;
  readonly place: string;
  readonly message: string | null;
  readonly session: string;
  readonly rank: Rank | null;
  readonly request: string | null;
  readonly input: HandlingInput | null;
  readonly turn: string | null;
  readonly tries: number;
}

/** What a turn has said in its place, and how its handling ends. */
export interface TurnOutcome {
  readonly outcome: HandlingOutcome;
  /** Empty unless the outcome is `answered`. */
  readonly text: string;
  /** Files that go with the words. */
  readonly files?: readonly FileRef[] | undefined;
  /** Why the agent will not answer before an operator has mended something. */
  readonly brokenBy?: string | undefined;
  /** The model was away: the turn can go on from its journal. */
  readonly canResume?: boolean | undefined;
  /** Calls that wait for a yes, by their escalations; another turn may have asked for some. */
  readonly asked?: readonly string[] | undefined;
}

/**
 * What an agent answers when the result of its background work concerns no reader. Source:
 * docs/spec/jobs §3.6.
 */
export const ANNOUNCE_SKIP = "ANNOUNCE_SKIP";

/** A turn that waits for a person has said nothing yet. */
const OUTCOME_OF_ERROR: Readonly<Record<string, HandlingOutcome>> = {
  TURN_STOPPED: "stopped",
  APPROVAL_PENDING: "asked",
  EFFECT_UNKNOWN: "asked",
};

/** What another call changes nothing about: a key that is refused, a model that is not there. */
const FOR_OPERATORS: ReadonlySet<string> = new Set([
  FAILURES.auth.code,
  FAILURES.unknown_model.code,
]);

/** Characters that the note about a cut may take. */
const CUT_NOTE = 200;

/** What the end of a turn says in a room. Pure. */
export function saidBy(
  { error, message, approvals = [], files = [] }: Done,
  locale: Locale,
): TurnOutcome {
  if (error) {
    const brokenBy = FOR_OPERATORS.has(error.code) ? error.message : undefined;
    const outcome = OUTCOME_OF_ERROR[error.code] ?? "failed";
    const asked = approvals.map(({ id }) => id);
    return { outcome, text: "", brokenBy, canResume: error.retry, asked };
  }

  const words = textOf({ text: message ?? "", attachments: files });
  const checked = checkText(postable(words, locale));
  if (!checked.ok) return { outcome: "empty", text: "" };
  if (checked.text.trim() === ANNOUNCE_SKIP) return { outcome: "silent", text: "" };
  return { outcome: "answered", text: checked.text, files };
}

/**
 * The text of a turn, made to fit a room: cut at the longest length, without half characters. The
 * agent cannot mend it any more. Pure.
 */
function postable(text: string, locale: Locale): string {
  const whole = text.replaceAll("\0", "").toWellFormed();
  if (whole.length <= LONGEST_TEXT) return whole;
  const kept = cutText(whole, LONGEST_TEXT - CUT_NOTE);
  return `${kept.slice(0, -1)}\n${roomTexts(locale).cut(whole.length - kept.length + 1)}`;
}

/** Whose work has ended, as its end is told. */
type Handled = Pick<HandlingRow, "id" | "message" | "agent" | "session" | "turn">;

/** A handling that has ended without words. */
export interface UnsaidHandling extends Handled {
  /** What was shown of it as it was written; null: nothing. */
  readonly preview: string | null;
}

/**
 * Tells that a handling has ended, and with it those of the messages that it has gathered; without an
 * answer their messages keep how.
 */
export async function emitHandled(
  tx: Transaction,
  setting: EndedSetting,
  place: Place,
  ended: { handling: Handled; outcome: HandlingOutcome | "silent"; answer: string | null },
): Promise<void> {
  const { handling, outcome, answer } = ended;
  const { store } = setting;
  const { id, agent, session } = handling;
  const turn = handling.turn ?? undefined;
  const gathered = await tx.query<Pick<Handled, "message">>(GATHERED, [id, answer]);
  const events = [handling, ...gathered].map(({ message }) => ({
    type: "room.handled" as const,
    role: "conversation" as const,
    room: place.id,
    agent,
    session,
    turn,
    data: { message, outcome, answer, parent: place.parent },
  }));
  if (answer === null) {
    const messages = events.map(({ data }) => data.message);
    await tx.query(ENDED_UNSAID, [messages, agent, outcome]);
  }
  await store.emit(tx, events);
  if (outcome !== "deleted") await takeSignAway(tx, setting, place, { handling, answer, outcome });
}

/** Where the message of a person has the sign that its agent has begun. */
async function takeSignAway(
  tx: Transaction,
  { directory, adapters, signs }: EndedSetting,
  { id, adapter }: Place,
  { handling, answer, outcome }: Parameters<typeof emitHandled>[3],
): Promise<void> {
  const account = directory.account(adapter, handling.agent);
  if (!signs || !adapters.get(adapter)?.react || !account || handling.message === null) return;
  const [post] = await tx.query<{ platform_id: string }>(SIGNED, [handling.message, adapter]);
  if (!post) return;
  const isDone = answer === null && SILENT.has(outcome);
  await enqueue(tx, [
    {
      topic: topicOf(adapter, account.id, false),
      ordering: orderingOf(account.id, id),
      key: `${handling.id}/sign`,
      payload: {
        kind: "sign",
        place: id,
        agent: handling.agent,
        platformId: post.platform_id,
        isDone,
      },
    },
  ]);
}

/** It has heard, and there was nothing to say. */
const SILENT: ReadonlySet<string> = new Set(["silent", "empty"]);

/** The platform's id of a person's message. */
export const SIGNED = {
  name: "handling.signed",
  text: `
    select p.platform_id
    from dure.room_messages m
    join dure.room_parts p on p.message = m.id
    where m.id = $1 and m.author_kind = 'person' and p.adapter = $2
    order by p.part
    limit 1`,
};

type EndedSetting = Pick<RoomsSetting, "store" | "directory" | "adapters" | "signs">;

const GATHERED = {
  name: "handling.gathered",
  text: `
    update dure.handlings
    set answer = $2
    where gathered_by = $1
    returning message`,
};
const ENDED_UNSAID = {
  name: "handling.ended_unsaid",
  text: `
    update dure.room_messages
    set roles = jsonb_set(roles, array[$2::text, 'outcome'], to_jsonb($3::text))
    where id = any($1) and roles ? $2::text`,
};

/** Takes away what was shown of a handling that was ended from outside, and tells its end. */
export async function endUnsaid(
  tx: Transaction,
  setting: RoomsSetting,
  place: Place,
  { handling, outcome }: { handling: UnsaidHandling; outcome: "silent" | "stopped" | "deleted" },
): Promise<void> {
  const { preview } = handling;
  if (preview !== null) await removePreview(tx, setting, handling, { place, preview });
  await emitHandled(tx, setting, place, { handling, outcome, answer: null });
}

/**
 * Of a handling: what its preview is posted under. The same in every process, so that the platform
 * keeps one.
 */
export function previewKey(handling: string): string {
  return nonceOf(`${handling}/preview`);
}

/**
 * Takes away what was shown of an answer that is none. `preview` is the platform's id of it; empty:
 * it is not recorded whether it was posted. Where its id is recorded later, that one is taken away
 * too.
 */
export async function removePreview(
  tx: Transaction,
  { directory, adapters }: RoomsSetting,
  { id, agent }: Pick<HandlingRow, "id" | "agent">,
  { place, preview }: { place: Pick<Place, "id" | "adapter">; preview: string },
): Promise<void> {
  const account = directory.account(place.adapter, agent);
  if (!account) return;
  const isLocal = adapters.get(place.adapter)?.isLocal === true;
  await enqueue(tx, [
    {
      topic: topicOf(place.adapter, account.id, isLocal),
      ordering: orderingOf(account.id, place.id),
      key: preview === "" ? `${id}/unsay` : `${id}/unsay/${preview}`,
      payload: {
        kind: "unsay",
        place: place.id,
        agent,
        over: { key: previewKey(id), platformId: preview },
      },
    },
  ]);
}
