import { execFile } from "node:child_process";
import { mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { promisify } from "node:util";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { Problem } from "../engine/files/load-service-document.ts";
import { DureError } from "../kernel/errors.ts";
import { loadTeam, readTeam } from "./config.ts";

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(path.join(tmpdir(), "dure-config-"));
  await write(
    "services/faq/service.yaml",
    "name: faq\nagents:\n  helper: {}\nflows:\n  handlers: { DEFAULT: answer }\n",
  );
  await write(
    "services/faq/flows.js",
    "export async function* answer(turn) { return { message: turn.message }; }\n",
  );
});
afterEach(() => rm(folder, { recursive: true, force: true }));

async function write(file: string, text: string): Promise<void> {
  await mkdir(path.dirname(path.join(folder, file)), { recursive: true });
  await writeFile(path.join(folder, file), text);
}

async function failure(
  work: Promise<unknown>,
): Promise<DureError & { problems: readonly Problem[] }> {
  const error = await work.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  if (!(error instanceof DureError)) {
    throw new Error(`no DureError but ${String(error)}`, { cause: error });
  }
  return Object.assign(error, {
    problems: (error.details?.["problems"] ?? []) as readonly Problem[],
  });
}

const SERVICES = "services:\n  faq: ./services/faq\n";

describe("dure.yaml", () => {
  test("is read in either spelling, with services from their folders", async () => {
    await write(
      "dure.yaml",
      `name: 두레\nlocale: ko\ntime_zone: Asia/Seoul\nmodel: openai:gpt-5-mini\nserver: { ` +
        `devMode: true, port: 0 }\nbudgets:\n  team: { day: 20 USD }\n${SERVICES}`,
    );

    const team = await loadTeam(folder);

    expect(team.config).toMatchObject({
      name: "두레",
      timeZone: "Asia/Seoul",
      model: { provider: "openai", model: "gpt-5-mini" },
      server: { devMode: true, port: 0 },
      budgets: { team: { day: { microUsd: 20_000_000 } } },
    });
    expect(team.services["faq"]).toMatchObject({
      kind: "service",
      name: "faq",
      defaultFlow: "DEFAULT",
    });
  });

  test.each<[what: string, yaml: string, problem: Partial<Problem>]>([
    [
      "a value out of range",
      "server:\n  port: 70000\n",
      {
        line: 2,
        column: 3,
        key: "server.port",
        found: "70000",
        allowed: "a whole number from 0 to 65535",
      },
    ],
    [
      "a value of another type",
      "server:\n    port: many\n",
      {
        line: 2,
        column: 5,
        key: "server.port",
        found: '"many"',
        allowed: "a whole number from 0 to 65535",
      },
    ],
    [
      "a word that is not in the list",
      "locale: kr\n",
      { line: 1, column: 1, key: "locale", found: '"kr"', allowed: "ko, en" },
    ],
    [
      "an unknown key at the top",
      "langauge: ko\n",
      {
        line: 1,
        key: "langauge",
        message: expect.stringContaining('unknown key "langauge"') as string,
      },
    ],
    [
      "a misspelt key",
      "memory:\n  keep_recent_turn: 3\n",
      {
        line: 2,
        column: 3,
        key: "memory.keep_recent_turn",
        message: 'unknown key "keep_recent_turn"; did you mean "keepRecentTurns"?',
      },
    ],
    [
      "two spellings of one setting",
      "time_zone: UTC\ntimeZone: UTC\n",
      {
        line: 2,
        key: "timeZone",
        message: '"time_zone" and "timeZone" are one setting; keep one of them',
      },
    ],
    [
      "a time zone that does not exist",
      "timeZone: Asia/Soul\n",
      {
        line: 1,
        key: "timeZone",
        found: '"Asia/Soul"',
        allowed: "an IANA name such as Asia/Seoul",
      },
    ],
    [
      "a model of an unknown provider",
      "model: openia:gpt-5\n",
      {
        line: 1,
        key: "model",
        found: '"openia:gpt-5"',
        message: expect.stringContaining('Did you mean "openai:…"?') as string,
      },
    ],
    [
      "a budget without a unit",
      "budgets:\n  team:\n    day: twenty\n",
      {
        line: 3,
        column: 5,
        key: "budgets.team.day",
        found: '"twenty"',
        message: expect.stringContaining("is no budget") as string,
      },
    ],
    [
      "a duration out of range",
      "retention:\n  events: 5m\n",
      {
        line: 2,
        key: "retention.events",
        found: '"5m"',
        allowed: expect.stringContaining("from 1h to 365d") as string,
      },
    ],
    [
      "an origin in a list",
      "server:\n  origins:\n    - https://a.example\n    - a.example\n",
      { line: 4, column: 7, key: "server.origins.1", found: '"a.example"' },
    ],
    [
      "settings that contradict each other",
      "memory:\n  summarizeThreshold: 4\n  keepRecentTurns: 4\n",
      { line: 3, key: "memory.keepRecentTurns", allowed: "less than summarizeThreshold (4)" },
    ],
    [
      "an agent of a service that is not there",
      "agents:\n  ruda: { service: fqa }\n",
      {
        line: 2,
        column: 11,
        key: "agents.ruda.service",
        found: '"fqa"',
        allowed: "faq",
        hint: "did you mean faq?",
      },
    ],
    [
      "a misspelt key of plans",
      "plans: { remot: origin }\n",
      { line: 1, key: "plans.remot", message: 'unknown key "remot"; did you mean "remote"?' },
    ],
    [
      "a secret at the wrong place",
      "server:\n  token: hunter2\n",
      {
        line: 2,
        key: "server.token",
        message: expect.stringContaining('unknown key "token"') as string,
      },
    ],
  ])("names file, line, key, found and allowed for %s", async (_what, yaml, problem) => {
    await write("dure.yaml", yaml + SERVICES);

    const error = await failure(loadTeam(folder));

    expect(error.code).toBe("CONFIG_INVALID");
    expect(error.problems).toEqual([expect.objectContaining({ file: "dure.yaml", ...problem })]);
    expect(error.message).toContain(`dure.yaml:${problem.line}:`);
    expect(error.message).not.toContain("hunter2");
  });

  test("reports all problems together, in the order of their lines", async () => {
    await write("dure.yaml", `locale: kr\nserver:\n  port: -1\n  hots: x\nplans: []\n${SERVICES}`);

    const { problems } = await failure(loadTeam(folder));

    expect(problems.map(({ line, key }) => [line, key])).toEqual([
      [1, "locale"],
      [3, "server.port"],
      [4, "server.hots"],
      [5, "plans"],
    ]);
  });

  test("with broken syntax names the line", async () => {
    await write("dure.yaml", `name: x\nserver: { port: 1\n${SERVICES}`);

    expect((await failure(loadTeam(folder))).problems[0]).toMatchObject({
      file: "dure.yaml",
      line: expect.any(Number) as number,
    });
  });

  test("names the place where a missing group should stand", async () => {
    await write("dure.yaml", "name: x\n");

    expect((await failure(loadTeam(folder))).problems).toEqual([
      expect.objectContaining({ key: "services", message: "is missing" }),
    ]);
  });

  test("refuses a service under another name than its own, and a folder that is not there", async () => {
    await write("dure.yaml", "services:\n  help: ./services/faq\n");
    expect((await failure(loadTeam(folder))).problems[0]).toMatchObject({
      line: 2,
      key: "services.help",
      allowed: "the service's own name as key: faq",
    });

    await write("dure.yaml", "services:\n  faq: ./service/faq\n");
    expect((await failure(loadTeam(folder))).problems[0]).toMatchObject({
      line: 2,
      key: "services.faq",
      message: "names a folder that does not exist",
    });
  });
});

