import type { Problem } from "../../engine/files/load-service-document.ts";
import type { Clock } from "../../kernel/clock.ts";
import { DureError } from "../../kernel/errors.ts";
import type { Llm, Policy } from "../../models/card.ts";
import type { ModelMessage } from "../../models/model.ts";
import type { Models } from "../../models/models.ts";
import { runPatiently, type AttemptPatience } from "../../models/patient-attempts.ts";
import type { ReadSignatures } from "../context/outlines.ts";
import { contractProblems } from "../plan-ownership.ts";
import type { PlanThreads, PlanWork } from "../threads/plan-threads.ts";
import { correctionPrompt, systemPrompt, wishPrompt, type DraftWish } from "./draft-prompt.ts";
import { readMaterial, type DraftSource } from "./material.ts";
import { notesIn, withOpen, type DraftNotes } from "./notes.ts";
import { workerProblems, workerTexts, type TeamWorkers } from "./team-workers.ts";

/** A proposal as text, with what is wrong with it. */
export interface Draft extends DraftNotes {
  readonly text: string;
  readonly problems: readonly Problem[];
  readonly problemCount: number;
}

export interface DraftParts {
  readonly models: Pick<Models, "resolve">;
  readonly llm: Llm;
  readonly clock: Clock;
  /** While the model is away. Default none. */
  readonly patience?: AttemptPatience | undefined;
  readonly threads: Pick<PlanThreads, "read" | "run">;
  readonly workers: TeamWorkers;
  readonly signatures: ReadSignatures;
}

/** The first answer, and two corrections. Source: docs/spec/plans §2. */
const MAX_ANSWERS = 3;
/** A plan is longer than a chat's answer. */
const POLICY: Pick<Policy, "maxAttempts" | "backoffSec" | "timeoutSec"> = {
  maxAttempts: 3,
  backoffSec: 2,
  timeoutSec: 180,
};
/** A caller holds a connection open, and clients end one without an answer after 5 min. */
const MAX_PATIENCE_MS = 4 * 60_000;
/** Of a draft, in problems. */
const FILE = "draft.yaml";

/** Stands above a draft whose workers change nothing. */
const STAND_IN = `\
# The offline worker below is a stand-in: it changes nothing, so no port can pass.
# Write your agent in its place before the run, such as: workers: { default: { agent: claude } }
`;
const STAND_IN_OPEN =
  "no worker of the team, no agent and no model was found, so the plan has the offline worker, " +
  "which changes nothing: write your agent in its place";

/**
 * Lets a model propose a plan for a goal, from what the repository says. Its proposal is checked
 * like `plan check` does, and goes back to it twice at most; what is wrong then is told to a person.
 * Throws what the model's attempts end with, and `DRAFT_EMPTY`.
 */
export async function draftPlan(
  parts: DraftParts,
  wish: DraftWish,
  source: DraftSource,
  { signal }: { signal: AbortSignal },
): Promise<Draft> {
  const { signatures } = parts;
  const system = systemPrompt(workerTexts(parts.workers));
  const material = await readMaterial(source, wish.goal, { signal, signatures });

  const messages: ModelMessage[] = [{ role: "user", text: wishPrompt(wish, material) }];
  for (let answers = 1; ; answers++) {
    const answer = await ask(parts, { system, messages }, signal);
    const text = withoutFence(answer);
    if (text === "") throw draftEmpty();

    const draft = await review(text, parts, source, signal);
    if (draft.problemCount === 0 || answers === MAX_ANSWERS) return draft;

    messages.push(
      { role: "assistant", text: answer },
      { role: "user", text: correctionPrompt(draft.problems) },
    );
  }
}

async function ask(
  { models, llm, clock, patience }: DraftParts,
  request: { readonly system: string; readonly messages: readonly ModelMessage[] },
  signal: AbortSignal,
): Promise<string> {
  const { text } = await runPatiently(
    { llm, policy: POLICY },
    (attempt) =>
      models
        .resolve(attempt.llm)
        .stream(
          { ...request, messages: [...request.messages] },
          { signal: attempt.signal, attempt: attempt.attempt, labels: { what: "plan.draft" } },
        ),
    {
      clock,
      signal,
      patience: patience && {
        ...patience,
        patienceMs: Math.min(patience.patienceMs, MAX_PATIENCE_MS),
      },
    },
  );

  return text;
}

/** What is wrong with a proposal: by itself, for the files that there are, and for the team. */
async function review(
  proposed: string,
  { threads, workers }: DraftParts,
  { files }: DraftSource,
  signal: AbortSignal,
): Promise<Draft> {
  const { text, ...notes } = withStandIn(proposed);
  return { text, ...notes, ...(await reviewDraft(text, files, { threads, workers }, { signal })) };
}

/** The same for a text that a person has changed. */
export async function reviewDraft(
  text: string,
  files: DraftSource["files"],
  { threads, workers }: Pick<DraftParts, "threads" | "workers">,
  work: PlanWork,
): Promise<Pick<Draft, "problems" | "problemCount">> {
  const { plan, problems, problemCount } = await threads.read(FILE, text, work);
  if (!plan) return { problems, problemCount };

  const paths = files.map(({ path }) => path);
  const { warnings } = await threads.run("shape", [plan, paths], work);
  const found = [...contractProblems(warnings, FILE), ...workerProblems(plan, workers, FILE)];

  return { problems: found, problemCount: found.length };
}

/** Says above a text that its workers change nothing, where that is so. Pure. */
function withStandIn(proposed: string): { readonly text: string } & DraftNotes {
  const isStandIn = /\bkind:\s*["']?offline\b/.test(proposed);
  const text = isStandIn ? STAND_IN + withOpen(proposed, [STAND_IN_OPEN]) : proposed;

  return { text, ...notesIn(text) };
}

/** The text inside of a code fence, if a model wrote one around its answer. Pure. */
export function withoutFence(answer: string): string {
  const fenced = /```(?:ya?ml)?[ \t]*\n([\s\S]*?)\n?```/.exec(answer);
  const text = (fenced?.[1] ?? answer).trim();

  return text === "" ? "" : `${text}\n`;
}

function draftEmpty(): DureError {
  return new DureError("DRAFT_EMPTY", "The model proposed nothing.", {
    class: "unavailable",
    hint: "Say the goal in more words, or try another model.",
  });
}
