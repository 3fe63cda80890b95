import { join } from "node:path";
import { expect, test } from "vitest";
import { FULL } from "../../kernel/test-tiers.ts";
import { systemClock } from "../../kernel/clock.ts";
import { TokenMeter } from "../assign/token-meter.ts";
import type { WorkerSpec } from "../plan.ts";
import { openSandbox } from "../sandbox/sandbox.ts";
import { CommandWorker } from "../workers/command.ts";
import { aPlace, workOn } from "../workers/test-worker.ts";
import { modelWays } from "./model-ways.ts";
import { throughDoor } from "./through-door.ts";
import { refusing, startProvider, streaming, type Answer } from "./test-door.ts";

const SERVED = streaming(
  {
    type: "message_start",
    message: { model: "m", usage: { input_tokens: 100, cache_read_input_tokens: 900 } },
  },
  { type: "message_delta", usage: { output_tokens: 50 } },
);

/** Calls its model again and again, whatever comes of it; ends with the last status. */
const AGENT = `
  const { ANTHROPIC_BASE_URL: base, ANTHROPIC_API_KEY: key } = process.env;
  console.log("key " + key);
  let status = 0;
  for (let call = 0; call < 8; call += 1) {
    const headers = { "x-api-key": key, "content-type": "application/json" };
    const answer = await fetch(base + "/v1/messages", { method: "POST", headers, body: "{}" });
    await answer.text();
    status = answer.status;
    if (status === 429) break;
  }
  process.exit(status === 200 ? 0 : 1);
`;
const COMMAND = [process.execPath, "--input-type=module", "-e", AGENT];
const SPEC: WorkerSpec = {
  kind: "command",
  agent: "claude",
  command: COMMAND,
  prompt: "stdin",
  env: ["ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL"],
};

/** What becomes of an agent in a sandbox whose provider answers so. */
async function workWith(answers: readonly Answer[], most: number | null = null, settings = "{}") {
  const provider = await startProvider(answers);
  const place = await aPlace({ "src/a.ts": "old", "home/.claude/settings.json": settings });
  const sandbox = await openSandbox({
    wanted: "enforced",
    folder: join(place.tree, "../sandbox"),
    clock: systemClock,
  });
  const meter = new TokenMeter("run");
  meter.known({ tokens: { used: 0, most } });
  const network = { kind: "provider", hosts: [new URL(provider.url).host] } as const;
  const env = { ANTHROPIC_API_KEY: "the-real-key", ANTHROPIC_BASE_URL: provider.url };
  const worker = new CommandWorker({ command: COMMAND, prompt: "stdin", clock: systemClock });
  const assignment = {
    ...place.assignment,
    sandbox,
    env: { ...place.assignment.env, ...env },
    confinement: { ...place.assignment.confinement, network },
    limits: { ...place.assignment.limits, shared: meter },
  };

  const done = await workOn(
    throughDoor(worker, SPEC, { env, home: join(place.tree, "home"), clock: systemClock }),
    assignment,
  );
  await place[Symbol.asyncDispose]();
  const said = done.events.flatMap((event) => (event.type === "entry" ? [event.entry.text] : []));

  return { ...done, asked: provider.asked, said: said.join("") };
}

test(
  "an agent in a sandbox is counted by what its provider tells, and stops within one call of its budget",
  { ...FULL, timeout: 60_000 },
  async () => {
    const { result, asked, said } = await workWith([SERVED], 2_600);

    expect(asked).toHaveLength(3);
    expect(result).toMatchObject({
      status: "failed",
      tokens: { input: 3_000, cached: 2_700, output: 150 },
      calls: 4,
      error: { code: "WORKER_TOKENS" },
    });
    expect(said).toContain("key dure-keeps-ANTHROPIC_API_KEY");
    expect(asked.map(({ headers }) => headers["x-api-key"])).toEqual(Array(3).fill("the-real-key"));
  },
);

test(
  "an agent whose person's settings lead it elsewhere goes past the door, with its key",
  { ...FULL, timeout: 60_000 },
  async () => {
    const settings = JSON.stringify({ env: { ANTHROPIC_BASE_URL: "http://10.0.0.7/" } });

    const { said, result } = await workWith([SERVED], null, settings);

    expect(said).toContain("key the-real-key");
    expect(result.tokens).toEqual({ input: 0, cached: 0, output: 0 });
  },
);

test(
  "a key that is refused twice ends the try at once, with the provider's words",
  { ...FULL, timeout: 60_000 },
  async () => {
    const { result, asked, events } = await workWith([refusing(401)]);

    expect(asked).toHaveLength(2);
    expect(result.error).toMatchObject({
      code: "WORKER_LOGIN",
      message: "The provider refuses the key or the account: 401, it is 401",
    });
    expect(events).toContainEqual(
      expect.objectContaining({
        type: "provider",
        trouble: expect.objectContaining({ kind: "key", status: 401, times: 2 }) as unknown,
      }),
    );
  },
);

