import type { Clock } from "../kernel/clock.ts";
import { DureError } from "../kernel/errors.ts";
import { runAttempts } from "../models/attempts.ts";
import type { Llm, Policy } from "../models/card.ts";
import type { Models } from "../models/models.ts";
import type { ModelMessage } from "../models/model.ts";
import type { PlanThreads } from "./threads/plan-threads.ts";

/** Characters of the list of files that the model sees. Some thousand paths. */
const MAX_FILES = 60_000;
/**
 * Answers that are asked for: the first, and one more that is told what is wrong with it.
 */
const MAX_ANSWERS = 2;
/** A plan is longer than a chat's answer. */
const POLICY: Pick<Policy, "maxAttempts" | "backoffSec" | "timeoutSec"> = {
  maxAttempts: 3,
  backoffSec: 2,
  timeoutSec: 180,
};

/** The workers of a draft, and what a person should know about them. */
interface DraftWorkers {
  /** As the plan writes it: `{ kind: … }`. */
  readonly spec: string;
  /** Other workers that the plan may name, in words for the model. */
  readonly others: string;
}

/**
 * What works on a draft: a worker of the team's own, else its model. A team with neither gets a
 * stand-in, which {@link draftPlan} says in the draft. Pure.
 */
export function workersOfDraft(own: readonly string[], { provider, model }: Llm): DraftWorkers {
  const [first, ...others] = own;
  if (first !== undefined) {
    return { spec: `{ kind: own, name: ${first} }`, others: others.join(", ") };
  }
  if (provider === "offline") return { spec: "{ kind: offline }", others: "" };
  return { spec: `{ kind: model, model: ${JSON.stringify(`${provider}:${model}`)} }`, others: "" };
}

/** Stands above a draft whose workers change nothing. */
const STAND_IN = `\
# The offline worker below is a stand-in: it changes nothing, so no port can pass.
# Write your agent in its place before the run, such as: workers: { default: { agent: claude } }
`;

/**
 * What the model is told; the goal and the files come behind it. Source of the format:
 * docs/spec/plans §2.
 */
const systemFor = ({
  spec,
  others,
}: DraftWorkers): string => `You split a change of a git repository into units of work (ports) \
that separate agents can build side by side.
Answer with the text of one plan.yaml and nothing else. Its keys:

plan: a short name of Latin letters, digits, - and _
base: HEAD
setup: shell command that runs once in a fresh checkout (leave it out when nothing is needed)
integration: shell command that builds and tests the whole
roles: modules
limits: { max_concurrency: 3, timeout_per_port: 30m, tries: 3 }
workers: { default: ${spec} }   # as it stands here${others && `; other names are ${others}`}
contracts: [{ path: file that two ports share, by: orchestrator }]   \
# only where two ports share a type; else leave it out
ports:
  - id: name
    title: a few words
    role: name of its module
    dependsOn: [ids of ports whose result it needs]   # it reads them; no circles
    owns: [globs of what its implementer may write, such as src/module/**]
    tests: [globs of what its tester may write]
    reads: [globs of other ports that it must read and does not depend on; mostly left out]
    acceptance: shell command whose exit code decides whether it is done
    goal: |
      What is there when it is done, in words that a reader of this port alone understands.

Every path has one owner: globs of two ports must not overlap. \
Use the repository's own test command. As few ports as the work needs.`;

const CORRECT_IT =
  "This plan has problems. Answer with the whole corrected plan.yaml and nothing else.";

/**
 * Lets a model propose a plan for a goal. What it proposes is checked once and given back to it
 * when it is wrong; the second answer is taken as it is, for a person to read. Throws what the
 * model's attempts end with, and `DRAFT_EMPTY`.
 */
export async function draftPlan(
  parts: {
    readonly models: Pick<Models, "resolve">;
    readonly llm: Llm;
    readonly clock: Clock;
    readonly threads: Pick<PlanThreads, "read">;
    readonly workers: DraftWorkers;
  },
  goal: string,
  files: readonly string[],
  { signal }: { signal: AbortSignal },
): Promise<string> {
  const { models, llm, clock, threads } = parts;
  const system = systemFor(parts.workers);
  const messages: ModelMessage[] = [
    { role: "user", text: `The goal:\n${goal}\n\nFiles of the repository:\n${listed(files)}` },
  ];
  let text = "";
  for (let answers = 1; ; answers++) {
    const { value } = await runAttempts(
      { llm, policy: POLICY },
      (attempt) =>
        models
          .resolve(attempt.llm)
          .stream(
            { system, messages },
            { signal: attempt.signal, attempt: attempt.attempt, labels: { what: "plan.draft" } },
          ),
      { clock, signal },
    );
    text = withoutFence(value.text);
    if (text === "") {
      throw new DureError("DRAFT_EMPTY", "The model proposed nothing.", {
        class: "unavailable",
        hint: "Say the goal in more words, or try another model.",
      });
    }
    const { problems } = await threads.read("draft.yaml", text, { signal });
    if (problems.length === 0 || answers === MAX_ANSWERS) return withStandIn(text);
    const told = problems
      .slice(0, 20)
      .map(
        ({ line, key, message, hint }) =>
          `line ${line ?? 1}: ${key} ${message}${hint === undefined ? "" : ` (${hint})`}`,
      );
    messages.push(
      { role: "assistant", text: value.text },
      {
        role: "user",
        text: `${CORRECT_IT}\n${told.join("\n")}`,
      },
    );
  }
}

/** The text inside of a code fence, if a model wrote one around its answer. Pure. */
export function withoutFence(answer: string): string {
  const fenced = /```(?:ya?ml)?[ \t]*\n([\s\S]*?)\n?```/.exec(answer);
  const text = (fenced?.[1] ?? answer).trim();
  return text === "" ? "" : `${text}\n`;
}

/** Says above the text that its workers change nothing, where that is so. Pure. */
function withStandIn(text: string): string {
  return /\bkind:\s*["']?offline\b/.test(text) ? `${STAND_IN}${text}` : text;
}

function listed(files: readonly string[]): string {
  let text = "";
  for (const [index, file] of files.entries()) {
    if (text.length + file.length > MAX_FILES) {
      return `${text}… and ${files.length - index} more\n`;
    }
    text += `${file}\n`;
  }
  return text;
}
