import { FILE_RULE_NAMES } from "./file-rules.ts";
import { ENV_SECRET, GIVEN_SECRET, GENERAL_RULES, SECRET_RULES } from "./secret-rules.ts";

/** The rules of findings by name: what an operator may allow. */
export const LEAVING_RULES: readonly string[] = [
  ...new Set([...SECRET_RULES, ...GENERAL_RULES, ENV_SECRET].map(({ rule }) => rule)),
  ...FILE_RULE_NAMES,
  GIVEN_SECRET,
  "submodule",
  "not-looked-at",
];
