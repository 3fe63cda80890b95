import { Listr } from "listr2";
import { DureError } from "../kernel/errors.ts";
import { harmless } from "./harmless.ts";
import type { Output } from "./output.ts";

/** Of a terminal that does not say how wide it is. */
const COLUMNS = 80;

export interface CleaningTask {
  readonly title: string;
  /** What it returns is shown behind the title. */
  readonly run: () => Promise<string | void>;
}

/**
 * Runs tasks in order: a living list on a terminal, a line per task in a pipe, nothing with
 * `--json`. The first error ends it.
 */
export async function runTasks(output: Output, tasks: readonly CleaningTask[]): Promise<void> {
  if (output.isTerminal) {
    const { stdout } = output.streams;
    // A terminal that was given no size: lists would be broken behind each letter.
    if (stdout.columns === 0) stdout.columns = COLUMNS;
    const list = tasks.map(({ title, run }) => ({
      title,
      task: async (_: unknown, task: { title?: string }): Promise<void> => {
        const result = await run();
        if (result) task.title = harmless(`${title}: ${result}`);
      },
    }));
    await new Listr(list, { concurrent: false, exitOnError: true }).run();
    return;
  }
  for (const { title, run } of tasks) {
    try {
      const result = await run();
      output.line(result ? `${title}: ${result}` : title);
    } catch (error) {
      const code = error instanceof DureError ? error.code : undefined;
      output.line(output.words.general.taskFailed(title, code));
      throw error;
    }
  }
}
