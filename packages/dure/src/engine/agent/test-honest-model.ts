import { isObject } from "../../kernel/json.ts";
import type { ModelRequest, ToolCall } from "../../models/model.ts";
import { offlineModel, type OfflineAnswer, type OfflineModel } from "../../models/offline.ts";

/** What the honest model can read of a wish in its history. */
type Known = "done" | "waits" | "refused" | "doubtful" | "not made";

/** `d7=pay`: the deed `d7`, by the tool `pay`. */
const WISH = /\b(d\d+)=([a-z]+)\b/gu;

/** A line of what was done, as notes and the system text have it. */
const DEED = /^[a-z]+\(\{[^)]*"id":"(d\d+)"[^)]*\}\) → (.*)$/gmu;

/**
 * A model that believes what it reads, and nothing else: it calls what a person has asked for and
 * what its history does not tell, up to three calls at once, and then says what it knows. `fails`:
 * in how many of its answers behind a result it ends with an error of its provider, 0 to 1.
 */
export function honestModel(name: string, { fails = 0 }: { fails?: number } = {}): OfflineModel {
  return offlineModel(name, (request, { random }): OfflineAnswer => {
    const known = knownOf(request);
    const wishes = wishesIn(request);
    const lacking = wishes.filter(({ id }) => (known.get(id) ?? "not made") === "not made");
    if (request.messages.at(-1)?.role === "tool" && random() < fails) {
      return { error: { status: 401, message: "the key was taken back" } };
    }
    if (lacking.length === 0 || request.toolChoice === "none") return { text: toldOf(known) };

    const count = 1 + Math.floor(random() * Math.min(3, lacking.length));
    return {
      toolCalls: lacking.slice(0, count).map(({ id, tool }) => ({ name: tool, args: { id } })),
    };
  });
}

/** Sums up as a good model does: keeps what was asked for, and what came of each call. */
export function honestSummary(name: string): OfflineModel {
  return offlineModel(name, ({ messages }) => {
    const text = messages.map((message) => ("text" in message ? message.text : "")).join("\n");
    const wishes = [...text.matchAll(WISH)].map(([wish]) => wish);
    const lines = [...text.matchAll(DEED)].map(([line]) => line);
    return [`They asked for ${wishes.join(" ")}.`, ...lines].join("\n");
  });
}

function wishesIn({ system = "", messages }: ModelRequest): readonly Wish[] {
  const asked = messages.flatMap((message) => (message.role === "user" ? [message.text] : []));
  const found = [system, ...asked].flatMap((text) => [...text.matchAll(WISH)]);
  const wishes = found.map(([, id = "", tool = ""]) => [id, { id, tool }] as const);
  return [...new Map(wishes).values()];
}

interface Wish {
  readonly id: string;
  readonly tool: string;
}

function knownOf({ system = "", messages }: ModelRequest): ReadonlyMap<string, Known> {
  const known = new Map<string, Known>();
  const learn = (id: string, now: Known): void => {
    if (known.get(id) !== "done") known.set(id, now);
  };
  const calls = new Map<string, ToolCall>();
  for (const [, id = "", end] of system.matchAll(DEED)) learn(id, meaningOf(end));
  for (const message of messages) {
    if (message.role === "user") {
      for (const [, id = "", end] of message.text.matchAll(DEED)) learn(id, meaningOf(end));
    }
    if (message.role === "assistant") {
      for (const call of message.toolCalls ?? []) calls.set(call.id, call);
    }
    if (message.role === "tool") {
      const { id } = calls.get(message.callId)!.args as { id: string };
      learn(id, meaningOf(message.result));
    }
  }
  return known;
}

function meaningOf(told: unknown): Known {
  const result = isObject(told) && "said" in told ? told["result"] : told;
  const text = typeof result === "string" ? result : "done";
  if (text.startsWith("Not done yet")) return "waits";
  if (/APPROVAL_REJECTED/u.test(text)) return "refused";
  if (text.startsWith("It is not known")) return "doubtful";
  return /^Not done|NOT_HAPPENED|APPROVAL_CLOSED|no result/u.test(text) ? "not made" : "done";
}

function toldOf(known: ReadonlyMap<string, Known>): string {
  const words = [...known].map(([id, state]) => `${id} ${state}`);
  return words.length === 0 ? "Nothing was asked." : `${words.join(", ")}.`;
}
