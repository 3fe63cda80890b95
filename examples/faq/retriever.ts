import type { Retriever } from "dure";

export interface FaqEntry {
  readonly question: string;
  readonly answer: string;
}

/** Entries of a Markdown file: each `##` heading is a question, what follows is its answer. */
export function readFaq(markdown: string): readonly FaqEntry[] {
  return markdown
    .split(/^## /m)
    .slice(1)
    .map((section) => {
      const [question = "", ...answer] = section.split("\n");
      return { question: question.trim(), answer: answer.join("\n").trim() };
    });
}

/**
 * Finds entries by pairs of letters that they share with the question: Korean words carry their
 * particles with them (한도가, 한도는), so whole words would miss. Good enough for a page; a vector index
 * has the same interface.
 */
export function faqRetriever(
  entries: readonly FaqEntry[],
  { most = 3, atLeast = 0.2 } = {},
): Retriever {
  const indexed = entries.map((entry) => ({
    entry,
    pairs: pairsOf(`${entry.question} ${entry.answer}`),
    heading: pairsOf(entry.question),
  }));
  return {
    async search(query) {
      const asked = pairsOf(query);
      return indexed
        .map(({ entry, pairs, heading }) => ({
          entry,
          score: share(asked, pairs) + share(asked, heading),
        }))
        .filter(({ score }) => score >= atLeast)
        .sort((a, b) => b.score - a.score)
        .slice(0, most)
        .map(({ entry }) => `${entry.question}\n${entry.answer}`);
    },
  };
}

/** How much of what was asked stands in the text, 0 to 1. */
function share(asked: ReadonlySet<string>, text: ReadonlySet<string>): number {
  return asked.size === 0 ? 0 : asked.intersection(text).size / asked.size;
}

function pairsOf(text: string): Set<string> {
  const words =
    text
      .normalize("NFC")
      .toLowerCase()
      .match(/[\p{L}\p{N}]+/gu) ?? [];
  return new Set(
    words.flatMap((word) =>
      word.length === 1
        ? []
        : Array.from({ length: word.length - 1 }, (_, at) => word.slice(at, at + 2)),
    ),
  );
}
