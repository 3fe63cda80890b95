import type { FastifyPluginAsyncZod } from "fastify-type-provider-zod";
import type { FastifyRequest } from "fastify";
import type { z } from "zod";
import { DureError } from "../kernel/errors.ts";
import { onWire } from "../kernel/wire.ts";
import type { EffectKind } from "../engine/agent/tool.ts";
import { AgentDetailJson, AgentParams, AsPerson } from "../wire/rooms.ts";
import { hasScope } from "./access.ts";
import { personOf } from "./room-routes.ts";
import { problems } from "./schemas.ts";
import type { ServerParts } from "./server.ts";
import { viewOf } from "./tenants.ts";

/** What an agent is made of. */
export interface AgentMaking {
  /** As `provider:model`; more than one where a service behind it has more agents. */
  readonly models: readonly string[];
  readonly tools: readonly {
    readonly name: string;
    readonly description: string;
    readonly effect: EffectKind;
    /** As the card names it; null for a tool of the team or the service. */
    readonly mcp: string | null;
  }[];
  /** Instructions that it may load. */
  readonly skills: readonly { readonly name: string; readonly description: string }[];
  /** Tools of MCP servers that it does not get, and any that its provider would refuse. */
  readonly leftOut: readonly {
    readonly name: string;
    readonly mcp: string | null;
    readonly because: string;
    readonly next: string;
  }[];
}

/** One of the files that say who an agent is. */
export interface AgentFileText {
  /** Relative to the team's folder. */
  readonly path: string;
  readonly text: string;
  /** Only its beginning is here. */
  readonly cut: boolean;
}

/** How the agents of a team are made, as the server reads it. */
export interface AgentBook {
  making(agent: { readonly service: string }): AgentMaking;
  files(agent: { readonly id: string }): Promise<readonly AgentFileText[]>;
}

/** Answers in rooms that the page of an agent shows. */
const RECENT = 20;

/** One agent. Source: docs/spec/platform §5. */
export const agentRoutes: FastifyPluginAsyncZod<ServerParts> = async (app, { rooms, agents }) => {
  if (!rooms || !agents) return;
  app.get(
    "/v1/agents/:agent",
    {
      config: { scope: "rooms" },
      schema: {
        tags: ["rooms"],
        summary: "One agent: persona, models, tools, files, load, spend, what it answered last",
        params: AgentParams,
        querystring: AsPerson,
        response: { 200: AgentDetailJson, ...problems(400, 401, 403, 404) },
      },
    },
    async (request) => {
      const { agent: id } = request.params;
      const isAdmin = hasScope(request.principal!, "admin");
      const tenant = viewOf(request);
      const listed = await rooms.reader.agents({ personas: isAdmin, tenant });
      const agent = listed.find((one) => one.id === id);
      if (!agent) throw agentUnknown(id);

      const who = personOf(request, rooms, request.query.as_person);
      const answers = await rooms.reader.answersOf(id, { who, limit: RECENT });
      const files = maySeeFiles(request) ? await agents.files(agent) : null;

      return onWire<z.output<typeof AgentDetailJson>>({
        ...agent,
        ...agents.making(agent),
        files,
        answers,
      });
    },
  );
};

/** The folder of the team is the operators', not a tenant's. */
function maySeeFiles(request: FastifyRequest): boolean {
  return hasScope(request.principal!, "admin") && viewOf(request) === null;
}

export function agentUnknown(id: string): DureError {
  return new DureError("AGENT_UNKNOWN", `There is no agent "${id}".`, {
    class: "not-found",
    hint: "GET /v1/agents lists them.",
  });
}
