import { FULL } from "../kernel/test-tiers.ts";
import { expect, test } from "vitest";
import { testDatabase } from "../durable/test-database.ts";
import { hanging, startTestTeam, type TestAgent } from "../jobs/test-jobs.ts";
import type { RoomToolsParts } from "../rooms/handover/tools.ts";
import { agentTools } from "./agent-tools.ts";

test(
  "an agent cancels its own work by its tool, in its session's tenant alone; the audit log has it",
  FULL,
  async () => {
    await using db = await testDatabase();
    const cancelling: TestAgent = (request) => {
      const last = request.messages.at(-1)!;
      if (last.role === "tool") return `I was told: ${JSON.stringify(last.result)}`;
      return {
        toolCalls: [
          {
            name: "cancel_job",
            args: { jobId: /job_\w+/.exec((last as { text: string }).text)![0] },
          },
        ],
      };
    };
    await using team = await startTestTeam({
      url: db.url,
      agents: { ruda: cancelling, seum: cancelling, eden: hanging },
      tools: (jobs, agent) => {
        const { cancel_job: cancelJob } = agentTools(agent, async () => ({
          jobs,
          inbox: team.inbox,
          rooms: { database: team.database } as RoomToolsParts,
        }));
        return { cancel_job: cancelJob! };
      },
    });
    const ask = async (tenant: string): Promise<string> =>
      (
        await team.jobs.ask({
          requester: "ruda",
          agent: "eden",
          message: "How long?",
          waitSec: 0,
          tenant,
        })
      ).jobId;
    const [theirs, ours] = [await ask("acme"), await ask("")];
    const say = async (agent: string, tenant: string, job: string): Promise<string> =>
      (
        await team.engine.turn(
          { session: `${agent}-${tenant}-${job}`, service: agent, message: `Cancel ${job}.` },
          { caller: { tenant, name: "x" } },
        ).done
      ).message;

    expect(await say("seum", "acme", theirs)).toContain("JOB_UNKNOWN"); // another one's
    expect(await say("ruda", "acme", ours)).toContain("JOB_UNKNOWN"); // another tenant's
    expect(await say("ruda", "", theirs)).toContain("JOB_UNKNOWN");
    expect(await say("ruda", "acme", theirs)).toContain("CANCELLED");

    expect([
      (await team.jobs.get(theirs, { tenant: "acme" })).status,
      (await team.jobs.get(ours)).status,
    ]).not.toContain("COMPLETED");
    expect((await team.jobs.get(theirs, { tenant: "acme" })).status).toBe("CANCELLED");
    expect(["PENDING", "RUNNING"]).toContain((await team.jobs.get(ours)).status);
    expect(
      await team.database.query({ text: "select tenant, name, what, subject from dure.audit" }),
    ).toEqual([{ tenant: "acme", name: "agent:ruda", what: "job.cancel", subject: theirs }]);
  },
);
