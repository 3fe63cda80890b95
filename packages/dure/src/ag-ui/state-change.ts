import { canonicalJson, isObject, type Json } from "../kernel/json.ts";

interface Operation {
  readonly op: "add" | "replace" | "remove";
  readonly path: string;
  readonly value?: unknown;
}

/**
 * The events that make the state out of the one that the client has sent; none where it has it
 * already. A client without one gets it whole. What was sent comes first: a server between that keeps
 * each run by itself, as CopilotKit's does, knows no other. Pure.
 */
export function stateChange(
  known: unknown,
  state: Readonly<Record<string, unknown>>,
): readonly object[] {
  const isKnown = isObject(known) && Object.keys(known).length > 0;
  if (!isKnown) return [{ type: "STATE_SNAPSHOT", snapshot: state }];

  const delta = changesOf(known, JSON.parse(JSON.stringify(state)) as Record<string, Json>, "");
  if (delta.length === 0) return [];
  return [
    { type: "STATE_SNAPSHOT", snapshot: known },
    { type: "STATE_DELTA", delta },
  ];
}

/** By member, as JSON Patch (RFC 6902) has it. A list that differs is replaced whole. Pure. */
export function changesOf(
  before: Readonly<Record<string, unknown>>,
  after: Readonly<Record<string, unknown>>,
  at: string,
): readonly Operation[] {
  const removed = Object.keys(before).filter((key) => !Object.hasOwn(after, key));
  const gone = removed.map((key): Operation => ({ op: "remove", path: pathOf(at, key) }));
  const changed = Object.entries(after).flatMap(([key, value]): readonly Operation[] => {
    const path = pathOf(at, key);
    if (!Object.hasOwn(before, key)) return [{ op: "add", path, value }];
    const earlier = before[key];
    if (isObject(earlier) && isObject(value)) return changesOf(earlier, value, path);
    if (canonicalJson(earlier) === canonicalJson(value)) return [];

    return [{ op: "replace", path, value }];
  });

  return [...gone, ...changed];
}

function pathOf(at: string, key: string): string {
  return `${at}/${key.replaceAll("~", "~0").replaceAll("/", "~1")}`;
}
