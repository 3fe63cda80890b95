// @module-tag slow
import { expect, test } from "vitest";
import { FULL } from "../kernel/test-tiers.ts";
import { boundMs } from "../kernel/test-bounds.ts";
import { z } from "zod";
import { systemClock, type Clock } from "../kernel/clock.ts";
import { codeOf } from "../kernel/errors.ts";
import type { Database } from "../durable/database.ts";
import { testDatabase } from "../durable/test-database.ts";
import { untilBlocked } from "../durable/test-members.ts";
import { tool, type AnyTool } from "../engine/agent/tool.ts";
import { PostgresProxy } from "@dure/testing";
import { ANNOUNCE_TOPIC, type JobAnnouncement } from "./announcement.ts";
import { askAgentTool } from "./ask-agent-tool.ts";
import { jobAttemptRules } from "./endings.ts";
import { newJobId, sessionOf } from "./job.ts";
import type { AskRequest, AskResult } from "./ask.ts";
import type { JobLimits } from "./limits.ts";
import { JobStore } from "./store.ts";
import {
  hanging,
  looksLater,
  saying,
  startTestTeam,
  talkative,
  type TestAgent,
  type TestTeam,
} from "./test-jobs.ts";

/** A busy machine may take its time; what is measured is measured by itself. */
const expectSoon = <T>(ask: () => T, options: { timeout?: number } = {}) =>
  expect.poll(ask, { timeout: 20_000, ...options });

test("a question is answered in one turn, and the caller gets the answer", async () => {
  await using db = await testDatabase();
  await using team = await startTestTeam({
    url: db.url,
    agents: { ruda: talkative, eden: saying("The build takes eleven minutes on the new machine.") },
  });

  const answer = await team.jobs.ask({
    requester: "ruda",
    agent: "eden",
    message: "How long does the build take?",
  });

  expect(answer).toEqual({
    status: "ok",
    reply: "The build takes eleven minutes on the new machine.",
    how: "message",
    by: "eden",
    jobId: expect.stringMatching(/^job_/),
  });
  const job = await team.jobs.get(answer.jobId);
  expect(job).toMatchObject({
    status: "COMPLETED",
    outcome: "max_turns",
    intent: "question",
    maxTurns: 1,
    turnsDone: 1,
    resumeCount: 0,
    depth: 0,
    rootId: answer.jobId,
    lastError: null,
  });
  expect(job.turns).toMatchObject([
    {
      number: 1,
      speaker: "eden",
      text: "The build takes eleven minutes on the new machine.",
      attempts: 1,
    },
  ]);
  expect(job.turns[0]!.tokensOut).toBeGreaterThan(0);
  expect(job.startedAt! >= job.createdAt && job.finishedAt! >= job.startedAt!).toBe(true);
});

test("a collaboration goes back and forth, each agent in a session of its own, until its maximum", async () => {
  await using db = await testDatabase();
  await using team = await startTestTeam({
    url: db.url,
    agents: { ruda: talkative, eden: talkative },
  });

  const answer = await team.jobs.ask({
    requester: "ruda",
    agent: "eden",
    message: "Let's discuss: the login module",
    maxTurns: 6,
  });

  const job = await team.jobs.get(answer.jobId);
  expect(job).toMatchObject({ status: "COMPLETED", outcome: "max_turns", turnsDone: 6 });
  expect(job.turns.map(({ speaker }) => speaker)).toEqual([
    "eden",
    "ruda",
    "eden",
    "ruda",
    "eden",
    "ruda",
  ]);
  expect([team.asked["eden"]!.length, team.asked["ruda"]!.length]).toEqual([3, 3]);
  const sessions = await team.database.query<{ id: string }>({
    text: "select id from dure.sessions order by id",
  });
  expect(sessions.map(({ id }) => id)).toEqual([`job:${job.jobId}:eden`, `job:${job.jobId}:ruda`]);
  const said = job.turns.map(({ speaker, text }) => `${speaker}: ${text}`).join("\n\n");
  expect(answer).toMatchObject({ status: "ok", how: "exchange", by: null, reply: said });
});

test("waitSec 0 returns at once, and a caller that waited too short finds the result later", async () => {
  await using db = await testDatabase();
  const thought = Promise.withResolvers<void>();
  const slow = async (): Promise<string> => {
    await thought.promise;
    return "Here is the answer to your question.";
  };
  await using team = await startTestTeam({ url: db.url, agents: { ruda: talkative, eden: slow } });

  const accepted = await team.jobs.ask({
    requester: "ruda",
    agent: "eden",
    message: "What now?",
    waitSec: 0,
  });
  const timeout = await team.jobs.ask({
    requester: "ruda",
    agent: "eden",
    message: "What now?",
    waitSec: 0.05,
  });

  expect([accepted.status, timeout.status]).toEqual(["accepted", "timeout"]);
  thought.resolve();
  for (const { jobId } of [accepted, timeout]) {
    await expectSoon(async () => (await team.jobs.get(jobId)).status).toBe("COMPLETED");
  }
});

test("a caller that comes when no other has waited for a while gets its answer too", async () => {
  await using db = await testDatabase();
  await using team = await startTestTeam({
    url: db.url,
    agents: { ruda: talkative, eden: talkative },
  });

  for (let n = 0; n < 5; n++) {
    const { jobId } = await team.jobs.ask({
      requester: "ruda",
      agent: "eden",
      message: `What is ${n}?`,
      waitSec: 0,
    });
    await expectSoon(async () => (await team.jobs.get(jobId)).status).toBe("COMPLETED");
    expect(
      await team.jobs.ask({
        requester: "ruda",
        agent: "eden",
        message: `And what is ${n}?`,
        waitSec: 3,
      }),
    ).toMatchObject({ status: "ok" });
  }
});

// --- endings

test.each([
  ["max_turns", { ruda: talkative, eden: talkative }, "COMPLETED", 4],
  ["explicit_skip", { ruda: saying("REPLY_SKIP"), eden: talkative }, "COMPLETED", 2],
  ["empty_reply", { ruda: talkative, eden: saying("") }, "COMPLETED", 1],
  [
    "repetition",
    { ruda: talkative, eden: saying("the very same words again and again, every time") },
    "COMPLETED",
    3,
  ],
  [
    "conclusion",
    { ruda: saying("You're welcome."), eden: saying("Thank you very much!") },
    "COMPLETED",
    2,
  ],
  ["minimal_content", { ruda: saying("Fine then."), eden: talkative }, "COMPLETED", 2],
  ["agent_error", { ruda: talkative, eden: () => ({ error: { status: 401 } }) }, "FAILED", 0],
  ["no_reply", { ruda: talkative, eden: hanging }, "FAILED", 0],
  ["turn_timeout", { ruda: hanging, eden: talkative }, "FAILED", 1],
] as const)(
  "an exchange ends with %s, and in that status",
  async (outcome, agents, status, turns) => {
    // Only who hangs comes to the end of its time, also on a busy machine.
    const limitOf = (agent: unknown): number => (agent === hanging ? 400 : 120_000);
    await using db = await testDatabase();
    await using team = await startTestTeam({
      url: db.url,
      agents,
      jobs: { limits: { firstReplyMs: limitOf(agents.eden), turnMs: limitOf(agents.ruda) } },
    });

    const answer = await team.jobs.ask({
      requester: "ruda",
      agent: "eden",
      message: "Let's discuss: the login module",
      maxTurns: 4,
    });

    const job = await team.jobs.get(answer.jobId);
    expect(job).toMatchObject({ outcome, status, turnsDone: turns });
    expect(job.turns).toHaveLength(turns);
    expect(answer.status).toBe(status === "COMPLETED" ? "ok" : "error");
    expect(job.lastError === null).toBe(status === "COMPLETED");
    const running = await team.database.query({
      text: "select id from dure.turns where status <> 'done'",
    });
    expect(running).toEqual([]); // no call goes on behind the end
  },
);

test.each([
  ["401", { status: 401 }],
  ["403", { status: 403 }],
])("a model that answers %s is asked once", async (_, error) => {
  await using db = await testDatabase();
  await using team = await startTestTeam({
    url: db.url,
    agents: { ruda: talkative, eden: () => ({ error }) },
  });

  const answer = await team.jobs.ask({
    requester: "ruda",
    agent: "eden",
    message: "How long does the build take?",
  });

  expect(answer.status).toBe("error");
  expect(team.asked["eden"]).toHaveLength(1);
});

test.each([
  ["at all", []],
  ["after its first words", ["I will look at it. "]],
])(
  "a model that gives no sign %s is asked four times in all; what its turn did before is done once",
  FULL,
  async (_, said) => {
    await using db = await testDatabase();
    let noted = 0;
    const note = tool({
      description: "Notes.",
      inputSchema: z.object({}),
      execute: () => (noted += 1),
    });
    const silent: TestAgent = (request, { signal }) => {
      if (!request.messages.some(({ role }) => role === "tool")) {
        return { toolCalls: [{ name: "note" }] };
      }
      return (async function* () {
        yield* said;
        await new Promise((_resolve, reject) =>
          signal.addEventListener("abort", () => reject(signal.reason as Error), { once: true }),
        );
      })();
    };
    const pauses: number[] = [];
    const engineClock = { ...systemClock, sleep: async (ms: number) => void pauses.push(ms) };
    await using team = await startTestTeam({
      url: db.url,
      agents: { ruda: talkative, eden: silent },
      tools: () => ({ note }),
      card: { policy: { maxAttempts: 9, idleTimeoutSec: 0.3 } },
      engineClock,
    });

    const answer = await team.jobs.ask({
      requester: "ruda",
      agent: "eden",
      message: "How long does the build take?",
    });

    expect(answer).toMatchObject({ status: "error", code: "MODEL_TIMEOUT" });
    expect(await team.jobs.get(answer.jobId)).toMatchObject({
      status: "FAILED",
      outcome: "agent_error",
      turnsDone: 0,
    });
    expect([team.asked["eden"]!.length, noted, pauses]).toEqual([1 + 4, 1, [1_600, 3_200, 6_400]]);
  },
);

test("the turns of jobs have rules of attempts, with a bound for silence; other sessions have their cards'", () => {
  const rules = jobAttemptRules({ random: () => 1 });

  expect(rules(sessionOf(newJobId(), "eden"))).toMatchObject({
    maxAttempts: 4,
    idleTimeoutSec: 30,
  });
  expect(rules("s1")).toBeUndefined();
});

test("end_conversation ends the exchange with the turn that called it, and is seen in exchanges only", async () => {
  await using db = await testDatabase();
  const leaving: TestAgent = (request) => {
    if (request.messages.some((message) => message.role === "tool")) {
      return "We are done; the module is split in two.";
    }
    return request.tools?.some(({ name }) => name === "end_conversation")
      ? { toolCalls: [{ name: "end_conversation" }] }
      : "I have no such tool.";
  };
  await using team = await startTestTeam({
    url: db.url,
    agents: { ruda: talkative, eden: leaving },
  });

  const answer = await team.jobs.ask({
    requester: "ruda",
    agent: "eden",
    message: "Let's discuss: the login module",
  });
  const done = await team.engine.turn({ session: "s1", service: "eden", message: "hello" }).done;

  expect(answer).toMatchObject({ status: "ok", reply: "We are done; the module is split in two." });
  expect(await team.jobs.get(answer.jobId)).toMatchObject({
    outcome: "explicit_skip",
    turnsDone: 1,
  });
  expect(done.message).toBe("I have no such tool.");
});

