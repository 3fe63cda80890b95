/** A part of a document that is found as one. */
export interface Chunk {
  /** The headings above it, outermost first; empty before the first heading. */
  readonly headings: readonly string[];
  readonly text: string;
}

/** Characters of a chunk. Source: docs/spec/knowledge §2. */
export const MAX_CHUNK = 1_200;

const HEADING = /^(#{1,6})\s+(.+?)\s*#*\s*$/u;
const FENCE = /^\s*(`{3,}|~{3,})/u;

/**
 * A Markdown or plain text, cut at its headings, then at paragraphs, then at lines, and at last at
 * characters. Pure.
 */
export function chunksOf(text: string): readonly Chunk[] {
  return sectionsOf(text.replaceAll("\r\n", "\n")).flatMap(({ headings, blocks }) =>
    packed(blocks.flatMap((block) => fitted(block))).map((part) => ({ headings, text: part })),
  );
}

/** The first heading, else the first line; empty for a text without words. Pure. */
export function titleOf(text: string): string {
  const lines = text.split("\n", 200).map((line) => line.trim());
  const headings = lines.flatMap((line) => HEADING.exec(line)?.[2] ?? []);
  const title = headings[0] ?? lines.find((line) => line !== "") ?? "";

  return title.slice(0, 300);
}

interface Section {
  readonly headings: readonly string[];
  readonly blocks: string[];
}

/** Paragraphs and code blocks, by the headings above them. */
function sectionsOf(text: string): readonly Section[] {
  const sections: Section[] = [{ headings: [], blocks: [] }];
  let above: readonly { readonly level: number; readonly title: string }[] = [];
  let block: string[] = [];
  let fence: string | undefined;

  const endBlock = (): void => {
    const whole = block.join("\n").trim();
    if (whole !== "") sections.at(-1)!.blocks.push(whole);
    block = [];
  };

  for (const line of text.split("\n")) {
    const mark = FENCE.exec(line)?.[1];
    if (fence === undefined && mark !== undefined) fence = mark;
    else if (mark?.startsWith(fence ?? " ")) fence = undefined;

    const [, marks, title] = fence === undefined ? (HEADING.exec(line) ?? []) : [];
    if (marks !== undefined && title !== undefined) {
      endBlock();
      above = [
        ...above.filter(({ level }) => level < marks.length),
        { level: marks.length, title },
      ];
      sections.push({ headings: above.map((one) => one.title), blocks: [] });
    } else if (line.trim() === "" && fence === undefined) endBlock();
    else block.push(line);
  }
  endBlock();

  return sections;
}

/** A block in parts that fit; a part never ends within a surrogate pair. */
function fitted(block: string): readonly string[] {
  if (block.length <= MAX_CHUNK) return [block];

  return packed(block.split("\n").flatMap(cutLine), "\n");
}

function cutLine(line: string): readonly string[] {
  const parts: string[] = [];
  let rest = line;
  while (rest.length > MAX_CHUNK) {
    const space = rest.lastIndexOf(" ", MAX_CHUNK);
    const at = space > MAX_CHUNK / 2 ? space : wholeEnd(rest);
    parts.push(rest.slice(0, at).trim());
    rest = rest.slice(at).trim();
  }

  return [...parts, rest];
}

function wholeEnd(text: string): number {
  return text.slice(0, MAX_CHUNK).isWellFormed() ? MAX_CHUNK : MAX_CHUNK - 1;
}

/** Neighbours joined while they fit. */
function packed(parts: readonly string[], between = "\n\n"): readonly string[] {
  const joined: string[] = [];
  for (const part of parts) {
    const last = joined.at(-1);
    const both = last === undefined ? part : last + between + part;
    if (last === undefined || both.length > MAX_CHUNK) joined.push(part);
    else joined[joined.length - 1] = both;
  }

  return joined.filter((part) => part !== "");
}
