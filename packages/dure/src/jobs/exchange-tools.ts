import { z } from "zod";
import { NotSentError, tool, type AnyTool } from "../engine/agent/tool.ts";
import { jobOfSession } from "./job.ts";
import type { Jobs } from "./jobs.ts";

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
