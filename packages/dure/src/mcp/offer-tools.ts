import type { Client } from "@modelcontextprotocol/client";
import { z } from "zod";
import { fileResult } from "../engine/agent/file-result.ts";
import { tool, type AnyTool } from "../engine/agent/tool.ts";
import { cutBytes } from "../kernel/cut-bytes.ts";
import type { Json } from "../kernel/json.ts";
import { filesOfBlocks } from "./mcp-files.ts";
import { MAX_BYTES, textOfBlock } from "./mcp-result.ts";

/** What a server has beside its tools. */
export interface Offers {
  readonly resources: boolean;
  readonly prompts: boolean;
}

/** Asks a server something that changes nothing. Throws what `McpConnection.ask` throws. */
export type AskServer = <T>(
  what: string,
  work: (client: Client, signal: AbortSignal) => Promise<T>,
  options: { signal: AbortSignal },
) => Promise<T>;

/** Entries of one list that a model reads; a server may have any number. */
const MAX_LISTED = 100;
/** Letters of what an entry says of itself. */
const MAX_ABOUT = 200;
/** Letters of an address or a name that a model gives. */
const MAX_NAME = 2_000;

/** The SDK would keep what it has read for as long as the process lives. */
const FRESH = { cacheMode: "bypass" } as const;

/**
 * Tools by which an agent reads the resources and prompts of a server, by their own names. All of
 * them only read. Source: docs/spec/interop §1.
 */
export function offerTools(
  server: string,
  { resources, prompts }: Offers,
  { ask, timeoutMs }: { readonly ask: AskServer; readonly timeoutMs: number },
): ReadonlyMap<string, AnyTool> {
  const tools = new Map<string, AnyTool>();
  if (resources) {
    tools.set("list_resources", listResources(server, ask, timeoutMs));
    tools.set("read_resource", readResource(server, ask, timeoutMs));
  }
  if (prompts) {
    tools.set("list_prompts", listPrompts(server, ask, timeoutMs));
    tools.set("get_prompt", getPrompt(server, ask, timeoutMs));
  }

  return tools;
}

function listResources(server: string, ask: AskServer, timeout: number): AnyTool {
  return tool({
    description: `Lists the resources of ${server}: addresses that read_resource takes.`,
    inputSchema: z.object({}),
    effect: "none",
    timeout,
    execute: (_input, _context, { signal }) =>
      ask(
        "its resources",
        async (client, given) => {
          const options = { ...FRESH, signal: given };
          const [{ resources }, { resourceTemplates }] = await Promise.all([
            client.listResources(undefined, options),
            client.listResourceTemplates(undefined, options),
          ]);
          const listed = [
            ...resources.map(({ uri, name, description }) => ({ uri, name, description })),
            ...resourceTemplates.map(({ uriTemplate, name, description }) => ({
              uri: uriTemplate,
              name,
              description,
            })),
          ];
          return shortList(listed);
        },
        { signal },
      ),
  });
}

function readResource(server: string, ask: AskServer, timeout: number): AnyTool {
  return tool({
    description: `Reads a resource of ${server} by its address.`,
    inputSchema: z.object({ uri: z.string().min(1).max(MAX_NAME) }),
    effect: "none",
    timeout,
    execute: ({ uri }, _context, { signal }) =>
      ask(
        uri,
        async (client, given) => {
          const { contents } = await client.readResource({ uri }, { ...FRESH, signal: given });
          const blocks = contents.map((resource) => ({ type: "resource" as const, resource }));
          const text = cutBytes(blocks.map(textOfBlock).join("\n"), MAX_BYTES);
          const files = filesOfBlocks(blocks);
          return files.length > 0 ? fileResult(text, files) : text;
        },
        { signal },
      ),
  });
}

function listPrompts(server: string, ask: AskServer, timeout: number): AnyTool {
  return tool({
    description: `Lists the prompts that ${server} has written, which get_prompt takes.`,
    inputSchema: z.object({}),
    effect: "none",
    timeout,
    execute: (_input, _context, { signal }) =>
      ask(
        "its prompts",
        async (client, given) => {
          const { prompts } = await client.listPrompts(undefined, { ...FRESH, signal: given });
          const listed = prompts.map(({ name, description, arguments: takes }) => ({
            name,
            description,
            arguments: takes?.map((one) => (one.required ? one.name : `${one.name}?`)).join(", "),
          }));
          return shortList(listed);
        },
        { signal },
      ),
  });
}

function getPrompt(server: string, ask: AskServer, timeout: number): AnyTool {
  return tool({
    description: `Gets a prompt of ${server}, filled in with the arguments.`,
    inputSchema: z.object({
      name: z.string().min(1).max(MAX_NAME),
      arguments: z.record(z.string(), z.string()).optional(),
    }),
    effect: "none",
    timeout,
    execute: ({ name, arguments: values }, _context, { signal }) =>
      ask(
        name,
        async (client, given) => {
          const { messages } = await client.getPrompt(
            { name, arguments: values ?? {} },
            { signal: given },
          );
          const texts = messages.map(({ role, content }) => `${role}: ${textOfBlock(content)}`);
          return cutBytes(texts.join("\n\n"), MAX_BYTES);
        },
        { signal },
      ),
  });
}

type ListedTools = Readonly<Record<string, string | undefined>>;

/** What a server says of itself is as long as it likes. */
function shortList(entries: readonly ListedTools[]): Json {
  const items = entries.slice(0, MAX_LISTED).map((entry) => {
    const members = Object.entries(entry).flatMap(([key, value]) =>
      value === undefined || value === "" ? [] : [[key, shortened(key, value)]],
    );
    return Object.fromEntries(members) as Record<string, string>;
  });
  const left = entries.length - items.length;

  return left > 0 ? { items, left_out: left } : { items };
}

function shortened(key: string, value: string): string {
  const longest = key === "description" ? MAX_ABOUT : MAX_NAME;
  return value.length <= longest ? value : `${value.slice(0, longest)}…`;
}
