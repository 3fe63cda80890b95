/**
 * The manifests of deploy/, read by kubectl itself. A dry run of the client asks a cluster what kinds
 * of things there are, and nothing else; a double answers that.
 */

import { execFile } from "node:child_process";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";
import { parse } from "yaml";
import { FULL } from "../../src/kernel/test-tiers.ts";

const MANIFESTS = path.resolve(import.meta.dirname, "../../../../deploy/kubernetes/dure.yaml");
const KINDS = {
  v1: { services: "Service" },
  "apps/v1": { deployments: "Deployment" },
  "policy/v1": { poddisruptionbudgets: "PodDisruptionBudget" },
} as const;

let folder: string;
const asked: string[] = [];
const cluster = createServer(answer);

beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), "dure-kubectl-"));
  await new Promise<void>((resolve) => void cluster.listen(0, "127.0.0.1", resolve));
});

afterAll(async () => {
  await new Promise((resolve) => cluster.close(resolve));
  await rm(folder, { recursive: true, force: true });
});

test("kubectl takes each manifest in a dry run, and changes nothing", FULL, async () => {
  const said = await kubectl("apply", "--dry-run=client", "--validate=false", "-f", MANIFESTS);

  expect(said.split("\n").filter(Boolean)).toEqual([
    "deployment.apps/dure created (dry run)",
    "service/dure created (dry run)",
    "poddisruptionbudget.policy/dure created (dry run)",
  ]);
  expect(asked.filter((one) => !one.startsWith("GET "))).toEqual([]);
});

test(
  "kubectl's own types keep every field of the deployment, so none is misspelt",
  FULL,
  async () => {
    const text = (await readFile(MANIFESTS, "utf8")).split(/^---$/m)[0]!;
    const misspelt = text.replace("readinessProbe:", "readynessProbe:");

    expect(await throughTypes(text)).toMatchObject(parse(text.replace("my-team:1", "my-team:2")));
    expect(misspelt).not.toBe(text);
    expect(JSON.stringify(await throughTypes(misspelt))).not.toContain("readynessProbe");
  },
);

/** A deployment as kubectl prints it after it has set another image. */
async function throughTypes(deployment: string): Promise<unknown> {
  const file = path.join(folder, "deployment.yaml");
  await writeFile(file, deployment);
  const image = "dure=registry.example.com/my-team:2";
  return JSON.parse(await kubectl("set", "image", "--local", "-f", file, image, "-o", "json"));
}

/** Debian has it in `kubernetes-client`. */
async function kubectl(...args: readonly string[]): Promise<string> {
  const { port } = cluster.address() as AddressInfo;
  const own = ["--server", `http://127.0.0.1:${port}`, "--cache-dir", folder];
  const env = { PATH: process.env["PATH"], HOME: folder, KUBECONFIG: path.join(folder, "none") };
  return (await promisify(execFile)("kubectl", [...own, ...args], { env })).stdout;
}

function answer({ method, url = "/" }: IncomingMessage, response: ServerResponse): void {
  const { pathname } = new URL(url, "http://cluster");
  asked.push(`${method} ${pathname}`);
  const told = discoveryOf(pathname);
  response.writeHead(told === undefined ? 404 : 200, { "content-type": "application/json" });
  response.end(JSON.stringify(told ?? { kind: "Status", status: "Failure", reason: "NotFound" }));
}

/** What a cluster says of its kinds; undefined: that is not there. */
function discoveryOf(pathname: string): object | undefined {
  if (pathname === "/version") return { major: "1", minor: "32", gitVersion: "v1.32.0" };
  if (pathname === "/api") return { kind: "APIVersions", versions: ["v1"] };
  if (pathname === "/apis") return { kind: "APIGroupList", groups: groups() };

  const version = pathname.replace(/^\/apis?\//, "");
  if (!(version in KINDS)) return undefined;
  const resources = Object.entries(KINDS[version as keyof typeof KINDS]).map(([name, kind]) => ({
    ...{ name, kind, singularName: "", namespaced: true, verbs: ["create", "get", "patch"] },
  }));
  return { kind: "APIResourceList", groupVersion: version, resources };
}

function groups(): readonly object[] {
  const named = Object.keys(KINDS).filter((version) => version.includes("/"));
  return named.map((groupVersion) => {
    const [name, version] = groupVersion.split("/");
    const preferredVersion = { groupVersion, version };
    return { name, versions: [preferredVersion], preferredVersion };
  });
}
