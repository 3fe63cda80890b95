import { z } from "zod";
import type { FromWire } from "../kernel/wire.ts";
import { pageOf, time } from "./shared.ts";

/** What `/v1/knowledge` takes and gives. Source: docs/spec/knowledge §5. */

// --- requests

/** PostgreSQL's text has no U+0000, and a name with a line break is none. */
const line = (longest: number) =>
  z
    .string()
    .min(1)
    .max(longest)
    .regex(/^[^\p{Cc}]+$/u, "must be one line without control characters");

export const KnowledgeParams = z.object({ base: z.string().min(1).max(64) });

export const KnowledgeDocumentsQuery = z.object({
  limit: z.coerce.number().int().min(1).max(1_000).default(100),
  cursor: z.string().max(4_000).optional(),
});

export const KnowledgeTextBody = z.object({
  source: line(500).meta({ description: "Its path or address; it names the document." }),
  title: line(300)
    .optional()
    .meta({ description: "Absent: its first heading, or its first line." }),
  text: z
    .string()
    .refine((text) => new TextEncoder().encode(text).length <= MAX_TEXT, {
      error: "must have at most 1 MiB",
    })
    .meta({ description: "Markdown or plain text, at most 1 MiB." }),
});

/** Bytes of a document's text. Source: docs/spec/knowledge §2. */
export const MAX_TEXT = 1_048_576;

export const KnowledgeSourceQuery = z.object({ source: line(500) });

export const KnowledgeSearchQuery = z.object({
  question: z.string().min(1).max(4_000),
  limit: z.coerce.number().int().min(1).max(50).default(6),
});

// --- answers

const KnowledgeVectorsJson = z.object({
  model: z.string(),
  missing: z.number().int().meta({ description: "Chunks that have no vector yet." }),
  search: z.enum(["pgvector", "exact"]).meta({
    description: "How this process compares: by an index of pgvector, or with each vector.",
  }),
  because: z.string().meta({ description: "Why so, for people." }),
});

export const KnowledgeBasesAnswer = z.object({
  items: z.array(
    z.object({
      name: z.string(),
      documents: z.number().int(),
      chunks: z.number().int(),
      vectors: KnowledgeVectorsJson.nullable().meta({
        description: "Null where the base has no embedding model.",
      }),
    }),
  ),
});

const KnowledgeDocumentJson = z.object({
  source: z.string(),
  title: z.string(),
  digest: z
    .string()
    .meta({ description: "SHA-256 of title and text; the same means that nothing changed." }),
  bytes: z.number().int(),
  chunks: z.number().int(),
  indexed_at: time,
});

export const KnowledgeDocumentsAnswer = pageOf(KnowledgeDocumentJson);

export const KnowledgePutAnswer = z.object({
  source: z.string(),
  changed: z.boolean().meta({ description: "False where it was the same." }),
});

export const KnowledgeRemovedAnswer = z.object({ source: z.string(), removed: z.boolean() });

const KnowledgePassageJson = z.object({
  base: z.string(),
  source: z.string(),
  title: z.string(),
  headings: z.array(z.string()),
  text: z.string(),
  score: z.number().meta({ description: "Only good for comparing passages of one answer." }),
  share: z.number().meta({ description: "How much of the question stands in it, 0 to 1." }),
});

export const KnowledgeSearchAnswer = z.object({ items: z.array(KnowledgePassageJson) });

// --- in the words of programs

/** The bases of a team, with how many documents and chunks each holds. */
export type KnowledgeBases = FromWire<z.output<typeof KnowledgeBasesAnswer>>;
/** A stored document, without its text. The same `digest` means that nothing has changed. */
export type KnowledgeDocument = FromWire<z.output<typeof KnowledgeDocumentJson>>;
/** A part of a document that may hold the answer; `share` is how much of the question stands in it, 0 to 1. */
export type KnowledgePassage = FromWire<z.output<typeof KnowledgePassageJson>>;
/**
 * A document to add: `source` (1 to 500 characters, one line) names it, `text` has at most 1 MiB.
 * Without `title` it is the first heading, or the first line.
 */
export type KnowledgeText = FromWire<z.input<typeof KnowledgeTextBody>>;
