/** What the engine can be asked about turns and sessions. */

import type { Done, TurnEvent, TurnStatus } from "../kernel/turn-events.ts";
import type { JsonObject } from "../kernel/json.ts";
import type { RoomSpeaker } from "../kernel/rooms.ts";
import type { TenantView } from "../kernel/tenant.ts";
import type { CallerTools } from "./caller/caller-tools.ts";
import type { RowPage } from "../durable/page.ts";
import type {
  CompletedEntry,
  ServiceInfo,
  Session,
  SessionDebug,
  SessionSummary,
} from "../wire/turns.ts";

/** One message of a person for a service. */
export interface TurnRequest {
  /**
   * 1–200 characters of `[A-Za-z0-9._:@-]`. Source: docs/spec/conversation §6. Each tenant has its
   * own; the key `<tenant>/<id>`, as handlers and tools see it, is taken as well.
   */
  readonly session: string;
  /** At most 64 KiB of UTF-8; may be empty only when `slots` are given. */
  readonly message: string;
  /**
   * Absent means the session's service, else the engine's default. Of another process's services
   * too: that one answers.
   */
  readonly service?: string | undefined;
  /** Ids of files of the session, at most 10; then the message may be empty too. */
  readonly files?: readonly string[] | undefined;
  /** Slots edited on a card: structured, never parsed from a sentence. */
  readonly slots?: JsonObject | undefined;
  /** What the pressed button was bound to: `DONE.uiHint.confirmId`. */
  readonly confirmId?: string | undefined;
  /**
   * For a server that stands between the person and this one, and has shown the person something
   * else meanwhile: the question of this session that it showed last, or `null`. A yes counts for
   * that one alone.
   */
  readonly lastQuestion?: string | null | undefined;
  /**
   * What the agents are told before the message, as quoted data of this turn alone: it is no part
   * of the history. At most 32 KiB of UTF-8.
   */
  readonly background?: string | undefined;
  /** With results the message may be empty, and the turn goes on from the calls. */
  readonly callerTools?: CallerTools | undefined;
  /** `ko` or `en`; sticks to the session. */
  readonly locale?: string | undefined;
  /** IANA name; sticks to the session. */
  readonly timeZone?: string | undefined;
}

/** Who asks; what is once per caller is once for this name. */
export interface Caller {
  /**
   * Owner of what is created; `""` where no token says otherwise. Another owner's session is not
   * found.
   */
  readonly tenant: string;
  /** Scope of an `Idempotency-Key`: token id or address. */
  readonly name: string;
  /** Whether arguments and results of tools are shown in streams, whatever the service shows. */
  readonly seesTools?: boolean | undefined;
}

/** Who looks: a caller, or an administrator that sees all tenants (`null`). */
export type Viewer = Omit<Caller, "tenant"> & { readonly tenant: TenantView };

/** How a message is accepted; every member may be left out. */
export interface AcceptOptions {
  readonly caller?: Caller | undefined;
  /**
   * 1–255 characters; holds 24 h per caller and path. The same body gives the same turn, another
   * body throws `IDEMPOTENCY_KEY_REUSED` (422).
   */
  readonly key?: string | undefined;
  /**
   * How a request that no key finds is told from a repetition of itself: by what it says in its
   * session, or by what its caller says in sessions that it did not name. Default: by nothing.
   */
  readonly repeats?: "session" | "caller" | undefined;
  /** The path that the key belongs to; default `turn`. */
  readonly path?: string | undefined;
  /** Who speaks; default a person. `system`: dure itself, such as the result of background work. */
  readonly author?: "person" | "system" | undefined;
  /** Of a room: whose words the message is made of, where a person wrote them. */
  readonly speaker?: RoomSpeaker | undefined;
  /**
   * The id that the turn shall have, for a caller that must have written it down before
   * (`newId("turn")`). Default: a new one.
   */
  readonly turnId?: string | undefined;
  /**
   * W3C `traceparent` of the caller: the spans of the turn hang on it. What is none is passed over.
   */
  readonly traceParent?: string | undefined;
}

/** A stored turn, accepted now or (same key) before. */
export interface AcceptedTurn {
  readonly turnId: string;
  readonly sessionId: string;
  readonly status: TurnStatus;
  /** True when the key was known and this is the earlier turn. */
  readonly repeated: boolean;
}

