import { execFile } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { mcpRoutes } from "../packages/dure/src/mcp-server/mcp-routes.ts";
import { startTestServer } from "../packages/dure/src/server/test-server.ts";
import { runRequirements, type Judged as Required } from "./mcp-requirements.ts";

/*
 * Runs MCP's public conformance suite against dure's server and client:
 *
 *     npm run test:mcp
 *
 * The suite comes from the registry into a temporary folder. It is no part of `npm test`. Prints a
 * table, and exits with 1 where a scenario fails otherwise than this file says.
 */

const SUITE = "@modelcontextprotocol/conformance@0.2.0-alpha.12";
const CLIENT = fileURLToPath(new URL("mcp-conformance-client.ts", import.meta.url));
const GROUPS = "agents,rooms,posts,jobs,plans,services,decisions";
const SECONDS = 60;
const run = promisify(execFile);

/**
 * Scenarios of the server that ask nothing of the tools that it has. All others want tools, prompts
 * or resources of the suite's own, which a team does not offer.
 */
const OF_SERVER: Readonly<Record<string, readonly string[]>> = {
  "2025-11-25": [
    "server-initialize",
    "server-session-lifecycle",
    "ping",
    "tools-list",
    "server-sse-polling",
    "server-sse-multiple-streams",
    "dns-rebinding-protection",
  ],
  "2026-07-28": [
    "server-stateless",
    "tools-list",
    "server-sse-multiple-streams",
    "sep-2164-resource-not-found",
    "dns-rebinding-protection",
    "caching",
    "http-header-validation",
    "input-required-result-unsupported-methods",
    "input-required-result-validate-input",
  ],
};

/** Checks that are known to fail, by scenario, and why. */
const KNOWN: Readonly<Record<string, readonly string[]>> = {
  "server-stateless": [
    "ServerRejectsUndeclaredCapability", // wants a tool of the suite
    "MissingCapabilityHttp400", // wants a tool of the suite
    "HttpServerNoIndependentRequestsOnStream", // wants a tool of the suite
    "ServerNoLogWithoutLogLevel", // wants a tool of the suite
    "ServerSendsSubscriptionAck", // there is nothing to subscribe to
    "ServerTagsSubscriptionId", // there is nothing to subscribe to
  ],
  // What is not offered has no list.
  caching: ["PromptsListCachingHints"],
};

/** What these revisions require of a client is the suite's own list. */
const OF_CLIENT = ["2025-11-25", "2026-07-28"];

/** Scenarios that the suite runs and does not score, and that are known to fail. */
const NOT_OFFERED: Readonly<Record<string, string>> = {
  "auth/client-credentials-jwt": "client credentials are a secret, no key",
  "auth/enterprise-managed-authorization": "logins of an enterprise are not exchanged",
  "auth/wif-jwt-bearer": "logins of a workload are not exchanged",
  "auth/dpop": "tokens are not bound to a key",
  "auth/dpop-nonce": "tokens are not bound to a key",
};

interface Judged {
  readonly passed: string;
  readonly unexpected: readonly string[];
}

async function judge(suite: string, args: readonly string[], known: readonly string[]) {
  const said = await run(process.execPath, [suite, ...args], {
    timeout: SECONDS * 1_000,
    cwd: path.dirname(suite),
  }).catch((error: unknown) => error as { stdout?: string; stderr?: string });
  const text = `${said.stdout ?? ""}\n${said.stderr ?? ""}`;
  const [, passed] = /Passed: (\d+\/\d+)/u.exec(text) ?? [];
  const failed = [...text.matchAll(/^ {2}- ([^:\n]+):/gmu)].map(([, check]) => check!);
  const unexpected = [...new Set(failed)].filter((check) => !known.includes(check));

  return { passed: passed ?? "no result", unexpected } satisfies Judged;
}

const folder = await mkdtemp(path.join(tmpdir(), "dure-mcp-suite-"));
const server = await startTestServer({ protocols: [mcpRoutes] });
let failures = 0;
try {
  await writeFile(path.join(folder, "package.json"), '{"private":true}\n');
  await run("npm", ["install", "--no-audit", "--no-fund", SUITE], { cwd: folder });
  const suite = path.join(folder, "node_modules/@modelcontextprotocol/conformance/dist/index.js");
  for (const [version, scenarios] of Object.entries(OF_SERVER)) {
    for (const scenario of scenarios) {
      const url = `${server.url}/mcp?tools=${GROUPS}`;
      const args = ["server", "--url", url, "--scenario", scenario, "--spec-version", version];
      tell(`server ${version}`, scenario, await judge(suite, args, KNOWN[scenario] ?? []));
    }
  }
  const command = `${process.execPath} --conditions=dure-source --no-warnings ${CLIENT}`;
  for (const revision of OF_CLIENT) {
    const results = path.join(folder, `client-${revision}`);
    const args = ["--command", command];
    const required = { suite, role: "client", revision, args, folder: results } as const;
    for await (const one of runRequirements(required)) tellRequired(`client ${revision}`, one);
  }
} finally {
  await server[Symbol.asyncDispose]();
  await rm(folder, { recursive: true, force: true });
}
console.log(failures === 0 ? "\nAs expected." : `\n${failures} scenarios are not as expected.`);
process.exitCode = failures === 0 ? 0 : 1;

function tell(role: string, scenario: string, { passed, unexpected }: Judged): void {
  const isGood = unexpected.length === 0 && passed !== "no result";
  if (!isGood) failures += 1;
  const row = [isGood ? "✓" : "✗", role.padEnd(18), scenario.padEnd(44), passed, ...unexpected];
  console.log(row.join("  "));
}

/** One of a revision's list; a scenario that is not scored may fail only where this file says why. */
function tellRequired(role: string, { scenario, isScored, passed, wrong }: Required): void {
  const count = `${passed}/${passed + wrong.length}`;
  const why = isScored ? undefined : NOT_OFFERED[scenario];
  if (why === undefined || wrong.length === 0) {
    return tell(role, scenario, { passed: count, unexpected: wrong });
  }
  console.log(["·", role.padEnd(18), scenario.padEnd(44), `not scored: ${why}`].join("  "));
}
