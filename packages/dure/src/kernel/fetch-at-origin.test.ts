import { createServer, type IncomingMessage, type Server } from "node:http";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { fetchAtOrigin } from "./fetch-at-origin.ts";

interface Arrived {
  readonly method: string | undefined;
  readonly path: string | undefined;
  readonly key: string | string[] | undefined;
  readonly body: string;
}

let servers: Server[];
let arrived: Arrived[];
let other: string;
let home: string;

beforeEach(async () => {
  servers = [];
  arrived = [];
  other = await listen(() => undefined);
  home = await listen(({ url = "" }) => {
    const [, status, where] = /^\/go\/(\d+)\/(.*)$/.exec(url) ?? [];
    if (status === undefined) return undefined;
    const location = where === "away" ? `${other}/stolen` : `/${where}`;
    return { status: Number(status), location };
  });
});

afterEach(() => {
  for (const server of servers) server.closeAllConnections();
  for (const server of servers) server.close();
});

async function listen(
  route: (request: IncomingMessage) => { status: number; location: string } | undefined,
): Promise<string> {
  const server = createServer((request, response) => {
    void text(request).then((body) => {
      const { method, url: path, headers } = request;
      arrived.push({ method, path, key: headers["x-api-key"], body });
      const led = route(request);
      if (led) response.writeHead(led.status, { location: led.location }).end();
      else response.end("here");
    });
  });
  servers.push(server);
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

const secret = { method: "POST", headers: { "x-api-key": "sk-1" }, body: "words" };

describe("a request that carries a key", () => {
  test.each([301, 302, 303, 307, 308])("never reaches another origin after %i", async (status) => {
    await expect(fetchAtOrigin(`${home}/go/${status}/away`, secret)).rejects.toMatchObject({
      code: "REDIRECT_REFUSED",
      message: expect.stringContaining(`${home} redirects to ${other}`) as string,
      hint: "If that is the right address, write it into the settings.",
      details: { from: home, to: other, because: "another origin" },
    });

    expect(arrived.map(({ path }) => path)).toEqual([`/go/${status}/away`]);
  });

  test.each([307, 308])("goes on within its origin after %i, with its body", async (status) => {
    const answer = await fetchAtOrigin(`${home}/go/${status}/there`, secret);

    expect(await answer.text()).toBe("here");
    const sent = { method: "POST", key: "sk-1", body: "words" };
    expect(arrived.at(-1)).toEqual({ ...sent, path: "/there" });
  });

  test("goes on within its origin after 302 where it only reads", async () => {
    const answer = await fetchAtOrigin(`${home}/go/302/there`);

    expect(answer.status).toBe(200);
  });

  test("does not become a GET", async () => {
    const sent = fetchAtOrigin(`${home}/go/302/there`, secret);

    await expect(sent).rejects.toMatchObject({ code: "REDIRECT_REFUSED" });
    expect(arrived).toHaveLength(1);
  });

  test("is sent four times at most by a loop", async () => {
    const sent = fetchAtOrigin(`${home}/go/307/go/307/go/307/go/307/go/307/there`, secret);

    await expect(sent).rejects.toMatchObject({ code: "REDIRECT_REFUSED" });
    expect(arrived).toHaveLength(4);
  });

  test("is refused where the redirect leads to no address", async () => {
    const answer = await listen(() => ({ status: 307, location: "http://" }));

    await expect(fetchAtOrigin(answer, secret)).rejects.toMatchObject({ code: "REDIRECT_REFUSED" });
  });
});