/** What a reader of a turn's stream gets. Only stored events have a `seq`. */
export interface TurnFrame {
  readonly seq?: number | undefined;
  readonly event: TurnEvent;
}

/** An accepted turn that can be read; iterating never starts anything and leaving stops nothing. */
export interface TurnHandle extends AsyncIterable<TurnEvent> {
  readonly turnId: Promise<string>;
  /** Its session, as the caller names it. */
  readonly sessionId: Promise<string>;
  /**
   * Resolves when `DONE` is stored; also for a turn that failed. Rejects only if the turn was never
   * accepted or the reader was aborted.
   */
  readonly done: Promise<Done>;
}

/** A session with its state and its last turns: the last 100, oldest first. */
export type SessionDetail = Omit<Session, "services" | "trace">;

/** Who looks; default a caller without a tenant. */
export interface ByViewer {
  readonly caller?: Viewer | undefined;
}

export interface TurnOptions extends AcceptOptions {
  /** Ends the reading, not the turn. */
  readonly signal?: AbortSignal | undefined;
}

export interface ReadOptions extends ByViewer {
  readonly after?: number | undefined;
  readonly signal?: AbortSignal | undefined;
}

export interface ListOptions extends ByViewer {
  readonly limit?: number | undefined;
  readonly cursor?: string | undefined;
  readonly search?: string | undefined;
}

/**
 * Conversations as the server, the CLI and library users see them. Implemented by `Engine`. Errors
 * are `DureError`s: `SERVICE_UNKNOWN`, `SESSION_UNKNOWN`, `TURN_UNKNOWN` (not-found),
 * `SESSION_BUSY` (conflict, policy `reject`), `SESSION_QUEUE_FULL` (limit),
 * `IDEMPOTENCY_KEY_REUSED` (input, 422), `TURN_FINISHED` (conflict), `MESSAGE_INVALID`,
 * `SESSION_INVALID`, `EVENT_POSITION_INVALID` (input), `DATABASE_UNAVAILABLE` (unavailable).
 */
export interface Conversations {
  describe(): readonly ServiceInfo[];
  /** Stores the message; once this returns, the turn ends even if processes die. */
  accept(request: TurnRequest, options?: AcceptOptions): Promise<AcceptedTurn>;
  /** Accepts and reads in one. */
  turn(request: TurnRequest, options?: TurnOptions): TurnHandle;
  /**
   * Stored events after `after` (0 = from the start), then live ones, from any process, until
   * `DONE` was given.
   */
  read(turnId: string, options: ReadOptions): AsyncIterable<TurnFrame>;
  /** `{status, sessionId, lastSeq}` of a turn; throws `TURN_UNKNOWN`. */
  find(
    turnId: string,
    options?: ByViewer,
  ): Promise<{ status: TurnStatus; sessionId: string; lastSeq: number }>;
  /** Whether a turn has reached out of its conversation: a tool that writes, a flow, a decision. */
  hasActed(turnId: string): Promise<boolean>;
  /**
   * Resolves when the stop is stored; the turn then ends in `DONE` with `TURN_STOPPED`. Throws
   * `TURN_FINISHED` after `DONE`.
   */
  stopTurn(turnId: string, options?: ByViewer): Promise<void>;
  /**
   * Opens a turn again that ended because its model was away (`error.retry`): it goes on from its
   * journal, and what it has done is not done again. One that has no end yet stays as it is. Throws
   * `TURN_NOT_RETRYABLE`, `TURN_PASSED` (conflict).
   */
  retryTurn(turnId: string, options?: ByViewer): Promise<void>;
  sessions(options: ListOptions): Promise<RowPage<SessionSummary>>;
  session(id: string, options?: ByViewer): Promise<SessionDetail>;
  debug(id: string, options?: ByViewer): Promise<SessionDebug>;
  completed(id: string, options?: ByViewer): Promise<readonly CompletedEntry[]>;
  /**
   * Takes the question back that the session was asked, if it is still this one: the person has left
   * it, on a server that stands between. False: it was not open any more.
   */
  takeBack(id: string, question: string, options?: ByViewer): Promise<boolean>;
  /**
   * Removes the session, its memory, turns and completed entries; a running turn is stopped first.
   */
  forget(id: string, options?: ByViewer): Promise<void>;
}
