import type { FastifyRequest } from "fastify";
import type { FastifyPluginAsyncZod } from "fastify-type-provider-zod";
import type { z } from "zod";
import { onWire } from "../kernel/wire.ts";
import { shownPlan } from "../plans/runs/shown.ts";
import {
  PlanCheckAnswer,
  PlanCheckBody,
  PlanDraftAnswer,
  PlanDraftBody,
  PlanParams,
  PlansAnswer,
  PlanViewJson,
} from "../wire/plans.ts";
import { boundsOf } from "./bounds.ts";
import { draftRoutes } from "./draft-routes.ts";
import {
  act,
  read,
  tags,
  workAsked,
  type PlannedDeed,
  type PlanRouteParts,
  whileAsked,
  does,
  order,
} from "./plan-route-parts.ts";
import { portRoutes } from "./port-routes.ts";
import { reviewRoutes } from "./review-routes.ts";
import { runRoutes } from "./run-routes.ts";
import { problems } from "./schemas.ts";
import type { RouteApp, ServerParts } from "./server.ts";
import { viewOf } from "./tenants.ts";
import { DureError } from "../kernel/errors.ts";
import { parseTestFeedback } from "../plans/workers/feedback.ts";
import {
  HookAccessAnswer,
  HookAccessBody,
  HookAskAnswer,
  HookAskBody,
  HookFeedbackAnswer,
  HookFeedbackBody,
} from "../wire/hooks.ts";
import { onlyDefined } from "../kernel/json.ts";
import { deedIsDone, refuseDeed } from "./audit.ts";
import { CleanAnswer, ORDERED, RunCleanBody, RunExtendBody, RunParams } from "../wire/runs.ts";

/**
 * Plans, and the runs of plans: looked at with `plans:read`; begun and steered with
 * `plans:run`, for a plan runs shell commands; approved, merged and published with `plans:merge`. Source: docs/spec/plans §2.
 */
export const planRoutes: FastifyPluginAsyncZod<ServerParts> = async (app, parts) => {
  const { plans } = parts;
  if (!plans) return;

  const planParts: PlanRouteParts = { ...parts, plans };
  listPlans(app, planParts);
  showPlan(app, planParts);
  checkPlan(app, planParts);
  draftPlan(app, planParts);
  draftRoutes(app, planParts);
  runRoutes(app, planParts);
  runOrderRoutes(app, planParts);
  cleanRuns(app, planParts);
  portRoutes(app, planParts);
  reviewRoutes(app, planParts);
  hookRoutes(app, planParts);
};

function listPlans(app: RouteApp, parts: PlanRouteParts): void {
  const { plans: library } = parts;
  app.get(
    "/v1/plans",
    {
      config: read,
      schema: {
        tags,
        summary: "Plans of the team's folder, those with problems too",
        response: { 200: PlansAnswer, ...problems(401, 403) },
      },
    },
    async (request, reply) => {
      const items = await library.list(workAsked(request, reply, parts));
      return onWire<z.output<typeof PlansAnswer>>({ items });
    },
  );
}

function showPlan(app: RouteApp, parts: PlanRouteParts): void {
  const { plans: library } = parts;
  app.get(
    "/v1/plans/:name",
    {
      config: read,
      schema: {
        tags,
        summary:
          "A plan against its repository: levels, critical path, mode with each condition, files " +
          "without an owner",
        params: PlanParams,
        response: { 200: PlanViewJson, ...problems(400, 401, 403, 404, 409) },
      },
    },
    async (request, reply) => {
      const asked = { tenant: viewOf(request), ...workAsked(request, reply, parts) };
      const view = await library.show(request.params.name, asked);
      return onWire<PlanViewJson>(shownPlan(view));
    },
  );
}

function checkPlan(app: RouteApp, parts: PlanRouteParts): void {
  const { plans: library } = parts;
  app.post(
    "/v1/plans/check",
    {
      config: { ...read, audit: false },
      bodyLimit: boundsOf(parts.limits).planBytes,
      schema: {
        tags,
        summary: "Finds problems in the text of a plan that is no file yet",
        body: PlanCheckBody,
        response: {
          200: PlanCheckAnswer,
          ...problems(400, 401, 403, 413, 503),
        },
      },
    },
    async (request, reply) => {
      const { file, text } = request.body;
      const work = workAsked(request, reply, parts);
      const { problems: found, problemCount } = await library.check(file, text, work);

      return onWire<z.output<typeof PlanCheckAnswer>>({
        ok: problemCount === 0,
        problems: found,
        problemCount,
      });
    },
  );
}

