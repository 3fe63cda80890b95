import type { FastifyInstance, FastifyRequest } from "fastify";
import type { FastifyPluginAsyncZod } from "fastify-type-provider-zod";
import type { z } from "zod";
import type { AuditLog, AuditedDeed } from "../durable/audit-log.ts";
import { isDatabaseAway } from "../durable/passing.ts";
import { retryUntilAnswered } from "../durable/retry-until-answered.ts";
import type { BackOff } from "../kernel/back-off.ts";
import { messageOf } from "../kernel/errors.ts";
import { onWire } from "../kernel/wire.ts";
import { actorOf } from "./actor.ts";
import { callerOf } from "./guard.ts";
import { problems } from "./schemas.ts";
import type { ServerParts } from "./server.ts";
import { AuditAnswer, AuditQuery, type AuditEntryJson } from "../wire/platform.ts";

/** What the server needs of the audit log. */
export type AuditBook = Pick<AuditLog, "begin" | "end" | "note" | "list">;

/** What a request does, and to what. */
type RequestDeed = Pick<AuditedDeed, "what" | "subject">;

/** A deed whose entry stands in the log without an outcome. */
interface OpenDeed {
  readonly id: number;
  refusal: string | undefined;
  subjects: readonly string[];
  /** As which role it was done. */
  role: string | undefined;
  /** Aborts when the server has closed: then no outcome is written any more. */
  readonly signal: AbortSignal;
}

/** An outcome that an outage held up is tried again after so long, milliseconds. */
const LATE: BackOff = { firstMs: 100, maxMs: 5_000 };

/** Methods that change nothing. */
const LOOKS = new Set(["GET", "HEAD", "OPTIONS"]);

/**
 * Writes down what a request does before its handler runs, and how it ended before its answer
 * leaves. What cannot be written down is not done. Which routes do something, their `config.audit`
 * says.
 */
export function auditRequests(app: FastifyInstance, parts: ServerParts): void {
  const { audit } = parts;
  app.decorateRequest("deed", null);

  app.addHook("onRoute", ({ method, url, config }) => {
    const does = [method].flat().some((one) => !LOOKS.has(one));
    if (does && config?.audit === undefined) {
      throw new Error(
        `${String(method)} ${url} does not say what it does: set config.audit, to false where it is no deed.`,
      );
    }
  });

  if (!audit) return;

  const closed = new AbortController();
  app.addHook("onClose", async () =>
    closed.abort(new DOMException("The server has closed.", "AbortError")),
  );

  app.addHook("preHandler", async (request) => {
    const deed = deedOf(request);
    if (deed) {
      request.deed = {
        id: await audit.begin({ ...whoOf(request), ...deed }),
        refusal: undefined,
        subjects: [],
        role: undefined,
        signal: closed.signal,
      };
    }
  });

  app.addHook("onSend", async (request) => endDeed(request, parts));
}

/** What was done to, where only the handler can know. Several: an entry for each. */
export function doneTo(request: FastifyRequest, ...subjects: readonly string[]): void {
  if (request.deed) request.deed.subjects = subjects;
}

/** The deed is one that the caller may do by a role. */
export function doneAs(request: FastifyRequest, role: string): void {
  if (request.deed) request.deed.role = role;
}

/**
 * For an answer that comes long after the deed, or never: its outcome is written now. Several: an
 * entry for each.
 */
export async function deedIsDone(
  request: FastifyRequest,
  parts: ServerParts,
  ...subjects: readonly string[]
): Promise<void> {
  doneTo(request, ...subjects);
  await endDeed(request, parts);
}

/** The deed of this request was not done, and why. */
export function refuseDeed(request: FastifyRequest, code: string): void {
  if (request.deed) request.deed.refusal = code;
}

/** Whatever becomes of its entry, the deed is done, or refused: the answer does not wait. */
async function endDeed(request: FastifyRequest, parts: ServerParts): Promise<void> {
  const { deed } = request;
  const { audit, clock } = parts;
  if (!deed || !audit) return;

  request.deed = null;

  const write = (): Promise<void> =>
    audit.end(deed.id, {
      outcome: deed.refusal ?? "done",
      subjects: deed.subjects,
      role: deed.role,
    });
  const onLost = (error: unknown): void => logLost(request, deed, parts, error);

  try {
    await write();
  } catch (error) {
    if (!isDatabaseAway(error)) return onLost(error);
    // The first outcome holds, so it may be written again. No deed begins in an outage: what
    // waits here is at most what was under way.
    void retryUntilAnswered(write, { clock, signal: deed.signal, backOff: LATE }).catch(onLost);
  }
}

/** The entry stays without an outcome. */
function logLost(
  request: FastifyRequest,
  deed: OpenDeed,
  { logger }: ServerParts,
  error: unknown,
): void {
  logger.error(
    { request: request.id, entry: deed.id, error: messageOf(error) },
    "the outcome of an entry of the audit log could not be written",
  );
}

function deedOf(request: FastifyRequest): RequestDeed | undefined {
  const { audit } = request.routeOptions.config;
  if (audit === false || audit === undefined) return undefined;

  if (typeof audit === "string") {
    return {
      what: audit,
      subject: Object.values(request.params as Record<string, string>).join("/"),
    };
  }

  return audit(request);
}

function whoOf(request: FastifyRequest): Pick<AuditedDeed, "tenant" | "name"> {
  return { tenant: callerOf(request).tenant, name: actorOf(request) };
}

/** Who approved, cancelled, merged, changed what. Source: docs/spec/platform §6. */
export const auditRoutes: FastifyPluginAsyncZod<ServerParts> = async (app, { audit }) => {
  if (!audit) return;
  app.get(
    "/v1/audit",
    {
      config: { scope: "admin" },
      schema: {
        tags: ["access"],
        summary:
          "Who did what, newest first: a tenant's administrator sees its own, one without a tenant all",
        querystring: AuditQuery,
        response: {
          200: AuditAnswer,
          ...problems(400, 401, 403),
        },
      },
    },
    async (request) => {
      const { tenant } = callerOf(request);
      const { items, nextCursor } = await audit.list({
        ...request.query,
        tenant: tenant === "" ? undefined : tenant,
      });

      return {
        items: items.map((entry) => onWire<z.output<typeof AuditEntryJson>>(entry)),
        next_cursor: nextCursor,
      };
    },
  );
};

declare module "fastify" {
  interface FastifyContextConfig {
    /**
     * What the route does, for the audit log; done to what the parameters of its path name. A
     * function where the request decides; undefined: nothing is done. `false`: it is no deed, or
     * writes its own entry. Routes that only look leave it out.
     */
    audit?: false | string | ((request: FastifyRequest) => RequestDeed | undefined);
  }
  interface FastifyRequest {
    deed: OpenDeed | null;
  }
}
