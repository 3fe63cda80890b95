import { expect, test } from "vitest";
import { z } from "zod";
import { PNG } from "../../src/durable/files/test-files.ts";
import { testDatabase } from "../../src/durable/test-database.ts";
import { fileResult } from "../../src/engine/agent/file-result.ts";
import { tool } from "../../src/engine/agent/tool.ts";
import { filesThere } from "../../src/engine/remote/files-there.ts";
import { remoteService } from "../../src/engine/remote/remote-service.ts";
import { defineService, flow } from "../../src/engine/service/service.ts";
import type { FileRef } from "../../src/kernel/files.ts";
import { silentLogger } from "../../src/kernel/logger.ts";
import { readTeam } from "../../src/team/config.ts";
import { defineTeam } from "../../src/team/define-team.ts";
import { readEnvironment } from "../../src/team/environment.ts";
import { startTeam } from "../../src/team/start.ts";

const TOKEN = "an-admin-token-of-all-tenants-0123";
const headers = { authorization: `Bearer ${TOKEN}`, "content-type": "application/json" };

const draw = tool({
  description: "Draws.",
  inputSchema: z.object({}),
  execute: () => fileResult("drawn", [{ name: "cat.png", bytes: PNG }]),
});
const painter = defineService({
  name: "painter",
  agents: {},
  flows: {
    DEFAULT: flow(async (turn) => {
      await turn.read("draw", draw, {});
      return turn.done({ message: "Drawn." });
    }),
  },
});

type Services = Parameters<typeof defineTeam>[0]["services"];

async function serve(stack: AsyncDisposableStack, services: Services): Promise<string> {
  const database = stack.use(await testDatabase());
  const environment = readEnvironment({ DATABASE_URL: database.url, PORT: "0", DURE_TOKEN: TOKEN });
  const team = await readTeam(
    defineTeam({ name: "team", model: "offline:echo", services }),
    import.meta.dirname,
  );
  const running = await startTeam(team, environment, { logger: silentLogger });
  stack.defer(() => running.stop());
  return running.url;
}

test("a file that a service on another server makes is brought into the session here", async () => {
  await using stack = new AsyncDisposableStack();
  const far = await serve(stack, { painter });
  const near = await serve(stack, {
    painter: remoteService(far, { name: "painter", auth: TOKEN }),
  });

  const body = JSON.stringify({ session_id: "mina", message: "Draw." });
  const answer = await fetch(`${near}/v1/agent/chat`, { method: "POST", headers, body });
  const { interaction } = (await answer.json()) as {
    interaction: { files: readonly FileRef[] };
  };

  expect(interaction).toMatchObject({
    message: "Drawn.",
    files: [{ name: "cat.png", type: "image/png", bytes: PNG.length }],
  });
  const at = `/v1/agent/files/${interaction.files[0]!.id}`;
  const read = await fetch(near + at, { headers });
  expect(Buffer.from(await read.arrayBuffer())).toEqual(Buffer.from(PNG));
  expect((await fetch(far + at, { headers })).status).toBe(404);
}, 60_000);

test("of what another server says of its files only what can be an id becomes an address", () => {
  const good = { id: "file_01AB", name: "a.png" };
  const given = [good, { id: "../sessions", name: "a" }, { id: "file_1/../x", name: "b" }, 7, null];

  expect(filesThere(given)).toEqual([good]);
  expect(filesThere("files")).toEqual([]);
  expect(filesThere(Array.from({ length: 40 }, () => good))).toHaveLength(10);
});