test("a job whose agent is not in the team any more fails as agent_removed", FULL, async () => {
  await using db = await testDatabase();
  const agents = { ruda: talkative, eden: talkative };
  let jobId: string;
  {
    await using team = await startTestTeam({
      url: db.url,
      agents,
      jobs: { limits: { permits: 0, permitWaitMs: 600_000 } },
    });
    jobId = (
      await team.jobs.ask({
        requester: "ruda",
        agent: "eden",
        message: "Review it, please.",
        waitSec: 0,
      })
    ).jobId!;
  }
  await using team = await startTestTeam({
    url: db.url,
    agents,
    known: ["ruda"],
    jobs: { limits: { unknownAgentMs: 500 } },
  });

  await expectSoon(async () => (await team.jobs.get(jobId)).status, { timeout: 10_000 }).toBe(
    "FAILED",
  );
  expect(await team.jobs.get(jobId)).toMatchObject({
    outcome: "agent_removed",
    lastError: { code: "AGENT_REMOVED" },
  });
});

test("the work of one root may not use more than its budget", async () => {
  await using db = await testDatabase();
  await using team = await startTestTeam({
    url: db.url,
    agents: { ruda: talkative, eden: talkative },
    jobs: { limits: { treeTokens: 20 } },
  });

  const answer = await team.jobs.ask({
    requester: "ruda",
    agent: "eden",
    message: "Let's discuss: the login module",
    maxTurns: 6,
  });

  expect(answer).toMatchObject({ status: "error", code: "JOB_BUDGET" });
  expect(await team.jobs.get(answer.jobId)).toMatchObject({
    status: "FAILED",
    outcome: "budget",
    turnsDone: 1,
  });
});

test(
  "what a descendant uses counts against its root's budget while the asking turn is still under way",
  FULL,
  async () => {
    await using db = await testDatabase();
    const asking: TestAgent = (request, context) => {
      if (request.messages.at(-1)!.role === "tool") {
        return "I was told how long it takes, more or less.";
      }
      return JSON.stringify(request.messages).includes("Ask seum")
        ? {
            toolCalls: [
              {
                name: "ask_agent",
                args: { agent: "seum", message: "How long does it take?", maxTurns: 3 },
              },
            ],
          }
        : talkative(request, context);
    };
    const start = (treeTokens: number) =>
      startTestTeam({
        url: db.url,
        agents: { ruda: talkative, eden: asking, seum: talkative },
        jobs: { limits: { treeTokens } },
        tools: (jobs, requester): Readonly<Record<string, AnyTool>> =>
          requester === "eden" ? { ask_agent: askAgentTool(jobs, { requester }) } : {},
      });
    const request = {
      requester: "ruda",
      agent: "eden",
      message: "Ask seum: how long does it take?",
    };
    let calls: number[];
    {
      await using team = await start(1_000_000);
      expect(await team.jobs.ask(request)).toMatchObject({ status: "ok" });
      const rows = await team.database.query<{ tokens: number }>({
        text: "select (tokens_in + tokens_out)::float8 as tokens from dure.model_calls order by id",
      });
      calls = rows.map(({ tokens }) => tokens);
    }
    // The first call of eden's unfinished turn and seum's first turn use it up together.
    const budget = calls[0]! + calls[1]!;
    await using team = await start(budget);

    await team.jobs.ask({ ...request, origin: { session: "another" } });

    const [child] = (await team.jobs.list({ agent: "seum" })).items;
    expect(child).toMatchObject({ status: "FAILED", outcome: "budget", turnsDone: 1, depth: 1 });
  },
);

test("an error that passes is tried again in the same turn, with pauses; the turn counts its attempts", async () => {
  await using db = await testDatabase();
  let calls = 0;
  const shaky: TestAgent = () =>
    ++calls <= 2 ? { error: { status: 503 } } : "The build takes eleven minutes.";
  const waits: number[] = [];
  const engineClock = { ...systemClock, sleep: async (ms: number) => void waits.push(ms) };
  await using team = await startTestTeam({
    url: db.url,
    agents: { ruda: talkative, eden: shaky },
    engineClock,
  });

  const answer = await team.jobs.ask({
    requester: "ruda",
    agent: "eden",
    message: "How long does the build take?",
  });

  expect(answer).toMatchObject({ status: "ok" });
  expect((await team.jobs.get(answer.jobId)).turns).toMatchObject([{ attempts: 3 }]);
  expect(waits).toEqual([1_600, 3_200]);
  expect(calls).toBe(3);
});

// --- asking

test("a job outlasts a model that is away for longer than one turn may take", async () => {
  await using db = await testDatabase();
  let calls = 0;
  const away: TestAgent = () => {
    calls += 1;
    return calls > 50 ? "It takes eleven minutes here." : { text: "", error: { status: 503 } };
  };
  await using team = await startTestTeam({
    url: db.url,
    agents: { ruda: talkative, eden: away },
    jobs: { limits: { firstReplyMs: 700 } },
    engine: {
      patienceMs: () => 60_000,
      outageRetry: { firstMs: 20, maxMs: 40 },
      attemptRules: () => undefined,
    },
  });

  const began = systemClock.monotonic();
  const answer = await team.jobs.ask({ requester: "ruda", agent: "eden", message: "How long?" });

  expect(systemClock.monotonic() - began).toBeGreaterThan(700);
  expect(answer).toMatchObject({ status: "ok" });
});

test("wrong requests are refused with a code, and there is no job", async () => {
  await using db = await testDatabase();
  await using team = await startTestTeam({
    url: db.url,
    agents: { ruda: talkative, eden: talkative, seum: talkative },
    jobs: { allow: ["ruda -> *"], limits: { messageBytes: 100 } },
  });
  await team.engine.turn(
    { session: "theirs", service: "eden", message: "hello" },
    { caller: { tenant: "other", name: "x" } },
  ).done;
  const good = { requester: "ruda", agent: "eden", message: "How long?" };
  const codeFor = async (request: Partial<AskRequest>): Promise<string | undefined> =>
    team.jobs.ask({ ...good, ...request }).then((result) => `made a job: ${result.status}`, codeOf);

  expect({
    unknown: await codeFor({ agent: "nobody" }),
    unknownRequester: await codeFor({ requester: "nobody" }),
    none: await codeFor({ agent: undefined }),
    self: await codeFor({ agent: "ruda" }),
    forbidden: await codeFor({ requester: "eden", agent: "seum" }),
    empty: await codeFor({ message: " \n" }),
    unstorable: await codeFor({ message: "a\u0000b" }),
    long: await codeFor({ message: "x".repeat(101) }),
    payload: await codeFor({ payload: { kind: "question" } }),
    foreignSession: await codeFor({ agent: undefined, session: "theirs" }),
    unknownSession: await codeFor({ agent: undefined, session: "nowhere" }),
    waitTooLong: await codeFor({ waitSec: 301 }),
    waitNegative: await codeFor({ waitSec: -1 }),
    waitNoNumber: await codeFor({ waitSec: Number.NaN }),
    turnsNegative: await codeFor({ maxTurns: -1 }),
    turnsBroken: await codeFor({ maxTurns: 1.5 }),
    turnsMany: await codeFor({ maxTurns: 51 }),
    topic: await codeFor({ topic: "" }),
    conversation: await codeFor({ conversationId: "x".repeat(101) }),
    parent: await codeFor({ origin: { session: "job:job_01ARZ3NDEKTSV4RRFFQ69G5FAV:ruda" } }),
  }).toEqual({
    unknown: "AGENT_UNKNOWN",
    unknownRequester: "AGENT_UNKNOWN",
    none: "AGENT_UNKNOWN",
    self: "JOB_SELF",
    forbidden: "JOB_NOT_ALLOWED",
    empty: "MESSAGE_INVALID",
    unstorable: "MESSAGE_INVALID",
    long: "MESSAGE_TOO_LONG",
    payload: "PAYLOAD_INVALID",
    foreignSession: "SESSION_UNKNOWN",
    unknownSession: "SESSION_UNKNOWN",
    waitTooLong: "WAIT_INVALID",
    waitNegative: "WAIT_INVALID",
    waitNoNumber: "WAIT_INVALID",
    turnsNegative: "TURNS_INVALID",
    turnsBroken: "TURNS_INVALID",
    turnsMany: "TURNS_INVALID",
    topic: "REQUEST_INVALID",
    conversation: "REQUEST_INVALID",
    parent: "JOB_UNKNOWN",
  });
  expect((await team.jobs.list()).items).toEqual([]);
});

test("the same key gives the same job, another request under it is refused", async () => {
  await using db = await testDatabase();
  await using team = await startTestTeam({
    url: db.url,
    agents: { ruda: talkative, eden: talkative, seum: talkative },
  });
  const request = {
    requester: "ruda",
    agent: "eden",
    message: "How long does it take?",
    key: "k1",
  };

  const answers = await Promise.all(Array.from({ length: 8 }, () => team.jobs.ask(request)));
  const other = await team.jobs.ask({ ...request, message: "Another question?" }).catch(codeOf);
  const others = await team.jobs.ask({ ...request, requester: "seum" });

  expect(new Set(answers.map(({ jobId }) => jobId)).size).toBe(1);
  expect(other).toBe("IDEMPOTENCY_KEY_REUSED");
  expect(others.jobId).not.toBe(answers[0]!.jobId);
  expect((await team.jobs.list()).items).toHaveLength(2);
});

test("of two that ask at once under one key the later gets the tenant's own job, or is refused", async () => {
  await using db = await testDatabase();
  await using team = await startTestTeam({
    url: db.url,
    agents: { ruda: talkative, eden: talkative },
  });
  const request = { requester: "ruda", agent: "eden", message: "How long?", key: "k1", waitSec: 0 };
  await team.jobs.ask({ ...request, tenant: "t2", message: "Whose?" });
  const { jobId } = await team.jobs.ask({ ...request, tenant: "t1" });

  const askedLater = async (message: string): Promise<AskResult | string | undefined> => {
    let later: Promise<AskResult | string | undefined> | undefined;
    await whileAskKeyIsTaken(team.database, jobId, async () => {
      later = team.jobs.ask({ ...request, tenant: "t1", message }).catch(codeOf);
      await untilBlocked(team.database, "%dure.ask_job%");
    });
    return later;
  };
  const same = await askedLater(request.message);
  const other = await askedLater("Another question?");

  expect(same).toMatchObject({ jobId });
  expect(other).toBe("IDEMPOTENCY_KEY_REUSED");
  expect((await team.jobs.list({ tenant: "t1" })).items).toHaveLength(1);
});

/** The key of a job stands in a transaction that has not committed before `during` is over. */
async function whileAskKeyIsTaken(
  database: Database,
  job: string,
  during: () => Promise<void>,
): Promise<void> {
  const session = await database.connectSession();
  const values = [job];
  try {
    await session.query("update dure.jobs set ask_key = ask_key || '/free' where id = $1", values);
    await session.query("begin");
    await session.query(
      "update dure.jobs set ask_key = replace(ask_key, '/free', '') where id = $1",
      values,
    );
    await during();
    await session.query("commit");
  } finally {
    await session.end();
  }
}

