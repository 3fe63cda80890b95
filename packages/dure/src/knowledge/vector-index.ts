import { type Database, isConnectionError } from "../durable/database.ts";
import { Poller } from "../durable/poller.ts";
import { withTimeout, type Clock } from "../kernel/clock.ts";
import { codeOf, messageOf } from "../kernel/errors.ts";
import type { Logger } from "../kernel/logger.ts";
import type { EmbeddingModel } from "../models/embeddings.ts";
import { type VectorSearch, PgVector } from "./pgvector.ts";
import {
  bytesOf,
  countMissing,
  nearest,
  storeVectors,
  withoutVector,
  type Near,
  type VectorQuestion,
  type VectorRow,
} from "./vectors.ts";
import {
  ensureSpace,
  hasTooLong,
  lengthsPlaced,
  MAX_INDEXED,
  nearestInSpace,
  place,
  tableOf,
  unplaced,
  type Space,
} from "./vector-space.ts";

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

// --- vector spaces

/** Nothing was looked at yet. */
const UNKNOWN: VectorSearch = { by: "exact", because: "pgvector was not looked for yet" };

/**
 * The tables of pgvector, as this process knows them. `dure.knowledge_vectors` stays the truth: a
 * table that is lost, or of which nothing is known, costs time and no answer.
 */
class VectorSpaces {
  readonly #database: Database;
  readonly #logger: Logger;
  readonly #pgvector: PgVector;
  #search: VectorSearch = UNKNOWN;
  /** Tables that this process has seen whole, by name. */
  readonly #ensured = new Set<string>();
  /** Bases whose vectors all stand in their tables, or cannot be indexed. */
  readonly #filled = new Set<string>();
  /** Bases with vectors that cannot be indexed. */
  readonly #tooLong = new Set<string>();

  constructor({ database, logger }: { readonly database: Database; readonly logger: Logger }) {
    this.#database = database;
    this.#logger = logger;
    this.#pgvector = new PgVector(database);
  }

  /** Looks what the database has now. Throws where it cannot be reached. */
  async detect(): Promise<void> {
    const before = this.#search;
    this.#search = await this.#pgvector.look();
    const { by, because } = this.#search;
    if (before.because === because) return;

    this.#forget();
    this.#logger.info(
      { by },
      `vectors are compared ${by === "exact" ? "exactly" : "by an index"}: ${because}`,
    );
  }

  /** How questions to a base are answered now. */
  searchOf(base: string): VectorSearch {
    if (this.#search.by === "exact") return this.#search;
    if (!this.#filled.has(base)) {
      return { by: "exact", because: `the table of ${this.#search.because} is being filled` };
    }
    if (!this.#tooLong.has(base)) return this.#search;
    return { by: "exact", because: `pgvector indexes at most ${MAX_INDEXED} dimensions` };
  }

  /** Whether nothing is left to place. */
  async isFilled(base: string, model: string, signal: AbortSignal): Promise<boolean> {
    if (this.#search.by === "exact") return true;
    if (!this.#filled.has(base)) return false;
    return (await unplaced(this.#database, { base, model }, signal)).length === 0;
  }

  /** Under the lock of the base. A process that dies here has placed what it has placed. */
  async fill(base: string, model: string, signal: AbortSignal): Promise<void> {
    if (this.#search.by === "exact") return;
    const { schema } = this.#search;
    const about = { base, model, schema };
    try {
      for (const dimensions of await lengthsPlaced(this.#database, about)) {
        await this.#ensure({ ...about, dimensions }, signal);
      }
      for (;;) {
        signal.throwIfAborted();
        const rows = await unplaced(this.#database, about, signal);
        if (rows.length === 0) break;
        await this.#place(about, rows, signal);
      }
      if (await hasTooLong(this.#database, about)) this.#tooLong.add(base);
      this.#filled.add(base);
    } catch (error) {
      signal.throwIfAborted();
      this.#lost(base, error);
    }
  }

  /** Undefined: all vectors must be compared. */
  async near(
    question: VectorQuestion,
    signal: AbortSignal | undefined,
  ): Promise<readonly Near[] | undefined> {
    const { base, model, asked } = question;
    if (this.#search.by === "exact" || !this.#filled.has(base)) return undefined;
    const space = { base, model, dimensions: asked.length, schema: this.#search.schema };
    if (!this.#ensured.has(tableOf(space))) return undefined;

    try {
      return await nearestInSpace(this.#database, space, { ...question, signal });
    } catch (error) {
      signal?.throwIfAborted();
      this.#lost(base, error);
      return undefined;
    }
  }

  async #place(
    about: Omit<Space, "dimensions">,
    rows: readonly VectorRow[],
    signal: AbortSignal,
  ): Promise<void> {
    const byLength = Map.groupBy(rows, ({ vector }) => vector.length);
    for (const [dimensions, some] of byLength) {
      const space = { ...about, dimensions };
      await this.#ensure(space, signal);
      await place(this.#database, space, some);
    }
  }

  async #ensure(space: Space, signal: AbortSignal): Promise<void> {
    const table = tableOf(space);
    if (this.#ensured.has(table)) return;
    await ensureSpace(this.#database, space, { signal });
    this.#ensured.add(table);
  }

  /** What the database has is looked at anew, at the next look. */
  #lost(base: string, error: unknown): void {
    if (isConnectionError(error)) throw error;
    this.#forget();
    this.#logger.warn(
      { base, error: messageOf(error) },
      `${base} is compared exactly: its table of pgvector was refused`,
    );
  }

  #forget(): void {
    this.#ensured.clear();
    this.#filled.clear();
    this.#tooLong.clear();
  }
}
