import { Mutex } from "../../kernel/mutex.ts";
import type { PortResult } from "../rows/outcomes.ts";
import { buildGraph } from "../graph.ts";
import type { Plan } from "../plan.ts";
import type { PlanModules, PortModules } from "../plan-modules.ts";

/** A check that passes with what each port made alone, and fails with what they made together. */
export interface ModuleBreak {
  readonly check: string;
  /** Ports of the module whose check it is. */
  readonly of: readonly string[];
  /** The others that were tried with it, of many the first. */
  readonly with: readonly string[];
  /**
   * One of them that breaks it alone: it fails without this port's work too, so the try is not held
   * against this port.
   */
  readonly by?: string | undefined;
}

/** What is wrong, in a sentence for people. Pure. */
export function breakWords({ check, of, with: others, by }: ModuleBreak, port: string): string {
  const command = `\`${check.slice(0, 200)}\``;
  if (by !== undefined) {
    const failure = `the check of ${port} (${command}) fails with what ${by} made`;
    return `${by} and ${port} do not fit together: ${failure}, without the work of ${port} too.`;
  }
  const whose = of.includes(port) ? port : of.slice(0, 3).join(", ");
  const names = others.slice(0, 5).join(", ");
  const failure = `each alone passes, and with both the check of ${whose} (${command}) fails`;
  return `${port} and ${names} do not fit together: ${failure}.`;
}

/** What the port can do about it. Pure. */
export function breakAdvice({ of, with: others, by }: ModuleBreak, port: string): string {
  if (by !== undefined) {
    const advice = [
      `Your check fails with what ${by} made in the same module, also without your work,`,
      "so this try is not held against you.",
      `Fit what is yours to what ${by} made; if that is not yours to change, say so.`,
    ];
    return advice.join(" ");
  }
  const whose = of.includes(port)
    ? ""
    : `The check of ${of.slice(0, 3).join(", ")} passed before this work. `;
  const names = others.slice(0, 5).join(", ");
  const failure = `With what ${names} made in the same module it does not compile any more.`;
  return `${whose}${failure} Keep what they may rely on, or fit to it.`;
}

/**
 * Which ports of a run work in the same modules, and what of a module is in: results that were
 * accepted here and may not be recorded yet. A port comes to those that are in by a turn, so the
 * one that breaks their module is always the one that comes; with the last one the module is whole.
 */
export class RunModules {
  readonly turn = new Mutex();
  readonly #modules: PortModules;
  /** Ports of the whole plan by module. */
  readonly #beside: ReadonlyMap<string, readonly string[]>;
  /** Ports of the run by module, of modules alone that something is compiled in. */
  readonly #members: ReadonlyMap<string, readonly string[]>;
  readonly #checks: ReadonlyMap<string, string | undefined>;
  readonly #needs: ReadonlyMap<string, readonly string[]>;
  readonly #order: ReadonlyMap<string, number>;
  readonly #accepted = new Map<string, PortResult>();
  /** Ports whose records were looked up; `accept` adds later outcomes. */
  readonly #known = new Set<string>();

  constructor(plan: Plan, { own, whole }: PlanModules) {
    this.#modules = own;
    this.#beside = portsByModule(whole);
    this.#checks = new Map(plan.ports.map(({ id, check }) => [id, check]));
    this.#members = new Map(
      [...portsByModule(this.#modules)].filter(([, ports]) =>
        ports.some((port) => this.#checks.get(port) !== undefined),
      ),
    );
    this.#needs = new Map(plan.ports.map(({ id, dependsOn }) => [id, dependsOn]));
    const graph = buildGraph(plan.ports);
    this.#order = new Map(graph.order.map((index, position) => [graph.ids[index]!, position]));
  }

  /** The other ports that work in a module of this one; of a part of a plan those left out too. */
  neighboursOf(port: string): readonly string[] {
    const names = [...(this.#modules.get(port) ?? [])];
    const ports = names.flatMap((name) => this.#beside.get(name) ?? []);
    return [...new Set(ports)].filter((other) => other !== port);
  }

  /** The other ports that work in a module of this one, in which something is compiled. */
  peersOf(port: string): readonly string[] {
    const names = [...(this.#modules.get(port) ?? [])];
    return [...new Set(names.flatMap((name) => this.#members.get(name) ?? []))].filter(
      (other) => other !== port,
    );
  }

  /** Compile commands of ports, each once, in their order. */
  checksOf(ports: readonly string[]): readonly string[] {
    return [...new Set(ports.flatMap((port) => this.#checks.get(port) ?? []))];
  }

  /** Those of the ports whose compile command it is. */
  checkedBy(check: string, ports: readonly string[]): readonly string[] {
    return ports.filter((port) => this.#checks.get(port) === check);
  }

  /** All that ports need, through others too; without themselves unless one needs another. */
  neededBy(ports: readonly string[]): ReadonlySet<string> {
    const needed = new Set<string>();
    const queue = ports.flatMap((port) => this.#needs.get(port) ?? []);
    for (let id = queue.pop(); id !== undefined; id = queue.pop()) {
      if (needed.has(id)) continue;
      needed.add(id);
      queue.push(...(this.#needs.get(id) ?? []));
    }
    return needed;
  }

  /** What is needed comes first. */
  inOrder(results: readonly PortResult[]): readonly PortResult[] {
    return results.toSorted(
      (one, other) => this.#order.get(one.port)! - this.#order.get(other.port)!,
    );
  }

  /**
   * Those of the ports that another leader may have finished. Each is to be looked up once, however
   * many ports come after it.
   */
  unknown(ports: readonly string[]): readonly string[] {
    return ports.filter((port) => !this.#known.has(port));
  }

  /** What was found of ports that were unknown. What was accepted here meanwhile is younger. */
  learn(ports: readonly string[], results: readonly PortResult[]): void {
    for (const port of ports) this.#known.add(port);
    for (const result of results) {
      if (!this.#accepted.has(result.port)) this.#accepted.set(result.port, result);
    }
  }

  accept(result: PortResult): void {
    this.#accepted.set(result.port, result);
  }

  /** The port is worked on anew, or has failed. */
  forget(port: string): void {
    this.#accepted.delete(port);
  }

  accepted(port: string): PortResult | undefined {
    return this.#accepted.get(port);
  }
}

/** Pure. */
function portsByModule(modules: PortModules): ReadonlyMap<string, readonly string[]> {
  const all = Map.groupBy(
    [...modules].flatMap(([port, names]) => [...names].map((name) => ({ port, name }))),
    ({ name }) => name,
  );
  return new Map([...all].map(([name, members]) => [name, members.map(({ port }) => port)]));
}
