import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { testDatabaseUrl } from "../../src/durable/test-database.ts";
import { defineService, flow } from "../../src/engine/service/service.ts";
import { silentLogger } from "../../src/kernel/logger.ts";
import { readTeam } from "../../src/team/config.ts";
import { readEnvironment } from "../../src/team/environment.ts";
import { startTeam, type RunningTeam } from "../../src/team/start.ts";
import { Nginx, PUBLIC_HOST, type Answer, type Asking } from "./nginx.ts";

/**
 * The real nginx of the system, with the configuration of docs/guides/reverse-proxy.md, before a
 * real server.
 */
const TOKEN = "a-token-from-the-environment";
const LOGINS_PER_MINUTE = 2;
const bearer = { authorization: `Bearer ${TOKEN}` };

let mayGoOn = Promise.withResolvers<void>();
const patient = defineService({
  name: "patient",
  agents: {},
  flows: {
    DEFAULT: flow(async (turn) => {
      if (turn.message === "wait") await mayGoOn.promise;
      return turn.done({ message: "Done." });
    }),
  },
});

const world = new AsyncDisposableStack();
let team: RunningTeam;
let nginx: Nginx;

beforeAll(async () => {
  const database = world.use(await testDatabaseUrl());
  const options = {
    services: { patient },
    server: {
      allowedHosts: [PUBLIC_HOST],
      trustProxy: ["127.0.0.1/32"],
      limits: { logins: LOGINS_PER_MINUTE },
    },
  };
  const environment = { DATABASE_URL: database.url, PORT: "0", DURE_TOKEN: TOKEN };
  team = await startTeam(await readTeam(options), readEnvironment(environment), {
    logger: silentLogger,
  });
  world.defer(() => team.stop());
  nginx = world.use(await Nginx.start(new URL(team.url).host));
});

afterAll(() => world.disposeAsync());

function turn(message: string, session: string): Asking {
  const body = JSON.stringify({ session_id: session, message });
  return { method: "POST", headers: bearer, body };
}

function codeOf({ body }: Answer): unknown {
  return (JSON.parse(body) as { code?: unknown }).code;
}

describe("behind nginx as the guide sets it up", () => {
  test("a request without a token is refused, although nginx runs as the server's user", async () => {
    const bare = await nginx.ask("/v1/me");
    const withToken = await nginx.ask("/v1/me", { headers: bearer });

    expect([bare.status, withToken.status]).toEqual([401, 200]);
  });

  test("a wrong token is refused", async () => {
    const wrong = await nginx.ask("/v1/me", { headers: { authorization: "Bearer wrong" } });

    expect(wrong.status).toBe(401);
  });

  test("a host name that the team does not name is refused", async () => {
    const other = await nginx.ask("/v1/me", { headers: { ...bearer, host: "other.example" } });

    expect([other.status, codeOf(other)]).toEqual([403, "HOST_NOT_ALLOWED"]);
  });

  test("an event arrives while its turn still works", async () => {
    mayGoOn = Promise.withResolvers<void>();
    const stream = await nginx.open("/v1/agent/chat/stream", turn("wait", "waiting"));
    const chunks = stream.chunks[Symbol.asyncIterator]();

    const first = String((await chunks.next()).value);
    mayGoOn.resolve();
    let rest = "";
    for (let next = await chunks.next(); !next.done; next = await chunks.next()) {
      rest += String(next.value);
    }

    expect(first).not.toContain("event: DONE");
    expect(rest).toContain("event: DONE");
  });

  test("each address has its own limit of logins, whatever X-Forwarded-For it forges", async () => {
    const login = (from: string, forged: string): Promise<Answer> =>
      nginx.ask("/v1/login", {
        method: "POST",
        from,
        headers: { "x-forwarded-for": forged, forwarded: `for=${forged}` },
        body: JSON.stringify({ token: "not-a-living-token" }),
      });

    const tries: number[] = [];
    for (const forged of ["198.51.100.1", "198.51.100.2", "198.51.100.3"]) {
      tries.push((await login("127.0.0.9", forged)).status);
    }
    const elsewhere = await login("127.0.0.10", "198.51.100.1");

    expect(tries).toEqual([401, 401, 429]);
    expect(elsewhere.status).toBe(401);
  });

  test("the cookie of a login is for TLS alone, and is refused from another site's page", async () => {
    const login = await nginx.ask("/v1/login", {
      method: "POST",
      from: "127.0.0.11",
      headers: { origin: `https://${PUBLIC_HOST}`, "sec-fetch-site": "same-origin" },
      body: JSON.stringify({ token: TOKEN }),
    });
    const [cookie = ""] = login.headers["set-cookie"] ?? [];
    const say = (site: string, origin: string): Promise<Answer> =>
      nginx.ask("/v1/agent/chat", {
        ...turn("hello", "cookie"),
        headers: { cookie: cookie.split(";", 1)[0]!, "sec-fetch-site": site, origin },
      });

    const own = await say("same-origin", `https://${PUBLIC_HOST}`);
    const foreign = await say("cross-site", "https://evil.example");

    expect(login.status).toBe(204);
    expect(cookie).toMatch(/; Secure/);
    expect(cookie).toMatch(/; HttpOnly/);
    expect([own.status, foreign.status]).toEqual([200, 403]);
  });
});
