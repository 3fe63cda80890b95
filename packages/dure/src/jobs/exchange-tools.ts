import { z } from "zod";
import { NotSentError, tool, type AnyTool } from "../engine/agent/tool.ts";
import { jobOfSession } from "./job.ts";
import type { Jobs } from "./jobs.ts";
import { ANSWER_BYTES } from "./answer.ts";
import { checkText } from "./ask.ts";

/**
 * The tool `end_conversation`: this turn is the exchange's last one. Only seen in sessions of
 * exchanges.
 */
export function endConversationTool(jobs: Pick<Jobs, "endExchange">): AnyTool {
  return tool({
    description: "Ends this exchange with the other agent. Say your last words in the same turn.",
    inputSchema: z.object({ reason: z.string().max(500).optional() }),
    effect: "idempotent",
    offered: ({ session }) => jobOfSession(session) !== undefined,
    execute: async (_input, { session, turn }) => {
      if (await jobs.endExchange(session, turn)) return { ended: true };
      throw new NotSentError("NO_EXCHANGE", "There is no exchange to end here.");
    },
  });
}

/**
 * The tool `finish`: the result that the request asked for, in its own words, apart from the talk.
 * It ends the exchange with this turn. Only seen in sessions of exchanges.
 */
export function finishTool(jobs: Pick<Jobs, "endExchange">): AnyTool {
  return tool({
    description:
      "Gives the result of what was asked in this exchange, and ends it. The agent that asked " +
      "is told these words and no others, so they must stand alone.",
    inputSchema: z.object({ result: z.string().min(1).describe("The whole result, in words.") }),
    effect: "idempotent",
    offered: ({ session }) => jobOfSession(session) !== undefined,
    execute: async ({ result }, { session, turn }) => {
      checkText(result, ANSWER_BYTES);
      if (await jobs.endExchange(session, turn, result.trim())) return { finished: true };
      throw new NotSentError("NO_EXCHANGE", "There is no exchange to finish here.");
    },
  });
}
