import { once } from "node:events";
import { createServer } from "node:http";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { systemClock } from "../kernel/clock.ts";
import { codeOf, messageOf } from "../kernel/errors.ts";
import type { ServerLimits } from "./server.ts";
import { SseReader, startTestServer, until, type TestServer } from "./test-server.ts";
import { MemoryTokenStore } from "./token-store.ts";
import { WebHandler } from "./web-handler.ts";

const BULK = "x".repeat(100_000);
/** More than a connection in memory holds. */
const MANY = 50;

setFlagsFromString("--expose-gc");
const collectGarbage = runInNewContext("gc") as () => void;

const store = new MemoryTokenStore();
const { token } = await store.create({ name: "app", scopes: ["chat", "admin"] });
const bearer = { authorization: `Bearer ${token}` };

let server: TestServer;
beforeEach(() => startWith({}));
afterEach(() => server[Symbol.asyncDispose]());

/** In place of the server before it. */
async function startWith(limits: ServerLimits): Promise<void> {
  await (server as TestServer | undefined)?.[Symbol.asyncDispose]();
  server = await startTestServer({ auth: store, limits });
}

function ask(path: string, init?: RequestInit): Promise<Response> {
  return server.app.web.fetch(new Request(`http://localhost${path}`, init));
}

function chat(message: string, headers: Record<string, string> = bearer): Promise<Response> {
  return ask("/v1/agent/chat", {
    method: "POST",
    headers: { "content-type": "application/json", ...headers },
    body: JSON.stringify({ session_id: "mina", message }),
  });
}

function publish(count: number): void {
  for (let index = 0; index < count; index++) {
    server.events.publish({ type: "turn.done", session: "mina", data: { index, BULK } });
  }
}

function bodyThatStops(): ReadableStream<Uint8Array> {
  return new ReadableStream({
    start: (controller) => controller.enqueue(new TextEncoder().encode('{"session_id":')),
  });
}

describe("what the port answers", () => {
  test.each(["/healthz", "/nothing/here", "/v1/me", "/v1/agent/sessions?limit=x", "/v1/services"])(
    "%s is answered alike by the handler",
    async (path) => {
      const [handed, through] = await Promise.all([
        ask(path, { headers: bearer }),
        server.fetch(path, { headers: bearer }),
      ]);

      expect(handed.status).toBe(through.status);
      expect(withoutIds(await handed.text())).toBe(withoutIds(await through.text()));
      expect(namesOf(handed)).toEqual(namesOf(through));
    },
  );

  test("a request without credentials is a stranger's, also at this machine", async () => {
    await using open = await startTestServer();

    const handed = await open.app.web.fetch(new Request("http://localhost/v1/agent/sessions"));

    expect(handed.status).toBe(401);
    expect(await handed.text()).toContain("does not say whose request it is");
    expect((await open.fetch("/v1/agent/sessions")).status).toBe(200);
  });

  test("a host that is not this server's is refused", async () => {
    const answer = await server.app.web.fetch(new Request("http://evil.example/healthz"));

    expect(answer.status).toBe(403);
    expect(await answer.json()).toMatchObject({ code: "HOST_NOT_ALLOWED" });
  });

  test("a deed is written into the audit, under the token's name", async () => {
    const answer = await ask("/v1/agent/sessions/mina", { method: "DELETE", headers: bearer });

    expect(answer.status).toBeLessThan(500);
    expect(server.audit.map(({ what }) => what)).toEqual(["session.delete"]);
  });

  test("a turn is answered, and its body is read as it was sent", async () => {
    const answer = await chat("안녕하세요");

    expect(answer.status).toBe(200);
    expect([...server.conversations.turns.values()].map(({ request }) => request.message)).toEqual([
      "안녕하세요",
    ]);
  });

  test("a HEAD request and an answer without a body have none", async () => {
    const head = await ask("/healthz", { method: "HEAD" });

    expect(head.body).toBeNull();
  });
});

