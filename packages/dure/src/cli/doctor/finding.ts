import { DureError, messageOf } from "../../kernel/errors.ts";

/** One thing that was looked at. */
export interface Finding {
  readonly name: string;
  readonly status: "ok" | "warn" | "fail";
  /** What was found. */
  readonly detail: string;
  readonly hint?: string | undefined;
}

/** What an error says, with its code and what to do. */
export function failed(name: string, error: unknown): Finding {
  const hint = error instanceof DureError ? error.hint : undefined;
  const code = error instanceof DureError ? `${error.code} ` : "";
  return {
    name,
    status: "fail",
    detail: `${code}${messageOf(error)}`,
    hint,
  };
}
