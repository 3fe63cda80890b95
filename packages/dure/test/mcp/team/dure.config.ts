import { createRequire } from "node:module";
import { chatAgent, defineService, flow, offlineModel, type ModelRequest } from "dure";
import { defineTeam } from "dure/team";

/** Which server it is, and where that notes its calls: see `mcp/test-hostile-server.ts`. */
const { MCP_SERVER = "", MCP_MANNER = "", MCP_NOTES = "", MCP_GRAPH = "" } = process.env;
const MEMORY = createRequire(import.meta.url).resolve(
  "@modelcontextprotocol/server-memory/dist/index.js",
);

/** Calls the tool that the person names, once, and says what came of it. JSON behind it is its input. */
const clerk = offlineModel("clerk", (request) => {
  const { text, result } = said(request);
  if (result !== undefined) return JSON.stringify(result);
  const [name = "", ...rest] = text.split(" ");
  const args = rest.length > 0 ? (JSON.parse(rest.join(" ")) as object) : { text: "hello" };
  return { toolCalls: [{ name, args: args as never }] };
});

function said({ messages }: ModelRequest): { text: string; result: unknown } {
  const last = messages.findLastIndex(({ role }) => role === "user");
  const message = messages[last];
  const answer = messages.slice(last + 1).find(({ role }) => role === "tool");
  return {
    text: message?.role === "user" ? message.text : "",
    result: answer?.role === "tool" ? answer.result : undefined,
  };
}

const office = defineService({
  name: "office",
  agents: {
    clerk: chatAgent({
      name: "clerk",
      prompt: "You keep the files.",
      card: { llm: "offline:clerk", mcp: ["odd"] },
    }),
  },
  flows: {
    DEFAULT: flow(async (turn) => {
      const { text } = await turn.agent("clerk", "…");
      return turn.done({ message: text });
    }),
  },
});

/** Has a server of its own, from the registry, which no other service can use. */
const archive = defineService({
  name: "archive",
  agents: {
    keeper: chatAgent({
      name: "keeper",
      prompt: "You keep the graph.",
      card: { llm: "offline:clerk", mcp: ["odd/echo", "graph"] },
    }),
  },
  mcp: {
    graph: {
      command: process.execPath,
      args: [MEMORY],
      env: { MEMORY_FILE_PATH: MCP_GRAPH },
      timeout: "30s",
    },
  },
  flows: {
    DEFAULT: flow(async (turn) => {
      const { text } = await turn.agent("keeper", "…");
      return turn.done({ message: text });
    }),
  },
});

export default defineTeam({
  name: "office",
  locale: "en",
  model: "offline:echo",
  offlineModels: [clerk],
  services: { office, archive },
  agents: {
    mina: { displayName: "Mina" },
    jun: { displayName: "Jun" },
    desk: { service: "office" },
  },
  mcp: {
    odd: {
      command: process.execPath,
      args: [MCP_SERVER, MCP_MANNER, MCP_NOTES],
      approval: ["approved_*"],
    },
  },
});
