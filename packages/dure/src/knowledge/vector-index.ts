import type { Database } from "../durable/database.ts";
import { Looker } from "../durable/looker.ts";
import { withTimeout, type Clock } from "../kernel/clock.ts";
import { codeOf, messageOf } from "../kernel/errors.ts";
import type { Logger } from "../kernel/logger.ts";
import type { EmbeddingModel } from "../models/embeddings.ts";
import { nearest, storeVectors, withoutVector, type Near } from "./vectors.ts";

/** How a base is searched by meaning. */
export interface Embedded {
  readonly model: EmbeddingModel;
  /** Cosine below which a chunk is about something else. */
  readonly floor: number;
}

export interface VectorIndexOptions {
  readonly database: Database;
  readonly bases: ReadonlyMap<string, Embedded>;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Chunks that one call of the model takes. */
const BATCH = 64;
/** Between two looks for chunks without a vector, milliseconds. */
const LOOK_MS = 30_000;
/** One call for documents, and one for a question, milliseconds. */
const INDEX_MS = 60_000;
const ASK_MS = 10_000;

/**
 * The vectors of bases that have an embedding model. Documents are stored without them and found by
 * their words at once; here each process looks for chunks that lack one. What a killed process has
 * not stored is missing still, and the next look finds it.
 */
export class VectorIndex {
  readonly #options: VectorIndexOptions;
  readonly #looker: Looker;

  constructor(options: VectorIndexOptions) {
    this.#options = options;
    const { clock, logger } = options;
    this.#looker = new Looker({
      what: "documents without vectors",
      look: (signal) => this.#look(signal),
      everyMs: LOOK_MS,
      clock,
      logger,
    });
  }

  start(): void {
    if (this.#options.bases.size > 0) this.#looker.start();
  }

  stop(): Promise<void> {
    return this.#looker.stop();
  }

  /** Documents were added. */
  wake(): void {
    this.#looker.wake();
  }

  /** Resolves when no chunk lacks a vector that this process can make. For tests. */
  look(): Promise<void> {
    return this.#looker.look();
  }

  /** Empty where the base has no model, or it does not answer: then words alone decide. */
  async near(
    base: string,
    question: string,
    { limit, signal }: { readonly limit: number; readonly signal: AbortSignal | undefined },
  ): Promise<readonly Near[]> {
    const embedded = this.#options.bases.get(base);
    if (!embedded) return [];
    const { database, logger } = this.#options;
    const { model, floor } = embedded;
    try {
      const [vector = []] = await this.#embed(model, [question], { ms: ASK_MS, signal });
      const asked = { base, model: model.name, vector, floor, limit };
      return await nearest(database, asked, signal);
    } catch (error) {
      signal?.throwIfAborted();
      const code = codeOf(error);
      const said = { base, model: model.name, code, error: messageOf(error) };
      logger.warn(said, `${base} is searched by words alone: ${model.name} gave no vector`);
      return [];
    }
  }

  async #look(signal: AbortSignal): Promise<"again" | "rest"> {
    let hasMore = false;
    for (const [base, { model }] of this.#options.bases) {
      signal.throwIfAborted();
      hasMore = (await this.#indexSome(base, model, signal)) === BATCH || hasMore;
    }

    return hasMore ? "again" : "rest";
  }

  /** One process at a time pays for a base: the lock is gone with the process that dies. */
  #indexSome(base: string, model: EmbeddingModel, signal: AbortSignal): Promise<number> {
    return this.#options.database.transaction(async (tx) => {
      const [lock] = await tx.query<{ is_mine: boolean }>(TRY_LOCK, [base, model.name]);
      if (!lock?.is_mine) return 0;
      const chunks = await withoutVector(tx, { base, model: model.name, limit: BATCH });
      if (chunks.length === 0) return 0;
      const texts = chunks.map(({ text }) => text);
      const vectors = await this.#embed(model, texts, { ms: INDEX_MS, signal });
      const rows = chunks.map(({ id }, at) => ({ id, vector: vectors[at] ?? [] }));
      await storeVectors(tx, model.name, rows);

      return chunks.length;
    });
  }

  #embed(
    model: EmbeddingModel,
    texts: readonly string[],
    patience: { readonly ms: number; readonly signal: AbortSignal | undefined },
  ): Promise<readonly (readonly number[])[]> {
    const late = (): Error => new Error(`${model.name} did not answer in ${patience.ms} ms`);
    return withTimeout(this.#options.clock, patience, late, (signal) =>
      model.embed(texts, { signal }),
    );
  }
}

const TRY_LOCK = {
  name: "knowledge.try_index",
  text: `
    select pg_try_advisory_xact_lock(hashtext('knowledge.vectors'), hashtext($1 || '/' || $2))
      as is_mine`,
};
