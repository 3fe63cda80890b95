/** Whom a message is for: by its words, and by what it goes on with. */

import type { Queryable } from "../../durable/database.ts";
import { closest } from "../../kernel/closest.ts";
import type { Directory } from "../directory.ts";
import type { GatherRule } from "../limits.ts";
import type { ContinuedMessage, HeardPlace, Place } from "../place.ts";
import { calledFirst, findMentions, isCalled, type MentionDirectory } from "./mentions.ts";

/**
 * Its author, if an agent, and the agents that it names; where there are none, those that answered it,
 * if its own author goes on. Pure. Source: docs/spec/collaboration §2.
 */
function agentsOf(message: ContinuedMessage, speaker: string): readonly string[] {
  const { authorKind, author, mentions, roles, mark } = message;
  if (mark === "sink") return [];
  const spoken = authorKind === "agent" ? [author, ...mentions] : mentions;
  if (spoken.length > 0 || author !== speaker) return [...new Set(spoken)];
  return Object.keys(roles).filter((agent) => roles[agent]?.role === "HANDLER");
}

/** Whom a message is for. */
export interface Addressed {
  /** Agents, in the order in which they are named. */
  readonly mentions: readonly string[];
  /** A person speaks to another person. */
  readonly toPerson: boolean;
}

/** A message as far as it says whom it is for. */
interface SaidWords {
  readonly text: string;
  readonly author: string;
  readonly authorKind: ContinuedMessage["authorKind"];
  readonly replied?: ContinuedMessage | undefined;
  /** Agents whose message is answered, where dure has no record of that message. */
  readonly repliedTo?: readonly string[] | undefined;
}

/**
 * The agents that the text names or calls, then those that it answers; else the agents that its person
 * was speaking to a moment ago. The same on every platform. Source: docs/spec/collaboration §2.
 */
export async function addressedBy(
  tx: Queryable,
  place: Pick<HeardPlace, "id" | "parent" | "kind" | "before">,
  words: SaidWords,
  { names, gather }: { readonly names: MentionDirectory; readonly gather: GatherRule },
): Promise<Addressed> {
  const { text, author, authorKind, replied, repliedTo = [] } = words;
  const named = namedIn(text, names);
  const isPerson = authorKind === "person" && place.kind !== "direct";
  const isUnnamed = named.length === 0 && isPerson;
  if (isUnnamed && (await callsPerson(tx, place, words, names))) return TO_PERSON;
  if (replied !== undefined && replied.authorKind !== "agent") {
    if (named.length > 0) return { mentions: named, toPerson: false };
    if (isTo(replied, author) || wasToPerson(replied)) return TO_PERSON;
  }
  const answered = replied ? agentsOfReply(replied, author) : repliedTo;
  const mentions = [...new Set([...named, ...answered])];
  const isAlone = mentions.length > 0 || !isPerson || gather.policy === "queue";
  return isAlone ? { mentions, toPerson: false } : goesOn(place, gather.mostMs);
}

const TO_PERSON: Addressed = { mentions: [], toPerson: true };

function namedIn(text: string, names: MentionDirectory): readonly string[] {
  const found = findMentions(text, names).agents;
  const called = found.length === 0 ? calledFirst(text, names) : undefined;
  return called === undefined ? found : [called];
}

/** The author of an agent's message; of a message of one's own those that it was for. Pure. */
function agentsOfReply(replied: ContinuedMessage, speaker: string): readonly string[] {
  return replied.authorKind === "agent" ? [replied.author] : agentsOf(replied, speaker);
}

function isTo({ authorKind, author }: ContinuedMessage, speaker: string): boolean {
  return authorKind !== "agent" && author !== speaker;
}

function wasToPerson({ roles }: Pick<ContinuedMessage, "roles">): boolean {
  return Object.values(roles).some(({ because }) => because === "to-a-person");
}

/** What a message goes on with that its person wrote just before, while that has no answer yet. Pure. */
function goesOn({ before }: Pick<HeardPlace, "before">, mostMs: number): Addressed {
  if (!before) return { mentions: [], toPerson: false };
  if (wasToPerson(before) && before.ageMs <= mostMs) return TO_PERSON;
  return { mentions: before.isOpen ? before.mentions : [], toPerson: false };
}

/**
 * Whether words begin by calling another person: by the platform's mention, by `@` and a name that is
 * no agent's, or by the bare name of a person who speaks there. A name that differs from an agent's in
 * one letter is mistyped, unless a person there has it: silence is worse than an answer.
 */
