import type { Locale } from "../kernel/locales.ts";
import { codeOf, DureError } from "../kernel/errors.ts";
import {
  MAX_INPUT,
  MAX_NOTE,
  type EscalationSeverity,
  type EscalationSource,
  type EscalationStatus,
  type EscalationStep,
  type EscalationType,
  type NewEscalation,
  type ApprovalNeeds,
  type SuggestedAction,
} from "../kernel/escalation.ts";
import { newId } from "../kernel/ids.ts";
import type { RoomAsker } from "../kernel/rooms.ts";
import type { KnownTo, TenantView } from "../kernel/tenant.ts";
import type { Database, Queryable, Transaction } from "../durable/database.ts";
import type { Notifications } from "../durable/notify.ts";
import { pageOf, readCursor, type RowPage } from "../durable/page.ts";
import { storable } from "../durable/storable.ts";
import { UNATTENDED_TOPIC } from "../durable/turns.ts";
import { inLocale } from "./action-words.ts";
import type { Escalation } from "../wire/escalations.ts";

/** Wakes the routers that move open escalations to their next step. */
export const ESCALATIONS_TOPIC = "escalations";

/** Who answers: a person of a tenant, or an agent in their place. */
export interface Answerer {
  /** Null: an administrator who sees all tenants. */
  readonly tenant: TenantView;
  readonly name: string;
  /** Of a room: who answers there, as its platform vouches. */
  readonly asker?: Pick<RoomAsker, "adapter" | "id"> | undefined;
  /** Absent: an agent. */
  readonly person?: KnownPerson | undefined;
}

/** Whose yes it is, where a role or two people are asked for. */
export interface KnownPerson {
  /** The same for all tokens of a person. Absent: a platform's account, which is none of two people. */
  readonly key?: string | undefined;
  /** For whom the token was made; absent: the person at the machine. */
  readonly name?: string | undefined;
  readonly roles: readonly string[];
}

/** Arguments of a call, by name. */
type CallInput = Readonly<Record<string, unknown>>;

export interface EscalationAnswer {
  /** The value of one of the suggested actions. */
  readonly value: string;
  /** At most 4,000 characters. */
  readonly note?: string | undefined;
  /** Other arguments for the call, where the action asks for them; at most 16 KiB of JSON. */
  readonly input?: CallInput | undefined;
}

/** What `raise` gives: the escalation that is open now. */
export interface RaisedEscalation {
  /** Of the one that is open. */
  readonly id: string;
  readonly subject: string;
  /** False: it was open already. */
  readonly isNew: boolean;
}

/** Which escalations are listed; an absent member asks for all. */
export interface EscalationFilter {
  readonly tenant: TenantView;
  /** Absent: an operator, who knows of all. */
  readonly knownTo?: KnownTo | undefined;
  readonly status?: EscalationStatus | undefined;
  readonly severity?: EscalationSeverity | undefined;
  readonly type?: EscalationType | undefined;
  readonly run?: string | undefined;
  readonly port?: string | undefined;
  readonly job?: string | undefined;
  readonly room?: string | undefined;
  readonly session?: string | undefined;
  /** 1 to 200. Default 50. */
  readonly limit?: number | undefined;
  readonly cursor?: string | undefined;
}

/** One page of the inbox. */
export type EscalationPage = RowPage<Escalation>;

export type SeverityCounts = Readonly<Partial<Record<EscalationSeverity, number>>>;

/** Which escalations a listener wants; every member that is given must fit. */
export interface EscalationMatch {
  readonly type?: EscalationType | undefined;
  /** Those whose source has such an id. */
  readonly source?: keyof EscalationSource | undefined;
}

/**
 * Holds nothing but SQL; a throw rolls the closing back and reaches its caller. The returned
 * function is called after the commit.
 */
export type ResolvedListener = (
  tx: Transaction,
  escalation: Escalation,
) => Promise<(() => void) | void>;

/**
 * Looks at an answer before it is taken, and may ask outside of the database. A throw refuses it.
 * Who knows the call gives its changed arguments as they are stored.
 */
export type AnswerCheck = (
  escalation: Escalation,
  answer: EscalationAnswer,
  by: Answerer,
) => Promise<{ readonly input: CallInput } | void>;

/** Escalations that one page holds at most. */
const MAX_PAGE = 200;

