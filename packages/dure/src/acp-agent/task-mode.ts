import type { SessionMode } from "@agentclientprotocol/sdk";
import type { AcpWords } from "./words.ts";

/** How words of the editor's person become a run of their own. */
export interface TaskMode {
  /** What they may change. */
  readonly owns: readonly string[];
  /** The command that decides whether it is done. */
  readonly acceptance: string;
  /** Undefined: the folder that the editor has opened. */
  readonly repository: string | undefined;
  /** The plan of one port that the words become. */
  readonly planOf: (words: string) => { readonly file: string; readonly text: string };
}

/** No service can be called so. */
export const TASK_MODE = "dure:task";

/** The port of a task's plan. */
export const TASK_PORT = "task";

/** What the editor's person reads of it. Pure. */
export function modeOfTask({ owns, acceptance }: TaskMode, words: AcpWords): SessionMode {
  const description = words.taskAbout(owns.join(", "), acceptance);
  return { id: TASK_MODE, name: words.task, description };
}