function draftPlan(app: RouteApp, parts: PlanRouteParts): void {
  const { plans: library } = parts;
  app.post(
    "/v1/plans/draft",
    {
      config: { ...act, audit: drafted },
      schema: {
        tags,
        summary: "Lets a model propose a plan, for a person to edit and approve; nothing is stored",
        body: PlanDraftBody,
        response: {
          200: PlanDraftAnswer,
          ...problems(400, 401, 403, 404, 409, 503),
        },
      },
    },
    async (request, reply) => {
      const { goal, answers, repository } = request.body;
      const draft = await library.proposals.propose(
        { goal, answers },
        { repository, tenant: viewOf(request), ...workAsked(request, reply, parts) },
      );

      return onWire<z.output<typeof PlanDraftAnswer>>(draft);
    },
  );
}

/** A draft has no id. */
function drafted({ body }: FastifyRequest): PlannedDeed {
  return { what: "plan.draft", subject: (body as z.infer<typeof PlanDraftBody>).repository ?? "" };
}

// --- hook routes

/** What the tools of a running step call. */
function hookRoutes(app: RouteApp, parts: PlanRouteParts): void {
  takeTestFeedback(app, parts);
  askPartner(app, parts);
  requestAccess(app, parts);
}

function takeTestFeedback(app: RouteApp, parts: PlanRouteParts): void {
  const { runs } = parts.plans;
  app.post(
    "/v1/hooks/test-feedback",
    {
      config: { scope: "public", audit: false },
      bodyLimit: boundsOf(parts.limits).planBytes,
      schema: {
        tags,
        summary:
          "Takes a report of tests from a tool of a running step; the bearer token is the step's own " +
          "(DURE_HOOK_TOKEN)",
        body: HookFeedbackBody,
        response: { 200: HookFeedbackAnswer, ...problems(400, 401, 413, 429) },
      },
    },
    async (request) => {
      const { decision, notifications } = await runs.takeTestReport(
        stepTokenOf(request),
        parseTestFeedback(request.body),
      );
      return { decision, notifications: [...notifications] };
    },
  );
}

function askPartner(app: RouteApp, parts: PlanRouteParts): void {
  const { plans: library } = parts;
  app.post(
    "/v1/hooks/ask",
    {
      config: { scope: "public", audit: false },
      schema: {
        tags,
        summary:
          "Asks the other member of the pair for the worker of a running step, and waits for the " +
          "answer; the bearer token is the step's own (DURE_HOOK_TOKEN)",
        body: HookAskBody,
        response: { 200: HookAskAnswer, ...problems(400, 401, 429, 503) },
      },
    },
    async (request, reply) =>
      library.requests.ask(stepTokenOf(request), request.body.question, {
        signal: whileAsked(reply, parts),
      }),
  );
}

function requestAccess(app: RouteApp, parts: PlanRouteParts): void {
  const { plans: library } = parts;
  app.post(
    "/v1/hooks/request-access",
    {
      config: { scope: "public", audit: false },
      schema: {
        tags,
        summary:
          "Asks the operator for a path that the worker of a running step may not use; what is allowed " +
          "counts from its next try on. The bearer token is the step's own (DURE_HOOK_TOKEN)",
        body: HookAccessBody,
        response: { 200: HookAccessAnswer, ...problems(400, 401, 429) },
      },
    },
    async (request) => library.requests.requestAccess(stepTokenOf(request), request.body),
  );
}

/** The token of a step, as its tools send it. */
function stepTokenOf(request: FastifyRequest): string {
  const token = /^Bearer +([\x21-\x7e]{1,200})$/i.exec(request.headers.authorization ?? "")?.[1];
  if (token === undefined) {
    throw new DureError("HOOK_TOKEN_INVALID", "The token of a step is missing.", {
      class: "unauthorized",
      hint: "Call `dure hook` from a worker; it has the token.",
    });
  }

  return token;
}

// --- run order routes

