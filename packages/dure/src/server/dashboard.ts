import { existsSync } from "node:fs";
import { stat } from "node:fs/promises";
import { join, sep } from "node:path";
import fastifyStatic from "@fastify/static";
import type { FastifyPluginAsync } from "fastify";
import { DureError } from "../kernel/errors.ts";
import type { ServerParts } from "./server.ts";

/** Paths that belong to the API: never answered with a page. */
const API = /^\/(v1|healthz|readyz|metrics|openapi\.json)(\/|$)/;

/**
 * The dashboard's files; an address of one of its pages gives `index.html`, which finds the page
 * itself.
 */
export const dashboardRoutes: FastifyPluginAsync<ServerParts> = async (
  app,
  { dashboardFolder },
) => {
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
    setHeaders: (reply, path) => void reply.header("cache-control", cacheControlOf(path)),
  });

  app.get("/*", { schema: { hide: true }, config: { scope: "public" } }, async (request, reply) => {
    const path = decodeURIComponent((request.raw.url ?? "/").split("?", 1)[0]!);
    if (!API.test(path) && (await isFile(dashboardFolder, path))) {
      return reply.sendFile(path.slice(1));
    }
    if (!API.test(path) && wantsPage(path, request.headers.accept)) {
      return reply.sendFile("index.html");
    }

    return reply.callNotFound();
  });
};

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
