import type { OutgoingHttpHeaders } from "node:http";
import type { FastifyReply, FastifyRequest } from "fastify";
import type { FastifyPluginAsyncZod } from "fastify-type-provider-zod";
import { z } from "zod";
import { DureError, messageOf } from "../kernel/errors.ts";
import { MAX_NOTE } from "../kernel/escalation.ts";
import type { TenantView } from "../kernel/tenant.ts";
import { toWire } from "../kernel/wire.ts";
import { gitRef } from "../plans/plan-schema.ts";
import type { PlanChoice } from "../plans/run/plan-library.ts";
import type { RunFrame } from "../plans/run/run-queries.ts";
import { isRunEnded, type RunOrder } from "../plans/run/run.ts";
import { parseTestFeedback } from "../plans/workers/feedback.ts";
import { hasScope } from "./access.ts";
import { deedIsDone, doneTo, refuseDeed } from "./audit.ts";
import { closedSignal } from "./conversation-routes.ts";
import { readEventPosition } from "./event-source.ts";
import { boundsOf } from "./bounds.ts";
import { callerOf, endWhenRevoked } from "./guard.ts";
import {
  BecauseJson,
  detailToWire,
  DiffJson,
  ListedRunJson,
  PlanFileJson,
  PlanProblemJson,
  PlanViewJson,
  portDetailToWire,
  PortDetailJson,
  problemToWire,
  RunDetailJson,
  RunJson,
  runStatus,
  runToWire,
  viewToWire,
} from "./plan-json.ts";
import { problems, ResumeHeaders, ResumeQuery } from "./schemas.ts";
import type { ServerParts } from "./server.ts";
import { eventFrame, frame, type SseStream } from "./sse.ts";
import { viewerOf, viewOf } from "./tenants.ts";

const name = z.string().min(1).max(200);
const runId = z.string().min(1).max(100);
const portId = z.string().min(1).max(64);
const portIds = z.array(portId).max(10_000);
const repository = z.string().min(1).max(1_000).optional().meta({
  description:
    "Folder of the repository, from the team's folder. Default: as the plan says, else the team's. One that is neither the team's own nor named by a plan of its folder needs the scope admin.",
});
const hint = z.string().trim().min(1).max(MAX_NOTE).optional();

const planFile = z.string().min(1).max(300).meta({
  description: "As it would be called; its ending chooses the reader: .yaml, .json or .md.",
});

const foundProblems = z
  .array(PlanProblemJson)
  .meta({ description: "At most 50; `problem_count` counts all." });

const StartBody = z
  .object({
    plan: name.optional().meta({
      description: "Name or file of a plan in the team's folder `plans`. Either this or `text`.",
    }),
    text: z.string().min(1).optional().meta({
      description:
        "A plan that is no file there; it is checked as one. What reaches beyond its tree (`isolation: audit`, `env`, `writable`, `allow_home`, hosts) needs the scope admin. `isolation: audit` and `allow_home` need plans:unconfined as well, also in a file of the team.",
    }),
    file: planFile.optional().meta({
      description: "What `text` would be called: .yaml, .json or .md. Default plan.yaml.",
    }),
    base: gitRef.optional().meta({
      description: "A branch, a tag or a commit to begin from, instead of the plan's `base`.",
    }),
    repository,
    only: portIds.optional().meta({ description: "Only these ports and what they need." }),
    from: portIds.optional().meta({
      description: "These ports and what needs them; what they need is taken as done at the base.",
    }),
    dry_run: z
      .boolean()
      .optional()
      .meta({ description: "Begins nothing; says what would be done." }),
  })
  .superRefine(({ plan, text, file }, context) => {
    if ((plan === undefined) === (text === undefined)) {
      context.addIssue({
        code: "custom",
        path: ["plan"],
        message: "either `plan` or `text` is needed, and not both",
      });
    }
    if (file !== undefined && text === undefined) {
      context.addIssue({
        code: "custom",
        path: ["file"],
        message: "is the name of a `text`, and there is none",
      });
    }
  });

