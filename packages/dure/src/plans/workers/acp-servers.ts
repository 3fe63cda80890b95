import type { McpCapabilities, McpServer as AcpServer } from "@agentclientprotocol/sdk";
import type { McpServer } from "../plan.ts";
import { workerError } from "./worker-error.ts";

/**
 * The servers as the protocol tells them to an agent. Throws `WORKER_PROTOCOL` for one that the
 * agent says it cannot reach. Pure.
 */
export function acpServers(
  servers: readonly McpServer[],
  can: McpCapabilities | undefined,
): AcpServer[] {
  return servers.map((server): AcpServer => {
    const { name } = server;
    if ("command" in server) {
      const [command = "", ...args] = server.command;

      return { name, command, args, env: pairs(server.env) };
    }
    const { transport: type, url, headers } = server;
    if (can?.[type] === true) return { type, name, url, headers: pairs(headers) };
    throw workerError(
      "WORKER_PROTOCOL",
      `The agent reaches no MCP servers over ${type}: ${name}.`,
      {
        hint: "Give it a program that reaches the server for it, or take another agent.",
      },
    );
  });
}

function pairs(texts: Readonly<Record<string, string>> = {}): { name: string; value: string }[] {
  return Object.entries(texts).map(([name, value]) => ({ name, value }));
}
