import {
  type KeyPath,
  type Problem,
  problemAt,
  type SettingsDocument,
} from "../engine/files/load-service-document.ts";
import { foldPath } from "./glob.ts";
import { buildGraph } from "./graph.ts";
import { findCycles } from "./graph-cycles.ts";
import { HEXAGONAL_ROLES } from "./plan.ts";
import type { EffortMeter } from "./plan-effort.ts";
import type { PlanDraft } from "./plan-schema.ts";
import { checkOverlaps } from "./plan-overlaps.ts";
import { namesIn, Suggestions } from "./suggestions.ts";
import { checkRolePaths, checkTestPaths, checkTestPorts } from "./check-paths.ts";
import { checkReadsHome, checkSecrets, checkWorkers, checkWritable } from "./check-workers.ts";

/**
 * Whether the parts of a plan fit together. Pure; every problem at its place, in the order of the
 * checks. Source: docs/spec/plans §2, §5.
 */
export function checkTogether(
  plan: PlanDraft,
  document: SettingsDocument,
  meter: EffortMeter,
): Problem[] {
  const names = checkNames(plan, document);
  const references = checkReferences(plan, document);
  const cycles = names.length + references.length === 0 ? checkCycles(plan, document) : [];
  const graph =
    names.length + references.length + cycles.length === 0
      ? buildGraph(plan.ports.map(nodeOf))
      : undefined;
  return [
    ...names,
    ...references,
    ...cycles,
    ...checkRoles(plan, document),
    ...checkWorkers(plan, document),
    ...checkSecrets(plan, document),
    ...checkWritable(plan, document),
    ...checkReadsHome(plan, document),
    ...checkContracts(plan, document),
    ...checkOwnership(plan, document),
    ...checkTestPaths(plan, document),
    ...checkRolePaths(plan, document, meter),
    ...(graph
      ? [
          ...checkTestPorts(plan, document, graph),
          ...checkOverlaps(plan, document, { graph, meter }),
        ]
      : []),
  ];
}

const nodeOf = (
  port: PlanDraft["ports"][number],
): { id: string; dependsOn: readonly string[] } => ({
  id: port.id,
  dependsOn: port.dependsOn ?? [],
});

/** Ids name folders and branches, so two that differ by case alone are one. */
function checkNames(plan: PlanDraft, document: SettingsDocument): Problem[] {
  const seen = new Map<string, string>();
  return plan.ports.flatMap(({ id }, index) => {
    const path = ["ports", index, "id"];
    const earlier = seen.get(id.toLowerCase());
    seen.set(id.toLowerCase(), earlier ?? id);
    if (id.toLowerCase() === "orchestrator") {
      return [
        problemAt(document, path, "is the name of the one who owns the contracts", {
          hint: "Give the port another id.",
        }),
      ];
    }
    if (earlier === undefined) return [];
    const message =
      earlier === id
        ? `stands on two ports`
        : `differs from "${earlier}" by case alone, and is the name of a folder and a branch`;
    return [problemAt(document, path, message, { hint: "Give one of them another id." })];
  });
}

function checkReferences(plan: PlanDraft, document: SettingsDocument): Problem[] {
  const known = new Set(plan.ports.map(({ id }) => id));
  const meant = new Suggestions([...known]);

  return plan.ports.flatMap((port, index) => {
    const seen = new Set<string>();
    return (port.dependsOn ?? []).flatMap((name, position) => {
      const path = ["ports", index, "dependsOn", position];
      const isRepeated = seen.has(name);
      seen.add(name);
      if (name === port.id) {
        return [
          problemAt(document, path, `port ${port.id} depends on itself`, {
            hint: "Remove this entry.",
          }),
        ];
      }
      if (!known.has(name)) {
        return [
          problemAt(document, path, `port ${port.id} depends on "${name}", which is no port`, {
            hint: meant.portFor(name),
          }),
        ];
      }

      return isRepeated
        ? [problemAt(document, path, "stands here twice", { hint: "Remove one of them." })]
        : [];
    });
  });
}

