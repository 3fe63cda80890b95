import type { ProviderAsked, SpokenAnswer } from "./moods.ts";
import { isWire, listOf, type Refusal, type Wire, wordOf } from "./refusal.ts";

/** A request and an answer in the words of one wire format. */
export interface WireFormat<Abilities> {
  /** What a path of this format ends with, without its query. */
  readonly path: RegExp;
  /** Why the provider would refuse a request; undefined: it is taken. */
  readonly refusal: (body: Wire, call: WireCall, abilities: Abilities) => Refusal | undefined;
  readonly asked: (body: Wire, call: WireCall) => ProviderAsked;
  /** The request in the order in which its beginning is kept; undefined: nothing of it is. */
  readonly kept: (body: Wire) => readonly KeptBlock[];
  /** Server-sent events, in order, as they stand on the wire. */
  readonly frames: (answer: SpokenAnswer, asked: ProviderAsked) => readonly string[];
  /** The whole answer, where no stream was asked for. */
  readonly whole: (answer: SpokenAnswer, asked: ProviderAsked) => object;
  readonly isStream: (body: Wire, call: WireCall) => boolean;
  /** Of the moods of the connection. */
  readonly statuses: { readonly rate_limited: number; readonly unavailable: number };
  readonly error: (status: number, message: string) => Refusal;
}

/** What stands outside of the body. */
export interface WireCall {
  /** With its query. */
  readonly path: string;
  readonly header: (name: string) => string | undefined;
}

/** A part of a request. */
export interface KeptBlock {
  readonly block: Wire;
  /** Whether the beginning up to here is kept. */
  readonly isMarked: boolean;
}

/** Texts leave in pieces of so many characters. */
const PIECE = 12;
export const TOKENS = { in: 100, out: 20 } as const;
/** What a model that is asked to think has thought. */
export const THOUGHT = "They want this, so I look first.";

export function piecesOf(text: string): readonly string[] {
  return text.match(new RegExp(`[^]{1,${PIECE}}`, "gu")) ?? [];
}

export function textOf(content: unknown): string {
  if (typeof content === "string") return content;
  return listOf(content)
    .filter(isWire)
    .map((part) =>
      typeof part["content"] === "string" ? part["content"] : wordOf(part["text"] ?? ""),
    )
    .join("");
}

/** A schema that stands in the prompt: a model reads it there. */
export function schemaIn(system: string): Wire | undefined {
  for (const line of system.split("\n").filter((one) => one.startsWith("{"))) {
    const schema = parsed(line);

    if (isWire(schema) && isWire(schema["properties"])) return schema;
  }

  return undefined;
}

/** The words of the system, wherever they stand in a list of messages. */
export function systemIn(messages: readonly Wire[]): string {
  return messages
    .filter(isOfSystem)
    .map((one) => textOf(one["content"]))
    .join("\n");
}

export function isOfSystem({ role }: Wire): boolean {
  return role === "system" || role === "developer";
}

export function numberOf(value: unknown): number | undefined {
  return typeof value === "number" ? value : undefined;
}

export function parsed(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}

export function dataFrame(data: object): string {
  return `data: ${JSON.stringify(data)}\n\n`;
}

export function eventFrame(type: string, data: object): string {
  return `event: ${type}\ndata: ${JSON.stringify({ type, ...data })}\n\n`;
}

/** A provider that keeps each beginning by itself. */
export function allMarked(blocks: readonly unknown[]): readonly KeptBlock[] {
  return blocks.filter(isWire).map((block) => ({ block, isMarked: true }));
}
