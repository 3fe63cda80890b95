import { mkdir, mkdtemp, readFile, rm, stat, symlink, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { isObject } from "../../kernel/json.ts";
import { memberPlace, prepareHome } from "./member-home.ts";
import { agentSpec } from "./presets.ts";

const CLAUDE = agentSpec({ agent: "claude", way: "acp" });

/** A person's home folder with these files, and the place of a member. */
async function aPerson(files: Readonly<Record<string, string>>) {
  const folder = await mkdtemp(join(tmpdir(), "dure-homes-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const person = join(folder, "person");
  for (const [path, text] of Object.entries(files)) {
    await mkdir(dirname(join(person, path)), { recursive: true });
    await writeFile(join(person, path), text);
  }
  const scratch = join(folder, "scratch");
  await mkdir(scratch);
  return { person, place: memberPlace(scratch, "implementer"), scratch };
}

const LOGIN = ".claude/.credentials.json";
const SETTINGS = ".claude/settings.json";

test("a member gets copies of login and settings, without hooks and with the login closed", async () => {
  const { person, place } = await aPerson({
    [LOGIN]: '{"token":"secret"}',
    [SETTINGS]: JSON.stringify({
      model: "opus",
      env: { ANTHROPIC_BASE_URL: "https://gateway.example.org" },
      hooks: { Stop: [{ hooks: [{ type: "command", command: "curl example.org" }] }] },
      permissions: { defaultMode: "bypassPermissions" },
    }),
    ".claude/projects/other.jsonl": "a conversation of the person's",
  });

  await prepareHome(place, CLAUDE, { home: person });

  const settings: unknown = JSON.parse(await readFile(join(place.home, SETTINGS), "utf8"));
  expect(settings).toEqual({
    model: "opus",
    env: { ANTHROPIC_BASE_URL: "https://gateway.example.org" },
    permissions: { defaultMode: "default", deny: [`Read(~/${LOGIN})`, `Edit(~/${LOGIN})`] },
  });
  expect(await readFile(join(place.home, LOGIN), "utf8")).toBe('{"token":"secret"}');
  expect((await stat(join(place.home, LOGIN))).mode & 0o777).toBe(0o600);
  await expect(stat(join(place.home, ".claude/projects"))).rejects.toThrow("ENOENT");
});

test("what a worker planted in its settings is gone, and a login that it renewed stays", async () => {
  const { person, place } = await aPerson({ [LOGIN]: "old" });
  await utimes(join(person, LOGIN), 1_000, 1_000);
  await prepareHome(place, CLAUDE, { home: person });
  await writeFile(join(place.home, LOGIN), "renewed");
  await writeFile(join(place.home, SETTINGS), '{"hooks":{"Stop":[]}}');

  await prepareHome(place, CLAUDE, { home: person });

  const settings: unknown = JSON.parse(await readFile(join(place.home, SETTINGS), "utf8"));
  expect(isObject(settings) && Object.keys(settings)).toEqual(["permissions"]);
  expect(await readFile(join(place.home, LOGIN), "utf8")).toBe("renewed");
  expect(await readFile(join(person, LOGIN), "utf8")).toBe("old");
});

test("a link that a worker left is not written through to the person's own files", async () => {
  const { person, place } = await aPerson({ [LOGIN]: "login", [SETTINGS]: "{}" });
  await prepareHome(place, CLAUDE, { home: person });
  const own = '{"hooks":"the person\'s"}';
  await writeFile(join(person, SETTINGS), own);
  await rm(join(place.home, ".claude"), { recursive: true });
  await symlink(join(person, ".claude"), join(place.home, ".claude"));
  await prepareHome(place, CLAUDE, { home: person });
  expect(await readFile(join(person, SETTINGS), "utf8")).toBe(own);

  await rm(join(place.home, SETTINGS));
  await symlink(join(person, SETTINGS), join(place.home, SETTINGS));
  await rm(place.tmp, { recursive: true });
  await symlink(person, place.tmp);
  await prepareHome(place, CLAUDE, { home: person });

  expect(await readFile(join(person, SETTINGS), "utf8")).toBe(own);
  expect(await readFile(join(person, LOGIN), "utf8")).toBe("login");
  expect((await stat(place.tmp)).isDirectory()).toBe(true);
});

test("each member has a home of its own, and none lies in a folder of temporary files", async () => {
  const { person, place, scratch } = await aPerson({ ".codex/auth.json": "{}" });
  const tester = memberPlace(scratch, "tester");
  const codex = agentSpec({ agent: "codex", way: "acp" });

  await prepareHome(place, codex, { home: person });
  await prepareHome(tester, codex, { home: person });

  expect(await readFile(join(tester.home, ".codex/auth.json"), "utf8")).toBe("{}");
  expect(tester.home).not.toBe(place.home);
  for (const { home, tmp } of [place, tester]) expect(home.startsWith(tmp)).toBe(false);
});

test("what a plan copies besides is bounded", async () => {
  const many = Object.fromEntries(Array.from({ length: 300 }, (_, at) => [`notes/${at}`, "x"]));
  const { person, place } = await aPerson(many);

  await prepareHome(place, { copyHome: ["notes/1", "missing"] }, { home: person });
  expect(await readFile(join(place.home, "notes/1"), "utf8")).toBe("x");

  await expect(prepareHome(place, { copyHome: ["notes"] }, { home: person })).rejects.toMatchObject(
    {
      code: "COPY_HOME_TOO_LARGE",
    },
  );
});

const SETTINGS_OF = {
  codex: [
    ".codex/config.toml",
    [
      'model = "gpt-5-codex"',
      "notify = [",
      '  "sh", "-c", "curl example.org",',
      "]",
      'model_provider = "proxy"',
      "[mcp_servers.mail]",
      'command = "mail"',
      "[mcp_servers.mail.env]",
      'TOKEN = "secret"',
      "[[hooks.stop]]",
      'command = "curl example.org"',
      "[model_providers.proxy]",
      'base_url = "https://gateway.example.org"',
    ].join("\n"),
    ["gpt-5-codex", "model_provider", "gateway.example.org"],
  ],
  opencode: [
    ".config/opencode/opencode.jsonc",
    `{
      // of a team: "https://…"
      "model": "anthropic/claude",
      "provider": { "a": { "options": { "baseURL": "https://gateway.example.org" }, }, },
      "mcp": { "mail": { "command": ["mail"], "environment": { "TOKEN": "secret" } } },
      "plugin": ["curl"], /* and more */
      "permission": { "bash": "allow" },
    }`,
    ["anthropic/claude", "gateway.example.org"],
  ],
  gemini: [
    ".gemini/settings.json",
    JSON.stringify({
      security: { auth: { selectedType: "oauth-personal" }, disableYoloMode: true },
      model: { name: "gemini-pro" },
      mcpServers: { mail: { command: "mail", env: { TOKEN: "secret" } } },
      hooks: { AfterTool: [{ command: "curl" }] },
      tools: { discoveryCommand: "curl", sandbox: "curl" },
    }),
    ["oauth-personal", "gemini-pro"],
  ],
  qwen: [
    ".qwen/settings.json",
    JSON.stringify({
      security: { auth: { selectedType: "openai" } },
      modelProviders: { openai: [{ id: "qwen3" }] },
      mcpServers: { mail: { command: "mail", env: { TOKEN: "secret" } } },
      hooks: { Stop: [{ command: "curl" }] },
    }),
    ["openai", "qwen3"],
  ],
} as const;

test.each(Object.entries(SETTINGS_OF))(
  "settings of %s come without programs and their secrets, and a planted one is gone",
  async (agent, [path, original, kept]) => {
    const { person, place } = await aPerson({ [path]: original });
    const spec = agentSpec({ agent: agent as keyof typeof SETTINGS_OF, way: "acp" });
    await prepareHome(place, spec, { home: person });
    const text = await readFile(join(place.home, path), "utf8");
    for (const words of kept) expect(text).toContain(words);
    for (const words of ["secret", "curl", "mail", "disableYolo", '"bash"']) {
      expect(text).not.toContain(words);
    }
    await writeFile(join(place.home, path), "planted");

    await prepareHome(place, spec, { home: person });

    expect(await readFile(join(place.home, path), "utf8")).toBe(text);
    await rm(join(person, path));
    await writeFile(join(place.home, path), "planted");
    await prepareHome(place, spec, { home: person });
    const left = await readFile(join(place.home, path), "utf8").catch(() => "");
    expect(left).not.toContain("planted");
  },
);
