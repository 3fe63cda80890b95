// @module-tag slow
import {
  appendFile,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  rm,
  symlink,
  writeFile,
} from "node:fs/promises";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import { Writable } from "node:stream";
import { fileURLToPath } from "node:url";
import { FakeDiscord, FakeSlack } from "@dure/testing";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from "vitest";
import { notKorean } from "../../test/languages/mixed-lines.ts";
import { sampled } from "../kernel/test-tiers.ts";
import { initTeam } from "./init-team.ts";
import { main } from "./program.ts";

/** Mistakes that people make, planted one by one into a new team; doctor names each. */
interface Mistake {
  readonly name: string;
  readonly plant?: (team: string) => Promise<unknown>;
  readonly env?: Readonly<Record<string, string>>;
  /** Where it is and what to do: each fits the text, in this order. */
  readonly told: readonly RegExp[];
}

const PACKAGES = fileURLToPath(new URL("../../../../node_modules", import.meta.url));

/** Another program, and the server of another team. */
let program: Server;
let otherTeam: Server;
/** Of another maker, whose health looks like ours. */
let wellProgram: Server;
let discord: FakeDiscord;
let slack: FakeSlack;
/** The platform's ids of the room `desk`: a forum, and a channel that the app is not in. */
let forum: string;
let desk: string;
let folder: string;
let team: string;

beforeAll(async () => {
  program = await serving("not dure");
  wellProgram = await serving('{"status":"ok"}');
  otherTeam = await serving('{"status":"ok","version":"1.0.0","process_id":"process_other"}');
  discord = await FakeDiscord.start();
  forum = discord.addChannel(discord.addGuild("Demo"), "desk", "forum").id;
  for (const name of ["mina", "theo"]) discord.addBot({ name, token: `token-${name}` });
  slack = await FakeSlack.start();
  const scopes = ["chat:write", "channels:history", "channels:read", "users:read"];
  const channel = slack.addChannel("desk");
  desk = channel.id;
  const app = slack.addApp({ name: "old", botToken: "xoxb-old", appToken: "xapp-old", scopes });
  slack.removeFrom(channel, app);
});

afterAll(async () => {
  await discord.stop();
  await slack.stop();
  for (const server of [program, otherTeam, wellProgram]) {
    await new Promise((resolve) => server.close(resolve));
  }
});

beforeEach(async () => {
  folder = await mkdtemp(path.join(tmpdir(), "dure-mistake-"));
  await symlink(PACKAGES, path.join(folder, "node_modules"));
  team = (await initTeam("demo", { folder, version: "0.1.0" })).folder;
  for (const name of Object.keys(process.env)) {
    const isRead = /^(DURE_|MEMORY_|DATABASE_URL$|PORT$|HOST$)/.test(name);
    if (isRead) vi.stubEnv(name, undefined);
  }
});

afterEach(async () => {
  vi.unstubAllEnvs();
  await rm(folder, { recursive: true });
});