test("a session stands for the agent that answers in it", async () => {
  await using db = await testDatabase();
  await using team = await startTestTeam({
    url: db.url,
    agents: { ruda: talkative, eden: talkative },
  });
  await team.engine.turn({ session: "s1", service: "eden", message: "hello" }).done;

  const answer = await team.jobs.ask({
    requester: "ruda",
    session: "s1",
    message: "How long does it take?",
  });

  expect(await team.jobs.get(answer.jobId)).toMatchObject({ target: "eden", status: "COMPLETED" });
});

test("a conversation is given, or that of the same pair, work and topic, or new", async () => {
  await using db = await testDatabase();
  await using team = await startTestTeam({
    url: db.url,
    agents: { ruda: talkative, eden: talkative, seum: talkative },
  });
  const conversationOf = async (request: Partial<AskRequest>): Promise<string> => {
    const { jobId } = await team.jobs.ask({
      requester: "ruda",
      agent: "eden",
      message: "How long?",
      waitSec: 0,
      origin: { session: "work-1" },
      ...request,
    });
    return (await team.jobs.get(jobId)).conversationId;
  };

  const first = await conversationOf({});

  expect(await conversationOf({})).toBe(first);
  expect(await conversationOf({ requester: "eden", agent: "ruda" })).toBe(first);
  expect(await conversationOf({ conversationId: "given" })).toBe("given");
  for (const another of [
    { topic: "login" },
    { agent: "seum" },
    { origin: { session: "work-2" } },
    { origin: undefined },
  ]) {
    expect(await conversationOf(another)).not.toBe(first);
  }
  expect(await conversationOf({ topic: "login" })).toBe(await conversationOf({ topic: "login" }));
});

test("what the same two said before in a conversation is told again at the start, to them alone", async () => {
  await using db = await testDatabase();
  const agents = {
    ruda: talkative,
    eden: saying("It is port 4600, as always."),
    seum: saying("I was not there at that time."),
  };
  await using team = await startTestTeam({ url: db.url, agents });
  await team.jobs.ask({
    requester: "ruda",
    agent: "eden",
    message: "Which port is it?",
    conversationId: "ports",
  });

  await team.jobs.ask({
    requester: "ruda",
    agent: "eden",
    message: "And why that one?",
    conversationId: "ports",
  });
  await team.jobs.ask({
    requester: "ruda",
    agent: "seum",
    message: "And why that one?",
    conversationId: "ports",
  });
  await team.jobs.ask({
    requester: "ruda",
    agent: "eden",
    message: "And which is free?",
    conversationId: "other",
  });

  await team.jobs.ask({
    requester: "ruda",
    agent: "eden",
    message: "And tomorrow?",
    conversationId: "ports",
  });

  const [, again, other, third] = team.asked["eden"]!.map(({ messages }) =>
    JSON.stringify(messages),
  );
  expect(third).toMatch(
    /eden:\\n> It is port 4600.*ruda:\\n> And why that one\?.*eden:\\n> It is port 4600/,
  ); // the last three
  expect(third).not.toContain("Which port is it?");
  expect(again).toMatch(/ruda:\\n> Which port is it\?.*eden:\\n> It is port 4600/);
  expect(other).not.toContain("4600");
  expect(JSON.stringify(team.asked["seum"])).not.toContain("4600");
});

test("what was asked for in private is told again there alone, also to one who names it", async () => {
  await using db = await testDatabase();
  let answers = 0;
  const eden: TestAgent = () => `The password is word-${++answers} since today.`;
  await using team = await startTestTeam({ url: db.url, agents: { ruda: talkative, eden } });
  const origins = [
    "direct_mina",
    undefined,
    "direct_mina",
    "web:general",
    "direct_junho",
    "private_x",
  ];

  for (const place of origins) {
    await team.jobs.ask({
      requester: "ruda",
      agent: "eden",
      message: "What is it?",
      conversationId: "secrets",
      ...(place !== undefined && { origin: { session: `room:ruda:${place}` } }),
    });
  }

  const told = team.asked["eden"]!.map(({ messages }) =>
    [...JSON.stringify(messages).matchAll(/word-(\d)/g)].map(([, nth]) => Number(nth)),
  );
  expect(told).toEqual([[], [], [1, 2], [2], [2, 4], [2, 4]]);
});

test("a request and a person's words are told whole, up to what is allowed; what is more is refused", async () => {
  await using db = await testDatabase();
  const gate = Promise.withResolvers<void>();
  const slow: TestAgent = async (request, context) => (
    await gate.promise,
    talkative(request, context)
  );
  await using team = await startTestTeam({ url: db.url, agents: { ruda: talkative, eden: slow } });
  const message = `Let's discuss: ${"x".repeat(16_384 - 17)}!!`;
  const { jobId } = await team.jobs.ask({
    requester: "ruda",
    agent: "eden",
    message,
    maxTurns: 2,
    waitSec: 0,
  });
  await expectSoon(() => team.asked["eden"]?.length).toBe(1);
  const words = ["y".repeat(16_384), "z".repeat(4_096)];

  for (const text of words) await team.jobs.speak(jobId, text, { by: "mina" });
  const more = await team.jobs.speak(jobId, "And this.", { by: "mina" }).catch(codeOf);
  gate.resolve();

  expect(more).toBe("JOB_WORDS_FULL");
  await expectSoon(async () => (await team.jobs.get(jobId)).status).toBe("COMPLETED");
  expect(JSON.stringify(team.asked["eden"]![0]!.messages)).toContain(message);
  for (const text of words) {
    expect(JSON.stringify(team.asked["ruda"]![0]!.messages)).toContain(text);
  }
});

test("one turn is told twenty texts; more is refused until it has begun, and then waits for the next one", async () => {
  await using db = await testDatabase();
  const gates = [1, 2, 3].map(() => Promise.withResolvers<void>());
  let begun = 0;
  const gated: TestAgent = async (request, context) => (
    await gates[begun++]!.promise,
    talkative(request, context)
  );
  await using team = await startTestTeam({ url: db.url, agents: { ruda: gated, eden: gated } });
  const { jobId } = await team.jobs.ask({
    requester: "ruda",
    agent: "eden",
    message: "Let's discuss: it",
    maxTurns: 2,
    waitSec: 0,
  });
  await expectSoon(() => begun).toBe(1);

  for (let n = 1; n <= 20; n++) await team.jobs.speak(jobId, `Words ${n}.`, { by: "mina" });
  const more = await team.jobs.speak(jobId, "Words 21.", { by: "mina" }).catch(codeOf);
  gates[0]!.resolve();
  await expectSoon(() => begun).toBe(2);
  await team.jobs.speak(jobId, "Words 22.", { by: "mina" });
  for (const gate of gates) gate.resolve();

  expect(more).toBe("JOB_WORDS_FULL");
  await expectSoon(async () => (await team.jobs.get(jobId)).status).toBe("COMPLETED");
  expect((await team.jobs.get(jobId)).words.map(({ turn }) => turn)).toEqual([
    ...Array<number>(20).fill(2),
    3,
  ]);
  expect(JSON.stringify(team.asked["eden"]!.at(-1)!.messages.at(-1))).toContain("Words 22.");
});

test("a notice is read once, and its answer is not waited for", async () => {
  await using db = await testDatabase();
  await using team = await startTestTeam({
    url: db.url,
    agents: { ruda: talkative, eden: talkative },
  });

  const answer = await team.jobs.ask({
    requester: "ruda",
    agent: "eden",
    message: "[FYI] the build is green",
  });

  expect(answer.status).toBe("accepted");
  await expectSoon(async () => (await team.jobs.get(answer.jobId)).status).toBe("COMPLETED");
  expect(await team.jobs.get(answer.jobId)).toMatchObject({
    intent: "notification",
    maxTurns: 0,
    turnsDone: 1,
    outcome: "max_turns",
  });
  expect(team.asked["ruda"]).toBeUndefined();
});

// --- the tool, and what descends

test("an agent asks another one with ask_agent; its exchange is a child when it is asked in an exchange", async () => {
  await using db = await testDatabase();
  const asking: TestAgent = (request) => {
    const result = request.messages.findLast((message) => message.role === "tool");
    if (result) return `I was told: ${JSON.stringify((result as { result: unknown }).result)}`;
    return {
      toolCalls: [{ name: "ask_agent", args: { agent: "seum", message: "Which port is it?" } }],
    };
  };
  await using team = await startTestTeam({
    url: db.url,
    agents: { ruda: asking, eden: asking, seum: saying("It is port 4600, as always.") },
    tools: (jobs, requester) => ({ ask_agent: askAgentTool(jobs, { requester }) }),
  });

  const done = await team.engine.turn({ session: "s1", service: "ruda", message: "Ask seum." })
    .done;
  const answer = await team.jobs.ask({
    requester: "ruda",
    agent: "eden",
    message: "Which port is it?",
  });

  expect(done.message).toContain("It is port 4600, as always.");
  expect(answer).toMatchObject({ status: "ok", reply: expect.stringContaining("It is port 4600") });
  const { items } = await team.jobs.list();
  expect(
    items.map(({ requester, target, depth, parentJobId, rootId, origin }) => ({
      requester,
      target,
      depth,
      parentJobId,
      rootId,
      session: origin?.session,
    })),
  ).toEqual([
    {
      requester: "eden",
      target: "seum",
      depth: 1,
      parentJobId: answer.jobId,
      rootId: answer.jobId,
      session: `job:${answer.jobId}:eden`,
    },
    {
      requester: "ruda",
      target: "eden",
      depth: 0,
      parentJobId: null,
      rootId: answer.jobId,
      session: undefined,
    },
    {
      requester: "ruda",
      target: "seum",
      depth: 0,
      parentJobId: null,
      rootId: items[2]!.jobId,
      session: "s1",
    },
  ]);
  const idsOf = async (filter: { parent?: string | undefined; root?: string | undefined }) =>
    (await team.jobs.list(filter)).items.map(({ jobId }) => jobId);
  expect([
    await idsOf({ parent: answer.jobId }),
    await idsOf({ root: answer.jobId }),
    await idsOf({ root: items[0]!.jobId }),
  ]).toEqual([[items[0]!.jobId], [items[0]!.jobId, answer.jobId], []]);
});

