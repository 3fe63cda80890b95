import type { DureError } from "../../kernel/errors.ts";
import type { ProviderTrouble } from "../calls/provider-trouble.ts";
import { workerError } from "./worker-error.ts";
import { WORKER_FAILURES, type WorkerError, type WorkerFailure } from "./worker.ts";

/** Calls in a row that end a try. A 403 may be about one model, of which an agent has another. */
const MOST_REFUSED: Readonly<Record<number, number>> = { 401: 2, 402: 2 };
const MOST_OTHERS = 5;

/** Whether a provider refuses a key so often that it will refuse it again. Pure. */
export function isForGood({ kind, status = 0, times }: ProviderTrouble): boolean {
  return kind === "key" && times >= (MOST_REFUSED[status] ?? MOST_OTHERS);
}

/** The end of a try whose provider serves nothing. Pure. */
export function troubleEnd(trouble: ProviderTrouble): DureError {
  const { kind, until } = trouble;
  const words = troubleWords(trouble);
  switch (kind) {
    case "key":
      return workerError("WORKER_LOGIN", `The provider refuses the key or the account: ${words}`);
    case "limited":
      return workerError("WORKER_RATE_LIMITED", `The provider takes no more calls now: ${words}`, {
        until,
      });
    case "failing":
      return workerError("WORKER_IDLE", `The provider served none of its calls: ${words}`, {
        hint: "Look whether the provider is up, and at the address that its worker is given.",
      });
  }
}

function troubleWords({ status, says }: ProviderTrouble): string {
  const answer = status === undefined ? "no answer" : String(status);
  return says === "" ? `${answer}.` : `${answer}, ${says}`;
}

/** Failures of an agent that may stand for those of its provider. */
const MAY_BE_PROVIDERS: readonly WorkerFailure[] = [
  "WORKER_DIED",
  "WORKER_IDLE",
  "WORKER_LOGIN",
  "WORKER_PROTOCOL",
  "WORKER_RATE_LIMITED",
  "WORKER_REFUSED",
];

/**
 * A failure with the trouble of the worker's provider, which knows more of it than the agent says.
 * Pure.
 */
export function withTrouble(
  failure: WorkerError,
  trouble: ProviderTrouble | undefined,
): WorkerError {
  if (trouble === undefined) return failure;
  if (!MAY_BE_PROVIDERS.includes(failure.code) || trouble.kind === "failing") {
    const words = `Its provider did not serve its last call: ${troubleWords(trouble)}`;
    return { ...failure, message: `${failure.message} ${words}` };
  }
  const { message, code } = troubleEnd(trouble);
  const { until = failure.until } = trouble;

  return {
    ...failure,
    code: code as WorkerFailure,
    message,
    hint: WORKER_FAILURES[code as WorkerFailure],
    until,
  };
}
