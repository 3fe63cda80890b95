import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { expect, test } from "vitest";
import { chatAgent } from "../engine/agent/agent.ts";
import { defineService, flow } from "../engine/service/service.ts";
import { startTestEngine } from "../engine/test-engine.ts";
import { systemClock } from "../kernel/clock.ts";
import { silentLogger } from "../kernel/logger.ts";
import { offlineModel } from "../models/offline.ts";
import { LoginStore } from "./login-store.ts";
import { filesOfBlocks } from "./mcp-files.ts";
import { McpServers } from "./mcp-servers.ts";

/** A server of others, from the registry. */
const EVERYTHING = createRequire(import.meta.url).resolve(
  "@modelcontextprotocol/server-everything/dist/index.js",
);

test("an image of a server of others is stored, and shown with the answer", async () => {
  const servers = new McpServers({
    servers: { every: { command: process.execPath, args: [EVERYTHING, "stdio"] } },
    folder: tmpdir(),
    environment: { ...process.env },
    clock: systemClock,
    logger: silentLogger,
    logins: new LoginStore({ home: tmpdir(), clock: systemClock }),
    version: "0.1.0",
  });
  await using stack = new AsyncDisposableStack();
  stack.defer(() => servers.stop());
  servers.start();
  await servers.tried({ withinMs: 30_000 });
  const model = offlineModel("clerk", ({ messages }) =>
    messages.at(-1)?.role === "tool"
      ? "Here."
      : { toolCalls: [{ name: "every__get-tiny-image", args: {} }] },
  );
  const made = chatAgent({ name: "clerk", prompt: "Help." });
  const clerk = { ...made, toolSets: [servers.setOf("every/get-tiny-image")] };
  const desk = defineService({
    name: "desk",
    agents: { clerk },
    flows: {
      DEFAULT: flow(async (turn) => turn.done({ message: (await turn.agent("clerk", "…")).text })),
    },
  });
  const at = stack.use(await startTestEngine(desk, { offline: [model] }));

  const { done } = await at.say("An image, please.", { session: "mina" });

  expect(done.error).toBeUndefined();
  expect(done.files).toMatchObject([{ name: "image-2.png", type: "image/png" }]);
  const { id, bytes } = done.files![0]!;
  expect(await at.engine.files.read(id, { session: "mina" })).toHaveLength(bytes);
}, 60_000);

test("recordings and resources of bytes are files under harmless words, and texts are none", () => {
  const blob = Buffer.from("bytes").toString("base64");
  const resource = (uri: string) => ({ type: "resource" as const, resource: { uri, blob } });

  const files = filesOfBlocks([
    { type: "text", text: "words" },
    { type: "audio", data: blob, mimeType: "image/png" },
    resource("file:///home/a%20b.txt?x=1"),
    resource("%E0%A4%A"),
    { type: "resource", resource: { uri: "file:///c", text: "words" } },
    { type: "image", data: "!!", mimeType: "image/png" },
  ]);

  expect(files.map(({ name, bytes }) => [name, Buffer.from(bytes).toString()])).toEqual([
    ["audio-2", "bytes"],
    ["a b.txt", "bytes"],
    ["%E0%A4%A", "bytes"],
    ["image-6", ""],
  ]);
});
