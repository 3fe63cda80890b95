import { skillsPart } from "../../engine/agent/skills.ts";
import type { Skill } from "../../engine/files/skill-files.ts";
import { agentServices } from "../../team/agents.ts";
import { withApprovals } from "../../team/approvals.ts";
import type { LoadedTeam } from "../../team/config.ts";
import { ownLeavesOf } from "../../engine/service/combine.ts";
import { skillsOf, withSkills } from "../../team/skills.ts";
import { failed, type Finding } from "./finding.ts";

/** The team's skills, which agents have them, and what of them no agent reads. */
export async function checkSkills(team: LoadedTeam): Promise<readonly Finding[]> {
  const { skills = [] } = team;
  try {
    const leaves = ownLeavesOf([...Object.values(team.services), ...(await agentServices(team))]);
    for (const leaf of leaves) withSkills(withApprovals(leaf), skills);
    if (skills.length === 0) return [];
    const agents = leaves.flatMap((leaf) => Object.entries(leaf.agents));
    const detail = skills.map(({ name }) => name).join(", ");

    return [
      { name: "skills", status: "ok", detail },
      ...skills.flatMap(foreignKeys),
      ...agents.flatMap(([key, agent]) => withoutRoom(key, skillsOf(agent, skills))),
    ];
  } catch (error) {
    return [failed("skills", error)];
  }
}

function foreignKeys({ name, unknownKeys }: Skill): readonly Finding[] {
  if (unknownKeys.length === 0) return [];
  return [
    {
      name: "skills",
      status: "warn",
      detail: `skills/${name}/SKILL.md has keys that dure does not read: ${unknownKeys.join(", ")}`,
      hint: "They are settings of another program; what they ask for is not done here.",
    },
  ];
}

function withoutRoom(agent: string, skills: readonly Skill[]): readonly Finding[] {
  const { withoutDescription: left } = skillsPart(skills);
  if (left.length === 0) return [];
  return [
    {
      name: "skills",
      status: "warn",
      detail: `the prompt of ${agent} has no room for the descriptions of ${left.join(", ")}`,
      hint: "Shorten descriptions, or name the skills that it needs in `skills` of its card.",
    },
  ];
}
