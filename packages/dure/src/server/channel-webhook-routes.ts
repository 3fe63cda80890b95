/** What platforms of chat post to dure, handed to their adapters. */

import type { FastifyReply, FastifyRequest } from "fastify";
import type { FastifyPluginAsyncZod } from "fastify-type-provider-zod";
import { DureError } from "../kernel/errors.ts";
import type { Rooms } from "../rooms/rooms.ts";
import { ChannelWebhookParams } from "../wire/webhooks.ts";
import type { ServerParts } from "./server.ts";

/** Bytes of a request: what platforms tell has links to files, and not the files. */
const MAX_REQUEST = 1_048_576;
/** Bytes of an adapter's answer. */
const MAX_ANSWER = 65_536;
/** Headers of an answer that reach the platform. */
const ANSWERED = ["content-type", "retry-after"] as const;
/** Headers that are about this connection alone. */
const HOP_BY_HOP: ReadonlySet<string> = new Set([
  "connection",
  "content-length",
  "host",
  "keep-alive",
  "transfer-encoding",
  "upgrade",
]);

/**
 * `/v1/channels/<name>/webhook`, without a token of dure: the adapter checks the platform's own
 * signature. It is answered when what it tells is stored. Some platforms first ask with `GET`
 * whether the address is dure's.
 */
export const channelWebhookRoutes: FastifyPluginAsyncZod<ServerParts> = async (app, { rooms }) => {
  if (!rooms) return;

  app.removeAllContentTypeParsers();
  // The signature is over the bytes as they came.
  app.addContentTypeParser("*", { parseAs: "buffer" }, async (_: FastifyRequest, bytes: Buffer) => {
    return bytes;
  });

  for (const url of ["/v1/channels/:name/webhook", "/v1/channels/:name/webhook/:account"]) {
    app.route({
      method: ["GET", "POST"],
      url,
      config: { scope: "public", audit: false },
      bodyLimit: MAX_REQUEST,
      schema: { hide: true, params: ChannelWebhookParams },
      handler: async (request, reply) => {
        const { name, account } = request.params;
        return send(reply, await answerOf(rooms, { name, account }, request));
      },
    });
  }
};

/** @throws CHANNEL_TAKES_NO_WEBHOOK */
async function answerOf(
  rooms: Rooms,
  { name, account }: { name: string; account: string | undefined },
  request: FastifyRequest,
): Promise<Response> {
  const adapter = rooms.adapter(name);
  if (adapter?.webhook) return adapter.webhook(webRequest(request), account);

  throw new DureError("CHANNEL_TAKES_NO_WEBHOOK", `No platform ${name} posts to this team.`, {
    class: "not-found",
    hint: "rooms.adapters names the platforms of the team; chatPlatform() takes webhooks.",
  });
}

/** The request as it came, in the words of the web. */
function webRequest(request: FastifyRequest): Request {
  const headers = new Headers();
  for (const [name, value] of Object.entries(request.headers)) {
    if (typeof value === "string" && !HOP_BY_HOP.has(name)) headers.set(name, value);
  }
  const url = `${request.protocol}://${request.host}${request.url}`;
  if (request.method === "GET") return new Request(url, { headers });
  const body = new Uint8Array((request.body as Buffer | undefined) ?? []);

  return new Request(url, { method: "POST", headers, body });
}

async function send(reply: FastifyReply, answer: Response): Promise<FastifyReply> {
  const body = Buffer.from(await answer.arrayBuffer()).subarray(0, MAX_ANSWER);
  void reply.code(answer.status);
  for (const name of ANSWERED) {
    const value = answer.headers.get(name);
    if (value !== null) void reply.header(name, value);
  }

  return reply.send(body);
}
