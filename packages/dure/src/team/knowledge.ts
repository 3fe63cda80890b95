import type { Agent } from "../engine/agent/agent.ts";
import type { AnyService, LeafService } from "../engine/service/combine.ts";
import { DureError } from "../kernel/errors.ts";
import { Knowledge } from "../knowledge/knowledge.ts";
import { VectorIndex, type Embedded } from "../knowledge/vector-index.ts";
import { embeddingModel } from "../models/embeddings.ts";
import type { Core, Starting } from "./core.ts";
import { providersOf } from "./limits.ts";

/** Cosine below which a part is about something else. Source: docs/spec/knowledge §3. */
const FLOOR = 0.35;

/**
 * The documents of a team. Throws `MODEL_KEY_MISSING`, `EMBEDDING_NOT_SPOKEN` and the like where a
 * base names a model that cannot be reached.
 */
export function startKnowledge(
  { team, environment, clock, logger, defer }: Starting,
  { database }: Core,
): Knowledge {
  const settings = team.config.knowledge ?? {};
  const providers = providersOf(environment);
  const embedded = Object.entries(settings).flatMap(
    ([name, { embedding, floor = FLOOR }]): [string, Embedded][] =>
      embedding === undefined
        ? []
        : [[name, { model: embeddingModel(embedding, providers), floor }]],
  );
  const vectors = new VectorIndex({ database, bases: new Map(embedded), clock, logger });
  vectors.start();
  defer("vectors of documents", () => vectors.stop());

  return new Knowledge({ database, bases: Object.keys(settings), vectors });
}

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
