import type { PlanView } from "../client/index.ts";
import type { CliWords } from "./words/words.ts";

/** Patterns of one port that are shown. */
const PATTERNS = 3;

/**
 * The ports of a plan as a graph in lines: what needs nothing first, each with what it needs. Pure.
 */
export function graphLines(
  { ports, levels }: Pick<PlanView, "ports" | "levels">,
  words: CliWords["plans"],
): string[] {
  const { graph } = words.view;
  const someIn = (patterns: readonly string[]): string => someOf(patterns, words);
  const byId = new Map(ports.map((port) => [port.id, port]));
  const widest = Math.max(0, ...ports.map(({ id }) => id.length));

  return levels.flatMap((level, depth) =>
    level.flatMap((id) => {
      const port = byId.get(id);
      if (port === undefined) return [];
      const arrow = depth === 0 ? "●" : `${"│ ".repeat(depth - 1)}└▶`;
      const needs = port.dependsOn.length === 0 ? "" : `  ← ${port.dependsOn.join(", ")}`;
      const indent = " ".repeat(arrow.length + 1);
      const tests = port.tests.length === 0 ? [] : [`${indent}${graph.tests}${someIn(port.tests)}`];

      return [
        `${arrow} ${id.padEnd(widest)}  ${port.title === id ? "" : port.title}${needs}`.trimEnd(),
        `${indent}${graph.owns}${someIn(port.owns)}`,
        ...tests,
        `${indent}${graph.passes}${port.acceptance}`,
      ];
    }),
  );
}

function someOf(patterns: readonly string[], { andMore }: CliWords["plans"]): string {
  const left = patterns.length - PATTERNS;
  const shown = patterns.slice(0, PATTERNS).join(", ");

  return left > 0 ? andMore(shown, left) : shown;
}
