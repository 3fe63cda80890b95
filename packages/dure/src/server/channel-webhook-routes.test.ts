import { expect, test } from "vitest";
import type { ChannelAdapter } from "../rooms/channel-adapter.ts";
import type { Rooms } from "../rooms/rooms.ts";
import { startTestServer, type TestServer } from "./test-server.ts";

interface Taken {
  readonly request: Request;
  readonly account: string | undefined;
  readonly body: string;
}

/** A server whose team is on a platform that posts to it, and what that platform was heard. */
async function served(
  answer: () => Response = () => new Response("ok"),
): Promise<TestServer & { taken: Taken[] }> {
  const taken: Taken[] = [];
  const webhook = async (request: Request, account: string | undefined): Promise<Response> => {
    taken.push({ request, account, body: await request.text() });
    return answer();
  };
  const adapter = { webhook } as Partial<ChannelAdapter> as ChannelAdapter;
  const rooms = {
    adapter: (name: string) => (name === "telegram" ? adapter : undefined),
  } as Partial<Rooms> as Rooms;
  const server = await startTestServer({ rooms });

  return Object.assign(server, { taken });
}

test("what a platform posts reaches its adapter as it came, without a token of dure", async () => {
  await using server = await served();
  const body = '{"update_id": 1,  "text": "안녕"}';
  const headers = { "content-type": "application/json", "x-signature": "s" };

  const answer = await server.fetch("/v1/channels/telegram/webhook?a=1", {
    method: "POST",
    headers,
    body,
  });
  await server.fetch("/v1/channels/telegram/webhook/eden", {
    method: "POST",
    body: new URLSearchParams({ payload: "{}" }),
  });

  expect([answer.status, await answer.text()]).toEqual([200, "ok"]);
  const [first, second] = server.taken;
  expect(first).toMatchObject({ body, account: undefined });
  expect(first!.request.headers.get("x-signature")).toBe("s");
  expect(new URL(first!.request.url).search).toBe("?a=1");
  expect(second).toMatchObject({ body: "payload=%7B%7D", account: "eden" });
});

test("a platform may ask whether the address is dure's", async () => {
  await using server = await served(() => new Response("challenge"));

  const answer = await server.fetch("/v1/channels/telegram/webhook?hub.challenge=challenge");

  expect([answer.status, await answer.text()]).toEqual([200, "challenge"]);
  expect(server.taken[0]!.request.method).toBe("GET");
});

test("the answer of the adapter is the answer, with when to come again", async () => {
  const refused = { status: 503, headers: { "retry-after": "5", "set-cookie": "a=b" } };
  await using server = await served(() => new Response("later", refused));

  const { status, headers } = await server.post("/v1/channels/telegram/webhook", {});

  expect([status, headers.get("retry-after"), headers.get("set-cookie")]).toEqual([503, "5", null]);
});

test("a platform that the team is not on is not found, and too much is refused", async () => {
  await using server = await served();
  const large = { method: "POST", body: "x".repeat(1_048_577) };

  expect((await server.post("/v1/channels/web/webhook", {})).status).toBe(404);
  expect((await server.post(`/v1/channels/${"x".repeat(65)}/webhook`, {})).status).toBe(400);
  expect((await server.fetch("/v1/channels/telegram/webhook", large)).status).toBe(413);
  expect((await server.fetch("/v1/channels/telegram/webhook", { method: "PUT" })).status).toBe(405);
  expect(server.taken).toEqual([]);
});