test(
  "an agent that gives up at a limit waits until the moment that its provider names",
  { ...FULL, timeout: 60_000 },
  async () => {
    const before = Date.now();

    const { result } = await workWith([SERVED, refusing(429, { "retry-after": "3600" })]);

    expect(result.error?.code).toBe("WORKER_RATE_LIMITED");
    expect(result.error!.until! - before).toBeGreaterThan(3_500_000);
    expect(result.tokens).toMatchObject({ input: 1_000, output: 50 });
  },
);

test(
  "what a provider answers that fails is told with the end of its worker",
  { ...FULL, timeout: 60_000 },
  async () => {
    const { result } = await workWith([SERVED, refusing(500)]);

    expect(result.error?.code).toBe("WORKER_DIED");
    expect(result.error?.message).toContain(
      "Its provider did not serve its last call: 500, it is 500",
    );
  },
);

// --- which models are led through the door

const door = "http://127.0.0.1:61080";
const agent = (name: "claude" | "codex" | "opencode" | "gemini" | "qwen", more: object = {}) =>
  ({
    kind: "acp",
    agent: name,
    command: [name],
    env: ["ANTHROPIC_API_KEY", "OPENAI_API_KEY", "OPENAI_BASE_URL", "GEMINI_API_KEY"],
    ...more,
  }) as WorkerSpec;

test("the provider of a key is led through the door, and what stands for the key is given", () => {
  const env = { OPENAI_API_KEY: "real", OPENAI_BASE_URL: "http://10.0.0.7:8080/v1/" };
  const { ways, env: led } = modelWays(agent("qwen"), { env, door, files: {} });

  expect(ways).toEqual([
    {
      name: "openai",
      base: "http://10.0.0.7:8080/v1",
      provider: "openai",
      keys: { "dure-keeps-OPENAI_API_KEY": "real" },
    },
  ]);
  expect(led).toEqual({
    OPENAI_BASE_URL: `${door}/model/openai`,
    OPENAI_API_KEY: "dure-keeps-OPENAI_API_KEY",
  });
});

test("an agent whose settings name addresses goes there, with its key", async () => {
  const env = { ANTHROPIC_API_KEY: "real" };

  expect(modelWays(agent("claude"), { env, door, files: { hasAddresses: true } }).ways).toEqual([]);
});

test("without a key and an address, and where the plan sets the address, nothing is led", () => {
  const env = { ANTHROPIC_API_KEY: "real" };
  const set = { ANTHROPIC_BASE_URL: "https://api.anthropic.com" };

  expect(modelWays(agent("claude"), { env: {}, door, files: {} }).ways).toEqual([]);
  expect(modelWays(agent("claude", { set }), { env, door, files: {} }).ways).toEqual([]);
});

test("a key that a plan names by itself is given as it is: its program may need it elsewhere", () => {
  const spec = agent("claude", { agent: undefined });
  const led = modelWays(spec, { env: { ANTHROPIC_API_KEY: "real" }, door, files: {} });

  expect(led.env).toEqual({ ANTHROPIC_BASE_URL: `${door}/model/anthropic` });
});

test("codex is led by its arguments: its own provider, those of its settings, and no account", () => {
  const env = { OPENAI_API_KEY: "real" };
  const codexSettings = `model_provider = "own"
[model_providers.own]
base_url = "http://10.0.0.7:9/v1"
env_key = "OPENAI_API_KEY"
[other]
base_url = "http://elsewhere/"
`;
  const led = modelWays(agent("codex"), { env, door, files: { codexSettings } });
  const files = { codexSettings, codexHasLogin: true };

  expect(led.ways.map(({ name, base }) => [name, base])).toEqual([
    ["openai", "https://api.openai.com/v1"],
    ["codex-own", "http://10.0.0.7:9/v1"],
  ]);
  expect(led.args).toEqual([
    ...["-c", `openai_base_url="${door}/model/openai"`],
    ...["-c", `model_providers.own.base_url="${door}/model/codex-own"`],
  ]);
  expect(modelWays(agent("codex"), { env, door, files }).ways).toEqual([]);
});

test("opencode is led by its settings, which may have addresses of their own", () => {
  const content = { provider: { anthropic: { options: { baseURL: "http://10.0.0.7:9/v1" } } } };
  const env = {
    OPENAI_API_KEY: "real",
    OPENCODE_CONFIG_CONTENT: JSON.stringify({ ...content, model: "anthropic/m" }),
  };
  const spec = agent("opencode", { env: Object.keys(env) });
  const led = modelWays(spec, { env, door, files: {} });

  expect(led.ways.map(({ name, base }) => [name, base])).toEqual([
    ["openai", "https://api.openai.com/v1"],
    ["opencode-anthropic", "http://10.0.0.7:9/v1"],
  ]);
  expect(JSON.parse(led.env["OPENCODE_CONFIG_CONTENT"]!)).toEqual({
    model: "anthropic/m",
    provider: {
      anthropic: { options: { baseURL: `${door}/model/opencode-anthropic` } },
      openai: { options: { baseURL: `${door}/model/openai` } },
    },
  });
  const broken = { ...env, OPENCODE_CONFIG_CONTENT: "{ // words" };
  expect(modelWays(spec, { env: broken, door, files: {} }).ways).toEqual([]);
});
