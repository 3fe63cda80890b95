import type { Member, OnViolation } from "../../kernel/plans.ts";
import { WORKER_FAILURES } from "../workers/worker.ts";
import { namesOf } from "../rows/words.ts";
import type { PortAccount } from "./port-account.ts";
import { PortFailure, useExhausted } from "./port-failure.ts";
import type { MemberOutput } from "./port-steps.ts";

const OWNERSHIP_HINT = "Give it the path, or tell it to leave it alone.";

/** What the operator must decide about. Once that is decided, the try is over. Pure. */
export function memberFailure(
  { result, violations, refused = [] }: MemberOutput,
  member: Member,
  given: { readonly violations: OnViolation; readonly left: PortAccount["left"] },
): PortFailure | undefined {
  if (violations.length > 0 && given.violations !== "report") {
    const paths = violations.map(({ path }) => path);
    const changed = `The ${member} changed ${namesOf(paths)}, which it does not own.`;
    return ownershipFailure(`${changed} Nothing of that was taken.`, paths.slice(0, 50));
  }
  const { error } = result;
  switch (error?.code) {
    case "WORKER_STOPPED_VIOLATIONS":
      return ownershipFailure(`The ${member} was stopped: ${error.message}`, refused);
    case "WORKER_TOKENS":
      return useExhausted(given.left);
    case "WORKER_BUDGET":
      return new PortFailure("tokens-95", {
        code: "TOKENS_EXHAUSTED",
        message: error.message,
        hint: error.hint ?? WORKER_FAILURES[error.code],
      });
    // Another try would end the same way.
    case "WORKER_LOGIN":
    // It has waited as long as it may.
    case "WORKER_RATE_LIMITED":
    case "WORKER_NOT_STARTED":
      return new PortFailure("worker-lost", {
        code: error.code,
        message: error.message,
        hint: error.hint ?? WORKER_FAILURES[error.code],
      });
    default:
      return undefined;
  }
}

function ownershipFailure(message: string, paths: readonly string[]): PortFailure {
  const because = { code: "OWNERSHIP_VIOLATED", message, hint: OWNERSHIP_HINT };
  return new PortFailure("ownership-violated", because, { paths });
}
