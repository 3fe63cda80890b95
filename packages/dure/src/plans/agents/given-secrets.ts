import { variablesOfServers } from "./mcp-servers.ts";
import { variablesOf } from "./given-variables.ts";
import type { Plan } from "../plan.ts";
import { Concealer, type Secret } from "../workers/concealer.ts";
import type { TreeDiff } from "../../wire/runs.ts";

/**
 * Conceals what any worker of a plan is given as a secret, by the values that this process has of
 * them. `also`: what one of them was given beside its variables. Pure.
 */
export function concealerOf(
  { workers }: Pick<Plan, "workers">,
  env: Readonly<Record<string, string | undefined>>,
  also: readonly Secret[] = [],
): Concealer {
  const specs = [workers.default, workers.orchestrator, ...Object.values(workers.byRole)];
  const given = specs.flatMap((spec) => (spec === undefined ? [] : [spec]));
  const secrets = given.flatMap((spec): readonly Secret[] => [
    ...Object.entries(variablesOf(spec, env)),
    ...variablesOfServers(spec).map((name) => [name, env[name] ?? ""] as const),
  ]);

  return new Concealer([...secrets, ...also]);
}

/** A diff as people see it. Where it was cut within a secret, the beginning of that is left out. Pure. */
export function concealDiff(diff: TreeDiff, concealer: Concealer): TreeDiff {
  const text = concealer.inPieces();
  const patch = text.push(diff.patch);
  const changes = diff.changes.map((change) => ({
    ...change,
    path: concealer.conceal(change.path),
  }));

  return { ...diff, changes, patch: diff.isCut ? patch : patch + text.end() };
}