describe("streams", () => {
  test("an event is read while the stream goes on", async () => {
    await using reader = new SseReader(await ask("/v1/events", { headers: bearer }));
    await until(() => server.events.followers === 1);

    publish(1);
    await reader.until(({ frames }) => frames.length === 1);

    publish(2);
    await reader.until(({ frames }) => frames.length === 3);
    expect(server.events.followers).toBe(1);
  });

  test("what is not read is not written: the reader is cut off, and holds a bounded rest", async () => {
    await startWith({ bufferBytes: 65_536, stallMs: 300 });
    const answer = await ask("/v1/events", { headers: bearer });
    await until(() => server.events.followers === 1);

    publish(MANY);
    await until(() => server.log.some((line) => line.includes("because it did not read")));

    expect(await bytesBeforeTheBreak(answer)).toBeLessThan(10 * BULK.length);
    expect(server.events.followers).toBe(0);
  });

  test("an abort ends the reader, and breaks the body with its reason", async () => {
    const leaving = new AbortController();
    const answer = await ask("/v1/events", { headers: bearer, signal: leaving.signal });
    await until(() => server.events.followers === 1);

    const broken = answer.text().catch(messageOf);
    leaving.abort(new Error("the tab was closed"));

    expect(await broken).toBe("the tab was closed");
    await until(() => server.events.followers === 0);
    await server.app.web.settled();
  });

  test("an abort ends the reader also where nothing else holds the request any more", async () => {
    const leaving = new AbortController();
    const answer = await ask("/v1/events", { headers: bearer, signal: leaving.signal });
    await until(() => server.events.followers === 1);

    const broken = answer.text().catch(messageOf);
    for (let round = 0; round < 5; round++) {
      await systemClock.sleep(0);
      collectGarbage();
    }
    leaving.abort(new Error("the tab was closed"));

    expect(await broken).toBe("the tab was closed");
    await until(() => server.events.followers === 0);
  });

  test("who cancels the body ends the reader", async () => {
    const answer = await ask("/v1/events", { headers: bearer });
    await until(() => server.events.followers === 1);

    await answer.body!.cancel();
    await until(() => server.events.followers === 0);

    expect(server.log.some((line) => line.includes('"cut":true'))).toBe(true);
  });

  test("an abort before the answer rejects with its reason", async () => {
    const leaving = new AbortController();
    const late = ask("/v1/agent/chat", {
      method: "POST",
      headers: { "content-type": "application/json", ...bearer },
      body: bodyThatStops(),
      duplex: "half",
      signal: leaving.signal,
    } as RequestInit);

    const refused = late.catch(messageOf);
    leaving.abort(new Error("the person left"));

    expect(await refused).toBe("the person left");
    await server.app.web.settled();
  });
});

describe("bounds", () => {
  test("a body that stops coming is answered with 408", async () => {
    await startWith({ bodyIdleMs: 300 });
    const answer = await ask("/v1/agent/chat", {
      method: "POST",
      headers: { "content-type": "application/json", ...bearer },
      body: bodyThatStops(),
      duplex: "half",
    } as RequestInit);

    expect(answer.status).toBe(408);
    expect(await answer.json()).toMatchObject({ code: "REQUEST_TOO_SLOW" });
  });

  test("a body that is too large is refused as the port refuses it", async () => {
    const answer = await chat("x".repeat(2_000_000));

    expect(answer.status).toBe(413);
    await answer.text();
    await server.app.web.settled();
  });

  test("a server that closes ends the streams with a hint, and then answers 503", async () => {
    const reader = new SseReader(await ask("/v1/events", { headers: bearer }));
    await until(() => server.events.followers === 1);

    await server.app.close();
    await reader.ended;

    expect(reader.retry).toBe(1_000);
    const late = await ask("/healthz");
    expect(late.status).toBe(503);
  });

  test("a small answer that is not read keeps no connection", async () => {
    const answer = await ask("/healthz");
    await server.app.web.settled();

    expect(await answer.json()).toMatchObject({ version: "0.1.0" });
  });
});

test("a server that ends the request without an answer is told as such", async () => {
  const rude = createServer((request) => request.socket.destroy());
  const web = new WebHandler({ server: rude, bodyIdleMs: 300, clock: systemClock });

  const answer = web.fetch(new Request("http://localhost/"));

  await expect(answer).rejects.toMatchObject({ code: "CONNECTION_CUT" });
  await web.settled();
});

test("what is still open when a server waits no longer is cut", async () => {
  const silent = createServer();
  const web = new WebHandler({ server: silent, bodyIdleMs: 300, clock: systemClock });
  const asked = once(silent, "request");
  const answer = web.fetch(new Request("http://localhost/")).catch(codeOf);
  await asked;

  web.cut();
  await web.settled();

  expect(await answer).toBe("CONNECTION_CUT");
});

test("headers of a connection are not handed on, and cookies come one by one", async () => {
  const seen: object[] = [];
  const plain = createServer((request, response) => {
    seen.push(request.headers);
    response.setHeader("set-cookie", ["a=1", "b=2"]);
    response.end();
  });
  const web = new WebHandler({ server: plain, bodyIdleMs: 300, clock: systemClock });

  const headers = { "keep-alive": "1", "x-mine": "yes", host: "evil.example", expect: "x" };
  const answer = await web.fetch(new Request("http://localhost/", { headers }));

  expect(seen).toEqual([{ host: "localhost", "x-mine": "yes", connection: "close" }]);
  expect(answer.headers.getSetCookie()).toEqual(["a=1", "b=2"]);
});

async function bytesBeforeTheBreak(answer: Response): Promise<number> {
  let bytes = 0;
  try {
    for await (const piece of answer.body!) bytes += piece.length;
  } catch {
    return bytes;
  }
  throw new Error("the body ended in good order");
}

function withoutIds(text: string): string {
  return text.replaceAll(/[0-9A-HJKMNP-TV-Z]{26}/g, "<id>").replaceAll(/\d{13}/g, "<time>");
}

function namesOf(answer: Response): string[] {
  const ofAConnection = ["connection", "keep-alive", "transfer-encoding", "content-encoding"];
  return [...answer.headers.keys()].filter(
    (name) => !ofAConnection.includes(name) && !name.startsWith("x-ratelimit"),
  );
}
