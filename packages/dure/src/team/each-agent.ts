import type { Agent } from "../engine/agent/agent.ts";
import type { AnyService, LeafService } from "../engine/service/combine.ts";

/** Where an agent stands: the name of its service, and its key there. */
export interface AgentAt {
  readonly service: string;
  readonly key: string;
}

/** The service, with each of its agents changed; remote ones have none here. Pure. */
export function eachAgent<Some extends AnyService>(
  service: Some,
  change: (agent: Agent, at: AgentAt) => Agent,
): Some {
  if (service.kind !== "combined") return inLeaf(service, change) as Some;
  const services = new Map(
    [...service.services].map(([name, leaf]) => [name, inLeaf(leaf, change)]),
  );
  return { ...service, services };
}

function inLeaf(service: LeafService, change: (agent: Agent, at: AgentAt) => Agent): LeafService {
  if (service.kind !== "service") return service;
  const agents = Object.entries(service.agents).map(([key, agent]): [string, Agent] => [
    key,
    change(agent, { service: service.name, key }),
  ]);
  return { ...service, agents: Object.fromEntries(agents) };
}
