import type { TurnStatus } from "../kernel/turn-events.ts";
import type { Clock } from "../kernel/clock.ts";
import { codeOf, DureError, messageOf, ProcessError } from "../kernel/errors.ts";
import type { MadeFiles } from "../kernel/files.ts";
import type { JsonObject } from "../kernel/json.ts";
import type { NewEscalation } from "../kernel/escalation.ts";
import { ulid } from "../kernel/ids.ts";
import { sessionIdOfKey } from "../kernel/tenant.ts";
import type { Database } from "./database.ts";
import { confirmHold, type LeaseProof } from "./lease-proof.ts";
import type { Notifications } from "./notify.ts";
import { storable } from "./storable.ts";
import {
  retryUntilAnswered,
  type RetryUntilAnsweredOptions,
  type Within,
} from "./retry-until-answered.ts";
import type { NewPlatformEvent } from "../wire/events.ts";

/**
 * A line of a turn's journal. `type` is a turn event's for what readers see, `RECORD` for what only
 * recovery reads.
 */
export interface JournalRow {
  readonly seq: number;
  /** Position in the handler where it was made, such as `3` or `3.1.0`. */
  readonly place: string;
  readonly type: string;
  readonly data: unknown;
}

/** What a life of a turn adds to its journal in one statement. */
export interface JournalEntry {
  readonly turn: string;
  readonly epoch: number;
  readonly rows: readonly JournalRow[];
  readonly calls: readonly StoredModelCall[];
}

/** One model call, for accounting. */
export interface StoredModelCall {
  readonly at: number;
  /** In the turn's journal; settles the reservation that was made there. */
  readonly place?: string | undefined;
  readonly agent: string;
  readonly provider: string;
  readonly model: string;
  readonly attempt: number;
  readonly prompt_hash: string;
  readonly tokens_in: number;
  readonly tokens_out: number;
  readonly estimated: boolean;
  readonly cost_micro_usd: number | null;
  readonly latency_ms: number;
  readonly error: string | null;
}

/**
 * What happens to a message that arrives while the session's turn runs. Source:
 * docs/spec/conversation §3.
 */
export type BusyPolicy = "queue" | "reject" | "interrupt" | "merge";

/** Where a request is looked for by what it says: in its session, or in all that its caller said. */
export type RepeatScope = "session" | "caller";

/** How a request is told from a repetition: see `dure.is_repetition`. */
export interface RepeatRule {
  readonly of: RepeatScope;
  readonly within_ms: number;
  readonly caller: string;
  readonly path: string;
  /** Of what is said. */
  readonly key: string;
}

export interface NewTurn {
  readonly turn: string;
  readonly session: string;
  readonly tenant: string;
  readonly service: string;
  /** The caller named no service. A session of another one refuses it with `OtherServiceError`. */
  readonly assumed?: boolean | undefined;
  /** `""`: the service is not in this process. The first process that takes the turn sets it. */
  readonly version: string;
  readonly author: "person" | "system";
  readonly policy: BusyPolicy;
  /** How many may wait behind a running turn. */
  readonly max_waiting: number;
  readonly message: string;
  readonly input: Readonly<Record<string, unknown>>;
  readonly title: string;
  readonly locale?: string | undefined;
  /** The language in which the message is clearly written. */
  readonly written?: string | undefined;
  /** That of its letters, for a session that has none. */
  readonly letters?: string | undefined;
  readonly time_zone?: string | undefined;
  readonly trace_parent?: string | undefined;
  readonly idempotency?:
    | {
        readonly caller: string;
        readonly path: string;
        readonly key: string;
        readonly body_hash: string;
      }
    | undefined;
  readonly repeats?: RepeatRule | undefined;
  /**
   * True: where the session has answers to what it handed over, nothing is stored, and the caller
   * looks them up. False: it has, and asks again.
   */
  readonly untold?: boolean | undefined;
  readonly events: readonly NewPlatformEvent[];
}

