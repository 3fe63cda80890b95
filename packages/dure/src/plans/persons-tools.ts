import { expandBraces } from "./glob-text.ts";
import { globMatches, globOf } from "./glob.ts";
import type { Port } from "./plan.ts";

/**
 * What a person's tools run or obey by themselves, where they find it in a repository: settings of
 * coding agents and editors, hooks of git, what a shell loads. Outside of every sandbox. Data.
 * Source: the manuals of the tools.
 */
export const PERSONS_TOOLS = [
  "**/{.claude,.codex,.gemini,.qwen,.opencode,.cursor,.windsurf,.continue}/**",
  "**/{.vscode,.zed,.devcontainer,.husky,.githooks,.lefthook}/**",
  "**/{.mcp.json,opencode.json,opencode.jsonc,.envrc,.pre-commit-config.yaml}",
  "**/{lefthook,.lefthook,lefthook-local}.{yml,yaml,toml,json}",
];
const GLOBS = PERSONS_TOOLS.map((pattern) => globOf(pattern));
/** One of each kind, at the root. */
const SAMPLES = [".claude/settings.json", ".mcp.json", ".vscode/tasks.json", ".husky/pre-commit"];

/**
 * Patterns of a port that speak of such files by name (`.vscode/**`): a person gave them to it. What
 * a wider pattern covers beside other files (`**`) is not meant. Pure.
 */
export function toolsByName({ owns, tests }: Pick<Port, "owns" | "tests">): string[] {
  return [...owns, ...tests].filter((pattern) =>
    (expandBraces(pattern) ?? [pattern]).every((alternative) =>
      GLOBS.some((glob) => globMatches(glob, alternative)),
    ),
  );
}

/** Whether one of these patterns covers such files of the root beside others. Pure. */
export function coversTools(patterns: readonly string[]): boolean {
  return patterns.some((pattern) => SAMPLES.some((path) => globMatches(globOf(pattern), path)));
}
