import { TaskState, type StreamResponse, type Task } from "@a2a-js/sdk";
import type { Client } from "@a2a-js/sdk/client";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { FULL } from "../../src/kernel/test-tiers.ts";
import { PostgresTokenStore } from "../../src/server/token-store.ts";
import { startContractTeam, WORDS, type ContractTeam } from "../contract/contract-team.ts";
import { until } from "../until.ts";
import { a2aClient, BINDINGS, saying, type Binding } from "./a2a-client.ts";

/** `/a2a/v1` of a real team, with the official client of A2A for JavaScript, version 1.3. */
let team: ContractTeam;

beforeAll(async () => {
  team = await startContractTeam();
}, 120_000);

afterAll(async () => team?.[Symbol.asyncDispose](), 60_000);

function clientOf(binding: Binding, service = "desk", token = team.admin): Promise<Client> {
  return a2aClient({ url: team.url, token, service, binding });
}

async function ask(client: Client, said: Parameters<typeof saying>[0]): Promise<Task> {
  return (await client.sendMessage(saying(said))) as Task;
}

function stateOf({ status }: Task): string {
  return TaskState[status!.state];
}

function textIn(
  parts: readonly { content?: { $case: string; value: unknown } | undefined }[] = [],
) {
  return parts
    .map(({ content }) => (content?.$case === "text" ? (content.value as string) : ""))
    .join("");
}

function answerOf({ artifacts }: Task): string {
  return textIn(artifacts[0]?.parts);
}

function questionOf({ status }: Task): string {
  return textIn(status?.message?.parts);
}

async function read(stream: AsyncIterable<StreamResponse>) {
  const kinds: string[] = [];
  let text = "";
  let state = "";
  let task = "";
  for await (const { payload } of stream) {
    kinds.push(payload!.$case);
    if (payload?.$case === "task") task = payload.value.id;
    if (payload?.$case === "artifactUpdate") {
      const words = textIn(payload.value.artifact?.parts);
      text = payload.value.append ? text + words : words;
    }
    if (payload?.$case === "statusUpdate") state = TaskState[payload.value.status!.state];
  }
  return { kinds, text, state, task };
}

async function saidIn(session: string): Promise<readonly string[]> {
  const headers = { authorization: `Bearer ${team.admin}` };
  const answer = await fetch(`${team.url}/v1/agent/sessions/${session}`, { headers });
  const { history } = (await answer.json()) as {
    history: readonly { role: string; content: string }[];
  };
  return history.filter(({ role }) => role === "user").map(({ content }) => content);
}

