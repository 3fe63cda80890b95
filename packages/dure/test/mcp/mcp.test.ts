// @module-tag slow
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { testDatabaseUrl } from "../../src/durable/test-database.ts";
import { FULL } from "../../src/kernel/test-tiers.ts";
import { ServerProcess } from "../crash/server-process.ts";
import { until } from "../until.ts";
import { askMcp, type Question, type Task } from "./ask-mcp.ts";

/** Agents that use the tools of an MCP server, through the real server process. */
const TEAM = fileURLToPath(new URL("team", import.meta.url));
const SERVER = fileURLToPath(new URL("../../src/mcp/test-hostile-server.ts", import.meta.url));

const SLOW = { ...FULL, timeout: 120_000 };
const NOT_CALLED = (): string => "the tool was not called";
const NOT_ASKED = (): string => `no person was asked:\n${server!.log.slice(-20).join("\n")}`;

interface Done {
  readonly message: string;
  readonly error?: { readonly code: string };
}

const stack = new AsyncDisposableStack();
let databaseUrl: string;
let folder: string;
let notes: string;
let server: ServerProcess | undefined;

beforeAll(async () => {
  databaseUrl = stack.use(await testDatabaseUrl()).url;
  folder = await mkdtemp(join(tmpdir(), "dure-mcp-"));
  stack.defer(() => rm(folder, { recursive: true }));
}, 120_000);

beforeEach(() => {
  notes = join(folder, crypto.randomUUID());
});

afterAll(async () => {
  await server?.[Symbol.asyncDispose]();
  await stack.disposeAsync();
}, 60_000);

/** Kills the server that runs, if any, and starts another one beside an MCP server of that manner. */
async function serve(manner: string): Promise<void> {
  await server?.kill();
  const environment = {
    DATABASE_URL: databaseUrl,
    DURE_HOME: join(folder, "home"),
    MCP_SERVER: SERVER,
    MCP_MANNER: manner,
    MCP_NOTES: notes,
    MCP_GRAPH: `${notes}.graph`,
  };
  server = ServerProcess.spawn(environment, TEAM);
  await server.url;
}

async function post(path: string, body: object): Promise<Response> {
  return fetch((await server!.url) + path, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(body),
  });
}

async function say(session: string, message: string, service = "office"): Promise<Done> {
  const body = { session_id: session, service, message };
  return doneIn(await post("/v1/agent/chat/stream", body));
}

async function doneIn(answer: Response): Promise<Done> {
  const text = await answer.text();
  const data = /^event: DONE\ndata: (.*)$/mu.exec(text)?.[1];
  if (data === undefined) throw new Error(`no DONE in ${answer.status} ${text}`);
  return JSON.parse(data) as Done;
}

async function calls(): Promise<number> {
  const text = await readFile(notes, "utf8").catch(() => "");
  return text.split("\n").filter((line) => line.startsWith("call")).length;
}

interface Escalation {
  readonly id: string;
  readonly title: string;
}

async function asked(session: string): Promise<readonly Escalation[]> {
  const response = await fetch(`${await server!.url}/v1/escalations?status=open`);
  const { items } = (await response.json()) as {
    items: readonly (Escalation & { source: { session?: string } })[];
  };
  return items.filter(({ source }) => source.session === session);
}

test(
  "an agent calls a tool of an MCP server in its turn, and says what it gave",
  FULL,
  async () => {
    await serve("polite");

    expect(await say("calls", "odd__echo")).toMatchObject({ message: '"echo was done"' });
    expect(await say("calls", "odd__write")).toMatchObject({ message: '"write was done"' });
    expect(await say("calls", "odd__nonsense")).toMatchObject({
      message: expect.stringContaining("MCP_TOOL_UNKNOWN") as string,
    });
  },
);

test("a server of one service alone is used by its agents, and by no others", SLOW, async () => {
  await serve("polite");
  const entity = { name: "dure", entityType: "team", observations: ["works"] };
  const create = `graph__create_entities ${JSON.stringify({ entities: [entity] })}`;

  expect((await say("own", create, "archive")).message).toContain("works");
  expect((await say("own", "graph__read_graph {}", "archive")).message).toContain("dure");
  expect(await readFile(`${notes}.graph`, "utf8")).toContain("works");
  expect((await say("own-2", "odd__echo", "archive")).message).toBe('"echo was done"');
  expect((await say("own-3", create)).message).toContain('There is no tool \\"graph__');
});

