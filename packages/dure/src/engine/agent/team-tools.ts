import { z } from "zod";
import { DureError } from "../../kernel/errors.ts";
import { tool, type AnyTool } from "./tool.ts";

/** Tools that a team gives to its agents. Those of exchanges and rooms are seen there alone. */
export const TEAM_TOOLS = [
  "ask_agent",
  "cancel_job",
  "collaborate",
  "resolve_escalation",
  "finish",
  "end_conversation",
  "stay_silent",
  "leave",
] as const;
/** Names of the tools that agents of a team have. */
export type TeamToolName = (typeof TEAM_TOOLS)[number];

/**
 * The tools of the team, for agents of a service: `tools: { ask_agent: teamTools.ask_agent }`, or
 * their names in a card. An agent that answers for itself has them all. When the team starts, its
 * own tools replace these; the user of the tool is then the team's agent that answers through the
 * service. Outside of a team a call fails with `TEAM_TOOL_UNBOUND`.
 */
export const teamTools: Readonly<Record<TeamToolName, AnyTool>> = Object.fromEntries(
  TEAM_TOOLS.map((name) => [name, unbound(name)]),
) as Record<TeamToolName, AnyTool>;

function unbound(name: TeamToolName): AnyTool {
  const stand = tool({
    description: `${name} of the team`,
    inputSchema: z.looseObject({}),
    execute: () => {
      throw new DureError(
        "TEAM_TOOL_UNBOUND",
        `The tool ${name} belongs to a team, and this service runs without one.`,
        {
          class: "input",
          hint: "Start it with startTeam, with an agent that answers through this service.",
        },
      );
    },
  });
  return { ...stand, ofTeam: name };
}
