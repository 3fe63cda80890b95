import { execFile } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { mcpRoutesWith } from "../packages/dure/src/mcp-server/mcp-routes.ts";
import { startTestServer } from "../packages/dure/src/server/test-server.ts";
import { forSuite } from "./mcp-suite/offer.ts";
import { runRequirements, type Judged } from "./mcp-suite/requirements.ts";

/*
 * Runs MCP's public conformance suite against dure's server and client:
 *
 *     npm run test:mcp
 *
 * The suite says itself what a revision of the protocol requires, and all of that is run. It comes
 * from the registry into a temporary folder, and is no part of `npm test`. Prints a table, and
 * exits with 1 where a scenario ends otherwise than this file says.
 */

const SUITE = "@modelcontextprotocol/conformance@0.2.0-alpha.12";
const CLIENT = fileURLToPath(new URL("mcp-suite/client.ts", import.meta.url));
const GROUPS = "agents,rooms,posts,jobs,plans,services,decisions";
const REVISIONS = ["2026-07-28", "2025-11-25"] as const;
const run = promisify(execFile);

type Role = "server" | "client";

/**
 * Required scenarios of what dure does not speak: a server of 2025-11-25 asks its client on another
 * stream, and tells changes on one, for which it needs a session. Source: docs/spec/interop §2, "Not
 * spoken". One that stands here and passes is not as expected either.
 */
const NOT_SPOKEN: ReadonlySet<string> = new Set(
  [
    "tools-call-sampling",
    "tools-call-elicitation",
    "elicitation-sep1034-defaults",
    "elicitation-sep1330-enums",
    "resources-subscribe",
    "resources-unsubscribe",
    "server-sse-multiple-streams",
  ].map((scenario) => `server 2025-11-25 ${scenario}`),
);

const folder = await mkdtemp(path.join(tmpdir(), "dure-mcp-suite-"));
const server = await startTestServer({ protocols: [mcpRoutesWith(forSuite)] });
let surprises = 0;
try {
  await writeFile(path.join(folder, "package.json"), '{"private":true}\n');
  await run("npm", ["install", "--no-audit", "--no-fund", SUITE], { cwd: folder });
  const command = `${process.execPath} --conditions=dure-source --no-warnings ${CLIENT}`;
  for (const revision of REVISIONS) {
    await judge("server", revision, ["--url", `${server.url}/mcp?tools=${GROUPS}`]);
    await judge("client", revision, ["--command", command]);
  }
} finally {
  await server[Symbol.asyncDispose]();
  await rm(folder, { recursive: true, force: true });
}
console.log(surprises === 0 ? "\nAs expected." : `\n${surprises} are not as expected.`);
process.exitCode = surprises === 0 ? 0 : 1;

async function judge(role: Role, revision: string, args: readonly string[]): Promise<void> {
  const suite = path.join(folder, "node_modules/@modelcontextprotocol/conformance/dist/index.js");
  const results = path.join(folder, `${role}-${revision}`);
  for await (const one of runRequirements({ suite, role, revision, args, folder: results })) {
    tell(`${role} ${revision}`, one);
  }
}

function tell(part: string, judged: Judged): void {
  const { scenario, isScored, passed, wrong } = judged;
  const isGood = !isScored || isAsExpected(`${part} ${scenario}`, judged);
  if (!isGood) surprises += 1;
  const row = [
    isGood ? "✓" : "✗",
    part.padEnd(18),
    scenario.padEnd(46),
    `${passed}/${passed + wrong.length}`.padEnd(6),
    isScored ? "" : "not scored:",
    ...wrong,
  ];
  console.log(row.join("  ").trimEnd());
}

function isAsExpected(name: string, { wrong }: Judged): boolean {
  return NOT_SPOKEN.has(name) === wrong.length > 0;
}
