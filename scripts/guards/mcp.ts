import type { Guard } from "../mutate.ts";
import { testsIn } from "./tests-in.ts";

const SOUND = "packages/dure/src/mcp/sound-tools.ts";
const CHOOSE = "packages/dure/src/mcp/choose-tools.ts";
const SCHEMA = "packages/dure/src/models/tool-schema.ts";
const servers = testsIn("packages/dure/src/mcp/mcp-servers.test.ts");
const schemas = testsIn("packages/dure/src/models/tool-schema.test.ts");

/** Tools of MCP servers: what one of them may cost, and what reaches a provider. */
export const MCP_GUARDS: readonly Guard[] = [
  {
    id: "mcp.tool.alone",
    at: { file: SOUND },
    find: "if (!read.ok) return faulty(name, read.because);",
    replace: "if (!read.ok) return given as Definition;",
    tests: servers("a faulty tool is left out with its reason"),
    why: "one faulty tool hides all tools of its server",
  },
  {
    id: "mcp.tool.output",
    at: { file: SOUND },
    find: 'inputSchema: read.schema as Definition["inputSchema"],',
    replace:
      'inputSchema: read.schema as Definition["inputSchema"], outputSchema: (given as Definition).outputSchema!,',
    tests: servers("a result that does not fit the tool's outputSchema"),
    why: "a call that was made is told as one that was not, and made again",
  },
  {
    id: "mcp.tool.bound",
    at: { file: CHOOSE },
    find: "tools: tools.slice(0, MAX_TOOLS),",
    replace: "tools,",
    tests: servers("of 1,200 tools the first 1,000 are offered"),
    why: "a server sends the team's models as many tools as it likes",
  },
  {
    id: "mcp.tool.warned",
    at: { file: "packages/dure/src/mcp/mcp-servers.ts" },
    find: "now.filter((other) => !known.has(faultKey(other)))",
    replace: "[]",
    tests: servers("a tool that turns bad is left out with one warning"),
    why: "a tool goes without a word",
  },
  {
    id: "mcp.arguments",
    at: { file: "packages/dure/src/models/json-schema.ts" },
    find: "const fault = read?.success ? argumentsFault(schema, read.data as Json) : undefined;",
    replace: "const fault = undefined as string | undefined;",
    tests: servers("a faulty tool is left out with its reason"),
    why: "arguments leave that the server's own schema refuses",
  },
  {
    id: "tools.bound",
    at: { file: SCHEMA },
    find: ".slice(beyond)",
    replace: "",
    tests: schemas("is not sent to OpenAI where there are more than 128 tools"),
    why: "a request with too many tools fails as a whole",
  },
  {
    id: "tools.keys",
    at: { file: SCHEMA },
    find: 'if (provider !== "anthropic") return undefined;',
    replace: "if (provider) return undefined;",
    tests: schemas("is left out where the provider takes no name of its arguments"),
    why: "one tool's argument fails each request of its agent",
  },
];
