import { z } from "zod";
import { isRefusal } from "../durable/passing.ts";
import { fileResult, type FileResult } from "../engine/agent/file-result.ts";
import { tool, type AnyTool } from "../engine/agent/tool.ts";
import { MAX_MESSAGE_FILES } from "../kernel/files.ts";
import type { AskResult } from "./ask.ts";
import type { JobFiles } from "./job-files.ts";
import type { Jobs } from "./jobs.ts";

const input = z.object({
  agent: z.string().min(1).max(64).describe("Id of the agent to ask."),
  message: z
    .string()
    .min(1)
    .describe(
      "What you want, in words that stand alone: the other one sees nothing of this conversation.",
    ),
  waitSec: z
    .number()
    .min(0)
    .max(300)
    .optional()
    .describe(
      "Seconds to wait for the answer, 0 to 300; default 30. With 0 the work goes on in the " +
        "background and the result is told here; in an exchange, with your next turn.",
    ),
  maxTurns: z
    .int()
    .min(0)
    .optional()
    .describe("Longest exchange, in turns. Leave it out unless you know better."),
  topic: z.string().optional(),
  conversationId: z
    .string()
    .optional()
    .describe(
      "The conversation that it belongs to; the last words that you two said in it are told again.",
    ),
  // Checked by the job itself, whose complaint names the members.
  payload: z
    .looseObject({ kind: z.enum(["task_delegation", "status_report", "question", "answer"]) })
    .optional(),
  files: z
    .array(z.string().min(1).max(200))
    .max(MAX_MESSAGE_FILES)
    .optional()
    .describe("Names of files of this conversation that go with it."),
  idempotencyKey: z.string().min(1).max(150).optional(),
});

/** A request of which no job came. */
interface AskRefused {
  readonly status: "forbidden" | "error";
  readonly code: string;
  readonly hint: string;
}

/** Codes of a request that the team does not allow. */
const FORBIDDEN = new Set(["JOB_NOT_ALLOWED"]);

/**
 * The tool `ask_agent` of one agent. A call that death cut off is made again under the same key,
 * and finds the job that it made. A key that the agent itself chose counts in its session: another
 * place has other people in it, who want to be told as well.
 *
 * @param requester the id of the agent that has the tool.
 */
export function askAgentTool(
  jobs: Pick<Jobs, "ask"> & { readonly files: Pick<JobFiles, "read"> },
  { requester }: { requester: string },
): AnyTool {
  return tool({
    description:
      "Asks another agent of the team and gives its answer. Use it for what another one " +
      "knows or does better.",
    inputSchema: input,
    effect: "idempotent",
    // Longer than the longest wait.
    timeout: "320s",
    execute: async (
      { idempotencyKey, ...request },
      { key, session, turn },
      { signal },
    ): Promise<AskResult | AskRefused | FileResult<AskResult>> => {
      try {
        const result = await jobs.ask(
          {
            ...request,
            requester,
            key: idempotencyKey === undefined ? key : `${session}/${idempotencyKey}`,
            origin: { session, turn },
          },
          { signal },
        );
        if (result.status !== "ok" || !result.files) return result;
        const { files, ...told } = result;
        return fileResult(told, await jobs.files.read(result.jobId, files, { signal }));
      } catch (error) {
        if (signal.aborted || !isRefusal(error)) throw error;
        return {
          status: FORBIDDEN.has(error.code) ? "forbidden" : "error",
          code: error.code,
          hint: [error.message, error.hint].filter(Boolean).join(" "),
        };
      }
    },
  });
}
