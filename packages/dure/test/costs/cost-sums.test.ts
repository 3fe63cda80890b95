import { type Costs, DureClient } from "dure/client";
import { expect, onTestFinished, test } from "vitest";
import { testDatabase } from "../../src/durable/test-database.ts";
import { chatAgent } from "../../src/engine/agent/agent.ts";
import { defineService, flow } from "../../src/engine/service/service.ts";
import { systemClock } from "../../src/kernel/clock.ts";
import { silentLogger } from "../../src/kernel/logger.ts";
import { FULL } from "../../src/kernel/test-tiers.ts";
import type { OpenWorker } from "../../src/plans/workers/open-worker.ts";
import { runWorker } from "../../src/plans/workers/worker-run.ts";
import { readTeam } from "../../src/team/config.ts";
import { readEnvironment } from "../../src/team/environment.ts";
import { startTeam } from "../../src/team/start.ts";
import type { CostSum } from "../../src/wire/platform.ts";
import { testRepository } from "../plans/real-runs.ts";
import { until } from "../until.ts";
import { type Bill, billingProvider, type Reply } from "./billing-provider.ts";

/** Models of the provider, each for one kind of caller, with its price per million tokens. */
const MODELS = { desk: [3, 15], ruda: [2, 8], eden: [5, 25], coder: [1, 4] } as const;
type Model = keyof typeof MODELS;

const WORDS = "amber birch cedar dunes ember flint grove heath islet juniper knoll larch".split(
  " ",
);
/** New words each time, so that no exchange ends because one agent repeats itself. */
function wordsOf(nth: number): string {
  return WORDS.map((_, index) => WORDS[(index * nth + nth * 5) % WORDS.length]).join(" ");
}

/** A coder writes its file, then reports; all others talk. */
function replyOf(model: string, nth: number, hasWritten: boolean): Reply {
  if (model !== "coder") return { text: `Answer ${nth}: ${wordsOf(nth)}. What comes next?` };
  if (hasWritten) return { call: { name: "report", args: { status: "ready", summary: "done" } } };
  return { call: { name: "write", args: { path: "src/coder/new.txt", content: wordsOf(nth) } } };
}

/** Each seventh call of a model is refused, the third and then each twentieth is cut. */
function fateOf(nth: number): "answered" | "failed" | "cut" {
  if (nth % 7 === 2) return "failed";
  return nth % 20 === 3 ? "cut" : "answered";
}

/** What an agent of another maker says of itself. */
const TOLD = { microUsd: 20_000, tokensIn: 900, tokensOut: 90 };
const TELLING: OpenWorker = () => ({
  kind: "own",
  run: (assignment, options) =>
    runWorker(
      assignment,
      async (report) => {
        report.used({ input: TOLD.tokensIn, output: TOLD.tokensOut });
        report.costs({ amount: TOLD.microUsd / 1_000_000, currency: "USD" });
        return { status: "ready" as const, summary: "done", claimedFiles: [] };
      },
      { clock: systemClock, ...options },
    ),
});

const PLAN = `
plan: shop
roles: modules
limits: { tries: 1 }
workers:
  coder: { kind: model, model: "openai-compatible:coder" }
  told: { kind: own, name: telling }
ports:
  - { id: coder, role: coder, goal: Write., owns: [src/coder/**], acceptance: "true" }
  - { id: told, role: told, goal: Tell., owns: [src/told/**], acceptance: "true", no_change: allowed }
`;

const POLICY = { maxAttempts: 5, backoffSec: 0.01 };
const llmOf = (model: Model) => `openai-compatible:${model}` as const;
const cardOf = (model: Model) => ({ llm: llmOf(model), policy: POLICY });

const desk = defineService({
  name: "desk",
  agents: {
    helper: chatAgent({ name: "helper", prompt: "Answer briefly.", card: { policy: POLICY } }),
  },
  memory: { summarizeThreshold: 3, keepRecentTurns: 1 },
  flows: {
    DEFAULT: flow(async (turn) => turn.done({ message: (await turn.agent("helper", "…")).text })),
  },
});

type BilledTeam = Awaited<ReturnType<typeof startBilledTeam>>;

async function startBilledTeam() {
  const stack = new AsyncDisposableStack();
  onTestFinished(() => stack.disposeAsync());
  const provider = await billingProvider({
    fate: fateOf,
    reply: ({ model, messages }, nth) => {
      const hasWritten = messages.some(({ role }) => role === "tool");
      return replyOf(model, nth, hasWritten);
    },
  });
  const { url } = stack.use(await testDatabase());
  const repository = stack.use(
    await testRepository({ "src/coder/a.txt": "", "src/told/a.txt": "" }),
  );
  const prices = Object.entries(MODELS).map(([model, [into, out]]) => [
    llmOf(model as Model),
    { in: into, out },
  ]);
  const config = await readTeam({
    services: { desk },
    model: llmOf("desk"),
    prices: Object.fromEntries(prices) as Record<string, { in: number; out: number }>,
    plans: { workers: { telling: TELLING } },
    agents: {
      ruda: { leads: true, card: cardOf("ruda") },
      eden: { card: cardOf("eden") },
    },
  });
  const environment = readEnvironment({
    DATABASE_URL: url,
    PORT: "0",
    OPENAI_API_KEY: "sk-test",
    OPENAI_BASE_URL: provider.url,
  });
  const team = await startTeam(config, environment, { logger: silentLogger });
  stack.defer(() => team.stop());

  return { client: new DureClient({ baseUrl: team.url }), url: team.url, provider, repository };
}

