import { DureError } from "../../kernel/errors.ts";
import type { TenantView } from "../../kernel/tenant.ts";
import type { Done } from "../../kernel/turn-events.ts";
import type { Database } from "../../durable/database.ts";
import type { ClaimedTurn, JournalRow } from "../../durable/turns.ts";
import type { CallerTools } from "../caller/caller-tools.ts";
import { EMPTY_MEMORY, type Memory, type MemoryEntry } from "../agent/memory.ts";

/** A turn that has ended, as it can be begun again. */
export interface StoredTurn {
  /** What its first life began with, besides the journal. */
  readonly held: Omit<ClaimedTurn, "rows">;
  readonly rows: readonly JournalRow[];
  readonly done: Done;
}

/** The same of a turn that may still run. */
export type LiveTurn = Omit<StoredTurn, "done">;

/** Exchanges before the turn that its agents may see. Source: `MEMORY_DEFAULTS.maxRawTurns`. */
const EXCHANGES = 12;

interface StoredTurnRow {
  readonly status: string;
  readonly done: Done | null;
  readonly began: Readonly<Record<string, unknown>> | null;
  readonly held: Omit<ClaimedTurn, "rows" | "memory" | "state">;
  readonly rows: readonly JournalRow[];
  /** Of its session: what a turn that runs began with. */
  readonly now: { readonly state: ClaimedTurn["state"]; readonly memory: ClaimedTurn["memory"] };
  readonly summary: string;
  readonly deeds: readonly string[];
  /** What the session remembers now, also of later turns. */
  readonly remembered: readonly MemoryEntry[];
  readonly before: readonly { readonly text: string; readonly answer: string }[];
}

/** Reads a turn that has ended. Throws `TURN_UNKNOWN`, `TURN_RUNNING`, `REPLAY_TOO_OLD`. */
export async function readStoredTurn(
  database: Database,
  turn: string,
  tenant: TenantView,
): Promise<StoredTurn> {
  const row = await readRow(database, turn, tenant);
  const { done } = row;
  if (!done) throw running(turn);

  return { ...endedTurn(row), done };
}

/** The same of a turn that may still run: its session is as it was when the turn began. */
export async function readLiveTurn(
  database: Database,
  turn: string,
  tenant: TenantView,
): Promise<LiveTurn> {
  const row = await readRow(database, turn, tenant);
  if (row.done) return endedTurn(row);
  const { rows, now } = row;
  return { held: { ...row.held, ...now }, rows };
}

async function readRow(
  database: Database,
  turn: string,
  tenant: TenantView,
): Promise<StoredTurnRow> {
  const [row] = await database.query<StoredTurnRow>({ name: "stored_turn", text: STORED_TURN }, [
    turn,
    tenant,
    EXCHANGES,
  ]);
  if (!row) throw unknown(turn);
  return row;
}

function endedTurn(row: StoredTurnRow): LiveTurn {
  const { began, rows, held } = row;
  if (!began) throw tooOld(held.turn);
  if (held.messages.some(bringsResults)) throw ofResults(held.turn);
  return { held: { ...held, state: began, memory: { ...memoryOf(row) } }, rows };
}

/** The summary counts only where it was made before the turn: it is left out where it may not be. */
function memoryOf({ before, summary: summaryText, deeds, remembered }: StoredTurnRow): Memory {
  const workOf = workIn(remembered);
  const rawHistory = exchangesOf(before).flatMap((exchange): MemoryEntry[] => [
    { role: "user", content: exchange.text },
    { role: "assistant", content: exchange.answer, work: workOf(exchange) },
  ]);
  return { ...EMPTY_MEMORY, rawHistory, summaryText, deeds };
}

/**
 * What agents did for an exchange, as far as the session still has it. Exchanges are asked for in
 * their order, so that each of two that say the same has its own.
 */
function workIn(remembered: readonly MemoryEntry[]): (said: StoredExchange) => MemoryEntry["work"] {
  let next = 0;
  return ({ text, answer }) => {
    const at = remembered.findIndex(
      ({ role, content }, index) =>
        index > next && role === "assistant" && content === answer && asks(index - 1, text),
    );
    if (at < 0) return undefined;
    next = at;
    return remembered[at]!.work;
  };

  // A person's decision is remembered in words that its turn does not have.
  function asks(index: number, text: string): boolean {
    return text === "" || remembered[index]?.content === text;
  }
}

