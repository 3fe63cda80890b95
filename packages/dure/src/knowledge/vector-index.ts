import type { Database } from "../durable/database.ts";
import { Poller } from "../durable/poller.ts";
import { withTimeout, type Clock } from "../kernel/clock.ts";
import { codeOf, messageOf } from "../kernel/errors.ts";
import type { Logger } from "../kernel/logger.ts";
import type { EmbeddingModel } from "../models/embeddings.ts";
import type { VectorSearch } from "./pgvector.ts";
import { VectorSpaces } from "./vector-spaces.ts";
import {
  bytesOf,
  countMissing,
  nearest,
  storeVectors,
  withoutVector,
  type Near,
} from "./vectors.ts";

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

/** What a base has of vectors. */
export interface VectorStatus {
  readonly model: string;
  /** Chunks that have no vector yet. */
  readonly missing: number;
  readonly search: VectorSearch["by"];
  /** Why it is searched so, in words. */
  readonly because: string;
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
  readonly #poller: Poller;
  readonly #spaces: VectorSpaces;

  constructor(options: VectorIndexOptions) {
    this.#options = options;
    const { database, clock, logger } = options;
    this.#spaces = new VectorSpaces({ database, logger });
    this.#poller = new Poller({
      what: "documents without vectors",
      poll: (signal) => this.#look(signal),
      everyMs: LOOK_MS,
      clock,
      logger,
    });
  }

  start(): void {
    if (this.#options.bases.size > 0) this.#poller.start();
  }

  stop(): Promise<void> {
    return this.#poller.stop();
  }

  /** Documents were added. */
  wake(): void {
    this.#poller.wake();
  }

  /** Resolves when no chunk lacks a vector that this process can make. For tests. */
  look(): Promise<void> {
    return this.#poller.poll();
  }

  /** Undefined where the base has no model. */
  async status(base: string): Promise<VectorStatus | undefined> {
    const embedded = this.#options.bases.get(base);
    if (!embedded) return undefined;
    const { name: model } = embedded.model;
    const { by: search, because } = this.#spaces.searchOf(base);
    const missing = await countMissing(this.#options.database, { base, model });

    return { model, missing, search, because };
  }

  /** Empty where the base has no model, or it does not answer: then words alone decide. */
  async near(
    base: string,
    question: string,
    { limit, signal }: { readonly limit: number; readonly signal: AbortSignal | undefined },
  ): Promise<readonly Near[]> {
    const embedded = this.#options.bases.get(base);
    if (!embedded) return [];
    const { logger } = this.#options;
    const { model, floor } = embedded;
    try {
      const [vector = []] = await this.#embed(model, [question], { ms: ASK_MS, signal });
      const asked = { base, model: model.name, asked: bytesOf(vector), floor, limit };
      return await this.#nearest(asked, signal);
    } catch (error) {
      signal?.throwIfAborted();
      const code = codeOf(error);
      const said = { base, model: model.name, code, error: messageOf(error) };
      logger.warn(said, `${base} is searched by words alone: ${model.name} gave no vector`);
      return [];
    }
  }

  /** By the table of pgvector where it is whole, else by all vectors. */
  async #nearest(
    question: Parameters<typeof nearest>[1],
    signal: AbortSignal | undefined,
  ): Promise<readonly Near[]> {
    const found = await this.#spaces.near(question, signal);
    if (found) return found;
    return nearest(this.#options.database, question, signal);
  }

  async #look(signal: AbortSignal): Promise<"idle"> {
    await this.#spaces.detect();
    const failures: unknown[] = [];
    for (const [base, { model }] of this.#options.bases) {
      // A base whose model is away holds up no other one.
      await this.#catchUp(base, model, signal).catch((error: unknown) => failures.push(error));
    }
    signal.throwIfAborted();
    if (failures.length > 0) throw failures[0];

    return "idle";
  }

  /** One process at a time pays for a base: the lock is gone with the process that dies. */
  async #catchUp(base: string, model: EmbeddingModel, signal: AbortSignal): Promise<void> {
    const { database } = this.#options;
    if (await this.#isDone(base, model, signal)) return;

    const session = await database.connectSession();
    try {
      const { rows } = await session.query<{ is_mine: boolean }>(TRY_LOCK, [base, model.name]);
      if (rows[0]?.is_mine !== true) return;
      while ((await this.#indexSome(base, model, signal)) === BATCH) signal.throwIfAborted();
      await this.#spaces.fill(base, model.name, signal);
    } finally {
      await session.end().catch(() => {}); // also gives up the lock
    }
  }

  async #isDone(base: string, model: EmbeddingModel, signal: AbortSignal): Promise<boolean> {
    signal.throwIfAborted();
    const { database } = this.#options;
    const missing = await withoutVector(database, { base, model: model.name, limit: 1 });
    return missing.length === 0 && (await this.#spaces.isFilled(base, model.name, signal));
  }

  async #indexSome(base: string, model: EmbeddingModel, signal: AbortSignal): Promise<number> {
    const { database } = this.#options;
    const chunks = await withoutVector(database, { base, model: model.name, limit: BATCH });
    if (chunks.length === 0) return 0;
    const texts = chunks.map(({ text }) => text);
    const vectors = await this.#embed(model, texts, { ms: INDEX_MS, signal });
    const rows = chunks.map(({ id }, at) => ({ id, vector: vectors[at] ?? [] }));
    await storeVectors(database, model.name, rows);

    return chunks.length;
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

const TRY_LOCK =
  "select pg_try_advisory_lock(hashtext('knowledge.vectors'), hashtext($1 || '/' || $2)) as is_mine";
