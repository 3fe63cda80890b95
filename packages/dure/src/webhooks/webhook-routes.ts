import type { FastifyRequest } from "fastify";
import type { FastifyPluginAsyncZod } from "fastify-type-provider-zod";
import { DureError } from "../kernel/errors.ts";
import { parseJsonBody } from "../server/body.ts";
import { boundsOf } from "../server/bounds.ts";
import type { ServerParts } from "../server/server.ts";
import { WebhookParams } from "../wire/webhooks.ts";
import { carryOut } from "./carry-out.ts";
import { deliveryKey, fieldOutOfReach, type HookDeed } from "./hook-deed.ts";
import { decideSignature, WINDOW_SECONDS, type SignatureProblem } from "./signature.ts";

/** A way in for another system. */
export interface IncomingHook {
  /** Undefined: the environment has no value for it, and nothing is taken. */
  readonly secret: string | undefined;
  /** Owner of what is done. */
  readonly tenant: string;
  readonly deed: HookDeed;
}

/** Bytes of a delivery. */
const MAX_DELIVERY = 1_048_576;

/** Signed deliveries of other systems. Source: docs/spec/interop §4. */
export function webhookRoutes(
  hooks: ReadonlyMap<string, IncomingHook>,
): FastifyPluginAsyncZod<ServerParts> {
  return async (app, parts) => {
    app.removeAllContentTypeParsers();
    // The signature is over the bytes as they came.
    app.addContentTypeParser(
      "application/json",
      { parseAs: "buffer" },
      async (_: FastifyRequest, bytes: Buffer) => bytes,
    );

    app.post(
      "/v1/hooks/:name",
      {
        config: { scope: "public", audit: false },
        bodyLimit: MAX_DELIVERY,
        schema: { hide: true, params: WebhookParams },
      },
      async (request, reply) => {
        const { name } = request.params;
        const body = (request.body as Buffer | undefined) ?? Buffer.alloc(0);
        const { hook, id } = admitted(hooks.get(name), { request, body }, parts);
        const payload = parseJsonBody(body, boundsOf(parts.limits));
        const { tenant, deed } = hook;
        const missed = fieldOutOfReach(deed, payload);
        if (missed !== undefined) throw unreadable(missed);
        const who = { tenant, name: `hook:${name}`, person: `hook ${name}` };
        const done = await carryOut({ who, deed, key: deliveryKey(id), payload }, app.web);

        return reply.code(202).send(done);
      },
    );
  };
}

interface DeliveredHook {
  readonly request: FastifyRequest;
  readonly body: Buffer;
}

/**
 * The hook, where the delivery has its signature. A name that is none is refused like a wrong
 * signature. Throws `HOOK_REFUSED`, `HOOK_UNAVAILABLE`.
 */
function admitted(
  hook: IncomingHook | undefined,
  { request, body }: DeliveredHook,
  { clock }: ServerParts,
): { hook: IncomingHook; id: string } {
  if (hook && hook.secret === undefined) throw unavailable();

  const header = (name: string): string | undefined => {
    const value = request.headers[name];
    return typeof value === "string" ? value : undefined;
  };
  const signed = {
    id: header("webhook-id"),
    timestamp: header("webhook-timestamp"),
    signature: header("webhook-signature"),
    body,
  };
  const now = Math.floor(clock.now() / 1_000);
  // Without a hook it is compared all the same: the time says nothing of the names that there are.
  const decision = decideSignature(signed, hook?.secret ?? "no hook of this name", now);
  if (hook && decision.isSigned) return { hook, id: decision.id };

  throw refused(decision.isSigned ? "no-signature-fits" : decision.because);
}

const REFUSALS = {
  "headers-missing": "The headers webhook-id, webhook-timestamp and webhook-signature are needed.",
  "id-invalid": "webhook-id is not 1 to 255 printable characters without a space.",
  "timestamp-invalid": "webhook-timestamp is no time in seconds since 1970.",
  "too-old": `The delivery is older than ${WINDOW_SECONDS} s.`,
  "too-new": `The delivery is of a time more than ${WINDOW_SECONDS} s from now.`,
  "no-signature-fits": "The signature is not that of this hook.",
} as const satisfies Record<SignatureProblem, string>;

function refused(because: SignatureProblem): DureError {
  return new DureError("HOOK_REFUSED", REFUSALS[because], {
    class: "unauthorized",
    hint: "Sign it as Standard Webhooks says, with the secret that `hooks` names, and send it now.",
  });
}

function unreadable(field: string): DureError {
  return new DureError("HOOK_BODY_INVALID", `The body cannot have the value {{${field}}}.`, {
    class: "input",
    hint: "The text of this hook names it. Send a JSON object.",
  });
}

function unavailable(): DureError {
  return new DureError("HOOK_UNAVAILABLE", "The secret of this hook is not set.", {
    class: "unavailable",
    hint: "Set the variable that `hooks` names in the server's environment, and start it again.",
    details: { retryAfterMs: 60_000 },
  });
}
