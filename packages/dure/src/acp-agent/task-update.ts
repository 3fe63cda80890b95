import type { PlanEntry, SessionUpdate } from "@agentclientprotocol/sdk";
import type {
  MergeOutcome,
  PlanStep,
  PortDetail,
  RunDetail,
  TranscriptLine,
  TreeDiff,
} from "../client/index.ts";
import type { Choice } from "./question.ts";
import { reasonIn, type AcpWords } from "./words.ts";

/** Files of a result that a person is told by name. */
const MAX_FILES = 50;
/** Characters of one thing that a worker did. */
const MAX_TEXT = 16_000;

/** How far a task is, as the plan that an editor draws. Pure. */
export function planEntriesOf(
  run: Pick<RunDetail, "phase" | "report">,
  { title, status, steps }: Pick<PortDetail, "title" | "status" | "steps">,
  words: AcpWords,
): PlanEntry[] {
  const isPrepared = run.phase !== "preparing";
  const entries = [entry(words.prepare, isPrepared ? "completed" : "in_progress")];
  if (steps.length === 0) entries.push(entry(title, "pending"));
  for (const step of steps) entries.push(entryOfStep(step, words));
  if (status === "held") entries.push(entry(words.approval, "in_progress"));
  entries.push(entry(words.bring, statusOfMerge(run)));

  return entries;
}

function entryOfStep({ try: number, kind, status }: PlanStep, words: AcpWords): PlanEntry {
  const step = words.steps[kind];
  const first =
    kind === "count" ? words.acceptAtStart : `${step[0]!.toUpperCase()}${step.slice(1)}`;
  return entry(
    number === 0 ? first : words.tryOf(number, step),
    status === "running" ? "in_progress" : "completed",
  );
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
export function endOfTask({ id, status, because, report }: RunDetail, words: AcpWords): string {
  if (status === "cancelled") return `${words.cancelled} ${words.look(id)}`;
  if (report?.commit !== undefined) {
    return words.done(report.branch ?? report.commit.slice(0, 12), id);
  }

  return [words.ended(status), because && reasonIn(words, because), words.look(id)]
    .filter(Boolean)
    .join(" ");
}

/** Pure. */
export function mergeChoices({ merge, leave }: AcpWords): readonly Choice[] {
  return [
    { optionId: "merge", name: merge, kind: "allow_once" },
    { optionId: "leave", name: leave, kind: "reject_once" },
  ];
}

/** What a person reads who is asked for the merge. Pure. */
export function changesOf({ changes }: TreeDiff, words: AcpWords): string {
  const named = changes
    .slice(0, MAX_FILES)
    .map(({ kind, path }) => `${words.changes[kind] ?? kind} ${path}`);
  const more = changes.length - named.length;
  if (more > 0) named.push(words.more(more));

  return named.join("\n");
}

/** Pure. */
export function mergedWords({ target, commit, updated }: MergeOutcome, words: AcpWords): string {
  const files = updated === null ? "" : words.cameAlong(updated);
  return `${words.merged(target, commit.slice(0, 12))}${files}.`;
}
