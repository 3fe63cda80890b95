/** Words that the generated pages of docs/reference share. */

/** What stands under the title of each of them. */
export const MADE = "<!-- Made from the sources by `npm run reference`. -->";

/** A table, one cell a text. Pure. */
export function tableOf(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]): string => `| ${cells.map(cellOf).join(" | ")} |`;
  return [line(head), line(head.map(() => "---")), ...rows.map(line)].join("\n");
}

/** Code in a line of text. Pure. */
export function codeOf(text: string): string {
  return text.includes("`") ? `\`\` ${text} \`\`` : `\`${text}\``;
}

/** Text of a source, in which Markdown would read HTML. Code spans stay. Pure. */
export function plain(text: string): string {
  return text
    .split(/(`[^`]*`)/)
    .map((part, index) => (index % 2 === 1 ? part : part.replaceAll("<", "&lt;")))
    .join("");
}

function cellOf(text: string): string {
  return text.replaceAll(/\s*\n\s*/g, " ").replaceAll("|", "\\|");
}
