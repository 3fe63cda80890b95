import { DureError } from "../kernel/errors.ts";
import { isObject } from "../kernel/json.ts";

/** How much work one reading of a plan may be. What is counted is what aliases and braces come to. */
export interface PlanEffort {
  /** Patterns of all ports. */
  readonly patterns: number;
  /** Entries of all `dependsOn`. */
  readonly edges: number;
  /** Patterns by each combination of their braces, and how often two of them are compared. */
  readonly comparisons: number;
}

/** An honest plan of 10,000 ports has 50,000 patterns; 2 million comparisons take 3 s. */
export const FULL_EFFORT: PlanEffort = {
  patterns: 200_000,
  edges: 200_000,
  comparisons: 2_000_000,
};
/** What is read on the thread that answers: some 10 ms. */
export const QUICK_EFFORT: PlanEffort = { patterns: 200, edges: 2_000, comparisons: 5_000 };

/** Lists of a port that are counted, in either spelling. */
const PATTERNS = ["owns", "tests", "reads"];
const EDGES = ["dependsOn", "depends_on", "depends-on"];

/**
 * Throws `PLAN_TOO_EXPENSIVE` where the lists of all ports are longer than may be read. Looks at
 * their lengths alone, before anything is made of them: an alias repeats a list in three letters.
 */
export function assertWithinEffort(value: unknown, effort: PlanEffort): void {
  if (!isObject(value) || !Array.isArray(value["ports"])) return;
  const ports = value["ports"].filter(isObject);
  const patterns = entriesOf(ports, PATTERNS);
  if (patterns > effort.patterns) {
    throw tooExpensive(`Its ports have ${patterns} patterns; ${effort.patterns} can be read.`);
  }
  const edges = entriesOf(ports, EDGES);
  if (edges > effort.edges) {
    throw tooExpensive(`Its ports name ${edges} others; ${effort.edges} can be read.`);
  }
}

function entriesOf(
  ports: readonly Readonly<Record<string, unknown>>[],
  keys: readonly string[],
): number {
  let count = 0;
  for (const port of ports) {
    for (const key of keys) if (Array.isArray(port[key])) count += port[key].length;
  }

  return count;
}

/** Counts comparisons; `spend` throws `PLAN_TOO_EXPENSIVE` when there were too many. */
export class EffortMeter {
  readonly #most: number;
  #spent = 0;

  constructor({ comparisons }: PlanEffort) {
    this.#most = comparisons;
  }

  spend(comparisons = 1): void {
    this.#spent += comparisons;
    if (this.#spent <= this.#most) return;
    throw tooExpensive(`Its patterns need more than ${this.#most} comparisons.`);
  }
}

export function tooExpensive(why: string, details?: Readonly<Record<string, unknown>>): DureError {
  return new DureError("PLAN_TOO_EXPENSIVE", `The plan cannot be looked at. ${why}`, {
    class: "input",
    hint: "Split it into smaller plans, and let fewer patterns begin with **.",
    details,
  });
}
