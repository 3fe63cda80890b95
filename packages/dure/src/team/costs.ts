import type { Database } from "../durable/database.ts";
import { AGENT_PROVIDER } from "../kernel/plans.ts";
import { NO_MODEL } from "../models/no-model.ts";
import type { BudgetLimit } from "../models/card.ts";
import type { CostBook } from "../server/cost-routes.ts";
import type { TeamConfig } from "./config.ts";
import type { CostBudget, CostPoint, Costs, CostSum } from "../wire/platform.ts";

export interface CostParts {
  readonly database: Database;
  readonly budgets: TeamConfig["budgets"];
  /** In which days begin. */
  readonly timeZone: string;
  /** What people call an agent or a service; its id where it has no name. */
  readonly agentName: (id: string) => string;
  readonly serviceName: (id: string) => string;
}

/**
 * What the model calls of a team have used, from the book of calls. Source: docs/spec/platform §5,
 * §7.
 */
export function teamCosts({
  database,
  budgets,
  timeZone,
  agentName,
  serviceName,
}: CostParts): CostBook {
  return {
    async read(days) {
      const [[{ today, since }], rows] = await Promise.all([
        database.query<{ today: string; since: string }>(DAYS, [days, timeZone]) as Promise<
          [{ today: string; since: string }]
        >,
        database.query<CostRow>(USED, [days, timeZone]),
      ]);

      const itself = (id: string): string => id;
      const over = (keyOf: (row: CostRow) => string, nameOf: (id: string) => string): CostPoint[] =>
        pointsOf(rows, keyOf, nameOf);

      return {
        since,
        timeZone,
        total: sum(rows),
        byDay: grouped(rows, ({ day }) => day, itself).toSorted((a, b) => (a.id < b.id ? 1 : -1)),
        byAgent: grouped(rows, ({ agent }) => agent, agentName).toSorted(dearestFirst),
        byService: grouped(rows, ({ service }) => service, serviceName).toSorted(dearestFirst),
        byModel: grouped(rows, ({ model }) => model, itself).toSorted(dearestFirst),
        overTime: {
          agent: over(({ agent }) => agent, agentName),
          service: over(({ service }) => service, serviceName),
          model: over(({ model }) => model, itself),
        },
        budgets: budgetsOf(
          budgets,
          rows.filter(({ day }) => day === today),
          agentName,
        ),
      };
    },
  };
}

interface CostRow extends CostSum {
  /** `2026-11-22`, in the team's time zone. */
  readonly day: string;
  readonly agent: string;
  readonly service: string;
  /** `openai:gpt-…`. */
  readonly model: string;
}

/** Of agents, services or models, those that a chart tells apart. */
const TOLD_APART = 7;

/** By day, the dearest ones apart and all others as one, whose id is empty. Pure. */
function pointsOf(
  rows: readonly CostRow[],
  keyOf: (row: CostRow) => string,
  nameOf: (id: string) => string,
): CostPoint[] {
  const dearest = grouped(rows, keyOf, nameOf).toSorted(dearestFirst).slice(0, TOLD_APART);
  const apart = new Set(dearest.map(({ id }) => id));
  const idOf = (row: CostRow): string => (apart.has(keyOf(row)) ? keyOf(row) : "");

  return [...Map.groupBy(rows, (row) => `${row.day} ${idOf(row)}`).values()]
    .map((some): CostPoint => {
      const { day } = some[0]!;
      const id = idOf(some[0]!);
      const { tokensIn, tokensOut, microUsd } = sum(some);

      return { day, id, name: id === "" ? "" : nameOf(id), tokens: tokensIn + tokensOut, microUsd };
    })
    .toSorted((a, b) => (a.day < b.day ? -1 : Number(a.day > b.day)));
}

function grouped(
  rows: readonly CostRow[],
  keyOf: (row: CostRow) => string,
  nameOf: (key: string) => string,
): Costs["byAgent"] {
  return [...Map.groupBy(rows, keyOf)].map(([id, group]) => ({
    id,
    name: nameOf(id),
    ...sum(group),
  }));
}