async function post(url: string, body: object): Promise<Record<string, string>> {
  const answer = await fetch(url, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(body),
  });
  return (await answer.json()) as Record<string, string>;
}

/** Money for tokens, in millionths of a US dollar. */
function priceFor(model: Model, tokensIn: number, tokensOut: number): number {
  const [into, out] = MODELS[model];
  return tokensIn * into + tokensOut * out;
}

/** Which agents and services ask a model; a fold asks in the name of its service. */
const CALLERS: Record<Model, { agents: readonly string[]; service: string }> = {
  desk: { agents: ["helper", "memory"], service: "desk" },
  ruda: { agents: ["ruda"], service: "ruda" },
  eden: { agents: ["eden"], service: "eden" },
  coder: { agents: [], service: "plan:shop" },
};

type Row = CostSum & { readonly id: string };

/** Rows with these ids as one: their calls, and their money without what was estimated. */
function sumOf(rows: readonly Row[], ids: readonly string[]) {
  const some = rows.filter(({ id }) => ids.includes(id));
  const sum = (of: (row: Row) => number): number => some.reduce((all, row) => all + of(row), 0);
  return {
    calls: sum(({ calls }) => calls),
    told: sum(({ microUsd, estimatedMicroUsd = 0 }) => microUsd - estimatedMicroUsd),
    estimated: sum(({ estimatedMicroUsd = 0 }) => estimatedMicroUsd),
  };
}

const callsIn = ({ answered, failed, cut }: Bill): number => answered + failed + cut;
const distance = (counted: number, billed: number): number => Math.abs(counted - billed) / billed;

/** A chat that is folded, a job, and a run with a coder and an agent of another maker. */
async function workOf({ client, url, repository }: BilledTeam): Promise<void> {
  for (let turn = 1; turn <= 24; turn++) {
    const message = `question ${turn}`;
    await post(`${url}/v1/agent/chat`, { session_id: "mina", service: "desk", message });
  }
  const job = { agent: "ruda", target: "eden", message: "Which trees grow here?", max_turns: 8 };
  await post(`${url}/v1/jobs`, { ...job, wait: "60s" });
  const where = { repository: repository.folder };
  const { id } = await client.plans.start({ file: "shop.yaml", text: PLAN, ...where });
  const isOver = async (): Promise<boolean> => (await client.plans.run(id)).finishedAt !== null;
  await until(isOver, () => "the run did not end", { patienceMs: 60_000 });

  const { status, report } = await client.plans.run(id);
  expect([status, report?.missing]).toEqual(["success", []]);
}

/** The costs when each call that the provider has seen is in them. */
async function wholeCosts({ client, provider }: BilledTeam): Promise<Costs> {
  const asked = (): number =>
    [...provider.bills.values()].reduce((all, bill) => all + callsIn(bill), 1);
  return until(
    async () => {
      const costs = await client.costs(2);
      return costs.total.calls === asked() && costs;
    },
    () => `${asked()} calls are not in the costs`,
  );
}

test(
  "sums by agent, service and model are the provider's bill: retries, folds, cuts, jobs, plans",
  { ...FULL, timeout: 120_000 },
  async () => {
    const team = await startBilledTeam();
    await workOf(team);
    const { total, byAgent, byService, byModel, overTime } = await wholeCosts(team);

    let billed = TOLD.microUsd;
    for (const model of Object.keys(MODELS) as Model[]) {
      const bill = team.provider.bills.get(model)!;
      const told = priceFor(model, bill.tokensIn, bill.tokensOut);
      const cut = priceFor(model, bill.cutTokensIn, bill.cutTokensOut);
      const { agents, service } = CALLERS[model];
      const ofModel = sumOf(byModel, [llmOf(model)]);
      billed += told + cut;

      expect([bill.failed, bill.cut].every((count) => count > 0)).toBe(true);
      expect(ofModel).toMatchObject({ calls: callsIn(bill), told });
      expect(distance(ofModel.estimated, cut)).toBeLessThan(0.25);
      if (model === "coder") continue;
      expect([sumOf(byAgent, agents), sumOf(byService, [service])]).toEqual([ofModel, ofModel]);
    }

    const ofCoder = sumOf(byModel, [llmOf("coder"), "agent:telling"]);
    expect(sumOf(byAgent, ["plan:shop"])).toEqual(ofCoder);
    expect(sumOf(byService, ["plan:shop"])).toEqual(ofCoder);
    expect(byModel.find(({ id }) => id === "agent:telling")).toMatchObject({
      ...TOLD,
      reportedMicroUsd: TOLD.microUsd,
    });
    expect(sumOf(byAgent, ["memory"]).calls).toBeGreaterThan(0);
    expect(distance(total.microUsd, billed)).toBeLessThan(0.01);
    for (const points of Object.values(overTime)) {
      expect(points.reduce((all, { microUsd }) => all + microUsd, 0)).toBe(total.microUsd);
    }
  },
);
