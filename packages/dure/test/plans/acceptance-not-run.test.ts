import { expect, test } from "vitest";
import { FULL } from "../../src/kernel/test-tiers.ts";
import { realPlan } from "./real-runs.ts";
import { openStage } from "./stage.ts";

const PLAN = {
  plan: "shop",
  roles: "modules",
  workers: {
    default: { kind: "command", command: ["sh", "-c", 'echo "$DURE_TRY" >> src/price.txt'] },
  },
  ports: [
    {
      id: "price",
      role: "price",
      goal: "Prices.",
      owns: ["src/**"],
      acceptance: "no-such-runner src",
    },
  ],
};

test(
  "an acceptance whose program is not there asks after one try, and goes on when it is told to",
  { ...FULL, timeout: 300_000 },
  async () => {
    const { runs, repository } = await openStage({ "src/price.txt": "" });
    const plan = realPlan(JSON.stringify(PLAN));
    const { id } = await runs.runs.run({ plan, repository: repository.folder, by: "me" });
    const made = async (): Promise<readonly string[]> =>
      (await runs.runs.port(id, "price")).steps.map((step) => `${step.try} ${step.kind}`);
    const hasEnded = async (): Promise<boolean> => (await runs.runs.get(id)).finishedAt !== null;

    await expect.poll(hasEnded, { timeout: 60_000 }).toBe(true);
    expect(await made()).toEqual(["1 implement", "1 accept"]);
    expect((await runs.runs.port(id, "price")).because).toMatchObject({
      code: "ACCEPTANCE_NOT_RUN",
      message: expect.stringContaining("no-such-runner"),
    });
    const { items } = await runs.inbox.list({ tenant: "", run: id, status: "open" });
    const asked = items.find(({ type }) => type === "general")!;
    await runs.inbox.answer(asked.id, { value: "retry" }, { tenant: "", name: "민준" });

    await expect
      .poll(made, { timeout: 60_000 })
      .toEqual(["1 implement", "1 accept", "2 implement", "2 accept"]);
  },
);
