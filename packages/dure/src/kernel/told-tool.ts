import { isObject, type Json } from "./json.ts";
import { isSecretKey, SECRET_VALUE } from "./secret-keys.ts";
import type { TurnEvent } from "./turn-events.ts";

/** Bytes of UTF-8 of arguments and of a result that a turn's stream tells. Source: docs/spec/conversation §6. */
const MOST_BYTES = 4_096;
/** Levels of a value that are looked through for secrets; what is deeper is not told. */
const MOST_DEPTH = 20;

/**
 * Arguments or a result as the stream tells them: without secrets, and of a long one its beginning
 * as text. Pure.
 */
export function toldValue(value: Json, most = MOST_BYTES): Json {
  const open = withoutSecrets(value, 0);
  if (typeof open === "string") return toldText(open, most);

  const text = JSON.stringify(open);
  return new TextEncoder().encode(text).length <= most ? open : toldText(text, most);
}

/** A text as the stream tells it: of a long one its beginning. Pure. */
export function toldText(text: string, most = MOST_BYTES): string {
  const bytes = new TextEncoder().encode(text);
  if (bytes.length <= most) return text;

  const beginning = new TextDecoder().decode(bytes.subarray(0, most)).replace(/\uFFFD+$/u, "");
  return `${beginning}\n[cut: the first ${most} of ${bytes.length} bytes]`;
}

function withoutSecrets(value: Json, depth: number): Json {
  if (typeof value !== "object" || value === null) return value;
  if (depth >= MOST_DEPTH) return "…";
  if (Array.isArray(value)) return value.map((one) => withoutSecrets(one as Json, depth + 1));
  if (!isObject(value)) return value;

  const members = Object.entries(value).map(([key, member]) => [
    key,
    isSecretKey(key) ? SECRET_VALUE : withoutSecrets(member as Json, depth + 1),
  ]);
  return Object.fromEntries(members) as Json;
}

/**
 * An event as a reader may know it; undefined: not at all. Who sees all of a service sees its calls
 * whole. Others see what the service shows, by default the names. Pure.
 */
export function eventFor(
  event: TurnEvent,
  reader: { readonly seesTools: boolean },
): TurnEvent | undefined {
  if (event.type !== "TOOL_START" && event.type !== "TOOL_DONE") return event;

  const { view = "names", ...data } = event.data;
  if (reader.seesTools || view === "full") return { type: event.type, data } as TurnEvent;
  if (view === "none") return undefined;
  return namesOnly({ type: event.type, data } as ToolEvent);
}

type ToolEvent = Extract<TurnEvent, { type: "TOOL_START" | "TOOL_DONE" }>;

function namesOnly(event: ToolEvent): TurnEvent {
  if (event.type === "TOOL_START") {
    const { args: _args, ...data } = event.data;
    return { type: event.type, data };
  }
  const { result: _result, error, ...data } = event.data;
  const code = error && { code: error.code };
  return { type: event.type, data: code ? { ...data, error: code } : data };
}
