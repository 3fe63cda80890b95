import type { FastifyPluginAsyncZod } from "fastify-type-provider-zod";
import { DureError } from "../kernel/errors.ts";
import { closedSignal } from "../server/conversation-routes.ts";
import { endWhenRevoked } from "../server/guard.ts";
import type { RouteApp, ServerParts } from "../server/server.ts";
import { McpQuery } from "../wire/mcp.ts";
import type { ProblemJson } from "../wire/problem.ts";
import type { McpExtension } from "./make-server.ts";
import { DEFAULT_GROUPS, readGroups } from "./team-tool.ts";

/** Bytes of one message of a client. Source: docs/spec/interop §2. */
const MAX_MESSAGE = 1_048_576;

/** The team as an MCP server over streamable HTTP. Source: docs/spec/interop §2. */
export const mcpRoutes: FastifyPluginAsyncZod<ServerParts> = async (app, parts) =>
  serveMcp(app, parts);

/** With more than a team offers. */
export function mcpRoutesWith(extension: McpExtension): FastifyPluginAsyncZod<ServerParts> {
  return async (app, parts) => serveMcp(app, parts, extension);
}

function serveMcp(app: RouteApp, parts: ServerParts, extension?: McpExtension): void {
  app.post(
    "/mcp",
    {
      config: { scope: "known", audit: false, stream: true, refusal: asJsonRpc },
      bodyLimit: MAX_MESSAGE,
      schema: { hide: true, querystring: McpQuery },
    },
    async (request, reply) => {
      const { tools, as } = request.query;
      const groups = tools === undefined ? DEFAULT_GROUPS : readGroups(tools, "?tools");
      const gone = closedSignal(reply.raw);
      const ended = new AbortController();
      const end = (): void => ended.abort();
      const cancel = endWhenRevoked(parts, request, { end });
      reply.raw.once("close", cancel);
      reply.header("cache-control", "no-store");

      const { answerMcp } = await import("./mcp-http.ts"); // the SDK is read when it is needed
      const signal = AbortSignal.any([gone, ended.signal, parts.closing]);
      const { version, clock } = parts;
      const asked = { groups, as, signal, end, version, clock, web: app.web, extension };
      try {
        return await reply.send(await answerMcp(request, asked));
      } catch (error) {
        if (gone.aborted) return reply.hijack(); // what the call has begun goes on
        throw parts.closing.aborted ? closing(error) : error;
      }
    },
  );
}

function closing(cause: unknown): DureError {
  return new DureError("SERVER_DRAINING", "This server closed during the call.", {
    class: "unavailable",
    hint: "Call again with the same key: what was begun is not begun twice.",
    cause,
  });
}

/** Codes of JSON-RPC 2.0 §5.1 for refusals before a message was read; -32000 is the server's own. */
const JSON_RPC_CODES: Readonly<Record<string, number>> = {
  BODY_INVALID: -32_700,
  REQUEST_INVALID: -32_600,
  BODY_TOO_LARGE: -32_600,
};

/** Pure. */
function asJsonRpc(problem: ProblemJson): object {
  const { code, detail, hint } = problem;
  const message = [`${code}: ${detail}`, hint].filter(Boolean).join(" ");

  return {
    jsonrpc: "2.0",
    id: null,
    error: { code: JSON_RPC_CODES[code] ?? -32_000, message, data: problem },
  };
}