/** Orders to a whole run. */
function runOrderRoutes(app: RouteApp, parts: PlanRouteParts): void {
  pauseRun(app, parts);
  resumeRun(app, parts);
  cancelRun(app, parts);
  mergeAgain(app, parts);
  extendRun(app, parts);
}

function pauseRun(app: RouteApp, parts: PlanRouteParts): void {
  app.post(
    "/v1/runs/:id/pause",
    {
      config: does("run.pause"),
      schema: {
        tags,
        summary: "Starts no more ports; what works goes on",
        params: RunParams,
        response: { ...ORDERED, ...problems(400, 401, 403, 404, 409) },
      },
    },
    (request, reply) => order(parts, request, reply, { type: "pause" }),
  );
}

function resumeRun(app: RouteApp, parts: PlanRouteParts): void {
  app.post(
    "/v1/runs/:id/resume",
    {
      config: does("run.resume"),
      schema: {
        tags,
        summary: "Goes on with a paused run",
        params: RunParams,
        response: { ...ORDERED, ...problems(400, 401, 403, 404, 409) },
      },
    },
    (request, reply) => order(parts, request, reply, { type: "resume" }),
  );
}

function cancelRun(app: RouteApp, parts: PlanRouteParts): void {
  app.post(
    "/v1/runs/:id/cancel",
    {
      config: does("run.cancel"),
      schema: {
        tags,
        summary: "Ends a run; its workers are stopped, what they made is kept",
        params: RunParams,
        response: { ...ORDERED, ...problems(400, 401, 403, 404, 409) },
      },
    },
    (request, reply) => order(parts, request, reply, { type: "cancel" }),
  );
}

function mergeAgain(app: RouteApp, parts: PlanRouteParts): void {
  app.post(
    "/v1/runs/:id/again",
    {
      config: does("run.again"),
      schema: {
        tags,
        summary:
          "Merges a run again that has ended, or begins it where nothing had begun; what succeeded is " +
          "not built again",
        params: RunParams,
        response: { ...ORDERED, ...problems(400, 401, 403, 404, 409) },
      },
    },
    (request, reply) => order(parts, request, reply, { type: "again" }),
  );
}

function extendRun(app: RouteApp, parts: PlanRouteParts): void {
  app.post(
    "/v1/runs/:id/extend",
    {
      config: does("run.extend"),
      schema: {
        tags,
        summary: "Gives the run more tokens or calls; what had stopped for want of them goes on",
        params: RunParams,
        body: RunExtendBody,
        response: { ...ORDERED, ...problems(400, 401, 403, 404, 409) },
      },
    },
    (request, reply) => order(parts, request, reply, { type: "extend", ...request.body }),
  );
}

function cleanRuns(app: RouteApp, parts: PlanRouteParts): void {
  const { plans: library, closing } = parts;
  app.post(
    "/v1/runs/clean",
    {
      config: { ...act, audit: toClean },
      schema: {
        tags,
        summary:
          "Removes files and refs of ended runs of this machine, oldest first, a page at a time; " +
          "branches and the runs' history stay. What is on no branch, or in no commit, is kept unless " +
          "force is set",
        body: RunCleanBody,
        response: { 200: CleanAnswer, ...problems(400, 401, 403, 404, 409) },
      },
    },
    async (request, reply) => {
      const { older_than_ms: olderThanMs, dry_run: dryRun, ...rest } = request.body ?? {};
      const tenant = viewOf(request);
      const begun: string[] = [];
      const onBegun = (run: string): void => void begun.push(run);

      try {
        // A run is cleaned to its end also when the caller has left.
        const cleaned = await library.clean(
          { ...rest, ...onlyDefined({ olderThanMs, dryRun }) },
          {
            tenant,
            onBegun,
            asked: whileAsked(reply, parts),
            signal: closing,
          },
        );
        if (begun.length === 0) refuseDeed(request, "NOTHING_CLEANED");
        return onWire<CleanAnswer>(cleaned);
      } finally {
        if (begun.length > 0) await deedIsDone(request, parts, ...begun); // whatever fails behind them
      }
    },
  );
}

/** Only the cleaning finds out which runs are old enough. */
function toClean({ body }: FastifyRequest): PlannedDeed | undefined {
  const { run, dry_run } = (body as z.infer<typeof RunCleanBody>) ?? {};
  return dry_run === true ? undefined : { what: "run.clean", subject: run ?? "" };
}
