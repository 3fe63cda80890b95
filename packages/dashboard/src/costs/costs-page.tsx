import { NativeSelect, TextInput } from "@mantine/core";
import { IconCoins, IconSearch } from "@tabler/icons-react";
import { keepPreviousData } from "@tanstack/react-query";
import type { CostBudget, Costs, CostSum, NamedCost } from "dure/client";
import { useState, type ReactNode } from "react";
import { AgentLink } from "../agents/agent-link.tsx";
import { COSTS_WORDS } from "words:later/costs";
import { useLanguage, useWords } from "../language.tsx";
import { Problem } from "../problem.tsx";
import { Prose } from "../prose.tsx";
import { useAgents } from "../rooms/use-rooms.ts";
import { useServiceName } from "../service-names.ts";
import { dayOf, moneyOf, shareOf, tokensOf } from "./sums.ts";
import "./costs.css";
import { Choice } from "../choice.tsx";
import { chartDays, roundUp, type ChartDays } from "./chart-days.ts";
import { useAsked } from "../asked.ts";
import { usePageTitle } from "../whole-page.tsx";

/** Days that can be looked back on. */
const SPANS = [1, 7, 30, 90] as const;
/** Calls end all the time; this often the sums are read again, milliseconds. */
const READ_EVERY_MS = 10_000;

/** What it all costs: the budgets, and the sums by agent, service and day. */
export function CostsPage(): ReactNode {
  const words = useWords(COSTS_WORDS);
  const serviceName = useServiceName();
  const [days, setDays] = useState<number>(30);
  const [search, setSearch] = useState("");

  const costs = useAsked(["costs", days], (client, signal) => client.costs(days, { signal }), {
    refetchInterval: READ_EVERY_MS,
    placeholderData: keepPreviousData,
  });

  usePageTitle(words.pageTitle);

  return (
    <div className="costs page narrow">
      <header>
        <h1>{words.pageTitle}</h1>
        <p className="soft">{words.lead}</p>
      </header>
      <div className="toolbar" role="search">
        <NativeSelect
          aria-label={words.span}
          value={days}
          onChange={({ currentTarget }) => setDays(Number(currentTarget.value))}
          data={SPANS.map((span) => ({
            value: String(span),
            label: words.days({ count: span }),
          }))}
        />
        <TextInput
          value={search}
          onChange={({ currentTarget }) => setSearch(currentTarget.value)}
          placeholder={words.search}
          aria-label={words.search}
          leftSection={<IconSearch size={15} />}
        />
      </div>
      {costs.error !== null && <Problem error={costs.error} onRetry={() => void costs.refetch()} />}
      {costs.data !== undefined && (
        <Sums
          costs={withServiceNames(costs.data, serviceName)}
          days={days}
          search={search.trim().toLowerCase()}
        />
      )}
    </div>
  );
}

/** Services as the reader's language calls them. Pure. */
function withServiceNames(costs: Costs, nameOf: (id: string) => string | undefined): Costs {
  const { byService, overTime } = costs;
  const named = <Row extends { id: string; name: string }>(row: Row): Row => ({
    ...row,
    name: nameOf(row.id) ?? row.name,
  });

  return {
    ...costs,
    byService: byService.map(named),
    overTime: { ...overTime, service: overTime.service.map(named) },
  };
}

function Sums({ costs, days, search }: { costs: Costs; days: number; search: string }): ReactNode {
  const { language } = useLanguage();
  const words = useWords(COSTS_WORDS);
  const matches = ({ id, name }: NamedCost): boolean =>
    `${name} ${id}`.toLowerCase().includes(search);
  const [agents, services] = [costs.byAgent.filter(matches), costs.byService.filter(matches)];

  return (
    <>
      <Budgets budgets={costs.budgets} />
      {costs.total.calls === 0 ? (
        <div className="empty">
          <IconCoins size={30} stroke={1.4} aria-hidden />
          <p>{words.empty}</p>
          <p className="soft small">
            <Prose text={words.emptyHint} />
          </p>
        </div>
      ) : (
        <>
          <p className="costs-total">
            <strong>{moneyOf(costs.total.microUsd, language)}</strong>{" "}
            <span className="soft">
              {words.sum({ calls: costs.total.calls, tokens: tokensOf(costs.total) })}
            </span>
            {costs.total.unpriced > 0 && (
              <span className="soft small">
                {" "}
                <Prose text={words.unpriced({ calls: costs.total.unpriced })} />
              </span>
            )}
          </p>
          {search !== "" && agents.length + services.length === 0 && (
            <p className="soft">{words.noMatch({ query: search })}</p>
          )}
          <CostChart costs={costs} days={days} />
          <SumTable title={words.byAgent} rows={agents} areAgents />
          <SumTable title={words.byService} rows={services} />
          <SumTable title={words.byModel} rows={costs.byModel.filter(matches)} />
          <SumTable
            title={words.byDay({ timeZone: costs.timeZone })}
            rows={costs.byDay.map((row) => ({ ...row, name: dayOf(row.id, language) }))}
          />
        </>
      )}
    </>
  );
}