test("what an agent asks wrongly is told to it as a result, with code and hint", async () => {
  await using db = await testDatabase();
  const results: unknown[] = [];
  const asks = [
    { agent: "nobody", message: "x" },
    { agent: "eden", message: "x" },
    { agent: "seum", message: "x", payload: { kind: "answer" } },
    { agent: "ruda", message: "x" },
    { agent: "seum", message: " " },
    { agent: "seum", message: "" },
    { session: "theirs", message: "x" },
    { agent: "seum", message: "x", waitSec: 301 },
    { agent: "seum", message: "x", waitSec: -1 },
    { agent: "seum", message: "x", payload: { kind: "gossip" } },
    { message: "x" },
  ];
  const asking: TestAgent = (request) => {
    const answered = request.messages.filter((message) => message.role === "tool");
    if (answered.length > 0) {
      return (
        results.push(...answered.map((message) => (message as { result: unknown }).result)),
        "Understood; I shall not do that again."
      );
    }
    return { toolCalls: asks.map((args) => ({ name: "ask_agent", args })) };
  };
  await using team = await startTestTeam({
    url: db.url,
    agents: { ruda: asking, eden: talkative, seum: talkative },
    jobs: { allow: ["ruda -> seum"] },
    tools: (jobs, requester) => ({ ask_agent: askAgentTool(jobs, { requester }) }),
  });
  await team.engine.turn(
    { session: "theirs", service: "seum", message: "hello" },
    { caller: { tenant: "other", name: "x" } },
  ).done;

  await team.engine.turn({ session: "s1", service: "ruda", message: "Ask around." }).done;

  expect(results).toEqual([
    { status: "error", code: "AGENT_UNKNOWN", hint: expect.stringContaining("nobody") },
    { status: "forbidden", code: "JOB_NOT_ALLOWED", hint: expect.stringContaining("eden") },
    { status: "error", code: "PAYLOAD_INVALID", hint: expect.stringContaining("answer") },
    { status: "error", code: "JOB_SELF", hint: expect.stringContaining("ruda cannot ask itself") },
    { status: "error", code: "MESSAGE_INVALID", hint: expect.stringContaining("empty") },
    expect.stringMatching(/do not fit: message/),
    expect.stringMatching(/do not fit: agent/),
    expect.stringMatching(/do not fit: waitSec.*300/),
    expect.stringMatching(/do not fit: waitSec.*0/),
    expect.stringMatching(/do not fit: payload/),
    expect.stringMatching(/do not fit: agent/),
  ]);
  expect((await team.jobs.list()).items).toEqual([]);
});

test("a key that an agent chose counts in its session: in another one it is another job, told there", async () => {
  await using db = await testDatabase();
  const asking: TestAgent = (request) =>
    request.messages.at(-1)!.role === "tool"
      ? "I have asked."
      : {
          toolCalls: [1, 2].map(() => ({
            name: "ask_agent",
            args: {
              agent: "eden",
              message: "Which port is it?",
              waitSec: 0,
              idempotencyKey: "port",
            },
          })),
        };
  await using team = await startTestTeam({
    url: db.url,
    agents: { ruda: asking, eden: talkative },
    tools: (jobs, requester) => ({ ask_agent: askAgentTool(jobs, { requester }) }),
  });

  for (const session of ["s1", "s2"]) {
    await team.engine.turn({ session, service: "ruda", message: "Ask eden twice." }).done;
  }

  expect((await team.jobs.list()).items.map(({ origin }) => origin?.session)).toEqual(["s2", "s1"]);
});

test("requests are at most five deep, and the jobs of one root are counted together", async () => {
  await using db = await testDatabase();
  await using team = await startTestTeam({
    url: db.url,
    agents: { ruda: hanging, eden: hanging },
    jobs: { limits: { permits: 100, tree: 8 } },
  });
  const ask = (parent?: string): Promise<string | undefined> =>
    team.jobs
      .ask({
        requester: "ruda",
        agent: "eden",
        message: "How long?",
        waitSec: 0,
        origin: parent ? { session: sessionOf(parent, "ruda") } : undefined,
      })
      .then((result) => result.jobId, codeOf);

  const chain = [await ask()];
  for (let depth = 1; depth <= 5; depth++) chain.push(await ask(chain.at(-1)));

  expect(await ask(chain.at(-1))).toBe("JOB_TOO_DEEP");
  expect((await team.jobs.get(chain.at(-1)!)).depth).toBe(5);
  expect([await ask(chain[0]), await ask(chain[1])].every((id) => id!.startsWith("job_"))).toBe(
    true,
  );
  expect(await ask(chain[2])).toBe("JOB_TREE_FULL");
  await team.jobs.cancel(chain[0]!);
  expect(await ask(chain[3])).toBe("JOB_OVER");
});

// --- steering

test("a cancelled job takes its three-deep tree with it, cuts the running calls, and stays cancelled", async () => {
  await using db = await testDatabase();
  const cut: string[] = [];
  const waiting =
    (name: string): TestAgent =>
    (_request, { signal }) =>
      new Promise((_, reject) =>
        signal.addEventListener("abort", () => (cut.push(name), reject(signal.reason as Error)), {
          once: true,
        }),
      );
  const asking =
    (agent: string): TestAgent =>
    () => ({
      toolCalls: [
        { name: "ask_agent", args: { agent, message: "How long does it take?", waitSec: 300 } },
      ],
    });
  await using team = await startTestTeam({
    url: db.url,
    agents: { ruda: talkative, eden: asking("seum"), seum: asking("dami"), dami: waiting("dami") },
    tools: (jobs, requester) => ({ ask_agent: askAgentTool(jobs, { requester }) }),
  });
  const { jobId } = await team.jobs.ask({
    requester: "ruda",
    agent: "eden",
    message: "How long?",
    waitSec: 0,
  });
  await expectSoon(() => team.asked["dami"]?.length, { timeout: 10_000 }).toBe(1);

  const startedAt = performance.now();
  const cancelled = await team.jobs.cancel(jobId, { by: "mina" });
  await expectSoon(() => cut).toEqual(["dami"]);
  const took = performance.now() - startedAt;

  expect(cancelled).toMatchObject({ status: "CANCELLED", outcome: "cancelled" });
  expect(took).toBeLessThan(boundMs(1_000));
  expect((await team.jobs.list()).items.map(({ status, depth }) => [status, depth])).toEqual([
    ["CANCELLED", 2],
    ["CANCELLED", 1],
    ["CANCELLED", 0],
  ]);
  await expectSoon(async () =>
    team.database.query({ text: "select id from dure.turns where status <> 'done'" }),
  ).toEqual([]);
  expect(await team.jobs.cancel(jobId)).toMatchObject({ status: "CANCELLED" });
  await expectSoon(() => team.jobs.running).toBe(0);
});

test("what has ended can neither be cancelled nor spoken into; unknown and foreign jobs are unknown", async () => {
  await using db = await testDatabase();
  await using team = await startTestTeam({
    url: db.url,
    agents: { ruda: talkative, eden: talkative },
  });
  const { jobId } = await team.jobs.ask({
    requester: "ruda",
    agent: "eden",
    message: "How long?",
    tenant: "t1",
  });
  const id = jobId;

  expect(await team.jobs.cancel(id, { tenant: "t1" }).catch(codeOf)).toBe("JOB_TRANSITION");
  expect(await team.jobs.speak(id, "Stop!", { tenant: "t1", by: "mina" }).catch(codeOf)).toBe(
    "JOB_OVER",
  );
  expect(await team.jobs.retry(id, { tenant: "t1" }).catch(codeOf)).toBe("JOB_NOT_RETRYABLE");
  const { jobs } = team;
  for (const work of [
    () => jobs.get(id),
    () => jobs.cancel(id),
    () => jobs.retry(id),
    () => jobs.speak(id, "x", { by: "mina" }),
    () => jobs.get("job_none"),
    () => jobs.stream(id).next(),
  ]) {
    expect(await (work() as Promise<unknown>).catch(codeOf)).toBe("JOB_UNKNOWN");
  }
  expect((await team.jobs.list()).items).toEqual([]);
  expect((await team.jobs.list({ tenant: "t1" })).items).toHaveLength(1);
});

test("no other tenant cancels or speaks into a job that runs, or adds work to it", async () => {
  await using db = await testDatabase();
  await using team = await startTestTeam({ url: db.url, agents: { ruda: hanging, eden: hanging } });
  const { jobId } = await team.jobs.ask({
    requester: "ruda",
    agent: "eden",
    message: "How long?",
    waitSec: 0,
    tenant: "t1",
  });
  const store = new JobStore({
    database: team.database,
    notifications: team.notifications,
    clock: systemClock,
    signal: new AbortController().signal,
  });
  const addTo = (tenant: string) =>
    team.jobs
      .ask({
        requester: "ruda",
        agent: "eden",
        message: "And this?",
        waitSec: 0,
        tenant,
        origin: { session: sessionOf(jobId, "ruda") },
      })
      .then(({ jobId: id }) => id, codeOf);

  expect(await store.cancel(jobId, "t2", "mallory")).toBeNull();
  expect(
    await store.speak(
      jobId,
      "t2",
      { author: "mallory", text: "Stop!" },
      { count: 20, bytes: 1_000 },
    ),
  ).toBeNull();
  expect(await addTo("t2")).toBe("JOB_UNKNOWN");

  expect((await team.jobs.get(jobId, { tenant: "t1" })).status).toMatch(/PENDING|RUNNING/);
  expect((await team.jobs.get(jobId, { tenant: "t1" })).words).toEqual([]);
  expect(await addTo("t1")).toMatch(/^job_/);
});

test("one turn is told so many bytes of persons, and no more", async () => {
  await using db = await testDatabase();
  await using team = await startTestTeam({ url: db.url, agents: { ruda: hanging, eden: hanging } });
  const { jobId } = await team.jobs.ask({
    requester: "ruda",
    agent: "eden",
    message: "How long?",
    waitSec: 0,
  });
  const store = new JobStore({
    database: team.database,
    notifications: team.notifications,
    clock: systemClock,
    signal: new AbortController().signal,
  });
  const speak = (text: string) =>
    store.speak(jobId, "", { author: "mina", text }, { count: 20, bytes: 10 });

  expect(await speak("가나다")).toMatch(/PENDING|RUNNING/); // nine bytes
  expect(await speak("ab")).toBe("full");
  expect(await speak("a")).toMatch(/PENDING|RUNNING/);
});

test("what was said in a conversation of another tenant is not told", async () => {
  await using db = await testDatabase();
  await using team = await startTestTeam({
    url: db.url,
    agents: { ruda: talkative, eden: saying("It is port 4600, as always.") },
  });
  const ask = (tenant: string) =>
    team.jobs.ask({
      requester: "ruda",
      agent: "eden",
      message: "Which port is it?",
      conversationId: "ports",
      tenant,
    });

  await ask("t1");
  await ask("t2");

  expect(JSON.stringify(team.asked["eden"]![1])).not.toContain("4600");
});

test("a person's words reach the next turn, before what the other agent said, and put off a natural end", async () => {
  await using db = await testDatabase();
  const gate = Promise.withResolvers<void>();
  const slow: TestAgent = async (request, context) => {
    await gate.promise;
    return talkative(request, context);
  };
  await using team = await startTestTeam({ url: db.url, agents: { ruda: talkative, eden: slow } });
  const { jobId } = await team.jobs.ask({
    requester: "ruda",
    agent: "eden",
    message: "How long does it take?",
    waitSec: 0,
  });
  await expectSoon(() => team.asked["eden"]?.length).toBe(1);

  await team.jobs.speak(jobId, "Measure it on the old machine.", { by: "mina" });
  gate.resolve();

  await expectSoon(async () => (await team.jobs.get(jobId)).status).toBe("COMPLETED");
  const job = await team.jobs.get(jobId);
  expect(job).toMatchObject({
    turnsDone: 2,
    maxTurns: 2,
    words: [{ author: "mina", text: "Measure it on the old machine.", turn: 2 }],
  });
  const told = JSON.stringify(team.asked["ruda"]![0]!.messages.at(-1));
  expect(told).toMatch(
    /A person, mina.*before everything else.*Measure it on the old machine.*eden says/s,
  );
});

