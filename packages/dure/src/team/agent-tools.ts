import { AuditLog } from "../durable/audit-log.ts";
import { z } from "zod";
import { tool, type AnyTool } from "../engine/agent/tool.ts";
import { askAgentTool } from "../jobs/ask-agent-tool.ts";
import { endConversationTool, finishTool } from "../jobs/exchange-tools.ts";
import { jobOfSession } from "../jobs/job.ts";
import type { Jobs } from "../jobs/jobs.ts";
import type { Inbox } from "../escalations/inbox.ts";
import { collaborateTool, presenceTools, type RoomToolsParts } from "../rooms/handover/tools.ts";
import { resolveEscalationTool } from "./escalations.ts";

/** What the tools of agents work with; open when the team has started. */
export interface AgentToolsParts {
  readonly rooms: RoomToolsParts;
  readonly jobs: Jobs;
  readonly inbox: Inbox;
}

/**
 * Tools that every agent of a team gets. They are values that services hold from the start; a call
 * waits for `parts`.
 */
export function agentTools(
  agent: string,
  parts: () => Promise<AgentToolsParts>,
): Readonly<Record<string, AnyTool>> {
  const rooms = async (): Promise<RoomToolsParts> => (await parts()).rooms;
  const jobs = {
    ask: async (...given: Parameters<Jobs["ask"]>) => (await parts()).jobs.ask(...given),
    files: {
      read: async (...given: Parameters<Jobs["files"]["read"]>) =>
        (await parts()).jobs.files.read(...given),
    },
    endExchange: async (...given: Parameters<Jobs["endExchange"]>) =>
      (await parts()).jobs.endExchange(...given),
  };

  const presence = presenceTools(rooms);

  return {
    collaborate: collaborateTool(agent, rooms),
    ask_agent: askAgentTool(jobs, { requester: agent }),
    resolve_escalation: resolveEscalationTool(agent, async () => {
      const {
        inbox,
        rooms: { database },
      } = await parts();
      return { inbox, database };
    }),
    cancel_job: cancelJobTool(agent, parts),
    ...presence,
    finish: finishTool(jobs),
    end_conversation: inExchangesOr(endConversationTool(jobs), presence["end_conversation"]!),
  };
}

/** One name for one wish: in an exchange it ends that, in a room the agent's part there. */
function inExchangesOr(inExchange: AnyTool, inRoom: AnyTool): AnyTool {
  return {
    ...inRoom,
    inputSchema: inExchange.inputSchema,
    offered: (turn) => (inExchange.offered?.(turn) ?? false) || (inRoom.offered?.(turn) ?? false),
    execute: (input, context, options) =>
      (jobOfSession(context.session) === undefined ? inRoom : inExchange).execute(
        input,
        context,
        options,
      ),
  };
}

function cancelJobTool(agent: string, parts: () => Promise<AgentToolsParts>): AnyTool {
  return tool({
    description: "Cancels background work that you have asked for with ask_agent, by its job id.",
    inputSchema: z.object({ jobId: z.string().min(1).max(100) }),
    effect: "idempotent",
    execute: async ({ jobId }, { session }) => {
      const {
        jobs,
        rooms: { database },
      } = await parts();

      const { tenant, status } = await jobs.cancelAsked(jobId, { requester: agent, session });

      await new AuditLog({ database }).note({
        tenant,
        name: `agent:${agent}`,
        what: "job.cancel",
        subject: jobId,
      });

      return { jobId, status };
    },
  });
}
