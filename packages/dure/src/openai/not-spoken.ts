import type { DureError } from "../kernel/errors.ts";
import { isObject } from "../kernel/json.ts";
import { fieldError } from "../server/problem.ts";

type IsWanted = (value: unknown) => boolean;

const isFilled: IsWanted = (value) => Array.isArray(value) && value.length > 0;
const isOtherFormat: IsWanted = (value) => isObject(value) && value["type"] !== "text";

/** What the service behind a model does not do for its caller. */
const NOT_SPOKEN: Readonly<Record<string, IsWanted>> = {
  functions: isFilled,
  n: (value) => value !== 1,
  response_format: isOtherFormat,
  text: (value) => isObject(value) && isOtherFormat(value["format"]),
  modalities: (value) => Array.isArray(value) && value.includes("audio"),
  logprobs: (value) => value === true,
  background: (value) => value === true,
};

/** Refused rather than passed over: the answer would not be what was asked for. */
export function assertSpoken(body: Readonly<Record<string, unknown>>): void {
  for (const [member, isWanted] of Object.entries(NOT_SPOKEN)) {
    const value = body[member];
    if (value === undefined || value === null || !isWanted(value)) continue;
    throw notSpoken(member, "is not done here");
  }
}

export function notSpoken(field: string, why: string): DureError {
  return fieldError(
    "NOT_SPOKEN",
    field,
    why,
    "The service decides the form of its answers; send text, and functions to an agent.",
  );
}
