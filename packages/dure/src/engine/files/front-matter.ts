import { isObject } from "../../kernel/json.ts";
import { readYaml, type Problem, type SettingsDocument } from "./load-service-document.ts";

/** A Markdown file that begins with settings between two lines `---`. */
export interface FrontMatter {
  /** The settings; lines are those of the file. */
  readonly document: SettingsDocument;
  readonly problems: readonly Problem[];
  /** What comes below the settings, trimmed. */
  readonly body: string;
}

const FENCE = /^---[ \t]*$/;

/** Pure. @param file the name that problems carry */
export function readFrontMatter(file: string, text: string): FrontMatter {
  const lines = text.replace(/^\uFEFF/, "").split(/\r?\n/);
  const end = FENCE.test(lines[0] ?? "") ? lines.findIndex(isEnd) : -1;
  if (end < 0) {
    const message = FENCE.test(lines[0] ?? "")
      ? "has settings that are not closed by a line ---"
      : "does not begin with settings between two lines ---";
    const problem = { file, line: 1, key: "", message, hint: "Write ---, name: …, --- at the top" };
    return { document: readYaml(file, "").document, problems: [problem], body: "" };
  }

  const read = readYaml(file, lines.slice(1, end).join("\n"), 1);
  const { document, problems } = read;
  const body = lines
    .slice(end + 1)
    .join("\n")
    .trim();
  const value = document.value ?? {};
  if (problems.length > 0 || isObject(value)) {
    return { document: { ...document, value }, problems, body };
  }

  const message = "has settings that are no group of keys";
  return { document, problems: [{ file, line: 2, key: "", message }], body };
}

function isEnd(line: string, index: number): boolean {
  return index > 0 && FENCE.test(line);
}
