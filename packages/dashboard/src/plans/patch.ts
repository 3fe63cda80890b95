/** A line of a patch. `meta` is what git says about the file and the place in it. */
export interface PatchLine {
  readonly kind: "added" | "removed" | "same" | "meta";
  readonly text: string;
  /** 1-based: of the file before for what is removed, else after; undefined for `meta`. */
  readonly line?: number | undefined;
}

export interface FilePatch {
  readonly path: string;
  readonly added: number;
  readonly removed: number;
  readonly lines: readonly PatchLine[];
}

/** A unified patch of git as its files. Pure; what it does not know it keeps as it stands. */
export function filesOf(patch: string): readonly FilePatch[] {
  if (patch === "") return [];
  return patch
    .split(/^(?=diff --git )/m)
    .flatMap((part) => (part.startsWith("diff --git ") ? [fileOf(part)] : []));
}

function fileOf(part: string): FilePatch {
  const [head = "", ...rest] = part.replace(/\n$/, "").split("\n");
  const firstHunk = rest.findIndex((line) => line.startsWith("@@"));
  const names = firstHunk < 0 ? rest : rest.slice(0, firstHunk);

  const body =
    firstHunk < 0
      ? rest
          .filter((line) => !/^(index|---|\+\+\+) /.test(line))
          .map((text): PatchLine => ({ kind: "meta", text }))
      : numbered(rest.slice(firstHunk).map(lineOf));

  return {
    path: pathOf(head, names),
    added: body.filter(({ kind }) => kind === "added").length,
    removed: body.filter(({ kind }) => kind === "removed").length,
    lines: body,
  };
}

/** Counts along from what the heads of hunks say. */
function numbered(lines: readonly PatchLine[]): readonly PatchLine[] {
  let before = 0;
  let after = 0;

  return lines.map((line): PatchLine => {
    const head = line.kind === "meta" ? /^@@ -(\d+)[^+]*\+(\d+)/.exec(line.text) : null;
    if (head !== null) [before, after] = [Number(head[1]), Number(head[2])];
    if (line.kind === "meta") return line;
    if (line.kind === "removed") return { ...line, line: before++ };
    if (line.kind === "same") before++;

    return { ...line, line: after++ };
  });
}

function lineOf(text: string): PatchLine {
  if (text.startsWith("@@") || text.startsWith("\\")) return { kind: "meta", text };
  if (text.startsWith("+")) return { kind: "added", text: text.slice(1) };

  return text.startsWith("-")
    ? { kind: "removed", text: text.slice(1) }
    : { kind: "same", text: text.slice(1) };
}

/**
 * The new name, or the old one of a file that is gone. Names with unusual letters are quoted by git
 * and stay so.
 */
function pathOf(head: string, names: readonly string[]): string {
  const named = (start: string): string | undefined =>
    names.find((line) => line.startsWith(start))?.slice(start.length);
  return (
    named("+++ b/") ??
    named("--- a/") ??
    named("rename to ") ??
    / b\/(.*)$/.exec(head)?.[1] ??
    head.slice("diff --git ".length)
  );
}
