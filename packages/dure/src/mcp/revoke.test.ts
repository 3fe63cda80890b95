import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { systemClock, type Clock } from "../kernel/clock.ts";
import { logIn } from "./log-in.ts";
import { LoginStore, type StoredMcpLogin } from "./login-store.ts";
import { revoke } from "./revoke.ts";
import { startLoginServer, type LoginServer } from "./test-login-server.ts";

/** The end of a login at the server that gave it, with servers that are rude. */

let home: string;
let server: LoginServer;

beforeEach(async () => {
  home = await mkdtemp(path.join(tmpdir(), "dure-revoke-"));
  server = await startLoginServer();
});

afterEach(async () => {
  await server[Symbol.asyncDispose]();
  await rm(home, { recursive: true, force: true });
});

async function login(): Promise<StoredMcpLogin> {
  const store = new LoginStore({ home, clock: systemClock });
  await logIn({
    name: "sums",
    url: server.url,
    spec: {},
    clientSecret: undefined,
    store,
    clock: systemClock,
    signal: undefined,
    onAddress: (address) => void fetch(address).catch(() => undefined),
  });
  return (await store.read("sums"))!;
}

const how = { clientSecret: undefined, clock: systemClock };

test("both tokens are ended, the refresh token first, and the client says who it is", async () => {
  const { accessToken, refreshToken, client, ...rest } = await login();

  const outcome = await revoke({ accessToken, refreshToken, client, ...rest }, how);

  expect(outcome).toEqual({ is: "revoked" });
  expect(server.revoked.map(({ body }) => Object.fromEntries(body))).toEqual([
    { token: refreshToken, token_type_hint: "refresh_token", client_id: client.client_id },
    { token: accessToken, token_type_hint: "access_token", client_id: client.client_id },
  ]);
  expect(server.living.size).toBe(0);
});

test("a secret goes as the server names it, and is not written into the body", async () => {
  const stored = await login();
  const metadata = {
    ...stored.metadata,
    revocation_endpoint_auth_methods_supported: ["client_secret_basic"],
  };

  await revoke({ ...stored, metadata }, { ...how, clientSecret: "s:1" });

  const [{ authorization, body }] = server.revoked as [
    { authorization: string; body: URLSearchParams },
  ];
  const pair = `${encodeURIComponent(stored.client.client_id)}:s%3A1`;
  expect(authorization).toBe(`Basic ${Buffer.from(pair).toString("base64")}`);
  expect([...body.keys()]).toEqual(["token", "token_type_hint"]);
});

test("a server without such an endpoint is told nothing", async () => {
  server.manners.revokes = "not";
  expect(await revoke(await login(), how)).toEqual({ is: "not-offered" });
  expect(server.revoked).toEqual([]);
});

test("a server that fails, or sends elsewhere, has not ended them", async () => {
  const stored = await login();
  server.manners.revokes = "fails";
  const failed = await revoke(stored, how);
  server.manners.revokes = "redirects";
  const sent = await revoke(stored, how);

  expect(failed).toEqual({ is: "failed", because: "it answered 503" });
  expect(sent).toMatchObject({ is: "failed" });
  expect(server.revoked).toHaveLength(2);
});

test("a server that never answers is left after 10 s", async () => {
  const stored = await login();
  server.manners.revokes = "hangs";
  const waits: number[] = [];
  const clock: Clock = {
    ...systemClock,
    after: (ms, late) => {
      waits.push(ms);
      queueMicrotask(late);
      return () => {};
    },
  };

  expect(await revoke(stored, { clientSecret: undefined, clock })).toEqual({
    is: "failed",
    because: "no answer within 10 s",
  });
  expect(waits).toEqual([10_000]);
});

test("tokens go to no address that others can read on the way", async () => {
  const stored = await login();
  const metadata = { ...stored.metadata, revocation_endpoint: "http://elsewhere.example/revoke" };

  expect(await revoke({ ...stored, metadata }, how)).toMatchObject({ is: "failed" });
});
