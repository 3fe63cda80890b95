import type { Done, Trace } from "../kernel/turn-events.ts";
import type { EventRole } from "../kernel/platform-events.ts";
import type { JsonObject } from "../kernel/json.ts";

/** What `/v1` gives and takes, in TypeScript's spelling. Source: docs/spec/conversation §6. */
export interface MessageRequest {
  /** 1–200 characters of `[A-Za-z0-9._:@-]`. */
  readonly sessionId: string;
  /** At most 64 KiB. */
  readonly message: string;
  readonly service?: string | undefined;
  /** Edits of the slot card; their keys are the service's and are sent as they are. */
  readonly slots?: JsonObject | undefined;
  /** `uiHint.confirmId` of the `DONE` that asked: confirms what was shown and nothing else. */
  readonly confirmId?: string | undefined;
  readonly locale?: string | undefined;
  readonly timeZone?: string | undefined;
}

export interface SessionSummary {
  readonly sessionId: string;
  readonly service: string;
  /** Words, never an id. */
  readonly title: string;
  readonly updatedAt: string | number;
  readonly runningTurn?: { readonly turnId: string } | null;
}

export interface Page<Item> {
  readonly items: readonly Item[];
  /** Give it back as `cursor`; null on the last page. */
  readonly nextCursor: string | null;
}

export interface HistoryEntry {
  readonly role: "user" | "assistant" | "system";
  readonly content: string;
  readonly at: string | number;
  readonly turnId?: string;
  /** The `DONE` that ended the turn, on its answer. */
  readonly done?: Done;
  /**
   * Who began the turn; `system` for an answered approval or a settled effect. Absent means a
   * person.
   */
  readonly author?: "person" | "system";
  /** The turn was stopped here: the text is what had been shown. */
  readonly interrupted?: boolean;
}

/** An entry of the finished flows; what else it holds belongs to the service. */
export type CompletedEntry = Readonly<Record<string, unknown>>;

export interface Session {
  readonly sessionId: string;
  readonly service: string;
  readonly services: readonly string[];
  readonly locale: string;
  readonly timeZone: string;
  readonly state: JsonObject;
  /** Null for a service without stages. */
  readonly stage?: string | null;
  readonly runningTurn: { readonly turnId: string } | null;
  readonly history: readonly HistoryEntry[];
  readonly completed: readonly CompletedEntry[];
  readonly trace?: Trace;
}

export interface SessionDebug {
  readonly state: JsonObject;
  readonly memory: {
    readonly rawHistory: readonly { readonly role: string; readonly content: string }[];
    readonly summaryText: string;
  };
  readonly completed: readonly CompletedEntry[];
}

export interface StageMachine {
  readonly initial: string;
  readonly terminal: readonly string[];
  /** `[from, to]`; every other change is refused. */
  readonly transitions: readonly (readonly [string, string])[];
}

export interface SlotInfo {
  readonly name: string;
  readonly label: string;
  readonly required: boolean;
  readonly type: string;
}

export interface ServiceInfo {
  readonly name: string;
  readonly title?: string;
  readonly description?: string;
  /** Messages that a newcomer can send as they are. */
  readonly examples?: readonly string[];
  readonly flows: readonly string[];
  readonly stages?: StageMachine;
  readonly slots?: readonly SlotInfo[];
  readonly default: boolean;
}

export interface Me {
  /** `open`: no token is needed, dure listens on this machine alone. */
  /** `open`: without credentials, as the user who runs the server. */
  readonly auth: "open" | "token";
  /** Who needs credentials there, and why. */
  readonly access: { readonly mode: "same-user" | "credentials"; readonly because: string };
  readonly scopes: readonly string[];
  /** Name of the person whose token it is, as rooms call them; null without a login. */
  readonly person: string | null;
  readonly devMode: boolean;
  readonly locale: string;
}

/** What model calls have used. */
export interface CostSum {
  readonly calls: number;
  readonly tokensIn: number;
  readonly tokensOut: number;
  /** Millionths of a US dollar. */
  readonly microUsd: number;
  /** Calls of models without a price; what they have cost is not counted. */
  readonly unpriced: number;
}

/** The same of one day (`2026-11-22`), agent or service. */
export interface NamedCost extends CostSum {
  readonly id: string;
  readonly name: string;
}

export interface CostBudget {
  readonly of: "team" | "agent" | "session" | "turn";
  readonly per: "day" | "session" | "turn";
  readonly agent: string | null;
  readonly name: string | null;
  readonly unit: "tokens" | "micro_usd";
  readonly most: number;
  /** Today; null where each session or turn has its own. */
  readonly used: number | null;
}

export interface Costs {
  readonly since: string;
  readonly timeZone: string;
  readonly total: CostSum;
  /** The newest first; days without a call are left out. */
  readonly byDay: readonly NamedCost[];
  /** What has cost most first. */
  readonly byAgent: readonly NamedCost[];
  readonly byService: readonly NamedCost[];
  readonly budgets: readonly CostBudget[];
}

/** Who did what to what, and how it ended. */
export interface AuditEntry {
  readonly id: number;
  /** Milliseconds since the epoch. */
  readonly at: number;
  readonly tenant: string;
  /** Id of the token, `cli:<user>` or `agent:<id>`; an address on a server without tokens. */
  readonly name: string;
  /** For whom the token was made. */
  readonly person: string | null;
  /** Such as `job.cancel`. */
  readonly what: string;
  /** Id of what it was done to. */
  readonly subject: string;
  /** `done`, or the code of the refusal; null: begun, and its end is unknown. */
  readonly outcome: string | null;
}

export interface AuditFilter {
  /** One deed, or all of a kind: `job.*`. */
  readonly what?: string | undefined;
  /** As it stands in the log, or the name that a token was made for. */
  readonly name?: string | undefined;
  readonly subject?: string | undefined;
  /** Stands in one of them, whatever the case. */
  readonly search?: string | undefined;
  /** 1 to 200. Default 50. */
  readonly limit?: number | undefined;
  readonly cursor?: string | undefined;
}

export interface EventsFilter {
  /** Exact types, or prefixes such as `turn.*`. */
  readonly types?: readonly string[] | undefined;
  readonly session?: string | undefined;
  readonly run?: string | undefined;
  readonly room?: string | undefined;
  readonly job?: string | undefined;
  readonly role?: EventRole | undefined;
}
