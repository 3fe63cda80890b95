import { DureError } from "./errors.ts";

/** `"10s"`, `"5m"`, `"250ms"`, `"1h"`, `"7d"`, or milliseconds. */
export type Duration = number | `${number}${"ms" | "s" | "m" | "h" | "d"}`;

const UNIT_MS = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const;

/** Milliseconds of a duration. Throws `DURATION_INVALID`. */
export function durationMs(duration: string | number): number {
  if (typeof duration === "number" && Number.isFinite(duration) && duration >= 0) return duration;

  const match = /^(\d+(?:\.\d+)?)(ms|s|m|h|d)$/.exec(String(duration));

  if (!match) {
    throw new DureError("DURATION_INVALID", `"${duration}" is not a duration.`, {
      class: "input",
      hint: 'Write a number with a unit, such as "10s", "5m" or "1h", or plain milliseconds.',
    });
  }

  return Number(match[1]) * UNIT_MS[match[2] as keyof typeof UNIT_MS];
}
