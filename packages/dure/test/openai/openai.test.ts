import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Scope } from "../../src/kernel/access.ts";
import { FULL } from "../../src/kernel/test-tiers.ts";
import { PostgresTokenStore } from "../../src/server/token-store.ts";
import { startContractTeam, WORDS, type ContractTeam } from "../contract/contract-team.ts";
import { until } from "../until.ts";
import { openAiClient, type OpenAiClient } from "./client.ts";

/** `/openai/v1` of a real team, with the official client of OpenAI as it is. */
let team: ContractTeam;
let openai: OpenAiClient;

beforeAll(async () => {
  team = await startContractTeam();
  openai = await clientOf(team.admin);
}, 120_000);

afterAll(async () => team?.[Symbol.asyncDispose](), 60_000);

const ANSWER = "네, 알겠습니다.";
const said = (content: string) => [{ role: "user", content }];

function clientOf(apiKey: string): Promise<OpenAiClient> {
  return openAiClient({ apiKey, baseURL: `${team.url}/openai/v1` });
}

async function tokenFor(tenant: string, ...scopes: readonly Scope[]): Promise<string> {
  const store = new PostgresTokenStore({ database: team.database });
  return (await store.create({ name: `of ${tenant}`, scopes, tenant })).token;
}

interface SessionSeen {
  readonly session_id: string;
  readonly running_turn: { readonly turn_id: string } | null;
  readonly history: readonly { readonly role: string; readonly content: string }[];
}

async function get<Answer>(path: string): Promise<Answer> {
  const headers = { authorization: `Bearer ${team.admin}` };
  return (await (await fetch(team.url + path, { headers })).json()) as Answer;
}

async function saidIn(session: string): Promise<readonly string[]> {
  const { history } = await get<SessionSeen>(`/v1/agent/sessions/${session}`);
  return history.filter(({ role }) => role === "user").map(({ content }) => content);
}

function runningIn(session: string): Promise<string> {
  return until(
    async () =>
      (await get<Partial<SessionSeen>>(`/v1/agent/sessions/${session}`)).running_turn?.turn_id,
    () => `no turn runs in ${session}`,
  );
}

async function stop(turn: string): Promise<void> {
  const headers = { authorization: `Bearer ${team.admin}` };
  await fetch(`${team.url}/v1/agent/turns/${turn}/stop`, { method: "POST", headers });
}

describe("the official client", FULL, () => {
  test("services and agents are its models", async () => {
    const { data } = await openai.models.list();

    expect(data.map(({ id }) => id)).toEqual(
      expect.arrayContaining(["desk", "transfer", "ruda", "eden"]),
    );
    expect(await openai.models.retrieve("desk")).toMatchObject({ id: "desk", object: "model" });
    await expect(openai.models.retrieve("none")).rejects.toMatchObject({
      status: 404,
      code: "model_not_found",
    });
  });

  test("a completion is one turn of the session that `user` names", async () => {
    const asked = { model: "desk", user: "c-one" };
    const first = await openai.chat.completions.create({ ...asked, messages: said("안녕") });
    await openai.chat.completions.create({ ...asked, messages: said("또 왔어요") });

    expect(first).toMatchObject({
      id: expect.stringMatching(/^chatcmpl_/) as string,
      object: "chat.completion",
      model: "desk",
      choices: [{ message: { role: "assistant", content: ANSWER }, finish_reason: "stop" }],
    });
    expect(await saidIn("c-one")).toEqual(["안녕", "또 왔어요"]);
  });

  test("a streamed completion is the same text, with its usage at the end", async () => {
    const stream = await openai.chat.completions.create({
      model: "eden",
      messages: said("안녕"),
      stream: true,
      stream_options: { include_usage: true },
    });
    const chunks = [];
    for await (const chunk of stream) chunks.push(chunk);

    const text = chunks.map(({ choices }) => choices[0]?.delta?.content ?? "").join("");
    expect(text).toBe(ANSWER);
    expect(chunks.at(-2)?.choices[0]?.finish_reason).toBe("stop");
    expect(chunks.at(-1)?.usage?.total_tokens).toEqual(expect.any(Number));
  });

  test("a response goes on from the one before it, and in a conversation that is named", async () => {
    const first = await openai.responses.create({ model: "desk", input: "안녕" });
    const second = await openai.responses.create({
      model: "desk",
      input: "또 왔어요",
      previous_response_id: first.id,
    });
    await openai.responses.create({ model: "desk", input: "하나", conversation: "r-named" });

    expect(first).toMatchObject({ status: "completed", output_text: ANSWER });
    expect(second.conversation).toEqual(first.conversation);
    expect(await saidIn(first.conversation!.id)).toEqual(["안녕", "또 왔어요"]);
    expect(await saidIn("r-named")).toEqual(["하나"]);
  });

  test("the helper for streamed responses puts the whole answer together", async () => {
    const stream = openai.responses.stream({ model: "desk", input: "안녕" });
    let text = "";
    for await (const event of stream) {
      if (event.type === "response.output_text.delta") text += event.delta;
    }

    expect(text).toBe(ANSWER);
    expect(await stream.finalResponse()).toMatchObject({ output_text: ANSWER });
  });

  test("a question and its yes are two messages of one session", async () => {
    const asked = { model: "transfer", user: "c-pay" };
    const question = await openai.chat.completions.create({
      ...asked,
      messages: said("홍길동에게 5만원 보내줘"),
    });
    const answer = await openai.chat.completions.create({ ...asked, messages: said("확인") });

    expect(question.choices[0]!.message.content).toContain("홍길동");
    expect(answer.choices[0]!.message.content).not.toBe(question.choices[0]!.message.content);
    expect(await get("/v1/agent/completed?session_id=c-pay")).toMatchObject({
      items: [{ service: "transfer" }],
    });
  });
});

