import {
  ESCALATION_SEVERITIES,
  isObject,
  type Escalation,
  type EscalationSeverity,
  type JsonObject,
} from "dure/client";

/** What the inbox shows below one heading. */
export interface InboxGroup {
  readonly severity: EscalationSeverity;
  readonly items: readonly Escalation[];
}

/**
 * What waits, the gravest first, of these what the reader may approve, and then the longest waiting. Groups that are empty are left
 * out. `held`, by id: a person is at it, or writes an answer to it, so it stays in the group that
 * it was in, however severe it has become. Pure.
 */
export function groupsOf(
  all: readonly Escalation[],
  held: ReadonlyMap<string, EscalationSeverity> = new Map(),
): readonly InboxGroup[] {
  const open = all
    .filter(({ status }) => status === "open")
    .toSorted((a, b) => isRefused(a) - isRefused(b) || a.createdAt - b.createdAt);
  return ESCALATION_SEVERITIES.toReversed()
    .map((severity) => ({
      severity,
      items: open.filter((one) => (held.get(one.id) ?? one.severity) === severity),
    }))
    .filter(({ items }) => items.length > 0);
}

/** What the reader cannot approve stands behind the rest. Pure. */
function isRefused({ approval }: Escalation): 0 | 1 {
  return approval?.refused ? 1 : 0;
}

/** What is closed, newest first. Pure. */
export function closedOf(all: readonly Escalation[]): readonly Escalation[] {
  return all
    .filter(({ status }) => status !== "open")
    .toSorted((a, b) => (b.resolvedAt ?? 0) - (a.resolvedAt ?? 0));
}

/**
 * What it is about, in the words of its raiser: a call's arguments stand for themselves;
 * keys of ledgers, ids that the links lead to, the trigger that its type says, and who is asked stay
 * out. Pure.
 */
export function aboutOf({
  context,
  source,
  resolution,
}: Pick<Escalation, "context" | "source"> & Partial<Pick<Escalation, "resolution">>): JsonObject {
  const linked = new Set<unknown>(Object.values(source));
  const { input, standing, key: _key, trigger: _trigger, by: _by, ...rest } = context as JsonObject;
  // What an answer could have covered is of no interest once it was another one.
  const isStanding = !resolution || resolution.value === "approve_session";
  const all = isStanding && standing !== undefined ? { ...rest, standing } : rest;
  const about = Object.fromEntries(Object.entries(all).filter(([, value]) => !linked.has(value)));
  if (input === undefined) return about;

  return isObject(input) ? { ...about, ...input } : { ...about, input };
}

export type SourceLink = { readonly kind: "run" | "job" | "room" | "session"; readonly id: string };

/**
 * Where it can be looked at. A session of a job is seen as the job, one of a room as the room.
 * Pure.
 */
export function linksOf({ run, job, room, session }: Escalation["source"]): readonly SourceLink[] {
  const links: SourceLink[] = [];
  const ofJob = job ?? /^job:([^:]+):/.exec(session ?? "")?.[1];
  const ofRoom = room ?? /^room:[^:]+:(.+?)(?:@@[0-9a-f]{16})?$/.exec(session ?? "")?.[1];
  if (run !== undefined) links.push({ kind: "run", id: run });
  if (ofJob !== undefined) links.push({ kind: "job", id: ofJob });
  if (ofRoom !== undefined) links.push({ kind: "room", id: ofRoom });
  if (session !== undefined && links.length === 0) links.push({ kind: "session", id: session });

  return links;
}

/** The agent that it is about, where its source or its context names one. Pure. */
export function agentOf({
  source,
  context,
}: Pick<Escalation, "source" | "context">): string | undefined {
  const { session = "" } = source;
  const speaker = /^room:([^:]+):|^job:[^:]+:([^:]+)$/.exec(session);
  const named = (context as JsonObject)["agent"];

  return speaker?.[1] ?? speaker?.[2] ?? (typeof named === "string" ? named : undefined);
}
