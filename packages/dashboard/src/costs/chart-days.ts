import type { CostPoint } from "dure/client";

/** One agent, service or model over the days; an empty id is all others together. */
export interface Series {
  readonly id: string;
  readonly name: string;
  /** One for each day. */
  readonly values: readonly number[];
}

/** What a chart draws. */
export interface ChartDays {
  /** `2026-11-22`, without a gap, oldest first. */
  readonly days: readonly string[];
  readonly series: readonly Series[];
  /** Of each day. */
  readonly sums: readonly number[];
  /** Millionths of a US dollar; tokens where nothing had a price. */
  readonly unit: "money" | "tokens";
}

const DAY_MS = 24 * 60 * 60 * 1_000;

/** Points as series over every day of a span, the dearest first. Pure. */
export function chartDays(
  points: readonly CostPoint[],
  { since, days: count }: { readonly since: string; readonly days: number },
): ChartDays {
  const first = Date.parse(`${since}T00:00:00Z`);
  const days = Array.from({ length: count }, (_none, index) =>
    new Date(first + index * DAY_MS).toISOString().slice(0, 10),
  );
  const unit = points.some(({ microUsd }) => microUsd > 0) ? "money" : "tokens";
  const valueOf = ({ microUsd, tokens }: CostPoint): number =>
    unit === "money" ? microUsd : tokens;

  const series = [...Map.groupBy(points, ({ id }) => id)]
    .map(([id, some]): Series => {
      const byDay = new Map(some.map((point) => [point.day, valueOf(point)]));
      return { id, name: some[0]!.name, values: days.map((day) => byDay.get(day) ?? 0) };
    })
    .filter(({ values }) => values.some((value) => value > 0))
    .toSorted((a, b) => Number(a.id === "") - Number(b.id === "") || total(b) - total(a));

  const sums = days.map((_day, index) =>
    series.reduce((sum, { values }) => sum + values[index]!, 0),
  );

  return { days, series, sums, unit };
}

function total({ values }: Series): number {
  return values.reduce((sum, value) => sum + value, 0);
}

/** The next round number, so that the axis can be read: 1, 2 or 5 with noughts. Pure. */
export function roundUp(value: number): number {
  if (value <= 0) return 1;
  const power = 10 ** Math.floor(Math.log10(value));
  const step = [1, 2, 5, 10].find((one) => one * power >= value) ?? 10;

  return step * power;
}