describe("dure.config.ts", () => {
  test("is imported as TypeScript, and an error names the line of the key", async () => {
    await write(
      "dure.config.ts",
      `
      // port: 1 in a comment, and "port: 2" in a text
      const note: string = "server: { port: 3 }";
      export default {
        name: note,
        services: { faq: "./services/faq" },
        server: {
          host: "127.0.0.1",
          "port": 70_000,
        },
        agents: { ruda: { leads: "yes" } },
      };`,
    );

    const { problems } = await failure(loadTeam(folder));

    expect(problems).toEqual([
      expect.objectContaining({
        file: "dure.config.ts",
        line: 9,
        column: 11,
        key: "server.port",
        found: "70000",
      }),
      expect.objectContaining({
        file: "dure.config.ts",
        line: 11,
        key: "agents.ruda.leads",
        found: '"yes"',
        allowed: "true or false",
      }),
    ]);
  });

  test("says which code of other folders the team runs, also by a linked package", async () => {
    const team = path.join(folder, "team");
    await write("shop/prices.ts", 'export { tax } from "./tax.ts";\n');
    await write("shop/tax.ts", "export const tax: number = 1;\n");
    await write(
      "tools/package.json",
      '{ "name": "tools", "type": "module", "exports": "./all.js" }',
    );
    await write("tools/all.js", "export const tools = [];\n");
    await write("team/node_modules/kept/index.js", "module.exports = 1;\n");
    await symlink(path.join(folder, "tools"), path.join(team, "node_modules/tools"));
    await write(
      "team/dure.config.ts",
      `import "kept"; import "./own.ts"; import "tools"; import "../shop/prices.ts";
export default { services: { faq: "../services/faq" }, mcp: { stock: { command: "node", args: ["../stock.js"] } } };
`,
    );
    await write("team/own.ts", "export {};\n");
    const at = (...names: readonly string[]): readonly string[] =>
      names.map((name) => path.join(folder, name));

    // The tests' own runner imports in another way than Node.
    const script = `
      import { loadTeam } from ${JSON.stringify(new URL("config.ts", import.meta.url).href)};
      import { runsFromElsewhere } from ${JSON.stringify(new URL("repositories.ts", import.meta.url).href)};
      console.log(JSON.stringify(runsFromElsewhere(await loadTeam(${JSON.stringify(team)}))));`;
    const flags = ["--conditions=dure-source", "--input-type=module"];
    const { stdout } = await promisify(execFile)(process.execPath, [...flags, "-e", script]);

    expect(JSON.parse(stdout)).toEqual({
      folders: at("services/faq"),
      files: [
        ...at("tools/all.js", "shop/prices.ts", "shop/tax.ts", "services/faq/flows.js"),
        ...at("team/node", "stock.js"),
      ],
    });
  });

  test("is read as it is written in a package of the type commonjs, now and anew", async () => {
    await write("package.json", '{ "type": "commonjs" }');
    await write(
      "dure.config.ts",
      `import { name } from "./name.ts"; import { locale } from "./old.ts";
const offlineModels = async () => (await import("./offline.ts")).models;
export default { name, locale, offlineModels, services: { faq: "./services/faq" } };
`,
    );
    await write("name.ts", 'const name: string = "shop"; export { name };\n');
    await write("old.ts", 'exports.locale = "ko" as string;\n');
    await write("offline.ts", 'export const models: readonly string[] = ["late"];\n');

    const script = `
      import { loadTeam } from ${JSON.stringify(new URL("config.ts", import.meta.url).href)};
      import { withFreshModules } from ${JSON.stringify(new URL("fresh-modules.ts", import.meta.url).href)};
      const folder = ${JSON.stringify(folder)};
      const teams = [await loadTeam(folder), await withFreshModules(folder, () => loadTeam(folder))];
      const told = teams.map(async ({ config, services }) =>
        [config.name, config.locale, ...(await config.offlineModels()), ...Object.keys(services)]);
      console.log(JSON.stringify(await Promise.all(told)));`;
    const flags = ["--conditions=dure-source", "--input-type=module"];
    const { stdout } = await promisify(execFile)(process.execPath, [...flags, "-e", script]);

    const team = ["shop", "ko", "late", "faq"];
    expect(JSON.parse(stdout)).toEqual([team, team]);
  });

  test("that throws, or exports nothing, says so", async () => {
    await write("dure.config.js", "import './nothing.js';\nexport default {};\n");
    expect(await failure(loadTeam(folder))).toMatchObject({
      code: "CONFIG_UNREADABLE",
      message: expect.stringMatching(/^dure\.config\.js(:1)? cannot be loaded/) as string,
    });
    await rm(path.join(folder, "dure.config.js"));

    await write("dure.config.mjs", "export const team = {};\n");
    expect((await failure(loadTeam(folder))).problems[0]).toMatchObject({
      file: "dure.config.mjs",
      message: "has no team as its default export",
    });
  });

  test("beside dure.yaml is one too many, and none is one too few", async () => {
    expect(await failure(loadTeam(folder))).toMatchObject({
      code: "CONFIG_MISSING",
      hint: expect.stringContaining("dure init") as string,
    });

    await write("dure.yaml", SERVICES);
    await write("dure.config.js", "export default {};");
    expect(await failure(loadTeam(folder))).toMatchObject({ code: "CONFIG_TWICE" });
  });
});

