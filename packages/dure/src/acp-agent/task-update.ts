import type { PlanEntry, SessionUpdate } from "@agentclientprotocol/sdk";
import type {
  MergeOutcome,
  PlanStep,
  PortDetail,
  RunDetail,
  TranscriptLine,
  TreeDiff,
} from "../client/index.ts";
import type { StepKind } from "../kernel/plans.ts";
import type { Choice } from "./question.ts";

/** Files of a result that a person is told by name. */
const MAX_FILES = 50;
/** Characters of one thing that a worker did. */
const MAX_TEXT = 16_000;

const STEP_WORDS: Readonly<Record<StepKind, string>> = {
  contracts: "write the contracts",
  setup: "set up",
  implement: "implement",
  test: "write tests",
  accept: "run the acceptance",
  count: "count tests",
  base: "run the acceptance without the work",
  check: "check",
  module: "build the module",
  merge: "merge",
  shared: "change shared files",
  integrate: "run the tests of the result",
  review: "review",
};

/** How far a task is, as the plan that an editor draws. Pure. */
export function planEntriesOf(
  run: Pick<RunDetail, "phase" | "report">,
  { title, status, steps }: Pick<PortDetail, "title" | "status" | "steps">,
): PlanEntry[] {
  const isPrepared = run.phase !== "preparing";
  const entries = [entry("Prepare a tree of its own", isPrepared ? "completed" : "in_progress")];
  if (steps.length === 0) entries.push(entry(title, "pending"));
  for (const step of steps) entries.push(entryOfStep(step));
  if (status === "held") entries.push(entry("Wait for a person's approval", "in_progress"));
  entries.push(entry("Bring the result to its branch", statusOfMerge(run)));

  return entries;
}

function entryOfStep({ try: number, kind, status }: PlanStep): PlanEntry {
  const words = number === 0 ? STEP_WORDS[kind] : `Try ${number}: ${STEP_WORDS[kind]}`;
  return entry(words, status === "running" ? "in_progress" : "completed");
}

function statusOfMerge({ phase, report }: Pick<RunDetail, "phase" | "report">) {
  if (phase === "merging") return "in_progress";
  return phase === "over" && report?.commit !== undefined ? "completed" : "pending";
}

function entry(content: string, status: PlanEntry["status"]): PlanEntry {
  return { content, status, priority: "medium" };
}

/** What an editor is told of a line of the transcript; undefined: nothing. Pure. */
export function lineUpdateOf(run: string, line: TranscriptLine): SessionUpdate | undefined {
  const { kind, id, step, text } = line;
  const messageId = `${run}-${step}`;
  const content = { type: "text" as const, text: cut(`${text}\n`) };
  switch (kind) {
    case "message":
      return { sessionUpdate: "agent_message_chunk", content, messageId };
    case "thought":
      return { sessionUpdate: "agent_thought_chunk", content, messageId };
    case "tool":
    case "refused":
    case "stdout":
    case "stderr":
      return toolOf(`${run}-${id}`, line);
    default:
      return undefined;
  }
}

function toolOf(toolCallId: string, { kind, title, text, status }: TranscriptLine): SessionUpdate {
  const isFailed = kind === "refused" || status === "failed";
  return {
    sessionUpdate: "tool_call",
    toolCallId,
    title: title || kind,
    kind: kind === "tool" ? "other" : "execute",
    status: isFailed ? "failed" : "completed",
    content: [{ type: "content", content: { type: "text", text: cut(text) } }],
  };
}

function cut(text: string): string {
  return text.length > MAX_TEXT ? `${text.slice(0, MAX_TEXT)}…` : text;
}

/** How a task has ended, in words. Pure. */
export function endOfTask({ id, status, because, report }: RunDetail): string {
  const look = `\`dure plan status ${id}\` says more.`;
  if (status === "cancelled") return `The task was cancelled. What was made is kept. ${look}`;
  if (report?.commit !== undefined) {
    const branch = report.branch ?? report.commit.slice(0, 12);
    return `The task is done: ${branch}. \`dure plan merge ${id}\` takes it over.`;
  }
  const why = because === null ? "" : ` ${because.message}`;

  return `The task has ended as ${status}.${why} ${look}`;
}

export const MERGE_CHOICES: readonly Choice[] = [
  { optionId: "merge", name: "Merge it", kind: "allow_once" },
  { optionId: "leave", name: "Leave it on its branch", kind: "reject_once" },
];

/** What a person reads who is asked for the merge. Pure. */
export function changesOf({ changes }: TreeDiff): string {
  const named = changes.slice(0, MAX_FILES).map(({ kind, path }) => `${kind} ${path}`);
  const more = changes.length - named.length;
  if (more > 0) named.push(`and ${more} more`);

  return named.join("\n");
}

/** Pure. */
export function mergedWords({ target, commit, updated }: MergeOutcome): string {
  const files = updated === null ? "" : `; the files in ${updated} came along`;
  return `Merged into ${target}, which is now at ${commit.slice(0, 12)}${files}.`;
}