/**
 * The one inbox. Closing closes exactly one escalation and, in the same transaction, resumes what
 * waited for it. The first answer from any source wins.
 */
export class Inbox {
  readonly #database: Database;
  readonly #notifications: Pick<Notifications, "publish">;
  readonly #locale: Locale;
  readonly #listeners = new Set<{
    readonly match: EscalationMatch;
    readonly listener: ResolvedListener;
  }>();
  readonly #checks = new Set<{ readonly match: EscalationMatch; readonly check: AnswerCheck }>();

  constructor(options: {
    database: Database;
    notifications: Pick<Notifications, "publish">;
    /** Of the labels of suggested actions. Default `en`. */
    locale?: Locale | undefined;
  }) {
    this.#database = options.database;
    this.#notifications = options.notifications;
    this.#locale = options.locale ?? "en";
  }

  /**
   * Call it in the transaction of what needs a decision. An open subject is not asked twice; if its
   * severity rises, it is announced again. After the commit `announce()` saves up to a second.
   */
  async raise(
    tx: Queryable,
    escalations: readonly NewEscalation[],
  ): Promise<readonly RaisedEscalation[]> {
    if (escalations.length === 0) return [];
    return raiseEscalations(tx, escalations);
  }

  /**
   * No decision is needed any more: closes what is open about `subject`. Listeners are not called,
   * because the caller already knows.
   */
  async settle(
    tx: Queryable,
    subject: string,
    { by, value = "settled" }: { by: string; value?: string },
  ): Promise<readonly string[]> {
    return settleEscalation(tx, subject, { by, value });
  }

  /**
   * Calls `listener` in each transaction that closes a fitting escalation: by an answer, a
   * dismissal, or its time. Returns how to stop.
   */
  onResolved(match: EscalationMatch, listener: ResolvedListener): () => void {
    const entry = { match, listener };
    this.#listeners.add(entry);
    return () => void this.#listeners.delete(entry);
  }

  /** Calls `check` before each answer to a fitting escalation that is open. Returns how to stop. */
  onAnswer(match: EscalationMatch, check: AnswerCheck): () => void {
    const entry = { match, check };
    this.#checks.add(entry);
    return () => void this.#checks.delete(entry);
  }

  /**
   * Throws `ESCALATION_UNKNOWN`, `ESCALATION_CLOSED` (answered or dismissed before),
   * `ANSWER_INVALID`, `APPROVAL_ROLE_MISSING`, `APPROVAL_PERSON_UNKNOWN`, `APPROVAL_GIVEN`, and as a
   * check of {@link onAnswer}. The turn is the one that goes on. Of two people the first one's yes is
   * kept: then no turn does, and the escalation stays open.
   */
  async answer(
    id: string,
    answer: EscalationAnswer,
    by: Answerer,
  ): Promise<{ escalation: Escalation; turn: string | null }> {
    const resolution = {
      ...resolutionOf(id, answer.value, answer.note),
      input: await this.#check(id, answer, by),
    };
    const result = await this.#closing(async (tx) => {
      const outcome = await answerIn(tx, id, resolution, by);
      if (!outcome) throw unknown(id);
      if (outcome.outcome === "resolved" || outcome.outcome === "dismissed") {
        throw closedBefore(id, outcome.outcome);
      }
      assertHeard(id, outcome);

      return { ids: outcome.outcome === "first" ? [] : [id], value: outcome };
    });

    if (result.value.outcome === "expired") throw closedBefore(id, "dismissed");
    if (result.value.outcome === "first") {
      this.#notifications.publish("events");
      return { escalation: await this.get(id, by), turn: null };
    }

    this.#notifications.publish(UNATTENDED_TOPIC);

    return { escalation: result.closed[0]!, turn: result.value.turn ?? null };
  }

  /** The changed arguments, as a check gives them; undefined: they are those that were shown. */
  async #check(id: string, answer: EscalationAnswer, by: Answerer): Promise<CallInput | undefined> {
    if (this.#checks.size === 0 && answer.input === undefined) return undefined;
    const escalation = await this.get(id, by);
    if (escalation.status !== "open") return undefined;
    assertTakesInput(escalation, answer);
    let input: CallInput | undefined;
    for (const { match, check } of this.#checks) {
      const known = fits(escalation, match) && (await check(escalation, answer, by));
      if (known) input = known.input;
    }
    if (answer.input !== undefined && input === undefined) throw takesNoInput(id);
    return input;
  }

  /**
   * Closes an escalation without a decision. Throws `ESCALATION_UNKNOWN`, `ESCALATION_CLOSED`,
   * `ANSWER_INVALID` for a note that is too long.
   */
  async dismiss(id: string, by: Answerer, note?: string): Promise<Escalation> {
    const resolution = resolutionOf(id, "dismissed", note);
    const { closed } = await this.#closing(async (tx) => {
      const [row] = await tx.query<EscalationRow>(LOCK, [id, by.tenant]);
      if (!row) throw unknown(id);
      if (row.status !== "open") throw closedBefore(id, row.status);

      await tx.query(CLOSE, [id, "dismissed", storable(resolution), by.name]);

      return { ids: [id], value: undefined };
    });

    return closed[0]!;
  }

  /** Closes expired escalations, a bounded number at once. Returns how many. */
  async expire(limit: number): Promise<number> {
    const due = await this.#database.query<{ id: string }>(EXPIRED, [limit]);
    let count = 0;

    for (const { id } of due) {
      const { closed } = await this.#closing(async (tx) => {
        const [mine] = await tx.query(TAKE_EXPIRED, [id]);
        if (mine) {
          await tx.query(CLOSE, [id, "dismissed", JSON.stringify({ value: "time" }), "system"]);
        }
        return { ids: mine ? [id] : [], value: undefined };
      });
      count += closed.length;
    }

    return count;
  }

  /** Throws `ESCALATION_UNKNOWN`. */
  async get(id: string, by: Pick<Answerer, "tenant">): Promise<Escalation> {
    const [row] = await this.#database.query<EscalationRow>(ONE, [id, by.tenant]);
    if (!row) throw unknown(id);
    return escalationOf(row, this.#locale);
  }

  /**
   * Newest first. What a conversation asks its person is open there, and listed with `session` alone.
   * Throws `CURSOR_INVALID`.
   */
  async list(filter: EscalationFilter): Promise<EscalationPage> {
    const limit = Math.min(filter.limit ?? 50, MAX_PAGE);
    const before = readCursor(filter.cursor, CURSOR) ?? [null, null];

    const values = [...valuesOf(filter), ...before, limit + 1];
    const rows = await this.#database.query<EscalationRow>(LIST, values);

    const { items, nextCursor } = pageOf(rows, limit, (row) => [row.created_us, row.id]);

    return { items: items.map((row) => escalationOf(row, this.#locale)), nextCursor };
  }

  /** How many the same filter finds on all its pages, by severity; without those that are none. */
  async count(filter: EscalationFilter): Promise<SeverityCounts> {
    const rows = await this.#database.query<{ severity: EscalationSeverity; count: number }>(
      COUNT,
      valuesOf(filter),
    );
    return Object.fromEntries(rows.map(({ severity, count }) => [severity, count]));
  }

  /** After the commit of `raise`: the routers look at once. */
  announce(): void {
    this.#notifications.publish(ESCALATIONS_TOPIC);
    this.#notifications.publish("events");
  }

  /** Runs `close`, calls the listeners of what it closed, commits, and notifies all processes. */
  async #closing<Value>(
    close: (tx: Transaction) => Promise<{ ids: readonly string[]; value: Value }>,
  ): Promise<{ closed: readonly Escalation[]; value: Value }> {
    const afterwards: (() => void)[] = [];
    const result = await this.#database.transaction(async (tx) => {
      const { ids, value } = await close(tx);
      const closed: Escalation[] = [];

      for (const id of ids) {
        const [row] = await tx.query<EscalationRow>(READ, [id]);
        const escalation = escalationOf(row!, this.#locale);
        closed.push(escalation);
        for (const { match, listener } of this.#listeners) {
          const after = fits(escalation, match) ? await listener(tx, escalation) : undefined;
          if (after) afterwards.push(after);
        }
      }

      return { closed, value };
    });

    for (const after of afterwards) after();
    if (result.closed.length > 0) this.#notifications.publish("events");

    return result;
  }
}