test("places are named in full, and one that cannot be meant is refused with its key", async () => {
  const rooms = (more: object) => ({
    adapters: ["web", "discord"],
    channels: { general: { discord: "123456789012345678" }, quiet: { collaborate: false } },
    ...more,
  });
  const read = async (more: object, ruda: object = {}) =>
    readTeam({ services: {}, agents: { ruda }, rooms: rooms(more) }, folder);
  const problemOf = async (more: object, ruda: object = {}): Promise<unknown> => {
    const [problem] = (await failure(read(more, ruda))).problems as readonly unknown[];
    return problem;
  };

  const listed = ["discord:general", "web:general"];
  expect((await read({ defaultChannel: listed })).config.rooms?.defaultChannel).toEqual(listed);
  const { config } = await read({ defaultChannel: "discord:general" }, { channel: "general" });
  expect(config.agents?.["ruda"]?.channel).toBe("general");

  const all = "web:general, discord:general, web:quiet";
  expect(await problemOf({ defaultChannel: "discord:generl" })).toMatchObject({
    key: "rooms.defaultChannel",
    message: "names no channel of this team",
    found: '"discord:generl"',
    allowed: all,
    hint: "did you mean discord:general?",
  });
  expect(await problemOf({}, { channel: "slack:general" })).toMatchObject({
    key: "agents.ruda.channel",
    found: '"slack:general"',
    allowed: all,
  });
  expect(
    await problemOf({ defaultChannel: ["discord:general", "discord:123456789012345678"] }),
  ).toMatchObject({ message: "names more than one channel on discord" });
  expect(await problemOf({ defaultChannel: "web:quiet" })).toMatchObject({
    message: "names a channel that takes no collaborations",
    allowed: "web:general, discord:general",
  });
  expect(await problemOf({ defaultChannel: 5 })).toMatchObject({ key: "rooms.defaultChannel" });
});

