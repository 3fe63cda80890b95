import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, test } from "vitest";
import { Client } from "./client.ts";
import { Random } from "./random.ts";
import type { Violation } from "./violations.ts";

test.for([
  { status: 500, retryAfter: "0", violations: 1 },
  { status: 409, retryAfter: "0", violations: 1 },
  { status: 503, retryAfter: undefined, violations: 1 },
  { status: 503, retryAfter: "0", violations: 0 },
  { status: 429, retryAfter: "0", violations: 0 },
])(
  "a client that is told $status (Retry-After: $retryAfter) and asks again finds $violations violations",
  async ({ status, retryAfter, violations }) => {
    await using server = await answerOnce(status, retryAfter);
    const found: Violation[] = [];
    const client = new Client({
      servers: [{ name: "server-1", url: server.url, isReady: true }],
      token: "t",
      journal: { note: () => {} },
      random: new Random(1),
      onViolation: (violation) => found.push(violation),
      signal: new AbortController().signal,
    });
    const request = { method: "GET", path: "/v1/jobs", about: "j1" } as const;

    const answer = await client.ask(
      () => request,
      (response) => response.text(),
    );

    expect(answer).toBe("fine");
    expect(found.map(({ invariant }) => invariant)).toEqual(Array(violations).fill("http"));
  },
);

/** Refuses the first request, and takes the next. */
async function answerOnce(
  status: number,
  retryAfter: string | undefined,
): Promise<AsyncDisposable & { readonly url: string }> {
  let isFirst = true;
  const server = createServer((_, response) => {
    if (isFirst && retryAfter !== undefined) response.setHeader("retry-after", retryAfter);
    response.statusCode = isFirst ? status : 200;
    response.end(isFirst ? '{"code":"SOME_CODE"}' : "fine");
    isFirst = false;
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");

  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => void server.close(resolve));
    },
  };
}