type StoredExchange = StoredTurnRow["before"][number];

/** A turn that brings results of a caller's tools answers the question before it. */
function exchangesOf(before: StoredTurnRow["before"]): StoredTurnRow["before"] {
  const exchanges: { readonly text: string; answer: string }[] = [];
  for (const { text, answer } of before) {
    const question = exchanges.at(-1);
    if (text === "" && question?.answer === "") question.answer = answer;
    else exchanges.push({ text, answer });
  }
  return exchanges;
}

function bringsResults({ input }: ClaimedTurn["messages"][number]): boolean {
  const tools = input["caller_tools"] as CallerTools | undefined;
  return tools?.results !== undefined;
}

function ofResults(turn: string): DureError {
  return new DureError(
    "REPLAY_OF_RESULTS",
    `The turn ${turn} took results of its caller's tools.`,
    {
      class: "conflict",
      hint: "What was said before its results is not kept. Replay the turn of the question.",
    },
  );
}

const STORED_TURN = /* sql */ `
  select t.status, t.done, t.began,
    jsonb_build_object('state', s.state, 'memory', s.memory) as now,
    jsonb_build_object(
      'turn', t.id, 'session', t.session_id, 'tenant', s.tenant,
      'service', t.service, 'version', t.version, 'author', t.author,
      'epoch', 1, 'stop', null, 'trace_parent', null,
      'accepted_at', extract(epoch from t.accepted_at) * 1000,
      'incarnation', s.incarnation, 'memory_rev', 0,
      'locale', s.locale, 'time_zone', s.time_zone,
      'messages', (
        select jsonb_agg(jsonb_build_object(
          'ordinal', m.ordinal, 'author', m.author, 'text', m.text,
          'input', m.input, 'queued', m.queued,
          'at', extract(epoch from m.at) * 1000
        ) order by m.ordinal)
        from dure.messages m
        where m.turn_id = t.id
      )
    ) as held,
    coalesce((
      select jsonb_agg(jsonb_build_object(
        'seq', e.seq, 'place', e.place, 'type', e.type, 'data', e.data
      ) order by e.seq)
      from dure.turn_events e
      where e.turn_id = t.id
    ), '[]') as rows,
    -- a summary is younger than the turn where later turns were folded
    case when later.came then '' else coalesce(s.memory->>'summaryText', '') end as summary,
    case when later.came then '[]' else coalesce(s.memory->'deeds', '[]') end as deeds,
    coalesce(s.memory->'rawHistory', '[]') as remembered,
    coalesce((
      select jsonb_agg(jsonb_build_object('text', said.text, 'answer', said.answer)
        order by said.finished_at)
      from (
        select earlier.finished_at, earlier.done->>'message' as answer,
          (
            select string_agg(m.text, E'\\n' order by m.ordinal)
            from dure.messages m
            where m.turn_id = earlier.id
          ) as text
        from dure.turns earlier
        where earlier.session_id = t.session_id
          and earlier.status = 'done'
          and earlier.accepted_at < t.accepted_at
          and earlier.done->>'message' is not null
        order by earlier.finished_at desc
        limit $3
      ) said
    ), '[]') as before
  from dure.turns t
  join dure.sessions s on s.id = t.session_id
  cross join lateral (
    select exists (
      select 1
      from dure.turns later
      where later.session_id = t.session_id
        and later.accepted_at > t.accepted_at
    ) as came
  ) later
  where t.id = $1 and ($2::text is null or s.tenant = $2)`;

function unknown(turn: string): DureError {
  return new DureError("TURN_UNKNOWN", `There is no turn ${turn}.`, {
    class: "not-found",
    hint: "Check the turn's id; turns are forgotten after a while.",
  });
}

function running(turn: string): DureError {
  return new DureError("TURN_RUNNING", `The turn ${turn} has not ended.`, {
    class: "conflict",
    hint: "Replay it when its DONE is there.",
  });
}

function tooOld(turn: string): DureError {
  return new DureError("REPLAY_TOO_OLD", `What the turn ${turn} began with is not stored.`, {
    class: "conflict",
    hint: "An older release has ended it. Turns that end from now on can be replayed.",
  });
}