const StartHeaders = z.looseObject({
  "idempotency-key": z
    .string()
    .regex(/^[\x21-\x7e]{1,255}$/, "must be 1–255 visible ASCII characters")
    .optional()
    .meta({
      description:
        "Holds as long as the run is kept, per caller: the same body gives the same run, another body is 422.",
    }),
});

const RunsQuery = z.object({
  plan: name.optional(),
  status: runStatus.optional(),
  limit: z.coerce.number().int().min(1).max(200).optional(),
  cursor: z.string().max(100).optional(),
});

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

const CleanBody = z
  .object({
    run: runId.optional().meta({ description: "This run alone, however old." }),
    older_than_ms: z
      .int()
      .min(0)
      .optional()
      .meta({ description: "Ended longer ago. Default 7 days." }),
    force: z
      .boolean()
      .optional()
      .meta({ description: "What is on no branch, or in no commit, goes too." }),
    dry_run: z
      .boolean()
      .optional()
      .meta({ description: "Removes nothing; says what would be done." }),
    after: z.int().min(0).optional().meta({ description: "`next` of the page before." }),
  })
  .nullish();
const CleanAnswer = z.object({
  items: z.array(
    z.object({
      run: z.string(),
      plan: z.string(),
      outcome: z.enum(["cleaned", "kept"]),
      because: BecauseJson.optional().meta({ description: "Why it was kept." }),
    }),
  ),
  next: z
    .int()
    .nullable()
    .meta({ description: "Where the next page begins; null: this was the last one." }),
});

const SayBody = z.object({
  to: z.enum(["implementer", "tester"]),
  text: z.string().meta({ description: "At most 8,000 characters." }),
});

const OrderAnswer = z.object({ carried_out: z.boolean(), run: RunJson });
const ORDERED = {
  200: OrderAnswer.meta({ description: "It is done." }),
  202: OrderAnswer.meta({
    description: "It is stored; the run's leader does it as soon as it can.",
  }),
};

const RunStream = {
  description:
    "SSE. First `event: run` with the whole run, then its events (`data:` is the envelope of /v1/events) until run.end. With Last-Event-ID only what came behind it; `event: reset` says that older events are gone.",
  content: { "text/event-stream": { schema: z.string() } },
};
const NOTHING = z.null().meta({ description: "It has ended, and all was read." });

/** The run has no id yet. */
function begun({ body }: FastifyRequest): { what: string; subject: string } | undefined {
  const { plan, file, dry_run } = body as z.infer<typeof StartBody>;
  return dry_run === true ? undefined : { what: "run.start", subject: plan ?? file ?? "" };
}

/** What it is about, nobody can tell by an id. */
function drafted({ body }: FastifyRequest): { what: string; subject: string } {
  return { what: "plan.draft", subject: (body as { repository?: string }).repository ?? "" };
}

/** Which runs are old enough, the cleaning finds out. */
function toClean({ body }: FastifyRequest): { what: string; subject: string } | undefined {
  const { run, dry_run } = (body as z.infer<typeof CleanBody>) ?? {};
  return dry_run === true ? undefined : { what: "run.clean", subject: run ?? "" };
}

/**
 * Plans, and the runs of plans: looked at with `plans:read`; begun, steered and merged with
 * `plans:run`, for a plan runs shell commands. Source: docs/spec/plans §2.
 */