test("a call under way when the process is killed is not repeated: a person is asked", async () => {
  await serve("hang");
  const turn = say("killed", "odd__write").catch(() => {});
  await until(async () => (await calls()) === 1, NOT_CALLED);

  await serve("polite");
  await turn;
  await until(async () => (await asked("killed")).length === 1, NOT_ASKED);

  expect(await calls()).toBe(1);
}, 120_000);

test(
  "the same with the tool gone from the server: a person is asked, and nothing is told",
  SLOW,
  async () => {
    await serve("hang");
    const turn = say("gone", "odd__write").catch(() => {});
    await until(async () => (await calls()) === 1, NOT_CALLED);

    await serve("no-list");
    await turn;
    await until(async () => (await asked("gone")).length === 1, NOT_ASKED);

    expect(await calls()).toBe(1);
  },
);

test("the same with a tool that says only then that it only reads", SLOW, async () => {
  await serve("hang");
  const turn = say("turned", "odd__write").catch(() => {});
  await until(async () => (await calls()) === 1, NOT_CALLED);

  await serve("only-reads");
  await turn;
  await until(async () => (await asked("turned")).length === 1, NOT_ASKED);

  expect(await calls()).toBe(1);
});

test("a call that only reads is made again after a kill", SLOW, async () => {
  await serve("hang");
  const turn = say("reads", "odd__echo").catch(() => {});
  await until(async () => (await calls()) === 1, NOT_CALLED);

  await serve("polite");
  await turn;

  await until(async () => (await calls()) === 2, NOT_CALLED);
  expect(await asked("reads")).toEqual([]);
});

test("servers of a process that was killed are ended by the next one", SLOW, async () => {
  await serve("family");
  const left = await pidsIn(notes);
  expect(left.length).toBeGreaterThanOrEqual(2);
  notes = join(folder, crypto.randomUUID());

  await serve("polite");

  await until(
    () => left.every((pid) => !lives(pid)),
    () => "a server lives",
  );
});

async function pidsIn(file: string): Promise<readonly number[]> {
  const lines = (await readFile(file, "utf8")).split("\n").filter(Boolean);
  return lines.map((line) => Number(line.split(" ")[1]));
}

function lives(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

/** A task of the team, as a client that has no connection finds it. */
async function taskNow(taskId: string): Promise<Task> {
  const asking = { url: await server!.url, tools: "jobs,decisions" };
  return (await askMcp(asking, "tasks/get", { taskId })).result;
}

function taskIn(taskId: string, ...statuses: readonly string[]): Promise<Task> {
  let last: Task | undefined;
  return until(
    async () => {
      last = await taskNow(taskId);
      return statuses.includes(last.status) ? last : undefined;
    },
    () => `the task is ${JSON.stringify(last)}\n${server!.log.slice(-20).join("\n")}`,
  );
}

test(
  "kill -9 while a task runs: its client comes back, and its work was done once",
  { ...FULL, timeout: 180_000 },
  async () => {
    await serve("hang");
    const work = { agent: "mina", target: "desk", message: "odd__write", key: "killed-task" };
    const asking = { url: await server!.url, tools: "jobs,decisions" };
    const begin = (url: string) =>
      askMcp({ ...asking, url }, "tools/call", { name: "delegate", arguments: work });
    const { taskId } = (await begin(asking.url)).result;
    await until(async () => (await calls()) === 1, NOT_CALLED);

    await serve("polite");
    const again = (await begin(await server!.url)).result;
    const waiting = await taskIn(taskId, "input_required");
    const [[id, question]] = Object.entries(waiting.inputRequests!) as [[string, Question]];
    const { enum: values } = question.params.requestedSchema.properties.decision;
    const decision = values.find((value) => value === "happened");
    await askMcp({ ...asking, url: await server!.url }, "tasks/update", {
      taskId,
      inputResponses: { [id]: { action: "accept", content: { decision } } },
    });
    await serve("polite");
    const first = await taskIn(taskId, "completed");
    const second = await taskNow(taskId);

    expect(again.taskId).toBe(taskId);
    expect(second.result).toEqual(first.result);
    expect(await calls()).toBe(1);
    const jobs = (await (await fetch(`${await server!.url}/v1/jobs`)).json()) as {
      items: { job_id: string }[];
    };
    expect(jobs.items.map(({ job_id }) => `job-${job_id}`)).toEqual([taskId]);
  },
);
