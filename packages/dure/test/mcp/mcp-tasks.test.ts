import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import type { Scope } from "../../src/kernel/access.ts";
import { FULL } from "../../src/kernel/test-tiers.ts";
import { PostgresTokenStore } from "../../src/server/token-store.ts";
import { startContractTeam, WORDS, type ContractTeam } from "../contract/contract-team.ts";
import { until } from "../until.ts";
import { askMcp, TASKS, type Question, type Task, type Told } from "./ask-mcp.ts";

/** Jobs and runs as tasks (the Tasks extension of MCP 2026-07-28), over HTTP to a real team. */

let team: ContractTeam;
let clients: Client[] = [];

beforeAll(async () => {
  team = await startContractTeam();
}, 240_000);

afterEach(async () => {
  for (const client of clients) await client.close();
  clients = [];
});

afterAll(async () => team?.[Symbol.asyncDispose](), 120_000);

interface Connecting {
  readonly token?: string;
  readonly tools?: string;
  readonly extensions?: Record<string, object>;
}

async function connect({
  token = team.admin,
  tools = "jobs,plans",
  extensions = { [TASKS]: {} },
}: Connecting = {}): Promise<Client> {
  const client = new Client(
    { name: "test", version: "1" },
    {
      versionNegotiation: { mode: "auto" },
      capabilities: { extensions, elicitation: { form: {} } } as never,
    },
  );
  const requestInit = { headers: { authorization: `Bearer ${token}` } };
  const address = new URL(`${team.url}/mcp?tools=${tools}`);
  await client.connect(new StreamableHTTPClientTransport(address, { requestInit }));
  clients.push(client);
  return client;
}

function asked(
  method: string,
  params: Record<string, unknown>,
  connecting: Connecting = {},
): Promise<Told> {
  return askMcp({ url: team.url, token: team.admin, ...connecting }, method, params);
}

const JOB = { agent: "ruda", target: "eden", message: "Look at the door." };

async function begin(name: string, input: object, connecting?: Connecting): Promise<string> {
  const { result } = await asked("tools/call", { name, arguments: input }, connecting);
  expect(result).toMatchObject({ resultType: "task", status: "working", ttlMs: null });
  return result.taskId;
}

function ended(taskId: string, connecting?: Connecting): Promise<Task> {
  return until(
    async () => {
      const { result } = await asked("tasks/get", { taskId }, connecting);
      const isOver = result.status !== "working" && result.status !== "input_required";
      return isOver ? result : undefined;
    },
    () => `${taskId} does not end`,
  );
}

async function tokenFor(tenant: string, ...scopes: readonly Scope[]): Promise<string> {
  const store = new PostgresTokenStore({ database: team.database });
  return (await store.create({ name: `of ${tenant}`, scopes, tenant })).token;
}

