import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { expect, test } from "vitest";
import { z } from "zod";
import { chatAgent } from "../engine/agent/agent.ts";
import { tool, type AnyTool } from "../engine/agent/tool.ts";
import type { EngineDefinitions } from "../engine/engine.ts";
import { defineService, flow } from "../engine/service/service.ts";
import { agentBook } from "./agent-book.ts";

const look = tool({
  description: "Looks.",
  inputSchema: z.object({}),
  execute: () => "seen",
});

/** A service with one agent, which has a tool of its own and one of an MCP server. */
function definitionsOf(mcpTools: () => object, more: object = {}): EngineDefinitions {
  const agent = {
    ...chatAgent({ name: "ruda", prompt: "-", tools: { look } }),
    toolSets: [
      {
        name: "files",
        tools: () => mcpTools() as Record<string, AnyTool>,
        find: () => undefined,
        ...more,
      },
    ],
  };
  const service = defineService({
    name: "ruda",
    agents: { ruda: agent },
    flows: { DEFAULT: flow(async (turn) => turn.done({ message: "-" })) },
  });
  return {
    services: [service],
    defaultLlm: { provider: "offline", model: "echo", fallbacks: [] },
  } as Partial<EngineDefinitions> as EngineDefinitions;
}

test("an agent's book names its model and tools, those of MCP servers as they are now", () => {
  let mcpTools: object = {};
  const book = agentBook({
    folder: ".",
    definitions: () => definitionsOf(() => mcpTools),
  });

  expect(book.making({ service: "ruda" })).toEqual({
    models: ["offline:echo"],
    tools: [{ name: "look", description: "Looks.", effect: "none", mcp: null }],
    skills: [],
    leftOut: [],
  });
  mcpTools = { files_read: { ...look, description: "Reads." } };
  expect(book.making({ service: "ruda" }).tools[1]).toEqual({
    name: "files_read",
    description: "Reads.",
    effect: "none",
    mcp: "files",
  });
  expect(book.making({ service: "gone" })).toEqual({
    ...{ models: [], tools: [], skills: [], leftOut: [] },
  });
});

test("an agent's book names the tools of its MCP servers that it does not get", () => {
  const leftOut = [{ name: "pay", because: "it has no inputSchema", next: "Tell the author." }];
  const book = agentBook({
    folder: ".",
    definitions: () => definitionsOf(() => ({}), { leftOut: () => leftOut }),
  });

  expect(book.making({ service: "ruda" }).leftOut).toEqual([{ ...leftOut[0], mcp: "files" }]);
});

test("an agent's book names the tools that the provider of its model would refuse", () => {
  const find = tool({
    description: "Finds.",
    inputSchema: z.object({ "filter[id]": z.string() }),
    execute: () => "found",
  });
  const claude = { provider: "anthropic", model: "claude", fallbacks: [] } as const;
  const definitions = { ...definitionsOf(() => ({ files__find: find })), defaultLlm: claude };
  const book = agentBook({ folder: ".", definitions: () => definitions });

  expect(book.making({ service: "ruda" }).leftOut).toMatchObject([
    {
      name: "files__find",
      mcp: "files",
      because: 'anthropic takes no argument of the name "filter[id]"',
    },
  ]);
});

test("its files are those of its own folder and the team's, the long ones cut", async () => {
  const folder = await mkdtemp(path.join(tmpdir(), "dure 팀 "));
  try {
    await mkdir(path.join(folder, "agents/ruda"), { recursive: true });
    await writeFile(path.join(folder, "agents/ruda/SOUL.md"), "차분해요.");
    await writeFile(path.join(folder, "agents/ruda/MEMORY.md"), "x".repeat(70_000));
    await writeFile(path.join(folder, "agents/ruda/secret.txt"), "no");
    await writeFile(path.join(folder, "AGENTS.md"), "For all.");
    const book = agentBook({ folder, definitions: () => definitionsOf(() => ({})) });

    const files = await book.files({ id: "ruda" });

    expect(files.map(({ path: name, cut }) => [name, cut])).toEqual([
      ["agents/ruda/SOUL.md", false],
      ["agents/ruda/MEMORY.md", true],
      ["AGENTS.md", false],
    ]);
    expect(files[0]!.text).toBe("차분해요.");
    expect(await book.files({ id: "eden" })).toHaveLength(1);
  } finally {
    await rm(folder, { recursive: true });
  }
});
