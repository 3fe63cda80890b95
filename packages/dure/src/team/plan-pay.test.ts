import { expect, test } from "vitest";
import { FRESH_MS } from "../durable/lease-proof.ts";
import { Leases } from "../durable/leases.ts";
import { testDatabase } from "../durable/test-database.ts";
import { joinTeam } from "../durable/test-members.ts";
import { systemClock, type Clock } from "../kernel/clock.ts";
import { silentLogger } from "../kernel/logger.ts";
import type { Llm } from "../models/card.ts";
import { Models } from "../models/models.ts";
import { offlineModel } from "../models/offline.ts";
import { paidModels, type Pay } from "../models/paid.ts";
import { draftPlan } from "../plans/drafts/draft.ts";
import { teamWorkers } from "../plans/drafts/team-workers.ts";
import { parsePlan } from "../plans/plan-file.ts";
import type { PlanRun } from "../plans/rows/run.ts";
import { PlanThreads } from "../plans/threads/plan-threads.ts";
import { payForDraft, payForRun } from "./plan-pay.ts";

const PLAN = `plan: sessions
roles: modules
workers: { default: { kind: offline } }
ports:
  - { id: core, role: core, goal: Sessions expire., owns: [src/core/**], acceptance: "true" }
`;
const RUN = { id: "run_1", plan: parsePlan("plan.yaml", PLAN) } as PlanRun;
const LLM: Llm = { provider: "offline", model: "drafter", fallbacks: [] };
const END_OF_PROCESS = {
  name: "test.end_of_process",
  text: `
    update dure.processes
       set epoch = epoch + 1, ended_at = clock_timestamp(), ended_because = 'silent'
     where id = $1`,
};

/** A process that leads a run and can stand still, and what it has asked a model for. */
async function openProcess() {
  const stack = new AsyncDisposableStack();
  const db = stack.use(await testDatabase());
  const time = { ahead: 0 };
  const clock: Clock = { ...systemClock, monotonic: () => systemClock.monotonic() + time.ahead };
  const us = stack.use(await joinTeam(db.url, { clock }));
  const other = stack.use(await joinTeam(db.url));
  const leases = new Leases(us);
  await leases.acquire("run:run_1");

  const asked: string[] = [];
  const model = offlineModel("drafter", async (request) => {
    asked.push(request.system ?? "");
    return { text: PLAN };
  });
  const models = new Models({ clock: systemClock, logger: silentLogger, offline: [model] });
  const charged: string[] = [];
  const budgets = {
    charge: async ({ agent }: { readonly agent: string }) => {
      charged.push(agent);
      return { settle: async () => {} };
    },
  };
  const threads = new PlanThreads();
  stack.defer(() => threads.stop());
  const signal = new AbortController().signal;
  const modelsPaidBy = (pay: Pay): Pick<Models, "resolve"> => paidModels(models, pay);

  return {
    asked,
    charged,
    draft: async () =>
      draftPlan(
        {
          models: modelsPaidBy(payForDraft(budgets, () => us.lease.confirm())),
          llm: LLM,
          clock: systemClock,
          threads,
          workers: teamWorkers([], LLM),
          signatures: async (_path, text) => ({ text, form: "whole" }),
        },
        { goal: "Sessions expire" },
        { files: [], commits: [], readFile: async () => undefined },
        { signal },
      ),
    work: async () =>
      modelsPaidBy(payForRun(RUN, budgets, () => leases.confirm("run:run_1")))
        .resolve(LLM)
        .stream({ system: "Work.", messages: [{ role: "user", text: "Begin." }] }, { signal }),
    /** Less than the 6 s after which a process knows by itself that it stood still. */
    standStill: () => void (time.ahead += FRESH_MS + 500),
    loseTheRun: async () => void (await new Leases(other).takeOver("run:run_1")),
    beTakenForDead: async () => void (await other.database.query(END_OF_PROCESS, [us.id])),
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}

test("a process that stood still and kept its lease pays for drafts and for work on its run", async () => {
  await using process = await openProcess();

  await process.draft();
  await process.work();
  process.standStill();
  await process.draft();
  await process.work();

  expect(process.asked).toHaveLength(4);
  expect(process.charged).toEqual(["plan.draft", "plan:sessions", "plan.draft", "plan:sessions"]);
});

test("a woken process pays for no work on a run that another has taken over", async () => {
  await using process = await openProcess();
  process.standStill();
  await process.loseTheRun();

  await expect(process.work()).rejects.toMatchObject({ code: "FENCED" });
  expect(process.asked).toEqual([]);
});

test("a woken process that others took for dead pays for no draft", async () => {
  await using process = await openProcess();
  process.standStill();
  await process.beTakenForDead();

  await expect(process.draft()).rejects.toMatchObject({ code: "FENCED" });
  expect(process.asked).toEqual([]);
});