test("escalations name an agent that answers for itself, a channel that is there, an address, and times", async () => {
  const team = (escalations: object): Parameters<typeof readTeam>[0] => ({
    services: { faq: "./services/faq" },
    agents: { ruda: {}, bank: { service: "faq" } },
    rooms: { channels: { ops: {} } },
    escalations,
  });
  const problemsOf = async (escalations: object): Promise<unknown> =>
    (await failure(readTeam(team(escalations), folder))).problems;

  expect(
    (
      await readTeam(
        team({
          operator: "ruda",
          room: "ops",
          webhook: "https://ops.example/hook",
          after: { critical: "2m", high: 60_000 },
        }),
        folder,
      )
    ).config.escalations,
  ).toEqual({
    operator: "ruda",
    room: "ops",
    webhook: "https://ops.example/hook",
    after: { critical: 120_000, high: 60_000 },
  });
  expect(await problemsOf({ operator: "rudda", room: "op" })).toEqual([
    expect.objectContaining({
      key: "escalations.operator",
      message: "names no agent of this team",
      allowed: "ruda, bank",
      hint: "did you mean ruda?",
    }),
    expect.objectContaining({
      key: "escalations.room",
      message: "names no channel of this team",
      allowed: "web:ops",
      hint: "did you mean ops?",
    }),
  ]);
  expect(await problemsOf({ operator: "bank" })).toEqual([
    expect.objectContaining({ key: "escalations.operator", allowed: "an agent without service" }),
  ]);
  expect(
    await problemsOf({ webhook: "ftp://ops.example", after: { critical: "0s", low: "1m" } }),
  ).toEqual(
    expect.arrayContaining([
      expect.objectContaining({
        key: "escalations.webhook",
        allowed: "an address that begins with http:// or https://",
      }),
      expect.objectContaining({
        key: "escalations.after.critical",
        allowed: expect.stringContaining("from 1s to 7d") as string,
      }),
      expect.objectContaining({ key: "escalations.after.low" }),
    ]),
  );
});

test("a team in code is checked by the same schema", async () => {
  const error = await failure(
    readTeam({ services: { faq: "./services/faq" }, server: { port: 1.5 } }, folder),
  );

  expect(error.problems).toEqual([
    expect.objectContaining({ file: "defineTeam", key: "server.port", found: "1.5" }),
  ]);
});
