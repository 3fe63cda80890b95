import type { Agent } from "../engine/agent/agent.ts";
import { withApproval } from "../engine/agent/tool.ts";
import type { AnyService } from "../engine/service/combine.ts";
import { DureError } from "../kernel/errors.ts";
import { closest } from "../kernel/closest.ts";
import { eachAgent, type AgentAt } from "./each-agent.ts";

/**
 * The service, with a person's yes for each call of the tools that cards of its agents name in
 * `approvals`. Throws `AGENT_INVALID`, `TOOL_APPROVAL_WITHOUT_LEDGER`.
 */
export function withApprovals<Some extends AnyService>(service: Some): Some {
  return eachAgent(service, inAgent);
}

function inAgent(agent: Agent, at: AgentAt): Agent {
  const asked = Object.entries(agent.card.approvals ?? {});
  if (asked.length === 0) return agent;
  const tools = { ...agent.tools };
  for (const [name, by] of asked) {
    const tool = tools[name];
    if (!tool) throw toolUnknown(name, agent, at);
    tools[name] = withApproval(name, tool, by);
  }

  return { ...agent, tools };
}

function toolUnknown(name: string, { tools }: Agent, { service, key }: AgentAt): DureError {
  const known = Object.keys(tools);
  const meant = closest(name, known);
  return new DureError(
    "AGENT_INVALID",
    `The agent ${service}/${key} names "${name}" in approvals, and has no such tool of its own.`,
    {
      class: "input",
      hint: meant
        ? `Did you mean ${meant}?`
        : `Its own are ${known.join(", ") || "none"}. Tools of an MCP server are named in mcp.<server>.approval.`,
    },
  );
}
