import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { FULL } from "../../kernel/test-tiers.ts";
import { parsePlan } from "../plan-file.ts";
import { policyOfWorker } from "../network-needs.ts";
import { assertLeavesSecrets } from "../own-secrets.ts";
import { assertStaysInside } from "../plan-reach.ts";
import type { Plan } from "../plan.ts";
import { systemClock } from "../../kernel/clock.ts";
import { CommandWorker } from "../workers/command.ts";
import { aPlace, workOn } from "../workers/test-worker.ts";
import { memberPlace, prepareHome } from "./member-home.ts";
import { codexSettings } from "./mcp-servers.ts";

const planWith = (worker: string): Plan =>
  parsePlan(
    "plan.yaml",
    [
      "plan: p",
      "roles: modules",
      `workers: { default: ${worker} }`,
      'ports: [{ id: a, role: a, goal: g, owns: [a/**], acceptance: "true" }]',
      "",
    ].join("\n"),
  );
const specOf = (worker: string) => planWith(worker).workers.default!;
const MCP =
  "mcp: { tickets: { command: [node, t.mjs], env: { TOKEN: '${TICKETS}' } }, " +
  "wiki: { url: 'https://wiki.example.org/mcp', headers: { Authorization: 'Bearer ${TICKETS}' } } }";
const SERVERS = [
  { name: "tickets", command: ["node", "t.mjs"], env: { TOKEN: "${TICKETS}" } },
  {
    name: "wiki",
    url: "https://wiki.example.org/mcp",
    transport: "http",
    headers: { Authorization: "Bearer ${TICKETS}" },
  },
];

test("a plan names servers by name, and the host of an address is one that its agent reaches", () => {
  const spec = specOf(`{ agent: claude, ${MCP} }`);

  expect(spec.mcpServers).toEqual(SERVERS);
  const about = { plan: {}, port: undefined };
  const policy = policyOfWorker(spec, about, { team: {}, env: {} });
  expect(policy.hosts).toContain("wiki.example.org:443");
});

test.each([
  ["{ kind: model, model: offline, mcp: { a: { command: [x] } } }", "is for agents"],
  ["{ agent: gemini, via: exec, mcp: { a: { command: [x] } } }", "is not known for gemini"],
  ["{ agent: codex, via: exec, mcp: { a: { url: 'https://a', type: sse } } }", "of type sse"],
  ["{ agent: claude, mcp: { a: { command: [x], url: 'https://a' } } }", "allowed: { command"],
  ["{ agent: claude, mcp: { a: { url: 'file:///etc' } } }", "begins with https://"],
  [
    "{ agent: claude, mcp: { a: { command: [x], env: { A: '${DATABASE_URL}' } } } }",
    "DATABASE_URL is dure's own",
  ],
])("a worker %s is refused", (worker, words) => {
  expect(() => planWith(worker)).toThrow(words);
});

test("servers with variables or addresses reach beyond the tree, and none gets what is dure's", () => {
  expect(() => assertStaysInside(planWith(`{ kind: acp, command: [a], ${MCP} }`))).toThrow(
    "workers.default.mcp",
  );
  const local = planWith("{ kind: acp, command: [a], mcp: { a: { command: [x] } } }");
  expect(() => assertStaysInside(local)).not.toThrow();
  const stored = { name: "a", command: ["x"], env: { A: "${DURE_TOKEN}" } };
  const plan = { ...local, workers: { byRole: {}, default: { ...specOf("{ agent: claude }") } } };
  const taking = { ...plan.workers.default, mcpServers: [stored] };
  expect(() => assertLeavesSecrets({ ...plan, workers: { byRole: {}, default: taking } })).toThrow(
    "DURE_TOKEN",
  );
});

test(
  "Claude Code as a program is started with a file in its home that names them",
  FULL,
  async () => {
    await using place = await aPlace();
    const spec = specOf(`{ agent: claude, via: exec, command: [node, -e, "PROGRAM"], ${MCP} }`);
    const home = memberPlace(place.scratch, "implementer");
    await prepareHome(home, spec, { home: undefined, env: { TICKETS: "t1" } });
    const command = "command" in spec ? spec.command : [];
    const prints = "const a = process.argv; console.log(require('fs').readFileSync(a[2], 'utf8'))";
    const program = [process.execPath, "-e", prints, "--", ...command.slice(3)];

    const { result } = await workOn(
      new CommandWorker({ command: program, prompt: "stdin", clock: systemClock }),
      { ...place.assignment, env: { ...place.assignment.env, HOME: home.home } },
    );

    expect(command.slice(3)).toContain("--strict-mcp-config");
    expect(JSON.parse(result.summary)).toEqual({
      mcpServers: {
        tickets: { type: "stdio", command: "node", args: ["t.mjs"], env: { TOKEN: "t1" } },
        wiki: {
          type: "http",
          url: "https://wiki.example.org/mcp",
          headers: { Authorization: "Bearer t1" },
        },
      },
    });
  },
);

test("Codex as a program gets them behind the person's settings, whose own servers stay out", async () => {
  const folder = await mkdtemp(join(tmpdir(), "dure-mcp-"));
  const own = 'model = "gpt"\n[mcp_servers.tickets]\ncommand = "mine"\n[tui]\ntheme = "x"\n';
  const place = memberPlace(folder, "implementer");
  const spec = specOf(`{ agent: codex, via: exec, ${MCP} }`);

  await prepareHome(place, spec, { home: undefined, env: { TICKETS: 't"1' } });
  const written = await readFile(join(place.home, ".codex/config.toml"), "utf8");
  await rm(folder, { recursive: true });

  const tables = [
    '[mcp_servers."tickets"]\ncommand = "node"\nargs = ["t.mjs"]\nenv = { "TOKEN" = "t\\"1" }',
    '[mcp_servers."wiki"]\nurl = "https://wiki.example.org/mcp"\n' +
      'http_headers = { "Authorization" = "Bearer t\\"1" }',
  ];
  expect(written).toBe(`${tables.join("\n\n")}\n`);
  const again = codexSettings(own + written, [{ name: "b", command: ["y"] }]);
  expect(again).toBe(
    'model = "gpt"\n[tui]\ntheme = "x"\n\n' +
      '[mcp_servers."b"]\ncommand = "y"\nargs = []\nenv = {}\n',
  );
});
