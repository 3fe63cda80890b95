import type { DureClient, KnowledgeBases } from "../client/index.ts";
import { DureError } from "../kernel/errors.ts";
import { toWire } from "../kernel/wire.ts";
import { EXIT, type ExitCode, type Output } from "./output.ts";
import { findDocuments } from "./read-documents.ts";
import type { CliWords } from "./words/words.ts";

type Vectors = NonNullable<KnowledgeBases["items"][number]["vectors"]>;

interface KnowledgeCommand {
  readonly client: DureClient;
  readonly output: Output;
  /** Absent: the only base of the team. */
  readonly base: string | undefined;
}

/** What became of the documents that were named. */
interface Added {
  added: number;
  same: number;
  removed: number;
  failed: number;
}

/** Adds what changed, and removes what is gone from a folder. A second call goes on where it was cut off. */
export async function addKnowledge(place: string, command: KnowledgeCommand): Promise<ExitCode> {
  const { client, output } = command;
  const { knowledge } = client;
  const { document: words } = output.words.work;
  const base = await baseOf(command);
  const { documents, prefix } = await findDocuments(place);
  const counts: Added = { added: 0, same: 0, removed: 0, failed: 0 };
  const sources = new Set<string>();

  for (const { source, read } of documents) {
    sources.add(source);
    try {
      const { changed } = await knowledge.put(base, { source, text: await read() });
      counts[changed ? "added" : "same"] += 1;
      if (changed) output.line(`${words.marks.added}${source}`);
    } catch (error) {
      if (!(error instanceof DureError) || error.class !== "input") throw error;
      counts.failed += 1;
      output.line(`${words.marks.refused}${source}: ${output.words.said(error.message)}`);
    }
  }

  if (prefix !== undefined) counts.removed = await removeGone(command, base, { prefix, sources });
  const { added, same, removed, failed } = counts;
  output.line(words.counts(base, { added, same, removed, failed }));
  output.result({ base, ...counts });

  return failed > 0 ? EXIT.failed : EXIT.ok;
}

/** Documents of a folder that are in the base and no longer in the folder. */
async function removeGone(
  { client: { knowledge }, output }: KnowledgeCommand,
  base: string,
  { prefix, sources }: { readonly prefix: string; readonly sources: ReadonlySet<string> },
): Promise<number> {
  let removed = 0;
  let cursor: string | undefined;
  do {
    const page = await knowledge.documents(base, { cursor, limit: 1_000 });
    for (const { source } of page.items) {
      if (!source.startsWith(prefix) || sources.has(source)) continue;
      await knowledge.remove(base, source);
      output.line(`${output.words.work.document.marks.removed}${source}`);
      removed += 1;
    }
    cursor = page.nextCursor ?? undefined;
  } while (cursor !== undefined);

  return removed;
}

/** Bases, or the documents of one. */
export async function listKnowledge(
  page: { limit?: number | undefined; cursor?: string | undefined },
  { client, output, base }: KnowledgeCommand,
): Promise<ExitCode> {
  const { document: words } = output.words.work;
  if (base === undefined) {
    const { items } = await client.knowledge.list();
    if (items.length === 0) output.note(words.noBase);
    for (const { name, documents, chunks, vectors } of items) {
      output.line(words.base(name, documents, chunks));
      if (vectors) output.line(`  ${vectorsText(vectors, output.words)}`);
    }
    output.result(toWire({ items }));
    return EXIT.ok;
  }

  const { items, nextCursor } = await client.knowledge.documents(base, page);
  output.table([
    words.head,
    ...items.map(({ source, title, chunks }) => [source, title, String(chunks)]),
  ]);
  if (nextCursor !== null) output.note(output.words.general.more(nextCursor));
  output.result(toWire({ items, nextCursor }));

  return EXIT.ok;
}

function vectorsText(
  { model, missing, search, because }: Vectors,
  { work: { document: words }, said }: CliWords,
): string {
  const why = said(because);
  return words.vectors(model, search === "pgvector" ? why : words.exactly(why), missing);
}

/** What an agent would get for a question. */
export async function searchKnowledge(
  question: string,
  command: KnowledgeCommand,
): Promise<ExitCode> {
  const { client, output } = command;
  const base = await baseOf(command);
  const { items } = await client.knowledge.search(base, question);

  if (items.length === 0) output.note(output.words.work.document.nothing(base));
  for (const { source, headings, text, share } of items) {
    output.line(`${[source, ...headings].join(" › ")}  (${Math.round(share * 100)} %)`);
    for (const line of text.split("\n")) output.line(`  ${line}`);
  }
  output.result({ items });

  return EXIT.ok;
}

export async function removeKnowledge(
  source: string,
  command: KnowledgeCommand,
): Promise<ExitCode> {
  const { client, output } = command;
  const base = await baseOf(command);
  const { removed } = await client.knowledge.remove(base, source);
  if (!removed) {
    throw new DureError("DOCUMENT_UNKNOWN", `${base} has no document ${source}.`, {
      class: "not-found",
      hint: `dure knowledge list --base ${base} shows them.`,
    });
  }

  output.line(`${output.words.work.document.marks.removed}${source}`);
  output.result({ base, source, removed });

  return EXIT.ok;
}

async function baseOf({ client, base }: KnowledgeCommand): Promise<string> {
  if (base !== undefined) return base;

  const { items } = await client.knowledge.list();
  const [only, ...others] = items;
  if (only && others.length === 0) return only.name;

  const names = items.map(({ name }) => name).join(", ");
  throw new DureError(
    "BASE_MISSING",
    only ? `The team has several knowledge bases: ${names}.` : "The team has no knowledge base.",
    {
      class: "input",
      hint: only
        ? "Name one with --base."
        : "Name one in the configuration: knowledge: { handbook: {} }.",
    },
  );
}
