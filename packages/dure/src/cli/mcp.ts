import { StdioServerTransport, serveStdio } from "@modelcontextprotocol/server/stdio";
import { makeMcpServer, type McpServerOptions } from "../mcp-server/make-server.ts";
import { DURE_VERSION } from "../team/version.ts";
import { EXIT, type ExitCode, type Streams } from "./output.ts";

/** Bytes of one message of the client. */
const MAX_MESSAGE = 1_048_576;

/** Serves the team over standard input and output until the client closes them. */
export async function serveMcp(
  options: Pick<McpServerOptions, "groups" | "connect">,
  { stdin, stdout, stderr }: Streams,
): Promise<ExitCode> {
  const transport = new StdioServerTransport(stdin, stdout, { maxBufferSize: MAX_MESSAGE });
  const ended = Promise.withResolvers<void>();
  stdin.once("close", ended.resolve).once("end", ended.resolve);
  stdout.once("close", ended.resolve).once("error", () => ended.resolve());
  const handle = serveStdio(() => makeMcpServer({ ...options, version: DURE_VERSION }), {
    transport,
    onerror: (error) => void stderr.write(`${error.message}\n`),
  });
  await ended.promise;
  await handle.close();
  return EXIT.ok;
}
