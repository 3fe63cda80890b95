/** The pull request for a run's result. */

import { execa } from "execa";
import { z } from "zod";
import { DureError, messageOf } from "../../kernel/errors.ts";

/** The program of a person's host, which has their login. */
export type PullRequestTool = "gh" | "glab";

interface PullRequest {
  readonly branch: string;
  /** The branch that it goes into. */
  readonly base: string;
  readonly title: string;
  readonly body: string;
}

interface RepositoryPlace {
  /** The person's repository. */
  readonly cwd: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly signal: AbortSignal;
}

const NETWORK_MS = 60_000;
const MAX_OUTPUT = 1_000_000;
/** Variables of the person that lead to their host and open it. */
const PASSED =
  /^(?:PATH|HOME|USER|XDG_CONFIG_HOME|G[HL]_.*|GITHUB_TOKEN|GITLAB_.*|(?:https?|all|no)_proxy)$/i;

/** `null`: how a program in Go may write an empty list. */
const found = z
  .array(
    z.union([
      z.object({ url: z.string() }).transform(({ url }) => url),
      z.object({ web_url: z.string() }).transform(({ web_url }) => web_url),
    ]),
  )
  .nullable();

/**
 * The address of the open pull request of a branch: the one that is there, else a new one. So a
 * second call, also after a crash, makes no second one. Throws `PULL_REQUEST_FAILED`.
 */
export async function openPullRequest(
  tool: PullRequestTool,
  request: PullRequest,
  place: RepositoryPlace,
): Promise<string> {
  const there = await findPullRequest(tool, request.branch, place);
  if (there !== undefined) return there;
  try {
    await run(tool, CREATE[tool](request), place);
  } catch (error) {
    // Another process may have been faster.
    const since = await findPullRequest(tool, request.branch, place);
    if (since !== undefined) return since;
    throw error;
  }
  const made = await findPullRequest(tool, request.branch, place);
  if (made !== undefined) return made;
  throw failed(tool, "it said that it made one, and lists none");
}

async function findPullRequest(
  tool: PullRequestTool,
  branch: string,
  place: RepositoryPlace,
): Promise<string | undefined> {
  const text = await run(tool, LIST[tool](branch), place);
  if (text.trim() === "") return undefined;
  try {
    return found.parse(JSON.parse(text))?.[0];
  } catch (error) {
    throw failed(tool, `its list is not readable: ${text.slice(0, 200)}`, error);
  }
}

const LIST: Readonly<Record<PullRequestTool, (branch: string) => readonly string[]>> = {
  gh: (branch) => ["pr", "list", "--head", branch, "--state", "open", "--json", "url"],
  glab: (branch) => ["mr", "list", "--source-branch", branch, "--output", "json"],
};
const CREATE: Readonly<Record<PullRequestTool, (request: PullRequest) => readonly string[]>> = {
  gh: ({ branch, base, title, body }) => [
    ...["pr", "create", "--head", branch, "--base", base],
    ...["--title", title, "--body", body],
  ],
  glab: ({ branch, base, title, body }) => [
    ...["mr", "create", "--source-branch", branch, "--target-branch", base],
    ...["--title", title, "--description", body, "--yes"],
  ],
};

async function run(
  tool: PullRequestTool,
  args: readonly string[],
  { cwd, env, signal }: RepositoryPlace,
): Promise<string> {
  const passed = Object.entries(env).filter(([name]) => PASSED.test(name));
  try {
    const { stdout } = await execa(tool, args, {
      cwd,
      env: { ...Object.fromEntries(passed), GH_PROMPT_DISABLED: "1", NO_COLOR: "1" },
      extendEnv: false,
      stdin: "ignore",
      timeout: NETWORK_MS,
      maxBuffer: MAX_OUTPUT,
      cancelSignal: signal,
    });

    return stdout;
  } catch (error) {
    signal.throwIfAborted();
    throw failed(tool, messageOf(error).slice(0, 2_000), error);
  }
}

function failed(tool: PullRequestTool, why: string, cause?: unknown): DureError {
  return new DureError("PULL_REQUEST_FAILED", `${tool} could not open a pull request: ${why}`, {
    class: "unavailable",
    hint: `The branch is pushed. Try ${tool} by hand as the user that runs dure, then publish again.`,
    cause,
  });
}
