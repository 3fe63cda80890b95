/** What agents remember of a message that is deleted goes as well. */

import type { Queryable, Transaction } from "../../durable/database.ts";
import type { TransactionalHandler } from "../../durable/outbox-handler.ts";
import { enqueue } from "../../durable/outbox.ts";
import { storable } from "../../durable/storable.ts";
import { EMPTY_MEMORY, MEMORY_DEFAULTS, type Memory } from "../../engine/agent/memory.ts";
import { spokenBy } from "../../kernel/quoted-words.ts";
import { renderMentions } from "../decide/mentions.ts";
import type { RoomsSetting } from "../talk.ts";

/** Takes the words of a message that is gone out of what agents remember. */
export const FORGET_TOPIC = "room.forget";

/** A message that is gone, with the words that it had. */
export interface GoneWords {
  readonly id: string;
  readonly author_name: string;
  readonly text: string;
}

/** What an agent's session holds of a message that is gone. */
interface Forgetting {
  readonly session: string;
  readonly turn: string;
  /** As the session has them: `민준: 말`. */
  readonly words: string;
}

export async function enqueueForgetting(
  tx: Transaction,
  { directory }: RoomsSetting,
  { id, author_name: name, text }: GoneWords,
): Promise<void> {
  const words = spokenBy(
    name,
    renderMentions(text, (agent) => directory.nameOf(agent)),
  );
  const handled = await tx.query<Omit<Forgetting, "words">>(HANDLED, [id]);
  await enqueue(
    tx,
    handled.map(({ session, turn }) => ({
      topic: FORGET_TOPIC,
      ordering: session,
      key: `${id}/forget/${turn}`,
      payload: { session, turn, words },
    })),
  );
}

/** A session whose turn runs is forgotten in when that has ended. Repeated it changes nothing. */
export function forgetHandler(): TransactionalHandler {
  return {
    transactional: true,
    classify: (error) =>
      error instanceof SessionBusy ? { class: "rate-limited", afterMs: BUSY_MS } : undefined,
    run: async (payload, { tx }) => {
      const { session, turn, words } = payload as unknown as Forgetting;
      await forgetIn(tx, { session, turn, words });
    },
  };
}

class SessionBusy extends Error {}

/** Before a session whose turn runs is looked at again, milliseconds. */
const BUSY_MS = 2_000;

async function forgetIn(tx: Queryable, { session, turn, words }: Forgetting): Promise<void> {
  const [row] = await tx.query<{ memory: Partial<Memory>; running: string | null }>(MEMORY, [
    session,
  ]);
  if (row?.running) throw new SessionBusy(`${session} is in the middle of a turn`);
  const [asked] = await tx.query<{ text: string }>(ASKED, [session, turn]);
  if (asked) await tx.query(FORGET_ASKED, [session, turn, withoutWords(asked.text, words)]);
  if (!row) return;
  const { rawHistory: before, summaryText } = { ...EMPTY_MEMORY, ...row.memory };
  const rawHistory = before.map((entry) =>
    entry.role === "user" ? { ...entry, content: withoutWords(entry.content, words) } : entry,
  );
  const isThere = rawHistory.some(({ content }, index) => content !== before[index]!.content);
  if (!isThere && summaryText === "") return;
  const memory = isThere
    ? { ...row.memory, rawHistory }
    : {
        ...row.memory,
        rawHistory: [...(await saidBefore(tx, session, before)), ...before],
        summaryText: "",
      };
  await tx.query(FORGET_MEMORY, [session, storable(memory)]);
}

/**
 * The exchanges that came before those of a memory, from the record of the session: a summary may hold
 * the words in a form that is not found, so it is written anew from what may still be known.
 */
async function saidBefore(
  tx: Queryable,
  session: string,
  history: Memory["rawHistory"],
): Promise<Memory["rawHistory"]> {
  const kept = history.filter(({ role }) => role === "user").length;
  const rows = await tx.query<{ text: string; answer: string }>(BEFORE, [
    session,
    kept,
    MEMORY_DEFAULTS.maxRawTurns,
  ]);
  return rows.flatMap(({ text, answer }) => [
    { role: "user" as const, content: text },
    { role: "assistant" as const, content: answer },
  ]);
}

/** Where the words stand as a message of their own; the speaker stays. Pure. */
function withoutWords(text: string, words: string): string {
  const speaker = words.slice(0, words.indexOf(": ") + 2);
  const lines = `\n${text}\n`;
  const without = lines.replaceAll(`\n${words}\n`, `\n${speaker}(deleted)\n`);
  return without.slice(1, -1);
}

/** The turns that were asked with it, also among other messages. */
const HANDLED = {
  name: "forgetting.handled",
  text: `
    select h.session, coalesce(lead.turn, h.turn) as turn
    from dure.handlings h
    left join dure.handlings lead on lead.id = h.gathered_by
    where h.message = $1 and coalesce(lead.turn, h.turn) is not null`,
};
const MEMORY = {
  name: "forgetting.memory",
  text: `
    select memory, running_turn as running
    from dure.sessions
    where id = $1
    for update`,
};
const ASKED = {
  name: "forgetting.asked",
  text: `
    select text
    from dure.messages
    where session_id = $1 and turn_id = $2
    limit 1`,
};
const FORGET_ASKED = {
  name: "forgetting.forget_asked",
  text: `
    update dure.messages
    set text = $3
    where session_id = $1 and turn_id = $2`,
};
const FORGET_MEMORY = {
  name: "forgetting.forget_memory",
  text: `
    update dure.sessions
    set memory = $2, memory_rev = memory_rev + 1
    where id = $1 and running_turn is null`,
};
/** Finished exchanges, oldest first, without the newest so many. */
const BEFORE = {
  name: "forgetting.before",
  text: `
    select text, answer
    from (
      select t.finished_at, t.done->>'message' as answer,
        (
          select string_agg(m.text, E'\\n' order by m.ordinal)
          from dure.messages m
          where m.turn_id = t.id
        ) as text
      from dure.turns t
      where t.session_id = $1
        and t.status = 'done'
        and t.done->>'message' is not null
      order by t.finished_at desc
      offset $2
      limit $3
    ) said
    where text is not null
    order by finished_at`,
};