/** The same as `Inbox.raise`, for callers with a transaction and no inbox. */
export async function raiseEscalations(
  tx: Queryable,
  escalations: readonly NewEscalation[],
): Promise<readonly RaisedEscalation[]> {
  const entries = escalations.map((escalation) => ({
    ...escalation,
    id: escalation.id ?? newId("escalation"),
  }));

  const rows = await tx.query<{ id: string; subject: string; is_new: boolean }>(RAISE, [
    storable(entries),
  ]);
  return rows.map(({ id, subject, is_new }) => ({ id, subject, isNew: is_new }));
}

/** The same as `Inbox.settle`. */
export async function settleEscalation(
  tx: Queryable,
  subject: string,
  { by, value = "settled" }: { by: string; value?: string },
): Promise<readonly string[]> {
  const rows = await tx.query<{ id: string }>(SETTLE, [subject, storable({ value }), by]);
  return rows.map(({ id }) => id);
}

/** Whether a listener wants it. Pure. */
function fits(escalation: Escalation, { type, source }: EscalationMatch): boolean {
  if (type !== undefined && escalation.type !== type) return false;
  return source === undefined || escalation.source[source] !== undefined;
}

/** Answers wait behind persons' messages, and are never refused for them. */
const MAX_SYSTEM_WAITING = 1_000;

