/** The files of deploy/ name what the code really has: metrics, variables, commands. */

import { readFile } from "node:fs/promises";
import path from "node:path";
import { expect, test } from "vitest";
import { parse, parseAllDocuments } from "yaml";
import { VARIABLES } from "../../src/team/environment.ts";
import { root } from "../../../../scripts/processes.ts";

interface Rule {
  readonly alert: string;
  readonly expr: string;
  readonly for: string;
  readonly labels: { readonly severity: string };
  readonly annotations: { readonly summary: string; readonly action: string };
}

interface Panel {
  readonly title: string;
  readonly gridPos: { readonly x: number; readonly y: number };
  readonly targets: readonly { readonly expr: string }[];
}

const [alertsText, boardText, unit, metrics] = await Promise.all([
  read("deploy/prometheus/alerts.yaml"),
  read("deploy/grafana/dure.json"),
  read("deploy/systemd/dure.service"),
  read("packages/dure/src/team/metrics.ts"),
]);

const { groups } = parse(alertsText) as { groups: { name: string; rules: readonly Rule[] }[] };
const rules = groups.flatMap((group) => group.rules);
const { panels } = JSON.parse(boardText) as { panels: readonly Panel[] };
const MADE = new Set(metrics.match(/(?<=")dure_[a-z_]+(?=")/g));

/** Variables that dure reads. */
const KNOWN = Object.values(VARIABLES).map(({ name }) => name);

function read(file: string): Promise<string> {
  return readFile(path.join(root, file), "utf8");
}

function metricsIn(expressions: readonly string[]): string[] {
  return expressions.flatMap((expression) => expression.match(/\bdure_[a-z_]+/g) ?? []);
}

test("every metric of the alerts is one that a process of dure tells", () => {
  const named = metricsIn(rules.map(({ expr }) => expr));

  expect(rules.length).toBeGreaterThan(4);
  expect(named.length).toBeGreaterThanOrEqual(rules.length);
  expect(named.filter((name) => !MADE.has(name))).toEqual([]);
});

test("every alert has a time, a severity, what happened and what to do", () => {
  for (const rule of rules) {
    expect(rule).toEqual({
      alert: expect.stringMatching(/^Dure[A-Za-z]+$/),
      expr: expect.any(String),
      for: expect.stringMatching(/^\d+m$/),
      labels: { severity: expect.stringMatching(/^(?:warning|critical)$/) },
      annotations: { summary: expect.any(String), action: expect.any(String) },
    });
  }
});

test("the dashboard of Grafana shows metrics that exist, and leaves out none but one of its own", () => {
  const named = metricsIn(panels.flatMap(({ targets }) => targets.map(({ expr }) => expr)));
  const places = panels.map(({ gridPos: { x, y } }) => `${x} ${y}`);

  expect(named.filter((name) => !MADE.has(name))).toEqual([]);
  expect([...MADE].filter((name) => !named.includes(name))).toEqual(["dure_metrics_complete"]);
  expect(new Set(places).size).toBe(panels.length);
});

test("counters that tell of all processes are never summed over them", () => {
  const expressions = [
    ...rules.map(({ expr }) => expr),
    ...panels.flatMap(({ targets }) => targets.map(({ expr }) => expr)),
  ];

  expect(expressions.filter((expression) => expression.includes("sum("))).toEqual([]);
});

test("the unit of systemd names variables that dure reads, and starts it again after 75", () => {
  const named = [...unit.matchAll(/\b(?:DURE_[A-Z_]+|DATABASE_URL|PORT|HOST)\b/g)].map(
    ([name]) => name,
  );

  expect(named).toContain("DATABASE_URL");
  expect(named.filter((name) => !KNOWN.includes(name))).toEqual([]);
  expect(unit).toMatch(/^ExecStart=\S+\/dure start$/m);
  expect(unit).toMatch(/^Restart=always$/m);
  expect(unit).toMatch(/^KillSignal=SIGTERM$/m);
});

