import type { CostsText } from "./text.ko.ts";

export const en: CostsText = {
  pageTitle: "Costs",
  lead: "Tokens and money that model calls have used, and the budgets.",
  span: "Period",
  days: (count) => (count === 1 ? "Today" : `Last ${count} days`),
  search: "Search agents and services",
  empty: "Nothing was used in this time.",
  emptyHint:
    "Start a conversation, and it appears here. Money is counted for models that have a price in `prices` of the configuration.",
  noMatch: (query) => `No agent or service matches “${query}”.`,
  sum: (calls, tokens) =>
    `${calls.toLocaleString("en")} calls, ${tokens.toLocaleString("en")} tokens`,
  unpriced: (calls) =>
    `Without ${calls === 1 ? "one call" : `${calls.toLocaleString("en")} calls`} of models that have no price; set one in \`prices\` of the configuration.`,
  byAgent: "By agent",
  byService: "By service",
  byDay: (timeZone) => `By day (${timeZone})`,
  byModel: "By model",
  chart: {
    title: "Used each day",
    by: "Tell apart by",
    sides: { agent: "Agent", service: "Service", model: "Model" },
    told: (side) =>
      `Stacked bars of what was used each day, by ${side.toLowerCase()}. The table below has the figures.`,
    others: "All others",
    asTable: "As a table",
    day: "Day",
    sum: "Sum",
  },
  name: "Name",
  tokens: "Tokens",
  money: "Cost",
  tokenCount: (count) => `${count.toLocaleString("en")} tokens`,
  budgets: "Budgets",
  noBudgets:
    "No budget is set. Set one in `budgets` of the configuration, and no more than that is used.",
  of: { team: "The team, per day", session: "Each conversation", turn: "Each turn" },
  ofAgent: (name) => `${name}, per day`,
  per: { day: "day", session: "conversation", turn: "turn" },
  used: (used, most) => `${used} of ${most} used today`,
  atMost: (most, per) => `at most ${most} per ${per}`,
};
