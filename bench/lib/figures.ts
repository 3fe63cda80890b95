/**
 * What a run is judged by. Every number of a benchmark is one of these, so that all of them mean
 * the same.
 */

import { cpus, loadavg } from "node:os";

/** The value below which a share of `values` lies; `share` from 0 to 1. NaN without values. */
export function percentile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}

export function median(values: readonly number[]): number {
  return percentile(values, 0.5);
}

/** The median over rounds of what each round gives: one disturbed round does not move it. */
export function overRounds<Round>(
  rounds: readonly Round[],
  figure: (round: Round) => number,
): number {
  return median(rounds.map(figure));
}

/**
 * How a ratio is bound: at most (`≤ 3.2`) or at least (`≥ 0.26`). Source: docs/spec/platform §10.
 */
export interface Bound {
  readonly direction: "≤" | "≥";
  readonly must?: number;
  readonly aim?: number;
}

type Standing = "aim met" | "must met" | "MISSED" | "aim missed";

/** Pure. Without a must, a missed aim is only that. */
function decideStanding(value: number, { direction, must, aim }: Bound): Standing {
  const holds = (bound: number): boolean => (direction === "≤" ? value <= bound : value >= bound);
  if (aim !== undefined && holds(aim)) return "aim met";
  if (must === undefined) return "aim missed";
  return holds(must) ? "must met" : "MISSED";
}

/** One line of the verdict: what it is, its value, and what it should be. */
export function printBound(what: string, value: number, bound: Bound, unit = ""): void {
  const { direction, must, aim } = bound;
  const wanted = [
    must !== undefined && `must ${direction} ${must}`,
    aim !== undefined && `aim ${direction} ${aim}`,
  ]
    .filter(Boolean)
    .join(", ");
  console.log(
    `  ${what.padEnd(62)} ${`${shown(value)}${unit}`.padStart(12)}   ${wanted} → ` +
      decideStanding(value, bound),
  );
}

export function printFact(what: string, value: number | string, unit = ""): void {
  console.log(
    `  ${what.padEnd(62)} ${`${typeof value === "number" ? shown(value) : value}${unit}`.padStart(12)}`,
  );
}

export function printTable(
  columns: readonly string[],
  rows: readonly (readonly (string | number)[])[],
): void {
  const cells = [
    columns,
    ...rows.map((row) => row.map((cell) => (typeof cell === "number" ? shown(cell) : cell))),
  ];
  const widths = columns.map((_, column) =>
    Math.max(...cells.map((row) => row[column]?.length ?? 0)),
  );
  for (const row of cells) {
    console.log(
      "  " +
        row
          .map((cell, column) =>
            column === 0 ? cell.padEnd(widths[0]!) : cell.padStart(widths[column]!),
          )
          .join("  "),
    );
  }
}

export function printTitle(title: string): void {
  console.log(`\n${title}`);
}

/**
 * What stands over every run. The load of the machine is part of the result: above it, only ratios
 * of one run mean anything.
 */
export function printMachine(): void {
  const [load = 0] = loadavg();
  console.log(
    `Node ${process.versions.node}, ${cpus().length} cores, load ` +
      `${load.toFixed(2)}${load > QUIET_LOAD ? ` (above ${QUIET_LOAD}: not quiet; compare within this run only)` : ""}`,
  );
}

/** One-minute load under which two cores count as quiet before a run. Source: our choice. */
const QUIET_LOAD = 1;

function shown(value: number): string {
  if (!Number.isFinite(value)) return "–";
  if (Math.abs(value) >= 1_000) return Math.round(value).toLocaleString("en");
  return value.toFixed(Math.abs(value) >= 100 ? 0 : Math.abs(value) >= 10 ? 1 : 2);
}
