import { basename, extname, join, resolve, sep } from "node:path";
import type { Problem } from "../../engine/files/load-service-document.ts";
import { DureError } from "../../kernel/errors.ts";
import { unreadable, type PlanReading } from "../plan-file.ts";
import { planFilesIn, readPlanFile } from "../plan-folder.ts";
import type { Plan } from "../plan.ts";
import type { PlanThreads, PlanWork } from "../threads/plan-threads.ts";

/**
 * A plan of the folder by its name or file, or the text of one that is no file there; its file's
 * ending chooses the reader.
 */
export type PlanSource =
  | { readonly name: string }
  | { readonly file: string; readonly text: string };

/** A file of the folder of plans. */
export interface PlanFile {
  /** The key `plan` of it; of a file that cannot be read, its name without the ending. */
  readonly name: string;
  readonly file: string;
  readonly ports: number;
  /** At most 50. */
  readonly problems: readonly Problem[];
  readonly problemCount: number;
}

interface PlanFilesOptions {
  /** Where files of plans are. */
  readonly folder: string;
  readonly threads: Pick<PlanThreads, "read">;
  readonly importModule: (file: string) => Promise<Record<string, unknown>>;
}

/** The folder of plans: its files, read and checked. */
export class PlanFiles {
  readonly #options: PlanFilesOptions;

  constructor(options: PlanFilesOptions) {
    this.#options = options;
  }

  /** Every plan of the folder, those that cannot be read too; by name. */
  async list(work: PlanWork = {}): Promise<readonly PlanFile[]> {
    const files: PlanFile[] = [];
    // One after the other: no folder fills the threads' queue, or the memory.
    for (const name of await planFilesIn(this.#options.folder)) {
      const { plan, problems, problemCount } = await this.readFile(name, work);
      files.push({
        name: plan?.name ?? basename(name, extname(name)),
        file: name,
        ports: plan?.ports.length ?? 0,
        problems,
        problemCount,
      });
    }

    return files;
  }

  /** Reads a plan by its name or file and checks it. Throws `PLAN_UNKNOWN`. */
  async read(name: string, work: PlanWork = {}): Promise<PlanReading & { readonly file: string }> {
    const files = await this.list(work);
    const found = files.find(({ file }) => file === name) ?? files.find((one) => one.name === name);
    if (!found) {
      const folder = basename(this.#options.folder);
      throw new DureError("PLAN_UNKNOWN", `There is no plan ${name} in the folder ${folder}.`, {
        class: "not-found",
        hint:
          files.length > 0
            ? `There are ${files.map((file) => file.name).join(", ")}.`
            : "Make one with: dure new plan NAME",
      });
    }

    return { ...(await this.readFile(found.file, work)), file: found.file };
  }

  /** Checks unsaved plan text. Throws as {@link PlanThreads.read}. */
  check(file: string, text: string, work: PlanWork): Promise<PlanReading> {
    return this.#options.threads.read(file, text, work);
  }

  /** Throws `PLAN_UNKNOWN`, `PLAN_INVALID`. */
  async valid(source: PlanSource, work: PlanWork): Promise<{ plan: Plan; file: string }> {
    const { plan, problems, problemCount, file } =
      "text" in source
        ? {
            ...(await this.check(source.file, source.text, work)),
            file: basename(source.file),
          }
        : await this.read(source.name, work);
    if (plan) return { plan, file };
    const count = problemCount === 1 ? "a problem" : `${problemCount} problems`;
    const first = problems.slice(0, 3).map(problemWords).join("; ");
    throw new DureError("PLAN_INVALID", `The plan ${file} has ${count}: ${first}.`, {
      class: "input",
      hint: `See all of them with: dure plan check ${"text" in source ? file : source.name}`,
      details: { problems, problemCount },
    });
  }

  /** A file of the folder; what keeps it from being read is among its problems. */
  async readFile(name: string, work: PlanWork = {}): Promise<PlanReading> {
    const { folder, importModule, threads } = this.#options;
    const file = join(folder, name);
    if (!resolve(file).startsWith(resolve(folder) + sep)) {
      return unreadable(name, "lies outside of the folder of plans");
    }

    return readPlanFile(file, name, {
      importModule,
      read: (shown, text) => threads.read(shown, text, work),
    });
  }
}

/** A problem of a plan in a sentence about several. Pure. */
function problemWords({ line, key, message }: Problem): string {
  const where = line === undefined ? "" : `line ${line}, `;
  return `${where}${key} ${message}`.trim();
}
