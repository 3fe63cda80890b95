import type { z } from "zod";
import { fieldError } from "../server/problem.ts";

/** What a schema makes of a value. Throws `REQUEST_INVALID` with the first thing that is wrong. */
export function parsed<Schema extends z.ZodType>(schema: Schema, value: unknown): z.output<Schema> {
  const result = schema.safeParse(value);
  if (result.success) return result.data;

  const [issue] = result.error.issues;
  throw fieldError("REQUEST_INVALID", issue!.path.join("."), issue!.message);
}

/** The token says whose things are meant. Throws `REQUEST_INVALID`. */
export function assertNoTenant({ tenant }: { tenant?: string | undefined }): void {
  if (tenant === undefined) return;
  throw fieldError("REQUEST_INVALID", "tenant", "is not taken; the token says the tenant");
}