/** The session as it stood when the turn was marked as running. */
export interface HeldSession {
  /** Distinguishes the session from earlier ones with the same id. */
  readonly incarnation: string;
  readonly state: Readonly<Record<string, unknown>>;
  readonly memory: Readonly<Record<string, unknown>>;
  readonly memory_rev: number;
  readonly locale: string | null;
  readonly time_zone: string | null;
}

/** Which memory of a session was read. */
export interface MemoryVersion {
  readonly rev: number;
  readonly incarnation: string;
}

export type Accepted =
  | ({
      readonly outcome: "accepted";
      readonly status: "running";
      readonly turn: string;
      readonly session: string;
      readonly ordinal: number;
      readonly now: number;
      readonly stopped: string | null;
    } & HeldSession)
  | {
      readonly outcome: "accepted";
      readonly status: TurnStatus;
      readonly again?: true;
      readonly turn: string;
      readonly session: string;
      readonly stopped?: string | null;
    }
  | {
      readonly outcome: "repeated";
      readonly status: TurnStatus;
      readonly turn: string;
      readonly session: string;
    };

export interface ClaimedTurn extends HeldSession {
  readonly turn: string;
  readonly session: string;
  readonly tenant: string;
  readonly service: string;
  readonly version: string;
  readonly author: "person" | "system";
  readonly epoch: number;
  readonly stop: { readonly by: string } | null;
  readonly trace_parent: string | null;
  readonly accepted_at: number;
  readonly messages: readonly {
    readonly ordinal: number;
    readonly author: string;
    readonly text: string;
    readonly input: Readonly<Record<string, unknown>>;
    readonly queued: boolean;
    readonly at: number;
  }[];
  readonly rows: readonly JournalRow[];
}

export interface FinishedTurn {
  readonly turn: string;
  readonly session: string;
  readonly epoch: number;
  /** The turn ends because a stop was requested. */
  readonly stopped: boolean;
  readonly done: unknown;
  /** The position of `DONE` in the turn's stream; it is kept with the turn, not in the journal. */
  readonly done_seq: number;
  readonly rows: readonly JournalRow[];
  readonly calls: readonly StoredModelCall[];
  /** Absent: the session's state stays as it is. */
  readonly state?: unknown;
  /** The yes to the session's question was acted on already, so this end does not take it back. */
  readonly keeps_question?: boolean | undefined;
  readonly memory?: unknown;
  readonly completed: readonly {
    readonly service: string;
    readonly flow: string;
    readonly stage: string;
    readonly data: unknown;
  }[];
  readonly outbox: readonly {
    readonly topic: string;
    readonly ordering: string;
    readonly key: string;
    readonly payload: unknown;
  }[];
  readonly escalations: readonly (NewEscalation & { readonly id: string })[];
  /** The escalations whose approvals the handler settled without the call. */
  readonly approvals?: readonly string[] | undefined;
  readonly events: readonly NewPlatformEvent[];
}

/** A turn whose person has said something to questions that were shown before. */
export interface AnsweringTurn {
  readonly turn: string;
  readonly epoch: number;
  /** Of the escalations. */
  readonly subjects: readonly string[];
  readonly said: "approve" | "reject" | "left";
}

/** What became of a question about a tool. `left` and `time`: it was closed without an answer. */
export interface AnsweredQuestion {
  readonly id: string;
  readonly type: string;
  readonly subject: string;
  readonly answer: string;
  readonly context: JsonObject;
}

export interface EffectIntent {
  readonly turn: string;
  readonly epoch: number;
  readonly key: string;
  readonly tool: string;
  readonly input: unknown;
  /** The escalation whose approval this call uses up. */
  readonly approval?: string | undefined;
  readonly rows: readonly JournalRow[];
  readonly calls: readonly StoredModelCall[];
}

/** Outcome of an effect, for its row. */
export interface SettledEffect {
  readonly turn: string;
  readonly epoch: number;
  readonly key: string;
  readonly status: EffectStatus;
  readonly result?: unknown;
  readonly error?: unknown;
  readonly files?: MadeFiles | undefined;
}

