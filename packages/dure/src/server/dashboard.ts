import { existsSync } from "node:fs";
import { readdir, stat } from "node:fs/promises";
import { join, sep } from "node:path";
import fastifyStatic from "@fastify/static";
import type { FastifyPluginAsync, FastifyReply, FastifyRequest } from "fastify";
import { DureError } from "../kernel/errors.ts";
import { decideDocument, type Visitor } from "./page-document.ts";
import type { ServerParts } from "./server.ts";

/** Paths that belong to the API: never answered with a page. */
const API = /^\/(v1|healthz|readyz|metrics|openapi\.json)(\/|$)/;

/**
 * The dashboard's files; an address of one of its pages gives the document of that page, or
 * `index.html`, which finds the page itself.
 */
export const dashboardRoutes: FastifyPluginAsync<ServerParts> = async (app, parts) => {
  const { dashboardFolder } = parts;
  if (dashboardFolder === undefined) return;

  if (!existsSync(join(dashboardFolder, "index.html"))) {
    throw new DureError("DASHBOARD_MISSING", `${dashboardFolder} holds no index.html.`, {
      class: "input",
      hint: "Build the dashboard: npm run build -w packages/dashboard.",
    });
  }

  await app.register(fastifyStatic, {
    root: dashboardFolder,
    serve: false,
    cacheControl: false,
    preCompressed: true, // the build puts `.br` beside the assets
    setHeaders: (reply, path) => void reply.header("cache-control", cacheControlOf(path)),
  });

  const documents = new Set(await readdir(join(dashboardFolder, "pages")).catch(() => []));
  app.get("/*", { schema: { hide: true }, config: { scope: "public" } }, async (request, reply) => {
    const path = decodeURIComponent((request.raw.url ?? "/").split("?", 1)[0]!);
    if (!API.test(path) && (await isFile(dashboardFolder, path))) {
      return reply.sendFile(path.slice(1));
    }
    if (!API.test(path) && wantsPage(path, request.headers.accept)) {
      return sendDocument({ parts, documents, path }, request, reply);
    }

    return reply.callNotFound();
  });
};

/** The words of a document depend on who asks, and on the languages of the browser. */
async function sendDocument(
  at: { parts: ServerParts; documents: ReadonlySet<string>; path: string },
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<FastifyReply> {
  const visitor = await visitorOf(at.parts, request);
  const languages = request.headers["accept-language"];
  const { documents, path } = at;

  void reply.header("vary", "accept-language, cookie");
  return reply.sendFile(decideDocument({ documents, path, languages, visitor }));
}

/** A token in a header is not tried here: a browser that goes to an address sends none. */
async function visitorOf({ doors }: ServerParts, request: FastifyRequest): Promise<Visitor> {
  if (request.headers.authorization !== undefined) return "stranger";
  try {
    const { principal } = await doors.identify(request);
    if (principal === null) return "stranger";
    return principal.person === undefined ? "nameless" : "named";
  } catch {
    return "stranger"; // the page asks who it is for, and tells why it is not known
  }
}

/** Vite names assets by their content: they never change. All else is asked for again. */
function cacheControlOf(path: string): string {
  return path.includes(`${sep}assets${sep}`) ? "public, max-age=31536000, immutable" : "no-cache";
}

/** Whether the folder holds this file; hidden files and what lies outside do not count. */
async function isFile(folder: string, path: string): Promise<boolean> {
  if (path.split(/[/\\]/).some((part) => part.startsWith("."))) return false;
  try {
    return (await stat(join(folder, path))).isFile();
  } catch {
    return false; // not there, or no name of a file at all
  }
}

/** A browser that goes to an address, not a script that fetches a file. */
function wantsPage(path: string, accept = ""): boolean {
  return path === "/" || (accept.includes("text/html") && !path.startsWith("/assets/"));
}
