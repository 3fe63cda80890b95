// @module-tag slow
import { FULL } from "../../src/kernel/test-tiers.ts";
import { subscribe, unsubscribe } from "node:diagnostics_channel";
import type { FastifyInstance, RouteOptions } from "fastify";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { PostgresTokenStore } from "../../src/server/token-store.ts";
import { startContractTeam, type ContractTeam } from "../contract/contract-team.ts";
import { ROUTES, type Row } from "./route-table.ts";
import { makeThings, noThings, type Things } from "./tenant-things.ts";
import { SCOPES, type Scope } from "../../src/kernel/access.ts";

/**
 * Every route × every role, against a running server that requires tokens. What is expected stands
 * in `route-table.ts`. Source: docs/spec/platform §6.
 */
const TENANTS = ["", "acme", "beta"] as const;
type Tenant = (typeof TENANTS)[number];

let team: ContractTeam;
/** Routes of each server of this process, as they were registered; the team's is one of them. */
const servers: Set<string>[] = [];
const tokens = new Map<string, string>();
const things = new Map<Tenant, Things>();

/**
 * Each single scope without a tenant and with one; of the other tenant the administrator alone, for
 * the rest of it is as the first one's.
 */
const roles = [
  ...SCOPES.flatMap(
    (scope) =>
      [
        { scope, tenant: "" },
        { scope, tenant: "acme" },
      ] as const,
  ),
  { scope: "admin", tenant: "beta" } as const,
];
const table = Object.entries(ROUTES);
/** The dashboard, where it was built: files without a word of anybody. */
const FILES = "GET /*";
const keyOf = ({ scope, tenant }: { scope: Scope; tenant: Tenant }): string => `${scope} ${tenant}`;

beforeAll(async () => {
  const watch = (message: unknown): void => {
    const { fastify } = message as { fastify: FastifyInstance };
    const routes = new Set<string>();
    fastify.addHook("onRoute", ({ method, url }: RouteOptions) =>
      [method].flat().forEach((one) => routes.add(`${one} ${url}`)),
    );
    servers.push(routes);
  };
  subscribe("fastify.initialization", watch);
  team = await startContractTeam({ logins: 1_000 }); // each route is called in every role
  unsubscribe("fastify.initialization", watch);

  const store = new PostgresTokenStore({ database: team.database });
  for (const role of roles) {
    tokens.set(
      keyOf(role),
      (
        await store.create({
          name: `${role.scope} ${role.tenant}`,
          scopes: [role.scope],
          tenant: role.tenant,
        })
      ).token,
    );
  }
  const run = await aRun();
  for (const tenant of TENANTS) {
    things.set(
      tenant,
      await makeThings(team, { tenant, token: tokens.get(`admin ${tenant}`)!, run }),
    );
  }
}, 120_000);

afterAll(async () => team?.[Symbol.asyncDispose](), 60_000);

test("each route of the running server has a row in the table, and each row a route", () => {
  const registered = servers.find((routes) => routes.has("GET /v1/me"))!;

  expect(table.map(([route]) => route).toSorted()).toEqual(
    [...registered].filter((route) => route !== FILES).toSorted(),
  );
});

test("a request without a token or with a wrong bearer is refused on each route that is not public", async () => {
  const expected = Object.fromEntries(
    table.map(([route, { scope, own }]) => [
      route,
      scope === "public" ? [own, own] : ["401 TOKEN_NEEDED", "401 TOKEN_INVALID"],
    ]),
  );

  const told = await atOnce(table, async (route, row) => {
    const answers = [undefined, "wrong-bearer-0123456789"].map((token) =>
      call(route, row, { of: things.get("")!, token }),
    );
    return (await Promise.all(answers)).map(({ status }) => status);
  });

  expect(told).toEqual(expected);
});

describe.each(roles)("with the scope $scope and the tenant “$tenant”", (role) => {
  test(
    "each route answers about one's own things as the table says, and holds no word of another's",
    FULL,
    async () => {
      const expected = Object.fromEntries(
        table.map(([route, row]) => [route, expectedOwn(row, role)]),
      );

      const told = await atOnce(table, async (route, row) => {
        const { status, body } = await call(route, row, {
          of: things.get(role.tenant)!,
          token: tokens.get(keyOf(role)),
        });
        expect([route, ...wordsOf(others(role)).filter((word) => body.includes(word))]).toEqual([
          route,
        ]);
        return status;
      });

      expect(told).toEqual(expected);
    },
  );
});

/** What a right may cause: on whose repository work is done. */
const TARGETS = ["own", "stray", "team"] as const;
type Target = (typeof TARGETS)[number];
const OF_PLANS = /^\w+ \/v1\/(plans|drafts|runs)/;

test("each route of plans says which repository it can touch", () => {
  const silent = table.filter(
    ([route, { reaches }]) => OF_PLANS.test(route) && reaches === undefined,
  );

  expect(silent.map(([route]) => route)).toEqual([]);
});

