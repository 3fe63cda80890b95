/**
 * Who may import whom: runs dependency-cruiser over the packages and tells each violation in one
 * line.
 */

import { readdir } from "node:fs/promises";
import path from "node:path";
import { root, runTool } from "./processes.ts";
import type { CheckResult } from "./checks.ts";

/** The part of dependency-cruiser's JSON result that we read. */
interface CruiseResult {
  readonly summary: {
    readonly totalCruised: number;
    readonly violations: readonly {
      readonly from: string;
      readonly to: string;
      readonly rule: { readonly name: string; readonly severity: string };
      readonly cycle?: readonly { readonly name: string }[];
    }[];
  };
  readonly modules: readonly { readonly source: string }[];
}

/** Cruises `tree`, which has its sources where this repository has them. */
export async function checkLayers(tree: string): Promise<CheckResult> {
  const config = path.join(root, ".dependency-cruiser.cjs");
  const { exitCode, stdout, output } = await runTool(
    "depcruise",
    ["--config", config, "--output-type", "json", ...FOLDERS],
    { cwd: tree },
  );
  let result: CruiseResult;
  try {
    result = JSON.parse(stdout) as CruiseResult;
  } catch {
    return { ok: false, output: `dependency-cruiser ended with exit code ${exitCode}:\n${output}` };
  }

  const unseen = await unseenSources(tree, result);
  if (unseen.length > 0) {
    return {
      ok: false,
      output:
        `dependency-cruiser did not see ${unseen.length} source files, so it proves nothing: ` +
        unseen.slice(0, 5).join(", "),
    };
  }
  const { violations, totalCruised } = result.summary;
  if (violations.length === 0) return { ok: true, note: `${totalCruised} modules` };
  return {
    ok: false,
    output: violations
      .map(
        ({ rule, from, to, cycle }) =>
          `${rule.name}: ${from} → ${cycle ? cycle.map((step) => step.name).join(" → ") : to}`,
      )
      .join("\n"),
  };
}

/**
 * A cruiser that cannot read TypeScript reports no violations in no modules, and exits with 0. So
 * we count ourselves.
 */
async function unseenSources(tree: string, result: CruiseResult): Promise<string[]> {
  const seen = new Set(result.modules.map((module) => module.source));
  const unseen: string[] = [];
  let sources = 0;
  for (const folder of FOLDERS) {
    for (const file of await readdir(path.join(tree, folder), { recursive: true })) {
      if (!/\.tsx?$/.test(file)) continue;
      sources++;
      const name = path.posix.join(folder, file.split(path.sep).join("/"));
      if (!seen.has(name)) unseen.push(name);
    }
  }
  return sources === 0 ? [`every one: there are none under ${tree}`] : unseen;
}

const FOLDERS = ["packages/dure/src", "packages/testing/src", "packages/dashboard/src"];
