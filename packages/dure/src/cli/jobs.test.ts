import { spawn } from "node:child_process";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, expect, test } from "vitest";
import { FULL } from "../kernel/test-tiers.ts";
import { z } from "zod";
import { AuditLog } from "../durable/audit-log.ts";
import { testDatabase, type TestDatabase } from "../durable/test-database.ts";
import { tool } from "../engine/agent/tool.ts";
import {
  hanging,
  startTestTeam,
  talkative,
  type TestAgent,
  type TestTeam,
} from "../jobs/test-jobs.ts";
import { startTestServer, type TestServer } from "../server/test-server.ts";

const PROGRAM = fileURLToPath(new URL("./main.ts", import.meta.url));

let database: TestDatabase;
let team: TestTeam;
let server: TestServer;
/** What `gated` says waits for this. */
let gate: PromiseWithResolvers<void>;

const gated: TestAgent = async (request, context) => {
  await gate.promise;
  return talkative(request, context);
};
/** Calls a tool that needs a yes. */
const careful: TestAgent = (request) =>
  request.messages.at(-1)?.role === "tool"
    ? "It is deployed, as you wished."
    : { toolCalls: [{ name: "deploy", args: { to: "production" } }] };

beforeAll(async () => {
  database = await testDatabase();
  const deploy = tool({
    description: "Deploys.",
    inputSchema: z.object({ to: z.string() }),
    effect: "once",
    recover: "ask",
    approval: { question: ({ to }) => `Deploy to ${to}?` },
    execute: () => ({ deployed: true }),
  });
  team = await startTestTeam({
    url: database.url,
    agents: { ruda: talkative, eden: talkative, seum: hanging, gated, careful },
    tools: (_jobs, agent): Record<string, typeof deploy> => (agent === "careful" ? { deploy } : {}),
  });
  server = await startTestServer({
    jobs: team.jobs,
    events: team.events,
    inbox: team.inbox,
    audit: new AuditLog(database),
  });
}, 60_000);
afterAll(async () => {
  await server?.[Symbol.asyncDispose]();
  await team?.[Symbol.asyncDispose]();
  await database?.[Symbol.asyncDispose]();
});

