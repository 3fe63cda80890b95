import type { AnyService } from "../engine/service/combine.ts";
import { DureError } from "../kernel/errors.ts";
import { Knowledge } from "../knowledge/knowledge.ts";
import { VectorIndex, type Embedded } from "../knowledge/vector-index.ts";
import { embeddingModel } from "../models/embeddings.ts";
import type { Core, Starting } from "./core.ts";
import { eachAgent } from "./each-agent.ts";
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
  return eachAgent(service, (agent, { service: name, key }) => {
    const { knowledge: bases } = agent.card;
    if (!bases || bases.length === 0) return agent;
    if (agent.retriever) throw retrieverTwice(`${name}/${key}`);

    return { ...agent, retriever: knowledge.retrieverOf(bases) };
  });
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
