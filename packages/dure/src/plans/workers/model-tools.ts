import { bytesWords } from "../sandbox/memory-watch.ts";
import { z } from "zod";
import { messageOf } from "../../kernel/errors.ts";
import type { Json, JsonObject } from "../../kernel/json.ts";
import type { ToolCall, ToolSpec } from "../../models/model.ts";
import { sayReason } from "../scope.ts";
import { headOf, tailOf } from "./bounded-text.ts";
import { testFeedbackSchema } from "./feedback.ts";
import { workerEnv } from "./processes.ts";
import type { FileRefusal } from "./file-answer.ts";
import type { ScopedFiles } from "./scoped-files.ts";
import type { WorkerReport } from "./worker-run.ts";
import type { Assignment, WorkerResult } from "./worker.ts";

/** Characters of one tool's answer: about 8,000 tokens. */
const MAX_ANSWER = 30_000;
/**
 * Milliseconds of one command, unless the model asks for less or more; never beyond the
 * assignment's.
 */
const COMMAND_MS = 120_000;

/** What a tool gets. */
export interface WorkerToolContext {
  readonly assignment: Assignment;
  readonly files: ScopedFiles;
  readonly report: WorkerReport;
  /** Files that were changed through tools, for the claim at the end. */
  readonly changed: Set<string>;
}

/** What the model is told. `end`: it has reported, and the try is over. */
export interface ToolAnswer {
  readonly result: Json;
  readonly isError?: boolean | undefined;
  readonly end?: Omit<WorkerResult, "tokens"> | undefined;
}

interface WorkerTool<Input> {
  readonly description: string;
  readonly input: z.ZodType<Input>;
  run(input: Input, context: WorkerToolContext): Promise<ToolAnswer>;
}

const FEEDBACK_FORM = [
  "Testers only: {success,",
  "failed_tests: [{name, expected, actual, stack_trace, suggested_fix, file, line}],",
  "suggestions, metrics: {total, passed, failed, duration_ms}}",
].join(" ");

const path = z.string().describe("From the root of the repository, such as src/login.ts");

const TOOLS = {
  read: tool({
    description: "Reads a text file, or lines of it. Read a file before you change it.",
    input: z.object({
      path,
      first_line: z.int().min(1).optional().describe("1-based"),
      lines: z.int().min(1).optional(),
    }),
    async run({ path, first_line: first = 1, lines }, { files, report }) {
      const file = await files.read(path);
      if (!file.ok) return refused(file, report);
      if (first === 1 && lines === undefined) return { result: clipped(file.text) };
      const last = lines === undefined ? undefined : first - 1 + lines;
      const part = file.text.split("\n").slice(first - 1, last);
      return { result: clipped(part.join("\n")) };
    },
  }),
  list: tool({
    description: "Lists the files that you may read, below a folder or everywhere.",
    input: z.object({ folder: z.string().optional() }),
    async run({ folder = "" }, { files }) {
      const { paths, more } = await files.list(folder);
      const all = more ? [...paths, "… and more; name a folder"] : paths;
      return { result: clipped(all.join("\n") || "No files that you may read.") };
    },
  }),
  search: tool({
    description: "Finds lines that hold a text (no pattern) in the files that you may read.",
    input: z.object({
      text: z.string().min(1),
      folder: z.string().optional(),
      ignore_case: z.boolean().optional(),
    }),
    async run({ text, folder = "", ignore_case: ignoreCase = false }, { files, report }) {
      const { hits, more } = await files.search(text, {
        folder,
        ignoreCase,
        signal: report.signal,
      });
      const found = hits.map((hit) => `${hit.path}:${hit.line}: ${hit.text}`);
      if (more) found.push("… and more; search for a longer text");
      return { result: clipped(found.join("\n") || "Nothing found.") };
    },
  }),
  edit: tool({
    description:
      "Replaces a text in a file by another one. The text must stand in it exactly once, to the letter.",
    input: z.object({ path, old: z.string(), new: z.string() }),
    async run({ path, old, new: next }, { files, report, changed }) {
      const done = await files.edit(path, old, next);
      if (!done.ok) return refused(done, report);
      changed.add(path);
      return { result: `Changed ${path}.` };
    },
  }),
  write: tool({
    description: "Writes a whole file, a new one or one that you have read.",
    input: z.object({ path, content: z.string() }),
    async run({ path, content }, { files, report, changed }) {
      const done = await files.write(path, content);
      if (!done.ok) return refused(done, report);
      changed.add(path);
      return { result: `${done.created ? "Made" : "Wrote"} ${path}.` };
    },
  }),
  delete: tool({
    description: "Deletes a file that you have read.",
    input: z.object({ path }),
    async run({ path }, { files, report, changed }) {
      const done = await files.delete(path);
      if (!done.ok) return refused(done, report);
      changed.add(path);
      return { result: `Deleted ${path}.` };
    },
  }),
  run: tool({
    description: [
      "Runs a shell command at the root of the repository, in a sandbox:",
      "it can write what you own and a temporary folder, nothing else.",
    ].join(" "),
    input: z.object({
      command: z.string().min(1).max(10_000),
      timeout_s: z.number().min(1).max(3_600).optional(),
    }),
    async run({ command, timeout_s: seconds }, { assignment, report }) {
      const { timeMs, outputBytes, fileBytes, processes } = assignment.limits;
      const limits = {
        timeMs: Math.min(timeMs, seconds === undefined ? COMMAND_MS : seconds * 1_000),
        outputBytes,
        fileBytes,
        processes,
      };
      const end = await report.during(
        assignment.sandbox.run(
          assignment.confinement,
          { command, env: workerEnv(assignment), limits },
          { signal: report.signal, onStart: assignment.onStart },
        ),
      );
      const how = {
        exited:
          end.signal === null ? `exit code ${end.exitCode ?? "unknown"}` : `ended by ${end.signal}`,
        time: "ended: it took too long",
        output: "ended: it wrote too much",
        memory: `ended: it took more memory than ${bytesWords(end)}`,
        disk: `ended: it wrote more than ${bytesWords(end)} to the disk`,
        refused: "stopped",
        aborted: "stopped",
      }[end.because];
      return { result: `${how}\n${middleLeftOut(end.output, MAX_ANSWER)}` };
    },
  }),
  ask: tool({
    description: [
      "Asks the other member of your pair, or the operator, and waits for the answer.",
      "Ask only what the files cannot tell you.",
    ].join(" "),
    input: z.object({ question: z.string().min(1).max(4_000) }),
    async run({ question }, { assignment, report }) {
      const asked = assignment.channel.query(question, { signal: report.signal });
      return { result: clipped(await report.during(asked)) };
    },
  }),
  request_access: tool({
    description: [
      "Asks the operator for a file or folder outside of your scope,",
      "to read it or to own it, and waits for the answer.",
    ].join(" "),
    input: z.object({ path, wants: z.enum(["read", "own"]), why: z.string().min(1).max(2_000) }),
    async run(request, { files, report }) {
      const { granted, note } = await report.requestAccess(request);
      if (granted) files.grant(request.path.replace(/\/+$/, ""), request.wants);
      return { result: `${granted ? "Granted" : "Refused"}: ${clipped(note)}` };
    },
  }),
  report: tool({
    description: "Ends your work. Call it once, when you are ready or cannot go on.",
    input: z.object({
      status: z
        .enum(["ready", "partial", "failed"])
        .describe("partial: some of it is done; failed: none of it can be done"),
      summary: z.string().min(1).describe("What you did and what is left, in a few sentences"),
      feedback: z.unknown().optional().describe(FEEDBACK_FORM),
    }),
    run({ status, summary, feedback }, { changed }) {
      const read =
        feedback === undefined || feedback === null
          ? undefined
          : testFeedbackSchema.safeParse(feedback);
      if (read && !read.success) {
        return Promise.resolve({
          result: `The feedback cannot be read: ${read.error.issues[0]?.message ?? ""}`,
          isError: true,
        });
      }
      const end = { status, summary, claimedFiles: [...changed], feedback: read?.data };
      return Promise.resolve({ result: "Thank you.", end });
    },
  }),
} as const;

