import type { PlatformEvent } from "dure/client";
import type { EventNames } from "./names.ts";

/** Kinds of events, each with the types that the server is asked for. */
export const KINDS = {
  turns: ["turn.*"],
  rooms: ["room.*", "agent.*", "account.*", "collaborate.*"],
  jobs: ["job.*", "jobs.*"],
  plans: ["session.*", "run.*", "port.*", "worker.*", "merge.*", "direct.*"],
  escalations: ["escalation.*"],
  system: ["process.*", "outbox.*", "hook.*"],
} as const;
export type FacetKind = keyof typeof KINDS;

/** How far back one looks, milliseconds. */
export const SPANS = {
  minutes: 10 * 60_000,
  hour: 60 * 60_000,
  day: 24 * 60 * 60_000,
} as const;
export type TimeSpan = keyof typeof SPANS;

/** What a reader has chosen; empty is all. */
export interface Chosen {
  readonly who: string;
  readonly where: string;
  readonly since: TimeSpan | "";
}

/** Workers of a plan by their part: neither agents nor persons. */
const PARTS: ReadonlySet<unknown> = new Set(["implementer", "tester", "orchestrator", "worker"]);

/** Who has a part in an event: agents, and persons by name. Pure. */
export function partakersOf(event: PlatformEvent, names: EventNames): readonly string[] {
  const data: Readonly<Record<string, unknown>> = event.data ?? {};
  const agents = [event.agent, data["requester"], data["target"], data["from"], data["to"]];
  const isPerson = data["author_kind"] === "person";
  const persons = [data["by"], isPerson ? data["author"] : undefined];
  const speaker = data["author_kind"] === "agent" ? data["author"] : data["speaker"];

  const isOne = (id: unknown): id is string => typeof id === "string" && !PARTS.has(id);
  const found = [
    ...[...agents, speaker].map((id) => (isOne(id) ? names.agent(id) : "")),
    ...persons.map((by) => (isOne(by) ? names.actor(by) : "")),
  ];

  return [...new Set(found.filter((name) => name !== ""))];
}

/** Where something happened: a room, a plan or a service. Pure. */
export function placeOf(event: PlatformEvent, names: EventNames): string | undefined {
  if (event.room !== undefined) return names.place(event.room);
  const data: Readonly<Record<string, unknown>> = event.data ?? {};
  if (typeof data["plan"] === "string") return data["plan"];

  return event.service === undefined ? undefined : names.service(event.service);
}

/** Whether an event is among those that were chosen. Pure. */
export function isChosen(
  event: PlatformEvent,
  { who, where, since }: Chosen,
  { names, now }: { readonly names: EventNames; readonly now: number },
): boolean {
  if (since !== "" && now - event.at > SPANS[since]) return false;
  if (where !== "" && placeOf(event, names) !== where) return false;

  return who === "" || partakersOf(event, names).includes(who);
}
