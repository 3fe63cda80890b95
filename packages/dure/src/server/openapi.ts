import { jsonSchemaTransform } from "fastify-type-provider-zod";
import type { RouteScope } from "./access.ts";
import { problems } from "./schemas.ts";

/**
 * A route as `/openapi.json` tells it: what its author wrote, and how whatever stands before all
 * routes (guard.ts) answers. An answer that the author describes goes before ours.
 */
export const describeRoute: typeof jsonSchemaTransform = (given) => {
  const { schema, route } = given;
  if (!schema || schema.hide === true) return jsonSchemaTransform(given);

  const scope: RouteScope = route.config?.scope ?? "admin";
  const access = scope === "public" ? { security: [] } : {};

  return jsonSchemaTransform({
    ...given,
    schema: {
      ...schema,
      ...access,
      response: { ...problems(...refusalsOf(scope)), ...(schema.response as object | undefined) },
    },
  });
};

/**
 * Host or origin not allowed (403), too often (429), broken (500), closing (503); a query that is
 * no text (400), no token (401).
 */
function refusalsOf(scope: RouteScope): readonly number[] {
  return scope === "public" ? [400, 403, 429, 500, 503] : [400, 401, 403, 429, 500, 503];
}