const MISTAKES: readonly Mistake[] = [
  {
    name: "a comma is missing in the configuration",
    plant: (at) => change(at, "dure.config.ts", 'locale: "en",', 'locale: "en"'),
    told: [/fail config: .*dure\.config\.ts/],
  },
  {
    name: "a key of the configuration is misspelt",
    plant: (at) => change(at, "dure.config.ts", "timeZone:", "timezonne:"),
    told: [/dure\.config\.ts:7/, /timezonne/, /did you mean "timeZone"/],
  },
  {
    name: "a language that dure does not speak",
    plant: (at) => change(at, "dure.config.ts", '"en"', '"jp"'),
    told: [/dure\.config\.ts:6.*locale/],
  },
  {
    name: "a time zone that does not exist",
    plant: (at) => change(at, "dure.config.ts", '"UTC"', '"Seoul"'),
    told: [/dure\.config\.ts:7.*timeZone/],
  },
  {
    name: "a limit below its range",
    plant: (at) => configure(at, "limits: { maxFillTurns: 0 },"),
    told: [/dure\.config\.ts:\d+.*maxFillTurns/],
  },
  {
    name: "two configurations",
    plant: (at) => writeFile(path.join(at, "dure.yaml"), "name: demo\n"),
    told: [/CONFIG_TWICE.*dure\.config\.ts and dure\.yaml/, /Delete or rename/],
  },
  {
    name: "no configuration",
    plant: (at) => rm(path.join(at, "dure.config.ts")),
    told: [/CONFIG_MISSING/, /dure init/],
  },
  {
    name: "the imported service is not there",
    plant: (at) => rm(path.join(at, "services", "minimal", "service.ts")),
    told: [/services\/minimal/],
  },
  {
    name: "a service does not compile",
    plant: (at) => change(at, "services/minimal/service.ts", "agents: { helper }", "agents: {"),
    told: [/fail service: services\/minimal\/service\.ts:13/],
  },
  {
    name: "a service throws when it is loaded",
    plant: (at) =>
      appendFile(path.join(at, "services/minimal/service.ts"), "throw new Error('no bank');\n"),
    told: [/fail service: services\/minimal\/service\.ts:23.*no bank/],
  },
  {
    name: "a package is not installed",
    plant: (at) =>
      appendFile(path.join(at, "services/minimal/service.ts"), 'import "left-pad-9";\n'),
    told: [/fail service: services\/minimal\/service\.ts:23.*left-pad-9/, /npm install/],
  },
  {
    name: "the folder of an agent was deleted",
    plant: (at) => rm(path.join(at, "agents", "mina"), { recursive: true }),
    told: [/agents\/mina is missing/, /dure new agent mina/],
  },
  {
    name: "an unknown key in an agent's file",
    plant: (at) => writeFile(path.join(at, "agents/mina/agent.yaml"), "displayname2: Mina\n"),
    told: [/agents\/mina\/agent\.yaml/, /displayname2/],
  },
  {
    name: "an agent answers through a service that is not there",
    plant: (at) =>
      change(at, "dure.config.ts", 'displayName: "Mina"', 'displayName: "Mina", service: "minmal"'),
    told: [/dure\.config\.ts:\d+/, /minmal/, /minimal/],
  },
  {
    name: "an agent's card names an MCP server that the team does not have",
    plant: async (at) => {
      await configure(at, `mcp: { files: { command: ${JSON.stringify(process.execPath)} } },`);
      await change(at, "dure.config.ts", 'displayName: "Mina"', 'card: { mcp: ["fils"] }');
    },
    told: [/MCP_SERVER_UNKNOWN.*"fils"/, /files/],
  },
  {
    name: "the program of an MCP server is not there",
    plant: async (at) => {
      await configure(at, 'mcp: { files: { command: "no-such-mcp-server" } },');
      await change(at, "dure.config.ts", 'displayName: "Mina"', 'card: { mcp: ["files"] }');
    },
    told: [/fail mcp files: .*no-such-mcp-server/, /mcp\.files of the configuration/],
  },
  {
    name: "the program of an MCP server of one service is not there, and no card names it",
    plant: (at) =>
      change(
        at,
        "services/minimal/service.ts",
        "agents: { helper }",
        'mcp: { own: { command: "no-such-mcp-server" } }, agents: { helper }',
      ),
    told: [/fail mcp minimal\/own: .*no-such-mcp-server/, /mcp\.own of the service minimal/],
  },
  {
    name: "an MCP server without a program and without an address",
    plant: (at) => configure(at, 'mcp: { files: { args: ["-y"] } },'),
    told: [/dure\.config\.ts:\d+.*mcp\.files.*no command and no url/],
  },
  {
    name: "a room on a platform that the team does not use",
    plant: (at) =>
      configure(
        at,
        'rooms: { channels: [{ key: "dev", adapter: "discord", name: "dev", channel: "1" }] },',
      ),
    told: [/dure\.config\.ts:\d+/, /discord/],
  },
  {
    name: "two agents on one bot of Discord",
    plant: (at) => configure(at, roomsOn("discord")),
    env: { DISCORD_TOKEN_MINA: "token-1", DISCORD_TOKEN_THEO: "token-1" },
    told: [
      /fail rooms: TOKEN_SHARED mina \(DISCORD_TOKEN_MINA\) and theo \(DISCORD_TOKEN_THEO\)/,
      /make a bot for each/,
    ],
  },
  {
    name: "a forum as the room of escalations",
    plant: (at) => {
      vi.stubEnv("DISCORD_API_URL", discord.url);
      return configure(at, `${roomsOn("discord")}\n  escalations: { room: "desk" },`);
    },
    env: { DISCORD_TOKEN_MINA: "token-mina", DISCORD_TOKEN_THEO: "token-theo" },
    told: [
      /fail discord mina: .*dure\.config\.ts:16 escalations\.room: .*#desk .*is a forum/,
      /Name a room in escalations\.room that is a text channel/,
    ],
  },
  {
    name: "an app of Slack from before the stop sign and the command",
    plant: (at) => {
      vi.stubEnv("SLACK_API_URL", slack.url);
      return configure(at, roomsOn("slack"));
    },
    env: { SLACK_BOT_TOKEN: "xoxb-old", SLACK_APP_TOKEN: "xapp-old" },
    told: [
      /fail slack mina: .*the app lacks reactions:read, commands, chat:write\.customize/,
      /warn slack mina: .*without files:read, files:write files are passed on by name alone/,
      /OAuth & Permissions, then install the app again/,
    ],
  },
  {
    name: "an app of Slack that is not in the room",
    plant: (at) => {
      vi.stubEnv("SLACK_API_URL", slack.url);
      return configure(at, roomsOn("slack"));
    },
    env: { SLACK_BOT_TOKEN: "xoxb-old", SLACK_APP_TOKEN: "xapp-old" },
    told: [
      /fail slack mina: .*dure\.config\.ts:14 rooms\.channels\.desk: .*not in #desk/,
      /invite @old/,
    ],
  },
  {
    name: "the provider of a model is misspelt",
    env: { DURE_MODEL: "antropic:claude-haiku-4-5" },
    told: [/DURE_MODEL/, /antropic/],
  },
  {
    name: "no key for the model",
    env: { DURE_MODEL: "anthropic:claude-haiku-4-5" },
    told: [/fail model: anthropic:claude-haiku-4-5/, /ANTHROPIC_API_KEY/],
  },
  {
    name: "the name of a key is misspelt",
    env: { ANTROPIC_API_KEY: "sk-1" },
    told: [/warn environment: ANTROPIC_API_KEY.*did you mean ANTHROPIC_API_KEY/],
  },
  {
    name: "no model at all",
    told: [/warn model: .*no model is set/, /\.env/],
  },
  {
    name: "nothing answers at the address of the model",
    plant: async () => vi.stubEnv("OPENAI_BASE_URL", `http://127.0.0.1:${await closedPort()}`),
    env: { DURE_MODEL: "openai:gpt-4.1-mini", OPENAI_API_KEY: "sk-1" },
    told: [/fail model: openai:gpt-4\.1-mini/, /ECONNREFUSED 127\.0\.0\.1/],
  },
  {
    name: "the address of the model has no scheme",
    env: { OPENAI_BASE_URL: "localhost:11434" },
    told: [/OPENAI_BASE_URL/, /http:\/\//],
  },
  {
    name: "a port that is none",
    env: { PORT: "4600x" },
    told: [/PORT.*4600x/, /whole number/],
  },
  {
    name: "another program has the port",
    plant: async () => vi.stubEnv("PORT", portOf(program)),
    told: [/fail port: 127\.0\.0\.1:\d+ cannot be used \(EADDRINUSE\)/, /PORT/],
  },
  {
    name: "another team has the port",
    plant: async () => vi.stubEnv("PORT", portOf(otherTeam)),
    told: [/fail port: 127\.0\.0\.1:\d+ belongs to the server of another team/, /PORT/],
  },
  {
    name: "another program that answers as if it were well has the port",
    plant: async () => vi.stubEnv("PORT", portOf(wellProgram)),
    told: [/fail port: 127\.0\.0\.1:\d+ cannot be used \(EADDRINUSE\)/, /PORT/],
  },
  {
    name: "an address that is not of this machine",
    env: { HOST: "203.0.113.7" },
    told: [/fail port: 203\.0\.113\.7:4600 cannot be used \(EADDRNOTAVAIL\)/, /HOST/],
  },
  {
    name: "open to others without a token",
    env: { HOST: "0.0.0.0" },
    told: [/fail token: 0\.0\.0\.0/, /DURE_TOKEN/],
  },
  {
    name: "a token that is too short",
    env: { DURE_TOKEN: "short" },
    told: [/DURE_TOKEN.*not shown/, /16 characters/],
  },
  {
    name: "a variable of dure that does not exist",
    env: { DURE_HOMES: "/tmp" },
    told: [/warn environment: DURE_HOMES.*did you mean DURE_HOME/],
  },
  {
    name: "a variable with a prefix that it does not have",
    env: { DURE_PORT: "4700" },
    told: [/warn environment: DURE_PORT.*did you mean PORT\?/],
  },
  {
    name: "a line of .env without =, and a quote that stays open",
    plant: (at) => writeFile(path.join(at, ".env"), "# keys\nOPENAI_API_KEY sk-1\nA='b\nC=d\n"),
    told: [/warn environment: \.env:2 has no =/, /\.env:3 opens a quote/],
  },
  {
    name: "the data folder is a file",
    plant: async (at) => vi.stubEnv("DURE_HOME", path.join(at, "README.md")),
    told: [/fail data folder: .*README\.md.*is a file/, /DURE_HOME/],
  },
  {
    name: "the data folder is where no process can write",
    env: { DURE_HOME: "/proc/nothing" },
    told: [/fail data folder: \/proc\/nothing/, /DURE_HOME/],
  },
  {
    name: "the address of the database is none",
    env: { DATABASE_URL: "localhost/dure" },
    told: [/DATABASE_URL.*not shown/, /postgres:\/\//],
  },
  {
    name: "nothing answers at the address of the database",
    env: { DATABASE_URL: "postgres://dure:secret@127.0.0.1:1/dure" },
    told: [/fail database: .*127\.0\.0\.1:1/],
  },
  {
    name: "a plan that is no YAML",
    plant: (at) => plan(at, "login.yaml", "plan: login\nports: [\n"),
    told: [/fail plan: plans\/login\.yaml:\d+/],
  },
  {
    name: "a hook whose secret is not set",
    plant: (at) =>
      change(
        at,
        "dure.config.ts",
        "agents: {",
        'hooks: { ci: { secret: "${DURE_NO_SUCH}", plan: "login" } }, agents: {',
      ),
    told: [
      /warn hook ci: POST \/v1\/hooks\/ci: a run of the plan login.*\$\{DURE_NO_SUCH\} is not set/,
      /\d warnings?: .*First: /,
    ],
  },
  {
    name: "a plan with an unknown key",
    plant: (at) => plan(at, "login.yaml", "plan: login\nportz: []\n"),
    told: [/fail plan: plans\/login\.yaml:2.*portz.*did you mean "ports"/],
  },
];

describe("doctor", () => {
  const rows = sampled(MISTAKES, 12);
  test.each(rows.rows)("names the mistake: $name", rows.options, async ({ plant, env, told }) => {
    for (const [name, value] of Object.entries(env ?? {})) vi.stubEnv(name, value);
    await plant?.(team);
    const before = await filesOf(team);

    const { text } = await doctor(team);

    expect(text).not.toContain("Nothing is in the way");
    for (const words of told) expect(text).toMatch(words);
    expect(text).not.toContain("secret@");
    expect(await filesOf(team)).toEqual(before);

    vi.stubEnv("LANG", "ko_KR.UTF-8");
    const korean = await doctor(team);

    expect(notKorean(korean.text, GIVEN)).toEqual([]);
  });

  test("says in its last line that nothing is wrong, and leaves the disk as it was", async () => {
    await change(
      team,
      "dure.config.ts",
      "agents: {",
      'model: "offline:own", offlineModels: [OWN], agents: {',
    );
    await change(team, "dure.config.ts", "export default", `${OWN_MODEL}export default`);
    const before = await filesOf(team);

    const { exitCode, text } = await doctor(team);

    expect(text.trim().split("\n").at(-1)).toBe("Nothing is in the way of a start.");
    expect(text).not.toContain("limits.maxFillTurns");
    expect(exitCode).toBe(0);
    expect(await filesOf(team)).toEqual(before);
  });
});

/** Names of the team, and what other programs say. */
const GIVEN = [
  ...["demo", "minimal", "mina", "theo", "files", "#desk", "Demo", "own", "old", "mcp", "commands"],
  ...["git version", "no bank", "Transform failed with 1 error", "left-pad-9", "import"],
  ...["Cannot find module", "Cannot find package", "imported from"],
  ...["spawn no-such-mcp-server", "spawn", "connect ECONNREFUSED"],
];

/** A stand-in of the team's own: no warning that there is no model. */
const OWN_MODEL = `const OWN = { name: "own", respond: () => ({ text: "ok" }) };\n`;

async function change(at: string, file: string, from: string, to: string): Promise<void> {
  const text = await readFile(path.join(at, file), "utf8");
  expect(text).toContain(from);
  await writeFile(path.join(at, file), text.replace(from, to));
}

function configure(at: string, lines: string): Promise<void> {
  return change(at, "dure.config.ts", "agents: {", `${lines}\n  agents: {`);
}

/** A team with the room `desk` on one platform; its key stands in the 14th line. */
function roomsOn(platform: "discord" | "slack"): string {
  const id = platform === "discord" ? `discord: "${forum}"` : `ids: { slack: "${desk}" }`;
  return [`rooms: { adapters: ["${platform}"], channels: {`, `    desk: { ${id} },`, "  } },"].join(
    "\n",
  );
}

async function plan(at: string, name: string, text: string): Promise<void> {
  await mkdir(path.join(at, "plans"));
  await writeFile(path.join(at, "plans", name), text);
}

async function doctor(at: string): Promise<{ exitCode: number; text: string }> {
  let text = "";
  const into = (): NodeJS.WriteStream =>
    new Writable({
      write: (part: Buffer, _, done) => ((text += part.toString()), done()),
    }) as unknown as NodeJS.WriteStream;
  const exitCode = await main(["doctor", "--dir", at], {
    stdin: process.stdin,
    stdout: into(),
    stderr: into(),
  });
  return { exitCode, text };
}

async function filesOf(at: string): Promise<readonly string[]> {
  return (await readdir(at, { recursive: true })).sort();
}

async function serving(text: string): Promise<Server> {
  const server = createServer((_request, response) => {
    response.setHeader("content-type", "application/json");
    response.end(text);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return server;
}

async function closedPort(): Promise<string> {
  const server = await serving("");
  const port = portOf(server);
  await new Promise((resolve) => server.close(resolve));
  return port;
}

function portOf(server: Server): string {
  return String((server.address() as AddressInfo).port);
}