test("a job that failed is opened again behind its finished turns, and only once", async () => {
  await using db = await testDatabase();
  let broken = true;
  const shaky: TestAgent = (request, context) =>
    broken ? { error: { status: 403 } } : talkative(request, context);
  await using team = await startTestTeam({ url: db.url, agents: { ruda: shaky, eden: talkative } });
  const failed = await team.jobs.ask({
    requester: "ruda",
    agent: "eden",
    message: "Let's discuss: it",
    maxTurns: 4,
  });
  expect(failed).toMatchObject({ status: "error" });
  broken = false;

  const [again, twice] = await Promise.all([
    team.jobs.retry(failed.jobId),
    team.jobs.retry(failed.jobId),
  ]);

  expect([again.jobId, twice.jobId]).toEqual([failed.jobId, failed.jobId]);
  await expectSoon(async () => (await team.jobs.get(again.jobId)).status).toBe("COMPLETED");
  const job = await team.jobs.get(again.jobId);
  expect(job).toMatchObject({ turnsDone: 4, outcome: "max_turns" });
  expect(team.asked["eden"]).toHaveLength(2);
});

test("what a person said into a failed turn is heard when the job is tried again, and not twice", async () => {
  await using db = await testDatabase();
  const gates = [1, 2].map(() => Promise.withResolvers<void>());
  let [begun, broken] = [0, true];
  const eden: TestAgent = async (request, context) => {
    await gates[begun++]?.promise;
    return talkative(request, context);
  };
  const seum: TestAgent = (request, context) =>
    broken && JSON.stringify(request.messages).includes("turn 4")
      ? { error: { status: 403 } }
      : talkative(request, context);
  await using team = await startTestTeam({ url: db.url, agents: { seum, eden } });
  const { jobId } = await team.jobs.ask({
    requester: "seum",
    agent: "eden",
    message: "Let's discuss: it",
    maxTurns: 4,
    waitSec: 0,
  });
  for (const [index, text] of ["On the new machine.", "On the old machine."].entries()) {
    await expectSoon(() => begun).toBe(index + 1);
    await team.jobs.speak(jobId, text, { by: "mina" });
    gates[index]!.resolve();
  }
  await expectSoon(async () => (await team.jobs.get(jobId)).status).toBe("FAILED");
  broken = false;

  const again = await team.jobs.retry(jobId);

  await expectSoon(async () => (await team.jobs.get(again.jobId)).status).toBe("COMPLETED");
  expect((await team.jobs.get(again.jobId)).words).toMatchObject([
    { author: "mina", text: "On the new machine.", turn: 2 },
    { author: "mina", text: "On the old machine.", turn: 4 },
  ]);
  expect(JSON.stringify(team.asked["seum"]!.at(-1)!.messages.at(-1))).toContain(
    "On the old machine.",
  );
});

test("a job that is tried again keeps parent, root, depth and budget, within the team's rules", async () => {
  await using db = await testDatabase();
  const agents = { ruda: hanging, eden: () => ({ error: { status: 403 } }), seum: talkative };
  let [root, failed]: (string | undefined)[] = [];
  {
    await using team = await startTestTeam({ url: db.url, agents, jobs: { limits: { tree: 2 } } });
    root = (
      await team.jobs.ask({ requester: "seum", agent: "ruda", message: "How long?", waitSec: 0 })
    ).jobId!;
    await expectSoon(() => team.asked["ruda"]?.length).toBe(1);
    failed = (
      await team.jobs.ask({
        requester: "ruda",
        agent: "eden",
        message: "How long?",
        origin: { session: sessionOf(root, "ruda") },
      })
    ).jobId!;

    const again = await team.jobs.retry(failed);

    expect(again).toMatchObject({ jobId: failed, parentJobId: root, rootId: root, depth: 1 });
    await expectSoon(async () => (await team.jobs.get(again.jobId)).status).toBe("FAILED");
    await team.jobs.cancel(root);
  }
  await using team = await startTestTeam({ url: db.url, agents, jobs: { allow: ["seum -> *"] } });
  expect(await team.jobs.retry(failed).catch(codeOf)).toBe("JOB_NOT_ALLOWED");
});

// --- the pause of an agent

test("a job of a paused agent is not started, and goes on after the resume", FULL, async () => {
  await using db = await testDatabase();
  await using team = await startTestTeam({
    url: db.url,
    agents: { ruda: talkative, eden: saying("The build takes eleven minutes on the new machine.") },
  });
  await team.pauses.pause("eden", "mina");
  const { jobId } = await team.jobs.ask({
    requester: "ruda",
    agent: "eden",
    message: "How long?",
    waitSec: 0,
  });
  await looksLater(team);
  expect(team.asked["eden"] ?? []).toEqual([]);
  expect(await team.jobs.get(jobId)).toMatchObject({ status: "PENDING" });

  await team.pauses.resume("eden", "mina");

  await expectSoon(async () => (await team.jobs.get(jobId)).status, { timeout: 20_000 }).toBe(
    "COMPLETED",
  );
});

test(
  "a turn of a job rests while its agent is paused, without a permit, whatever its time",
  FULL,
  async () => {
    await using db = await testDatabase();
    const begun = Promise.withResolvers<void>();
    const goOn = Promise.withResolvers<void>();
    const looking: TestAgent = async (request) => {
      if (request.messages.at(-1)!.role === "tool") {
        return "It takes eleven minutes, I have looked.";
      }
      begun.resolve();
      await goOn.promise;
      return { toolCalls: [{ name: "look", args: {} }] };
    };
    const look = tool({ description: "Looks.", inputSchema: z.object({}), execute: async () => 1 });
    await using team = await startTestTeam({
      url: db.url,
      agents: { ruda: talkative, eden: looking },
      tools: (_jobs, agent): Readonly<Record<string, AnyTool>> =>
        agent === "eden" ? { look: look as AnyTool } : {},
      jobs: { limits: { firstReplyMs: 1_000 } },
    });
    const { jobId } = await team.jobs.ask({
      requester: "ruda",
      agent: "eden",
      message: "How long?",
      waitSec: 0,
    });
    await begun.promise;
    await team.pauses.pause("eden", "mina");
    goOn.resolve();

    await expectSoon(async () => (await team.jobs.get(jobId)).waiting).toBe("pause");
    await looksLater(team);
    expect(team.asked["eden"]).toHaveLength(1);
    expect(team.jobs.running).toBe(0);

    await team.pauses.resume("eden", "mina");
    await expectSoon(async () => (await team.jobs.get(jobId)).status, { timeout: 20_000 }).toBe(
      "COMPLETED",
    );
    expect(team.asked["eden"]!.length).toBe(2);
  },
);

// --- waiting for a person

/** eden asks to deploy, and says what came of it. */
const deploying: TestAgent = (request) =>
  request.messages.at(-1)!.role === "tool"
    ? "It is deployed to the new machine now."
    : { toolCalls: [{ name: "deploy", args: { to: "prod" } }] };

function deployTool(
  done: string[],
  approval: Parameters<typeof tool>[0]["approval"] = true,
): AnyTool {
  return tool({
    description: "Deploys.",
    inputSchema: z.object({ to: z.string() }),
    effect: "once",
    approval,
    execute: async ({ to }: { to: string }) => (done.push(to), { deployed: to }),
    probe: async () => "not_happened",
  }) as AnyTool;
}

/** A team whose eden deploys, only with a person's yes. */
function deployingTeam(
  url: string,
  more: {
    done: string[];
    deploy?: AnyTool;
    agents?: Readonly<Record<string, TestAgent>>;
    limits?: Partial<JobLimits>;
    known?: readonly string[];
  },
): Promise<TestTeam> {
  const { done, deploy = deployTool(done), agents = {}, limits = {}, known } = more;
  return startTestTeam({
    url,
    agents: { ruda: talkative, eden: deploying, ...agents },
    tools: (_jobs, agent): Readonly<Record<string, AnyTool>> =>
      agent === "eden" ? { deploy } : {},
    jobs: { limits: { firstReplyMs: 20_000, ...limits } },
    known,
  });
}

const waitingJob = async (
  team: TestTeam,
  message = "How about deploying it?",
  target = "eden",
): Promise<{ id: string; question: string }> => {
  const { jobId } = await team.jobs.ask({ requester: "ruda", agent: target, message, waitSec: 0 });
  await expectSoon(async () => (await team.jobs.get(jobId)).waiting).toBe("person");
  const {
    items: [question],
  } = await team.inbox.list({ tenant: "", status: "open", session: sessionOf(jobId, target) });
  return { id: jobId, question: question!.id };
};

const MINA = { tenant: "", name: "mina" };

test("an exchange waits for a person without a permit, and goes on with the answer", async () => {
  await using db = await testDatabase();
  const done: string[] = [];
  await using team = await deployingTeam(db.url, { done, limits: { permits: 1 } });
  const first = await waitingJob(team);
  expect(team.jobs.running).toBe(0);

  // Its permit is free for another one, which comes to the same question.
  const second = await waitingJob(team, "How about deploying that?");
  await team.inbox.answer(first.question, { value: "approve" }, MINA);

  await expectSoon(async () => (await team.jobs.get(first.id)).status, { timeout: 20_000 }).toBe(
    "COMPLETED",
  );
  expect((await team.jobs.get(first.id)).turns).toMatchObject([
    { text: "It is deployed to the new machine now." },
  ]);
  expect(done).toEqual(["prod"]);
  expect(await team.jobs.get(second.id)).toMatchObject({ status: "RUNNING", waiting: "person" });
});

test("an exchange whose step asks twice waits for both answers, and ends with what came of them", async () => {
  await using db = await testDatabase();
  const done: string[] = [];
  const twice: TestAgent = (request) => {
    const told = JSON.stringify(request.messages);
    const isOver = ["prod", "test"].every((to) => told.includes(`"deployed":"${to}"`));
    if (isOver) return "Both machines have the new release now.";
    return told.includes('"deployed"') || told.includes("waits for a person")
      ? "One machine has it, the other waits for a yes."
      : { toolCalls: ["prod", "test"].map((to) => ({ name: "deploy", args: { to } })) };
  };
  await using team = await deployingTeam(db.url, { done, agents: { eden: twice } });
  const { id } = await waitingJob(team);
  const { items } = await team.inbox.list({ tenant: "", status: "open" });
  const [first, second] = items;

  await team.inbox.answer(first!.id, { value: "approve" }, MINA);
  await expectSoon(async () => done.length).toBe(1);
  await expectSoon(async () => (await team.jobs.get(id)).waiting).toBe("person");
  await team.inbox.answer(second!.id, { value: "approve" }, MINA);

  await expectSoon(async () => (await team.jobs.get(id)).status, { timeout: 20_000 }).toBe(
    "COMPLETED",
  );
  expect(items).toHaveLength(2);
  expect(done.toSorted()).toEqual(["prod", "test"]);
  expect((await team.jobs.get(id)).turns).toMatchObject([
    { text: "Both machines have the new release now." },
  ]);
});