export const EFFECT_STATUSES = ["intent", "done", "failed", "unknown"] as const;
export type EffectStatus = (typeof EFFECT_STATUSES)[number];

export interface EffectRow {
  readonly status: EffectStatus;
  readonly attempts: number;
  readonly result: unknown;
  /** Absent: a process of the release before has looked. */
  readonly files?: MadeFiles | null | undefined;
  readonly error: { readonly code?: string; readonly message: string } | null;
  readonly input: unknown;
  /** Milliseconds since the last call left, by the database's clock. */
  readonly sent_ago_ms: number;
}

export type IntentAnswer =
  | { readonly outcome: "new" }
  | ({ readonly outcome: "known" } & EffectRow)
  | { readonly outcome: "stop" }
  /** What an earlier turn of the session has begun with the same tool is not known yet. */
  | { readonly outcome: "open"; readonly key: string; readonly input: unknown }
  /** Another call has already used the named approval. */
  | { readonly outcome: "approval_used" };

/** A flow that a session has finished. */
export interface FinishedFlow {
  readonly service: string;
  readonly flow: string;
  readonly stage: string;
  readonly data: unknown;
}

/** An effect as the ledger has it, for people. */
export interface TurnEffect {
  readonly key: string;
  readonly tool: string;
  readonly status: EffectStatus;
  readonly input: unknown;
  readonly result: unknown;
}

/** `running`: it has no end. `passed`: its session has gone on. `final`: it ended otherwise. */
export type RetryAnswer = "retrying" | "running" | "passed" | "final" | null;

/** Thrown where a write was refused because another process holds the turn now. */
export class FencedError extends ProcessError {
  constructor(turn: string) {
    super("TURN_FENCED", `The turn ${turn} is held by another process.`, {
      class: "conflict",
      hint: "Nothing was written; the other process ends the turn.",
    });
  }
}

/**
 * Thrown where a message that names no service came to a session of another service than was
 * assumed; nothing was stored.
 */
export class OtherServiceError extends DureError {
  readonly service: string;
  constructor(session: string, service: string) {
    super("SESSION_ELSEWHERE", `The session ${session} is of the service ${service}.`, {
      class: "conflict",
      hint: "Name the service.",
    });
    this.service = service;
  }
}

/** As `dure.turn_journal` keeps them, in one row. */
function linesOf(rows: readonly JournalRow[]): readonly (readonly unknown[])[] {
  return rows.map(({ seq, place, type, data }) => [seq, place, type, data]);
}

/** Refusals of `dure.accept_turn`, by SQLSTATE. */
const REFUSALS = {
  DU300: (session: string, service: string) => new OtherServiceError(session, service),
  DU404: () =>
    new DureError("SESSION_UNKNOWN", "There is no such session.", {
      class: "not-found",
      hint: "Check the session id.",
    }),
  DU405: () =>
    new DureError("FILE_UNKNOWN", "A file of the message is not kept any more.", {
      class: "not-found",
      hint: "Upload it again.",
    }),
  DU409: (session: string) =>
    new DureError("SESSION_BUSY", `The session ${session} is answering another message.`, {
      class: "conflict",
      hint: "Wait for its DONE, or stop that turn.",
    }),
  DU422: () =>
    new DureError("IDEMPOTENCY_KEY_REUSED", "This Idempotency-Key was used for another message.", {
      class: "input",
      hint: "Use a new key for a new message; keys hold 24 hours.",
    }),
  DU429: (session: string) =>
    new DureError("SESSION_QUEUE_FULL", `Too many messages wait in the session ${session}.`, {
      class: "limit",
      hint: "Wait for some answers first.",
    }),
} as const satisfies Record<string, (session: string, message: string) => DureError>;

/** What a process announces about a service that it answers. */
export interface AnsweredService {
  readonly name: string;
  readonly busy: BusyPolicy;
}

/** Tells every process that a turn waits for a process to take it. */
export const UNATTENDED_TOPIC = "unattended";

/** Events of one turn per read. Bounds what a stalled reader holds in memory. */
export const MAX_READ = 100;

