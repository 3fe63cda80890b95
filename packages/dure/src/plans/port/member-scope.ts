import { lstat } from "node:fs/promises";
import { join } from "node:path";
import type { Member } from "../../kernel/plans.ts";
import type { PathGrant } from "../../wire/runs.ts";
import { grantable, grantGlobs } from "../ask/grants.ts";
import { scopeOf } from "../port-scope.ts";
import type { ScopeInput } from "../scope.ts";
import type { PortWork } from "./pair-parts.ts";

/** The member's scope, with the paths that the operator has given. */
export async function scopeOfMember(work: PortWork, member: Member): Promise<ScopeInput> {
  const base = plannedScope(work, member);
  const { tree } = work.files;
  const { grants } = work.account.port;
  const reads = await globsOf(tree, grants, "read");
  const owned = grants.filter(({ wants }) => wants === "own");
  const own = member === "tester" ? [] : await globsOf(tree, owned, "own");
  const scope = {
    ...base,
    writes: [...base.writes, ...own],
    reads: [...base.reads, ...reads],
  };
  const given = (some: ScopeInput["tools"]): ScopeInput["tools"] =>
    some && { ...some, but: [...some.but, ...own] };
  return { ...scope, orchestrators: given(base.orchestrators), tools: given(base.tools) };
}

/** The member's scope by the plan alone. */
function plannedScope({ run, port, parts }: PortWork, member: Member): ScopeInput {
  const neighbours = parts.modules.neighboursOf(port.id);
  const how = { oneContext: run.mode?.oneContext, neighbours };
  if (member !== "orchestrator") return scopeOf(run.plan, port, member, how);
  return {
    ...scopeOf(run.plan, port, "implementer", how),
    exceptions: [],
    writes: [...port.owns, ...port.tests],
  };
}

async function globsOf(
  tree: string,
  grants: readonly PathGrant[],
  wants: "read" | "own",
): Promise<string[]> {
  const globs = await Promise.all(
    grants.map(async ({ path }) => grantGlobs({ path, wants }, await isFolder(tree, path))),
  );
  return globs.flat();
}

async function isFolder(tree: string, path: string): Promise<boolean> {
  const plain = grantable(path);
  if (plain === undefined) return false;
  return lstat(join(tree, plain)).then(
    (found) => found.isDirectory(),
    () => false,
  );
}
