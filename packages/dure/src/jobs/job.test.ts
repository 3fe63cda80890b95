import { expect, test } from "vitest";
import { testDatabase } from "../durable/test-database.ts";
import { codeOf } from "../kernel/errors.ts";
import {
  jobOfSession,
  newJobId,
  NEXT_STATUSES,
  OUTCOMES,
  sessionOf,
  speakerOf,
  transition,
} from "./job.ts";
import { isJobOver, JOB_STATUSES, type JobStatus } from "../kernel/jobs.ts";

const PAIRS = JOB_STATUSES.flatMap((from) =>
  JOB_STATUSES.filter((to) => to !== from).map((to) => ({ from, to })),
);

test.each(PAIRS)("$from → $to is allowed or refused as the table says", ({ from, to }) => {
  const isListed = (NEXT_STATUSES[from] as readonly JobStatus[]).includes(to);

  const attempt = (by: "anybody" | "recovery" | "retry"): string => {
    try {
      return transition(from, to, by);
    } catch (error) {
      return codeOf(error)!;
    }
  };

  const back = isJobOver(from) ? "retry" : "recovery";
  expect(attempt(back)).toBe(isListed ? to : "JOB_TRANSITION");
  expect(attempt("anybody")).toBe(isListed && to !== "PENDING" ? to : "JOB_TRANSITION");
});

test("the database refuses every transition that the table does not have; recovery takes jobs back", async () => {
  await using db = await testDatabase();
  const { database } = db;
  const outcomeOf = (status: JobStatus): string | null =>
    Object.entries(OUTCOMES).find(([, end]) => end === status)?.[0] ?? null;
  const insert = async (status: JobStatus): Promise<string> => {
    const id = newJobId();
    await database.query(
      {
        text: `
          insert into dure.jobs (
            id, status, outcome, last_error, requester, target, message, intent,
            conversation_id, root_id, root_work, max_turns, turns_done, queued_ms,
            progress_ms, holder
          )
          values ($1, $2, $3, '{}', 'a', 'b', 'm', 'request', 'c', $1, $1, 1, 1, 0, 0, 'p')`,
      },
      [id, status, outcomeOf(status)],
    );
    return id;
  };

  for (const { from, to } of PAIRS) {
    const isListed = (NEXT_STATUSES[from] as readonly JobStatus[]).includes(to);
    const plain = "update dure.jobs set status = $2, outcome = $3 where id = $1";
    const recovery = `
        update dure.jobs
        set status = $2, outcome = $3, holder = null, epoch = epoch + 1,
          resumes = resumes + 1
        where id = $1`;
    for (const [text, allowed] of [
      [plain, isListed && to !== "PENDING"],
      [recovery, isListed],
    ] as const) {
      const id = await insert(from);
      const code = await database
        .query({ text }, [id, to, outcomeOf(to)])
        .then(() => "allowed", codeOf);
      expect(`${from} → ${to}: ${code}`).toBe(`${from} → ${to}: ${allowed ? "allowed" : "DU410"}`);
    }
  }
});

test("the database refuses an end that does not belong to its outcome", async () => {
  await using db = await testDatabase();
  const put = (
    status: string,
    outcome: string,
    turns: number,
    error: string | null,
  ): Promise<unknown> =>
    db.database
      .query(
        {
          text: `
            insert into dure.jobs (
              id, status, outcome, last_error, requester, target, message, intent,
              conversation_id, root_id, root_work, max_turns, turns_done, queued_ms,
              progress_ms
            )
            values ($1, $2, $3, $5, 'a', 'b', 'm', 'request', 'c', $1, $1, 1, $4, 0, 0)`,
        },
        [newJobId(), status, outcome, turns, error],
      )
      .then(() => "stored", codeOf);

  expect(await put("COMPLETED", "max_turns", 1, null)).toBe("stored");
  expect(await put("COMPLETED", "max_turns", 0, null)).toBe("23514"); // nothing was said
  expect(await put("COMPLETED", "agent_error", 1, "{}")).toBe("23514");
  expect(await put("FAILED", "agent_error", 0, null)).toBe("23514"); // without saying why
  expect(await put("FAILED", "conclusion", 1, "{}")).toBe("23514");
});

test("every outcome belongs to an end", () => {
  for (const status of Object.values(OUTCOMES)) expect(isJobOver(status)).toBe(true);
  expect([isJobOver("PENDING"), isJobOver("RUNNING")]).toEqual([false, false]);
});

test("the target speaks first, then by turns", () => {
  const job = { requester: "ruda", target: "eden" };

  expect([1, 2, 3, 4].map((turn) => speakerOf(job, turn))).toEqual([
    "eden",
    "ruda",
    "eden",
    "ruda",
  ]);
});

test.each(["eden", "이든", "a".repeat(64), "가".repeat(64)])(
  "the session of an exchange fits the engine's ids and leads back to its job (%s)",
  (agent) => {
    const id = newJobId();
    const session = sessionOf(id, agent);

    expect(session).toMatch(/^[A-Za-z0-9._:@-]{1,200}$/);
    expect(jobOfSession(session)).toBe(id);
    expect(sessionOf(id, `${agent}x`.slice(-64))).not.toBe(session);
  },
);

test("other sessions belong to no job", () => {
  for (const session of [
    "s1",
    "job:",
    "job:job_1:eden",
    "xjob:job_01ARZ3NDEKTSV4RRFFQ69G5FAV:eden",
  ]) {
    expect(jobOfSession(session)).toBeUndefined();
  }
});
