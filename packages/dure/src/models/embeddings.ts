import type { EmbeddingModelV4 } from "@ai-sdk/provider";
import { messageOf } from "../kernel/errors.ts";
import { modelName, parseModelName } from "./card.ts";
import { failureError } from "./failures.ts";
import { connectEmbedding, type ProviderSettings } from "./providers.ts";

/** Turns texts into lists of numbers: texts that mean the same lie in the same direction. */
export interface EmbeddingModel {
  /** Vectors of different models cannot be compared. */
  readonly name: string;
  /** As many vectors as texts, in their order. */
  embed(
    texts: readonly string[],
    options: { readonly signal: AbortSignal },
  ): Promise<readonly (readonly number[])[]>;
}

/**
 * The model of a name such as `openai:text-embedding-3-small`; nothing is connected yet. Throws as
 * `connect` does, and `EMBEDDING_NOT_SPOKEN` for a provider that has none.
 */
export function embeddingModel(name: string, settings: ProviderSettings): EmbeddingModel {
  const llm = parseModelName(name);
  const open = connectEmbedding(llm, settings);
  let opened: Promise<EmbeddingModelV4> | undefined;

  return {
    name: modelName(llm),
    embed: async (texts, { signal }) => {
      opened ??= open();
      const model = await opened;
      const { embeddings } = await model
        .doEmbed({ values: [...texts], abortSignal: signal })
        .then(undefined, (error: unknown) => {
          throw failureError("other", `${modelName(llm)} failed: ${messageOf(error)}`, {
            cause: error,
          });
        });
      if (embeddings.length === texts.length) return embeddings;

      const told = `${embeddings.length} vectors for ${texts.length} texts`;
      throw failureError("other", `${modelName(llm)} gave ${told}.`, {});
    },
  };
}
