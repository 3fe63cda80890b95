/** A request for a decision. */
export interface NewEscalation {
  /** Default: a new one. */
  readonly id?: string | undefined;
  /** Default `""`: without a tenant. */
  readonly tenant?: string | undefined;
  /** The key: a subject that is open is not asked twice. See `subjectOf`. */
  readonly subject: string;
  readonly type: EscalationType;
  readonly severity: EscalationSeverity;
  readonly source?: EscalationSource | undefined;
  /** One line; cut at 300 characters. */
  readonly title: string;
  /** Cut at 8,000 characters. */
  readonly description?: string | undefined;
  readonly context?: Readonly<Record<string, unknown>> | undefined;
  /** 1 to 5. */
  readonly suggestedActions: readonly SuggestedAction[];
  /** Milliseconds until it can no longer be decided. Default: never. */
  readonly expiresMs?: number | undefined;
}

/** Members of a source, in the order in which a subject names them. */
export const SOURCE_KINDS = ["run", "port", "job", "room", "session", "turn", "service"] as const;

/** Where an escalation comes from. Every member is an id. */
export type EscalationSource = {
  readonly [Kind in (typeof SOURCE_KINDS)[number]]?: string | undefined;
};

/** One answer that makes sense. */
export interface SuggestedAction {
  /** At most 60 characters: it travels in a button of Discord, beside the escalation's id. */
  readonly value: string;
  readonly label: string;
  /** The answer as dure names it, for clients with words of their own; a tool's answer has none. */
  readonly code?: string | undefined;
  readonly style?: "primary" | "danger" | undefined;
  /**
   * What may come with this answer. `text`: a note, such as a hint for the next try or an amount.
   * `input`: other arguments for the call that it allows.
   */
  readonly asks?: "text" | "input" | undefined;
}

/**
 * The answer that allows a call and later ones like it in the conversation. People give it: an agent
 * that answers in their place allows one call at a time.
 */
export const APPROVE_SESSION = "approve_session";

/** The answers that allow a call. Who may give them, its `ApprovalNeeds` say. */
export const APPROVING: ReadonlySet<string> = new Set(["approve", APPROVE_SESSION]);

/** What a yes to a call needs beside who answers the inbox. */
export interface ApprovalNeeds {
  /** Those alone who have this role: by their token, or by their account of a platform. */
  readonly role?: string | undefined;
  /** Two people, each of whom says yes. */
  readonly two?: true | undefined;
}

/** Names of roles, as tools and tokens write them. */
export const ROLE_NAME = /^[a-z][a-z0-9-]{0,39}$/;
export const ROLE_NAME_RULE = "must be small letters, digits and hyphens, such as treasury";

/** The severities, the mildest first. */
export const ESCALATION_SEVERITIES = ["low", "medium", "high", "critical"] as const;
/** One of `ESCALATION_SEVERITIES`. */
export type EscalationSeverity = (typeof ESCALATION_SEVERITIES)[number];

/** `open` until it is decided; `dismissed`: closed by hand, or its time is over. */
export const ESCALATION_STATUSES = ["open", "resolved", "dismissed"] as const;
/** One of `ESCALATION_STATUSES`. */
export type EscalationStatus = (typeof ESCALATION_STATUSES)[number];

/** Who is asked, in this order. */
export const ESCALATION_STEPS = ["worker", "operator", "person"] as const;
/** Who is asked now: the worker, the operator or a person. */
export type EscalationStep = (typeof ESCALATION_STEPS)[number];

/** Why an escalation is at its step. Who decides: `escalations/route.ts`. */
export const ROUTE_REASONS = [
  "operator-first",
  "people-only",
  "no-operator",
  "operator-done",
  "stays",
] as const;
export type RouteReason = (typeof ROUTE_REASONS)[number];

export const ROUTE_TARGETS = ["operator", "room", "webhook", "people"] as const;
export type RouteTarget = (typeof ROUTE_TARGETS)[number];

/**
 * `decision`: an approval, bound to exact arguments. Source: docs/spec/plans §7; those in the
 * second line have come with conversations, rooms and jobs.
 */
export const ESCALATION_TYPES = [
  ...([
    "general",
    "blocked",
    "decision",
    "test_failure",
    "token_exhausted",
    "timeout",
    "conflict",
    "dependency",
    "quality",
    "ownership",
    "delivery",
    "loop",
    "effect_unknown",
  ] as const),
  ...(["turn_diverged", "agent_offline", "unanswered", "account", "job_abandoned"] as const),
] as const;
/** One of `ESCALATION_TYPES`. */
export type EscalationType = (typeof ESCALATION_TYPES)[number];

/** Characters of a note that comes with an answer. A hint is no document. */
export const MAX_NOTE = 4_000;

/** Bytes of JSON of changed arguments. People read them before they send them. */
export const MAX_INPUT = 16_384;

/**
 * Subject of an escalation that is open once per type and source:
 * `test_failure:run=run_1:port=api`.
 */
export function subjectOf(type: EscalationType, source: EscalationSource): string {
  const named = SOURCE_KINDS.flatMap((kind) =>
    source[kind] === undefined ? [] : [`${kind}=${source[kind]}`],
  );
  return [type, ...named].join(":");
}

/** How the session begins in which the operator agent is asked about an escalation. */
export const ESCALATION_SESSION = "escalation:";

/** What the operator agent is asked about in a session; undefined for every other session. Pure. */
export function escalationOfSession(session: string): string | undefined {
  if (!session.startsWith(ESCALATION_SESSION)) return undefined;
  return session.slice(ESCALATION_SESSION.length);
}

/** Characters of a title. It stands in one line of lists and buttons. */
const MAX_TITLE = 300;

/** A sentence as a title; one that is too long stands whole in the description. Pure. */
export function titled(sentence: string): Pick<NewEscalation, "title" | "description"> {
  return sentence.length <= MAX_TITLE
    ? { title: sentence }
    : { title: `${sentence.slice(0, MAX_TITLE - 1).toWellFormed()}…`, description: sentence };
}