/**
 * The statements of a turn's life, from accept to finish. Each is one statement and safe to repeat.
 * After a lost answer it is repeated until an answer comes or `signal` (the process's lease)
 * aborts.
 */
export class TurnStore {
  readonly #database: Database;
  readonly #notifications: Notifications;
  readonly #clock: Clock;
  readonly #holder: string;
  readonly #proof: LeaseProof;

  /** `proof`: of the process's lease. Without it nothing is looked up. */
  constructor(options: {
    database: Database;
    notifications: Notifications;
    clock: Clock;
    holder: string;
    proof?: LeaseProof | undefined;
  }) {
    this.#proof = options.proof ?? { isFresh: true };
    this.#database = options.database;
    this.#notifications = options.notifications;
    this.#clock = options.clock;
    this.#holder = options.holder;
  }

  /**
   * Throws the refusals of `accept_turn`; a repeated call after a lost answer gives the same turn.
   */
  async accept(
    turn: NewTurn,
    { signal, within }: Pick<RetryUntilAnsweredOptions, "signal" | "within"> = {},
  ): Promise<Accepted | "untold"> {
    const { idempotency, ...rest } = turn;
    const parameters = { ...rest, ...idempotency, holder: this.#holder };

    try {
      const accepted = await this.#retryUntilAnswered<
        | Accepted
        | { readonly outcome: "elsewhere"; readonly service: string }
        | { readonly outcome: "untold" }
      >(
        (again) => ({
          name: "accept_turn",
          text: "select dure.accept_turn($1) as value",
          values: [storable({ ...parameters, again: again || turn.untold === false })],
        }),
        signal,
        within,
      );
      if (accepted.outcome === "untold") return "untold";
      if (accepted.outcome === "elsewhere") {
        throw new OtherServiceError(turn.session, accepted.service);
      }
      this.#notifications.publish("events");
      if (accepted.outcome === "accepted" && "stopped" in accepted && accepted.stopped) {
        this.#notifications.publish("stops");
      }
      return accepted;
    } catch (error) {
      const refusal = REFUSALS[codeOf(error) as keyof typeof REFUSALS];
      throw refusal ? refusal(sessionIdOfKey(turn.session), messageOf(error)) : error;
    }
  }

  /** Whether a turn has reached out of its conversation, as far as is known. */
  async hasActed(
    turn: string,
    { signal }: { signal?: AbortSignal | undefined } = {},
  ): Promise<boolean> {
    const text = `select coalesce(dure.has_acted(t), false) as value
      from dure.turns t
      where t.id = $1`;
    const acted = await this.#retryUntilAnswered<boolean | null>(
      () => ({ name: "turn_has_acted", text, values: [turn] }),
      signal,
    );
    return acted ?? false;
  }

  /**
   * Running turns that no process works on: released ones, own ones that this process does not know
   * (with a longer pause after each life), and those that were stored under the name of a dead
   * process when its turns had been released already. At most `limit`. Released ones of other
   * services than `services` only when they have to stop, or when no process has taken them for
   * `unservedMs`; these are marked.
   */
  async unattended(
    known: readonly string[],
    {
      services,
      unservedMs,
      limit,
    }: { services: readonly string[]; unservedMs: number; limit: number },
  ): Promise<readonly { readonly id: string; readonly isUnserved: boolean }[]> {
    const rows = await this.#database.query<{ id: string; unserved: boolean }>(
      {
        name: "unattended_turns",
        text: `select id, foreign_one as unserved from (
            select id, held_at,
              holder is null and stop is null and not service = any($4) as foreign_one
            from dure.turns where status = 'running' and (holder is null
              or (holder = $1
                and held_at < clock_timestamp() - least(epoch, 60) * interval '1 second'
                and not (id = any($2)))
              or holder = any(array(
                select p.id from dure.processes p
                where p.recovered_at > clock_timestamp() - interval '1 hour')))
          ) free
          where not foreign_one or held_at < clock_timestamp() - $5 * interval '1 millisecond'
          order by held_at limit $3`,
      },
      [this.#holder, known, limit, services, unservedMs],
    );
    return rows.map(({ id, unserved }) => ({ id, isUnserved: unserved }));
  }

