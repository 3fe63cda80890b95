/** The files that tools make in a turn. */

import type { TurnParts } from "./turn-parts.ts";
import { ownTroubleOf } from "../../durable/passing.ts";
import { codeOf, messageOf } from "../../kernel/errors.ts";
import {
  type FileRef,
  harmlessWords,
  MAX_MESSAGE_FILES,
  type MadeFiles,
} from "../../kernel/files.ts";
import { filesOfResult, type GivenFile } from "../agent/file-result.ts";
import type { EffectOutcome, TurnFacts } from "./turn-context.ts";

/** Refused files of one result that are told by name. */
const MOST_REFUSED = 20;

/** Files that tools make in one life of a turn: stored before their result is recorded. */
export class TurnFiles {
  readonly #turn: Pick<TurnParts, "held" | "environment">;
  /** By id, the newest last. */
  readonly #made = new Map<string, FileRef>();

  constructor(turn: Pick<TurnParts, "held" | "environment">) {
    this.#turn = turn;
  }

  /**
   * What the end of the turn shows: what its tools made, and what came with words that no person
   * said, such as the result of background work. Those alone say nothing.
   */
  shownWith(
    message: string | undefined,
    { author, files }: Pick<TurnFacts, "author" | "files">,
  ): readonly FileRef[] {
    const brought = author === "system" && message ? files : [];
    const shown = new Map([...brought, ...this.#made.values()].map((file) => [file.id, file]));
    return [...shown.values()].slice(-MAX_MESSAGE_FILES);
  }

  /** An outcome, of this life or recorded by an earlier one. */
  note(outcome: EffectOutcome<unknown>): void {
    if (outcome.status !== "done") return;
    for (const file of outcome.files?.kept ?? []) {
      this.#made.delete(file.id);
      this.#made.set(file.id, file);
    }
  }

  /**
   * Stores the files of a result under the turn's epoch. A second time they are the same files, so a
   * crash before the result is recorded leaves none twice. What is refused is told as a line: the
   * tool has done its work. Throws only where this process may write no more.
   */
  async keep(
    tool: string,
    result: unknown,
    { signal }: { signal: AbortSignal },
  ): Promise<MadeFiles | undefined> {
    const given = filesOfResult(result);
    if (given.length === 0) return undefined;

    const kept: FileRef[] = [];
    const refused: Refused[] = [];
    for (const file of given.slice(0, MAX_MESSAGE_FILES)) {
      const put = await this.#put(file, signal);
      if ("code" in put) refused.push(put);
      else kept.push(put);
    }
    for (const { name } of given.slice(MAX_MESSAGE_FILES, MAX_MESSAGE_FILES + MOST_REFUSED)) {
      const line = `${wordsOf(name)}: a result takes ${MAX_MESSAGE_FILES} files`;
      refused.push({ code: "FILES_TOO_MANY", line });
    }
    if (refused.length > 0) {
      // A name may quote what a person has said: it stands at debug. Source: docs/spec/platform §7.
      const { held, environment } = this.#turn;
      const { turn, session } = held;
      const codes = refused.map(({ code }) => code);
      const said = `${refused.length} files that ${tool} made could not be kept`;
      environment.logger.warn({ turn, session, tool, codes }, said);
      environment.logger.debug({ turn, lines: refused.map(({ line }) => line) }, said);
    }
    return { kept, refused: refused.map(({ line }) => line) };
  }

  async #put({ name, bytes }: GivenFile, signal: AbortSignal): Promise<FileRef | Refused> {
    const { held, environment } = this.#turn;
    const { tenant, session, turn, epoch } = held;
    if (!(bytes instanceof Uint8Array)) {
      return { code: "FILE_EMPTY", line: `${wordsOf(name)}: it has no bytes` };
    }
    const file = { tenant, session, name, bytes, turn, epoch };
    try {
      return await environment.files.put(file, { signal });
    } catch (error) {
      signal.throwIfAborted();
      if (ownTroubleOf(error)) throw error;
      const code = codeOf(error) ?? "INTERNAL";
      return { code, line: `${wordsOf(name)}: ${messageOf(error)}` };
    }
  }
}

/** A file that is not kept. */
interface Refused {
  readonly code: string;
  /** For the model. */
  readonly line: string;
}

function wordsOf(name: unknown): string {
  return harmlessWords(String(name));
}
