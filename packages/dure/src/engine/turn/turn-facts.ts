import type { FileRef } from "../../kernel/files.ts";
import type { JsonObject } from "../../kernel/json.ts";
import { sessionIdOfKey } from "../../kernel/tenant.ts";
import type { ClaimedTurn } from "../../durable/turns.ts";
import type { HeardAnswers } from "./heard-answers.ts";
import type { TurnFacts } from "./turn-context.ts";

/** Characters of a session id. Source: docs/spec/conversation §6. */
const MAX_SESSION_ID = 200;

/**
 * The session's id on another server, which knows no tenants. The incarnation stands before it, so
 * that sessions of the same name of two tenants are two sessions there.
 */
function sessionElsewhere({ session, incarnation }: ClaimedTurn): string {
  const id = sessionIdOfKey(session);
  return id === session ? id : `${incarnation}.${id}`.slice(0, MAX_SESSION_ID);
}

/** What a message may carry besides its text. */
export interface StoredInput {
  readonly slots?: JsonObject;
  readonly confirm_id?: string;
  readonly last_question?: string | null;
  readonly escalation?: TurnFacts["escalation"];
  readonly background?: string;
  readonly caller_tools?: TurnFacts["callerTools"];
  readonly files?: readonly FileRef[];
  /** The session's language when the message was accepted. */
  readonly locale?: string;
}

/**
 * What a turn is about; locale and time zone fall back to those of the team. A message that was
 * accepted meanwhile in another language does not change those of this turn. Pure.
 */
export function factsOf(
  held: ClaimedTurn,
  team: { readonly locale: string; readonly timeZone: string },
  heard: HeardAnswers,
): TurnFacts {
  const input = inputOf(held);
  return {
    turnId: held.turn,
    session: held.session,
    sessionElsewhere: sessionElsewhere(held),
    // Without the tenant: keys of effects are older than tenants.
    effects: `${sessionIdOfKey(held.session)}/${held.incarnation}`,
    message: wordsOf(held),
    files: held.messages.flatMap((message) => (message.input as StoredInput).files ?? []),
    slots: input.slots,
    confirmId: input.confirm_id,
    lastQuestion: input.last_question,
    locale: input.locale ?? held.locale ?? team.locale,
    timeZone: held.time_zone ?? team.timeZone,
    author: held.author,
    sawPrevious: held.messages.every((message) => !message.queued),
    acceptedAt: Math.floor(held.messages[0]?.at ?? held.accepted_at),
    get escalation() {
      return heard.deciding;
    },
    get answers() {
      return heard.all;
    },
    background: input.background,
    callerTools: input.caller_tools,
  };
}

/** One without words carries files alone. */
function wordsOf({ messages }: ClaimedTurn): string {
  const texts = messages.map((message) => message.text);
  return (messages.length > 1 ? texts.filter(Boolean) : texts).join("\n");
}

export function inputOf(held: ClaimedTurn): StoredInput {
  return held.messages.at(-1)?.input ?? {};
}
