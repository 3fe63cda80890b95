import { DureError } from "../../kernel/errors.ts";
import type { FileRef } from "../../kernel/files.ts";
import type { JsonObject } from "../../kernel/json.ts";
import { sessionIdFor, sessionKeyFor, type TenantView } from "../../kernel/tenant.ts";
import type { Done, TurnStatus } from "../../kernel/turn-events.ts";
import type { Database } from "../../durable/database.ts";
import { pageLimit, pageOf, readCursor, type RowPage } from "../../durable/page.ts";
import { forgetSession, takeBackQuestion } from "../../durable/sessions.ts";
import type { JournalRow, MemoryVersion } from "../../durable/turns.ts";
import type { SessionDetail } from "../api.ts";
import type { LeafService } from "../service/combine.ts";
import { EMPTY_MEMORY, type Memory } from "../agent/memory.ts";
import type { HandedOut } from "../caller/handed-out.ts";
import { ShownText } from "./turn-steps.ts";
import type {
  CompletedEntry,
  HistoryEntry,
  SessionDebug,
  SessionSummary,
} from "../../wire/turns.ts";

interface SessionRow {
  readonly id: string;
  readonly service: string;
  readonly locale: string | null;
  readonly time_zone: string | null;
  readonly title: string;
  readonly running_turn: string | null;
  readonly state: {
    readonly active?: string;
    readonly services?: Readonly<Record<string, { readonly value: JsonObject }>>;
  };
  readonly memory: Partial<Memory>;
  readonly memory_rev: number;
  readonly updated_at: number;
}

interface FoundTurn {
  readonly status: TurnStatus;
  readonly sessionId: string;
  readonly tenant: string;
  readonly lastSeq: number;
}

/** Turns of a session's history that are given. A page shows them at once. */
const MAX_HISTORY = 100;
const PAGE = { usual: 50, most: 200 } as const;
/** Milliseconds since the epoch, key of the session. */
const SESSION_CURSOR = /^(\d{1,15}(?:\.\d{1,10})?)\/(.+)$/s;

