import { json as readJson } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import {
  CLIENT_CAPABILITIES_META_KEY,
  createMcpHandler,
  inputRequired,
  McpServer,
} from "@modelcontextprotocol/server";
import { afterEach, describe, expect, test } from "vitest";
import { z } from "zod";
import { NotSentError } from "../engine/agent/tool.ts";
import { systemClock } from "../kernel/clock.ts";
import { silentLogger } from "../kernel/logger.ts";
import { LoginStore } from "./login-store.ts";
import { McpServers } from "./mcp-servers.ts";
import type { McpServerSpec } from "./server-spec.ts";
import { json, listen, pipe } from "./test-login-server.ts";

/** Servers that ask something in the middle of a call. */

const HOSTILE = fileURLToPath(new URL("test-hostile-server.ts", import.meta.url));
const DEFAULTS = { questions: "defaults" } as const;

let opened: McpServers | undefined;
let server: Awaited<ReturnType<typeof listen>> | undefined;
afterEach(async () => {
  await opened?.stop();
  await server?.close();
  opened = undefined;
  server = undefined;
});

async function ask(spec: McpServerSpec): Promise<unknown> {
  opened = new McpServers({
    servers: { odd: { ...spec, effects: { "*": "none" } } },
    folder: ".",
    environment: process.env,
    clock: systemClock,
    logger: silentLogger,
    logins: new LoginStore({ home: ".", clock: systemClock }),
    version: "0.1.0",
  });
  opened.start();
  await opened.tried({ withinMs: 30_000 });
  const { signal } = new AbortController();
  return opened
    .setOf("odd")
    .find("odd__write")!
    .execute({}, {} as never, { signal });
}

describe("a server of the newest protocol", () => {
  const form = z.object({ form: z.string().default("md"), title: z.string().optional() });

  /** Made with the official SDK: it asks once, and then says what it was answered. */
  function makeServer(): McpServer {
    const made = new McpServer({ name: "odd", version: "1.0.0" });
    made.registerTool("write", { description: "Writes." }, ({ mcpReq }) => {
      if (mcpReq.inputResponses === undefined) {
        const message = "Which form?";
        const question = inputRequired.elicit({ message, requestedSchema: form });
        return inputRequired({ inputRequests: { q1: question }, requestState: "at page 3" });
      }
      const told = { state: mcpReq.requestState(), answers: mcpReq.inputResponses };
      return { content: [{ type: "text", text: JSON.stringify(told) }] };
    });
    return made;
  }

  /** It asks whether it may or not. */
  const RUDE: Readonly<Record<string, object>> = {
    "server/discover": {
      supportedVersions: ["2026-07-28"],
      capabilities: { tools: {} },
      resultType: "complete",
      ttlMs: 0,
      cacheScope: "private",
    },
    "tools/list": {
      tools: [{ name: "write", inputSchema: { type: "object" } }],
      resultType: "complete",
      ttlMs: 0,
      cacheScope: "private",
    },
    "tools/call": {
      resultType: "input_required",
      inputRequests: {
        q1: {
          method: "elicitation/create",
          params: { message: "Sure?", requestedSchema: { type: "object", properties: {} } },
        },
      },
    },
  };

  const polite = async (): Promise<string> => {
    const handler = createMcpHandler(makeServer);
    server = await listen((request, response) => pipe(request, response, handler.fetch));
    return `${server.origin}/mcp`;
  };
  let declared: unknown;
  const rude = async (): Promise<string> => {
    server = await listen(async (request, response) => {
      const { id, method, params } = (await readJson(request)) as {
        readonly id?: number;
        readonly method: string;
        readonly params: { readonly _meta: Readonly<Record<string, unknown>> };
      };
      declared = params._meta[CLIENT_CAPABILITIES_META_KEY];
      json(response, { jsonrpc: "2.0", id, result: RUDE[method] ?? {} });
    });
    return `${server.origin}/mcp`;
  };

  test("is answered with its own defaults, and gets its state back to the letter", async () => {
    const told = await ask({ url: await polite(), ...DEFAULTS });

    expect(JSON.parse(told as string)).toEqual({
      state: "at page 3",
      answers: { q1: { action: "accept", content: { form: "md" } } },
    });
  });

  test.each([
    ["that asks nothing of a client that cannot be asked", polite],
    ["that asks all the same", rude],
  ])("%s gives an error that names the setting, and no outcome", async (_what, start) => {
    const failed = ask({ url: await start() });

    await expect(failed).rejects.toMatchObject({
      code: "MCP_INPUT_WANTED",
      message: expect.stringMatching(/^odd asks something in the middle of write/u) as string,
      hint: expect.stringContaining('questions: "defaults"') as string,
    });
    await expect(failed).rejects.not.toBeInstanceOf(NotSentError);
  });

  test.each([
    ["that it may ask, by the setting", DEFAULTS, { elicitation: { form: {} } }],
    ["that it may ask nothing, without the setting", {}, {}],
  ])("is told %s", async (_what, rest, capabilities) => {
    await ask({ url: await rude(), ...rest }).catch(() => undefined);

    expect(declared).toEqual(capabilities);
  });

  test("that asks for ever gives an error, and not the whole time of the call", async () => {
    const failed = ask({ url: await rude(), ...DEFAULTS });

    await expect(failed).rejects.toMatchObject({
      code: "MCP_CALL_LOST",
      message: expect.stringContaining("after 10 rounds") as string,
    });
  });
});

describe("a server of an older protocol", () => {
  const asking = (manner: string, rest: object = {}): McpServerSpec => ({
    command: process.execPath,
    args: [HOSTILE, manner],
    ...rest,
  });

  test.each([
    [
      "is answered with its own defaults",
      "asks",
      DEFAULTS,
      { action: "accept", content: { form: "md" } },
    ],
    ["is told that it cannot ask, without the setting", "asks", {}, { code: -32_601 }],
    ["is refused where it sends people elsewhere", "asks-elsewhere", DEFAULTS, { code: -32_602 }],
  ])("%s", async (_what, manner, rest, answer) => {
    const told = await ask(asking(manner, rest));

    expect(JSON.parse(told as string)).toEqual(answer);
  });
});
