import { isConnectionError, type Database } from "../durable/database.ts";
import { messageOf } from "../kernel/errors.ts";
import type { Logger } from "../kernel/logger.ts";
import { PgVector, type VectorSearch } from "./pgvector.ts";
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
import type { Near, VectorQuestion, VectorRow } from "./vectors.ts";

/** Nothing was looked at yet. */
const UNKNOWN: VectorSearch = { by: "exact", because: "pgvector was not looked for yet" };

/**
 * The tables of pgvector, as this process knows them. `dure.knowledge_vectors` stays the truth: a
 * table that is lost, or of which nothing is known, costs time and no answer.
 */
export class VectorSpaces {
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
