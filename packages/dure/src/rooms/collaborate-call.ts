import type { RoomAgent } from "./directory.ts";
import type { FileRef } from "../kernel/files.ts";
import type { CollaborateCode } from "../kernel/rooms.ts";
import type { CollaborateAnswer } from "../wire/rooms.ts";

/**
 * One agent hands work to another, where all members of the place can see it. Source:
 * docs/spec/collaboration §4.
 */
export interface CollaborateCall {
  /** Agent id, or account id. */
  readonly targetAgent: string;
  readonly message: string;
  /** Pairs have one thread per topic. Absent is a topic of its own. */
  readonly topic?: string | undefined;
  /** That thread, whatever its age. */
  readonly threadId?: string | undefined;
  /** A place id such as `web:general`, or a channel's key. */
  readonly channelId?: string | undefined;
  /** For a new thread; default: the beginning of the message. */
  readonly threadName?: string | undefined;
  readonly attachments?: readonly string[] | undefined;
  /** Names of files of the caller's session, shown with the message. Of one name the newest. */
  readonly files?: readonly string[] | undefined;
  /** From outside: the same key within 5 min gives the first result. */
  readonly idempotencyKey?: string | undefined;
}

/** Who calls, and from where. */
export interface CollaborateCaller {
  readonly agent: string;
  /** Of any kind: a room's, HTTP, CLI, a job's. */
  readonly session?: string;
  readonly turn?: string;
  readonly job?: string;
  /** Of the call itself, the same after every crash; kept as long as the turn. */
  readonly callKey?: string;
}

/** What `collaborate` gives. `queued`: the platform has it later. */
export type CollaborateResult = CollaborateAnswer;
export type Refusal = Extract<CollaborateResult, { ok: false }>;
export type Accepted = Extract<CollaborateResult, { ok: true }>;

/** A call whose words and agents are checked. */
export interface Asking {
  readonly caller: CollaborateCaller;
  readonly call: CollaborateCall;
  /** Of the caller's session. */
  readonly tenant: string;
  readonly from: RoomAgent;
  readonly target: RoomAgent;
  /** The message, checked. */
  readonly text: string;
  readonly files: readonly FileRef[];
}

export function refuse(code: CollaborateCode, message: string, hint: string): Refusal {
  return { ok: false, code, message, hint, escalated: false };
}

/** No topic is a topic of its own. */
export function topicKey(call: CollaborateCall): string {
  return (call.topic ?? "").trim().slice(0, 200);
}

export function pairOf(one: string, other: string): readonly [string, string] {
  return one < other ? [one, other] : [other, one];
}
