import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { afterAll, beforeAll, expect, test } from "vitest";
import { checkDatabase } from "../../src/cli/doctor/database.ts";
import { testDatabaseUrl } from "../../src/durable/test-database.ts";
import { silentLogger } from "../../src/kernel/logger.ts";
import { FULL } from "../../src/kernel/test-tiers.ts";
import { readTeam } from "../../src/team/config.ts";
import { defineTeam } from "../../src/team/define-team.ts";
import { readEnvironment } from "../../src/team/environment.ts";
import { startTeam } from "../../src/team/start.ts";
import { until } from "../until.ts";

/** A team whose base has an embedding model, against a double of its provider. */
const TOKEN = "meaning-admin-token-0123456789";
const stack = new AsyncDisposableStack();
let url: string;
let about: Parameters<typeof checkDatabase>[0];

beforeAll(async () => {
  const { url: databaseUrl } = stack.use(await testDatabaseUrl());
  const provider = createServer((request, response) => {
    let text = "";
    request.on("data", (chunk: Buffer) => (text += chunk.toString()));
    request.on("end", () => {
      const { input } = JSON.parse(text) as { input: readonly string[] };
      const data = input.map((said, index) => ({ index, embedding: directionOf(said) }));
      response.setHeader("content-type", "application/json");
      response.end(
        JSON.stringify({ object: "list", model: "m", data, usage: { prompt_tokens: 1 } }),
      );
    });
  });
  await new Promise<void>((done) => provider.listen(0, "127.0.0.1", done));
  stack.defer(() => void provider.close());
  const address = `http://127.0.0.1:${(provider.address() as AddressInfo).port}`;

  const options = defineTeam({
    name: "meaning",
    model: "offline:echo",
    agents: { eden: { displayName: "Eden" } },
    knowledge: { handbook: { embedding: "openai-compatible:meanings" } },
  });
  const environment = readEnvironment({
    DATABASE_URL: databaseUrl,
    PORT: "0",
    DURE_TOKEN: TOKEN,
    OPENAI_BASE_URL: address,
  });
  const read = await readTeam(options, tmpdir());
  about = { folder: tmpdir(), environment, team: read };
  const team = await startTeam(read, environment, { logger: silentLogger });
  stack.defer(() => team.stop());
  ({ url } = team);
}, 120_000);

afterAll(() => stack.disposeAsync(), 60_000);

/** Refunds lie in one direction, all else in the other. */
function directionOf(text: string): readonly number[] {
  return /refund|환불/iu.test(text) ? [1, 0.05] : [0.05, 1];
}

async function ask(path: string, init: RequestInit = {}): Promise<Response> {
  const headers = { authorization: `Bearer ${TOKEN}`, "content-type": "application/json" };
  return fetch(`${url}/v1/knowledge/handbook/${path}`, { ...init, headers });
}

test("a Korean question finds an English document, and doctor says how", FULL, async () => {
  for (const [source, text] of [
    ["refunds.md", "A refund takes three days."],
    ["hours.md", "We open at nine."],
  ]) {
    const body = JSON.stringify({ source, text });
    expect((await ask("documents", { method: "PUT", body })).ok).toBe(true);
  }

  const question = encodeURIComponent("환불은 얼마나 걸리나요?");
  const sources = await until(
    async () => {
      const answer = await (await ask(`search?question=${question}`)).json();
      const { items } = answer as { items: readonly { source: string }[] };
      return items.length > 0 ? items.map(({ source }) => source) : undefined;
    },
    () => "nothing is found by meaning",
  );

  expect(sources).toEqual(["refunds.md"]);
  expect(await checkDatabase(about)).toContainEqual({
    name: "vectors of documents",
    status: "ok",
    detail: expect.stringMatching(/^(compared exactly|found by an index): .*pgvector/) as string,
  });
});
