/** Who is told of a message, and whether. Pure. */

import type { AlertKind, ToldChoice } from "../kernel/alerts.ts";
import { findMentions, mentionDirectory, type MentionableAgent } from "../rooms/decide/mentions.ts";
import { maySee } from "../rooms/look/room-person.ts";
import type { Place } from "../rooms/place.ts";
import type { MessageButton } from "../rooms/room-store.ts";

/** People that one message tells at most. */
const MOST_TOLD = 50;

/** A message as far as it says for whom it waits. */
export interface AlertedMessage {
  readonly authorKind: "person" | "agent" | "foreign";
  readonly author: string;
  readonly text: string;
  readonly buttons: readonly MessageButton[] | null;
  /** Who wrote the message that it answers, if a person did. */
  readonly repliedTo: string | null;
  readonly place: Pick<Place, "adapter" | "kind" | "tenant" | "person" | "isPrivate">;
}

/** Of rooms: an escalation is told by who decides. */
export type MessageAlertKind = Exclude<AlertKind, "escalation">;

/**
 * People for whom a message waits, each once, by the strongest reason: a question to them, an answer
 * of an agent to their message, their name. Not the author, and only those who may read the place.
 * `agents`: a name that is an agent's is no person's. Source: docs/spec/collaboration §12.
 */
export function decideAlerts(
  message: AlertedMessage,
  people: readonly string[],
  agents: readonly MentionableAgent[],
): ReadonlyMap<string, MessageAlertKind> {
  const { authorKind, author, place } = message;
  const found = new Map<string, MessageAlertKind>();
  const add = (person: string | null | undefined, kind: MessageAlertKind): void => {
    if (person === null || person === undefined || found.has(person)) return;
    if (authorKind === "person" && author === person) return;
    if (found.size < MOST_TOLD && mayRead(message, person)) found.set(person, kind);
  };

  for (const button of message.buttons ?? []) add(button.for, "question");
  if (authorKind === "agent") add(message.repliedTo, "answer");
  if (authorKind === "agent" && place.kind === "direct") add(place.person, "answer");
  for (const person of peopleNamed(message.text, people, agents)) add(person, "mention");

  return found;
}

function mayRead({ place }: AlertedMessage, person: string): boolean {
  return maySee(place as Place, { tenant: place.tenant, person });
}

/** Names are found as those of agents are: not in code, quotes and addresses. */
function peopleNamed(
  text: string,
  people: readonly string[],
  agents: readonly MentionableAgent[],
): readonly string[] {
  const isAgent = new Set(agents.map(({ agent }) => agent));
  const names = [...agents, ...people.map((person) => ({ agent: person, names: [person] }))];
  return findMentions(text, mentionDirectory(names)).agents.filter((name) => !isAgent.has(name));
}

/** A person as they are when they may be told. */
export interface AlertedPerson {
  readonly told: ToldChoice;
  /** The room, or the channel of the thread. */
  readonly isMuted: boolean;
  readonly hasRead: boolean;
  /** Told within the last hour. */
  readonly lately: number;
  /** A browser, or the webhook. */
  readonly hasWay: boolean;
}

/** Why a person is told, or is not. */
export type AlertReason = "told" | "no-way" | "unwanted" | "muted" | "read" | "many";

/** The first rule that applies wins. Source: docs/spec/collaboration §12. */
export function decideTelling(
  kind: AlertKind,
  { told, isMuted, hasRead, lately, hasWay }: AlertedPerson,
  perHour: number,
): AlertReason {
  if (!hasWay) return "no-way";
  if (told === "nothing") return "unwanted";
  if (told === "mentions-and-answers" && kind === "escalation") return "unwanted";
  if (isMuted) return "muted";
  if (hasRead) return "read";

  return lately >= perHour ? "many" : "told";
}