function SumTable({
  title,
  rows,
  areAgents = false,
}: {
  title: string;
  rows: readonly NamedCost[];
  areAgents?: boolean;
}): ReactNode {
  const { language } = useLanguage();
  const words = useWords(COSTS_WORDS);
  if (rows.length === 0) return null;

  const most = Math.max(...rows.map(weightOf));

  return (
    <table className="costs-table">
      <caption>{title}</caption>
      <thead>
        <tr>
          <th scope="col">{words.name}</th>
          <th scope="col">{words.tokens}</th>
          <th scope="col">{words.money}</th>
        </tr>
      </thead>
      <tbody>
        {rows.map((row) => (
          <tr key={row.id}>
            <th scope="row">
              {areAgents ? <AgentName {...row} /> : row.name}
              <span
                className="costs-bar"
                aria-hidden
                style={{ inlineSize: `${shareOf(weightOf(row), most)}%` }}
              />
            </th>
            <td>{tokensOf(row).toLocaleString(language)}</td>
            <td>{moneyOf(row.microUsd, language)}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

/** Leads to the agent's page, where it has one: agents inside of a service have none. */
function AgentName({ id, name }: NamedCost): ReactNode {
  const { data: agents } = useAgents();
  return agents?.some((agent) => agent.id === id) ? <AgentLink id={id}>{name}</AgentLink> : name;
}

/** What a row is compared by: money where there is some, else tokens. */
function weightOf(sum: CostSum): number {
  return sum.microUsd > 0 ? sum.microUsd : tokensOf(sum) / 1_000_000;
}

function Budgets({ budgets }: { budgets: readonly CostBudget[] }): ReactNode {
  const { language } = useLanguage();
  const words = useWords(COSTS_WORDS);
  const amount = (unit: CostBudget["unit"], value: number): string =>
    unit === "tokens" ? words.tokenCount({ count: value }) : moneyOf(value, language);

  return (
    <section className="costs-budgets stack" aria-label={words.budgets}>
      <h2>{words.budgets}</h2>
      {budgets.length === 0 && (
        <p className="soft small">
          <Prose text={words.noBudgets} />
        </p>
      )}
      <ul className="stack loose">
        {budgets.map(({ of, per, agent, name, unit, most, used }) => (
          <li
            className="cluster between"
            key={`${of} ${agent ?? ""} ${unit}`}
            data-over={used !== null && used >= most}
          >
            <span>{of === "agent" ? words.ofAgent({ name: name ?? "" }) : words.of[of]}</span>
            <span className="soft">
              {used === null
                ? words.atMost({ most: amount(unit, most), per: words.per[per] })
                : words.used({ used: amount(unit, used), most: amount(unit, most) })}
            </span>
            {used !== null && (
              <span className="costs-meter track" aria-hidden>
                <span style={{ inlineSize: `${shareOf(used, most)}%` }} />
              </span>
            )}
          </li>
        ))}
      </ul>
    </section>
  );
}

// --- cost chart

type CostSide = keyof Costs["overTime"];

/** Of the drawing; it is stretched to the width of the page. */
const SIZE = { width: 720, height: 190 };
/** Lines across, the uppermost included. */
const LINES = [0.5, 1];

/** What was used on each day, told apart by agent, service or model; the same as a table below. */
function CostChart({ costs, days }: { costs: Costs; days: number }): ReactNode {
  const words = useWords(COSTS_WORDS);
  const [side, setSide] = useState<CostSide>("agent");
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
      <Bars chart={chart} label={words.chart.told({ side })} />
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
  const words = useWords(COSTS_WORDS);
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
  const { language } = useLanguage();
  const words = useWords(COSTS_WORDS);
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
  const { language } = useLanguage();
  const words = useWords(COSTS_WORDS);
  return (value) =>
    unit === "money" ? moneyOf(value, language) : words.tokenCount({ count: Math.round(value) });
}