type AnswerOutcome = {
  readonly outcome: "closed" | "expired" | "resolved" | "dismissed" | HeardYes;
  readonly turn?: string | null | undefined;
  readonly role?: string | null | undefined;
};

/** Why a yes has not closed a question that a role or two people answer. */
type HeardYes = "first" | "given" | "role" | "person";

async function answerIn(
  tx: Transaction,
  id: string,
  resolution: Resolution,
  by: Answerer,
): Promise<AnswerOutcome | null> {
  const turn = {
    turn: newId("turn"),
    version: "",
    author: "system",
    policy: "queue",
    max_waiting: MAX_SYSTEM_WAITING,
    message: "",
    title: "",
    events: [],
    asker: by.asker,
  };
  try {
    const tenant = by.tenant ?? (await tx.query<EscalationRow>(ONE, [id, null]))[0]?.tenant;
    if (tenant === undefined) return null;
    const [row] = await tx.query<{ value: AnswerOutcome | null }>(ANSWER, [
      id,
      tenant,
      storable(resolution),
      by.name,
      storable(turn),
      storable(by.person ?? { roles: [] }),
    ]);
    return row!.value;
  } catch (error) {
    if (codeOf(error) !== "DU400") throw error;
    throw new DureError("ANSWER_INVALID", `"${resolution.value}" is no answer to ${id}.`, {
      class: "input",
      hint: "Answer with the value of one of its suggested actions.",
    });
  }
}

type Resolution = EscalationAnswer;

/** Throws `ANSWER_INVALID`. */
function assertTakesInput(
  { id, suggestedActions }: Escalation,
  { value, input }: EscalationAnswer,
): void {
  if (input === undefined) return;
  if (!suggestedActions.some((action) => action.value === value && action.asks === "input")) {
    throw takesNoInput(id);
  }
  const bytes = Buffer.byteLength(JSON.stringify(input));
  if (bytes > MAX_INPUT) {
    throw new DureError(
      "ANSWER_INVALID",
      `The arguments for ${id} have ${bytes} bytes; ${MAX_INPUT} are allowed.`,
      { class: "input", hint: "Reject the call with a note, so that it is asked again." },
    );
  }
}

function takesNoInput(id: string): DureError {
  return new DureError("ANSWER_INVALID", `Other arguments do not go with this answer to ${id}.`, {
    class: "input",
    hint: "Leave `input` out; only an action that asks for `input` takes it.",
  });
}

function resolutionOf(id: string, value: string, note: string | undefined): Resolution {
  const text = note?.trim() ?? "";
  if (text.length > MAX_NOTE) {
    throw new DureError(
      "ANSWER_INVALID",
      `The note for ${id} has ${text.length} characters; ${MAX_NOTE} are allowed.`,
      { class: "input", hint: "Say it shorter, or put it where it can be linked to." },
    );
  }

  return { value, note: text === "" ? undefined : text };
}

function unknown(id: string): DureError {
  return new DureError("ESCALATION_UNKNOWN", `There is no escalation ${id}.`, {
    class: "not-found",
    hint: "Check the id. What `approvals[].at` of a DONE names is answered on that service's server.",
  });
}

