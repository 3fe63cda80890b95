import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { expect, test } from "vitest";
import { DureError } from "../kernel/errors.ts";
import { readYaml } from "../engine/files/load-service-document.ts";
import { checkTeam } from "./config.ts";
import { loadEnvFile, readEnvironment } from "./environment.ts";
import { originText, resolveLimits, settingsOf } from "./limits.ts";

function refusal(source: Record<string, string>): DureError {
  try {
    readEnvironment(source);
  } catch (error) {
    if (error instanceof DureError) return error;
  }
  throw new Error("nothing was refused");
}

test("variables are read with their types; empty ones are not set", () => {
  const environment = readEnvironment({
    PORT: "0",
    DEV_MODE: "TRUE",
    HOST: "",
    MEMORY_ENABLE_SUMMARY: "0",
    OPENAI_BASE_URL: "http://127.0.0.1:1/v1/",
    DISCORD_TOKEN_RUDA: "x",
    PATH: "/bin",
  });

  expect(environment).toEqual({
    port: 0,
    devMode: true,
    memoryEnableSummary: false,
    openaiBaseUrl: "http://127.0.0.1:1/v1",
    discordTokens: { ruda: "x" },
    variable: expect.any(Function),
    warnings: [],
  });
});

test("a platform of rooms reads its own address and tokens, and nothing else", () => {
  const { variable } = readEnvironment({
    SLACK_BOT_TOKEN: "xoxb-1",
    SLACK_APP_TOKEN_NIGHT_OWL: " xapp-1 ",
    SLACK_API_URL: "",
    DATABASE_PASSWORD: "secret",
  });

  expect(
    ["SLACK_BOT_TOKEN", "SLACK_APP_TOKEN_NIGHT_OWL", "SLACK_API_URL", "DATABASE_PASSWORD"].map(
      (name) => variable?.(name),
    ),
  ).toEqual(["xoxb-1", "xapp-1", undefined, undefined]);
});

test.each([
  ["PORT", "70000", "a whole number from 0 (any free one) to 65535"],
  ["PORT", "4600x", "a whole number from 0 (any free one) to 65535"],
  ["DEV_MODE", "maybe", "true or false"],
  ["OPENAI_BASE_URL", "localhost:1", "begins with http:// or https://"],
  ["LOG_LEVEL", "loud", "trace, debug, info"],
  ["MAX_FILL_TURNS", "0", "a whole number from 1 to 100"],
  ["DURE_MODEL", "opnai:gpt-5", 'Did you mean "openai:…"?'],
])("%s=%s is refused with what is allowed", (name, value, allowed) => {
  const error = refusal({ [name]: value });

  expect(error).toMatchObject({ code: "ENVIRONMENT_INVALID", class: "input" });
  expect(error.message).toContain(`${name}: found "${value}"`);
  expect(error.message).toContain(allowed);
});

test("all wrong variables are named together, and no secret is shown", () => {
  const error = refusal({
    PORT: "x",
    DATABASE_URL: "mysql://root:hunter2@db",
    DURE_TOKEN: "hunter2",
  });

  expect(error.message).toMatch(/DATABASE_URL[^]*DURE_TOKEN|DURE_TOKEN[^]*DATABASE_URL/);
  expect(error.message).toContain("PORT");
  expect(error.message + JSON.stringify(error.details)).not.toContain("hunter2");
});

test("a misspelt variable of ours is a warning with a suggestion", () => {
  expect(readEnvironment({ DURE_TOKENN: "x".repeat(20) }).warnings).toEqual([
    "DURE_TOKENN is set, but dure reads no such variable; did you mean DURE_TOKEN?",
  ]);
});

test("a .env file sets what is not set yet", async () => {
  const folder = await mkdtemp(path.join(tmpdir(), "dure-env-"));
  await writeFile(
    path.join(folder, ".env"),
    "# secrets\nDURE_TEST_FROM_FILE=file\nDURE_TEST_SET=file\n",
  );
  process.env["DURE_TEST_SET"] = "before";
  try {
    expect(loadEnvFile(path.join(folder, "nowhere"))).toBeUndefined();
    expect(loadEnvFile(folder)).toBe(path.join(folder, ".env"));
    expect([process.env["DURE_TEST_FROM_FILE"], process.env["DURE_TEST_SET"]]).toEqual([
      "file",
      "before",
    ]);
  } finally {
    delete process.env["DURE_TEST_FROM_FILE"];
    delete process.env["DURE_TEST_SET"];
    await rm(folder, { recursive: true });
  }
});

test("each limit says where it comes from: environment before file before default", () => {
  const { document } = readYaml(
    "dure.yaml",
    "server:\n  port: 4700\n  host: 127.0.0.1\nmemory:\n  keep_recent_turns: " +
      "3\nbudgets:\n  team:\n    day: 20 USD\nservices: { faq: . }\n",
  );
  const config = checkTeam(document, ".");
  const environment = readEnvironment({ PORT: "4800", OPENAI_API_KEY: "sk-hunter2" });

  const limits = resolveLimits({ config, document }, environment);

  const told = Object.fromEntries(
    limits.map(({ key, value, origin }) => [key, `${String(value)} ${originText(origin)}`]),
  );
  expect(told).toMatchObject({
    "server.port": "4800 PORT",
    "server.host": "127.0.0.1 dure.yaml:3",
    "memory.keepRecentTurns": "3 dure.yaml:5",
    "memory.maxRawTurns": "12 default (docs/spec/conversation §5)",
    "limits.sessionQueue": "20 default (docs/spec/conversation §3)",
    "budgets.team.day": "20 USD dure.yaml:8",
    "budgets.turn": "no bound default (docs/guides/budgets.md)",
    model: "openai:gpt-4.1-mini OPENAI_API_KEY",
    OPENAI_API_KEY: "set OPENAI_API_KEY",
  });
  expect(JSON.stringify(limits)).not.toContain("hunter2");
  expect(settingsOf(config, environment)).toMatchObject({
    port: 4800,
    keepRecentTurns: 3,
    summarizeThreshold: 6,
    devMode: false,
  });
});

test("a variable that contradicts the file is refused", () => {
  const config = checkTeam(
    readYaml("dure.yaml", "memory: { summarizeThreshold: 5 }\nservices: { faq: . }\n").document,
    ".",
  );

  expect(() => settingsOf(config, readEnvironment({ MEMORY_KEEP_RECENT_TURNS: "9" }))).toThrow(
    /keepRecentTurns is 9 and memory.summarizeThreshold is 5/,
  );
});
