import type { FailureOfPlatform } from "./channel-contract.ts";

/** Codes of `AdapterError`, by the class of failure that each is; undefined: it never answers. */
const CODES: Readonly<Record<FailureOfPlatform, string | undefined>> = {
  permission: "PERMISSION_DENIED",
  "not-found": "NOT_FOUND",
  "rate-limited": "RATE_LIMITED",
  unavailable: "RATE_LIMITED",
  credential: "AUTH_FAILED",
  full: "VALIDATION_ERROR",
  transient: "NETWORK_ERROR",
  hang: undefined,
};

export function chatCodeOf(failure: FailureOfPlatform): string | undefined {
  return CODES[failure];
}
