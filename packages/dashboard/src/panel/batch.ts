import { isObject, type JsonObject, type TaskProgress } from "dure/client";

export type BatchMark =
  | "done"
  | "failed"
  | "cancelled"
  | "unsupported"
  | "past"
  | "now"
  | "waiting";

export interface BatchTask {
  /** 1-based place. */
  readonly index: number;
  readonly mark: BatchMark;
  readonly slots: JsonObject;
  /** Why it failed. */
  readonly code?: string | undefined;
}

export interface Batch {
  /** 1-based place of the current task. */
  readonly index: number;
  readonly total: number;
  readonly tasks: readonly BatchTask[];
}

/**
 * The tasks of a batch, each with what became of it, from the state of the service (`index`,
 * `total`, `results`, `slots`, `tasks`), and for a service that keeps none of these from what the
 * turn has told. Undefined for a single task. Pure.
 */
export function batchOf(state: JsonObject, progress: readonly TaskProgress[]): Batch | undefined {
  const told = progress.at(-1);
  const index = numberOf(state["index"]) ?? told?.index ?? 1;
  const waiting = objectsOf(state["tasks"] ?? state["queue"]);

  const total = Math.max(
    numberOf(state["total"]) ?? told?.total ?? 1,
    index + (told === undefined ? waiting.length : 0),
  );

  if (total < 2) return undefined;

  const results = new Map(
    objectsOf(state["results"]).map((result) => [numberOf(result["index"]) ?? 0, result]),
  );

  const tasks = Array.from({ length: total }, (_, place): BatchTask => {
    const at = place + 1;
    const result = results.get(at);

    if (result !== undefined) {
      const code = result["code"];
      return {
        index: at,
        mark: markOf(result["outcome"]),
        slots: slotsOf(result),
        code: typeof code === "string" ? code : undefined,
      };
    }

    if (at < index) {
      return {
        index: at,
        mark: "past",
        slots: progress.find((task) => task.index === at)?.slots ?? {},
      };
    }

    if (at === index) {
      return {
        index: at,
        mark: "now",
        slots: isObject(state["slots"]) ? state["slots"] : (told?.slots ?? {}),
      };
    }

    return { index: at, mark: "waiting", slots: slotsOf(waiting[at - index - 1] ?? {}) };
  });

  return { index, total, tasks };
}

function markOf(outcome: unknown): BatchMark {
  return outcome === "done" ||
    outcome === "failed" ||
    outcome === "cancelled" ||
    outcome === "unsupported"
    ? outcome
    : "past";
}

/** A task says its slots within `slots`, or is nothing but slots. */
function slotsOf(task: JsonObject): JsonObject {
  return isObject(task["slots"]) ? task["slots"] : task;
}

function objectsOf(value: unknown): JsonObject[] {
  return Array.isArray(value) ? value.filter((one): one is JsonObject => isObject(one)) : [];
}

function numberOf(value: unknown): number | undefined {
  return typeof value === "number" && Number.isInteger(value) && value > 0 ? value : undefined;
}
