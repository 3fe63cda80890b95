/** A model's proposals for plans, against a repository. */

import { DureError } from "../../kernel/errors.ts";
import type { Draft } from "../drafts/draft.ts";
import type { DraftWish } from "../drafts/draft-prompt.ts";
import type { DraftSource } from "../drafts/material.ts";
import type { PlanWork } from "../threads/plan-threads.ts";
import type { Git } from "../workspace/git.ts";
import { Repository } from "../workspace/repository.ts";
import type { Reach } from "../plan-reach.ts";
import { shownRepository, type NamedRepositories } from "./named-repositories.ts";
import { textOf } from "./commit-reader.ts";

type DraftProblems = Pick<Draft, "problems" | "problemCount">;

export interface ProposalParts {
  /** Checks a text for these files, and for the team. */
  readonly review: (
    text: string,
    files: DraftSource["files"],
    work: PlanWork,
  ) => Promise<DraftProblems>;
  /** Absent: no model is there that could propose one. */
  readonly draft?:
    | ((wish: DraftWish, source: DraftSource, options: { signal: AbortSignal }) => Promise<Draft>)
    | undefined;
}

interface Parts extends ProposalParts {
  readonly repositories: NamedRepositories;
  readonly git: Git;
}

/** For which repository, and whose request. */
interface ProposalRequest extends Reach {
  readonly repository?: string | undefined;
  readonly share?: string | undefined;
  readonly signal: AbortSignal;
}

/** What to do without a model. */
const MODEL_HINT = [
  "Set the key of a provider, such as OPENAI_API_KEY,",
  "or write the plan by hand: dure new plan NAME",
].join(" ");

/** A model's proposals for plans, and what is wrong with a text, against a repository. */
export class DraftProposals {
  readonly #parts: Parts;

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  /**
   * A proposal as text; a person edits and approves it. Throws as `NamedRepositories`, and
   * `MODEL_MISSING`.
   */
  async propose(wish: DraftWish, asked: ProposalRequest): Promise<Draft> {
    const folder = await this.#folder(asked);
    const { draft } = this.#parts;
    if (!draft) {
      throw new DureError("MODEL_MISSING", "No model is there that could propose a plan.", {
        class: "conflict",
        hint: MODEL_HINT,
      });
    }

    return draft(wish, await this.#source(folder, asked), asked);
  }

  /**
   * What is wrong with a text, for the files at HEAD. Throws as `NamedRepositories`, and what is
   * wrong with the repository.
   */
  async review(text: string, asked: ProposalRequest): Promise<DraftProblems> {
    const { files } = await this.#source(await this.#folder(asked), asked);
    return this.#parts.review(text, files, asked);
  }

  /** Whether the caller may have the repository. Throws as `NamedRepositories`. */
  async assertAllowed(asked: ProposalRequest): Promise<void> {
    await this.#folder(asked);
  }

  async #folder({ repository, ...asked }: ProposalRequest): Promise<string> {
    const { repositories } = this.#parts;
    const folder = repositories.locate(repository, undefined, asked.tenant);

    return repositories.allowed(folder, shownRepository(repository), asked);
  }

  async #source(folder: string, { signal }: ProposalRequest): Promise<DraftSource> {
    const { git } = this.#parts;
    return sourceOf(await Repository.open(folder, { git, signal }), signal);
  }
}

/** Commits whose subjects are read. */
const COMMITS = 20;
/** Bytes of a file that is read, and of the subjects. */
const FILE_BYTES = 200_000;
const LOG_BYTES = 64_000;

/** What stands at the repository's HEAD, for a draft. Files are read when they are asked for. */
async function sourceOf(repository: Repository, signal: AbortSignal): Promise<DraftSource> {
  const { git, at } = repository;
  const commit = await repository.resolve("HEAD", { signal });
  const files = await repository.listFiles(commit, { signal });
  const plain = new Set(files.filter(({ kind }) => kind === "file").map(({ path }) => path));
  const log = await git.run(
    ["log", "--no-show-signature", "-z", `-n${COMMITS}`, "--format=%s", commit],
    { at, outputBytes: LOG_BYTES, cut: true, signal },
  );

  return {
    files,
    commits: log.stdout.toString("utf8").split("\0").filter(Boolean),
    readFile: async (path) => {
      if (!plain.has(path)) return undefined;
      const call = { at, outputBytes: FILE_BYTES, cut: true, signal };

      return textOf((await git.run(["cat-file", "blob", `${commit}:${path}`], call)).stdout);
    },
  };
}
