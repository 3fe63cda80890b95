import type { SessionMode } from "@agentclientprotocol/sdk";

/** How words of the editor's person become a run of their own. */
export interface TaskMode {
  /** What the editor's person reads of it. */
  readonly description: string;
  /** Undefined: the folder that the editor has opened. */
  readonly repository: string | undefined;
  /** The plan of one port that the words become. */
  readonly planOf: (words: string) => { readonly file: string; readonly text: string };
}

/** No service can be called so. */
export const TASK_MODE = "dure:task";

/** The port of a task's plan. */
export const TASK_PORT = "task";

export function modeOfTask({ description }: TaskMode): SessionMode {
  return { id: TASK_MODE, name: "Task", description };
}