  /** Leaves a turn that this process cannot run to others. */
  async giveUp(
    turn: string,
    epoch: number,
    { signal }: { signal?: AbortSignal | undefined } = {},
  ): Promise<void> {
    await this.#retryUntilAnswered<boolean>(
      () => ({
        name: "give_up_turn",
        text: "select dure.give_up_turn($1, $2, $3) as value",
        values: [turn, this.#holder, epoch],
      }),
      signal,
    );
    this.#notifications.publish(UNATTENDED_TOPIC);
  }

  /** @param options.versions of the services of this process, by name. */
  async claim(
    turn: string,
    {
      versions = {},
      signal,
    }: { versions?: Readonly<Record<string, string>>; signal?: AbortSignal | undefined } = {},
  ): Promise<ClaimedTurn | null> {
    return this.#retryUntilAnswered<ClaimedTurn | null>(
      () => ({
        name: "claim_turn",
        text: "select dure.claim_turn($1, $2, $3) as value",
        values: [turn, this.#holder, storable(versions)],
      }),
      signal,
    );
  }

  /** Announces to other processes the services that this process answers. */
  async announce(
    services: readonly AnsweredService[],
    { signal }: { signal?: AbortSignal | undefined } = {},
  ): Promise<void> {
    const text = `with told as (update dure.processes set services = $2 where id = $1 returning 1)
        select count(*) as value from told`;
    await this.#retryUntilAnswered<number>(
      () => ({ name: "announce_services", text, values: [this.#holder, storable(services)] }),
      signal,
    );
  }

  /**
   * A service that a living process answers, or one that has ended less than `withinMs` ago: it may
   * be about to come back.
   */
  async answeredElsewhere(service: string, withinMs: number): Promise<AnsweredService | undefined> {
    const [row] = await this.#database.query<AnsweredService>(
      {
        name: "answered_elsewhere",
        text: `select s.name, s.busy
          from dure.processes p, jsonb_to_recordset(p.services) as s(name text, busy text)
          where s.name = $1
            and (p.ended_at is null
              or p.ended_at > clock_timestamp() - $2::float8 * interval '1 millisecond')
          order by p.started_at desc limit 1`,
      },
      [service, withinMs],
    );
    return row;
  }

  /** What a tool gave at a place of another turn, where both turns are of one session. */
  async callResult<Outcome>(
    now: string,
    { turn, place }: { turn: string; place: string },
  ): Promise<Outcome | undefined> {
    const [row] = await this.#database.query<{ data: Outcome }>(
      {
        name: "call_result",
        text: `select e.data
          from dure.turns n
          join dure.turns t on t.session_id = n.session_id
          join dure.turn_events e on e.turn_id = t.id
          where n.id = $1 and t.id = $2
            and e.type = 'RECORD' and starts_with(e.place, $3 || ' tool:')
          order by e.seq limit 1`,
      },
      [now, turn, place],
    );
    return row?.data;
  }

  /** Throws `FencedError`. Says whether a stop was asked for. */
  async journal(
    { turn, epoch, rows, calls }: JournalEntry,
    { signal }: { signal?: AbortSignal | undefined } = {},
  ): Promise<{ stop: boolean }> {
    const values = [turn, epoch, storable(linesOf(rows)), storable(calls)];
    const answer = await this.#retryUntilAnswered<string>(
      () => ({
        name: "journal_turn",
        text: "select dure.journal_turn($1, $2, $3, $4) as value",
        values,
      }),
      signal,
    );

    if (answer === "fenced") throw new FencedError(turn);

    this.#notifications.publish("turns");