describe("a response that was given", () => {
  const none = { status: 404, code: "TURN_UNKNOWN" };

  test("is read again as it was, with what it was asked for", async () => {
    const given = await openai.responses.create({ model: "desk", input: "안녕" });

    expect(await openai.responses.retrieve(given.id)).toMatchObject({
      ...given,
      status: "completed",
      output_text: ANSWER,
    });
    expect((await openai.responses.inputItems.list(given.id)).data).toMatchObject([
      { type: "message", role: "user", content: [{ type: "input_text", text: "안녕" }] },
    ]);
  });

  test("is gone when it is deleted: nothing goes on from it, and its session remembers", async () => {
    const given = await openai.responses.create({ model: "desk", input: "지워 줘" });

    await openai.responses.delete(given.id);

    await expect(openai.responses.retrieve(given.id)).rejects.toMatchObject(none);
    await expect(openai.responses.inputItems.list(given.id)).rejects.toMatchObject(none);
    await expect(openai.responses.delete(given.id)).rejects.toMatchObject(none);
    const next = { model: "desk", input: "또", previous_response_id: given.id };
    await expect(openai.responses.create(next)).rejects.toMatchObject(none);
    const reference = { type: "item_reference", id: given.id.replace("resp_", "msg_") };
    const input = [reference, ...said("또")];
    await expect(openai.responses.create({ model: "desk", input })).rejects.toMatchObject(none);
    expect(await saidIn(given.conversation!.id)).toEqual(["지워 줘"]);
  });

  test("is not read where it was not to be stored, nor by another tenant, nor as a stream", async () => {
    const ours = await clientOf(await tokenFor("acme", "chat"));
    const theirs = await clientOf(await tokenFor("beta", "chat"));
    const given = await ours.responses.create({ model: "desk", input: "비밀" });
    const unstored = await ours.responses.create({ model: "desk", input: "비밀", store: false });

    await expect(ours.responses.retrieve(unstored.id)).rejects.toMatchObject(none);
    await expect(theirs.responses.retrieve(given.id)).rejects.toMatchObject(none);
    await expect(theirs.responses.delete(given.id)).rejects.toMatchObject(none);
    expect(await ours.responses.retrieve(given.id)).toMatchObject({ output_text: ANSWER });
    await expect(ours.responses.retrieve(given.id, { stream: true })).rejects.toMatchObject({
      status: 400,
      code: "NOT_SPOKEN",
    });
  });

  test("is in progress while its turn runs, and failed when it was stopped", async () => {
    const stream = openai.responses.stream({
      model: "desk",
      input: WORDS.hang,
      conversation: "r-hang",
    });
    const turn = await runningIn("r-hang");
    const id = turn.replace("turn_", "resp_");
    const running = await openai.responses.retrieve(id);
    await stop(turn);
    await stream.finalResponse().catch(() => undefined);

    expect(running).toMatchObject({ status: "in_progress", output: [] });
    expect(await openai.responses.retrieve(id)).toMatchObject({
      status: "failed",
      error: { code: "TURN_STOPPED" },
    });
  });
});

