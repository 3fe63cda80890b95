import {
  completable,
  ResourceTemplate,
  type CallToolResult,
  type ContentBlock,
  type GetPromptResult,
  type McpServer,
  type ServerContext,
} from "@modelcontextprotocol/server";
import { z } from "zod";
import { systemClock } from "../../packages/dure/src/kernel/clock.ts";
import type { McpExtension } from "../../packages/dure/src/mcp-server/make-server.ts";
import { offerQuestions, rounds } from "./offer-questions.ts";

/*
 * What MCP's conformance suite calls by name, such as a tool that gives a picture. dure's own server
 * of a team offers it beside the team's tools, so that each of its messages goes the way that those
 * of a team go. See test-mcp.ts.
 */

/** One red pixel. */
const PNG =
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg==";
/** A sound of no length: the head of a WAV file. */
const WAV = "UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQAAAAA=";

const IMAGE = { type: "image", data: PNG, mimeType: "image/png" } as const;

const text = (words: string): ContentBlock => ({ type: "text", text: words });

const embedded = (uri: string, words: string, mimeType = "text/plain"): ContentBlock => ({
  type: "resource",
  resource: { uri, mimeType, text: words },
});

/** Tools that always give the same. */
const GIVEN: Readonly<Record<string, readonly ContentBlock[]>> = {
  test_simple_text: [text("This is a simple text response for testing.")],
  test_image_content: [IMAGE],
  test_audio_content: [{ type: "audio", data: WAV, mimeType: "audio/wav" }],
  test_embedded_resource: [
    embedded("test://embedded-resource", "This is an embedded resource content."),
  ],
  test_multiple_content_types: [
    text("Multiple content types test:"),
    IMAGE,
    embedded("test://mixed-content-resource", '{"test":"data","value":123}', "application/json"),
  ],
};

export const forSuite: McpExtension = {
  requestState: { verify: (state, context) => rounds.verify(state, context) },
  offer: (server) => {
    server.server.registerCapabilities({ logging: {}, prompts: { listChanged: false } });
    offerTools(server);
    offerResources(server);
    offerPrompts(server);
    offerQuestions(server);
  },
};

function offerTools(server: McpServer): void {
  for (const [name, content] of Object.entries(GIVEN)) {
    server.registerTool(name, { description: "Always gives the same." }, () => ({
      content: [...content],
    }));
  }
  server.registerTool("test_error_handling", { description: "Always fails." }, () => {
    throw new Error("This tool intentionally returns an error for testing");
  });
  server.registerTool(
    "test_tool_with_progress",
    { description: "Tells how far it is." },
    tellProgress,
  );
  for (const name of ["test_logging_tool", "test_tool_with_logging"]) {
    server.registerTool(name, { description: "Writes a log." }, tellLog);
  }
}

async function tellProgress({ mcpReq }: ServerContext): Promise<CallToolResult> {
  const progressToken = mcpReq._meta?.progressToken;
  for (const progress of [0, 50, 100]) {
    if (progressToken === undefined) break;
    const params = { progressToken, progress, total: 100 };
    await mcpReq.notify({ method: "notifications/progress", params });
    await systemClock.sleep(50, { signal: mcpReq.signal });
  }

  return { content: [text("Done.")] };
}

/** The SDK leaves it out where the client did not ask for logs. */
async function tellLog({ mcpReq }: ServerContext): Promise<CallToolResult> {
  for (const line of ["started", "half of it", "done"]) await mcpReq.log("info", line);
  return { content: [text("Done.")] };
}

function offerResources(server: McpServer): void {
  const description = "For the suite.";
  server.registerResource(
    "static-text",
    "test://static-text",
    { description, mimeType: "text/plain" },
    ({ href: uri }) => ({
      contents: [
        { uri, mimeType: "text/plain", text: "This is the content of the static text resource." },
      ],
    }),
  );
  server.registerResource(
    "static-binary",
    "test://static-binary",
    { description, mimeType: "image/png" },
    ({ href: uri }) => ({ contents: [{ uri, mimeType: "image/png", blob: PNG }] }),
  );
  server.registerResource(
    "template",
    new ResourceTemplate("test://template/{id}/data", { list: undefined }),
    { description, mimeType: "application/json" },
    ({ href: uri }, { id }) => {
      const data = { id, templateTest: true, data: `Data for ID: ${String(id)}` };
      return { contents: [{ uri, mimeType: "application/json", text: JSON.stringify(data) }] };
    },
  );
}

function offerPrompts(server: McpServer): void {
  const description = "For the suite.";
  server.registerPrompt("test_simple_prompt", { description }, () =>
    said(text("This is a simple prompt for testing.")),
  );
  server.registerPrompt("test_prompt_with_image", { description }, () =>
    said(IMAGE, text("Please analyze the image above.")),
  );
  const argsSchema = z.object({ arg1: completable(z.string(), () => []), arg2: z.string() });
  server.registerPrompt(
    "test_prompt_with_arguments",
    { description, argsSchema },
    ({ arg1, arg2 }) => said(text(`Prompt with arguments: arg1='${arg1}', arg2='${arg2}'`)),
  );
  server.registerPrompt(
    "test_prompt_with_embedded_resource",
    { description, argsSchema: z.object({ resourceUri: z.string() }) },
    ({ resourceUri }) =>
      said(
        embedded(resourceUri, "Embedded resource content for testing."),
        text("Please process the embedded resource above."),
      ),
  );
}

function said(...content: readonly ContentBlock[]): GetPromptResult {
  return { messages: content.map((block) => ({ role: "user", content: block })) };
}
