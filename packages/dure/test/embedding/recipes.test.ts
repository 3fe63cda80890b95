import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import type { EmbeddedTeam } from "dure/team";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { readBlocks, writePage } from "../../../../scripts/guides.ts";
import { testDatabaseUrl } from "../../src/durable/test-database.ts";
import { SseReader } from "../../src/server/test-server.ts";

/** The recipes of docs/guides/embedding.md, as they stand there, over one team. */
const PAGE = "docs/guides/embedding.md";
const TOKEN = "a-token-from-the-environment";
const HERE = "http://localhost";
const TEAM = "agents:\n  ruda: { displayName: Ruda }\nmodel: offline:echo\n";

type Ask = (request: Request) => Promise<Response>;

let folder: string;
let stored: Awaited<ReturnType<typeof testDatabaseUrl>>;
let team: EmbeddedTeam;
const closing: (() => Promise<unknown>)[] = [];
const asks = new Map<string, Ask>();

beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), "dure-embedding-"));
  stored = await testDatabaseUrl();
  await writePage(await readBlocks(), { page: PAGE, folder });
  await writeFile(path.join(folder, "dure.yaml"), TEAM);
  vi.stubEnv("DATABASE_URL", stored.url);
  vi.stubEnv("DURE_TOKEN", TOKEN);
  vi.stubEnv("DURE_HOME", path.join(folder, ".dure"));

  ({ team } = await recipe<{ team: EmbeddedTeam }>("team.ts"));
  await openAll();
});

afterAll(async () => {
  for (const close of closing) await close();
  await team?.stop();
  await stored?.[Symbol.asyncDispose]();
  vi.unstubAllEnvs();
  await rm(folder, { recursive: true, force: true });
});

/** Hono and Next.js take web requests; Express and Fastify get a port. */
async function openAll(): Promise<void> {
  const hono = await recipe<{ app: { fetch(request: Request): Promise<Response> } }>("hono.ts");
  asks.set("Hono", async (request) => hono.app.fetch(request));

  const next = await recipe<Record<string, Ask>>("route.ts");
  asks.set("Next.js (the form of its handlers)", async (request) => next[request.method]!(request));

  const express = await recipe<{ app: Parameters<typeof createServer>[1] }>("express.ts");
  asks.set("Express", askAt(await portOf(createServer(express.app))));

  const fastify = await recipe<{
    app: { server: Server; listen(at: object): Promise<string>; close(): Promise<void> };
  }>("fastify.ts");
  await fastify.app.listen({ host: "127.0.0.1", port: 0 });
  closing.push(async () => {
    const closed = fastify.app.close();
    fastify.app.server.closeAllConnections();
    await closed;
  });
  asks.set("Fastify", askAt((fastify.app.server.address() as AddressInfo).port));
}

async function recipe<Module>(file: string): Promise<Module> {
  return (await import(path.join(folder, file))) as Module;
}

async function portOf(server: Server): Promise<number> {
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
  closing.push(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });

  return (server.address() as AddressInfo).port;
}

function askAt(port: number): Ask {
  return async (request) =>
    fetch(new Request(request.url.replace(HERE, `http://127.0.0.1:${port}`), request));
}

function ask(host: string, at: string, init: RequestInit = {}): Promise<Response> {
  const headers = new Headers(init.headers);
  if (!headers.has("authorization")) headers.set("authorization", `Bearer ${TOKEN}`);
  return asks.get(host)!(new Request(HERE + at, { ...init, headers }));
}

function said(session: string, message: string): RequestInit {
  return {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ session_id: session, service: "ruda", message }),
  };
}

describe.each(["Hono", "Next.js (the form of its handlers)", "Express", "Fastify"])(
  "%s",
  (host) => {
    test("hands a message to the team, and the answer back", async () => {
      const answer = await ask(host, "/v1/agent/chat", said(`chat-${host.slice(0, 4)}`, "안녕"));

      expect(answer.status).toBe(200);
      expect(await answer.text()).toContain("안녕");
    });

    test("streams a turn to its end", async () => {
      const message = said(`stream-${host.slice(0, 4)}`, "hello");
      const turn = new SseReader(await ask(host, "/v1/agent/chat/stream", message));
      await turn.ended;

      expect(turn.types.at(-1)).toBe("DONE");
      expect(turn.text).toContain("hello");
    });

    test("shows an event while its stream is open, and ends the reader that leaves", async () => {
      const leaving = new AbortController();
      const events = await ask(host, "/v1/events", { signal: leaving.signal });
      const reader = new SseReader(events);
      reader.ended.catch(() => {});

      await ask(host, "/v1/agent/chat", said(`seen-${host.slice(0, 4)}`, "watched"));
      await reader.until(({ types }) => types.includes("turn.done"));
      leaving.abort();

      await expect(reader.ended).rejects.toThrow();
    });

    test("lets in no request without a token", async () => {
      const headers = { authorization: "Bearer wrong" };

      expect((await ask(host, "/v1/agent/sessions", { headers })).status).toBe(401);
    });
  },
);
