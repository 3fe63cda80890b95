import { expect, onTestFinished } from "vitest";
import { testDatabase } from "../../src/durable/test-database.ts";
import type { EngineOptions } from "../../src/engine/engine.ts";
import type { JobDetail } from "../../src/jobs/job.ts";
import { startTestTeam, type TestAgent } from "../../src/jobs/test-jobs.ts";
import { bookingTool, ended, OF_THE_DATABASE, REFUSED, type Moment, type Stage } from "./stage.ts";

const TURNS = 3;

/** An exchange of three turns, in whose first 이든 books. */
export async function jobStage(moment: Moment, engine: Partial<EngineOptions>): Promise<Stage> {
  const stack = new AsyncDisposableStack();
  onTestFinished(() => stack.disposeAsync());
  const { url } = stack.use(await testDatabase());
  const { book, booked } = bookingTool(() => moment.at("tool of a job"));
  const seen: unknown[] = [];
  let said = 0;
  const answering: TestAgent = async ({ messages }) => {
    const results = messages.flatMap((message) =>
      message.role === "tool" ? [message.result] : [],
    );
    seen.push(...results);
    if (said === 1) await moment.at("job turn");
    if (moment.provider.isAway) return REFUSED;
    if (said === 0 && results.length === 0) return { toolCalls: [{ name: "book", args: {} }] };
    said += 1;
    return WORDS[said % WORDS.length]!;
  };
  const team = stack.use(
    await startTestTeam({
      url,
      agents: { ruda: answering, eden: answering },
      tools: () => ({ book }),
      engine,
    }),
  );
  await moment.opened(url);
  let job: JobDetail;
  return {
    run: async () => {
      const message = "Let's discuss: the login module";
      const asked = { requester: "ruda", agent: "eden", message, maxTurns: TURNS, waitSec: 0 };
      const { jobId } = await team.jobs.ask(asked);
      await moment.isOver;
      job = await ended(() => team.jobs.get(jobId));
    },
    assertDone: async () => {
      expect(job).toMatchObject({ status: "COMPLETED", outcome: "max_turns", turnsDone: TURNS });
      expect(job.turns.map(({ number }) => number)).toEqual([1, 2, 3]);
    },
    assertHonest: async () => {
      expect([...booked.values()]).toEqual([1]);
      expect(JSON.stringify([seen, job])).not.toMatch(OF_THE_DATABASE);
    },
    excuse: async () => `${job.status} ${job.outcome} ${job.lastError?.code}`,
    retry: async () => {
      await team.jobs.retry(job.jobId);
      job = await ended(() => team.jobs.get(job.jobId));
    },
  };
}

/** Long enough and different enough for an exchange to go on. */
const WORDS = [
  "The form sends its fields twice, because two listeners are bound to it.",
  "A session cookie without SameSite is what the browser drops in the frame.",
  "Then I would first write down which of the three screens fails, and when.",
];
