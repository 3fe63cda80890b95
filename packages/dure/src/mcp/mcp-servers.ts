import type { Tool as Definition } from "@modelcontextprotocol/client";
import type { ToolSet } from "../engine/agent/tool-set.ts";
import type { AnyTool } from "../engine/agent/tool.ts";
import { withTimeout } from "../kernel/clock.ts";
import { DureError } from "../kernel/errors.ts";
import { McpConnection, type McpState } from "./connection.ts";
import { DEFAULT_TIMEOUT_MS, modelNameOf, toolOfServer, toolThatIsNotThere } from "./mcp-tool.ts";
import { offerTools } from "./offer-tools.ts";
import type { Surroundings } from "./open-transport.ts";
import { fits, fitsAny, type McpServerSpec } from "./server-spec.ts";
import { endStrays } from "./strays.ts";

export interface McpServersOptions extends Surroundings {
  /** By the name that cards use. */
  readonly servers: Readonly<Record<string, McpServerSpec>>;
  readonly version: string;
}

/** One server as people are shown it. */
export interface ShownServer {
  readonly name: string;
  readonly state: McpState;
  readonly tools: readonly { readonly name: string; readonly effect: string }[];
}

interface OneServer {
  readonly connection: McpConnection;
  /** By the server's own names. */
  tools: ReadonlyMap<string, AnyTool>;
}

/** The MCP servers of a team and the tools that they have now. */
export class McpServers {
  readonly #options: McpServersOptions;
  readonly #servers: ReadonlyMap<string, OneServer>;

  constructor(options: McpServersOptions) {
    this.#options = options;
    this.#servers = new Map(
      Object.entries(options.servers).map(([name, spec]) => [name, this.#open(name, spec)]),
    );
  }

  /** Servers that a killed process has left are ended first. */
  start(): void {
    if (this.#servers.size === 0) return;
    const strays = endStrays();
    if (strays > 0) {
      this.#options.logger.warn({ strays }, `${strays} processes of MCP servers were left; ended`);
    }
    for (const { connection } of this.#servers.values()) connection.start();
  }

  /** Resolves when each server was connected or has failed once, at the latest after `withinMs`. */
  async tried({ withinMs }: { withinMs: number }): Promise<void> {
    const all = Promise.all([...this.#servers.values()].map(({ connection }) => connection.tried));
    const late = (): Error => new Error("late");
    await withTimeout(this.#options.clock, withinMs, late, async () => all).catch(() => {});
  }

  async stop(): Promise<void> {
    await Promise.all([...this.#servers.values()].map(({ connection }) => connection.stop()));
  }

  /** Whether a name in a card is one of these servers, or some of its tools. */
  has(reference: string): boolean {
    return this.#servers.has(reference.split("/")[0]!);
  }

  /**
   * Tools by a name in a card: `files`, or `files/read_*`. They come and go with the server. Throws
   * `MCP_SERVER_UNKNOWN`.
   */
  setOf(reference: string): ToolSet {
    const slash = reference.indexOf("/");
    const name = slash < 0 ? reference : reference.slice(0, slash);
    const pattern = slash < 0 ? "*" : reference.slice(slash + 1);
    const server = this.#servers.get(name);
    if (!server) throw this.#unknown(name);

    let from: OneServer["tools"] | undefined;
    let chosen: Readonly<Record<string, AnyTool>> = {};
    const set: ToolSet = {
      name: reference,
      tools: () => {
        if (from === server.tools) return chosen;
        from = server.tools;
        const fitting = [...from].filter(([tool]) => fits(tool, pattern));
        chosen = Object.fromEntries(fitting.map(([tool, one]) => [modelNameOf(name, tool), one]));
        return chosen;
      },
      find: (called) => {
        if (!called.startsWith(modelNameOf(name, ""))) return undefined;
        return set.tools()[called] ?? toolThatIsNotThere(name, called);
      },
    };
    return set;
  }

  shown(): readonly ShownServer[] {
    return [...this.#servers].map(([name, { connection, tools }]) => ({
      name,
      state: connection.state,
      tools: [...tools].map(([tool, { effect }]) => ({ name: tool, effect })),
    }));
  }

  #open(name: string, spec: McpServerSpec): OneServer {
    const connection = new McpConnection({
      ...this.#options,
      name,
      spec,
      onTools: (definitions) => {
        server.tools = this.#toolsOf(name, spec, definitions);
      },
    });
    const server: OneServer = { connection, tools: new Map() };
    return server;
  }

  #toolsOf(
    server: string,
    spec: McpServerSpec,
    definitions: readonly Definition[],
  ): OneServer["tools"] {
    const { connection } = this.#servers.get(server)!;
    const tools = new Map(this.#offered(server, spec));
    const call: Parameters<typeof toolOfServer>[3] = (...given) => connection.call(...given);
    for (const definition of definitions) {
      const { name } = definition;
      if (!fitsAny(name, spec.tools ?? ["*"])) continue;
      const made = toolOfServer(server, definition, spec, call);
      if (!("refused" in made)) tools.set(name, made);
      else {
        const { logger } = this.#options;
        logger.warn({ mcp: server, tool: name }, `${server}: ${name} is no tool: ${made.refused}`);
      }
    }
    return tools;
  }

  /** A tool of the server that has such a name itself goes before it. */
  #offered(server: string, spec: McpServerSpec): readonly [string, AnyTool][] {
    const { connection } = this.#servers.get(server)!;
    const tools = offerTools(server, connection.offers, {
      ask: (what, work, options) => connection.ask(what, work, options),
      timeoutMs: spec.timeoutMs ?? DEFAULT_TIMEOUT_MS,
    });

    return [...tools].filter(([name]) => fitsAny(name, spec.tools ?? ["*"]));
  }

  #unknown(name: string): DureError {
    const names = [...this.#servers.keys()].join(", ") || "none";
    return new DureError("MCP_SERVER_UNKNOWN", `There is no MCP server "${name}".`, {
      class: "input",
      hint: `Servers of this team are: ${names}. They stand under \`mcp\` of its configuration.`,
    });
  }
}
