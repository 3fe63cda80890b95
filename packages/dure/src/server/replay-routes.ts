import type { FastifyPluginAsyncZod } from "fastify-type-provider-zod";
import type { z } from "zod";
import type { TurnReplays } from "../engine/replay/replays.ts";
import type { Json } from "../kernel/json.ts";
import { onWire } from "../kernel/wire.ts";
import { ReplayableAnswer, ReplayAnswer, ReplayBody } from "../wire/replays.ts";
import { TurnParams } from "../wire/turns.ts";
import { closedSignal } from "./conversation-routes.ts";
import { problems } from "./schemas.ts";
import type { RouteApp, ServerParts } from "./server.ts";
import { viewerOf } from "./tenants.ts";
import { assertTurnId } from "./turn-position.ts";

/** It shows prompts and spends money. */
const SCOPE = "admin";
const PATH = "/v1/agent/turns/:turn_id/replay";

/** Turns that are run again without any effect. Source: docs/spec/platform §3. */
export const replayRoutes: FastifyPluginAsyncZod<ServerParts> = async (app, { replays }) => {
  if (!replays) return;
  findReplayable(app, replays);
  replay(app, replays);
};

function findReplayable(app: RouteApp, replays: TurnReplays): void {
  app.get(
    PATH,
    {
      config: { scope: SCOPE },
      schema: {
        tags: ["turns"],
        summary: "A turn that has ended, and the prompts and models to replay it with",
        params: TurnParams,
        response: { 200: ReplayableAnswer, ...problems(400, 401, 403, 404, 409) },
      },
    },
    async (request) => {
      const turnId = request.params.turn_id;
      assertTurnId(turnId);
      const { trace, agents, ...turn } = await replays.find(turnId, viewerOf(request));

      return onWire<z.output<typeof ReplayableAnswer>>({
        ...turn,
        elapsedMs: trace.totalElapsedMs,
        agents: trace.agents,
        replayed: agents.map(({ key, prompt, model, isCustom }) => ({
          ...{ key, prompt, model, isCustom },
        })),
      });
    },
  );
}

function replay(app: RouteApp, replays: TurnReplays): void {
  app.post(
    PATH,
    {
      config: { scope: SCOPE, audit: "turn.replay" },
      schema: {
        tags: ["turns"],
        summary: "Run a turn again with another model or prompt; nothing is done or stored",
        params: TurnParams,
        body: ReplayBody,
        response: {
          200: ReplayAnswer,
          ...problems(400, 401, 403, 404, 409, 413, 415, 422, 429, 503),
        },
      },
    },
    async (request, reply) => {
      const turnId = request.params.turn_id;
      assertTurnId(turnId);
      request.turnId = turnId;
      const { model, prompts = [], from, any_version: anyVersion } = request.body;
      const order = {
        ...{ model, from, anyVersion },
        prompts: Object.fromEntries(prompts.map(({ agent, prompt }) => [agent, prompt])),
      };
      const signal = closedSignal(reply.raw); // the reader has left: calls that run are cut
      const done = await replays.run(turnId, order, { caller: viewerOf(request), signal });
      const { state: _state, costMicroUsd, calls, ...rest } = done;

      return onWire<z.output<typeof ReplayAnswer>>({
        ...rest,
        calls: calls.map(({ input, ...call }) => ({ ...call, args: (input ?? null) as Json })),
        microUsd: costMicroUsd,
      });
    },
  );
}
