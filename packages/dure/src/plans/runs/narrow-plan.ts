import { DureError } from "../../kernel/errors.ts";
import type { Plan, Port } from "../plan.ts";

/** Which ports of a plan are asked for. */
export interface PortChoice {
  /** Only these ports and what they need. */
  readonly only?: readonly string[] | undefined;
  /** These ports and what needs them; what they need is taken as done at the base. */
  readonly from?: readonly string[] | undefined;
}

/** The plan without the ports that are not asked for. Throws `PLAN_PORT_UNKNOWN`. */
export function narrowed({
  plan,
  only = [],
  from = [],
}: PortChoice & { readonly plan: Plan }): Plan {
  if (only.length === 0 && from.length === 0) return plan;
  const byId = new Map(plan.ports.map((port) => [port.id, port]));
  for (const id of [...only, ...from]) if (!byId.has(id)) throw unknown(plan, id);

  const chosen = withNeeded(only, byId).union(withDependents(from, plan.ports));
  const ports = plan.ports.filter(({ id }) => chosen.has(id));
  const keepChosen = (ids: readonly string[]): string[] => ids.filter((id) => chosen.has(id));
  return {
    ...plan,
    whole: plan.whole ?? plan.ports,
    ports: ports.map((port) => ({ ...port, dependsOn: keepChosen(port.dependsOn) })),
  };
}

function withNeeded(ids: readonly string[], byId: ReadonlyMap<string, Port>): Set<string> {
  const needed = new Set<string>();
  const queue = [...ids];
  for (let id = queue.pop(); id !== undefined; id = queue.pop()) {
    if (needed.has(id)) continue;
    needed.add(id);
    queue.push(...byId.get(id)!.dependsOn);
  }
  return needed;
}

function withDependents(ids: readonly string[], ports: readonly Port[]): Set<string> {
  const later = new Set(ids);
  for (let grew = later.size > 0; grew;) {
    grew = false;
    for (const port of ports) {
      if (later.has(port.id) || !port.dependsOn.some((id) => later.has(id))) continue;
      later.add(port.id);
      grew = true;
    }
  }
  return later;
}

function unknown(plan: Plan, id: string): DureError {
  const names = plan.ports.slice(0, 20).map((port) => port.id);
  return new DureError("PLAN_PORT_UNKNOWN", `The plan ${plan.name} has no port ${id}.`, {
    class: "input",
    hint: `Its ports are ${names.join(", ")}.`,
  });
}
