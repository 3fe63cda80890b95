/** Lines around a change that are shown too. */
const AROUND = 3;
/** Cells of the table that is filled to find what stayed; larger texts are told as replaced. */
const MOST_CELLS = 4_000_000;

/** One line of two texts, laid beside each other. */
export interface DiffLine {
  readonly kind: "added" | "removed" | "same";
  readonly text: string;
}

/** What two texts have in common and what not, line by line. Pure. */
export function lineDiff(before: string, after: string): readonly DiffLine[] {
  const old = linesOf(before);
  const now = linesOf(after);
  const head = commonStart(old, now, Math.min(old.length, now.length));
  const most = Math.min(old.length, now.length) - head;
  const tail = commonStart(old.toReversed(), now.toReversed(), most);
  const middle = middleOf(old.slice(head, old.length - tail), now.slice(head, now.length - tail));

  return [...old.slice(0, head).map(same), ...middle, ...old.slice(old.length - tail).map(same)];
}

/**
 * The changes of one file as a unified patch, as git writes it; empty where nothing changed. Pure.
 */
export function unifiedPatch(path: string, before: string | null, after: string): string {
  const hunks = hunksOf(lineDiff(before ?? "", after));
  if (hunks.length === 0) return "";
  const from = before === null ? "/dev/null" : `a/${path}`;

  return [`diff --git a/${path} b/${path}`, `--- ${from}`, `+++ b/${path}`, ...hunks, ""].join(
    "\n",
  );
}

function linesOf(text: string): readonly string[] {
  if (text === "") return [];
  return text.replace(/\n$/, "").split("\n");
}

function same(text: string): DiffLine {
  return { kind: "same", text };
}

function commonStart(one: readonly string[], other: readonly string[], most: number): number {
  let count = 0;
  while (count < most && one[count] === other[count]) count += 1;
  return count;
}

function middleOf(old: readonly string[], now: readonly string[]): readonly DiffLine[] {
  if (old.length * now.length <= MOST_CELLS) return aligned(old, now);
  return [
    ...old.map((text): DiffLine => ({ kind: "removed", text })),
    ...now.map((text): DiffLine => ({ kind: "added", text })),
  ];
}

/** By the longest common subsequence. */
function aligned(old: readonly string[], now: readonly string[]): readonly DiffLine[] {
  const width = now.length + 1;
  const kept = keptFrom(old, now, width);
  const lines: DiffLine[] = [];
  let [at, to] = [0, 0];

  while (at < old.length || to < now.length) {
    const isSame = at < old.length && to < now.length && old[at] === now[to];
    const takesOld =
      to === now.length ||
      (at < old.length && kept[(at + 1) * width + to]! >= kept[at * width + to + 1]!);
    if (isSame) {
      lines.push(same(old[at]!));
      at += 1;
      to += 1;
    } else if (takesOld) lines.push({ kind: "removed", text: old[at++]! });
    else lines.push({ kind: "added", text: now[to++]! });
  }

  return lines;
}

/** How many lines can stay, from each pair of places on. */
function keptFrom(old: readonly string[], now: readonly string[], width: number): Uint16Array {
  const kept = new Uint16Array((old.length + 1) * width);
  for (let at = old.length - 1; at >= 0; at -= 1) {
    for (let to = now.length - 1; to >= 0; to -= 1) {
      kept[at * width + to] =
        old[at] === now[to]
          ? kept[(at + 1) * width + to + 1]! + 1
          : Math.max(kept[(at + 1) * width + to]!, kept[at * width + to + 1]!);
    }
  }
  return kept;
}

const MARKS = { added: "+", removed: "-", same: " " } as const satisfies Record<
  DiffLine["kind"],
  string
>;

function hunksOf(lines: readonly DiffLine[]): readonly string[] {
  const shown = lines.map((_, index) =>
    lines.slice(Math.max(0, index - AROUND), index + AROUND + 1).some(isChange),
  );
  const out: string[] = [];
  let [old, now] = [1, 1];
  for (const [index, line] of lines.entries()) {
    if (shown[index] && !shown[index - 1]) {
      const end = shown.indexOf(false, index);
      out.push(headOf(lines.slice(index, end === -1 ? undefined : end), { old, now }));
    }
    if (shown[index]) out.push(`${MARKS[line.kind]}${line.text}`);
    if (line.kind !== "added") old += 1;
    if (line.kind !== "removed") now += 1;
  }
  return out;
}

function isChange({ kind }: DiffLine): boolean {
  return kind !== "same";
}

function headOf(
  hunk: readonly DiffLine[],
  { old, now }: { readonly old: number; readonly now: number },
): string {
  const olds = hunk.filter(({ kind }) => kind !== "added").length;
  const nows = hunk.filter(({ kind }) => kind !== "removed").length;
  return `@@ -${olds === 0 ? 0 : old},${olds} +${nows === 0 ? 0 : now},${nows} @@`;
}
