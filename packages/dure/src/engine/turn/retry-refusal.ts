import type { RetryAnswer } from "../../durable/turns.ts";
import { DureError } from "../../kernel/errors.ts";

/** Why a turn is not opened again; undefined: it runs. Pure. */
export function retryRefusal(
  answer: NonNullable<RetryAnswer>,
  turn: string,
): DureError | undefined {
  const why = { class: "conflict", hint: "Say it again in a new message." } as const;
  if (answer === "final") {
    return new DureError("TURN_NOT_RETRYABLE", `The turn ${turn} cannot go on from its end.`, why);
  }
  if (answer === "passed") {
    return new DureError(
      "TURN_PASSED",
      `The conversation has gone on after the turn ${turn}.`,
      why,
    );
  }
  return undefined;
}