describe.each(roles)("with the scope $scope and the tenant “$tenant”", (role) => {
  test("each route that chooses a repository reaches those that are the caller's alone", async () => {
    const folders = { own: team.repository, stray: team.stray, team: team.folder };
    const token = tokens.get(keyOf(role));

    for (const target of TARGETS) {
      for (const [route, row] of table) {
        if (typeof row.reaches !== "object") continue;
        const asked = row.reaches.call(folders[target]);
        const { status } = await send(route, asked, { token });

        expect([route, target, status]).toEqual([
          route,
          target,
          holds(role.scope, row.scope) ? reached(row.reaches.own, role, target) : NO_SCOPE,
        ]);
      }
    }
  });

  test("no route makes work go on, or lets it out, where the repository is not the caller's", async () => {
    const rows = table.filter(([, { reaches }]) => reaches === "run");
    const expected = Object.fromEntries(
      rows.map(([route, row]) => [
        route,
        holds(role.scope, row.scope) ? reached(row.own, role, "stray") : NO_SCOPE,
      ]),
    );

    const told = await atOnce(rows, async (route, row) => {
      const own = things.get(role.tenant)!;
      const of = { ...own, run: own.strayRun };
      return (await call(route, row, { of, token: tokens.get(keyOf(role)) })).status;
    });

    expect(told).toEqual(expected);
  });
});

// Behind all of the above: whose names were tried stands in one's own audit log.
describe.each(roles)("with the scope $scope and the tenant “$tenant”", (role) => {
  test("each route answers about another's thing as about one that does not exist", async () => {
    const naming = table.filter(([, { names }]) => names === "thing");
    const token = tokens.get(keyOf(role));

    for (const tenant of TENANTS.filter((one) => one !== role.tenant)) {
      const isOwn = (row: Row): boolean => row.isAlias === true && tenant === "";
      const expected = Object.fromEntries(
        naming.map(([route, row]) => [
          route,
          isOwn(row) ? expectedOwn(row, role) : expectedForeign(row, role),
        ]),
      );

      const told = await atOnce(naming, async (route, row) => {
        const [theirs, none] = [named(things.get(tenant)!, { tenant, role }), noThings()];
        const foreign = await call(route, row, { of: theirs, token });
        if (seesAll(role)) return foreign.status;
        expect(foreign.body.includes(theirs.secret), route).toBe(false);
        if (!isOwn(row)) {
          expect(anonymous(foreign, theirs), route).toEqual(
            anonymous(await call(route, row, { of: none, token }), none),
          );
        }
        return foreign.status;
      });

      expect(told, tenant).toEqual(expected);
    }
  });
});

test("a sweep over all routes as others has left each tenant's things as they were", async () => {
  for (const tenant of TENANTS) {
    const { session, escalation, room, job, run } = things.get(tenant)!;
    const token = tokens.get(`admin ${tenant}`)!;
    const look = async (path: string): Promise<unknown> =>
      (await fetch(team.url + path, { headers: { authorization: `Bearer ${token}` } })).json();

    expect(await look(`/v1/agent/sessions/${session}`)).toMatchObject({ session_id: session });
    expect(await look(`/v1/escalations/${escalation}`)).toMatchObject({ status: "open" });
    expect(await look(`/v1/rooms/${room}/messages`)).toMatchObject({
      items: expect.arrayContaining([
        expect.objectContaining({
          text: expect.stringContaining(things.get(tenant)!.secret) as string,
        }),
      ]) as unknown,
    });
    expect(await look(`/v1/jobs/${job}`)).toMatchObject({ job_id: job });
    expect(await look(`/v1/runs/${run}`)).toMatchObject({ id: run });
  }
});

interface Answer {
  /** `200`, or `404 SESSION_UNKNOWN`. */
  readonly status: string;
  readonly body: string;
}

const NO_SCOPE = "403 SCOPE_MISSING";

/** What a caller with the scope is told of a repository: as the specification says. */
function reached(own: string, role: { scope: Scope; tenant: Tenant }, target: Target): string {
  if (role.tenant !== "") return target === "own" ? own : "404 REPOSITORY_UNKNOWN";
  if (target === "team") return "403 REPOSITORY_IS_TEAM";

  return target === "own" || seesAll(role) ? own : "403 REPOSITORY_NOT_NAMED";
}

function call(
  route: string,
  row: Row,
  { of, token }: { of: Things; token: string | undefined },
): Promise<Answer> {
  return send(route, row.call(of), { token, isEndless: row.isEndless });
}