export const planRoutes: FastifyPluginAsyncZod<ServerParts> = async (app, parts) => {
  const { plans: library, closing } = parts;
  if (!library) return;
  const bodyLimit = boundsOf(parts.limits).planBytes;
  const { runs } = library;
  const read = { scope: "plans:read" as const };
  const act = { scope: "plans:run" as const };
  const planParams = z.object({ name });
  const runParams = z.object({ id: runId });
  const portParams = z.object({ id: runId, port: portId });
  const tags = ["plans"];
  const mayReachOut = (request: FastifyRequest): boolean => hasScope(request.principal!, "admin");
  /**
   * Only a token tells who takes protection away; a caller without one may be anybody, a worker
   * too.
   */
  const mayRunUnconfined = ({ principal }: FastifyRequest): boolean =>
    principal !== null &&
    ["bearer", "cookie"].includes(principal.proof) &&
    hasScope(principal, "plans:unconfined");
  /** Aborts when nobody is left to answer. */
  const whileAsked = (reply: FastifyReply): AbortSignal =>
    AbortSignal.any([closedSignal(reply.raw), closing]);
  const does = (what: string): { scope: "plans:run"; audit: string } => ({ ...act, audit: what });

  // --- plans

  app.get(
    "/v1/plans",
    {
      config: read,
      schema: {
        tags,
        summary: "Plans of the team's folder, those with problems too",
        response: { 200: z.object({ items: z.array(PlanFileJson) }), ...problems(401, 403) },
      },
    },
    async () => ({
      items: (await library.list()).map(({ problemCount, ...file }) => ({
        ...file,
        problems: file.problems.map(problemToWire),
        problem_count: problemCount,
      })),
    }),
  );

  app.get(
    "/v1/plans/:name",
    {
      config: read,
      schema: {
        tags,
        summary:
          "A plan against its repository: levels, critical path, mode with each condition, files without an owner",
        params: planParams,
        response: { 200: PlanViewJson, ...problems(400, 401, 403, 404, 409) },
      },
    },
    async (request, reply) =>
      viewToWire(await library.show(request.params.name, { signal: whileAsked(reply) })),
  );

  app.post(
    "/v1/plans/check",
    {
      config: { ...read, audit: false },
      bodyLimit,
      schema: {
        tags,
        summary: "Finds problems in the text of a plan that is no file yet",
        body: z.object({ file: planFile, text: z.string() }),
        response: {
          200: z.object({ ok: z.boolean(), problems: foundProblems, problem_count: z.int() }),
          ...problems(400, 401, 403, 413, 503),
        },
      },
    },
    async (request, reply) => {
      const { file, text } = request.body;
      const { problems: found, problemCount } = await library.check(file, text, {
        signal: whileAsked(reply),
      });
      return {
        ok: problemCount === 0,
        problems: found.map(problemToWire),
        problem_count: problemCount,
      };
    },
  );

  app.post(
    "/v1/plans/draft",
    {
      config: { ...act, audit: drafted },
      schema: {
        tags,
        summary: "Lets a model propose a plan, for a person to edit and approve; nothing is stored",
        body: z.object({ goal: z.string().trim().min(1).max(8_000), repository }),
        response: {
          200: z.object({ text: z.string(), problems: foundProblems, problem_count: z.int() }),
          ...problems(400, 401, 403, 404, 409, 503),
        },
      },
    },
    async (request, reply) => {
      const {
        text,
        problems: found,
        problemCount,
      } = await library.draft(request.body.goal, {
        repository: request.body.repository,
        mayReachOut: mayReachOut(request),
        signal: whileAsked(reply),
      });
      return { text, problems: found.map(problemToWire), problem_count: problemCount };
    },
  );

  // --- runs

  app.post(
    "/v1/runs",
    {
      config: { ...act, audit: begun },
      bodyLimit,
      schema: {
        tags,
        summary: "Begins a run of a plan; with dry_run only says what would be done",
        headers: StartHeaders,
        body: StartBody,
        response: {
          200: PlanViewJson,
          202: RunJson,
          ...problems(400, 401, 403, 404, 409, 413, 422),
        },
      },
    },
    async (request, reply) => {
      const { plan = "", text, file = "plan.yaml", dry_run, ...rest } = request.body;
      const who = callerOf(request);
      const choice: PlanChoice = {
        ...rest,
        source: text === undefined ? { name: plan } : { file, text },
        mayReachOut: mayReachOut(request),
      };
      if (dry_run) {
        return reply
          .code(200)
          .send(viewToWire(await library.dryRun(choice, { signal: whileAsked(reply) })));
      }
      const given = request.headers["idempotency-key"];
      const run = await library.start(
        {
          ...choice,
          mayRunUnconfined: mayRunUnconfined(request),
          tenant: who.tenant,
          by: who.name,
          key: given === undefined ? undefined : `http:${who.name}:${given}`,
        },
        { signal: closing },
      );
      doneTo(
        request,
        run.id,
        ...library.opensNetwork(run).map((of) => `${run.id} network: open for ${of}`),
      );
      return reply.code(202).send(runToWire(run));
    },
  );

  app.get(
    "/v1/runs",
    {
      config: read,
      schema: {
        tags,
        summary: "Runs, newest first",
        querystring: RunsQuery,
        response: {
          200: z.object({ items: z.array(ListedRunJson), next_cursor: z.string().nullable() }),
          ...problems(400, 401, 403),
        },
      },
    },
    async (request) => {
      const { items, nextCursor } = await runs.list({ ...request.query, tenant: viewOf(request) });
      return {
        items: items.map((run) => ({ ...runToWire(run), counts: { ...run.counts } })),
        next_cursor: nextCursor,
      };
    },
  );

  app.get(
    "/v1/runs/:id",
    {
      config: read,
      schema: {
        tags,
        summary: "One run with its plan and its ports",
        params: runParams,
        response: { 200: RunDetailJson, ...problems(400, 401, 403, 404) },
      },
    },
    async (request) =>
      detailToWire(
        await runs.detail(request.params.id, { tenant: viewOf(request) }),
        parts.clock.now(),
      ),
  );

  app.get(
    "/v1/runs/:id/events",
    {
      config: { ...read, stream: true },
      schema: {
        tags,
        summary: "How a run stands, then what happens to it until it has ended",
        params: runParams,
        headers: ResumeHeaders,
        querystring: ResumeQuery,
        response: { 200: RunStream, 204: NOTHING, ...problems(400, 401, 403, 404) },
      },
    },
    async (request, reply) => {
      const tenant = viewOf(request);
      const { id } = request.params;
      const after = readEventPosition(
        request.headers["last-event-id"] || request.query.last_event_id,
      );
      const run = await runs.get(id, { tenant });
      if (
        after !== undefined &&
        isRunEnded(run.status) &&
        (await isEmpty(runs.stream(id, { tenant, after })))
      ) {
        return reply.code(204).send(null);
      }

      reply.hijack();
      const stream = parts.streams.open(
        reply.raw,
        reply.getHeaders() as OutgoingHttpHeaders,
        `: run ${id}\n\n`,
      );
      await sendRun(
        parts,
        request,
        stream,
        runs.stream(id, { tenant, after, signal: stream.signal }),
      );
    },
  );

  app.get(
    "/v1/runs/:id/diff",
    {
      config: read,
      schema: {
        tags,
        summary: "What the result of a run changes against its base",
        params: runParams,
        response: { 200: DiffJson, ...problems(400, 401, 403, 404, 409) },
      },
    },
    async (request, reply) =>
      toWire(
        await library.diff(request.params.id, undefined, {
          tenant: viewOf(request),
          signal: whileAsked(reply),
        }),
      ) as z.infer<typeof DiffJson>,
  );

  app.post(
    "/v1/runs/:id/merge",
    {
      config: does("run.merge"),
      schema: {
        tags,
        summary:
          "Takes the result of a run over into a branch of the user's repository, with its files where the branch is checked out",
        params: runParams,
        body: z
          .object({
            into: z.string().min(1).max(250).optional().meta({
              description:
                "A branch. Default: the plan's base, else the branch that the repository stands at.",
            }),
          })
          .nullish(),
        response: {
          200: z.object({
            kind: z.enum(["merged", "fast-forward", "already"]),
            target: z.string(),
            commit: z.string(),
            updated: z
              .string()
              .nullable()
              .meta({ description: "The working tree whose files were updated." }),
          }),
          ...problems(400, 401, 403, 404, 409),
        },
      },
    },
    async (request) => {
      // Who asks may leave: half a merge would be worse than one that nobody waits for.
      const { kind, target, commit, updated } = await library.merge(request.params.id, {
        into: request.body?.into,
        tenant: viewOf(request),
        mayReachOut: mayReachOut(request),
        signal: closing,
      });
      return { kind, target, commit, updated: updated ?? null };
    },
  );

  // --- orders

  const order = async (
    request: FastifyRequest,
    reply: FastifyReply,
    id: string,
    wish: RunOrder,
  ): Promise<z.infer<typeof OrderAnswer>> => {
    const { tenant, name: by } = viewerOf(request);
    const { carriedOut } = await library.order(id, wish, {
      tenant,
      by,
      mayReachOut: mayReachOut(request),
      signal: closing,
    });
    void reply.code(carriedOut ? 200 : 202);
    return { carried_out: carriedOut, run: runToWire(await runs.get(id, { tenant })) };
  };

  app.post(
    "/v1/runs/:id/pause",
    {
      config: does("run.pause"),
      schema: {
        tags,
        summary: "Starts no more ports; what works goes on",
        params: runParams,
        response: { ...ORDERED, ...problems(400, 401, 403, 404, 409) },
      },
    },
    (request, reply) => order(request, reply, request.params.id, { type: "pause" }),
  );
  app.post(
    "/v1/runs/:id/resume",
    {
      config: does("run.resume"),
      schema: {
        tags,
        summary: "Goes on with a paused run",
        params: runParams,
        response: { ...ORDERED, ...problems(400, 401, 403, 404, 409) },
      },
    },
    (request, reply) => order(request, reply, request.params.id, { type: "resume" }),
  );
  app.post(
    "/v1/runs/:id/cancel",
    {
      config: does("run.cancel"),
      schema: {
        tags,
        summary: "Ends a run; its workers are stopped, what they made is kept",
        params: runParams,
        response: { ...ORDERED, ...problems(400, 401, 403, 404, 409) },
      },
    },
    (request, reply) => order(request, reply, request.params.id, { type: "cancel" }),
  );

  app.post(
    "/v1/runs/:id/again",
    {
      config: does("run.again"),
      schema: {
        tags,
        summary:
          "Merges a run again that has ended, or begins it where nothing had begun; what succeeded is not built again",
        params: runParams,
        response: { ...ORDERED, ...problems(400, 401, 403, 404, 409) },
      },
    },
    (request, reply) => order(request, reply, request.params.id, { type: "again" }),
  );

  app.post(
    "/v1/runs/:id/extend",
    {
      config: does("run.extend"),
      schema: {
        tags,
        summary: "Gives the run more tokens; what had stopped for want of them goes on",
        params: runParams,
        body: z.object({ tokens: z.int().min(1).max(1_000_000_000) }),
        response: { ...ORDERED, ...problems(400, 401, 403, 404, 409) },
      },
    },
    (request, reply) =>
      order(request, reply, request.params.id, { type: "extend", tokens: request.body.tokens }),
  );

  app.post(
    "/v1/runs/clean",
    {
      config: { ...act, audit: toClean },
      schema: {
        tags,
        summary:
          "Removes files and refs of ended runs of this machine, oldest first, a page at a time; branches and the runs' history stay. What is on no branch, or in no commit, is kept unless force is set",
        body: CleanBody,
        response: { 200: CleanAnswer, ...problems(400, 401, 403, 404, 409) },
      },
    },
    async (request, reply) => {
      const { older_than_ms: olderThanMs, dry_run: dryRun, ...rest } = request.body ?? {};
      const tenant = viewOf(request);
      const begun: string[] = [];
      const onBegun = (run: string): void => void begun.push(run);
      try {
        // Who asks may leave: a run is cleaned to its end.
        const cleaned = await library.clean(
          {
            ...rest,
            ...(olderThanMs !== undefined && { olderThanMs }),
            ...(dryRun !== undefined && { dryRun }),
          },
          {
            tenant,
            mayReachOut: mayReachOut(request),
            onBegun,
            asked: whileAsked(reply),
            signal: closing,
          },
        );
        if (begun.length === 0) refuseDeed(request, "NOTHING_CLEANED");
        return toWire(cleaned) as z.infer<typeof CleanAnswer>;
      } finally {
        if (begun.length > 0) await deedIsDone(request, parts, ...begun); // whatever fails behind them
      }
    },
  );

  // --- ports

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
    async (request, reply) =>
      toWire(
        await library.diff(request.params.id, request.params.port, {
          tenant: viewOf(request),
          signal: whileAsked(reply),
        }),
      ) as z.infer<typeof DiffJson>,
  );

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
      const wish: RunOrder = {
        type: "retry",
        port: request.params.port,
        tries,
        ...(by === "orchestrator" && { by }),
        ...(words !== undefined && { hint: words }),
        ...(tokens !== undefined && { tokens }),
        ...(time_ms !== undefined && { timeMs: time_ms }),
        ...(grant && { grant }),
      };
      return order(request, reply, request.params.id, wish);
    },
  );

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
    (request, reply) =>
      order(request, reply, request.params.id, { type: "skip", port: request.params.port }),
  );

  app.post(
    "/v1/runs/:id/ports/:port/say",
    {
      config: does("run.say"),
      schema: {
        tags,
        summary:
          "Tells a member of a port's pair something; who listens hears it at once, the others in their next prompt",
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

  // --- hooks

  app.post(
    "/v1/hooks/test-feedback",
    {
      config: { scope: "public", audit: false },
      bodyLimit,
      schema: {
        tags,
        summary:
          "Takes a report of tests from a tool of a running step; the bearer token is the step's own (DURE_HOOK_TOKEN)",
        body: z.looseObject({}).meta({
          description:
            "{success?, failed_tests: [{name, expected?, actual?, stack_trace?, suggested_fix?, file?, line?}], suggestions, metrics: {total, passed, failed, duration_ms, coverage?}}; keys in either spelling.",
        }),
        response: {
          200: z.object({
            decision: z.enum(["accept", "retry", "escalate"]),
            notifications: z.array(z.string()),
          }),
          ...problems(400, 401, 413, 429),
        },
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

  app.post(
    "/v1/hooks/ask",
    {
      config: { scope: "public", audit: false },
      schema: {
        tags,
        summary:
          "Asks the other member of the pair for the worker of a running step, and waits for the answer; the bearer token is the step's own (DURE_HOOK_TOKEN)",
        body: z.object({ question: z.string().trim().min(1).max(4_000) }),
        response: { 200: z.object({ answer: z.string() }), ...problems(400, 401, 429, 503) },
      },
    },
    async (request, reply) =>
      library.requests.ask(stepTokenOf(request), request.body.question, {
        signal: whileAsked(reply),
      }),
  );

  app.post(
    "/v1/hooks/request-access",
    {
      config: { scope: "public", audit: false },
      schema: {
        tags,
        summary:
          "Asks the operator for a path that the worker of a running step may not use; what is allowed counts from its next try on. The bearer token is the step's own (DURE_HOOK_TOKEN)",
        body: z.object({
          path: z.string().min(1).max(1_024),
          wants: z.enum(["read", "own"]),
          why: z.string().trim().min(1).max(2_000),
        }),
        response: {
          200: z.object({ granted: z.boolean(), note: z.string() }),
          ...problems(400, 401, 429),
        },
      },
    },
    async (request) => library.requests.requestAccess(stepTokenOf(request), request.body),
  );
};

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

async function isEmpty(frames: AsyncIterable<RunFrame>): Promise<boolean> {
  for await (const _ of frames) return false;
  return true;
}

/** Sends a run's frames to one reader until the run's end or the reader's. */
async function sendRun(
  parts: ServerParts,
  request: FastifyRequest,
  stream: SseStream,
  frames: AsyncIterable<RunFrame>,
): Promise<void> {
  const cancel = endWhenRevoked(parts, request, stream);
  try {
    for await (const item of frames) {
      if (stream.ended) break;
      stream.write(frameOf(item, parts.clock.now(), viewOf(request)));
      if (stream.isFull) await stream.roomAgain();
    }
    stream.end();
  } catch (error) {
    if (!stream.ended) {
      parts.logger.warn(
        { request: request.id, error: messageOf(error) },
        "stream of a run broke; its reader is asked to come back",
      );
    }
    stream.end("retry: 1000\n\n");
  } finally {
    cancel();
  }
  if (stream.wasCut) {
    parts.logger.warn(
      { request: request.id },
      "reader of a run was cut off because it did not read; it can resume",
    );
  }
}

function frameOf(item: RunFrame, now: number, view: TenantView): string | Buffer {
  switch (item.kind) {
    case "run":
      return frame("run", detailToWire(item.run, now), item.position);
    case "event":
      return eventFrame(item.event, view);
    case "reset":
      return frame("reset", { oldest: item.oldest });
  }
}
