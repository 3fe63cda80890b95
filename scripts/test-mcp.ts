import { execFile } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { mcpRoutesWith } from "../packages/dure/src/mcp-server/mcp-routes.ts";
import { startTestServer } from "../packages/dure/src/server/test-server.ts";
import { forSuite } from "./mcp-suite/offer.ts";

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
const MOST_MS = 600_000;
const run = promisify(execFile);

type Role = "server" | "client";
type Revision = (typeof REVISIONS)[number];

/**
 * Required scenarios of what dure does not speak. Source: docs/spec/interop §2, "Not spoken". A
 * scenario that stands here and passes is not as expected either.
 */
const NOT_SPOKEN: Readonly<Record<Role, Readonly<Record<Revision, readonly string[]>>>> = {
  server: {
    "2026-07-28": [],
    // They want a session: the server of this revision asks its client on another stream.
    "2025-11-25": [
      "tools-call-sampling",
      "tools-call-elicitation",
      "elicitation-sep1034-defaults",
      "elicitation-sep1330-enums",
      "resources-subscribe",
      "resources-unsubscribe",
    ],
  },
  client: { "2026-07-28": [], "2025-11-25": [] },
};

interface Scenario {
  readonly name: string;
  readonly passed: number;
  readonly failed: number;
  /** Why it does not count, such as `extension`. */
  readonly notScored: string | undefined;
}

const folder = await mkdtemp(path.join(tmpdir(), "dure-mcp-suite-"));
const server = await startTestServer({ protocols: [mcpRoutesWith(forSuite)] });
let surprises = 0;
try {
  await writeFile(path.join(folder, "package.json"), '{"private":true}\n');
  await run("npm", ["install", "--no-audit", "--no-fund", SUITE], { cwd: folder });
  const suite = path.join(folder, "node_modules/@modelcontextprotocol/conformance/dist/index.js");
  const command = `${process.execPath} --conditions=dure-source --no-warnings ${CLIENT}`;
  for (const revision of REVISIONS) {
    const url = `${server.url}/mcp?tools=${GROUPS}`;
    tell("server", revision, await judge([suite, "server", "--url", url], revision));
    tell("client", revision, await judge([suite, "client", "--command", command], revision));
  }
} finally {
  await server[Symbol.asyncDispose]();
  await rm(folder, { recursive: true, force: true });
}
console.log(surprises === 0 ? "\nAs expected." : `\n${surprises} are not as expected.`);
process.exitCode = surprises === 0 ? 0 : 1;

/** Runs all that the suite requires for a revision. It exits with 1 where a scenario fails. */
async function judge(args: readonly string[], revision: Revision): Promise<readonly Scenario[]> {
  const said = await run(process.execPath, [...args, "--requirements", revision], {
    timeout: MOST_MS,
    cwd: folder,
    maxBuffer: 64 * 1_048_576,
  }).catch((error: unknown) => error as { stdout?: string });

  return readSummary(said.stdout ?? "");
}

function readSummary(text: string): readonly Scenario[] {
  const unscored = new Map(
    [...text.matchAll(/^ {2}[✓✗] (\S+) \((.+)\)$/gmu)].map(([, name, why]) => [name!, why!]),
  );
  const rows = text.matchAll(/^[✓✗] (\S+): (\d+) passed, (\d+) failed/gmu);

  return [...rows].map(([, name, passed, failed]) => ({
    name: name!,
    passed: Number(passed),
    failed: Number(failed),
    notScored: unscored.get(name!),
  }));
}

function tell(role: Role, revision: Revision, scenarios: readonly Scenario[]): void {
  const expected = NOT_SPOKEN[role][revision];
  const missing = expected.filter((name) => !scenarios.some((one) => one.name === name));
  if (scenarios.length === 0) missing.push("any scenario at all");
  console.log(`\n${role} ${revision}`);
  for (const one of scenarios) console.log(rowOf(one, expected.includes(one.name)));
  for (const name of missing) console.log(`✗  ${name} was not run`);
  surprises += missing.length;
}

function rowOf({ name, passed, failed, notScored }: Scenario, isNotSpoken: boolean): string {
  const isGood = notScored !== undefined || failed > 0 === isNotSpoken;
  if (!isGood) surprises += 1;
  const why = notScored ?? (isNotSpoken ? "not spoken" : "");

  return [isGood ? "✓" : "✗", name.padEnd(48), `${passed}/${passed + failed}`, why].join("  ");
}
