/** A thread that does tasks of plans, one after the other; `PlanThreads` starts and ends it. */
import { parentPort } from "node:worker_threads";
import { codeOf, DureError, messageOf, type ErrorClass } from "../../kernel/errors.ts";
import { PLAN_TASKS, type PlanTasks } from "./plan-tasks.ts";

/** What is asked of the thread. */
export interface ThreadQuestion {
  readonly task: keyof PlanTasks;
  readonly arguments: readonly unknown[];
}

/**
 * What it answers. An error is told by its code and words: its class does not pass between threads.
 */
export type ThreadAnswer =
  | { readonly ok: true; readonly value: unknown }
  | {
      readonly ok: false;
      readonly code: string | undefined;
      readonly message: string;
      readonly class: ErrorClass | undefined;
      readonly hint: string | undefined;
    };

/** The first thing that the thread says: it has read its code, and the time of a task begins. */
export const READY = "ready";

parentPort?.postMessage(READY, []);
parentPort?.on("message", (question: ThreadQuestion) => {
  parentPort?.postMessage(answer(question), []);
});

function answer(question: ThreadQuestion): ThreadAnswer {
  const work = PLAN_TASKS[question.task] as (...given: readonly unknown[]) => unknown;
  try {
    return { ok: true, value: work(...question.arguments) };
  } catch (error) {
    const ours = error instanceof DureError ? error : undefined;
    const words = { code: codeOf(error), message: messageOf(error) };
    return { ok: false, ...words, class: ours?.class, hint: ours?.hint };
  }
}
