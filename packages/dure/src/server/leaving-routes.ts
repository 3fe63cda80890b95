import type { FastifyRequest } from "fastify";
import type { z } from "zod";
import { DureError } from "../kernel/errors.ts";
import { onWire } from "../kernel/wire.ts";
import type { Confirmed } from "../plans/runs/run-delivery.ts";
import { LeavingAnswer, LeavingQuery, RunParams, type ResultFinding } from "../wire/runs.ts";
import { hasScope } from "./access.ts";
import { doneTo } from "./audit.ts";
import { read, tags, type PlanRouteParts } from "./plan-route-parts.ts";
import { problems } from "./schemas.ts";
import type { RouteApp } from "./server.ts";
import { viewOf } from "./tenants.ts";

/** What a person looks at before a result leaves its run. */
export function leavingRun(app: RouteApp, parts: PlanRouteParts): void {
  const { plans: library, closing } = parts;
  app.get(
    "/v1/runs/:id/leaving",
    {
      config: read,
      schema: {
        tags,
        summary:
          "What the result of a run would bring into a branch: secrets, files that run by themselves, " +
          "and whose approval it waits for",
        params: RunParams,
        querystring: LeavingQuery,
        response: { 200: LeavingAnswer, ...problems(400, 401, 403, 404, 409) },
      },
    },
    async (request) => {
      const leaving = await library.leaving(request.params.id, {
        into: request.query.into,
        tenant: viewOf(request),
        signal: closing, // another caller may wait for the same look
      });

      return onWire<z.output<typeof LeavingAnswer>>({
        ...leaving,
        mayConfirm: mayConfirm(request),
      });
    },
  );
}

/** Findings that one entry of the log names. */
const MAX_NOTED = 20;

interface Delivering {
  Params: { id: string };
  Body: { confirm?: string | undefined } | null | undefined;
}

/**
 * The yes of a request to what leaves, which stands in the log. A token says yes only where an
 * operator gave it to a person for that. Throws `CONFIRM_NEEDS_PERSON`.
 */
export function yesTo(request: FastifyRequest<Delivering>): Confirmed {
  const confirm = request.body?.confirm;
  if (confirm !== undefined && !mayConfirm(request)) throw confirmNeedsPerson();

  return { confirm, onConfirmed: (findings) => noteConfirmed(request, findings) };
}

function mayConfirm({ principal }: Pick<FastifyRequest, "principal">): boolean {
  return hasScope(principal!, "plans:confirm");
}

function noteConfirmed(
  request: FastifyRequest<Delivering>,
  findings: readonly ResultFinding[],
): void {
  const { id } = request.params;
  const named = findings.slice(0, MAX_NOTED).map(({ rule, path }) => `${id} yes: ${rule} ${path}`);
  doneTo(request, id, ...named);
}

function confirmNeedsPerson(): DureError {
  return new DureError(
    "CONFIRM_NEEDS_PERSON",
    "Only a person says yes to what leaves, and this token has not the scope plans:confirm.",
    {
      class: "forbidden",
      hint: [
        "Give it to a person's token alone, not to a program's: dure token create NAME",
        "--scopes plans,plans:confirm. A program merges what may_leave allows.",
      ].join(" "),
    },
  );
}
