import { z } from "zod";
import type { TranscriptEntry } from "../../workers/worker.ts";

/** What calls of models used, as the one who made them tells it. */
export interface Tokens {
  readonly input: number;
  /** Of the input, where that is told. */
  readonly cached?: number | undefined;
  readonly output: number;
}

/** One thing that a coding agent tells on its standard output. */
export type Printed =
  | { readonly kind: "entry"; readonly entry: TranscriptEntry }
  /** One call of its model. One that is told twice has the same `id`. */
  | {
      readonly kind: "call";
      readonly id?: string | undefined;
      readonly tokens: Tokens;
      /** What the agent says that it cost, USD. */
      readonly usd?: number | undefined;
    }
  /** All calls of its turn, told at the end. */
  | { readonly kind: "sum"; readonly tokens: Tokens; readonly usd?: number | undefined }
  /** What keeps it from its work. */
  | { readonly kind: "trouble"; readonly text: string };

/** The forms in which agents print their turn, an object of JSON a line. */
export const PRINTS = ["claude", "codex", "opencode", "gemini"] as const;
export type AgentPrints = (typeof PRINTS)[number];

/** Reads one object of one form. Pure; undefined: not of this form. */
export type ReadPrinted = (line: unknown) => readonly Printed[] | undefined;

/** A count as agents tell it; not every one is. */
export const count = z.number().int().nonnegative().max(1e12).catch(0).default(0);
/** An amount of money; what is none counts as untold. */
export const money = z.number().nonnegative().max(1e9).optional().catch(undefined);
/** Words; what is none counts as none. */
export const words = z.string().catch("").default("");

/** Longest text of a tool's call or answer that goes into the transcript, characters. */
const MAX_TEXT = 50_000;

export function entry(
  kind: TranscriptEntry["kind"],
  text: string,
  more: { readonly title?: string | undefined; readonly status?: string | undefined } = {},
): Printed {
  return { kind: "entry", entry: { kind, text: text.slice(0, MAX_TEXT), ...more } };
}

/** As a person reads it: text as it is, anything else as JSON. */
export function shown(value: unknown): string {
  if (value === undefined || value === null) return "";
  if (typeof value === "string") return value;
  try {
    return JSON.stringify(value);
  } catch (error) {
    // Nested deeper than the stack.
    if (error instanceof RangeError) return "(too deep to be shown)";
    throw error;
  }
}