describe("a client that takes tasks", FULL, () => {
  test("is told that the server has them", async () => {
    const client = await connect();

    expect(client.getServerCapabilities()).toMatchObject({ extensions: { [TASKS]: {} } });
  });

  test("hands over a job, and gets its answer from the task, in the words of the tool", async () => {
    const taskId = await begin("delegate", JOB);
    const task = await ended(taskId);

    expect(task).toMatchObject({ resultType: "complete", taskId, status: "completed" });
    expect(task.result!.isError).toBe(false);
    expect(JSON.parse(task.result!.content[0]!.text)).toMatchObject({
      status: "ok",
      job_id: taskId.slice("job-".length),
      reply: expect.stringContaining("알겠습니다") as string,
    });
  });

  test("gets the same task for the same key", async () => {
    const first = await begin("delegate", { ...JOB, key: "t1" });
    const { result } = await asked("tools/call", {
      name: "delegate",
      arguments: { ...JOB, key: "t1" },
    });

    expect(result.taskId).toBe(first);
  });

  test("builds a plan as a task", async () => {
    const task = await ended(await begin("start_run", { plan: "greet" }));

    expect(task).toMatchObject({ status: "completed", result: { isError: false } });
    expect(JSON.parse(task.result!.content[0]!.text)).toMatchObject({ status: "success" });
  }, 120_000);

  test("cancels a job by its task, and is acknowledged when it is over too", async () => {
    const taskId = await begin("delegate", { ...JOB, message: WORDS.hang });

    expect((await asked("tasks/cancel", { taskId })).result).toMatchObject({
      resultType: "complete",
    });
    expect(await ended(taskId)).toMatchObject({ status: "cancelled" });
    expect((await asked("tasks/cancel", { taskId })).error).toBeUndefined();
  });

  test("is asked what a run waits for, answers it once, and the run goes on", async () => {
    const connecting = { tools: "plans,decisions" };
    const taskId = await begin("start_run", { plan: "steer" }, connecting);
    const waiting = await until(
      async () => {
        const { result } = await asked("tasks/get", { taskId }, connecting);
        return result.status === "input_required" ? result : undefined;
      },
      () => "the run asks nothing",
    );
    const [[id, request]] = Object.entries(waiting.inputRequests!) as [[string, Question]];
    const values = request.params.requestedSchema.properties.decision.enum;
    const no = { [id]: { action: "decline" }, other: { action: "accept", content: {} } };
    const wrong = { [id]: { action: "accept", content: { decision: "nonsense" } } };

    expect(request.method).toBe("elicitation/create");
    expect((await asked("tasks/update", { taskId, inputResponses: no }, connecting)).error).toBe(
      undefined,
    );
    expect(
      (await asked("tasks/update", { taskId, inputResponses: wrong }, connecting)).error,
    ).toMatchObject({ code: -32_602 });
    expect((await asked("tasks/get", { taskId }, connecting)).result.status).toBe("input_required");

    const yes = { [id]: { action: "accept", content: { decision: values.at(-1) } } };
    const { result } = await asked("tasks/update", { taskId, inputResponses: yes }, connecting);

    expect(Object.keys(result).filter((key) => key !== "_meta")).toEqual(["resultType"]);
    await until(
      async () => {
        const told = (await asked("tasks/get", { taskId }, connecting)).result;
        return told.inputRequests?.[id] === undefined || undefined;
      },
      () => "the answer was not heard",
    );
    await asked("tasks/cancel", { taskId });
  }, 120_000);

  test("hears no question where it was offered no decisions", async () => {
    const taskId = await begin("start_run", { plan: "steer" });
    await until(
      async () => {
        const path = `${team.url}/v1/escalations?status=open&run=${taskId.slice("run-".length)}`;
        const headers = { authorization: `Bearer ${team.admin}` };
        const page = (await (await fetch(path, { headers })).json()) as { items: unknown[] };
        return page.items.length > 0 || undefined;
      },
      () => "the run asks nothing",
    );

    expect((await asked("tasks/get", { taskId })).result.status).toBe("working");
    await asked("tasks/cancel", { taskId });
  }, 120_000);
});

describe("who may not", FULL, () => {
  test("a client that takes no tasks is answered as before, and may ask for none", async () => {
    const none = { extensions: {} };
    const client = await connect(none);
    const result = await client.callTool({ name: "delegate", arguments: { ...JOB, wait_sec: 0 } });
    const taskId = await begin("delegate", JOB);

    expect(JSON.stringify(result.content)).toContain("accepted");
    for (const method of ["tasks/get", "tasks/cancel", "tasks/update"]) {
      expect(await asked(method, { taskId, inputResponses: {} }, none)).toMatchObject({
        httpStatus: 400,
        error: { code: -32_021, data: { requiredCapabilities: { extensions: { [TASKS]: {} } } } },
      });
    }
  });

  test("another tenant's task, one of a missing scope, and one that is none are unknown", async () => {
    const taskId = await begin("delegate", { ...JOB, message: WORDS.hang });
    const others = { token: await tokenFor("acme", "jobs", "plans:read") };
    const readers = { token: await tokenFor("", "plans:read") };
    const cases: readonly (readonly [string, Connecting])[] = [
      [taskId, others],
      [taskId, readers],
      [taskId, { tools: "plans" }],
      ["job-", {}],
      ["job-01KNOWNNOT", {}],
      ["run-../../tokens", {}],
      [`run-${"x".repeat(150)}`, {}],
    ];

    for (const [id, connecting] of cases) {
      for (const method of ["tasks/get", "tasks/cancel", "tasks/update"]) {
        const { error } = await asked(method, { taskId: id, inputResponses: {} }, connecting);
        expect({ method, id, code: error?.code }).toEqual({ method, id, code: -32_602 });
      }
    }
    expect((await asked("tasks/get", { taskId })).result.status).toBe("working");
    await asked("tasks/cancel", { taskId });
  });
});

describe("a client that takes none", FULL, () => {
  test("is told the turns of a job while it waits, where it asked for progress", async () => {
    const client = await connect({ extensions: {} });
    const told: string[] = [];
    const { content } = await client.callTool(
      { name: "delegate", arguments: JOB },
      { onprogress: ({ message }) => void told.push(message ?? "") },
    );

    expect(JSON.stringify(content)).toContain("알겠습니다");
    expect(told.some((message) => message.startsWith("job"))).toBe(true);
  });
});
