import { expect, test } from "vitest";
import { FULL } from "../../src/kernel/test-tiers.ts";
import { until } from "../until.ts";
import { JobsWorld, PATIENCE } from "./team.ts";

test(
  "a retry of a job that kill -9 cuts off goes on in another process: one effect, right answer",
  { ...FULL, timeout: 120_000 },
  async () => {
    await using world = await JobsWorld.start();
    const statusOf = async (): Promise<string | undefined> => (await world.jobs())[0]?.status;
    const first = world.direct({ pays: "away" });
    await first.says("ready");
    first.ask({ requester: "ruda", agent: "eden", message: "Pay mina", maxTurns: 1, waitSec: 0 });
    await until(
      async () => (await statusOf()) === "FAILED",
      () => "the job did not fail",
      PATIENCE,
    );
    const { id } = (await world.jobs())[0]!;
    await first.kill();

    const second = world.direct({ pays: "hangs" });
    await second.says("ready");
    second.retry(id);
    await second.says("hangs");
    await second.kill();
    world.direct({ pays: "answers" });
    await until(
      async () => (await statusOf()) === "COMPLETED",
      () => "the job did not go on",
      PATIENCE,
    );

    expect(await world.jobs()).toHaveLength(1);
    expect(await world.transcript(id)).toEqual(["1 eden: Mina has got the payment."]);
    const payments = { text: "select id from test_calls where agent = 'bank'" };
    expect(await world.database.query(payments)).toHaveLength(1);
  },
);