describe("once", FULL, () => {
  test.each([true, false])("the same key is the same turn (streamed: %s)", async (stream) => {
    const headers = { "Idempotency-Key": `k-${stream}` };
    const body = { model: "desk", messages: said("한 번만"), user: `once-${stream}` };
    const first = await openai.chat.completions.create(body, { headers });
    const again = await openai.chat.completions.create({ ...body, stream }, { headers });
    const id = stream ? await idOf(again) : again.id;

    expect(id).toBe(first.id);
    expect(await saidIn(`once-${stream}`)).toEqual(["한 번만"]);
  });

  test("the same key without a session finds the same turn; another message is refused", async () => {
    const headers = { "Idempotency-Key": "k-none" };
    const ask = (text: string) =>
      openai.chat.completions.create({ model: "desk", messages: said(text) }, { headers });

    const first = await ask("안녕");

    expect(await ask("안녕")).toEqual(first);
    await expect(ask("다른 말")).rejects.toMatchObject({
      status: 422,
      code: "IDEMPOTENCY_KEY_REUSED",
    });
  });

  test("a turn that fails is an error, and the client does not ask again", async () => {
    const asked = { model: "desk", messages: said(WORDS.hang), user: "c-stopped" };
    const call = openai.chat.completions.create(asked);
    call.catch(() => undefined);
    await stop(await runningIn("c-stopped"));

    await expect(call).rejects.toMatchObject({ status: 400, code: "TURN_STOPPED" });
    expect(await saidIn("c-stopped")).toEqual([WORDS.hang]);
  });

  test("a turn that fails in a stream is an error of the stream", async () => {
    const asked = { model: "desk", messages: said(WORDS.hang), user: "c-cut", stream: true };
    const stream = await openai.chat.completions.create(asked);
    const read = (async () => {
      for await (const _ of stream);
    })();
    read.catch(() => undefined);
    await stop(await runningIn("c-cut"));

    await expect(read).rejects.toMatchObject({ code: "TURN_STOPPED" });
  });

  test("a reader that leaves a stream leaves the turn alone", async () => {
    const asked = { model: "desk", messages: said(WORDS.hang), user: "c-left", stream: true };
    const stream = await openai.chat.completions.create(asked);
    const turn = await runningIn("c-left");
    stream.controller.abort();

    expect(await runningIn("c-left")).toBe(turn);
    await stop(turn);
  });
});

describe("refusals, in the shape of OpenAI", FULL, () => {
  test.each([
    ["a wrong key", "wrong-0123456789abcdef", {}, 401, "TOKEN_INVALID"],
    ["an unknown model", undefined, { model: "none" }, 404, "model_not_found"],
    ["functions", undefined, { functions: [{ name: "f" }] }, 400, "NOT_SPOKEN"],
    ["no message", undefined, { messages: [] }, 400, "REQUEST_INVALID"],
    ["a session of dure's own", undefined, { user: "job:j1" }, 403, "SESSION_RESERVED"],
    ["a session that cannot be one", undefined, { user: "a b" }, 400, "SESSION_INVALID"],
  ])("%s", async (_what, token, more, status, code) => {
    const client = token === undefined ? openai : await clientOf(token);
    const call = client.chat.completions.create({
      model: "desk",
      messages: said("안녕"),
      ...more,
    });

    await expect(call).rejects.toMatchObject({ status, code });
  });

  test("a token without the scope chat is refused", async () => {
    const client = await clientOf(await tokenFor("", "jobs"));

    await expect(client.models.list()).rejects.toMatchObject({
      status: 403,
      code: "SCOPE_MISSING",
    });
  });

  test("another tenant's response is one that does not exist, and its session another one", async () => {
    const ours = await clientOf(await tokenFor("acme", "chat"));
    const theirs = await clientOf(await tokenFor("beta", "chat"));
    const first = await ours.responses.create({
      model: "desk",
      input: "비밀",
      conversation: "shared",
    });

    const asked = { model: "desk", input: "안녕", previous_response_id: first.id };
    await expect(theirs.responses.create(asked)).rejects.toMatchObject({
      status: 404,
      code: "TURN_UNKNOWN",
    });
    await theirs.responses.create({ model: "desk", input: "안녕", conversation: "shared" });

    expect(await saidIn(encodeURIComponent("acme/shared"))).toEqual(["비밀"]);
    expect(await saidIn(encodeURIComponent("beta/shared"))).toEqual(["안녕"]);
  });
});

async function idOf(stream: AsyncIterable<{ readonly id: string }>): Promise<string> {
  let id = "";
  for await (const chunk of stream) id = chunk.id;
  return id;
}