interface Result {
  readonly exitCode: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs the command line as a person does: another process. */
function dure(...args: readonly string[]): Promise<Result> {
  return begin(...args).ended;
}

/** `spoke` resolves with its first words. */
function begin(...args: readonly string[]): {
  readonly spoke: Promise<void>;
  readonly ended: Promise<Result>;
} {
  const spoke = Promise.withResolvers<void>();
  const ended = new Promise<Result>((resolve, reject) => {
    const { PATH = "", HOME = "", NODE_COMPILE_CACHE } = process.env;
    const child = spawn(process.execPath, ["--conditions=dure-source", PROGRAM, ...args], {
      env: { PATH, HOME, NODE_COMPILE_CACHE, DURE_URL: server.url },
      stdio: ["ignore", "pipe", "pipe"],
    });
    const result = { stdout: "", stderr: "" };
    child.stdout.setEncoding("utf8").on("data", (text: string) => (result.stdout += text));
    child.stderr.setEncoding("utf8").on("data", (text: string) => (result.stderr += text));
    child.stdout.once("data", () => spoke.resolve());
    child.on("error", reject);
    child.on("close", (exitCode) => {
      spoke.resolve();
      resolve({ exitCode, ...result });
    });
  });
  return { spoke: spoke.promise, ended };
}

test(
  "ask prints the answer alone, list and show tell about the job",
  { ...FULL, timeout: 60_000 },
  async () => {
    const asked = await dure(
      "jobs",
      "ask",
      "ruda",
      "eden",
      "Please look at the login module",
      "--max-turns",
      "3",
      "--json",
    );
    const { status, reply, job_id } = JSON.parse(asked.stdout) as {
      status: string;
      reply: string;
      job_id: string;
    };
    const [list, json, show] = await Promise.all([
      dure("jobs", "list", "--agent", "eden", "--since", "1h"),
      dure("jobs", "list", "--status", "COMPLETED", "--json"),
      dure("jobs", "show", job_id),
    ]);

    expect([asked.exitCode, status]).toEqual([0, "ok"]);
    expect(list.stdout).toMatch(
      new RegExp(`${job_id} .* COMPLETED +max_turns +ruda → eden +3/3 +Please look`),
    );
    expect(JSON.parse(json.stdout)).toMatchObject({
      items: [{ job_id, requester_name: "ruda" }],
      next_cursor: null,
    });
    const lines = show.stdout.trim().split("\n");
    expect(lines.slice(0, 3)).toEqual([
      `${job_id}  ruda → eden`,
      "ruda: Please look at the login module",
      expect.stringMatching(/^1 eden: word6 /),
    ]);
    expect(reply.split("\n\n")).toEqual(lines.slice(2, 5).map((line) => line.slice(2)));
    expect(lines[5]).toBe("COMPLETED: all turns were used");
    expect(lines[6]).toMatch(/^3 turns, \d+ tokens, \d+\.\d s$/);
  },
);

test(
  "watch prints each turn as it comes, one line each in a pipe, and ends with the job",
  { ...FULL, timeout: 60_000 },
  async () => {
    gate = Promise.withResolvers();
    const accepted = await dure(
      "jobs",
      "ask",
      "ruda",
      "gated",
      "Please go on",
      "--max-turns",
      "2",
      "--wait",
      "0",
    );
    const id = accepted.stdout.trim();
    const watching = [begin("jobs", "watch", id), begin("jobs", "watch", id, "--json")] as const;
    await Promise.all(watching.map(({ spoke }) => spoke));
    expect((await dure("jobs", "speak", id, "Not on Friday.", "--as", "민준")).exitCode).toBe(0);
    gate.resolve();
    const [plain, json] = await Promise.all([watching[0].ended, watching[1].ended]);

    expect(accepted.stderr).toContain(`dure jobs watch ${id}`);
    expect(plain.exitCode).toBe(0);
    const lines = plain.stdout.trim().split("\n");
    expect(lines.filter((line) => !line.startsWith("  민준"))).toEqual([
      `${id}  ruda → gated`,
      "ruda: Please go on",
      expect.stringMatching(/^1 gated: /),
      expect.stringMatching(/^2 ruda: /),
      "COMPLETED: all turns were used",
      expect.stringMatching(/^2 turns, /),
    ]);
    expect(lines).toContain("  민준 speaks into it: Not on Friday.");
    expect(plain.stdout).not.toContain("\u001b");
    expect(
      json.stdout
        .trim()
        .split("\n")
        .map((line) => (JSON.parse(line) as { type: string }).type),
    ).toEqual(expect.arrayContaining(["job", "job.turn", "job.completed"]));
  },
);

test(
  "what fails exits with 1, what is asked wrongly with 2",
  { ...FULL, timeout: 60_000 },
  async () => {
    const [timeout, unknown, noSuchAgent, status, since, wait, older] = await Promise.all([
      dure("jobs", "ask", "ruda", "seum", "Please think", "--wait", "1", "--json"),
      dure("jobs", "show", "job_0"),
      dure("jobs", "ask", "ruda", "nobody", "Hello"),
      dure("jobs", "list", "--status", "LOST"),
      dure("jobs", "list", "--since", "lately"),
      dure("jobs", "ask", "ruda", "eden", "Hello", "--wait", "long"),
      dure("jobs", "purge"),
    ]);
    const { status: said, job_id } = JSON.parse(timeout.stdout) as {
      status: string;
      job_id: string;
    };
    const watching = dure("jobs", "watch", job_id);
    const cancelled = await dure("jobs", "cancel", job_id);
    const watched = await watching;
    const retried = await dure("jobs", "retry", job_id);

    expect([timeout.exitCode, said]).toEqual([1, "timeout"]);
    expect(unknown).toMatchObject({
      exitCode: 1,
      stderr: expect.stringContaining("JOB_UNKNOWN") as string,
    });
    expect(noSuchAgent).toMatchObject({
      exitCode: 1,
      stderr: expect.stringContaining("Agents are: ruda, eden") as string,
    });
    expect([status.exitCode, since.exitCode, wait.exitCode, older.exitCode]).toEqual([2, 2, 2, 2]);
    expect(cancelled).toMatchObject({
      exitCode: 0,
      stdout: `${job_id} is cancelled, with all that it asked for\n`,
    });
    expect(watched).toMatchObject({
      exitCode: 1,
      stdout: expect.stringContaining("CANCELLED: it was cancelled") as string,
    });
    expect(retried).toMatchObject({
      exitCode: 1,
      stderr: expect.stringContaining("It stays cancelled; ask again.") as string,
    });
  },
);

test(
  "dure audit says who did what, how it ended, and what was begun by a process that is gone",
  FULL,
  async () => {
    const log = new AuditLog(database);
    await log.note({ tenant: "", name: "cli:mina", what: "token.create", subject: "token_1" });
    await log.begin({ tenant: "acme", name: "token_2", what: "token.revoke", subject: "token_1" });
    const [text, json, none, refused] = await Promise.all([
      dure("audit", "--what", "token.*"),
      dure("audit", "--subject", "token_1", "--limit", "1", "--json"),
      dure("audit", "--name", "nobody"),
      dure("jobs", "cancel", "job_nowhere"),
    ]);

    expect(text).toMatchObject({
      exitCode: 0,
      stdout: expect.stringMatching(
        /^\S+  token_2 \(acme\)  token\.revoke  token_1  begun; its outcome is unknown\n\S+  cli:mina {8}token\.create  token_1  done\n$/,
      ) as string,
    });
    expect(JSON.parse(json.stdout)).toEqual({
      items: [
        {
          id: expect.any(Number),
          at: expect.any(Number),
          tenant: "acme",
          name: "token_2",
          person: null,
          role: null,
          what: "token.revoke",
          subject: "token_1",
          outcome: null,
        },
      ],
      next_cursor: expect.any(String),
    });
    expect([none.exitCode, none.stdout]).toEqual([0, "there is no such entry\n"]);
    expect(refused.exitCode).toBe(1);
    expect((await log.list({ subject: "job_nowhere" })).items).toMatchObject([
      { what: "job.cancel", name: "127.0.0.1", outcome: "JOB_UNKNOWN" },
    ]);
  },
);

test(
  "audit exits with 0 when all is in order, purge counts",
  { ...FULL, timeout: 60_000 },
  async () => {
    const [audit, purge] = await Promise.all([
      dure("jobs", "audit", "--stuck", "1h"),
      dure("jobs", "purge", "--older-than", "7d"),
    ]);

    expect(audit).toMatchObject({ exitCode: 0, stdout: "all jobs are in order\n" });
    expect(purge).toMatchObject({ exitCode: 0, stdout: "0 finished jobs older than 7d removed\n" });
  },
);

test(
  "audit names a job that is stuck, with what to do, and exits with 1",
  { ...FULL, timeout: 60_000 },
  async () => {
    const { stdout } = await dure("jobs", "ask", "ruda", "seum", "Please think", "--wait", "0");
    const id = stdout.trim();
    await expect
      .poll(async () => (await team.jobs.audit({ stuck: "1s" })).map(({ jobId }) => jobId), {
        timeout: 20_000,
      })
      .toEqual([id]);

    const [audit, json] = await Promise.all([
      dure("jobs", "audit", "--stuck", "1s"),
      dure("jobs", "audit", "--stuck", "1s", "--json"),
    ]);

    expect(audit).toMatchObject({
      exitCode: 1,
      stdout: expect.stringMatching(
        new RegExp(`${id}  ruda → seum, turn 1, resumed 0 times\n  stuck: .*cancel ends it`),
      ) as string,
    });
    expect(JSON.parse(json.stdout)).toMatchObject({ items: [{ job_id: id, why: "stuck" }] });
    expect((await dure("jobs", "cancel", id)).exitCode).toBe(0);
  },
);

test(
  "a question that an exchange waits for is listed and answered, and the exchange goes on",
  { ...FULL, timeout: 60_000 },
  async () => {
    const { stdout } = await dure(
      "jobs",
      "ask",
      "ruda",
      "careful",
      "Please deploy",
      "--max-turns",
      "1",
      "--wait",
      "0",
    );
    await expect.poll(async () => (await team.jobs.get(stdout.trim())).waiting).toBe("person");
    const list = await dure("escalations", "list");
    const id = /^(escalation_\S+)/.exec(list.stdout)![1]!;

    const shown = await dure("escalations", "show", id);
    const answered = await dure("escalations", "answer", id, "approve", "--note", "only this once");
    const watched = await dure("jobs", "watch", stdout.trim());

    expect(list.stdout).toMatch(/Deploy to production\?\n {2}answers: approve/);
    expect(shown.stdout).toContain(`dure escalations answer ${id} approve`);
    expect((await dure("escalations", "show", id)).stdout).toMatch(
      /resolved: approve by .+: "only this once"/,
    );
    expect([answered.exitCode, watched.exitCode]).toEqual([0, 0]);
    expect(watched.stdout).toContain("1 careful: It is deployed, as you wished.");
    expect(await dure("escalations", "list")).toMatchObject({
      exitCode: 0,
      stdout: "nothing waits for a decision\n",
    });
    expect(await dure("escalations", "answer", id, "approve")).toMatchObject({
      exitCode: 1,
      stderr: expect.stringContaining("ESCALATION_CLOSED") as string,
    });
  },
);
