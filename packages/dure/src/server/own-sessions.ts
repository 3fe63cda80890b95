import { DureError } from "../kernel/errors.ts";
import { hasScope, type Principal } from "./access.ts";
import type { Scope } from "../kernel/access.ts";

interface OwnSessions {
  /** How their ids begin. */
  readonly prefix: string;
  /** Needed besides `chat` to read them and to stop their turns. */
  readonly scope: Scope;
  readonly what: string;
  readonly instead: string;
}

/**
 * Sessions that dure itself leads. What people say to these agents goes another way, with its own
 * rules and rights.
 */
const OWN_SESSIONS: readonly OwnSessions[] = [
  {
    prefix: "job:",
    scope: "jobs",
    what: "an exchange between agents",
    instead: "Speak into the job: POST /v1/jobs/{id}/speak.",
  },
  {
    prefix: "room:",
    scope: "rooms",
    what: "an agent in a room",
    instead: "Say it in the room: POST /v1/rooms/{id}/messages.",
  },
  {
    prefix: "escalation:",
    scope: "chat",
    what: "the operator's look at an escalation",
    instead: "Answer the escalation: POST /v1/escalations/{id}/answer.",
  },
];

/** Refuses to write into a session that dure leads, or to forget it. Throws `SESSION_RESERVED`. */
export function assertNotOwn(session: string): void {
  const own = ownOf(session);
  if (own === undefined) return;

  throw new DureError(
    "SESSION_RESERVED",
    `Sessions that begin with ${own.prefix} are dure's own; ${session} belongs to ${own.what}.`,
    {
      class: "forbidden",
      hint: `${own.instead} For a conversation choose another session_id.`,
    },
  );
}

/**
 * Refuses to look into a session of dure's own without the right to what it belongs to. Throws
 * `SCOPE_MISSING`.
 */
export function assertMayFollow(principal: Principal, session: string): void {
  if (mayFollow(principal, session)) return;
  const { scope, what } = ownOf(session)!;

  throw new DureError(
    "SCOPE_MISSING",
    `The session ${session} belongs to ${what}: it needs the scope ${scope} besides chat.`,
    { class: "forbidden", hint: `Use a token with the scope ${scope}.`, details: { scope } },
  );
}

/** Whether one may look into a session. Pure. */
export function mayFollow(principal: Principal, session: string): boolean {
  const own = ownOf(session);
  return hasScope(principal, "chat") && (own === undefined || hasScope(principal, own.scope));
}

function ownOf(session: string): OwnSessions | undefined {
  return OWN_SESSIONS.find(({ prefix }) => session.startsWith(prefix));
}
