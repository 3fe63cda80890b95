import { DureError } from "../../kernel/errors.ts";
import type { Git, GitPlace } from "./git.ts";

/**
 * Why a text cannot be a ref; undefined when it can. Pure. Source: git-check-ref-format(1), and
 * names that two file systems read differently.
 */
export function refProblem(ref: string): string | undefined {
  if (ref.length > 400) return "it is longer than 400 characters";
  if (!/^[\x21-\x7e]+$/.test(ref)) return "it has a character other than visible ASCII";
  if (/[~^:?*[\\]/.test(ref)) return "it has one of the characters ~ ^ : ? * [ \\";
  if (ref.includes("..") || ref.includes("@{")) return "it has .. or @{";
  const parts = ref.split("/");
  if (parts.includes("")) return "it has an empty segment";
  if (parts.some((part) => /^[.-]|\.(?:lock)?$/.test(part))) {
    return "a segment begins with . or -, or ends with . or .lock";
  }
  return undefined;
}

export interface Reachability {
  readonly commits: readonly string[];
  /** Refs or commits. */
  readonly from: readonly string[];
  readonly signal?: AbortSignal | undefined;
}

/** Whether all commits are there and reachable from the refs or commits. */
export async function verifyReachable(
  git: Git,
  at: GitPlace,
  { commits, from, signal }: Reachability,
): Promise<boolean> {
  if (commits.length === 0) return true;
  if (from.length === 0) return false;
  const input = [...commits, ...from.map((one) => `^${one}`)].map((line) => `${line}\n`).join("");
  const { exitCode, stdout } = await git.run(["rev-list", "--max-count=1", "--stdin"], {
    at,
    input,
    accept: [0, 128],
    signal,
  });
  return exitCode === 0 && stdout.length === 0;
}

/** What refs point to, by their name behind the prefix, which is a whole number of segments. */
export async function listRefs(
  git: Git,
  at: GitPlace,
  prefix: string,
  signal?: AbortSignal,
): Promise<Map<string, string>> {
  const { stdout } = await git.run(["for-each-ref", "--format=%(objectname) %(refname)", prefix], {
    at,
    signal,
  });
  const lines = stdout.toString().split("\n").filter(Boolean);
  return new Map(
    lines.map((line) => [
      line.slice(line.indexOf(" ") + 1 + prefix.length),
      line.slice(0, line.indexOf(" ")),
    ]),
  );
}

/** `base` and `branch` are dure's own names below `refs/dure/<run>/`. */
export function workRef(ref: string): string {
  const problem = /^(?:base|branch)(?:\/|$)/.test(ref)
    ? "the name is taken"
    : refProblem(`refs/work/${ref}`);
  if (problem) {
    throw new DureError("REF_INVALID", `"${ref}" cannot be a ref of a run: ${problem}.`, {
      class: "input",
    });
  }
  return `refs/work/${ref}`;
}

export function outcomeRef(ref: string): string {
  return workRef(ref).replace("refs/work/", "refs/outcome/");
}
