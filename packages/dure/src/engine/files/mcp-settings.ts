import { z } from "zod";
import { approversBy } from "../../models/card.ts";
import { duration, oneOf, settings, text } from "./load-service-schema.ts";

/** It stands in the names that models call: `files__read_file`. */
const mcpName = z
  .string({ error: "must be 1 to 32 Latin letters, digits, _ or -" })
  .regex(/^[A-Za-z0-9_-]{1,32}$/, { error: "must be 1 to 32 Latin letters, digits, _ or -" });

const pattern = text.max(100, { error: "must be a name of at most 100 characters" });
const patterns = (what: string) =>
  z.array(pattern, { error: `must be a list of ${what}, such as ["read_*"]` }).max(100);
const texts = z.record(z.string(), z.string({ error: "must be a text" }), {
  error: "must be texts by name",
});

const mcpServer = settings({
  /** A program that speaks MCP over its standard input and output. */
  command: text.optional(),
  args: z.array(z.string(), { error: "must be a list of texts" }).max(100).optional(),
  /** Beside PATH, HOME and the like; `${NAME}` is a value of dure's own environment. */
  env: texts.optional(),
  /** Relative to the configuration. Default: its folder. */
  cwd: text.optional(),
  /** Instead of `command`: the address of a server that speaks streamable HTTP. */
  url: z
    .url({
      protocol: /^https?$/,
      error: "must be an address that begins with http:// or https://",
    })
    .optional(),
  headers: texts.optional(),
  /** OAuth 2 with client credentials. */
  oauth: settings({
    issuer: z.url({ error: "must be the address of an authorization server" }),
    clientId: text,
    clientSecret: text,
    scope: text.optional(),
  }).optional(),
  /** A person logs in, by `dure mcp login`: OAuth 2.1 with authorization code. */
  login: settings({
    /** The only authorization server that is taken. Default: the one that the server names. */
    issuer: z.url({ error: "must be the address of an authorization server" }).optional(),
    /** Default: dure registers itself. */
    clientId: text.optional(),
    /** Names the client at servers that take a document for it: `dure mcp document`. */
    clientDocument: z
      .url({ protocol: /^https$/, error: "must be an address that begins with https://" })
      .optional(),
    clientSecret: text.optional(),
    scope: text.optional(),
  }).optional(),
  /** The tools that agents may see. Default: all. */
  tools: patterns("names of tools").optional(),
  /** What tools do to the outside, by name; the first that fits counts. */
  effects: z.record(pattern, oneOf(["none", "idempotent", "once"])).optional(),
  /** The tools of which each call needs a person's yes, and whose. */
  approval: approversBy(pattern, 100).optional(),
  /** Answers a server that asks in the middle of a call. Default: it is told that it cannot ask. */
  questions: oneOf(["defaults"]).optional(),
  /** How long one call may take. Default 60 s. */
  timeout: duration("1s", "1h").optional(),
});

/** MCP servers by the name that cards use: of a team, or of one service. */
export const mcpServers = z.record(mcpName, mcpServer);
export type McpServersInput = z.input<typeof mcpServers>;
export type McpServersSettings = z.output<typeof mcpServers>;

/** What does not fit together in the settings of one server. */
export interface McpProblem {
  /** Below the server's name. */
  readonly path: readonly string[];
  readonly wrong: string;
  readonly allowed: string;
}

/** A server is a program or an address. Pure. */
export function mcpProblems(server: McpServersSettings[string]): readonly McpProblem[] {
  const isLocal = server.command !== undefined;
  if (isLocal === (server.url !== undefined)) {
    const allowed = "command (a program) or url (an address), one of them";
    const wrong = isLocal ? "has a command and a url" : "has no command and no url";
    return [{ path: [], wrong, allowed }];
  }
  const foreign = isLocal
    ? (["headers", "oauth", "login"] as const)
    : (["args", "env", "cwd"] as const);
  const allowed = `only with ${isLocal ? "url" : "command"}`;

  const misplaced = foreign
    .filter((key) => server[key] !== undefined)
    .map((key) => ({ path: [key], wrong: "does not fit this kind of server", allowed }));

  return misplaced.length > 0 ? misplaced : loginProblems(server);
}

/** Hosts whose traffic leaves no machine. */
const LOOPBACK: ReadonlySet<string> = new Set(["localhost", "127.0.0.1", "[::1]"]);

/** A person's token goes to one place, and cannot be read on the way. */
function loginProblems({ login, oauth, url }: McpServersSettings[string]): readonly McpProblem[] {
  if (login === undefined || url === undefined) return [];
  if (oauth !== undefined) {
    const wrong = "has login and oauth";
    return [{ path: ["login"], wrong, allowed: "login (a person) or oauth (dure), one of them" }];
  }
  const { protocol, hostname } = new URL(url);
  if (protocol === "https:" || LOOPBACK.has(hostname)) return [];

  return [{ path: ["url"], wrong: "is not https", allowed: "https:// where a person logs in" }];
}
