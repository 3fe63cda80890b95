import type { Costs } from "dure/client";
import { useState, type ReactNode } from "react";
import { Choice } from "../choice.tsx";
import { useLanguage } from "../language.tsx";
import { chartDays, roundUp, type ChartDays } from "./chart-days.ts";
import { dayOf, moneyOf } from "./sums.ts";

type Side = keyof Costs["overTime"];

/** Of the drawing; it is stretched to the width of the page. */
const SIZE = { width: 720, height: 190 };
/** Lines across, the uppermost included. */
const LINES = [0.5, 1];

/** What was used on each day, told apart by agent, service or model; the same as a table below. */
export function CostChart({ costs, days }: { costs: Costs; days: number }): ReactNode {
  const { text } = useLanguage();
  const { costs: words } = text;
  const [side, setSide] = useState<Side>("agent");
  const chart = chartDays(costs.overTime[side], { since: costs.since, days });
  if (chart.series.length === 0) return null;

  return (
    <section className="costs-chart stack" aria-label={words.chart.title}>
      <header className="toolbar between">
        <h2>{words.chart.title}</h2>
        <Choice
          label={words.chart.by}
          value={side}
          options={(["agent", "service", "model"] as const).map((value) => ({
            value,
            label: words.chart.sides[value],
          }))}
          onChoose={setSide}
        />
      </header>
      <Bars chart={chart} label={words.chart.told(words.chart.sides[side])} />
      <Legend chart={chart} />
      <Numbers chart={chart} />
    </section>
  );
}

function Bars({ chart, label }: { chart: ChartDays; label: string }): ReactNode {
  const amount = useAmount(chart);
  const { language } = useLanguage();
  const { days, series, sums } = chart;
  const most = roundUp(Math.max(...sums));
  const step = SIZE.width / days.length;
  const scale = SIZE.height / most;

  return (
    <figure>
      <div className="costs-plot">
        <svg
          viewBox={`0 0 ${SIZE.width} ${SIZE.height}`}
          preserveAspectRatio="none"
          role="img"
          aria-label={label}
        >
          {LINES.map((line) => (
            <line
              key={line}
              x1={0}
              x2={SIZE.width}
              y1={SIZE.height * (1 - line)}
              y2={SIZE.height * (1 - line)}
            />
          ))}
          {days.map((day, index) => (
            <g key={day}>
              <title>{`${dayOf(day, language)}: ${amount(sums[index]!)}`}</title>
              {series.map((one, nth) => {
                const below = series
                  .slice(0, nth)
                  .reduce((sum, { values }) => sum + values[index]!, 0);
                const value = one.values[index]!;
                return value === 0 ? null : (
                  <rect
                    key={one.id}
                    data-series={nth}
                    x={index * step + step * 0.12}
                    width={step * 0.76}
                    y={SIZE.height - (below + value) * scale}
                    height={value * scale}
                  />
                );
              })}
            </g>
          ))}
        </svg>
        {LINES.map((line) => (
          <span key={line} aria-hidden style={{ insetBlockStart: `${(1 - line) * 100}%` }}>
            {amount(most * line)}
          </span>
        ))}
      </div>
      <figcaption className="soft small row between">
        <span>{dayOf(days[0]!, language)}</span>
        {days.length > 1 && <span>{dayOf(days.at(-1)!, language)}</span>}
      </figcaption>
    </figure>
  );
}

function Legend({ chart: { series } }: { chart: ChartDays }): ReactNode {
  const { costs: words } = useLanguage().text;
  return (
    <ul className="costs-legend small toolbar">
      {series.map(({ id, name }, nth) => (
        <li className="row" key={id} data-series={nth}>
          {id === "" ? words.chart.others : name}
        </li>
      ))}
    </ul>
  );
}

/** The same figures for those who do not see the drawing, or want them exactly. */
function Numbers({ chart }: { chart: ChartDays }): ReactNode {
  const { text, language } = useLanguage();
  const { costs: words } = text;
  const amount = useAmount(chart);
  const { days, series, sums } = chart;
  const used = days
    .flatMap((day, index) => (sums[index]! > 0 ? [{ day, index }] : []))
    .toReversed();

  return (
    <details className="costs-numbers more">
      <summary>{words.chart.asTable}</summary>
      <div tabIndex={0} role="region" aria-label={words.chart.asTable}>
        <table>
          <thead>
            <tr>
              <th scope="col">{words.chart.day}</th>
              {series.map(({ id, name }) => (
                <th key={id} scope="col">
                  {id === "" ? words.chart.others : name}
                </th>
              ))}
              <th scope="col">{words.chart.sum}</th>
            </tr>
          </thead>
          <tbody>
            {used.map(({ day, index }) => (
              <tr key={day}>
                <th scope="row">{dayOf(day, language)}</th>
                {series.map(({ id, values }) => (
                  <td key={id}>{amount(values[index]!)}</td>
                ))}
                <td>{amount(sums[index]!)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </details>
  );
}

function useAmount({ unit }: ChartDays): (value: number) => string {
  const { text, language } = useLanguage();
  return (value) =>
    unit === "money" ? moneyOf(value, language) : text.costs.tokenCount(Math.round(value));
}