describe.each(BINDINGS)("over %s", FULL, (binding) => {
  const context = (name: string): string => `a2a-${binding === "JSONRPC" ? "rpc" : "rest"}-${name}`;

  test("a message is a task whose answer is an artifact, and its history tells it", async () => {
    const client = await clientOf(binding);

    const task = await ask(client, { text: "안녕하세요", id: "m-hello", context: context("a") });
    const again = await client.getTask({ tenant: "", id: task.id });
    const { tasks } = await client.listTasks({
      tenant: "",
      contextId: context("a"),
      status: TaskState.TASK_STATE_UNSPECIFIED,
      pageToken: "",
      statusTimestampAfter: undefined,
      historyLength: 10,
      includeArtifacts: true,
    });

    expect(stateOf(task)).toBe("TASK_STATE_COMPLETED");
    expect(answerOf(task)).toBe("네, 알겠습니다.");
    expect(task.contextId).toBe(context("a"));
    expect(again).toEqual(task);
    expect(tasks.map(({ id, history }) => [id, history[0]?.messageId])).toEqual([
      [task.id, "m-hello"],
    ]);
  });

  test("a stream begins with the task, tells the words, and ends with its state", async () => {
    const client = await clientOf(binding);

    const told = await read(
      client.sendMessageStream(saying({ text: "안녕하세요", context: context("s") })),
    );

    expect(told).toMatchObject({ text: "네, 알겠습니다.", state: "TASK_STATE_COMPLETED" });
    expect(told.kinds[0]).toBe("task");
    expect(told.kinds.at(-1)).toBe("statusUpdate");
  });

  test("a message that is sent again is the same task, and other words under its id none", async () => {
    const client = await clientOf(binding);
    const said = { id: "m-once", context: context("once") };

    const first = await ask(client, { ...said, text: "한 번만" });
    const again = await ask(client, { ...said, text: "한 번만" });

    expect(again.id).toBe(first.id);
    await expect(ask(client, { ...said, text: "다른 말" })).rejects.toThrow("messageId");
    expect(await saidIn(context("once"))).toEqual(["한 번만"]);
  });

  test("a question waits for input, and a yes to its task goes on with it", async () => {
    const client = await clientOf(binding, "transfer");

    const asked = await ask(client, { text: "홍길동에게 5만원 보내줘", context: context("pay") });
    const done = await ask(client, { text: "확인", task: asked.id });

    expect(stateOf(asked)).toBe("TASK_STATE_INPUT_REQUIRED");
    expect(questionOf(asked)).toContain("홍길동");
    expect(done.id).toBe(asked.id);
    expect(stateOf(done)).toBe("TASK_STATE_COMPLETED");
    expect(done.history).toHaveLength(3);
    await expect(ask(client, { text: "확인", task: asked.id })).rejects.toThrow("COMPLETED");
  });

  test("a yes that names no task confirms nothing, and a task that was left is over", async () => {
    const client = await clientOf(binding, "transfer");
    const asked = await ask(client, { text: "홍길동에게 3만원 보내줘", context: context("left") });

    const other = await ask(client, { text: "확인", context: context("left") });

    expect(other.id).not.toBe(asked.id);
    const left = await client.getTask({ tenant: "", id: asked.id });
    expect(stateOf(other)).not.toBe("TASK_STATE_COMPLETED");
    expect(stateOf(left)).toBe("TASK_STATE_CANCELED");
  });

  test("a question that is cancelled is taken back", async () => {
    const client = await clientOf(binding, "transfer");
    const asked = await ask(client, { text: "홍길동에게 2만원 보내줘", context: context("back") });

    const cancelled = await client.cancelTask({ tenant: "", id: asked.id, metadata: undefined });

    expect(stateOf(cancelled)).toBe("TASK_STATE_CANCELED");
    await expect(ask(client, { text: "확인", task: asked.id })).rejects.toThrow("CANCELED");
  });

  test("a decision of people is waited for, and the task goes on with it", async () => {
    const client = await clientOf(binding);
    const asked = await ask(client, { text: WORDS.buy, context: context("buy") });
    const { decision } = asked.status!.message!.metadata as { decision: { id: string } };

    const headers = { authorization: `Bearer ${team.admin}`, "content-type": "application/json" };
    const body = JSON.stringify({ value: "approve" });
    const path = `${team.url}/v1/escalations/${decision.id}/answer`;
    await fetch(path, { method: "POST", headers, body });
    const done = await until(
      async () => {
        const task = await client.getTask({ tenant: "", id: asked.id });
        return stateOf(task) === "TASK_STATE_COMPLETED" && task;
      },
      () => "the task did not go on",
    );

    expect(stateOf(asked)).toBe("TASK_STATE_INPUT_REQUIRED");
    expect(questionOf(asked)).toContain("의자");
    expect(answerOf(done)).toBe("네, 알겠습니다.");
  });

  test("a running task is told at once, followed again, and cancelled", async () => {
    const client = await clientOf(binding);
    const said = { text: WORDS.hang, context: context("hang"), returnImmediately: true };

    const begun = await ask(client, said);
    const followed = read(client.resubscribeTask({ tenant: "", id: begun.id }));
    const cancelled = await client.cancelTask({ tenant: "", id: begun.id, metadata: undefined });

    expect(stateOf(begun)).toBe("TASK_STATE_WORKING");
    expect(stateOf(cancelled)).toBe("TASK_STATE_CANCELED");
    expect(await followed).toMatchObject({ task: begun.id, state: "TASK_STATE_CANCELED" });
    await expect(
      client.cancelTask({ tenant: "", id: begun.id, metadata: undefined }),
    ).rejects.toThrow("CANCELED");
    await expect(read(client.resubscribeTask({ tenant: "", id: begun.id }))).rejects.toThrow(
      "CANCELED",
    );
  });

  test("push notifications are kept without their secrets, and lead to no inner address", async () => {
    const client = await clientOf(binding);
    const { id: taskId } = await ask(client, { text: "알려 줘", context: context("push") });
    const push = {
      tenant: "",
      id: "p1",
      taskId,
      url: "https://example.com/told",
      token: "secret-token",
      authentication: { scheme: "Bearer", credentials: "secret-credentials" },
    };

    const made = await client.createTaskPushNotificationConfig(push);
    const { configs } = await client.listTaskPushNotificationConfig({
      tenant: "",
      taskId,
      pageSize: 0,
      pageToken: "",
    });

    expect(made).toMatchObject({ id: "p1", taskId, url: push.url, token: "" });
    expect(made.authentication).toEqual({ scheme: "Bearer", credentials: "" });
    expect(configs).toEqual([made]);
    const named = { tenant: "", taskId, id: "p1" };
    expect(await client.getTaskPushNotificationConfig(named)).toEqual(made);
    await client.deleteTaskPushNotificationConfig(named);
    await expect(client.getTaskPushNotificationConfig(named)).rejects.toThrow("no such push");
    for (const url of [
      "http://10.0.0.1/",
      "http://[::1]/",
      "ftp://example.com",
      "http://a:b@c.d",
    ]) {
      const inner = client.createTaskPushNotificationConfig({ ...push, url });
      await expect(inner).rejects.toThrow("address of the push");
    }
  });

  test("another tenant, and another service, see no task", async () => {
    const store = new PostgresTokenStore({ database: team.database });
    const { token } = await store.create({
      name: context("acme"),
      scopes: ["chat"],
      tenant: "acme",
    });
    const client = await clientOf(binding);
    const task = await ask(client, { text: "비밀", context: context("ours") });
    const strangers = [await clientOf(binding, "desk", token), await clientOf(binding, "transfer")];

    for (const stranger of strangers) {
      const named = { tenant: "", id: task.id };
      await expect(stranger.getTask(named)).rejects.toThrow("no such task");
      await expect(read(stranger.resubscribeTask(named))).rejects.toThrow("no such task");
      await expect(stranger.cancelTask({ ...named, metadata: undefined })).rejects.toThrow(
        "no such task",
      );
      await expect(ask(stranger, { text: "나도", task: task.id })).rejects.toThrow("no such task");
      const pushes = { tenant: "", taskId: task.id, pageSize: 0, pageToken: "" };
      await expect(stranger.listTaskPushNotificationConfig(pushes)).rejects.toThrow("no such task");
    }
  });
});