/** Throws where a yes neither counts nor is kept: nothing was changed. */
function assertHeard(id: string, { outcome, role }: AnswerOutcome): void {
  if (outcome === "role") {
    throw new DureError("APPROVAL_ROLE_MISSING", `Only the role ${role} may approve ${id}.`, {
      class: "forbidden",
      hint: `Ask who has it. A token gets it with: dure token create <name> --roles ${role}. You may reject.`,
      details: { role },
    });
  }
  if (outcome === "person") {
    throw new DureError(
      "APPROVAL_PERSON_UNKNOWN",
      `Two people approve ${id}, and it is not known who says this yes.`,
      {
        class: "forbidden",
        hint: "Answer with a token of your own: on the page, or with the CLI.",
      },
    );
  }
  if (outcome === "given") {
    throw new DureError(
      "APPROVAL_GIVEN",
      `Your yes to ${id} is kept; another person's is needed.`,
      {
        class: "conflict",
        hint: "Two tokens of one name are one person. Reject it to take your yes back.",
      },
    );
  }
}

function closedBefore(id: string, status: "resolved" | "dismissed"): DureError {
  return new DureError("ESCALATION_CLOSED", `The escalation ${id} is ${status} already.`, {
    class: "conflict",
    hint: "Nothing was changed; look at its resolution.",
  });
}

/** Microseconds since the epoch, id. */
const CURSOR = /^(\d{1,18})[/.](\w{1,100})$/;

interface EscalationRow {
  readonly id: string;
  readonly tenant: string;
  readonly type: EscalationType;
  readonly severity: EscalationSeverity;
  readonly status: EscalationStatus;
  readonly run: string | null;
  readonly port: string | null;
  readonly job: string | null;
  readonly room: string | null;
  readonly session_id: string | null;
  readonly turn_id: string | null;
  readonly service: string | null;
  readonly title: string;
  readonly description: string;
  readonly context: Readonly<Record<string, unknown>>;
  readonly actions: Escalation["suggestedActions"];
  readonly resolution: Escalation["resolution"];
  readonly resolved_by: string | null;
  readonly person: string | null;
  readonly resolved_at: Date | null;
  readonly created_at: Date;
  readonly created_us: string;
  readonly expires_at: Date | null;
  readonly step: EscalationStep;
  readonly next_step_at: Date | null;
  /** Open but expired: it can no longer be decided. */
  readonly is_late: boolean;
}

function actionsOf({ type, actions }: EscalationRow): Escalation["suggestedActions"] {
  return type === "job_abandoned" ? actions.map(codedJobAction) : actions;
}

/** Answers about an abandoned job are written by the database, without codes. Pure. */
function codedJobAction(action: SuggestedAction): SuggestedAction {
  return { ...action, code: JOB_ACTION_CODES[action.value] };
}

const JOB_ACTION_CODES: Readonly<Record<string, string>> = { retry: "try-again", leave: "leave" };

function escalationOf(row: EscalationRow, locale: Locale): Escalation {
  const { run, port, job, room, session_id: session, turn_id: turn, service } = row;
  const source = Object.fromEntries(
    Object.entries({ run, port, job, room, session, turn, service }).filter(
      ([, id]) => id !== null,
    ),
  ) as EscalationSource;

  return {
    id: row.id,
    source,
    type: row.type,
    severity: row.severity,
    title: row.title,
    description: row.description,
    context: withoutTerms(row.context),
    approval: approvalOf(row),
    suggestedActions: actionsOf(row).map((action) => inLocale(action, locale)),
    status: row.is_late ? "dismissed" : row.status,
    resolution: row.is_late ? { value: "time" } : row.resolution,
    resolvedBy: row.is_late ? "system" : row.resolved_by,
    resolvedByPerson: row.is_late ? null : row.person,
    resolvedAt: (row.is_late ? row.expires_at : row.resolved_at)?.getTime() ?? null,
    createdAt: row.created_at.getTime(),
    expiresAt: row.expires_at?.getTime() ?? null,
    step: row.step,
    nextStepAt: row.is_late ? null : (row.next_step_at?.getTime() ?? null),
  };
}

/** What a yes needs stands in a member of its own. Pure. */
function withoutTerms(context: EscalationRow["context"]): EscalationRow["context"] {
  const { needs: _needs, first_yes: _first, ...rest } = context;
  return rest;
}

