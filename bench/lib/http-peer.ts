/**
 * A server in a process of its own: `node http-peer.ts <dure | bare | direct> <long | short |
 * stuck> [database url]`. Says `{url}` to its parent when it listens; answers `"figures"` with what
 * it used since the last time.
 */

import Fastify from "fastify";
import { streamText } from "ai";
import { silentLogger } from "../../packages/dure/src/kernel/logger.ts";
import { readTeam } from "../../packages/dure/src/team/config.ts";
import { startTeam } from "../../packages/dure/src/team/start.ts";
import { chatService } from "./dure.ts";
import { instantModel, LONG, SHORT, stuckModel } from "./model.ts";

/** What a server answers to `"figures"`. */
export interface ServerFigures {
  /** Milliseconds of CPU, user and system, since the last answer. */
  readonly cpuMs: number;
  readonly rssBytes: number;
  readonly heapBytes: number;
}

export type Role = "dure" | "bare" | "direct";
/** How its model answers: 200 tokens, one sentence, or never. */
export type Answer = "long" | "short" | "stuck";

const [role, answer, databaseUrl = ""] = process.argv.slice(2) as [Role, Answer, string?];
const model = instantModel(answer === "long" ? LONG : SHORT);
const offline = answer === "stuck" ? stuckModel : model.offline;

async function startTheTeam(): Promise<string> {
  const team = await readTeam({
    name: "bench",
    model: "offline:instant",
    services: { chat: chatService() },
    offlineModels: [offline],
  });
  const running = await startTeam(
    team,
    { databaseUrl, port: 0, discordTokens: {}, warnings: [] },
    { logger: silentLogger },
  );
  return running.url;
}

/**
 * The AI SDK on Fastify, as its documentation shows it: nothing is stored, a reader that is cut off
 * has lost its answer.
 */
async function startBare(): Promise<string> {
  const app = Fastify();
  app.post<{ Body: { message: string } }>("/v1/agent/chat/stream", async (request, reply) => {
    reply.hijack();
    reply.raw.writeHead(200, {
      "content-type": "text/event-stream; charset=utf-8",
      "cache-control": "no-cache",
    });
    const { textStream } = streamText({
      model: model.aiSdk,
      prompt: request.body.message,
      maxRetries: 0,
    });
    let message = "";
    for await (const text of textStream) {
      message += text;
      reply.raw.write(`event: LLM_TOKEN\ndata: ${JSON.stringify(text)}\n\n`);
    }
    reply.raw.end(`event: DONE\ndata: ${JSON.stringify({ message })}\n\n`);
  });
  return app.listen({ host: "127.0.0.1", port: 0 });
}

/** The same with the model called directly: how fast a stream can be. */
async function startDirect(): Promise<string> {
  const app = Fastify();
  app.post<{ Body: { message: string } }>("/v1/agent/chat/stream", async (request, reply) => {
    reply.hijack();
    reply.raw.writeHead(200, {
      "content-type": "text/event-stream; charset=utf-8",
      "cache-control": "no-cache",
    });
    const { stream } = await model.aiSdk.doStream({
      prompt: [{ role: "user", content: [{ type: "text", text: request.body.message }] }],
    });
    let message = "";
    for await (const part of stream) {
      if (part.type !== "text-delta") continue;
      message += part.delta;
      reply.raw.write(`event: LLM_TOKEN\ndata: ${JSON.stringify(part.delta)}\n\n`);
    }
    reply.raw.end(`event: DONE\ndata: ${JSON.stringify({ message })}\n\n`);
  });
  return app.listen({ host: "127.0.0.1", port: 0 });
}

const START: Readonly<Record<Role, () => Promise<string>>> = {
  dure: startTheTeam,
  bare: startBare,
  direct: startDirect,
};

let cpu = process.cpuUsage();
process.on("message", () => {
  const used = process.cpuUsage(cpu);
  cpu = process.cpuUsage();
  globalThis.gc?.();
  const { rss, heapUsed } = process.memoryUsage();
  process.send?.({
    cpuMs: (used.user + used.system) / 1_000,
    rssBytes: rss,
    heapBytes: heapUsed,
  } satisfies ServerFigures);
});
process.on("disconnect", () => process.exit(0)); // never outlives the benchmark
process.send?.({ url: await START[role]() });