function sum(rows: readonly CostSum[]): CostSum {
  const total = (of: keyof CostSum): number => rows.reduce((all, row) => all + (row[of] ?? 0), 0);
  return {
    calls: total("calls"),
    tokensIn: total("tokensIn"),
    tokensOut: total("tokensOut"),
    microUsd: total("microUsd"),
    unpriced: total("unpriced"),
    reportedMicroUsd: total("reportedMicroUsd") || undefined,
    estimatedMicroUsd: total("estimatedMicroUsd") || undefined,
  };
}

function dearestFirst(a: CostSum, b: CostSum): number {
  return b.microUsd - a.microUsd || b.tokensIn + b.tokensOut - a.tokensIn - a.tokensOut;
}

/** The budgets of the team's configuration; those of a day with what today has used. Pure. */
function budgetsOf(
  budgets: TeamConfig["budgets"],
  today: readonly CostRow[],
  agentName: (id: string) => string,
): CostBudget[] {
  const agents = [...Map.groupBy(today, ({ agent }) => agent)].toSorted(([a], [b]) =>
    a < b ? -1 : 1,
  );
  return [
    ...numbersOf(budgets?.team?.day).map(({ unit, most }) => ({
      of: "team" as const,
      per: "day" as const,
      agent: null,
      name: null,
      unit,
      most,
      used: usedOf(today, unit),
    })),
    ...agents.flatMap(([agent, rows]) =>
      numbersOf(budgets?.agent?.day).map(({ unit, most }) => ({
        of: "agent" as const,
        per: "day" as const,
        agent,
        name: agentName(agent),
        unit,
        most,
        used: usedOf(rows, unit),
      })),
    ),
    ...(["session", "turn"] as const).flatMap((per) =>
      numbersOf(budgets?.[per]).map(({ unit, most }) => ({
        of: per,
        per,
        agent: null,
        name: null,
        unit,
        most,
        used: null,
      })),
    ),
  ];
}

function numbersOf(
  limit: BudgetLimit | undefined,
): { unit: "tokens" | "micro_usd"; most: number }[] {
  return [
    ...(limit?.microUsd === undefined
      ? []
      : [{ unit: "micro_usd" as const, most: limit.microUsd }]),
    ...(limit?.tokens === undefined ? [] : [{ unit: "tokens" as const, most: limit.tokens }]),
  ];
}

function usedOf(rows: readonly CostRow[], unit: "tokens" | "micro_usd"): number {
  const used = sum(rows);
  return unit === "tokens" ? used.tokensIn + used.tokensOut : used.microUsd;
}

/** The first of so many days that end today, in a time zone; both as people there write it. */
const FIRST_DAY =
  "date_trunc('day', clock_timestamp() at time zone $2::text) - ($1::int - 1) * interval '1 day'";
const DAYS = {
  name: "costs.days",
  text: `
    select to_char(clock_timestamp() at time zone $2::text, 'YYYY-MM-DD') as today,
      to_char(${FIRST_DAY}, 'YYYY-MM-DD') as since`,
};
const USED = {
  name: "costs.used",
  text: `
    select to_char(at at time zone $2::text, 'YYYY-MM-DD') as day, agent, service,
      provider || ':' || model as model, count(*) as calls, sum(tokens_in)::bigint as "tokensIn",
      sum(tokens_out)::bigint as "tokensOut",
      coalesce(sum(cost_micro_usd), 0)::bigint as "microUsd",
      count(*) filter (
        where cost_micro_usd is null and tokens_in + tokens_out > 0
      ) as unpriced,
      coalesce(
        sum(cost_micro_usd) filter (where provider = '${AGENT_PROVIDER}'), 0
      )::bigint as "reportedMicroUsd",
      coalesce(
        sum(cost_micro_usd) filter (where estimated and provider <> '${AGENT_PROVIDER}'), 0
      )::bigint as "estimatedMicroUsd"
    from dure.model_calls
    where at >= (${FIRST_DAY}) at time zone $2::text
      -- no model is set: older releases have counted tokens for it
      and not (provider = 'offline' and model = '${NO_MODEL}')
    group by 1, 2, 3, 4
    order by 1, 2, 3, 4`,
};