async function callsPerson(
  tx: Queryable,
  { id, parent }: Pick<Place, "id" | "parent">,
  { text, author }: SaidWords,
  names: MentionDirectory,
): Promise<boolean> {
  const begun = text.trimStart();
  if (/^<@!?[\w.-]+>/u.test(begun)) return true;
  const [, name] = /^[@＠]([\p{L}\p{N}][\p{L}\p{N}._-]*)/u.exec(begun) ?? [];
  const isPolite = CALLS_POLITELY.test(begun);
  if (EVERYONE.test(name ?? begun)) return false;
  if (isPolite || (name !== undefined && !isMistyped(name, names))) return true;
  if (name === undefined && !CALLS_BY_NAME.test(begun)) return false;
  const people = await tx.query<{ name: string }>(PEOPLE, [id, parent ?? id, author]);
  if (name !== undefined) return people.some((one) => name.startsWith(one.name));
  return people.some((one) => begun.startsWith(one.name) && isCalled(begun.slice(one.name.length)));
}

/**
 * Whether an agent was meant. Of a Korean syllable each letter counts: `루디` is 루다, 세영 is another name than
 * 세움. Pure.
 */
function isMistyped(name: string, { byName }: MentionDirectory): boolean {
  const agents = Array.from(byName.keys(), (one) => one.normalize("NFD"));
  const called = name.replace(/(?:아|야|님|씨)$/u, "");
  return closest(called.normalize("NFD"), agents, 1) !== undefined;
}

/** `@` and one of these is said to all. */
const EVERYONE = /^(?:(?:everyone|here|channel|all|team)(?![a-z])|모두|여러분|전체|다들|팀)/iu;
/** `정우님, …`: also of a person who has not spoken there. */
const CALLS_POLITELY = /^\p{Script=Hangul}{2,6}(?:님|씨)[,，]/u;
/** A first word that may be the name of a person who is called. */
const CALLS_BY_NAME = /^\S{1,60}?(?:[,，:：]|(?:아|야|님|씨)(?=[\s,，:：!?~.…]|$))/u;

/**
 * The place with the agents that a message there may be for. In a thread without participants these are
 * the agents of the message above it, which take part from now on (`joins`).
 */
export async function takingPart(
  tx: Queryable,
  found: HeardPlace,
  { author, authorKind }: Pick<SaidWords, "author" | "authorKind">,
  given: Addressed & {
    readonly directory: Directory;
    /** The message is stored already: who takes part is recorded. */
    readonly known: object | undefined;
  },
): Promise<{ readonly place: HeardPlace; readonly joins: readonly string[] }> {
  const { mentions, toPerson, directory, known } = given;
  if (!known && found.participants.length === 0) {
    const above = agentsAbove(found, author);
    const joins = above.filter((agent) => directory.account(found.adapter, agent) !== undefined);
    return { place: joins.length > 0 ? { ...found, participants: joins } : found, joins };
  }
  const isFree = mentions.length === 0 && !toPerson && authorKind === "person";
  const aside = isFree ? await agentsOfAsker(tx, found, author) : [];
  const participants = found.participants.filter((agent) => !aside.includes(agent));
  return { place: { ...found, participants }, joins: [] };
}

/**
 * The agents of the message below which a thread stands, without those that have left the thread. Pure.
 */
function agentsAbove({ above, departed }: HeardPlace, speaker: string): readonly string[] {
  const agents = above ? agentsOf(above, speaker) : [];
  return agents.filter((agent) => !departed.includes(agent));
}

/**
 * Agents of a thread that are there for one person: they answered that person's question above it, which
 * names no agent, and nothing in the thread names them. What others say there is not for them.
 */
async function agentsOfAsker(
  tx: Queryable,
  { id, participants, above }: HeardPlace,
  speaker: string,
): Promise<readonly string[]> {
  if (participants.length === 0) return [];
  if (above?.authorKind !== "person" || above.author === speaker) return [];
  if (above.mentions.length > 0) return [];
  const asked = agentsOf(above, above.author);
  if (asked.length === 0) return [];
  const named = await tx.query<{ agent: string }>(NAMED_IN, [id]);
  return asked.filter((agent) => !named.some((one) => one.agent === agent));
}

/** Who wrote one of the newest 200 messages of the place, and of the channel of a thread. */
const PEOPLE = {
  name: "continuing.people",
  text: `
    select distinct author_name as name
    from unnest(array[$1::text, $2::text]) as at(place), lateral (
      select author_name, author, author_kind
      from dure.room_messages m
      where m.place = at.place
      order by seq desc
      limit 200
    ) newest
    where author_kind = 'person' and author <> $3`,
};
const NAMED_IN = {
  name: "continuing.named_in",
  text: `
    select distinct unnest(mentions) as agent
    from dure.room_messages
    where place = $1`,
};
