import { DureError } from "../kernel/errors.ts";
import { onWire } from "../kernel/wire.ts";
import { onlyDefined } from "../kernel/json.ts";
import type { RunOrder } from "../plans/rows/run.ts";
import { shownPort, shownPorts } from "../plans/runs/shown.ts";
import {
  DiffJson,
  ManifestJson,
  ORDERED,
  PortDetailJson,
  PortParams,
  PortRetryBody,
  PortSaidAnswer,
  PortSayBody,
  PortsQuery,
  RunParams,
  RunPortsJson,
  StepParams,
  TranscriptJson,
  TranscriptQuery,
} from "../wire/runs.ts";
import { does, order, read, tags, whileAsked, type PlanRouteParts } from "./plan-route-parts.ts";
import { problems } from "./schemas.ts";
import type { RouteApp } from "./server.ts";
import { viewerOf, viewOf } from "./tenants.ts";

/** One port of a run: looked at and steered. */
export function portRoutes(app: RouteApp, parts: PlanRouteParts): void {
  readPorts(app, parts);
  readPort(app, parts);
  readManifest(app, parts);
  readPortTranscript(app, parts);
  diffPort(app, parts);
  retryPort(app, parts);
  skipPort(app, parts);
  sayToPort(app, parts);
}

function readPorts(app: RouteApp, parts: PlanRouteParts): void {
  const { runs } = parts.plans;
  app.get(
    "/v1/runs/:id/ports",
    {
      config: read,
      schema: {
        tags,
        summary: "Some ports of a run, as the run has them; unknown names are left out",
        params: RunParams,
        querystring: PortsQuery,
        response: { 200: RunPortsJson, ...problems(400, 401, 403, 404) },
      },
    },
    async (request) => {
      const tenant = viewOf(request);
      const found = await runs.ports(request.params.id, request.query.ids, { tenant });

      return onWire<RunPortsJson>({ ports: shownPorts(found) });
    },
  );
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
        params: PortParams,
        response: { 200: PortDetailJson, ...problems(400, 401, 403, 404) },
      },
    },
    async (request) => {
      const tenant = viewOf(request);
      const [run, port] = await Promise.all([
        runs.get(request.params.id, { tenant }),
        runs.port(request.params.id, request.params.port, { tenant }),
      ]);

      return onWire<PortDetailJson>(shownPort(port, run, parts.clock.now()));
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
        params: StepParams,
        response: { 200: ManifestJson, ...problems(400, 401, 403, 404) },
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

      return onWire<ManifestJson>(manifest);
    },
  );
}

function readPortTranscript(app: RouteApp, parts: PlanRouteParts): void {
  const { runs } = parts.plans;
  app.get(
    "/v1/runs/:id/ports/:port/transcript",
    {
      config: read,
      schema: {
        tags,
        summary: "What the workers of a port thought, said and did; `orchestrator` has one too",
        params: PortParams,
        querystring: TranscriptQuery,
        response: { 200: TranscriptJson, ...problems(400, 401, 403, 404) },
      },
    },
    async (request) => {
      const { id, port } = request.params;
      const lines = await runs.transcript(id, port, request.query, { tenant: viewOf(request) });

      return onWire<TranscriptJson>(lines);
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
        params: PortParams,
        response: { 200: DiffJson, ...problems(400, 401, 403, 404, 409) },
      },
    },
    async (request, reply) => {
      const { id, port } = request.params;
      const options = { tenant: viewOf(request), signal: whileAsked(reply, parts) };

      return onWire<DiffJson>(await library.diff(id, port, options));
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
        params: PortParams,
        body: PortRetryBody,
        response: { ...ORDERED, ...problems(400, 401, 403, 404, 409) },
      },
    },
    (request, reply) => {
      const { hint: words, tries = 1, by, tokens, calls, time_ms, grant } = request.body ?? {};
      const orchestrator = by === "orchestrator" ? by : undefined;

      const wish: RunOrder = {
        type: "retry",
        port: request.params.port,
        tries,
        ...onlyDefined({ by: orchestrator, hint: words, tokens, calls, timeMs: time_ms, grant }),
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
        params: PortParams,
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
          "Tells a member of a port something; who listens reads it at its next turn, the others in " +
          "their next prompt",
        params: PortParams,
        body: PortSayBody,
        response: {
          202: PortSaidAnswer,
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
        signal: closing,
      });

      return reply.code(202).send(said);
    },
  );
}
