import { z } from "zod";
import { DureError } from "../kernel/errors.ts";
import { MAX_NOTE } from "../kernel/escalation.ts";
import { toWire } from "../kernel/wire.ts";
import type { RunOrder } from "../plans/run/run.ts";
import { given } from "./given.ts";
import { DiffJson, portDetailToWire, PortDetailJson } from "./plan-json.ts";
import {
  does,
  mayReachOut,
  order,
  ORDERED,
  portParams,
  read,
  tags,
  whileAsked,
  type PlanRouteParts,
} from "./plan-route-parts.ts";
import { problems } from "./schemas.ts";
import type { RouteApp } from "./server.ts";
import { viewerOf, viewOf } from "./tenants.ts";

const hint = z.string().trim().min(1).max(MAX_NOTE).optional();

const RetryBody = z
  .object({
    hint: hint.meta({ description: "Told to the next try." }),
    tries: z.int().min(0).max(20).optional().meta({ description: "Tries more. Default 1." }),
    by: z.enum(["pair", "orchestrator"]).optional().meta({
      description:
        "Who makes them: the pair (default), or the plan's orchestrator, who has the port from then on.",
    }),
    tokens: z
      .int()
      .min(1)
      .max(1_000_000_000)
      .optional()
      .meta({ description: "On top of its bound." }),
    time_ms: z
      .int()
      .min(1)
      .max(604_800_000)
      .optional()
      .meta({ description: "Milliseconds on top of its time." }),
    grant: z
      .object({ path: z.string().min(1).max(1_024), wants: z.enum(["read", "own"]) })
      .optional()
      .meta({ description: "A path that it may use beside the plan." }),
  })
  .nullish();

const SayBody = z.object({
  to: z.enum(["implementer", "tester"]),
  text: z.string().meta({ description: "At most 8,000 characters." }),
});

/** One port of a run: looked at and steered. */
export function portRoutes(app: RouteApp, parts: PlanRouteParts): void {
  readPort(app, parts);
  readManifest(app, parts);
  diffPort(app, parts);
  retryPort(app, parts);
  skipPort(app, parts);
  sayToPort(app, parts);
}

function readPort(app: RouteApp, parts: PlanRouteParts): void {
  const { runs } = parts.plans;
  app.get(
    "/v1/runs/:id/ports/:port",
    {
      config: read,
      schema: {
        tags,
        summary: "One port: its steps, the words of its pair, what was refused",
        params: portParams,
        response: { 200: PortDetailJson, ...problems(400, 401, 403, 404) },
      },
    },
    async (request) => {
      const tenant = viewOf(request);
      const [run, port] = await Promise.all([
        runs.get(request.params.id, { tenant }),
        runs.port(request.params.id, request.params.port, { tenant }),
      ]);
      return portDetailToWire(port, run, parts.clock.now());
    },
  );
}

function readManifest(app: RouteApp, parts: PlanRouteParts): void {
  const { runs } = parts.plans;
  app.get(
    "/v1/runs/:id/ports/:port/steps/:step/manifest",
    {
      config: read,
      schema: {
        tags,
        summary: "What the prompt of a step was made of, and what full context would have cost",
        params: z.object({
          ...portParams.shape,
          step: z.coerce.number().int().min(1).max(Number.MAX_SAFE_INTEGER),
        }),
        response: {
          200: z.looseObject({
            blocks: z.array(z.looseObject({ name: z.string(), tokens: z.number() })),
            total: z.number(),
            full_context: z.number(),
            saved: z.number(),
          }),
          ...problems(400, 401, 403, 404),
        },
      },
    },
    async (request) => {
      const { id, port, step } = request.params;
      const manifest = await runs.manifest(id, port, step, { tenant: viewOf(request) });
      if (manifest === null) {
        throw new DureError("MANIFEST_MISSING", `The step ${step} of ${port} had no prompt.`, {
          class: "not-found",
          hint: "Only steps of a worker have one.",
        });
      }
      return toWire(manifest) as {
        blocks: { name: string; tokens: number }[];
        total: number;
        full_context: number;
        saved: number;
      };
    },
  );
}

function diffPort(app: RouteApp, parts: PlanRouteParts): void {
  const { plans: library } = parts;
  app.get(
    "/v1/runs/:id/ports/:port/diff",
    {
      config: read,
      schema: {
        tags,
        summary: "What a port has changed so far",
        params: portParams,
        response: { 200: DiffJson, ...problems(400, 401, 403, 404, 409) },
      },
    },
    async (request, reply) => {
      const { id, port } = request.params;
      const options = { tenant: viewOf(request), signal: whileAsked(reply, parts) };
      return toWire(await library.diff(id, port, options)) as z.infer<typeof DiffJson>;
    },
  );
}

function retryPort(app: RouteApp, parts: PlanRouteParts): void {
  app.post(
    "/v1/runs/:id/ports/:port/retry",
    {
      config: does("run.retry"),
      schema: {
        tags,
        summary:
          "Gives a failed port another try, then its dependents go on; an ended run goes on with it",
        params: portParams,
        body: RetryBody,
        response: { ...ORDERED, ...problems(400, 401, 403, 404, 409) },
      },
    },
    (request, reply) => {
      const { hint: words, tries = 1, by, tokens, time_ms, grant } = request.body ?? {};
      const orchestrator = by === "orchestrator" ? by : undefined;
      const wish: RunOrder = {
        type: "retry",
        port: request.params.port,
        tries,
        ...given({ by: orchestrator, hint: words, tokens, timeMs: time_ms, grant }),
      };
      return order(parts, request, reply, wish);
    },
  );
}

function skipPort(app: RouteApp, parts: PlanRouteParts): void {
  app.post(
    "/v1/runs/:id/ports/:port/skip",
    {
      config: does("run.skip"),
      schema: {
        tags,
        summary: "Goes on without a port: one that works is stopped, what needs it is blocked",
        params: portParams,
        response: { ...ORDERED, ...problems(400, 401, 403, 404, 409) },
      },
    },
    (request, reply) => order(parts, request, reply, { type: "skip", port: request.params.port }),
  );
}

function sayToPort(app: RouteApp, parts: PlanRouteParts): void {
  const { plans: library, closing } = parts;
  app.post(
    "/v1/runs/:id/ports/:port/say",
    {
      config: does("run.say"),
      schema: {
        tags,
        summary:
          "Tells a member of a port's pair something; who listens hears it at once, the others in " +
          "their next prompt",
        params: portParams,
        body: SayBody,
        response: {
          202: z.object({ id: z.int() }).meta({ description: "Stored in the pair's channel." }),
          ...problems(400, 401, 403, 404, 409),
        },
      },
    },
    async (request, reply) => {
      const { id, port } = request.params;
      const { tenant, name: by } = viewerOf(request);
      const said = await library.say(id, port, request.body, {
        tenant,
        by,
        mayReachOut: mayReachOut(request),
        signal: closing,
      });
      return reply.code(202).send(said);
    },
  );
}
