import { ReadyAnswer } from "../wire/platform.ts";
import { ProblemJson } from "../wire/problem.ts";

/** `a, b` as `["a", "b"]`. */
export function splitList(text: string): readonly string[] {
  return text
    .split(",")
    .map((part) => part.trim())
    .filter((part) => part !== "");
}

/** 503 of `/readyz`: why it cannot work, or, while it closes, a problem. */
export const NotReady = {
  description: "Not ready",
  content: {
    "application/json": { schema: ReadyAnswer },
    "application/problem+json": { schema: ProblemJson },
  },
};

/** Problem answers of a route, for its description. */
export function problems(
  ...statuses: readonly number[]
): Record<
  number,
  { description: string; content: { "application/problem+json": { schema: typeof ProblemJson } } }
> {
  return Object.fromEntries(
    statuses.map((status) => [
      status,
      { description: "Problem", content: { "application/problem+json": { schema: ProblemJson } } },
    ]),
  );
}
