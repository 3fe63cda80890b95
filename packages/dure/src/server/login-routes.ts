import type { FastifyRequest } from "fastify";
import type { FastifyPluginAsyncZod } from "fastify-type-provider-zod";
import type { z } from "zod";
import { DureError } from "../kernel/errors.ts";
import { onWire } from "../kernel/wire.ts";
import { LoginBody, LoginLinkAnswer, LoginParams, LoginsAnswer } from "../wire/login.ts";
import { NOTHING } from "../wire/shared.ts";
import { hasScope, type Principal } from "./access.ts";
import { cookieFor, siteOf, type Doors } from "./doors.ts";
import { readLoginCookie } from "./login-cookie.ts";
import type { KnownLogin } from "./logins.ts";
import { problems } from "./schemas.ts";
import type { RouteApp, ServerParts } from "./server.ts";
import type { LivingToken } from "./token-store.ts";

const tags = ["access"];

/**
 * Logging in and out with a browser, and the list of those that are logged in. Source:
 * docs/spec/platform §6.
 */
export const loginRoutes: FastifyPluginAsyncZod<ServerParts> = async (app, parts) => {
  logIn(app, parts);
  logOut(app, parts);
  makeLink(app, parts);
  listLogins(app, parts);
  endLogin(app, parts);
};

function logIn(app: RouteApp, { doors, audit }: ServerParts): void {
  app.post(
    "/v1/login",
    {
      config: { scope: "public", audit: false },
      schema: {
        tags,
        summary: "Exchange a token, or a link that holds once, for an HttpOnly cookie",
        body: LoginBody,
        response: { 204: NOTHING, ...problems(400, 401, 403, 429) },
      },
    },
    async (request, reply) => {
      const token = await provenBy(request.body, doors);
      const before = await loginOf(request, doors);
      const { id, cookie } = await doors.logins.begin(token, request.headers["user-agent"] ?? "");

      await audit?.note({
        tenant: token.record.tenant,
        name: token.record.id,
        what: "login",
        subject: id,
      });

      if (before) await doors.logins.end(before.id, {}); // never two in one browser

      return reply.code(204).header("set-cookie", cookieFor(request, cookie)).send(null);
    },
  );
}

function logOut(app: RouteApp, { doors, audit }: ServerParts): void {
  app.post(
    "/v1/logout",
    {
      config: { scope: "public", audit: false },
      schema: {
        tags,
        summary: "End the login of this browser",
        response: { 204: NOTHING, ...problems(403) },
      },
    },
    async (request, reply) => {
      // The cookie goes also when the store is away.
      const login = await loginOf(request, doors).catch(() => null);
      if (login && (await doors.logins.end(login.id, {}))) {
        await audit?.note({
          tenant: login.record.tenant,
          name: login.record.id,
          what: "logout",
          subject: login.id,
        });
      }

      return reply.code(204).header("set-cookie", cookieFor(request, "")).send(null);
    },
  );
}

function makeLink(app: RouteApp, { doors }: ServerParts): void {
  app.post(
    "/v1/login/links",
    {
      config: { scope: "known", audit: () => ({ what: "login.link", subject: "" }) },
      schema: {
        tags,
        summary:
          "A link that logs a browser in, once: as the token that asks, or as the user who runs the server",
        response: { 200: LoginLinkAnswer, ...problems(401, 403, 429) },
      },
    },
    async (request) => ({ path: await doors.makeLink(request.principal!) }),
  );
}

function listLogins(app: RouteApp, { doors }: ServerParts): void {
  app.get(
    "/v1/login/sessions",
    {
      config: { scope: "known" },
      schema: {
        tags,
        summary: "Browsers that are logged in: one's own, for an administrator all of the tenant",
        response: { 200: LoginsAnswer, ...problems(401, 403) },
      },
    },
    async (request) => {
      const items = await doors.logins.list(visibleTo(request.principal!));
      const { login } = request.principal!;
      return onWire<LoginsAnswer>({
        items: items.map((item) => ({ ...item, current: item.id === login })),
      });
    },
  );
}

function endLogin(app: RouteApp, { doors }: ServerParts): void {
  app.delete(
    "/v1/login/sessions/:id",
    {
      config: { scope: "known", audit: "login.end" },
      schema: {
        tags,
        summary: "End a login",
        params: LoginParams,
        response: { 204: NOTHING, ...problems(401, 403, 404) },
      },
    },
    async (request, reply) => {
      const isEnded = await doors.logins.end(request.params.id, visibleTo(request.principal!));
      if (!isEnded) {
        throw new DureError("LOGIN_UNKNOWN", `There is no login ${request.params.id}.`, {
          class: "not-found",
          hint: "GET /v1/login/sessions lists them.",
        });
      }

      return reply.code(204).send(null);
    },
  );
}

/** Own logins for everyone; an administrator sees those of its tenant, one without a tenant all. */
function visibleTo(principal: Principal): { tokenId?: string; tenant?: string } {
  const { tenant, name } = principal.caller;
  if (!hasScope(principal, "admin")) return { tokenId: name };
  return tenant === "" ? {} : { tenant };
}

/** The token that a login proves. Throws `LOGIN_LINK_INVALID`. */
async function provenBy(
  { token, once }: z.output<typeof LoginBody>,
  doors: Doors,
): Promise<LivingToken> {
  if (token !== undefined) return doors.tokenOf(token);

  const proven = await doors.logins.takeLink(once!);
  if (proven) return proven;

  throw new DureError("LOGIN_LINK_INVALID", "This link has been used, or its time is over.", {
    class: "unauthorized",
    hint: "`dure login` at the server's machine prints another one.",
  });
}

async function loginOf(request: FastifyRequest, doors: Doors): Promise<KnownLogin | null> {
  const cookie = readLoginCookie(request.headers.cookie, siteOf(request));
  return cookie === undefined ? null : doors.logins.verify(cookie);
}
