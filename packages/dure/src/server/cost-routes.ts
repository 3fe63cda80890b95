import type { FastifyPluginAsyncZod } from "fastify-type-provider-zod";
import type { z } from "zod";
import { onWire } from "../kernel/wire.ts";
import { assertOfAllTenants } from "./access.ts";
import { callerOf } from "./guard.ts";
import { problems } from "./schemas.ts";
import type { ServerParts } from "./server.ts";
import { type Costs, CostsAnswer, CostsQuery } from "../wire/platform.ts";

/** The book of model calls as the server reads it. */
export interface CostBook {
  /** The last so many days, today included. */
  read(days: number): Promise<Costs>;
}

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
        querystring: CostsQuery,
        response: { 200: CostsAnswer, ...problems(400, 401, 403) },
      },
    },
    async (request) => {
      assertOfAllTenants(callerOf(request), "COSTS_NOT_ALLOWED", "read the costs");
      return onWire<z.output<typeof CostsAnswer>>(await costs.read(request.query.days));
    },
  );
};
