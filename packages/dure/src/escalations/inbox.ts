import { codeOf, DureError } from "../kernel/errors.ts";
import { newId } from "../kernel/ids.ts";
import type { Database } from "../durable/database.ts";
import type { Notifications } from "../durable/notify.ts";
import { storable } from "../durable/storable.ts";
import { UNATTENDED_TOPIC } from "../durable/turns.ts";

/** A recorded request for a decision: one object for the whole product. */
export interface Escalation {
  readonly id: string;
  /** `decision` (an approval, bound to exact arguments), `effect_unknown`, `turn_diverged`, and those of later capabilities. */
  readonly type: string;
  readonly severity: "info" | "warning" | "critical";
  readonly status: "open" | "answered" | "expired";
  readonly session: string | null;
  readonly turn: string | null;
  readonly service: string | null;
  readonly question: string;
  readonly context: Readonly<Record<string, unknown>>;
  readonly options: readonly { readonly value: string; readonly label: string }[];
  readonly answer: string | null;
  readonly answeredBy: string | null;
  readonly createdAt: number;
  readonly expiresAt: number | null;
  readonly answeredAt: number | null;
}

interface EscalationRow {
  readonly id: string;
  readonly type: string;
  readonly severity: Escalation["severity"];
  readonly status: Escalation["status"];
  readonly session_id: string | null;
  readonly turn_id: string | null;
  readonly service: string | null;
  readonly question: string;
  readonly context: Readonly<Record<string, unknown>>;
  readonly options: Escalation["options"];
  readonly answer: { readonly value: string } | null;
  readonly answered_by: string | null;
  readonly created_at: Date;
  readonly expires_at: Date | null;
  readonly answered_at: Date | null;
}

/** Escalations that one page holds at most. */
const PAGE_MOST = 200;

/** The one inbox. Answering closes exactly one question and, in one transaction, lets go on what waited for it. */
export class Inbox {
  readonly #database: Database;
  readonly #notifications: Notifications;

  constructor(options: { database: Database; notifications: Notifications }) {
    this.#database = options.database;
    this.#notifications = options.notifications;
  }

  /** Newest first. */
  async list(options: { tenant: string; status?: Escalation["status"]; session?: string; limit?: number }): Promise<readonly Escalation[]> {
    const rows = await this.#database.query<EscalationRow>(
      {
        text: `select *, case when status = 'open' and expires_at < clock_timestamp() then 'expired' else status end as status from dure.escalations
          where tenant = $1 and ($2::text is null or case when status = 'open' and expires_at < clock_timestamp() then 'expired' else status end = $2)
            and ($3::text is null or session_id = $3)
          order by created_at desc limit $4`,
      },
      [options.tenant, options.status ?? null, options.session ?? null, Math.min(options.limit ?? 50, PAGE_MOST)],
    );
    return rows.map(escalationOf);
  }

  /** Throws `ESCALATION_UNKNOWN`, `ESCALATION_CLOSED` (answered or expired before), `ANSWER_INVALID`. The turn is the one that goes on. */
  async answer(id: string, value: string, by: { tenant: string; name: string }): Promise<{ turn: string | null }> {
    const turn = {
      turn: newId("turn"),
      version: "",
      author: "system",
      policy: "queue",
      max_waiting: SYSTEM_WAITING_MOST,
      message: "",
      title: "",
      events: [],
    };
    let answer: { outcome: "closed" | "answered" | "expired"; turn?: string | null } | null;
    try {
      const [row] = await this.#database.query<{ value: typeof answer }>(
        { name: "answer_escalation", text: "select dure.answer_escalation($1, $2, $3, $4, $5) as value" },
        [id, by.tenant, value, by.name, storable(turn)],
      );
      answer = row!.value;
    } catch (error) {
      if (codeOf(error) !== "DU400") throw error;
      throw new DureError("ANSWER_INVALID", `"${value}" is no answer to ${id}.`, { class: "input", hint: "Answer with one of the escalation's option values." });
    }
    if (!answer) throw new DureError("ESCALATION_UNKNOWN", `There is no escalation ${id}.`, { class: "not-found", hint: "Check the id." });
    if (answer.outcome !== "closed") {
      throw new DureError("ESCALATION_CLOSED", `The escalation ${id} is ${answer.outcome} already.`, { class: "conflict", hint: "Nothing was changed; look at its answer." });
    }
    this.#notifications.publish(UNATTENDED_TOPIC);
    this.#notifications.publish("events");
    return { turn: answer.turn ?? null };
  }
}

/** Answers wait behind persons' messages, and are never refused for them. */
const SYSTEM_WAITING_MOST = 1_000;

function escalationOf(row: EscalationRow): Escalation {
  return {
    id: row.id,
    type: row.type,
    severity: row.severity,
    status: row.status,
    session: row.session_id,
    turn: row.turn_id,
    service: row.service,
    question: row.question,
    context: row.context,
    options: row.options,
    answer: row.answer?.value ?? null,
    answeredBy: row.answered_by,
    createdAt: row.created_at.getTime(),
    expiresAt: row.expires_at?.getTime() ?? null,
    answeredAt: row.answered_at?.getTime() ?? null,
  };
}