interface Refused {
  readonly status: number;
  readonly rpc?: number;
  readonly reason?: string;
  readonly code?: string;
}

interface ErrorInfo {
  readonly reason: string;
  readonly metadata: { readonly code: string };
}

async function post(path: string, body: unknown, version = "1.0"): Promise<Refused> {
  const answer = await fetch(`${team.url}/a2a/v1/${path}`, {
    method: "POST",
    headers: {
      authorization: `Bearer ${team.admin}`,
      "content-type": "application/json",
      "a2a-version": version,
    },
    body: typeof body === "string" ? body : JSON.stringify(body),
  });
  const { error } = (await answer.json()) as {
    error: {
      code: number;
      data?: readonly ErrorInfo[];
      details?: readonly ErrorInfo[];
    };
  };
  const [info] = error.data ?? error.details!;
  const told = { status: answer.status, reason: info!.reason, code: info!.metadata.code };
  return error.data ? { ...told, rpc: error.code } : told;
}

const words = (parts: unknown): object => ({
  message: { messageId: "bad", role: "ROLE_USER", parts },
});

describe("bad input", FULL, () => {
  test.each([
    ["SendMessage", {}, -32_602],
    ["SendMessage", words([]), -32_602],
    ["SendMessage", { message: { messageId: "", role: "ROLE_USER", parts: [] } }, -32_602],
    ["SendMessage", words([{ data: { a: 1 } }]), -32_005],
    ["SendMessage", words([{ text: "" }]), -32_602],
    ["SendMessage", { ...words([{ text: "hi" }]), tenant: "acme" }, -32_602],
    [
      "SendMessage",
      { ...words([{ text: "hi" }]), configuration: { acceptedOutputModes: ["image/png"] } },
      -32_005,
    ],
    [
      "SendMessage",
      { message: { messageId: "c", contextId: "a/b", role: "ROLE_USER", parts: [{ text: "hi" }] } },
      -32_602,
    ],
    ["SendStreamingMessage", [], -32_602],
    ["GetTask", {}, -32_602],
    ["GetTask", { id: "turn_none" }, -32_001],
    ["GetTask", { id: "turn_none", historyLength: -1 }, -32_602],
    ["ListTasks", { pageSize: 1_000 }, -32_602],
    ["ListTasks", { status: "TASK_STATE_ODD" }, -32_602],
    ["ListTasks", { statusTimestampAfter: "yesterday" }, -32_602],
    ["CancelTask", { id: 7 }, -32_602],
    ["SubscribeToTask", { id: "turn_none" }, -32_001],
    ["GetExtendedAgentCard", undefined, -32_007],
    [
      "SendMessage",
      { ...words([{ text: "hi" }]), configuration: { taskPushNotificationConfig: { url: "" } } },
      -32_602,
    ],
    ["CreateTaskPushNotificationConfig", { url: "https://example.com" }, -32_602],
    ["CreateTaskPushNotificationConfig", { taskId: "t", url: "https://example.com" }, -32_001],
    ["CreateTaskPushNotificationConfig", { taskId: "t", url: "u", token: "a\nb" }, -32_602],
    ["GetTaskPushNotificationConfig", { taskId: "t" }, -32_602],
    ["ListTaskPushNotificationConfigs", { taskId: "t" }, -32_001],
    ["DeleteTaskPushNotificationConfig", { taskId: "t", id: "p" }, -32_001],
    ["constructor", {}, -32_601],
  ])("%s with %j is told as %i under the id of the call", async (method, params, rpc) => {
    const refused = await post("desk", { jsonrpc: "2.0", id: 1, method, params });

    expect(refused).toMatchObject({ status: 200, rpc });
  });

  test.each([
    ["desk", "{", "1.0", 400, -32_700],
    ["desk", [], "1.0", 400, -32_600],
    ["desk", { jsonrpc: "1.0", id: 1, method: "GetTask" }, "1.0", 400, -32_600],
    ["desk", { jsonrpc: "2.0", id: 1, method: "GetTask" }, "0.3", 400, -32_009],
    ["nothing", { jsonrpc: "2.0", id: 1, method: "GetTask" }, "1.0", 404, -32_000],
  ])("to %s %j with version %s is %i and %i", async (service, body, version, status, rpc) => {
    expect(await post(service, body, version)).toMatchObject({ status, rpc });
  });

  test.each([
    ["desk/message:send", {}, "1.0", 400, "REQUEST_INVALID"],
    ["desk/message:send", words([{ url: "http://a" }]), "1.0", 400, "CONTENT_TYPE_NOT_SUPPORTED"],
    ["desk/message:stream", "{", "1.0", 400, "BODY_INVALID"],
    ["desk/message:send", {}, "", 400, "VERSION_NOT_SUPPORTED"],
    ["desk/tasks/turn_none:cancel", {}, "1.0", 404, "TASK_NOT_FOUND"],
    ["desk/tasks/turn_none:odd", {}, "1.0", 404, "TASK_NOT_FOUND"],
  ])(
    "over HTTP+JSON %s with %j and version “%s” is %i %s",
    async (path, body, version, status, reason) => {
      expect(await post(path, body, version)).toMatchObject({ status, reason });
    },
  );

  test("nothing of it has become a task", async () => {
    const client = await clientOf("JSONRPC");

    const { tasks } = await client.listTasks({
      tenant: "",
      contextId: "",
      status: TaskState.TASK_STATE_UNSPECIFIED,
      pageSize: 100,
      pageToken: "",
      statusTimestampAfter: undefined,
      historyLength: 1,
    });

    expect(tasks.filter(({ history }) => history[0]?.messageId === "bad")).toEqual([]);
  });
});