/** The tools as a model sees them. */
export const TOOL_SPECS: readonly ToolSpec[] = Object.entries(TOOLS).map(
  ([name, { description, input }]) => ({
    name,
    description,
    inputSchema: z.toJSONSchema(input, { io: "input" }) as JsonObject,
  }),
);

/** Runs one call. What the model does wrong is an answer; an abort alone throws. */
export async function callTool(call: ToolCall, context: WorkerToolContext): Promise<ToolAnswer> {
  const tool = Object.hasOwn(TOOLS, call.name)
    ? (TOOLS[call.name as keyof typeof TOOLS] as WorkerTool<unknown>)
    : undefined;
  if (!tool) {
    const names = Object.keys(TOOLS).join(", ");
    return {
      result: `There is no tool ${headOf(call.name, 100)}; there are ${names}.`,
      isError: true,
    };
  }
  if (call.invalidArgs !== undefined) {
    return { result: "The arguments are no JSON.", isError: true };
  }
  const input = tool.input.safeParse(call.args);
  if (!input.success) {
    return {
      result: input.error.issues
        .map((issue) => `${issue.path.join(".") || "arguments"}: ${issue.message}`)
        .join("; "),
      isError: true,
    };
  }
  context.report.progress({
    currentTask: taskOf(call.name, input.data as Record<string, unknown>),
  });
  try {
    return await tool.run(input.data, context);
  } catch (error) {
    context.report.signal.throwIfAborted();
    return { result: `${call.name} failed: ${messageOf(error)}`, isError: true };
  }
}

/** What is shown while a tool runs. */
function taskOf(name: string, input: Record<string, unknown>): string {
  const names = ["path", "command", "text", "question", "folder"];
  const about = names.map((one) => input[one]).find((value) => value != null);
  return `${name} ${typeof about === "string" ? about.split("\n")[0]! : ""}`.trim();
}

/** What is outside of the scope is recorded; all else is the way things are. */
function refused(refusal: FileRefusal, report: WorkerReport): ToolAnswer {
  if (refusal.kind !== "violation") return { result: refusal.message, isError: true };
  const { path, wanted, because = "not-owned", message } = refusal;
  report.violation({ path, wanted, because, detail: message === "" ? undefined : message });
  report.signal.throwIfAborted();
  const detail = message === "" ? "" : ` (${message})`;
  return {
    result: [
      `Refused and recorded: ${sayReason(because)}${detail}.`,
      "Ask with request_access if you need it.",
    ].join(" "),
    isError: true,
  };
}

function tool<Input>(definition: WorkerTool<Input>): WorkerTool<Input> {
  return definition;
}

function clipped(text: string): string {
  return text.length > MAX_ANSWER
    ? `${headOf(text, MAX_ANSWER)}\n(${text.length - MAX_ANSWER} more characters; ask for a part)`
    : headOf(text, MAX_ANSWER);
}

/** Errors stand at the beginning of an output, totals at its end. */
function middleLeftOut(text: string, longest: number): string {
  return text.length <= longest
    ? headOf(text, longest)
    : `${headOf(text, longest / 3)}\n[…]\n${tailOf(text, (longest * 2) / 3)}`;
}
