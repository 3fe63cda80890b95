import type { FastifyPluginAsyncZod } from "fastify-type-provider-zod";
import { z } from "zod";
import { toWire } from "../kernel/wire.ts";
import { assertOfAllTenants } from "./access.ts";
import { callerOf } from "./guard.ts";
import { problems } from "./schemas.ts";
import type { ServerParts } from "./server.ts";

export interface CostSum {
  readonly calls: number;
  readonly tokensIn: number;
  readonly tokensOut: number;
  /** Millionths of a US dollar, by the prices of the time of each call. */
  readonly microUsd: number;
  /** Calls of models without a price: what they have cost is not in `microUsd`. */
  readonly unpriced: number;
}

export interface CostBudget {
  readonly of: "team" | "agent" | "session" | "turn";
  readonly per: "day" | "session" | "turn";
  readonly agent: string | null;
  readonly name: string | null;
  readonly unit: "tokens" | "micro_usd";
  readonly most: number;
  /** Today; null where each session or turn has its own. */
  readonly used: number | null;
}

type Named = CostSum & { readonly id: string; readonly name: string };

export interface Costs {
  /** The first day, in the team's time zone. */
  readonly since: string;
  readonly timeZone: string;
  readonly total: CostSum;
  /** The newest day first; days without a call are left out. */
  readonly byDay: readonly Named[];
  /** What has cost most first. */
  readonly byAgent: readonly Named[];
  readonly byService: readonly Named[];
  readonly budgets: readonly CostBudget[];
}

/** The book of model calls as the server reads it. */
export interface CostBook {
  /** The last so many days, today included. */
  read(days: number): Promise<Costs>;
}

/** The book of calls is kept for 90 days. */
const MAX_DAYS = 90;

const CostSumJson = z.object({
  calls: z.int(),
  tokens_in: z.int(),
  tokens_out: z.int(),
  micro_usd: z.int().meta({ description: "Millionths of a US dollar." }),
  unpriced: z
    .int()
    .meta({ description: "Calls of models without a price; what they have cost is not counted." }),
});
const NamedSum = CostSumJson.extend({ id: z.string(), name: z.string() });
const CostsAnswer = z
  .object({
    since: z.string(),
    time_zone: z.string(),
    total: CostSumJson,
    by_day: z.array(NamedSum),
    by_agent: z.array(NamedSum),
    by_service: z.array(NamedSum),
    budgets: z.array(
      z.object({
        of: z.enum(["team", "agent", "session", "turn"]),
        per: z.enum(["day", "session", "turn"]),
        agent: z.string().nullable(),
        name: z.string().nullable(),
        unit: z.enum(["tokens", "micro_usd"]),
        most: z.number(),
        used: z.number().nullable(),
      }),
    ),
  })
  .meta({
    id: "Costs",
    description:
      "What model calls have used, and the budgets of the team; an agent's card may have stricter ones.",
  });

/** What it all costs. */
export const costRoutes: FastifyPluginAsyncZod<ServerParts> = async (app, { costs }) => {
  if (!costs) return;
  app.get(
    "/v1/costs",
    {
      config: { scope: "admin" },
      schema: {
        tags: ["operation"],
        summary: "Tokens and money of model calls by day, agent and service, and the budgets",
        querystring: z.object({ days: z.coerce.number().int().min(1).max(MAX_DAYS).default(30) }),
        response: { 200: CostsAnswer, ...problems(400, 401, 403) },
      },
    },
    async (request) => {
      assertOfAllTenants(callerOf(request), "COSTS_NOT_ALLOWED", "read the costs");
      return toWire(await costs.read(request.query.days)) as z.infer<typeof CostsAnswer>;
    },
  );
};
