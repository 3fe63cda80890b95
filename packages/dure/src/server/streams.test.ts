import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { expect, test } from "vitest";
import { systemClock } from "../kernel/clock.ts";
import { SseReader, startTestServer, until, type TestServer } from "./test-server.ts";
import { FULL } from "../kernel/test-tiers.ts";

/** More than the system itself holds for one connection. */
const MANY = 200;
const BULK = "x".repeat(100_000);

/** A reader that takes the head of its stream and nothing more. */
async function standing(server: TestServer, path = "/v1/events"): Promise<Socket> {
  const socket = connect({ port: server.port, host: "127.0.0.1" });
  socket.write(`GET ${path} HTTP/1.1\r\nHost: localhost\r\n\r\n`);
  socket.on("error", () => {});
  await once(socket, "data");
  socket.pause();
  return socket;
}

function publish(server: TestServer, count: number): void {
  for (let index = 0; index < count; index++) {
    server.events.publish({ type: "turn.done", session: "mina", data: { index, BULK } });
  }
}

test("a reader that does not read holds at most its buffer and one event, and is then cut off", async () => {
  await using server = await startTestServer({ limits: { bufferBytes: 65_536, stallMs: 300 } });
  const reader = await standing(server);
  const closed = once(reader, "close");
  await until(() => server.events.followers === 1);

  publish(server, MANY);
  await until(() =>
    server.log.some((line) => line.includes("was cut off because it did not read")),
  );

  reader.resume();
  await closed;
  expect(reader.bytesRead).toBeLessThan(MANY * BULK.length);
});

test(
  "when all readers together hold too much, the one that holds most is cut off at once",
  FULL,
  async () => {
    await using server = await startTestServer({
      limits: { bufferBytes: 4_194_304, streamsBytes: 1_048_576, stallMs: 60_000 },
    });
    const lazy = await standing(server);
    await using eager = new SseReader(await server.fetch("/v1/events"));
    await until(() => server.events.followers === 2);

    // One after the other, as fast as the eager one reads: it never holds much.
    for (let sent = 1; sent <= MANY; sent++) {
      publish(server, 1);
      await eager.until(({ frames }) => frames.length >= sent);
    }

    await until(() => server.events.followers === 1);
    expect(server.log.some((line) => line.includes("was cut off because it did not read"))).toBe(
      true,
    );
    expect(eager.frames).toHaveLength(MANY);
    lazy.destroy();
  },
);

test(
  "a reader that was cut off reads on behind its last event, without gap or duplicate",
  { ...FULL, timeout: 120_000 },
  async () => {
    await using server = await startTestServer({
      limits: { bufferBytes: 65_536, streamsBytes: 1_048_576, stallMs: 3_000 },
    });
    const reader = await standing(server);
    const closed = once(reader, "close");
    let got = "";
    await until(() => server.events.followers === 1);
    publish(server, MANY);
    await until(() => server.events.followers === 0);
    reader.setEncoding("utf8").on("data", (part: string) => (got += part));
    reader.resume();
    await closed;
    const whole = got.slice(0, got.lastIndexOf("\n\n"));
    const last =
      [...whole.matchAll(/^id: (\S+)\nevent: turn\.done\ndata: .*\}/gm)].at(-1)?.[1] ?? "1.0.0";
    const lastIndex = Number(last.split(".")[2]);

    await using again = new SseReader(
      await server.fetch("/v1/events", { headers: { "last-event-id": last } }),
    );
    await again.until(({ frames }) => frames.length >= MANY - lastIndex);

    expect(lastIndex).toBeLessThan(MANY);
    expect(
      again.frames.map(({ data }) => (data as { data: { index: number } }).data.index),
    ).toEqual(Array.from({ length: MANY - lastIndex }, (_, index) => lastIndex + index));
  },
);

test("streams above the limits are refused with their codes, and room is made by those that leave", async () => {
  await using server = await startTestServer({ limits: { streams: 3, streamsPerLoopback: 2 } });
  const [first, second] = [await standing(server), await standing(server)];

  const third = await server.fetch("/v1/events");
  first.destroy();
  await until(() => server.events.followers === 1);
  await using fourth = new SseReader(await server.fetch("/v1/events"));

  expect([
    third.status,
    third.headers.get("retry-after"),
    ((await third.json()) as { code: string }).code,
  ]).toEqual([429, "5", "STREAMS_PER_ADDRESS"]);
  expect(fourth.response.status).toBe(200);
  second.destroy();
});

test("a stream that is refused starts no turn", async () => {
  await using server = await startTestServer({ limits: { streams: 0 } });

  const refused = await server.post("/v1/agent/chat/stream", {
    session_id: "mina",
    message: "hello",
  });

  expect([refused.status, ((await refused.json()) as { code: string }).code]).toEqual([
    503,
    "STREAMS_FULL",
  ]);
  expect(server.conversations.turns.size).toBe(0);
});

test("a body of which nothing comes is refused while it waits, one that comes slowly but steadily is taken", async () => {
  await using server = await startTestServer({ limits: { bodyIdleMs: 600 } });
  const body = JSON.stringify({ token: "a-token-that-is-sent-slowly" });
  const head =
    `POST /v1/login HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n` +
    `Content-Length: ${body.length}\r\nConnection: close\r\n\r\n`;
  const answers: string[] = ["", ""];
  const [silent, steady] = [0, 1].map((index) => {
    const socket = connect({ port: server.port, host: "127.0.0.1" });
    socket.setEncoding("utf8").on("data", (part: string) => (answers[index] += part));
    socket.write(head);
    return socket;
  }) as [Socket, Socket];
  const closed = Promise.all([once(silent, "close"), once(steady, "close")]);

  for (const char of body) {
    steady.write(char);
    await systemClock.sleep(30);
  }
  await closed;

  expect(answers[0]).toMatch(/^HTTP\/1\.1 408 [\s\S]*Nothing of the body came for 0\.6 s/);
  // It was read to its end, and refused for its token.
  expect(answers[1]).toMatch(/^HTTP\/1\.1 401 [\s\S]*TOKEN_INVALID/);
});