test.each([
  ["after", 1],
  ["before", 0],
] as const)(
  "an answer that comes %s the job has begun to wait: nothing runs beside a permit that was given back",
  async (when, waits) => {
    await using db = await testDatabase();
    await using proxy = await PostgresProxy.start(db.url);
    const [done, begun, gate] = [
      [] as string[],
      Promise.withResolvers<void>(),
      Promise.withResolvers<void>(),
    ];
    const deploy = deployTool(done);
    const slow: AnyTool = {
      ...deploy,
      execute: async (...given) => {
        begun.resolve();
        await gate.promise;
        return deploy.execute(...given) as unknown;
      },
    };
    const busy: TestAgent = (request, context) =>
      JSON.stringify(request.messages).includes("something else")
        ? "Something else takes twelve minutes."
        : deploying(request, context);
    await using team = await deployingTeam(proxy.url, {
      done,
      deploy: slow,
      agents: { eden: busy },
      limits: { permits: 1 },
    });
    const stop = proxy.stop(when, ({ name }) => name === "job.wait");
    const { jobId } = await team.jobs.ask({
      requester: "ruda",
      agent: "eden",
      message: "How about deploying it?",
      waitSec: 0,
    });
    await stop.reached;
    const other = await team.jobs.ask({
      requester: "ruda",
      agent: "eden",
      message: "And something else?",
      waitSec: 0,
    });

    const {
      items: [question],
    } = await team.inbox.list({ tenant: "", status: "open" });
    await team.inbox.answer(question!.id, { value: "approve" }, MINA);
    stop.release();
    await begun.promise;
    await looksLater(team);
    expect(await db.database.query({ text: "select id from dure.jobs where has_permit" })).toEqual([
      { id: jobId },
    ]);
    expect(
      await db.database.query({ text: "select job from dure.events where type = 'job.waiting'" }),
    ).toEqual(Array.from({ length: waits }, () => ({ job: jobId })));
    gate.resolve();

    for (const id of [jobId, other.jobId]) {
      await expectSoon(async () => (await team.jobs.get(id)).status).toBe("COMPLETED");
    }
    expect(done).toEqual(["prod"]);
  },
);

test("a job that is cancelled takes its question with it: a later yes is refused", async () => {
  await using db = await testDatabase();
  const done: string[] = [];
  await using team = await deployingTeam(db.url, { done });
  const { id, question } = await waitingJob(team);

  await team.jobs.cancel(id, { by: "mina" });
  const late = await team.inbox.answer(question, { value: "approve" }, MINA).catch(codeOf);

  expect(late).toBe("ESCALATION_CLOSED");
  expect(await team.inbox.get(question, MINA)).toMatchObject({
    status: "dismissed",
    resolution: { value: "job" },
    resolvedBy: "job",
  });
  expect(
    await team.database.query({ text: "select id from dure.turns where status <> 'done'" }),
  ).toEqual([]);
  expect([done, (await team.jobs.get(id)).status]).toEqual([[], "CANCELLED"]);
});

test("a yes and a cancel at the same moment: the job is cancelled, and nothing runs on", async () => {
  await using db = await testDatabase();
  await using team = await deployingTeam(db.url, { done: [], limits: { permits: 5 } });
  const jobs = await Promise.all(
    Array.from({ length: 5 }, (_, n) => waitingJob(team, `How about deploying ${n}?`)),
  );

  await Promise.all(
    jobs.flatMap(({ id, question }) => [
      team.inbox.answer(question, { value: "approve" }, MINA).catch(codeOf),
      team.jobs.cancel(id),
    ]),
  );

  expect((await team.jobs.list()).items.map(({ status }) => status)).toEqual(
    Array(5).fill("CANCELLED"),
  );
  await expectSoon(async () =>
    team.database.query({ text: "select id from dure.turns where status <> 'done'" }),
  ).toEqual([]);
});

test("a conversation turn of a job that is over is stopped before it asks anybody anything", async () => {
  await using db = await testDatabase();
  await using team = await startTestTeam({
    url: db.url,
    agents: { ruda: talkative, eden: saying("It takes eleven minutes here.") },
  });
  const { jobId } = await team.jobs.ask({ requester: "ruda", agent: "eden", message: "How long?" });

  const done = await team.engine.turn({
    session: sessionOf(jobId, "eden"),
    service: "eden",
    message: "Deploy it.",
  }).done;

  expect(done.error).toMatchObject({ code: "TURN_STOPPED" });
});

test(
  "who was answered waits for a permit as well: nothing is done before there is one",
  FULL,
  async () => {
    await using db = await testDatabase();
    const [done, gate] = [[] as string[], Promise.withResolvers<string>()];
    const slow: TestAgent = (request, context) =>
      JSON.stringify(request.messages).includes("something else")
        ? gate.promise
        : deploying(request, context);
    await using team = await deployingTeam(db.url, {
      done,
      agents: { eden: slow },
      limits: { permits: 1, permitWaitMs: 600_000 },
    });
    const first = await waitingJob(team);
    const second = await waitingJob(team, "How about deploying that?");
    const other = await team.jobs.ask({
      requester: "ruda",
      agent: "eden",
      message: "And something else?",
      waitSec: 0,
    });
    await expectSoon(async () => (await team.jobs.get(other.jobId)).status).toBe("RUNNING");

    for (const { question } of [first, second]) {
      await team.inbox.answer(question, { value: "approve" }, MINA);
    }
    await looksLater(team);
    expect(done).toEqual([]);
    expect(
      await team.database.query({ text: "select id from dure.jobs where has_permit" }),
    ).toEqual([{ id: other.jobId }]);

    gate.resolve("Something else takes twelve minutes.");
    for (const { id } of [first, second]) {
      await expectSoon(async () => (await team.jobs.get(id)).status).toBe("COMPLETED");
    }
    expect(done).toEqual(["prod", "prod"]);
  },
);

test("the time for which a person lets an exchange wait is no lack of progress", async () => {
  await using db = await testDatabase();
  const gate = Promise.withResolvers<string>();
  const slow: TestAgent = (request, context) =>
    request.messages.at(-1)!.role === "tool" ? gate.promise : deploying(request, context);
  await using team = await deployingTeam(db.url, { done: [], agents: { eden: slow } });
  const { id, question } = await waitingJob(team);

  await team.database.query({
    text: "update dure.job_clock set running_ms = running_ms + 7200000",
  });
  await team.inbox.answer(question, { value: "approve" }, MINA);
  await expectSoon(async () => (await team.jobs.get(id)).waiting).toBeNull();

  expect(
    await team.database.query<{ count: number }>({
      text: "select dure.abandon_stale_jobs(3600000) as count",
    }),
  ).toEqual([{ count: 0 }]);
  expect(await team.jobs.audit()).toEqual([]);
  gate.resolve("It is deployed to the new machine now.");
  await expectSoon(async () => (await team.jobs.get(id)).status).toBe("COMPLETED");
});

test("waiting for a person stops the clock of the turn, and no jump of a clock hides the answer", async () => {
  await using db = await testDatabase();
  const done: string[] = [];
  let ahead = 0;
  const clock: Clock = { ...systemClock, monotonic: () => systemClock.monotonic() + ahead };
  await using team = await startTestTeam({
    url: db.url,
    agents: { ruda: talkative, eden: deploying },
    tools: () => ({ deploy: deployTool(done) }),
    jobs: { clock },
  });
  const { id, question } = await waitingJob(team);

  ahead = 3_600_000;
  // As if the machine's clock had gone back since: what comes now looks earlier than what has been.
  await team.database.query({
    text: "update dure.turns set accepted_at = accepted_at + interval '1 hour'",
  });
  await team.inbox.answer(question, { value: "approve" }, MINA);

  await expectSoon(async () => (await team.jobs.get(id)).status).toBe("COMPLETED");
  expect(done).toEqual(["prod"]);
});

test("an answer is left to a process that knows the agent", FULL, async () => {
  await using db = await testDatabase();
  const done: string[] = [];
  let job: { id: string; question: string };
  {
    await using old = await deployingTeam(db.url, { done });
    job = await waitingJob(old);
  }
  await using ignorant = await deployingTeam(db.url, {
    done,
    known: ["ruda"],
    limits: { unknownAgentMs: 600_000 },
  });
  await ignorant.inbox.answer(job.question, { value: "approve" }, MINA);
  await looksLater(ignorant);
  expect(await ignorant.jobs.get(job.id)).toMatchObject({ status: "RUNNING", waiting: "person" });

  await using knowing = await deployingTeam(db.url, { done });

  await expectSoon(async () => (await knowing.jobs.get(job.id)).status).toBe("COMPLETED");
  expect(done).toEqual(["prod"]);
});

test("without a decision, by dismissal or in time, the exchange fails and says so", async () => {
  await using db = await testDatabase();
  await using team = await deployingTeam(db.url, { done: [] });
  const dismissed = await waitingJob(team);
  const late = await waitingJob(team, "How about deploying that?");

  await team.inbox.dismiss(dismissed.question, MINA);
  await team.database.query(
    { text: "update dure.escalations set expires_at = clock_timestamp() where id = $1" },
    [late.question],
  );
  await team.inbox.expire(10);

  for (const { id } of [dismissed, late]) {
    await expectSoon(async () => (await team.jobs.get(id)).status).toBe("FAILED");
    expect(await team.jobs.get(id)).toMatchObject({
      outcome: "agent_error",
      lastError: { code: "ANSWER_MISSING" },
    });
  }
});

test.each([
  ["before the approval", "before"],
  ["when the answer has come", "after"],
] as const)("end_conversation %s ends the exchange with that turn", async (_, when) => {
  await using db = await testDatabase();
  const done: string[] = [];
  const ending: TestAgent = (request) => {
    const calls = request.messages
      .filter((message) => message.role === "tool")
      .map((message) => (message as { name: string }).name);
    const [first, second] =
      when === "before" ? ["end_conversation", "deploy"] : ["deploy", "end_conversation"];
    if (!calls.includes("deploy") && !calls.includes(first)) {
      return {
        toolCalls: [
          { name: first, args: first === "deploy" ? { to: "prod" } : {} },
          ...(when === "before" ? [{ name: "deploy", args: { to: "prod" } }] : []),
        ],
      };
    }
    if (when === "after" && !calls.includes(second)) {
      return { toolCalls: [{ name: second, args: {} }] };
    }
    return "It is deployed, and that is all that I have to say about it.";
  };
  await using team = await deployingTeam(db.url, { done, agents: { eden: ending } });
  const { jobId } = await team.jobs.ask({
    requester: "ruda",
    agent: "eden",
    message: "Let's discuss: deploying it",
    waitSec: 0,
  });
  await expectSoon(async () => (await team.jobs.get(jobId)).waiting).toBe("person");
  const {
    items: [question],
  } = await team.inbox.list({ tenant: "", status: "open" });

  await team.inbox.answer(question!.id, { value: "approve" }, MINA);

  await expectSoon(async () => (await team.jobs.get(jobId)).status).toBe("COMPLETED");
  expect(await team.jobs.get(jobId)).toMatchObject({ outcome: "explicit_skip", turnsDone: 1 });
  expect(done).toEqual(["prod"]);
});

