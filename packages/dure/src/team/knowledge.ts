import type { Agent } from "../engine/agent/agent.ts";
import type { AnyService, LeafService } from "../engine/service/combine.ts";
import { DureError } from "../kernel/errors.ts";
import type { Knowledge } from "../knowledge/knowledge.ts";

/**
 * The service, with a search in the bases that cards of its agents name. Throws `KNOWLEDGE_UNKNOWN`,
 * `RETRIEVER_TWICE`.
 */
export function withKnowledge<Some extends AnyService>(service: Some, knowledge: Knowledge): Some {
  if (service.kind === "combined") {
    const services = new Map(
      [...service.services].map(([name, leaf]) => [name, leafWithKnowledge(leaf, knowledge)]),
    );
    return { ...service, services };
  }
  return leafWithKnowledge(service, knowledge) as Some;
}

function leafWithKnowledge(service: LeafService, knowledge: Knowledge): LeafService {
  if (service.kind !== "service") return service;

  const agents = Object.entries(service.agents).map(([key, agent]): [string, Agent] => {
    const { knowledge: bases } = agent.card;
    if (!bases || bases.length === 0) return [key, agent];
    if (agent.retriever) throw retrieverTwice(`${service.name}/${key}`);

    return [key, { ...agent, retriever: knowledge.retrieverOf(bases) }];
  });

  return { ...service, agents: Object.fromEntries(agents) };
}

function retrieverTwice(agent: string): DureError {
  return new DureError(
    "RETRIEVER_TWICE",
    `The agent ${agent} has a retriever, and its card names knowledge bases.`,
    {
      class: "input",
      hint: "Keep one of them: the retriever in code, or `knowledge` of the card.",
    },
  );
}
