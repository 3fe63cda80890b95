/** The paths that a plan names: what is wrong with them, and which of them are tests. */

import {
  type Problem,
  problemAt,
  type SettingsDocument,
} from "../engine/files/load-service-document.ts";
import { globOf, type Glob, globMatches } from "./glob.ts";
import { expandBraces } from "./glob-text.ts";
import { ancestors, type PlanGraph } from "./graph.ts";
import { TEST_ROLE } from "./plan.ts";
import type { EffortMeter } from "./plan-effort.ts";
import type { PlanDraft } from "./plan-schema.ts";
import { LAYERS } from "./context/context-scopes.ts";

/**
 * Names of folders that hold tests, and endings and beginnings of files that are some. Source: the
 * defaults of vitest, jest, pytest, go test, JUnit, Cypress, Playwright.
 */
const TEST_FOLDERS =
  /^(?:tests?|__tests__|specs?|testing|e2e|integration|acceptance|cypress|playwright|features)$/i;
const TEST_FILES =
  /[._-](?:test|tests|spec|e2e|cy)\.|^test_|_test\.|^conftest\.py$|(?:Test|Tests|IT)\.[a-z]+$/;

/**
 * Whether all that a pattern can match is a test: a folder of tests stands in it, or its files are
 * named as some. Pure.
 */
export function isTestPattern(pattern: string): boolean {
  return (expandBraces(pattern) ?? []).every((alternative) => {
    const segments = alternative.split("/");
    return (
      segments.slice(0, -1).some((segment) => TEST_FOLDERS.test(segment)) ||
      TEST_FILES.test(segments.at(-1)!)
    );
  });
}

/** Under `hexagonal` the role Test changes no production code. */
export function checkTestPaths({ roles, ports }: PlanDraft, document: SettingsDocument): Problem[] {
  if (roles !== "hexagonal") return [];
  return ports.flatMap((port, index) =>
    port.role !== TEST_ROLE
      ? []
      : (["owns", "tests"] as const).flatMap((key) =>
          (port[key] ?? []).flatMap((pattern, position) =>
            isTestPattern(pattern)
              ? []
              : [
                  problemAt(
                    document,
                    ["ports", index, key, position],
                    `is no path of tests, and the role ${TEST_ROLE} changes no production code`,
                    {
                      hint: "Name a folder of tests (test/e2e/**) or files of tests (src/**/*.test.ts).",
                    },
                  ),
                ],
          ),
        ),
  );
}

/** A role owns its own layer under `hexagonal`, and else nothing that its definition forbids. */
export function checkRolePaths(
  plan: PlanDraft,
  document: SettingsDocument,
  meter: EffortMeter,
): Problem[] {
  const { roles, ports } = plan;
  if (typeof roles === "object") return checkForbidden(roles, { plan, document, meter });
  if (roles !== "hexagonal") return [];

  return ports.flatMap(({ role, owns = [] }, index) =>
    owns.flatMap((pattern, position) => {
      const layer = isTestPattern(pattern) ? undefined : foreignLayer(role, pattern, meter);
      if (layer === undefined) return [];
      const message = `is of the layer ${layer}, which the role ${role} does not own`;
      const hint =
        `Give it to a port of the role ${layer}. ` +
        "Roles that the plan names itself (roles: { domain: {} }) bind no paths.";
      return [problemAt(document, ["ports", index, "owns", position], message, { hint })];
    }),
  );
}

function checkForbidden(
  roles: Exclude<PlanDraft["roles"], string>,
  {
    plan: { ports },
    document,
    meter,
  }: { plan: PlanDraft; document: SettingsDocument; meter: EffortMeter },
): Problem[] {
  const byRole = new Map(
    Object.entries(roles).map(([role, { forbidden = [] }]) => [role, forbidden.map(globOf)]),
  );
  return ports.flatMap(({ role, owns = [] }, index) => {
    const forbidden = byRole.get(role) ?? [];
    return owns.flatMap((pattern, position) => {
      const by = forbiddenBy(forbidden, pattern, meter);
      if (by === undefined) return [];
      const message = `is forbidden to the role ${role} (${by})`;
      const hint = "Give it to a port of another role, or take it from forbidden of this one.";

      return [problemAt(document, ["ports", index, "owns", position], message, { hint })];
    });
  });
}

/** A port of the test role sees the work of all others: it comes after them. */
export function checkTestPorts(
  { ports }: PlanDraft,
  document: SettingsDocument,
  graph: PlanGraph,
): Problem[] {
  const others = ports.filter(({ role }) => role !== TEST_ROLE).map(({ id }) => id);
  return ports.flatMap((port, index) => {
    if (port.role !== TEST_ROLE) return [];
    const before = new Set(ancestors(graph, port.id));
    const missing = others.filter((id) => !before.has(id));
    if (missing.length === 0) return [];
    const shown =
      missing.length > 5
        ? `${missing.slice(0, 5).join(", ")} and ${missing.length - 5} more`
        : missing.join(", ");
    return [
      problemAt(
        document,
        ["ports", index, "dependsOn"],
        `port ${port.id} has the role ${TEST_ROLE}, so it comes after all others, but not after ${shown}`,
        { hint: "Add them to dependsOn." },
      ),
    ];
  });
}

type Layer = keyof typeof LAYERS;

/** Layers that a role of the preset `hexagonal` does not own. Source: docs/spec/plans §5. */
const FOREIGN: Readonly<Partial<Record<string, readonly Layer[]>>> = {
  domain: ["infrastructure", "api"],
  infrastructure: ["domain"],
  api: ["domain", "infrastructure"],
};
/** In a single module the role Infrastructure has the application too. */
const ALSO_OWN: Readonly<Partial<Record<string, readonly string[]>>> = {
  infrastructure: ["**/application/**"],
};
const GLOBS = Object.entries(LAYERS).map(
  ([layer, globs]) => [layer as Layer, globs.map(globOf)] as const,
);

const LAYER_GLOBS = GLOBS.flatMap(([, globs]) => globs).length;

/**
 * The layer that a pattern stands in and that the role does not own; undefined where the pattern
 * names no layer, or the role's own one too. Pure.
 */
function foreignLayer(role: string, pattern: string, meter: EffortMeter): Layer | undefined {
  const foreign = FOREIGN[role] ?? [];
  const own = (ALSO_OWN[role] ?? []).map(globOf);
  for (const alternative of expandBraces(pattern) ?? []) {
    const path = exampleOf(alternative);
    meter.spend(LAYER_GLOBS);
    if (own.some((glob) => globMatches(glob, path))) continue;
    const layers = GLOBS.flatMap(([layer, globs]) =>
      globs.some((glob) => globMatches(glob, path)) ? [layer] : [],
    );
    if (layers.some((layer) => layer === role)) continue;
    const found = layers.find((layer) => foreign.includes(layer));
    if (found) return found;
  }
  return undefined;
}

/** The pattern of these that forbids all of another one; undefined: none does. Pure. */
function forbiddenBy(
  forbidden: readonly Glob[],
  pattern: string,
  meter: EffortMeter,
): string | undefined {
  const examples = (expandBraces(pattern) ?? []).map(exampleOf);
  const found = forbidden.find((glob) => {
    meter.spend(examples.length * glob.alternatives.length);
    return examples.some((path) => globMatches(glob, path));
  });

  return found?.text;
}

/** A path that the pattern matches as far as its folders are names. */
function exampleOf(pattern: string): string {
  const segments = pattern.split("/");
  return segments.map((segment) => (/[*?[\\]/.test(segment) ? "x" : segment)).join("/");
}
