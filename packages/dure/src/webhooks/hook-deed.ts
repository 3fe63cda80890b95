import { createHash } from "node:crypto";
import type { Scope } from "../kernel/access.ts";
import { cutBytes } from "../kernel/cut-bytes.ts";
import { isObject } from "../kernel/json.ts";

/** What a delivery does, as the configuration says. */
export type HookDeed =
  | {
      readonly kind: "message";
      /** Id of a room of the web. */
      readonly room: string;
      readonly text: string | undefined;
    }
  | {
      readonly kind: "job";
      readonly agent: string;
      readonly target: string;
      readonly text: string | undefined;
    }
  | { readonly kind: "plan"; readonly plan: string };

/** One request to the server itself. */
export interface DeedRequest {
  readonly path: string;
  readonly body: object;
}

/** What each kind of deed needs, and nothing more. */
export const SCOPE_OF_DEED = {
  message: "rooms",
  job: "jobs",
  plan: "plans:run",
} as const satisfies Record<HookDeed["kind"], Scope>;

/** `{{commit.author}}` in a text. */
const QUOTED = /\{\{\s*([^{}]{1,200}?)\s*\}\}/g;

/** Bytes of one value of a delivery in a text, and of a whole delivery. */
const MAX_VALUE = 500;
const MAX_PAYLOAD = 8_192;

/** The request that a delivery becomes. Pure. @param key The same for the same delivery. */
export function deedRequest(deed: HookDeed, key: string, payload: unknown): DeedRequest {
  if (deed.kind === "plan") return { path: "/v1/runs", body: { plan: deed.plan } };

  const text = textOf(deed.text, payload);
  if (deed.kind === "job") {
    const { agent, target } = deed;
    return { path: "/v1/jobs", body: { agent, target, message: text, wait_sec: 0 } };
  }
  const place = encodeURIComponent(deed.room);
  const path = `/v1/rooms/${place}/messages`;

  return { path, body: { text, client_id: key } };
}

/**
 * A value that the text names and that no body of this kind can have: a list has only positions,
 * and a text or a number has nothing. What an object may lack is a dash in the text. Pure.
 */
export function fieldOutOfReach(deed: HookDeed, payload: unknown): string | undefined {
  if (deed.kind === "plan" || isObject(payload)) return undefined;

  const named = [...(deed.text ?? "").matchAll(QUOTED)].map(([, path]) => path!);
  return named.find((path) => !Array.isArray(payload) || !/^\d+(\.|$)/.test(path));
}

/** The name of a delivery for what is once: short, and of characters that every key may have. */
export function deliveryKey(id: string): string {
  return createHash("sha256").update(id).digest("hex");
}

/** `{{commit.author}}` is a value of the delivery; without a text it is told whole. */
function textOf(template: string | undefined, payload: unknown): string {
  if (template === undefined) return cutBytes(JSON.stringify(payload, null, 2), MAX_PAYLOAD);

  return template.replaceAll(QUOTED, (_, path: string) =>
    shownValue(valueAt(payload, path.split("."))),
  );
}

function valueAt(value: unknown, path: readonly string[]): unknown {
  return path.reduce<unknown>((inner, name) => {
    if (Array.isArray(inner)) return inner[Number(name)];
    return isObject(inner) && Object.hasOwn(inner, name) ? inner[name] : undefined;
  }, value);
}

/** On one line: a value cannot look like words of the template. */
function shownValue(value: unknown): string {
  if (value === undefined || value === null) return "–";
  const text = typeof value === "string" ? value : JSON.stringify(value);

  return cutBytes(text.replaceAll(/\s+/g, " ").trim(), MAX_VALUE);
}
