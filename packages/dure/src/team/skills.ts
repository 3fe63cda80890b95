import type { Agent } from "../engine/agent/agent.ts";
import { LOAD_SKILL, loadSkillTool, skillsPart, skillUnknown } from "../engine/agent/skills.ts";
import type { Skill } from "../engine/files/skill-files.ts";
import type { AnyService } from "../engine/service/combine.ts";
import { DureError } from "../kernel/errors.ts";
import { eachAgent, type AgentAt } from "./each-agent.ts";

/**
 * The service, with the skills that cards of its agents name: descriptions in the prompt, the rest
 * by one tool. Throws `SKILL_UNKNOWN`, `AGENT_INVALID`.
 */
export function withSkills<Some extends AnyService>(
  service: Some,
  skills: readonly Skill[] = [],
): Some {
  return eachAgent(service, (agent, at) => inAgent(agent, at, skills));
}

/** Those that the card of an agent names, in the order of their names. */
export function skillsOf(
  { card }: Pick<Agent, "card">,
  skills: readonly Skill[],
): readonly Skill[] {
  const named = new Set(card.skills);
  return skills.filter(({ name }) => named.has(name));
}

function inAgent(agent: Agent, at: AgentAt, skills: readonly Skill[]): Agent {
  const names = agent.card.skills ?? [];
  const known = skills.map(({ name }) => name);
  const unknown = names.find((name) => !known.includes(name));
  if (unknown !== undefined) throw skillUnknown(unknown, known);
  const own = skillsOf(agent, skills);
  if (own.length === 0) return agent;
  if (agent.tools[LOAD_SKILL]) throw nameTaken(at);
  const { text } = skillsPart(own);
  const { prompts } = agent;

  return {
    ...agent,
    skills: own.map(({ name, description }) => ({ name, description })),
    prompt: joined(agent.prompt, text),
    prompts: prompts && { ko: joined(prompts.ko, text), en: joined(prompts.en, text) },
    tools: { ...agent.tools, [LOAD_SKILL]: loadSkillTool(own) },
  };
}

function joined(prompt: string, text: string): string {
  return [prompt, text].filter((part) => part !== "").join("\n\n");
}

function nameTaken({ service, key }: AgentAt): DureError {
  return new DureError(
    "AGENT_INVALID",
    `The agent ${service}/${key} has skills, and a tool of its own named ${LOAD_SKILL}.`,
    { class: "input", hint: "Give that tool another name." },
  );
}
