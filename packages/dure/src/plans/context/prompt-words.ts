import { headOf } from "../workers/bounded-text.ts";

/** Names that stand in a block's list at most. */
const MAX_NAMES = 200;

/** In a fence that does not stand in the text. Pure. */
export function fenced(text: string, path: string): string {
  const longest = Math.max(0, ...[...text.matchAll(/`{3,}/g)].map(([ticks]) => ticks.length));
  const fence = "`".repeat(Math.max(3, longest + 1));
  const language = /\.([A-Za-z0-9]{1,6})$/.exec(path)?.[1] ?? "";

  return `${fence}${language}\n${text.replace(/\n$/, "")}\n${fence}`;
}

/** Parts of a text, in one line. Pure. */
export function words(...parts: readonly string[]): string {
  return parts.join(" ");
}

/** As lines of a list, with an end. Pure. */
export function list(names: readonly string[]): string {
  if (names.length === 0) return "- (nothing)";
  const lines = names.slice(0, MAX_NAMES).map((name) => `- ${headOf(name, 1_024)}`);
  if (names.length > MAX_NAMES) lines.push(`- … and ${names.length - MAX_NAMES} more`);

  return lines.join("\n");
}
