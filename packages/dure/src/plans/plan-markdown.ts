import {
  type KeyPath,
  MAX_PROBLEMS,
  type Problem,
  readYaml,
  type SettingsDocument,
  type YamlReading,
} from "../engine/files/load-service-document.ts";
import { isObject } from "../kernel/json.ts";

/** A block of settings between two lines `---`, and the words below it. */
interface FrontMatter {
  readonly settings: SettingsDocument;
  readonly words: string;
}

/**
 * A plan in Markdown: settings of the plan between two lines `---` at the top, and the same for
 * each port, with its goal as the words below. A line `---` begins settings only where `key:`
 * stands on the next one; elsewhere it is a rule.
 */
export function readMarkdown(file: string, text: string): YamlReading {
  const lines = text.split(/\r?\n/);
  const isFence = (index: number): boolean => /^---\s*$/.test(lines[index] ?? "");
  const isBegin = (index: number): boolean =>
    isFence(index) && /^[A-Za-z_]+\s*:(?:\s|$)/.test(lines[index + 1] ?? "");
  const first = lines.findIndex((line) => line.trim() !== "");
  if (first < 0 || !isBegin(first)) {
    const line = Math.max(1, first + 1);
    const message = "does not begin with settings between two lines ---";
    const problem: Problem = { file, line, key: "", message };

    return { document: readYaml(file, "").document, problems: [problem], problemCount: 1 };
  }

  const blocks: FrontMatter[] = [];
  const problems: Problem[] = [];
  for (let index = first; index < lines.length;) {
    let end = index + 1;
    while (end < lines.length && !isFence(end)) end++;
    if (end === lines.length) {
      const message = "settings are not closed by a line ---";
      problems.push({ file, line: index + 1, key: "", message });
    }
    const settings = readYaml(file, lines.slice(index + 1, end).join("\n"), index + 1);
    problems.push(...settings.problems);
    let next = end + 1;
    while (next < lines.length && !isBegin(next)) next++;
    const words = lines.slice(end + 1, next).join("\n");
    blocks.push({ settings: settings.document, words: words.trim() });
    index = next;
  }

  return {
    document: joined(file, blocks),
    problems: problems.slice(0, MAX_PROBLEMS),
    problemCount: problems.length,
  };
}

/** One document of the plan's block and its ports' blocks. */
function joined(file: string, [head, ...ports]: readonly FrontMatter[]): SettingsDocument {
  const plan = head!.settings;
  const value = isObject(plan.value) ? { ...plan.value, ports: ports.map(withGoal) } : plan.value;
  const locate = (path: KeyPath) => {
    const port = path[0] === "ports" && path.length > 1 ? ports[Number(path[1])] : undefined;
    return port ? port.settings.locate(path.slice(2)) : plan.locate(path);
  };

  return { file, value, locate };
}

/** The settings of a port, with the words below them as its goal. */
function withGoal({ settings: { value }, words }: FrontMatter): unknown {
  return isObject(value) && words !== "" ? { goal: words, ...value } : value;
}