// --- permits

test(
  "of fifty requests to one agent never more than three run, in the order in which they came",
  FULL,
  async () => {
    await using db = await testDatabase();
    let [now, most] = [0, 0];
    const three = Promise.withResolvers<void>();
    const counting: TestAgent = async () => {
      most = Math.max(most, ++now);
      if (now === 3) three.resolve();
      await three.promise; // the first wait for each other, however long an order takes
      await systemClock.sleep(100);
      now -= 1;
      return "It takes eleven minutes on this machine.";
    };
    const agents = { ruda: talkative, eden: counting };
    await using one = await startTestTeam({ url: db.url, agents });
    await using two = await startTestTeam({ url: db.url, agents });

    // One after the other: of two that are asked at once either may have come first.
    const asked: string[] = [];
    for (let n = 0; n < 50; n++) {
      asked.push(
        (
          await (n % 2 ? one : two).jobs.ask({
            requester: "ruda",
            agent: "eden",
            message: `What is number ${n}?`,
            waitSec: 0,
          })
        ).jobId,
      );
    }

    await expectSoon(() =>
      one.database.query({ text: "select from dure.jobs where status = 'COMPLETED'" }),
    ).toHaveLength(50);
    expect(most).toBe(3);
    const started = await one.database.query<{ id: string }>({
      text: "select id from dure.jobs order by started_at",
    });
    expect(started.map(({ id }) => id)).toEqual(asked);
    expect(await one.database.query({ text: "select id from dure.jobs where has_permit" })).toEqual(
      [],
    );
  },
);

test(
  "who gets no permit in time is blocked; one that was resumed waits for its own without limit",
  FULL,
  async () => {
    await using db = await testDatabase();
    await using team = await startTestTeam({
      url: db.url,
      agents: { ruda: talkative, eden: hanging },
      jobs: { limits: { permits: 1, permitWaitMs: 1_500 } },
    });
    const running = await team.jobs.ask({
      requester: "ruda",
      agent: "eden",
      message: "How long?",
      waitSec: 0,
    });
    await expectSoon(async () => (await team.jobs.get(running.jobId)).status).toBe("RUNNING");
    const resumed = await team.jobs.ask({
      requester: "ruda",
      agent: "eden",
      message: "How long in all?",
      waitSec: 0,
    });
    await team.database.query(
      {
        text: `
        update dure.jobs
        set started_at = clock_timestamp(), resumes = 1
        where id = $1 and status = 'PENDING'`,
      },
      [resumed.jobId],
    );

    const blocked = await team.jobs.ask({
      requester: "ruda",
      agent: "eden",
      message: "And how long?",
      waitSec: 20,
    });

    expect(blocked).toMatchObject({
      status: "error",
      code: "JOB_BLOCKED",
      hint: "eden was busy with other exchanges (1 at once) for 1 s.",
    });
    expect(await team.jobs.get(blocked.jobId)).toMatchObject({
      status: "FAILED",
      outcome: "blocked",
      startedAt: null,
      turnsDone: 0,
    });
    expect(await team.jobs.get(running.jobId)).toMatchObject({ status: "RUNNING" });
    expect(await team.jobs.get(resumed.jobId)).toMatchObject({ status: "PENDING" });
  },
);

test(
  "who waits because the process has no room is not said to wait for its agent",
  FULL,
  async () => {
    await using db = await testDatabase();
    const gate = Promise.withResolvers<string>();
    await using team = await startTestTeam({
      url: db.url,
      agents: { ruda: talkative, eden: () => gate.promise, seum: talkative },
      jobs: { limits: { running: 1, permitWaitMs: 500 } },
    });
    const first = await team.jobs.ask({
      requester: "ruda",
      agent: "eden",
      message: "How long?",
      waitSec: 0,
    });
    await expectSoon(async () => (await team.jobs.get(first.jobId)).status).toBe("RUNNING");
    const second = await team.jobs.ask({
      requester: "ruda",
      agent: "seum",
      message: "How long?",
      waitSec: 0,
    });

    await looksLater(team, 2_000);
    expect(await team.jobs.get(second.jobId)).toMatchObject({ status: "PENDING" });
    gate.resolve("It takes eleven minutes on this machine.");

    await expectSoon(async () => (await team.jobs.get(second.jobId)).status).toBe("COMPLETED");
  },
);

// --- telling

test("the place of origin is told once, unless the caller has the result or the agents want no notice", async () => {
  await using db = await testDatabase();
  const told: JobAnnouncement[] = [];
  const quiet: TestAgent = () => "It is settled between us.\nANNOUNCE_SKIP";
  await using team = await startTestTeam({
    url: db.url,
    agents: {
      ruda: talkative,
      eden: saying("It takes eleven minutes here."),
      seum: quiet,
      dami: () => ({ error: { status: 401 } }),
    },
  });
  team.outbox.handle(ANNOUNCE_TOPIC, {
    transactional: true,
    run: async (payload) => void told.push(payload as unknown as JobAnnouncement),
  });
  const ask = (agent: string, waitSec: number): Promise<AskResult> =>
    team.jobs.ask({
      requester: "ruda",
      agent,
      message: "How long?",
      waitSec,
      origin: { session: "s1", turn: "turn_1" },
    });

  const answered = await ask("eden", 10);
  const skipped = await ask("seum", 0);
  const later = await ask("eden", 0);
  const failed = await ask("dami", 0);
  const nowhere = await team.jobs.ask({
    requester: "ruda",
    agent: "eden",
    message: "How long?",
    waitSec: 0,
  });

  await expectSoon(() => told.length, { timeout: 20_000 }).toBe(2);
  for (const { jobId } of [answered, skipped, nowhere]) {
    await expectSoon(async () => (await team.jobs.get(jobId)).status).toBe("COMPLETED");
  }
  expect(told.toSorted((a, b) => (a.jobId < b.jobId ? -1 : 1))).toMatchObject([
    {
      jobId: later.jobId,
      session: "s1",
      turn: "turn_1",
      status: "COMPLETED",
      reply: "It takes eleven minutes here.",
      error: null,
    },
    {
      jobId: failed.jobId,
      status: "FAILED",
      outcome: "agent_error",
      reply: null,
      error: { code: "MODEL_UNAUTHORIZED" },
    },
  ]);
  const announced = await team.database.query<{ announced: string }>({
    text: "select announced from dure.jobs order by seq",
  });
  expect(announced.map((row) => row.announced)).toEqual([
    "answered",
    "none",
    "told",
    "told",
    "none",
  ]);
});

test("caller and place are told the result that was finished, not the politeness behind it", async () => {
  await using db = await testDatabase();
  const told: JobAnnouncement[] = [];
  const finishing: TestAgent = (request) =>
    request.messages.at(-1)!.role === "tool"
      ? "It was a pleasure, as always. Have a wonderful day!"
      : { toolCalls: [{ name: "finish", args: { result: "Eleven minutes." } }] };
  await using team = await startTestTeam({
    url: db.url,
    agents: {
      ruda: () => "Thank you so much!",
      eden: finishing,
      seum: (request) =>
        JSON.stringify(request.messages).includes("turn 3 of")
          ? "You are welcome, any time!"
          : "It takes eleven minutes on the new machine.",
    },
  });
  team.outbox.handle(ANNOUNCE_TOPIC, {
    transactional: true,
    run: async (payload) => void told.push(payload as unknown as JobAnnouncement),
  });
  const ask = (agent: string, waitSec: number): Promise<AskResult> =>
    team.jobs.ask({
      requester: "ruda",
      agent,
      message: "Let's discuss: how long?",
      waitSec,
      origin: { session: "s1", turn: "turn_1" },
    });

  const answers = [await ask("eden", 10), await ask("seum", 10)];
  await ask("eden", 0);
  await ask("seum", 0);

  await expectSoon(() => told.length, { timeout: 20_000 }).toBe(2);
  const finished = { reply: "Eleven minutes.", by: "eden" };
  const said = { reply: "It takes eleven minutes on the new machine.", by: "seum" };
  expect(answers).toMatchObject([
    { status: "ok", how: "finish", ...finished },
    { status: "ok", how: "message", ...said },
  ]);
  expect(told.toSorted((a, b) => (a.target < b.target ? -1 : 1))).toMatchObject([finished, said]);
  expect(await team.jobs.get(answers[0]!.jobId)).toMatchObject({
    status: "COMPLETED",
    outcome: "explicit_skip",
    answer: { how: "finish", by: "eden", text: "Eleven minutes." },
  });
});

test("who asks again for a result that is about to be told gets it instead of the notice, not both", async () => {
  await using db = await testDatabase();
  await using team = await startTestTeam({
    url: db.url,
    agents: { ruda: talkative, eden: saying("It takes eleven minutes here.") },
  });
  const ask = (key: string, waitSec: number): Promise<AskResult> =>
    team.jobs.ask({
      requester: "ruda",
      agent: "eden",
      message: "How long?",
      waitSec,
      key,
      origin: { session: "s1", turn: "turn_1" },
    });
  const waiting = (): Promise<unknown[]> =>
    team.database.query({ text: "select state from dure.outbox where topic = 'job.announce'" });

  const first = await ask("a", 0);
  await expectSoon(waiting).toEqual([{ state: "pending" }]);
  expect(await ask("a", 10)).toEqual({
    status: "ok",
    reply: "It takes eleven minutes here.",
    how: "message",
    by: "eden",
    jobId: first.jobId,
  });
  expect(await waiting()).toEqual([]);

  const told: unknown[] = [];
  team.outbox.handle(ANNOUNCE_TOPIC, {
    transactional: true,
    run: async (payload) => void told.push(payload),
  });
  const second = await ask("b", 0);
  await expectSoon(() => told.length).toBe(1);
  expect(await ask("b", 10)).toEqual({ status: "timeout", jobId: second.jobId });
  expect(await ask("a", 10)).toMatchObject({ status: "ok", jobId: first.jobId });
  expect(told).toMatchObject([{ jobId: second.jobId }]);
});

test("what an agent asked in the background of an exchange is told to it in its next turn there", async () => {
  await using db = await testDatabase();
  const eden: TestAgent = (request) => {
    const background = JSON.stringify(request.messages);
    if (background.includes("turn 3 of")) return "Seum has told me what I needed to know about it.";
    return request.messages.at(-1)!.role === "tool"
      ? "I have asked seum in the background, and go on meanwhile."
      : {
          toolCalls: [
            {
              name: "ask_agent",
              args: { agent: "seum", message: "Which port is it?", waitSec: 0 },
            },
          ],
        };
  };
  const ruda: TestAgent = async () => {
    await expectSoon(async () => (await team.jobs.list({ agent: "seum" })).items[0]?.status).toBe(
      "COMPLETED",
    );
    return "Tell me when you have heard of it, and not before.";
  };
  await using team: TestTeam = await startTestTeam({
    url: db.url,
    agents: { ruda, eden, seum: saying("It is port 4600, as always.") },
    tools: (jobs, requester) => ({ ask_agent: askAgentTool(jobs, { requester }) }),
  });

  const answer = await team.jobs.ask({
    requester: "ruda",
    agent: "eden",
    message: "Let's discuss: the port",
    maxTurns: 3,
  });

  expect(answer.status).toBe("ok");
  const told = JSON.stringify(team.asked["eden"]!.at(-1)!.messages);
  expect(told).toMatch(
    /seum has dealt with what you had asked in the background:.*Which port is it\?.*> It is port 4600/,
  );
  expect(JSON.stringify(team.asked["ruda"])).not.toContain("4600");
  expect(await team.database.query({ text: "select turn_number from dure.job_results" })).toEqual([
    { turn_number: 3 },
  ]);
  expect(
    await team.database.query({ text: "select key from dure.outbox where topic = 'job.announce'" }),
  ).toEqual([]);
});

