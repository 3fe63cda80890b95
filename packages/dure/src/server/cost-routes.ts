import type { FastifyPluginAsyncZod } from "fastify-type-provider-zod";
import { z } from "zod";
import { onWire } from "../kernel/wire.ts";
import { assertOfAllTenants } from "./access.ts";
import { callerOf } from "./guard.ts";
import { problems } from "./schemas.ts";
import type { ServerParts } from "./server.ts";
import { type Costs, CostsAnswer } from "../wire/platform.ts";

/** The book of model calls as the server reads it. */
export interface CostBook {
  /** The last so many days, today included. */
  read(days: number): Promise<Costs>;
}

/** The book of calls is kept for 90 days. */
const MAX_DAYS = 90;

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
      return onWire<z.output<typeof CostsAnswer>>(await costs.read(request.query.days));
    },
  );
};