/** Reads sessions; only `forget` and `takeBack` change them. A session of another tenant does not exist. */
export class SessionReader {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  /** Conversations of people; what dure asks agents in rooms, exchanges and the inbox is seen there. */
  async list(options: {
    tenant: TenantView;
    limit?: number | undefined;
    cursor?: string | undefined;
    search?: string | undefined;
  }): Promise<RowPage<SessionSummary>> {
    const limit = pageLimit(options.limit, PAGE);
    const [before = null, beforeId = null] = readCursor(options.cursor, SESSION_CURSOR) ?? [];
    const rows = await this.#database.query<SessionRow>(
      {
        text: `select id, service, title, running_turn,
            extract(epoch from updated_at)::float8 * 1000 as updated_at
          from dure.sessions s
          where ($1::text is null or tenant = $1)
            and id not like 'room:%'
            and id not like 'job:%'
            and id not like 'escalation:%'
            and ($2::float8 is null or (updated_at, id) < (to_timestamp($2 / 1000.0), $3))
            and ($4::text is null
              or title ilike $4
              or substr(id, case when tenant = '' then 1 else length(tenant) + 2 end) ilike $4)
          order by s.updated_at desc, s.id desc limit $5`, // the columns: their index has this order, the number that is selected has none
      },
      [
        options.tenant,
        before,
        beforeId,
        options.search ? `%${options.search.replaceAll(/[\\%_]/g, (sign) => `\\${sign}`)}%` : null,
        limit + 1,
      ],
    );
    const { items, nextCursor } = pageOf(rows, limit, ({ updated_at: at, id }) => [at, id]);
    return { items: items.map((row) => summaryOf(row, options.tenant)), nextCursor };
  }

  async detail(
    id: string,
    tenant: TenantView,
    defaults: {
      locale: string;
      timeZone: string;
      leafOf: (service: string) => readonly LeafService[];
    },
  ): Promise<SessionDetail> {
    const row = await this.#row(id, tenant);
    const leaves = defaults.leafOf(row.service);
    const leaf = leaves.find((service) => service.name === row.state.active) ?? leaves[0];
    const state =
      row.state.services?.[leaf?.name ?? row.service]?.value ??
      (leaf?.kind === "service" ? (leaf.state?.initial() as JsonObject | undefined) : undefined) ??
      {};
    const stage = (state as { stage?: unknown }).stage;
    return {
      ...summaryOf(row, tenant),
      locale: row.locale ?? defaults.locale,
      timeZone: row.time_zone ?? defaults.timeZone,
      state,
      stage: typeof stage === "string" ? stage : null,
      history: await this.#history(row.id),
      completed: await this.#completed(row.id),
    };
  }

  async debug(id: string, tenant: TenantView): Promise<SessionDebug> {
    const row = await this.#row(id, tenant);
    const memory = { ...EMPTY_MEMORY, ...row.memory };
    return {
      state: row.state,
      memory: {
        rawHistory: memory.rawHistory.map(({ role, content }) => ({ role, content })),
        summaryText: memory.summaryText,
      },
      completed: await this.#completed(row.id),
    };
  }

  async completed(id: string, tenant: TenantView): Promise<readonly CompletedEntry[]> {
    const row = await this.#row(id, tenant);
    return this.#completed(row.id);
  }

  /** Undefined: no such session; `turn` null: nothing runs. */
  async running(
    id: string,
    tenant: TenantView,
  ): Promise<{ turn: string | null; tenant: string } | undefined> {
    const [row] = await this.#database.query<{ running_turn: string | null; tenant: string }>(
      {
        text: `select running_turn, tenant
          from dure.sessions
          where id = $1 and ($2::text is null or tenant = $2)`,
      },
      [sessionKeyFor(tenant, id), tenant],
    );
    return row && { turn: row.running_turn, tenant: row.tenant };
  }

  /**
   * Removes everything of a session in which nothing runs; false when it is not there or is
   * answering.
   */
  async forget(id: string, tenant: string): Promise<boolean> {
    return forgetSession(this.#database, sessionKeyFor(tenant, id), tenant);
  }

  /** Undefined: there is no such session. */
  async takeBack(id: string, tenant: TenantView, question: string): Promise<boolean | undefined> {
    return takeBackQuestion(this.#database, { id: sessionKeyFor(tenant, id), tenant, question });
  }

  async turn(turnId: string, tenant: TenantView): Promise<FoundTurn | undefined> {
    const [row] = await this.#database.query<{
      status: FoundTurn["status"];
      session_id: string;
      tenant: string;
      last_seq: number;
    }>(
      {
        name: "find_turn",
        text: `select t.status, t.session_id, s.tenant,
            coalesce(t.done_seq, (
              select max(seq)
              from dure.turn_events
              where turn_id = t.id and type <> 'RECORD'
            ), 0)::int as last_seq
          from dure.turns t
          join dure.sessions s on s.id = t.session_id
          where t.id = $1 and ($2::text is null or s.tenant = $2)`,
      },
      [turnId, tenant],
    );
    return (
      row && {
        status: row.status,
        sessionId: sessionIdFor(tenant, row.session_id),
        tenant: row.tenant,
        lastSeq: row.last_seq,
      }
    );
  }

  async memoryOf(session: string): Promise<({ memory: Memory } & MemoryVersion) | undefined> {
    const [row] = await this.#database.query<{
      memory: Partial<Memory>;
      memory_rev: number;
      incarnation: string;
    }>(
      {
        name: "memory_of_session",
        text: `select memory, memory_rev, incarnation
          from dure.sessions
          where id = $1 and running_turn is null`,
      },
      [session],
    );
    return (
      row && {
        memory: { ...EMPTY_MEMORY, ...row.memory },
        rev: row.memory_rev,
        incarnation: row.incarnation,
      }
    );
  }

  /** The calls of tools of its caller that a session has handed out last; by its key. */
  async handedOut(session: string): Promise<HandedOut | undefined> {
    const [row] = await this.#database.query<{ handed: HandedOut | null }>(
      {
        name: "handed_out",
        text: `select memory->'handedOut' as handed
          from dure.sessions
          where id = $1`,
      },
      [session],
    );
    return row?.handed ?? undefined;
  }

  async #row(id: string, tenant: TenantView): Promise<SessionRow> {
    const [row] = await this.#database.query<SessionRow>(
      {
        name: "session",
        text: `select *, extract(epoch from updated_at)::float8 * 1000 as updated_at
          from dure.sessions
          where id = $1 and ($2::text is null or tenant = $2)`,
      },
      [sessionKeyFor(tenant, id), tenant],
    );
    if (!row) {
      throw new DureError("SESSION_UNKNOWN", `There is no session ${id}.`, {
        class: "not-found",
        hint: "Check the session id.",
      });
    }
    return row;
  }

  async #history(session: string): Promise<readonly HistoryEntry[]> {
    const rows = await this.#database.query<{
      turn_id: string;
      author: "person" | "system";
      text: string;
      files: readonly FileRef[] | null;
      at: number;
      done: Done | null;
      finished_at: number | null;
    }>(
      {
        name: "session_history",
        text: `select * from (
            select m.turn_id, m.author, m.text, m.input->'files' as files, m.ordinal,
              extract(epoch from m.at)::float8 * 1000 as at, t.done,
              extract(epoch from t.finished_at)::float8 * 1000 as finished_at
            from dure.messages m
            left join dure.turns t on t.id = m.turn_id
            where m.session_id = $1
            order by m.ordinal desc
            limit $2
          ) newest order by ordinal`,
      },
      [session, MAX_HISTORY],
    );
    const shown = await this.#shownBefore(
      rows.filter((row) => row.done?.error?.code === "TURN_STOPPED").map((row) => row.turn_id),
    );
    return rows.flatMap((row, index) => {
      const said: HistoryEntry = {
        role: "user",
        content: row.text,
        files: row.files ?? undefined,
        at: row.at,
        turnId: row.turn_id,
        author: row.author,
      };
      // Merged messages have one answer, behind the last of them.
      const isLast = rows[index + 1]?.turn_id !== row.turn_id;
      if (!row.done || !isLast) return [said];
      const { done } = row;
      const stopped = done.error?.code === "TURN_STOPPED" ? { interrupted: true as const } : {};
      return [
        said,
        {
          role: "assistant",
          content: shown.get(row.turn_id) ?? done.message,
          at: row.finished_at ?? row.at,
          turnId: row.turn_id,
          author: row.author,
          done,
          ...stopped,
        },
      ];
    });
  }

  /** The text that stopped turns had shown. */
  async #shownBefore(turns: readonly string[]): Promise<ReadonlyMap<string, string>> {
    if (turns.length === 0) return new Map();
    const rows = await this.#database.query<JournalRow & { turn_id: string }>(
      {
        name: "shown_text",
        text: `select turn_id, seq, place, type, data
          from dure.turn_events
          where turn_id = any($1) and type in ('LLM_TOKEN', 'AGENT_START')
          order by turn_id, seq`,
      },
      [turns],
    );
    const shown = [...Map.groupBy(rows, (row) => row.turn_id)].map(
      ([turn, own]) => [turn, new ShownText(own).text] as const,
    );
    return new Map(shown.filter(([, text]) => text !== ""));
  }

  async #completed(session: string): Promise<readonly CompletedEntry[]> {
    const rows = await this.#database.query<{
      service: string;
      flow: string;
      stage: string;
      turn_id: string;
      at: number;
      data: unknown;
    }>(
      {
        name: "session_completed",
        text: `select service, flow, stage, turn_id, extract(epoch from at)::float8 * 1000 as at, data
          from dure.completed
          where session_id = $1
          order by id desc
          limit 50`,
      },
      [session],
    );
    return rows.map(({ turn_id: turnId, ...entry }) => ({ ...entry, turnId }));
  }
}

function summaryOf(row: SessionRow, view: TenantView): SessionSummary {
  return {
    sessionId: sessionIdFor(view, row.id),
    service: row.service,
    title: row.title,
    updatedAt: row.updated_at,
    runningTurn: row.running_turn === null ? null : { turnId: row.running_turn },
  };
}
