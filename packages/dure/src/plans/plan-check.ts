/** What a plan must hold beyond its form: graph, paths, workers and contracts are checked. */

import {
  type KeyPath,
  type Problem,
  problemAt,
  type SettingsDocument,
  MAX_PROBLEMS,
} from "../engine/files/load-service-document.ts";
import { foldPath } from "./glob.ts";
import { buildGraph } from "./graph.ts";
import { findCycles } from "./graph-cycles.ts";
import { HEXAGONAL_ROLES } from "./plan.ts";
import type { EffortMeter } from "./plan-effort.ts";
import type { PlanDraft } from "./plan-schema.ts";
import { checkOverlaps } from "./plan-overlaps.ts";
import { checkRolePaths, checkTestPaths, checkTestPorts } from "./check-paths.ts";
import { belowHome, homeHint, refuseHomePlace } from "./agents/agent-homes.ts";
import { variablesIn } from "./agents/mcp-servers.ts";
import { isOwnSecret, OWN_SECRET_HINT } from "./own-secrets.ts";
import { isHomeSecret } from "./sandbox/secrets.ts";
import { closest } from "../kernel/closest.ts";

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

function checkWorkers(
  { workers, roles, ports, contracts = [] }: PlanDraft,
  document: SettingsDocument,
): Problem[] {
  const used = [...new Set(ports.map(({ role }) => role))];
  const known = [
    "default",
    "orchestrator",
    "implementer",
    "tester",
    ...(roles === "hexagonal" ? HEXAGONAL_ROLES : roles === "modules" ? used : Object.keys(roles)),
  ];
  const isKnown = new Set(known);
  const meant = new Suggestions(known);
  const others = `Known are ${namesIn(known)}.`;
  const unknown = Object.keys(workers)
    .filter((name) => !isKnown.has(name))
    .map((name) =>
      problemAt(document, ["workers", name], `"${name}" is no role of this plan`, {
        hint: meant.nameFor(name) ?? others,
      }),
    );
  const forAll = ["default", "implementer"];
  if (forAll.some((name) => Object.hasOwn(workers, name))) return unknown;
  const missing = used
    .filter((role) => !Object.hasOwn(workers, role))
    .map((role) =>
      problemAt(document, ["workers"], `no worker for the role ${role}`, {
        hint: `Add workers.default or workers.${role}.`,
      }),
    );
  if (contracts.length > 0 && !Object.hasOwn(workers, "orchestrator")) {
    missing.push(
      problemAt(document, ["workers"], "no worker writes the contracts", {
        hint: "Add workers.orchestrator.",
      }),
    );
  }

  return [...unknown, ...missing];
}

function checkSecrets({ workers }: PlanDraft, document: SettingsDocument): Problem[] {
  return Object.entries(workers).flatMap(([role, { env = [], mcp = {} }]) => {
    const ofServers = Object.entries(mcp).flatMap(([name, { env: given, headers }]) =>
      variablesIn([...Object.values(given ?? {}), ...Object.values(headers ?? {})]).map(
        (variable) => ({ variable, path: ["workers", role, "mcp", name] }),
      ),
    );
    const own = env.map((entry, index) => ({
      variable: entry.split("=")[0]!,
      path: ["workers", role, "env", index],
    }));

    return [...own, ...ofServers]
      .filter(({ variable }) => isOwnSecret(variable))
      .map(({ variable, path }) =>
        problemAt(document, path, `${variable} is dure's own, and no worker gets it`, {
          hint: OWN_SECRET_HINT,
        }),
      );
  });
}

/** What may hold secrets is lent by `allow_home`, which needs a scope of its own. */
function checkReadsHome({ workers }: PlanDraft, document: SettingsDocument): Problem[] {
  return Object.entries(workers).flatMap(([role, { readsHome = [] }]) =>
    readsHome.flatMap((place, index) => {
      if (!isHomeSecret(place)) return [];
      const path = ["workers", role, "readsHome", index];
      const hint = "Leave it out; allow_home lends what may hold secrets, with the scope for it.";

      return [problemAt(document, path, `~/${place} may hold secrets`, { hint })];
    }),
  );
}

/** No worker writes what runs for the person afterwards, outside of the sandbox. */
function checkWritable({ workers }: PlanDraft, document: SettingsDocument): Problem[] {
  return Object.entries(workers).flatMap(([role, { writable = [] }]) =>
    writable.flatMap((place, index) => {
      const below = belowHome(place, undefined);
      const refused = below === undefined ? undefined : refuseHomePlace(below);
      if (!refused) return [];
      const path = ["workers", role, "writable", index];
      const holds = refused.isAgents ? "logins and settings of an agent" : "settings of programs";
      const message = `${place} holds ${holds} (~/${refused.meets}), which run for you afterwards`;

      return [problemAt(document, path, message, { hint: homeHint(refused) })];
    }),
  );
}

// --- suggestions

/** Names that are listed in one problem. */
const NAMES_SHOWN = 20;

function didYouMean(written: string, known: readonly string[]): string | undefined {
  const meant = closest(written, known);
  return meant === undefined ? undefined : `Did you mean "${meant}"?`;
}

/** Names in one line; of many the first ones. */
function namesIn(names: readonly string[]): string {
  if (names.length <= NAMES_SHOWN) return names.join(", ");
  return `${names.slice(0, NAMES_SHOWN).join(", ")} and ${names.length - NAMES_SHOWN} more`;
}

/**
 * What was probably meant. Compares with every known name, so only for as many problems as are
 * listed.
 */
class Suggestions {
  readonly #known: readonly string[];
  #left = MAX_PROBLEMS;

  constructor(known: readonly string[]) {
    this.#known = known;
  }

  nameFor(written: string): string | undefined {
    return this.#left-- > 0 ? didYouMean(written, this.#known) : undefined;
  }

  portFor(written: string): string {
    const others =
      this.#known.length > 10
        ? "Name a port of this plan."
        : `Ports are ${this.#known.join(", ")}.`;
    return this.nameFor(written) ?? others;
  }
}