    return { stop: answer === "stop" };
  }

  /** Throws `FencedError`. `stop`: a stop was requested before; nothing was written. */
  async finish(
    turn: FinishedTurn,
    { signal }: { signal?: AbortSignal | undefined } = {},
  ): Promise<{ outcome: "done" | "repeated" | "stop"; next: string | null }> {
    const values = [storable({ ...turn, rows: linesOf(turn.rows), holder: this.#holder })];
    const answer = await this.#retryUntilAnswered<{
      outcome: "done" | "repeated" | "stop" | "fenced";
      next?: string | null;
    }>(
      () => ({ name: "finish_turn", text: "select dure.finish_turn($1) as value", values }),
      signal,
    );

    if (answer.outcome === "fenced") throw new FencedError(turn.turn);

    if (answer.outcome !== "stop") {
      this.#notifications.publish("turns");
      this.#notifications.publish("events");
      if (turn.outbox.length > 0) this.#notifications.publish("outbox");
    }

    return { outcome: answer.outcome, next: answer.next ?? null };
  }

  /**
   * Directly before a model call or something else outside. Throws `FencedError` when another
   * process has the turn by now, or takes over from this one.
   */
  async confirm(
    turn: string,
    epoch: number,
    { signal }: { signal?: AbortSignal | undefined } = {},
  ): Promise<void> {
    if (this.#proof.isFresh) return;
    const statement = {
      name: "turn_held",
      text: `select exists (
          select from dure.turns
          where id = $1 and epoch = $2 and holder = $3 and status = 'running'
        ) and not exists (
          select from dure.processes
          where id = $3 and ended_at is not null
        ) as value`,
    };

    const look = async (): Promise<void> => {
      const isHeld = await this.#retryUntilAnswered<boolean>(
        () => ({ ...statement, values: [turn, epoch, this.#holder] }),
        signal,
      );
      if (!isHeld) throw new FencedError(turn);
    };

    await confirmHold({ isFresh: () => this.#proof.isFresh, clock: this.#clock, look });
  }

  /** The same for the folding of a memory: false when the session has gone on meanwhile. */
  async confirmFold(
    session: string,
    { rev, incarnation }: MemoryVersion,
    { signal }: { signal?: AbortSignal | undefined } = {},
  ): Promise<boolean> {
    const statement = {
      name: "fold_held",
      text: `select exists (
          select from dure.sessions
          where id = $1 and memory_rev = $2 and incarnation = $3 and running_turn is null
        ) as value`,
    };

    let isSame = true;

    const look = async (): Promise<void> => {
      isSame = await this.#retryUntilAnswered<boolean>(
        () => ({ ...statement, values: [session, rev, incarnation] }),
        signal,
      );
    };

    await confirmHold({ isFresh: () => this.#proof.isFresh, clock: this.#clock, look });

    return isSame;
  }

  /** Of a session; undefined for one that is not there. */
  async serviceOf(session: string, tenant: string): Promise<string | undefined> {
    const [row] = await this.#database.query<{ service: string }>(
      {
        name: "service_of_session",
        text: `
          select service
          from dure.sessions
          where id = $1 and tenant = $2`,
      },
      [session, tenant],
    );
    return row?.service;
  }

  async stop(turn: string, tenant: string, by: string): Promise<"stopping" | "finished" | null> {
    const answer = await this.#retryUntilAnswered<"stopping" | "finished" | null>(() => ({
      name: "stop_turn",
      text: "select dure.stop_turn($1, $2, $3) as value",
      values: [turn, tenant, by],
    }));

    if (answer === "stopping") this.#notifications.publish("stops");
    return answer;
  }

  /** Opens a turn again that ended because its model was away; see `dure.retry_turn`. */
  async retry(turn: string, tenant: string, by: string): Promise<RetryAnswer> {
    const answer = await this.#retryUntilAnswered<RetryAnswer>(() => ({
      name: "retry_turn",
      text: "select dure.retry_turn($1, $2, $3) as value",
      values: [turn, tenant, by],
    }));

    if (answer === "retrying") this.#notifications.publish(UNATTENDED_TOPIC);
    return answer;
  }

  /** Which of these turns have a stop request, and which this process no longer holds. */
  async interrupted(
    turns: readonly string[],
  ): Promise<readonly { id: string; stop: boolean; held: boolean; epoch: number }[]> {
    return this.#database.query(
      {
        name: "interrupted_turns",
        text: `select id, stop is not null as stop, coalesce(holder = $2, false) as held, epoch
          from dure.turns
          where id = any($1) and (stop is not null or holder is distinct from $2)`,
      },
      [turns, this.#holder],
    );
  }

  /**
   * Gives up the turns of a dead process: its later writes are refused, and any process may claim
   * the turns.
   */
  async release(holder: string): Promise<number> {
    const [row] = await this.#database.query<{ value: number }>(
      { name: "release_turns", text: "select dure.release_turns($1) as value" },
      [holder],
    );

    this.#notifications.publish(UNATTENDED_TOPIC);
    return row?.value ?? 0;
  }

  /** Throws `FencedError`. */
  async effectIntent(
    intent: EffectIntent,
    { signal }: { signal?: AbortSignal | undefined } = {},
  ): Promise<IntentAnswer> {
    // The nonce tells an intent of this very call, whose answer was lost, from one of an earlier
    // life that may have been sent.
    const values = [storable({ ...intent, rows: linesOf(intent.rows), nonce: ulid() })];
    const answer = await this.#retryUntilAnswered<IntentAnswer | { readonly outcome: "fenced" }>(
      () => ({ name: "effect_intent", text: "select dure.effect_intent($1) as value", values }),
      signal,
    );

    if (answer.outcome === "fenced") throw new FencedError(intent.turn);

    return answer;
  }

  /** Throws `FencedError`. */
  async effectSettle(
    { turn, epoch, key, status, result, error, files }: SettledEffect,
    { signal }: { signal?: AbortSignal | undefined } = {},
  ): Promise<void> {
    const values = [
      turn,
      epoch,
      key,
      status,
      result === undefined ? null : storable(result),
      error === undefined ? null : storable(error),
      files === undefined ? null : storable(files),
    ];

    const ours = await this.#retryUntilAnswered<boolean>(
      () => ({
        name: "effect_settle",
        text: "select dure.effect_settle($1, $2, $3, $4, $5, $6, $7) as value",
        values,
      }),
      signal,
    );

    if (!ours) throw new FencedError(turn);
  }

  /** Effects that a turn has made or was about to make. */
  async effectsOf(
    turn: string,
    { signal }: { signal?: AbortSignal | undefined } = {},
  ): Promise<readonly TurnEffect[]> {
    const text = `select coalesce(jsonb_agg(
      jsonb_build_object(
        'key', key, 'tool', tool, 'status', status, 'input', input, 'result', result
      )
      order by created_at
    ), '[]') as value
      from dure.effects where turn_id = $1`;
    return this.#retryUntilAnswered(
      () => ({ name: "effects_of_turn", text, values: [turn] }),
      signal,
    );
  }

  /** The flows that a session has finished, the newest first. */
  async finishedFlows(
    session: string,
    { signal }: { signal?: AbortSignal | undefined } = {},
  ): Promise<readonly FinishedFlow[]> {
    const text = `select coalesce(jsonb_agg(
      jsonb_build_object('service', service, 'flow', flow, 'stage', stage, 'data', data)
      order by id desc
    ), '[]') as value
      from (select * from dure.completed where session_id = $1 order by id desc limit 10) newest`;
    return this.#retryUntilAnswered(
      () => ({ name: "finished_flows", text, values: [session] }),
      signal,
    );
  }

  /** Whether something was done, or begun, under this key. */
  async isEffectKnown(
    key: string,
    { signal }: { signal?: AbortSignal | undefined } = {},
  ): Promise<boolean> {
    return this.#retryUntilAnswered(
      () => ({
        name: "effect_known",
        text: "select exists (select 1 from dure.effects where key = $1) as value",
        values: [key],
      }),
      signal,
    );
  }

  /**
   * What became of questions about tools that a turn has answered by its person's words. Asked
   * again by a later life it gives the same. Throws when the turn is fenced.
   */
  async answerAsked(
    { turn, epoch, subjects, said }: AnsweringTurn,
    { signal }: { signal?: AbortSignal | undefined } = {},
  ): Promise<readonly AnsweredQuestion[]> {
    const answers = await this.#retryUntilAnswered<readonly AnsweredQuestion[] | null>(
      () => ({
        name: "answer_asked",
        text: "select dure.answer_asked($1, $2, $3, $4) as value",
        values: [turn, epoch, subjects, said],
      }),
      signal,
    );
    if (answers === null) throw new FencedError(turn);
    if (answers.length > 0) this.#notifications.publish("events");
    return answers;
  }

  /** Whether the call that an approval allows has been made or begun. */
  async isApprovalUsed(
    id: string,
    { signal }: { signal?: AbortSignal | undefined } = {},
  ): Promise<boolean> {
    return this.#retryUntilAnswered(
      () => ({
        name: "approval_used",
        text: "select exists (select 1 from dure.escalations where id = $1 and used_at is not null) as value",
        values: [id],
      }),
      signal,
    );
  }

  /**
   * Stored events after `after`, at most `MAX_READ`, and whether the turn is done; null when there
   * is no such turn.
   */
  async read(
    turn: string,
    after: number,
  ): Promise<{
    status: TurnStatus;
    rows: readonly (JournalRow & { at: number })[];
  } | null> {
    const rows = await this.#database.query<{
      status: TurnStatus;
      seq: number | null;
      place: string;
      type: string;
      data: unknown;
      at: number;
    }>(
      {
        name: "read_turn",
        text: `select t.status, e.seq, e.place, e.type, e.data, extract(epoch from e.at)::float8 * 1000 as at
          from dure.turns t left join lateral (
            select seq, place, type, data, at
            from dure.turn_events
            where turn_id = t.id and seq > $2 and type <> 'RECORD'
              and first >= coalesce((
                select max(j.seq)
                from dure.turn_journal j
                where j.turn_id = t.id and j.seq <= $2
              ), 0)
            union all
            select t.done_seq, '', 'DONE', t.done, t.finished_at
            where t.done_seq > $2
          ) e on true
          where t.id = $1 order by e.seq limit $3`,
      },
      [turn, after, MAX_READ],
    );

    const first = rows[0];
    if (!first) return null;

    return {
      status: first.status,
      rows: first.seq === null ? [] : (rows as (JournalRow & { at: number })[]),
    };
  }

  /** Writes the folded memory if no turn runs and the memory is unchanged since it was read. */
  async fold(
    session: string,
    { rev, incarnation }: MemoryVersion,
    memory: unknown,
  ): Promise<boolean> {
    const rows = await this.#database.query(
      {
        name: "fold_memory",
        text: `update dure.sessions
          set memory = $3, memory_rev = memory_rev + 1
          where id = $1 and memory_rev = $2 and incarnation = $4 and running_turn is null
          returning id`,
      },
      [session, rev, storable(memory), incarnation],
    );
    return rows.length === 1;
  }

  /** Model calls that belong to no turn, such as the folding of a memory. */
  async noteCalls(
    session: string,
    service: string,
    calls: readonly StoredModelCall[],
  ): Promise<void> {
    if (calls.length === 0) return;
    await this.#database.query(
      { name: "note_calls", text: "select dure.put_journal_rows($1, $2, $3, '[]', $4)" },
      [`memory/${session}`, session, service, storable(calls)],
    );
  }

  /**
   * Repeats a statement that is safe to repeat while the database cannot be reached; `again` says
   * that an answer was lost.
   */
  async #retryUntilAnswered<Value>(
    statement: (again: boolean) => { name: string; text: string; values: readonly unknown[] },
    signal?: AbortSignal,
    within?: Within,
  ): Promise<Value> {
    const ask = (again: boolean): Promise<{ value: Value }[]> => {
      const { name, text, values } = statement(again);
      return this.#database.query<{ value: Value }>({ name, text }, values);
    };
    const clock = this.#clock;
    const [row] = await (signal ? retryUntilAnswered(ask, { clock, signal, within }) : ask(false));
    return row!.value;
  }
}