async function send(
  route: string,
  { path, body }: ReturnType<Row["call"]>,
  { token, isEndless }: { token: string | undefined; isEndless?: true | undefined },
): Promise<Answer> {
  const [method = ""] = route.split(" ");
  const answer = await fetch(team.url + path, {
    method,
    headers: {
      // One that is kept may be closed by the server as it is used again.
      connection: "close",
      ...(token !== undefined && { authorization: `Bearer ${token}` }),
      ...(body !== undefined && { "content-type": "application/json" }),
    },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  const text = isEndless && answer.ok ? await beginningOf(answer) : await answer.text();
  const code = answer.ok ? undefined : codeIn(answer, text);
  return { status: [answer.status, code].filter(Boolean).join(" "), body: text };
}

/** What protocols say beside a refusal. */
interface Told {
  readonly code?: string;
  readonly metadata?: { readonly code: string };
}

/** The code of a refusal: of a problem, or in the shape of another protocol. */
function codeIn({ headers }: Response, text: string): string | undefined {
  const type = headers.get("content-type") ?? "";
  if (!type.includes("json")) return undefined;
  const { code, error } = JSON.parse(text) as {
    code?: string;
    error?: { code?: string | number; data?: Told | readonly Told[]; details?: readonly Told[] };
  };
  const [told] = [error?.data ?? error?.details ?? []].flat();
  const found = code ?? told?.code ?? told?.metadata?.code ?? error?.code;
  return typeof found === "string" ? found : undefined;
}

/** What came of each route, asked all at once. */
async function atOnce<T>(
  rows: typeof table,
  ask: (route: string, row: Row) => Promise<T>,
): Promise<Record<string, T>> {
  const told = await Promise.all(
    rows.map(async ([route, row]) => [route, await ask(route, row)] as const),
  );
  return Object.fromEntries(told);
}

/** Who sees all tenants names a session with its tenant. */
function named(
  theirs: Things,
  { tenant, role }: { tenant: Tenant; role: { scope: Scope; tenant: Tenant } },
): Things {
  return seesAll(role) && tenant !== ""
    ? { ...theirs, session: encodeURIComponent(`${tenant}/${theirs.session}`) }
    : theirs;
}

/** Of a stream that has no end: what comes up to the last event that is there. */
async function beginningOf(answer: Response): Promise<string> {
  const reader = answer.body!.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  while (!text.includes("\n\n") || text.endsWith(":")) text += (await reader.read()).value ?? "";
  await reader.cancel();
  return text;
}

function expectedOwn(row: Row, role: { scope: Scope; tenant: Tenant }): string {
  if (!holds(role.scope, row.scope)) return NO_SCOPE;
  return row.names === "all" && role.tenant !== "" ? row.absent! : row.own;
}

function expectedForeign(row: Row, role: { scope: Scope; tenant: Tenant }): string {
  if (!holds(role.scope, row.scope)) return NO_SCOPE;
  return seesAll(role) ? row.own : row.absent!;
}

const PARTS_OF_PLANS: ReadonlySet<string> = new Set(["plans:read", "plans:run", "plans:merge"]);

/** Which scope holds which: as the specification says, not as the server does. */
function holds(given: Scope, needed: Row["scope"]): boolean {
  if (needed === "public" || needed === "known" || given === needed || given === "admin") {
    return true;
  }
  return (
    (given === "plans" && PARTS_OF_PLANS.has(needed)) ||
    ((given === "plans:run" || given === "plans:merge") && needed === "plans:read")
  );
}

function seesAll({ scope, tenant }: { scope: Scope; tenant: Tenant }): boolean {
  return scope === "admin" && tenant === "";
}

function others({ scope, tenant }: { scope: Scope; tenant: Tenant }): readonly Things[] {
  return seesAll({ scope, tenant })
    ? []
    : TENANTS.filter((one) => one !== tenant).map((one) => things.get(one)!);
}

function wordsOf(owners: readonly Things[]): readonly string[] {
  return owners.flatMap(({ secret, turn, escalation, thread, message, job, run }) => [
    secret,
    turn,
    escalation,
    thread,
    message,
    job,
    run,
  ]);
}

/**
 * An answer without the names that were asked for, and without what differs from request to
 * request.
 */
function anonymous({ status, body }: Answer, asked: Things): unknown {
  const { step: _step, ...names } = asked; // too short: it stands in other numbers
  const nameless = Object.values(names).reduce((text, name) => text.replaceAll(name, "…"), body);
  const plain = status.includes(" ") ? (JSON.parse(nameless) as Record<string, unknown>) : nameless;
  return { status, body: plain };
}

/** A run of the plan `greet`, to its end. */
async function aRun(): Promise<string> {
  const headers = { "content-type": "application/json", authorization: `Bearer ${team.admin}` };
  const begun = (await (
    await fetch(`${team.url}/v1/runs`, {
      method: "POST",
      headers,
      body: JSON.stringify({ plan: "greet" }),
    })
  ).json()) as { id: string };
  await (await fetch(`${team.url}/v1/runs/${begun.id}/events`, { headers })).text();
  return begun.id;
}