function approvalOf({ type, context }: EscalationRow): Escalation["approval"] {
  const { needs, first_yes: first } = context as {
    readonly needs?: ApprovalNeeds;
    readonly first_yes?: FirstYes;
  };
  if (type !== "decision" || needs === undefined) return undefined;
  return {
    role: needs.role ?? null,
    two: needs.two === true,
    first: first
      ? { by: first.by, person: first.person ?? null, at: first.at, note: first.note }
      : null,
    refused: null,
  };
}

/** As `dure.hear_yes` keeps it. */
interface FirstYes {
  readonly by: string;
  readonly person?: string;
  readonly at: number;
  readonly note?: string;
}

const IS_LATE =
  "(e.status = 'open' and e.expires_at is not null and e.expires_at < clock_timestamp())";
const COLUMNS = `e.*, ${IS_LATE} as is_late, (select t.name from dure.tokens t where t.id = e.resolved_by) as person, (extract(epoch from e.created_at) * 1000000)::bigint::text as created_us`;

const RAISE = {
  name: "escalation.raise",
  text: "select id, subject, is_new from dure.raise_escalations($1)",
};
const SETTLE = {
  name: "escalation.settle",
  text: `select c.id
    from dure.escalations e
    cross join lateral dure.close_escalation(e.id, 'resolved', $2, $3) c
    where e.subject = $1 and e.status = 'open'`,
};
const ANSWER = {
  name: "escalation.answer",
  text: "select dure.answer_escalation($1, $2, $3, $4, $5, $6) as value",
};
const CLOSE = {
  name: "escalation.close",
  text: "select id from dure.close_escalation($1, $2, $3, $4)",
};
const READ = {
  name: "escalation.read",
  text: `select ${COLUMNS} from dure.escalations e where id = $1`,
};
const ONE = {
  name: "escalation.one",
  text: `
    select ${COLUMNS}
    from dure.escalations e
    where id = $1 and ($2::text is null or tenant = $2)`,
};
const LOCK = {
  name: "escalation.lock",
  text: `select ${COLUMNS}
    from dure.escalations e
    where id = $1 and ($2::text is null or tenant = $2)
    for update`,
};
const EXPIRED = {
  name: "escalation.expired",
  text: `select id
    from dure.escalations
    where status = 'open' and expires_at < clock_timestamp()
    order by expires_at
    limit $1`,
};
const TAKE_EXPIRED = {
  name: "escalation.take_expired",
  text: `select id
    from dure.escalations
    where id = $1 and status = 'open' and expires_at < clock_timestamp()
    for update skip locked`,
};
function valuesOf(filter: EscalationFilter): readonly (string | null)[] {
  const { tenant, status, severity, type, run, port, job, room, session, knownTo } = filter;
  const given = [status, severity, type, run, port, job, room, session];
  return [tenant, ...given, knownTo?.tenant, knownTo?.person].map((value) => value ?? null);
}

/** What a filter lets through; `$1` to `$11`. */
const MATCHES = `(
      $1::text is null
      or tenant = $1
    )
    and (
      $2::text is null
      or case
        when ${IS_LATE} then 'dismissed'
        else status
      end = $2
    )
    and (
      $3::text is null
      or severity = $3
    )
    and (
      $4::text is null
      or type = $4
    )
    and (
      $5::text is null
      or run = $5
    )
    and (
      $6::text is null
      or port = $6
    )
    and (
      $7::text is null
      or job = $7
      or starts_with(session_id, 'job:' || $7 || ':')
    )
    and (
      $8::text is null
      or room = $8
    )
    and (
      session_id = $9::text
      or ($9 is null and (status <> 'open' or context->>'by' is distinct from 'person'))
    )
    and (
      $10::text is null
      or (
        dure.may_know_place(room, $10, $11::text)
        and dure.may_know_session(session_id, $10, $11)
        and dure.may_know_job(job, $10, $11)
      )
    )`;
const LIST = {
  name: "escalation.list",
  text: `
    select ${COLUMNS}
    from dure.escalations e
    where ${MATCHES}
    and (
      $12::bigint is null
      or (created_at, id) < (
        to_timestamp(0) + $12::bigint * interval '1 microsecond',
        $13::text
      )
    )
    order by created_at desc, id desc
    limit $14`,
};
const COUNT = {
  name: "escalation.count",
  text: `
    select severity, count(*)::integer as count
    from dure.escalations e
    where ${MATCHES}
    group by severity`,
};