function checkCycles(plan: PlanDraft, document: SettingsDocument): Problem[] {
  return findCycles(plan.ports.map(nodeOf)).map((way) => {
    const index = plan.ports.findIndex(({ id }) => id === way[0]);
    const position = plan.ports[index]!.dependsOn!.indexOf(way[1]!);

    return problemAt(
      document,
      ["ports", index, "dependsOn", position],
      `ports wait for each other: ${way.join(" → ")}`,
      { hint: "Remove one dependsOn entry along this path." },
    );
  });
}

function checkRoles({ roles, ports }: PlanDraft, document: SettingsDocument): Problem[] {
  const reserved =
    typeof roles === "string"
      ? []
      : Object.keys(roles).filter((name) => name === "default" || name === "orchestrator");
  const problems = reserved.map((name) =>
    problemAt(document, ["roles", name], `is a word of workers, and no role's name`),
  );
  if (roles === "modules") return problems;
  const known = new Set<string>(roles === "hexagonal" ? HEXAGONAL_ROLES : Object.keys(roles));
  const allowed = namesIn([...known]);
  const meant = new Suggestions([...known]);
  const unknown = ports.flatMap(({ role }, index) =>
    known.has(role)
      ? []
      : [
          problemAt(document, ["ports", index, "role"], "is no role of this plan", {
            allowed,
            hint: meant.nameFor(role),
          }),
        ],
  );

  return [...problems, ...unknown];
}

function checkContracts(
  { contracts = [], ports }: PlanDraft,
  document: SettingsDocument,
): Problem[] {
  const seen = new Map<string, number>();
  const problems: Problem[] = [];
  for (const [index, { path }] of contracts.entries()) {
    const folded = foldPath(path);
    if (seen.has(folded)) {
      problems.push(
        problemAt(document, ["contracts", index, "path"], "is a contract already", {
          hint: "Remove one of them.",
        }),
      );
    }
    seen.set(folded, index);
  }
  // A pattern may cover a contract, which is then taken out of it; naming the very file claims it.
  for (const [index, port] of ports.entries()) {
    for (const key of ["owns", "tests"] as const) {
      for (const [position, pattern] of (port[key] ?? []).entries()) {
        if (!seen.has(foldPath(pattern))) continue;
        problems.push(
          problemAt(
            document,
            ["ports", index, key, position],
            "is a contract, which the orchestrator owns",
            { hint: "Remove it here, or from contracts." },
          ),
        );
      }
    }
  }

  return problems;
}

function checkOwnership({ ports }: PlanDraft, document: SettingsDocument): Problem[] {
  return ports.flatMap((port, index) => {
    const { owns = [], tests = [] } = port;
    if (owns.length + tests.length === 0) {
      return [
        problemAt(document, ["ports", index, "owns"], `port ${port.id} owns nothing`, {
          hint: "Say in owns what it may write, or in tests.",
        }),
      ];
    }

    return [
      ...repeated(owns, ["ports", index, "owns"], document),
      ...repeated(tests, ["ports", index, "tests"], document),
      ...inBoth(owns, tests, ["ports", index, "tests"], document),
    ];
  });
}

function repeated(
  patterns: readonly string[],
  path: KeyPath,
  document: SettingsDocument,
): Problem[] {
  return patterns.flatMap((pattern, position) =>
    patterns.indexOf(pattern) < position
      ? [
          problemAt(document, [...path, position], "stands here twice", {
            hint: "Remove one of them.",
          }),
        ]
      : [],
  );
}

function inBoth(
  owns: readonly string[],
  tests: readonly string[],
  path: KeyPath,
  document: SettingsDocument,
): Problem[] {
  return tests.flatMap((pattern, position) =>
    owns.includes(pattern)
      ? [
          problemAt(document, [...path, position], "stands in owns too", {
            hint: "owns is the implementer's, tests the tester's.",
          }),
        ]
      : [],
  );
}