interface ComposeService {
  readonly environment?: Readonly<Record<string, string>>;
  readonly volumes?: readonly string[];
  readonly ports?: readonly string[];
  readonly stop_grace_period?: string;
}

test("each server of the compose file has a folder of its own, and secrets come from outside", async () => {
  const text = await read("deploy/container/compose.yaml");
  const { services, volumes } = parse(text, { merge: true }) as {
    services: Record<string, ComposeService>;
    volumes: Record<string, null>;
  };
  const servers = Object.entries(services).filter(([name]) => name.startsWith("dure-"));
  const folders = servers.flatMap(([, { volumes: mounts = [] }]) => mounts);

  expect(servers).toHaveLength(3);
  expect(new Set(folders).size).toBe(3);
  for (const mount of folders) expect(volumes).toHaveProperty(mount.split(":")[0]!);
  for (const [, { environment = {}, ports = [], stop_grace_period }] of servers) {
    expect(Object.keys(environment).filter((name) => !KNOWN.includes(name))).toEqual([]);
    expect(Object.values(environment).filter((value) => !value.includes("${"))).toEqual([]);
    expect(ports).toEqual([expect.stringMatching(/^127\.0\.0\.1:\d+:4600$/)]);
    expect(stop_grace_period).toBe("30s");
  }
});

test("the container runs the server itself, as a user without rights, with variables of dure", async () => {
  const lines = (await read("deploy/container/Containerfile")).split("\n");
  const variables = lines.find((line) => line.startsWith("ENV "))!.match(/[A-Z_]+(?==)/g)!;

  expect(lines).toContain("USER node");
  expect(lines).toContain('CMD ["node_modules/.bin/dure", "start"]');
  expect(variables.filter((name) => !KNOWN.includes(name))).toEqual(["NODE_ENV"]);
});

interface Probe {
  readonly httpGet: { readonly path: string; readonly port: string };
}

test("the manifests ask the routes of health, drop all rights, and hold no secret", async () => {
  const text = await read("deploy/kubernetes/dure.yaml");
  const [deployment, service, budget] = parseAllDocuments(text).map((one) => one.toJS() as unknown);
  const pod = (deployment as { spec: { template: { spec: PodSpec } } }).spec.template.spec;
  const [container] = pod.containers;

  expect([service, budget]).toMatchObject([
    { kind: "Service" },
    { kind: "PodDisruptionBudget", spec: { minAvailable: 2 } },
  ]);
  expect(container!.readinessProbe.httpGet).toEqual({ path: "/readyz", port: "http" });
  expect(container!.livenessProbe.httpGet).toEqual({ path: "/healthz", port: "http" });
  expect(container).not.toHaveProperty("env"); // all of it comes from the secret
  expect(container!.securityContext.capabilities).toEqual({ drop: ["ALL"] });
  expect(pod.terminationGracePeriodSeconds).toBeGreaterThan(11);
});

interface PodSpec {
  readonly terminationGracePeriodSeconds: number;
  readonly containers: readonly {
    readonly readinessProbe: Probe;
    readonly livenessProbe: Probe;
    readonly securityContext: { readonly capabilities: unknown };
  }[];
}

test("each part that a pipeline of the collector names is there", async () => {
  const { service, ...parts } = parse(await read("deploy/collector/collector.yaml")) as Record<
    "receivers" | "processors" | "exporters",
    Readonly<Record<string, unknown>>
  > & { service: { pipelines: Record<string, Record<keyof typeof parts, string[]>> } };

  expect(Object.keys(service.pipelines)).toEqual(["traces", "logs"]);
  for (const pipeline of Object.values(service.pipelines)) {
    for (const kind of ["receivers", "processors", "exporters"] as const) {
      for (const name of pipeline[kind]) expect(parts[kind]).toHaveProperty(name);
    }
  }
});
