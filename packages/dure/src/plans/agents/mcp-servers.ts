import { DureError } from "../../kernel/errors.ts";
import type { McpServer, WorkerSpec } from "../plan.ts";
import { withoutTables } from "./home-settings.ts";

/** Stands in a value for a variable of dure's own environment. */
const VARIABLE = /\$\{([A-Za-z_]\w*)\}/g;

/** What a server is given by name, before variables are filled in. */
function textsOf(server: McpServer): Readonly<Record<string, string>> {
  return ("command" in server ? server.env : server.headers) ?? {};
}

/** Variables of dure's environment that the servers of a worker get. Pure. */
export function variablesOfServers({ mcpServers = [] }: WorkerSpec): readonly string[] {
  return variablesIn(mcpServers.flatMap((server) => Object.values(textsOf(server))));
}

/** Names that stand as `${NAME}` in these texts. Pure. */
export function variablesIn(texts: readonly string[]): readonly string[] {
  return texts.flatMap((text) => [...text.matchAll(VARIABLE)].map(([, name]) => name!));
}

/** Where a worker's servers are reached over the network. Pure. */
export function addressesOfServers({ mcpServers = [] }: WorkerSpec): readonly string[] {
  return mcpServers.flatMap((server) => ("url" in server ? [server.url] : []));
}

/**
 * The servers with their variables filled in. Throws `MCP_ENVIRONMENT_MISSING` with the names that
 * have no value. Pure.
 */
export function filledServers(
  servers: readonly McpServer[],
  env: Readonly<Record<string, string | undefined>>,
): readonly McpServer[] {
  const missing = new Set<string>();
  const filled = (texts: Readonly<Record<string, string>> = {}): Record<string, string> =>
    Object.fromEntries(
      Object.entries(texts).map(([key, text]) => [
        key,
        text.replaceAll(VARIABLE, (whole, name: string) => {
          if (env[name] === undefined) missing.add(name);
          return env[name] ?? whole;
        }),
      ]),
    );
  const all = servers.map((server): McpServer =>
    "command" in server
      ? { ...server, env: filled(server.env) }
      : { ...server, headers: filled(server.headers) },
  );
  if (missing.size === 0) return all;
  throw new DureError(
    "MCP_ENVIRONMENT_MISSING",
    `The environment lacks ${[...missing].join(", ")}, which an MCP server of the plan is given.`,
    { class: "input", hint: "Set it where dure runs, or take ${…} out of the worker's mcp." },
  );
}

// --- agents that are started as programs

/** Where Claude Code reads its servers, below its home. */
export const CLAUDE_SERVERS = ".claude/dure-mcp.json";
/** Where Codex reads its settings, below its home. */
export const CODEX_SETTINGS_FILE = ".codex/config.toml";
/** Stands in an argument for the home of the member. */
export const HOME_PLACEHOLDER = "{member_home}";

/** What Claude Code is started with besides, so that it uses these servers and no others. */
export const CLAUDE_SERVER_ARGS = [
  "--mcp-config",
  `${HOME_PLACEHOLDER}/${CLAUDE_SERVERS}`,
  "--strict-mcp-config",
];

/** The servers as Claude Code reads them. Pure. */
export function claudeServers(servers: readonly McpServer[]): string {
  const entries = servers.map((server) => {
    const { name } = server;
    if ("url" in server) {
      return [name, { type: server.transport, url: server.url, headers: server.headers ?? {} }];
    }
    const [command, ...args] = server.command;

    return [name, { type: "stdio", command, args, env: server.env ?? {} }];
  });

  return `${JSON.stringify({ mcpServers: Object.fromEntries(entries) as unknown }, null, 2)}\n`;
}

/** A person's settings of Codex with these servers behind them. Pure. */
export function codexSettings(own: string, servers: readonly McpServer[]): string {
  const tables = servers.map((server) => {
    const lines =
      "url" in server
        ? [`url = ${quoted(server.url)}`, `http_headers = ${inline(server.headers)}`]
        : [
            `command = ${quoted(server.command[0]!)}`,
            `args = [${server.command.slice(1).map(quoted).join(", ")}]`,
            `env = ${inline(server.env)}`,
          ];
    return [`[mcp_servers.${quoted(server.name)}]`, ...lines].join("\n");
  });
  // Servers of the person are programs of the person.
  const parts = [withoutTables(own, ["mcp_servers"]).trim(), ...tables];

  return `${parts.filter((part) => part !== "").join("\n\n")}\n`;
}

/** A text in TOML, which reads the escapes of JSON. Pure. */
function quoted(text: string): string {
  return JSON.stringify(text).replaceAll("\x7f", "\\u007f");
}

function inline(texts: Readonly<Record<string, string>> = {}): string {
  const pairs = Object.entries(texts).map(([key, text]) => `${quoted(key)} = ${quoted(text)}`);

  return pairs.length === 0 ? "{}" : `{ ${pairs.join(", ")} }`;
}
