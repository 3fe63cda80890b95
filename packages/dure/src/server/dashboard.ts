import { existsSync } from "node:fs";
import { readdir, stat } from "node:fs/promises";
import { join, sep } from "node:path";
import fastifyStatic from "@fastify/static";
import type { FastifyPluginAsync, FastifyReply, FastifyRequest } from "fastify";
import { DureError } from "../kernel/errors.ts";
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

// --- page document

/** Who looks at a page: not let in, let in without a name of their own, or known by name. */
type Visitor = "stranger" | "nameless" | "named";

export interface DocumentFacts {
  /** Names of the files in the folder `pages` of the dashboard. */
  readonly documents: ReadonlySet<string>;
  readonly path: string;
  /** The header `Accept-Language`. */
  readonly languages: string | undefined;
  readonly visitor: Visitor;
}

/** The frame alone, for what has no first words that are known before anything is read. */
const FRAME = "frame";

/**
 * The document of an address. That of a page holds the frame and the page's first words;
 * `index.html` holds neither, for those who will be asked to log in. Pure.
 */
export function decideDocument({ documents, path, languages, visitor }: DocumentFacts): string {
  if (visitor === "stranger") return "index.html";

  const language = languageOf(languages);
  const pages = [pageOf(path, visitor), FRAME].map((page) => `${page}.${language}.html`);
  const document = pages.find((name) => documents.has(name));

  return document === undefined ? "index.html" : `pages/${document}`;
}

/** As `first-paint.js` of the dashboard names the parts of a page, where those words are known. */
function pageOf(path: string, visitor: Visitor): string {
  const [, first = "", second = ""] = path.split("/");
  if (first === "plans" && second === "runs") return "run";
  if (first === "plans" && second === "start") return "before";
  if (first === "agents" && second !== "") return "agent";
  if (first === "chat" && second !== "") return FRAME; // it begins with what was said
  if (first === "rooms" && visitor === "named") return FRAME; // it asks for no name
  return first === "" ? "start" : first;
}

/** The browser's first language that the pages speak, else English. */
function languageOf(header = ""): string {
  const spoken = header.split(",").map((tag) => tag.trim().split(/[-;]/, 1)[0]!.toLowerCase());
  return spoken.find((tag) => tag === "ko" || tag === "en") ?? "en";
}
