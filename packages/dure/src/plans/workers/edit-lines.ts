/** Lines around a change that are shown with it, as git does. */
const AROUND = 3;

/**
 * What an edit changed, line by line: removed ones after `-`, added ones after `+`, some around
 * them after a space. Some agents send the piece that they change, others the whole file. Pure.
 */
export function editLines(before: string, after: string): string {
  const old = linesOf(before);
  const now = linesOf(after);
  const most = Math.min(old.length, now.length);
  let head = 0;
  while (head < most && old[head] === now[head]) head++;
  let tail = 0;
  while (tail < most - head && old.at(-1 - tail) === now.at(-1 - tail)) tail++;

  return [
    ...marked(" ", old.slice(Math.max(0, head - AROUND), head)),
    ...marked("-", old.slice(head, old.length - tail)),
    ...marked("+", now.slice(head, now.length - tail)),
    ...marked(" ", now.slice(now.length - tail, now.length - tail + AROUND)),
  ].join("\n");
}

function linesOf(text: string): readonly string[] {
  return text === "" ? [] : text.replace(/\n$/, "").split("\n");
}

function marked(mark: string, lines: readonly string[]): readonly string[] {
  return lines.map((line) => `${mark}${line}`);
}
