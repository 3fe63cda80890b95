/** The files of deploy/ name what the code really has: metrics, variables, commands. */

import { readFile } from "node:fs/promises";
import path from "node:path";
import { expect, test } from "vitest";
import { parse } from "yaml";
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
  const known = Object.values(VARIABLES).map(({ name }) => name as string);
  const named = [...unit.matchAll(/\b(?:DURE_[A-Z_]+|DATABASE_URL|PORT|HOST)\b/g)].map(
    ([name]) => name,
  );

  expect(named).toContain("DATABASE_URL");
  expect(named.filter((name) => !known.includes(name))).toEqual([]);
  expect(unit).toMatch(/^ExecStart=\S+\/dure start$/m);
  expect(unit).toMatch(/^Restart=always$/m);
  expect(unit).toMatch(/^KillSignal=SIGTERM$/m);
});
