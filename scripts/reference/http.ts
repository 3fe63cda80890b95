/**
 * The reference of HTTP, made from the OpenAPI document of a server that has every route. No route
 * is called, so the parts behind them are stand-ins.
 */

import { createServer, type ServerOptions } from "../../packages/dure/src/server/server.ts";
import { protocolsOf } from "../../packages/dure/src/team/serving.ts";
import { membersTable, typeOf, type JsonSchema } from "./events.ts";
import { codeOf, MADE, plain, tableOf } from "./markdown.ts";

/** What is read of an OpenAPI document. */
interface Document {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
}

interface Operation {
  readonly summary?: string;
  readonly description?: string;
  readonly parameters?: readonly Parameter[];
  readonly requestBody?: { readonly content: Readonly<Record<string, Content>> };
  readonly responses: Readonly<Record<string, { readonly content?: Record<string, Content> }>>;
}

interface Content {
  readonly schema?: JsonSchema;
}

interface Parameter {
  readonly name: string;
  readonly in: string;
  readonly required?: boolean;
  readonly schema?: JsonSchema;
  readonly description?: string;
}

/** Doors that speak a protocol of their own, and where they are described. */
const OTHER_DOORS = tableOf(
  ["door", "described in"],
  [
    ["`POST /v1/hooks/{name}`", doorOf("signed webhooks", 4, "from-a-system-that-sends-webhooks")],
    ["`/mcp`", doorOf("MCP", 2, "from-an-mcp-client")],
    [
      "`/openai/v1`",
      doorOf("OpenAI's chat completions and responses", 3, "from-a-client-of-openai"),
    ],
    ["`/ai-sdk`", doorOf("the AI SDK's `useChat`", 5, "from-a-page-with-usechat")],
    ["`/a2a`", doorOf("A2A", 7, "from-an-agent-that-speaks-a2a")],
    ["`/ag-ui`", doorOf("AG-UI", 9, "from-a-front-end-that-speaks-ag-ui")],
  ],
);

/** @param section of the specification */
function doorOf(protocol: string, section: number, guide: string): string {
  return (
    `${protocol}: [guide](../guides/protocols.md#${guide}), ` +
    `[interop §${section}](../spec/interop.md)`
  );
}

/** The page `http.md`. */
export async function httpPage(): Promise<string> {
  const { document, scopes } = await readRoutes();
  const routes = Object.entries(document.paths).flatMap(([path, operations]) =>
    Object.entries(operations)
      .filter(([method]) => method !== "head")
      .map(([method, operation]) => ({
        name: `${method.toUpperCase()} ${path}`,
        operation,
      })),
  );
  const sections = routes
    .toSorted((a, b) => addressOf(a.name).localeCompare(addressOf(b.name), "en"))
    .flatMap(({ name, operation }) => sectionOf(name, operation, scopes.get(name)));

  return `${[
    "# HTTP",
    MADE,
    "A running server has the same as OpenAPI 3.1 at `/openapi.json`. A refusal is a problem with a " +
      "[code](errors.md). A scope of `public` needs no token; the others are those of " +
      "[platform §6](../spec/platform.md).",
    "The same port has other doors, which this page does not list by route:",
    OTHER_DOORS,
    ...sections,
  ].join("\n\n")}\n`;
}

/** Routes in the order of their paths. Pure. */
function addressOf(name: string): string {
  const [method, path] = name.split(" ");
  return `${path} ${method}`;
}

function sectionOf(name: string, operation: Operation, scope = "admin"): readonly string[] {
  const { summary, description, parameters = [], requestBody, responses } = operation;
  const about = [summary, description].filter((text) => text !== undefined).map(plain);
  const given = parameters.map((one) => [
    codeOf(one.required === true ? one.name : `${one.name}?`),
    one.in,
    codeOf(typeOf(one.schema ?? {})),
    plain(one.description ?? one.schema?.description ?? ""),
  ]);
  const body = Object.values(requestBody?.content ?? {})[0]?.schema;

  return [
    `## ${name}`,
    [...about.map(closed), `Scope: ${codeOf(scope)}.`].join(" "),
    ...(given.length > 0 ? [tableOf(["parameter", "in", "is", ""], given)] : []),
    ...(body === undefined ? [] : ["Body:", bodyOf(body)]),
    `Answers: ${Object.entries(responses).map(answerOf).join(", ")}.`,
  ];
}

function bodyOf(schema: JsonSchema): string {
  return schema.properties === undefined ? codeOf(typeOf(schema)) : membersTable(schema);
}

/** `200 with { ok: boolean }`; of a problem the status alone. */
function answerOf([status, { content = {} }]: [string, { content?: Record<string, Content> }]) {
  if (Number(status) >= 400) return status;
  const told = Object.entries(content).map(([type, { schema }]) =>
    type === "application/json" ? codeOf(typeOf(schema ?? {})) : codeOf(type),
  );
  return told.length === 0 ? status : `${status} with ${told.join(" or ")}`;
}

function closed(text: string): string {
  return /[.?!]$/.test(text) ? text : `${text}.`;
}

/** The document, and the scope of each route. */
async function readRoutes(): Promise<{ document: Document; scopes: Map<string, string> }> {
  const app = createServer({
    ...(standIn() as ServerOptions),
    devMode: false,
    version: "0",
    locale: "en",
    protocols: protocolsOf(standIn() as Parameters<typeof protocolsOf>[0]),
  });
  const scopes = new Map<string, string>();
  app.addHook("onRoute", ({ method, url, config }) => {
    const path = url.replaceAll(/:(\w+)/g, "{$1}");
    for (const one of [method].flat()) scopes.set(`${one} ${path}`, config?.scope ?? "admin");
  });
  await app.ready();
  try {
    return { document: app.swagger() as unknown as Document, scopes };
  } finally {
    await app.close();
  }
}

/** Every part of a team, none of which does anything. */
function standIn(): unknown {
  const part: unknown = new Proxy(() => part, {
    get: (_target, name) => (name === "then" || typeof name === "symbol" ? undefined : part),
  });
  const names = ["conversations", "events", "inbox", "rooms", "jobs", "plans", "reload", "agents"];
  const others = ["costs", "audit", "health", "metrics", "auth", "logger", "clock", "knowledge"];
  const rest = ["database", "signCard", "hooks", "schedules", "agentEdits", "traces", "replays"];
  return Object.fromEntries([...names, ...others, ...rest].map((name) => [name, part]));
}
