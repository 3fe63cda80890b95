import { DureError } from "../kernel/errors.ts";

/**
 * Who may ask whom: `ruda -> eden`, `* -> reviewer-*`. Default: every agent may ask every agent.
 */
export const ALLOW_ALL: readonly string[] = ["* -> *"];

export type AskRules = readonly AllowRule[];

interface AllowRule {
  readonly from: RegExp;
  readonly to: RegExp;
}

/** Reads patterns once. Throws `JOB_PATTERN_INVALID`. */
export function readAllowlist(patterns: readonly string[]): AskRules {
  return patterns.map((pattern) => {
    const match = /^\s*(\S+)\s*->\s*(\S+)\s*$/.exec(pattern);
    if (!match) {
      throw new DureError("JOB_PATTERN_INVALID", `"${pattern}" does not say who may ask whom.`, {
        class: "input",
        hint: 'Write two agents with an arrow: "ruda -> eden", "* -> reviewer-*".',
      });
    }
    return { from: glob(match[1]!), to: glob(match[2]!) };
  });
}

/** Pure. */
export function isAllowed(rules: AskRules, from: string, to: string): boolean {
  return rules.some((rule) => rule.from.test(from) && rule.to.test(to));
}

/** `*` stands for any characters, everything else for itself. */
function glob(pattern: string): RegExp {
  return new RegExp(
    `^${pattern
      .split("*")
      .map((part) => part.replaceAll(/[.+?^${}()|[\]\\]/g, String.raw`\$&`))
      .join(".*")}$`,
    "u",
  );
}
