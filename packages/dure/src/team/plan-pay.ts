import type { BudgetKeeper, OutsideFacts } from "../engine/money/budgets.ts";
import type { Pay } from "../models/paid.ts";
import type { PlanRun } from "../plans/rows/run.ts";

/**
 * Workers of a plan are one agent to the team's budgets; the plan's own bounds of money are the
 * run's and the port's. `confirm` throws when another process has the run by now.
 */
export function payForRun(
  run: PlanRun,
  budgets: Pick<BudgetKeeper, "charge">,
  confirm: () => Promise<void>,
): Pay {
  const agent = `plan:${run.plan.name}`;
  return async (request, model, { port = "", worker = run.id }) => {
    const bounds = boundsOfRun(run, port);
    const charged = await budgets.charge(
      { session: run.id, path: worker, service: agent, agent, bounds },
      request,
      model,
    );

    await confirm(); // directly before the call; what a process that has lost its run has reserved is given back with its blocks

    return charged;
  };
}

/** The plan's own bounds of money: of its run, and of one port. Pure. */
export function boundsOfRun(run: PlanRun, port: string): NonNullable<OutsideFacts["bounds"]> {
  const ofPort = run.plan.ports.find(({ id }) => id === port)?.budget?.microUsd;
  const ofRun = run.plan.limits.budget?.microUsd;

  return [
    ...(ofPort === undefined ? [] : [{ scope: "port", path: `${run.id}/${port}`, most: ofPort }]),
    ...(ofRun === undefined ? [] : [{ scope: "run", path: run.id, most: ofRun }]),
  ];
}

/**
 * A draft is an agent of its own to the team's budgets. `confirm` throws when this process was
 * taken for dead.
 */
export function payForDraft(
  budgets: Pick<BudgetKeeper, "charge">,
  confirm: () => Promise<void>,
): Pay {
  const name = "plan.draft";
  return async (request, model) => {
    const charged = await budgets.charge(
      { session: name, path: name, service: name, agent: name },
      request,
      model,
    );

    await confirm();
    return charged;
  };
}
