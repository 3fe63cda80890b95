import { type IncomingMessage, request as requestHttp, type ServerResponse } from "node:http";
import { timingSafeEqual } from "node:crypto";
import { messageOf } from "../../kernel/errors.ts";
import { say } from "./door-http.ts";
import type { EgressOrder } from "./egress-proxy.ts";

/** The name by which a worker reaches the hooks of its step, and nothing else of dure. */
export const HOOK_HOST = "dure.hook";

/** The hooks of one step. */
export interface HookWay {
  /** Address of one of them at dure's server; the others stand beside it. */
  readonly url: string;
  readonly token: string;
}
/** Bytes of what a hook is told. Source: the bound of a report, workers/hook-client.ts. */
const HOOK_BYTES = 4_000_000;
/** Routes that exist for workers. */
const HOOKS = /^\/v1\/hooks\/(?:test-feedback|ask|request-access)$/;

// --- to dure

/**
 * The three hooks of the very step, with its own token. No other route, no other method, no header
 * but these.
 */
export async function callHook(
  { hook, setting }: EgressOrder,
  message: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const at = (message.url ?? "").replace(/^http:\/\/[^/]*/i, "");
  const refuse = (status: number, because: string): void => {
    setting.logger.warn(
      { host: HOOK_HOST, path: at.slice(0, 200), allowed: false, because },
      `a worker asked for ${HOOK_HOST}: refused, ${because}`,
    );
    say(response, status, because);
  };
  if (!hook) return refuse(404, "this process has no hooks");
  if (message.method !== "POST" || !HOOKS.test(at)) {
    return refuse(
      404,
      `only POST to the hooks of the step is there, not ${message.method} ${at.slice(0, 100)}`,
    );
  }
  if (!isBearer(message.headers.authorization, hook.token)) {
    return refuse(401, "the token is not that of this step");
  }
  const body = await bodyOf(message, HOOK_BYTES);
  if (!body) return refuse(413, `more than ${HOOK_BYTES} bytes`);
  const asked = requestHttp(new URL(at, hook.url), {
    method: "POST",
    agent: false,
    headers: {
      "content-type": "application/json",
      "content-length": body.length,
      authorization: `Bearer ${hook.token}`,
    },
  });
  asked.on("error", (error) => say(response, 502, messageOf(error)));
  asked.on("response", (answered) => {
    response.writeHead(answered.statusCode ?? 502, {
      "content-type": answered.headers["content-type"] ?? "application/json",
    });
    answered.pipe(response);
  });
  response.on("close", () => asked.destroy());
  asked.end(body);
}

function isBearer(authorization: string | undefined, token: string): boolean {
  const [given, wanted] = [Buffer.from(authorization ?? ""), Buffer.from(`Bearer ${token}`)];
  return given.length === wanted.length && timingSafeEqual(given, wanted);
}

async function bodyOf(message: IncomingMessage, most: number): Promise<Buffer | undefined> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  try {
    for await (const chunk of message as AsyncIterable<Buffer>) {
      bytes += chunk.length;
      if (bytes > most) return undefined;
      chunks.push(chunk);
    }
  } catch {
    return undefined; // it went away
  }
  return Buffer.concat(chunks);
}
