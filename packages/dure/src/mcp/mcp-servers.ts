import type { Tool as Definition } from "@modelcontextprotocol/client";
import type { ToolSet } from "../engine/agent/tool-set.ts";
import type { AnyTool } from "../engine/agent/tool.ts";
import { withTimeout } from "../kernel/clock.ts";
import { DureError } from "../kernel/errors.ts";
import { McpConnection, type McpState } from "./connection.ts";
import { chooseTools, faultKey, nextStepOf, type LeftOutTool } from "./choose-tools.ts";
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
  readonly leftOut: readonly LeftOutTool[];
}

/** Tools of a server that cards name. */
export interface McpToolSet extends ToolSet {
  /** Those that no agent gets, with the reason and the next step. */
  leftOut(): readonly (LeftOutTool & { readonly next: string })[];
}

interface OneServer {
  readonly connection: McpConnection;
  /** By the server's own names. */
  tools: ReadonlyMap<string, AnyTool>;
  leftOut: readonly LeftOutTool[];
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
  setOf(reference: string): McpToolSet {
    const slash = reference.indexOf("/");
    const name = slash < 0 ? reference : reference.slice(0, slash);
    const pattern = slash < 0 ? "*" : reference.slice(slash + 1);
    const server = this.#servers.get(name);
    if (!server) throw this.#unknown(name);

    let from: OneServer["tools"] | undefined;
    let chosen: Readonly<Record<string, AnyTool>> = {};
    const set: McpToolSet = {
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
      leftOut: () =>
        server.leftOut
          .filter((one) => one.count !== undefined || fits(one.name, pattern))
          .map((one) => ({
            ...one,
            next: nextStepOf(`${this.#options.prefix ?? ""}${name}`, one),
          })),
    };
    return set;
  }

  shown(): readonly ShownServer[] {
    return [...this.#servers].map(([name, { connection, tools, leftOut }]) => ({
      name,
      state: connection.state,
      tools: [...tools].map(([tool, { effect }]) => ({ name: tool, effect })),
      leftOut,
    }));
  }

  #open(name: string, spec: McpServerSpec): OneServer {
    const connection = new McpConnection({
      ...this.#options,
      name,
      spec,
      onTools: (definitions) => {
        const read = this.#readList(name, spec, definitions);
        this.#warn(name, server.leftOut, read.leftOut);
        Object.assign(server, read);
      },
    });
    const server: OneServer = { connection, tools: new Map(), leftOut: [] };
    return server;
  }

  #readList(name: string, spec: McpServerSpec, definitions: readonly Definition[]): OneServer {
    const { connection } = this.#servers.get(name)!;
    const listed = chooseTools(name, definitions, spec.tools ?? ["*"]);
    const call: Parameters<typeof toolOfServer>[3] = (...given) => connection.call(...given);
    const tools = new Map(this.#offered(name, spec));
    for (const one of listed.tools) tools.set(one.name, toolOfServer(name, one, spec, call));

    return { connection, tools, leftOut: listed.leftOut };
  }

  /** One line for each tool whose fault is new, whatever is listed again. */
  #warn(server: string, before: readonly LeftOutTool[], now: readonly LeftOutTool[]): void {
    const { logger, prefix = "" } = this.#options;
    const known = new Set(before.map(faultKey));
    for (const one of now.filter((other) => !known.has(faultKey(other)))) {
      logger.warn(
        { mcp: server, tool: one.name },
        `${server}: ${one.name} is not offered: ${one.because}. ${nextStepOf(`${prefix}${server}`, one)}`,
      );
    }
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
