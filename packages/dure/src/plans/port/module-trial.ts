import type { PortResult } from "../rows/outcomes.ts";
import { breakAdvice, type ModuleBreak } from "./modules.ts";
import type { PortWork, Try } from "./pair-parts.ts";
import type { CheckOutput } from "./port-steps.ts";
import type { PlanPort, PlanStep } from "../rows/run.ts";

/** Ports named in a broken module. */
const MAX_NAMED = 20;

/** What is tried together, in one step. */
interface Trial {
  /** Results of other ports in the same modules. */
  readonly there: readonly PortResult[];
  readonly own: PortResult;
  readonly checks: readonly string[];
  readonly try: Try;
  readonly step: PlanStep;
}

/** Tries whether the modules of a port still compile with what other ports have made in them. */
export class ModuleTrial {
  readonly #work: PortWork;

  constructor(work: PortWork) {
    this.#work = work;
  }

  /**
   * Undefined when they compile. A port that comes to a module with other results in it tries it
   * with them; so the last port tries it whole, and the port that breaks it is told.
   */
  async run(current: Try, commit: string): Promise<CheckOutput | undefined> {
    const { port, parts, account, signal } = this.#work;
    const { modules } = parts;
    const own = { port: port.id, commit, base: account.port.startCommit! };
    const peers = modules.peersOf(own.port);
    if (peers.length === 0) return undefined;
    return modules.turn.run(
      async () => {
        await this.#lookUp(peers);
        const made = await this.#tryOnce(current, own, peers);
        if (made?.passed === false) return made;
        modules.accept(own);
        return undefined;
      },
      { signal },
    );
  }

  /** Reads the records of ports that another leader may have finished. */
  async #lookUp(peers: readonly string[]): Promise<void> {
    const { run, parts } = this.#work;
    const { modules, records } = parts;
    const unknown = modules.unknown(peers);
    const ports = await records.portsNamed(run.id, unknown);
    const succeeded = ports.filter(({ status }) => status === "succeeded");
    modules.learn(unknown, resultsOf(succeeded));
  }

  /** Undefined: there was nothing to try. */
  async #tryOnce(
    current: Try,
    own: PortResult,
    peers: readonly string[],
  ): Promise<CheckOutput | undefined> {
    const { run, parts, steps } = this.#work;
    const { modules, records } = parts;
    const there = peers.flatMap((port) => modules.accepted(port) ?? []);
    const checks = modules.checksOf([own.port, ...there.map(({ port }) => port)]);
    // What the port needs is in its own tree, and was tried with it.
    const needed = modules.neededBy([own.port]);
    const isNew = there.some(({ port }) => !needed.has(port));
    const wasTried = (await records.steps.of(run.id, own.port)).some(
      (step) => step.try === current.number && step.kind === "module",
    );
    const isWorthIt = isNew && checks.length > 0;
    if (!wasTried && !isWorthIt) return undefined;
    return steps.step<CheckOutput>({ try: current.number, kind: "module" }, async (step) => ({
      output: await this.#tryTogether({ there, own, checks, try: current, step }),
    }));
  }

  async #tryTogether(trial: Trial): Promise<CheckOutput> {
    const { steps, files } = this.#work;
    const { there, own, checks, step } = trial;
    const commit = await this.#composed([...there, own]);
    // The merge has conflicting files written once, and tries the whole.
    if (commit === undefined) return { passed: true };
    await files.checkout(commit);
    for (const check of checks) {
      const failed = await steps.check(check, commit, step);
      if (!failed) continue;
      const broken = await this.#breakOf(check, trial);
      const suggestions = [breakAdvice(broken, own.port), ...failed.suggestions];
      return { passed: false, broken, feedback: { ...failed, suggestions } };
    }
    return { passed: true };
  }

  async #breakOf(check: string, trial: Trial): Promise<ModuleBreak> {
    const names = trial.there.map(({ port }) => port);
    const of = this.#work.parts.modules.checkedBy(check, [...names, trial.own.port]);
    // What is in was tried with the checks of all that are in: only a check that comes with this
    // port can fail for them alone.
    const isOwnCheck = names.every((name) => !of.includes(name));
    const by =
      trial.try.by === "pair" && isOwnCheck ? await this.#brokenBy(check, trial) : undefined;
    return { check, of: of.slice(0, MAX_NAMED), with: names.slice(0, MAX_NAMED), by };
  }

  /**
   * Which of the results breaks the check without any work of this port, although it passes on what
   * the port began from; undefined: none does alone.
   */
  async #brokenBy(check: string, { there, step }: Trial): Promise<string | undefined> {
    const { parts, account, steps, files } = this.#work;
    const ordered = parts.modules.inOrder(there);
    const fails = async (commit: string): Promise<boolean> => {
      await files.checkout(commit);
      return (await steps.check(check, commit, step)) !== undefined;
    };
    const failsWith = async (count: number): Promise<boolean> => {
      const commit = await this.#composed(ordered.slice(0, count));
      return commit !== undefined && fails(commit);
    };
    if (await fails(account.port.startCommit!)) return undefined;
    if (!(await failsWith(ordered.length))) return undefined;

    let [passes, breaks] = [0, ordered.length];
    while (breaks - passes > 1) {
      const middle = (passes + breaks) >> 1;
      if (await failsWith(middle)) breaks = middle;
      else passes = middle;
    }
    return ordered[breaks - 1]!.port;
  }

  /**
   * These results with what they need, and with what this port began from; undefined: two of them
   * changed the same.
   */
  async #composed(results: readonly PortResult[]): Promise<string | undefined> {
    const { run, port, parts, files } = this.#work;
    const { modules, records } = parts;
    const names = results.map((result) => result.port);
    const needed = [...modules.neededBy([...names, port.id])].filter((id) => !names.includes(id));
    const others = resultsOf(await records.portsNamed(run.id, needed));
    const ordered = modules.inOrder([...results, ...others]);
    const composed = await files.compose(ordered, { isTrial: true });
    return "conflicts" in composed ? undefined : composed.commit;
  }
}

/** What ports have come to, of those that have. Pure. */
export function resultsOf(ports: readonly PlanPort[]): PortResult[] {
  return ports.flatMap(({ id, resultCommit, startCommit }) =>
    resultCommit !== null && startCommit !== null
      ? [{ port: id, commit: resultCommit, base: startCommit }]
      : [],
  );
}
