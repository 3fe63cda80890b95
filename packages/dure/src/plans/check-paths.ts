import {
  type Problem,
  problemAt,
  type SettingsDocument,
} from "../engine/files/load-service-document.ts";
import { globOf } from "./glob.ts";
import { expandBraces } from "./glob-text.ts";
import { ancestors, type PlanGraph } from "./graph.ts";
import { TEST_ROLE } from "./plan.ts";
import type { EffortMeter } from "./plan-effort.ts";
import type { PlanDraft } from "./plan-schema.ts";
import { forbiddenBy, foreignLayer } from "./role-paths.ts";

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