test("a result that comes when the exchange has ended goes on to where that one was asked", async () => {
  await using db = await testDatabase();
  const told: JobAnnouncement[] = [];
  const late = Promise.withResolvers<string>();
  const eden: TestAgent = (request) =>
    request.messages.at(-1)!.role === "tool"
      ? "I have asked seum and dami in the background."
      : {
          toolCalls: (["seum", "dami"] as const).map((agent) => ({
            name: "ask_agent",
            args: { agent, message: "Which port is it?", waitSec: 0 },
          })),
        };
  const agents = {
    ruda: talkative,
    eden,
    seum: saying("It is port 4600, as always."),
    dami: () => late.promise,
  };
  await using team = await startTestTeam({
    url: db.url,
    agents,
    tools: (jobs, requester) => ({ ask_agent: askAgentTool(jobs, { requester }) }),
  });
  team.outbox.handle(ANNOUNCE_TOPIC, {
    transactional: true,
    run: async (payload) => void told.push(payload as unknown as JobAnnouncement),
  });

  await team.jobs.ask({
    requester: "ruda",
    agent: "eden",
    message: "Which port is it?",
    origin: { session: "s1", turn: "turn_1" },
  });
  await expectSoon(() => told.map(({ target }) => target)).toEqual(["seum"]);
  late.resolve("It may well be port 4700 from tomorrow on.");
  await expectSoon(() => told.map(({ target }) => target)).toEqual(["seum", "dami"]);

  // ruda tells it: it is ruda who speaks there.
  expect(told).toMatchObject([
    { session: "s1", turn: "turn_1", requester: "ruda", reply: "It is port 4600, as always." },
    { session: "s1", requester: "ruda", reply: "It may well be port 4700 from tomorrow on." },
  ]);
});

test("a result that was told in a turn that failed goes on to where the exchange was asked", async () => {
  await using db = await testDatabase();
  const told: JobAnnouncement[] = [];
  const eden: TestAgent = (request) => {
    if (JSON.stringify(request.messages).includes("turn 3 of")) return { error: { status: 403 } };
    return request.messages.at(-1)!.role === "tool"
      ? "I have asked seum in the background, and go on meanwhile."
      : {
          toolCalls: [
            {
              name: "ask_agent",
              args: { agent: "seum", message: "Which port is it?", waitSec: 0 },
            },
          ],
        };
  };
  const ruda: TestAgent = async () => {
    await expectSoon(async () => (await team.jobs.list({ agent: "seum" })).items[0]?.status).toBe(
      "COMPLETED",
    );
    return "Tell me when you have heard of it, and not before.";
  };
  await using team: TestTeam = await startTestTeam({
    url: db.url,
    agents: { ruda, eden, seum: saying("It is port 4600, as always.") },
    tools: (jobs, requester) => ({ ask_agent: askAgentTool(jobs, { requester }) }),
  });
  team.outbox.handle(ANNOUNCE_TOPIC, {
    transactional: true,
    run: async (payload) => void told.push(payload as unknown as JobAnnouncement),
  });

  const { jobId } = await team.jobs.ask({
    requester: "ruda",
    agent: "eden",
    message: "Let's discuss: the port",
    maxTurns: 3,
    waitSec: 0,
    origin: { session: "s1" },
  });

  await expectSoon(() => told.map(({ target, status }) => [target, status]), {
    timeout: 20_000,
  }).toEqual([
    ["eden", "FAILED"],
    ["seum", "COMPLETED"],
  ]);
  expect(JSON.stringify(team.asked["eden"]!.at(-1)!.messages)).toContain("> It is port 4600");
  expect(told[1]).toMatchObject({
    session: "s1",
    requester: "ruda",
    reply: "It is port 4600, as always.",
  });
  expect(await team.jobs.get(jobId)).toMatchObject({ status: "FAILED", turnsDone: 2 });
});

test("a job that ends at the moment in which its caller's time is over is not told beside the answer", async () => {
  await using db = await testDatabase();
  await using team = await startTestTeam({
    url: db.url,
    agents: { ruda: talkative, eden: hanging },
  });
  const waiting = team.jobs.ask({
    requester: "ruda",
    agent: "eden",
    message: "How long?",
    waitSec: 60,
    origin: { session: "s1" },
  });
  await expectSoon(() => team.asked["eden"]?.length).toBe(1);
  const { jobId } = (await team.jobs.list()).items[0]!;

  // The caller began to count when it had heard that there is a job, which is later than the
  // database did.
  const error = `'{"code": "X", "message": "x"}'`;
  await team.database.query({
    text:
      "do $$ begin update dure.jobs set wait_until = clock_timestamp() where id = " +
      `'${jobId}'; perform dure.end_job('${jobId}', 'FAILED', 'agent_error', ${error}, ` +
      "false, null); end $$",
  });

  expect(await waiting).toMatchObject({ status: "error", code: "X" });
  expect(await team.database.query({ text: "select announced from dure.jobs" })).toEqual([
    { announced: "answered" },
  ]);
  expect(
    await team.database.query({ text: "select key from dure.outbox where topic = 'job.announce'" }),
  ).toEqual([]);
});

test("a turn tells five results of background work, the same when asked again; the next tells the rest", async () => {
  await using db = await testDatabase();
  await using team = await startTestTeam({
    url: db.url,
    agents: { ruda: talkative, eden: saying("It takes eleven minutes here.") },
  });
  await team.engine.turn({ session: "s1", service: "ruda", message: "hello" }).done;
  for (let n = 1; n <= 7; n++) {
    const { jobId } = await team.jobs.ask({
      requester: "ruda",
      agent: "eden",
      message: `What is ${n}?`,
      waitSec: 20,
    });
    await Promise.all([
      team.jobs.keepNote(jobId, "s1"),
      team.jobs.keepNote(jobId, "s1"),
      team.jobs.keepNote(jobId, "gone"),
    ]);
  }
  const told = async (turn: string): Promise<readonly string[]> =>
    ((await team.jobs.notes({ session: "s1", turn })) ?? "").match(/What is \d/g) ?? [];

  expect(await told("turn_1")).toEqual([1, 2, 3, 4, 5].map((n) => `What is ${n}`));
  expect(await told("turn_2")).toEqual([6, 7].map((n) => `What is ${n}`));
  expect(await told("turn_1")).toEqual([1, 2, 3, 4, 5].map((n) => `What is ${n}`));
  expect(await told("turn_3")).toEqual([]);
});

test("a caller that went away without its answer is told", FULL, async () => {
  await using db = await testDatabase();
  const thought = Promise.withResolvers<void>();
  await using team = await startTestTeam({
    url: db.url,
    agents: {
      ruda: talkative,
      eden: async () => (await thought.promise, "It takes eleven minutes here."),
    },
  });
  const gone = new AbortController();
  const waiting = team.jobs.ask(
    {
      requester: "ruda",
      agent: "eden",
      message: "How long?",
      waitSec: 300,
      origin: { session: "s1" },
    },
    { signal: gone.signal },
  );
  const left = waiting.catch((error: Error) => error.message);
  await expectSoon(async () => (await team.jobs.list()).items.length).toBe(1);
  gone.abort(new Error("gone"));
  expect(await left).toBe("gone");
  thought.resolve();
  await expectSoon(async () => (await team.jobs.list()).items.map(({ status }) => status)).toEqual([
    "COMPLETED",
  ]);

  await team.database.query({
    text: "update dure.jobs set wait_until = clock_timestamp() - interval '1 minute'",
  });

  await expectSoon(
    async () =>
      team.database.query({ text: "select key from dure.outbox where topic = 'job.announce'" }),
    { timeout: 20_000 },
  ).toHaveLength(1);
});

test("a stream shows the job, each turn once, then its end; and all of it again behind a position", async () => {
  await using db = await testDatabase();
  await using team = await startTestTeam({
    url: db.url,
    agents: { ruda: talkative, eden: talkative },
  });
  const before = await team.events.now();
  const { jobId } = await team.jobs.ask({
    requester: "ruda",
    agent: "eden",
    message: "Let's discuss: it",
    maxTurns: 4,
    waitSec: 0,
  });

  const read = async (after?: string): Promise<string[]> => {
    const seen: string[] = [];
    for await (const frame of team.jobs.stream(jobId, {
      after,
      signal: AbortSignal.timeout(20_000),
    })) {
      if (frame.kind === "job") seen.push(...frame.job.turns.map(({ number }) => `turn ${number}`));
      if (frame.kind === "event") {
        seen.push(
          frame.event.type === "job.turn" ? `turn ${frame.event.data.number}` : frame.event.type,
        );
      }
    }
    return seen;
  };
  const live = await read();
  const again = await read(before);

  expect(live.filter((line) => line.startsWith("turn"))).toEqual([
    "turn 1",
    "turn 2",
    "turn 3",
    "turn 4",
  ]);
  expect(live.at(-1)).toBe("job.completed");
  expect(again).toEqual([
    "job.accepted",
    "job.started",
    "turn 1",
    "turn 2",
    "turn 3",
    "turn 4",
    "job.completed",
  ]);
});

test("the list is filtered and paged, newest first", async () => {
  await using db = await testDatabase();
  await using team = await startTestTeam({
    url: db.url,
    agents: { ruda: talkative, eden: talkative, seum: talkative },
  });
  for (let n = 0; n < 7; n++) {
    await team.jobs.ask({
      requester: n % 2 ? "ruda" : "seum",
      agent: "eden",
      message: `What is ${n}?`,
    });
  }

  const first = await team.jobs.list({ limit: 3 });
  const second = await team.jobs.list({ limit: 3, cursor: first.nextCursor! });
  const third = await team.jobs.list({ limit: 3, cursor: second.nextCursor! });

  expect([...first.items, ...second.items, ...third.items].map(({ message }) => message)).toEqual(
    [6, 5, 4, 3, 2, 1, 0].map((n) => `What is ${n}?`),
  );
  expect(third.nextCursor).toBeNull();
  expect((await team.jobs.list({ agent: "ruda" })).items).toHaveLength(3);
  expect((await team.jobs.list({ agent: "eden" })).items).toHaveLength(7);
  expect((await team.jobs.list({ status: "FAILED" })).items).toEqual([]);
  expect((await team.jobs.list({ since: "1h", status: "COMPLETED" })).items).toHaveLength(7);
  expect(await team.jobs.list({ cursor: "?" }).catch(codeOf)).toBe("CURSOR_INVALID");
});
