import { DureClient } from "dure/client";
import { expect, onTestFinished, test } from "vitest";
import { testDatabase } from "../../src/durable/test-database.ts";
import { silentLogger } from "../../src/kernel/logger.ts";
import { FULL } from "../../src/kernel/test-tiers.ts";
import { offlineModel } from "../../src/models/offline.ts";
import { readTeam } from "../../src/team/config.ts";
import { readEnvironment } from "../../src/team/environment.ts";
import { startTeam } from "../../src/team/start.ts";
import { until } from "../until.ts";
import { testRepository } from "./real-runs.ts";

/** A team whose worker waits for its model: that costs its port no try. */

const PLAN = `
plan: shop
roles: modules
limits: { tries: 1 }
workers: { default: { kind: model, model: "offline:away" } }
ports:
  - { id: a, role: a, goal: Make a., owns: [src/a/**], acceptance: "true", no_change: allowed }
`;
const REPORT = {
  toolCalls: [{ name: "report", args: { status: "ready", summary: "done" } }],
};

async function openAway() {
  const stack = new AsyncDisposableStack();
  onTestFinished(() => stack.disposeAsync());
  let isAway = true;
  const model = offlineModel("away", () =>
    isAway ? { text: "", error: { status: 503 } } : REPORT,
  );
  const { url } = stack.use(await testDatabase());
  const repository = stack.use(await testRepository({ "src/a/a.txt": "" }));
  const agents = { ruda: { leads: true } };
  const config = await readTeam({ agents, model: "offline:away", offlineModels: [model] });
  const environment = readEnvironment({ DATABASE_URL: url, PORT: "0" });
  const start = async () => {
    const team = await startTeam(config, environment, { logger: silentLogger });
    stack.defer(() => team.stop());
    return { team, client: new DureClient({ baseUrl: team.url }) };
  };
  const begun = await start();
  const { id } = await begun.client.plans.start({
    file: "shop.yaml",
    text: PLAN,
    repository: repository.folder,
  });
  return { ...begun, start, id, comesBack: () => void (isAway = false) };
}

async function waits(client: DureClient, id: string): Promise<void> {
  let seen = "";
  const isWaiting = async (): Promise<boolean> => {
    const { steps } = await client.plans.port(id, "a");
    seen = JSON.stringify(steps.map(({ kind, task, output }) => ({ kind, task, output })));
    return steps.some(({ task }) => task === "waiting for offline:away");
  };
  await until(isWaiting, () => `the worker does not say that it waits: ${seen}`);
}

async function ended(client: DureClient, id: string) {
  const found = async () => {
    const run = await client.plans.run(id);
    return run.finishedAt !== null && run;
  };
  const run = await until(found, () => "the run does not end", { patienceMs: 60_000 });
  const { steps } = await client.plans.port(id, "a");
  const tries = steps.filter(({ kind }) => kind === "implement").map((step) => step.try);
  return { status: run.status, tries };
}

test("a worker whose model is away goes on in its try when a person says so", FULL, async () => {
  const { client, id, comesBack } = await openAway();
  await waits(client, id);
  const [told] = await until(
    async () => {
      const { items } = await client.escalations();
      return items.length > 0 && items;
    },
    () => "no person is told that the model is away",
  );
  expect(told).toMatchObject({ type: "blocked", status: "open" });
  comesBack();

  await client.answerEscalation(told!.id, { value: "retry" });

  expect(await ended(client, id)).toEqual({ status: "success", tries: [1] });
});

test(
  "a worker that waits for its model goes on in the next process, in its try",
  FULL,
  async () => {
    const { team, client, start, id, comesBack } = await openAway();
    await waits(client, id);

    await team.stop();
    comesBack();
    const { client: next } = await start();

    expect(await ended(next, id)).toEqual({ status: "success", tries: [1] });
  },
);
