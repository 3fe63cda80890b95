import { storable } from "../../durable/storable.ts";
import { DureError } from "../../kernel/errors.ts";
import { isObject } from "../../kernel/json.ts";
import type { ChannelSpeaker } from "../../kernel/plans.ts";
import type { NewPlatformEvent } from "../../wire/events.ts";
import type { ChannelMessage } from "../../wire/runs.ts";

/** Wakes processes that wait for messages of a port. */
export function channelTopic(run: string, port: string): string {
  return `plan-channel:${run}:${port}`;
}

/** Characters of a payload as JSON. A report of 100 failures fits. */
const MAX_PAYLOAD = 256_000;

/** A payload as it is stored. Throws `CHANNEL_TOO_LONG`. Pure. */
export function payloadText(payload: unknown): string {
  const text = storable(payload);
  if (text.length <= MAX_PAYLOAD) return text;
  throw new DureError(
    "CHANNEL_TOO_LONG",
    `A message of ${text.length} characters is longer than ${MAX_PAYLOAD}.`,
    { class: "input", hint: "Say less, or leave the output out." },
  );
}

/** The text of a question, an answer, or what the operator said; empty for other payloads. Pure. */
export function wordsIn(payload: unknown): string {
  return isObject(payload) && typeof payload["text"] === "string" ? payload["text"] : "";
}

/** How keys of reports begin that tools made: in a try, or in all of them. */
export function reportKeys(tryNumber?: number): string {
  return tryNumber === undefined ? "hook:" : `hook:${tryNumber}:`;
}

/** The event of a message that was stored. Pure. */
export function messageEvent(
  run: string,
  data: {
    readonly port: string;
    readonly id: number;
    readonly from: ChannelSpeaker;
    readonly to: ChannelSpeaker;
    readonly kind: ChannelMessage["type"];
  },
): NewPlatformEvent {
  return { type: "direct.message", role: "delegation", run, data };
}
