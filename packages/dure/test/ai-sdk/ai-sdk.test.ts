import { DefaultChatTransport, readUIMessageStream, type UIMessage, type UIMessageChunk } from "ai";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { FULL } from "../../src/kernel/test-tiers.ts";
import { PostgresTokenStore } from "../../src/server/token-store.ts";
import { startContractTeam, WORDS, type ContractTeam } from "../contract/contract-team.ts";
import { until } from "../until.ts";

/** `/ai-sdk/v1` of a real team, with the transport and the reader of `useChat`, version 7. */
let team: ContractTeam;

beforeAll(async () => {
  team = await startContractTeam();
}, 120_000);

afterAll(async () => team?.[Symbol.asyncDispose](), 60_000);

function transportTo(service: string, token = team.admin): DefaultChatTransport<UIMessage> {
  return new DefaultChatTransport({
    api: `${team.url}/ai-sdk/v1/chat/${service}`,
    headers: { authorization: `Bearer ${token}` },
  });
}

interface Sending {
  readonly transport?: DefaultChatTransport<UIMessage>;
  readonly chatId: string;
  readonly text: string;
  readonly messageId?: string;
  readonly trigger?: "submit-message" | "regenerate-message";
  readonly body?: object;
}

function send(sending: Sending): Promise<ReadableStream<UIMessageChunk>> {
  const { transport = transportTo("desk"), chatId, text, body = {} } = sending;
  const { trigger = "submit-message", messageId = `m-${text}` } = sending;
  return transport.sendMessages({
    trigger,
    chatId,
    messageId: undefined,
    messages: [{ id: messageId, role: "user", parts: [{ type: "text", text }] }],
    abortSignal: undefined,
    body,
  });
}

/** The message as a page shows it at the end; throws what the stream says is wrong. */
async function shown(stream: ReadableStream<UIMessageChunk>): Promise<UIMessage> {
  let last: UIMessage | undefined;
  const errors: unknown[] = [];
  const onError = (error: unknown): void => void errors.push(error);
  for await (const message of readUIMessageStream({ stream, onError })) last = message;
  if (errors.length > 0) throw errors[0];
  return last!;
}

function textOf({ parts }: UIMessage): string {
  return parts.map((part) => (part.type === "text" ? part.text : "")).join("");
}

interface SessionSeen {
  readonly running_turn: { readonly turn_id: string } | null;
  readonly history: readonly { readonly role: string; readonly content: string }[];
}

async function sessionOf(session: string): Promise<Partial<SessionSeen>> {
  const headers = { authorization: `Bearer ${team.admin}` };
  const answer = await fetch(`${team.url}/v1/agent/sessions/${session}`, { headers });
  return (await answer.json()) as Partial<SessionSeen>;
}

async function saidIn(session: string): Promise<readonly string[]> {
  const { history = [] } = await sessionOf(session);
  return history.filter(({ role }) => role === "user").map(({ content }) => content);
}

function runningIn(session: string): Promise<string> {
  return until(
    async () => (await sessionOf(session)).running_turn?.turn_id,
    () => `no turn runs in ${session}`,
  );
}

async function stop(turn: string): Promise<void> {
  const headers = { authorization: `Bearer ${team.admin}` };
  await fetch(`${team.url}/v1/agent/turns/${turn}/stop`, { method: "POST", headers });
}

describe("useChat", FULL, () => {
  test("shows an answer, and what a page offers beside it", async () => {
    const transport = transportTo("transfer");
    const asked = { transport, chatId: "ui-pay" };
    const question = await shown(await send({ ...asked, text: "홍길동에게 5만원 보내줘" }));
    const metadata = question.metadata as { ui_hint: { confirm_id: string } };
    const answer = await shown(
      await send({
        ...asked,
        text: "확인",
        body: { confirm_id: metadata.ui_hint.confirm_id },
      }),
    );

    expect(textOf(question)).toContain("홍길동");
    expect(question.metadata).toMatchObject({ next_action: "CONFIRM" });
    expect(question.id).toMatch(/^turn_/);
    expect(answer.metadata).toMatchObject({ next_action: "DONE" });
  });

  test("shows the call of a tool, and to guests no more than its name", async () => {
    const seen = await shown(await send({ chatId: "ui-tool", text: WORDS.look }));
    const guest = transportTo("desk", team.guest);
    const ofGuest = await shown(
      await send({ transport: guest, chatId: "ui-tool-2", text: WORDS.look }),
    );

    const part = { type: "dynamic-tool", toolName: "look_up", state: "output-available" };
    expect(seen.parts).toContainEqual(
      expect.objectContaining({ ...part, input: { thing: "의자" }, output: { left: 3 } }),
    );
    expect(ofGuest.parts).toContainEqual(
      expect.objectContaining({ ...part, input: {}, output: null }),
    );
    expect(textOf(seen)).toBe("네, 알겠습니다.");
  });

  test("a message that is sent again is the same turn", async () => {
    const first = await shown(await send({ chatId: "ui-once", text: "한 번만" }));
    const again = await shown(await send({ chatId: "ui-once", text: "한 번만" }));

    expect(again.id).toBe(first.id);
    expect(textOf(again)).toBe(textOf(first));
    expect(await saidIn("ui-once")).toEqual(["한 번만"]);
  });

  test("a page that is loaded again goes on with the turn that runs", async () => {
    const first = await send({ chatId: "ui-back", text: WORDS.hang });
    const turn = await runningIn("ui-back");
    await first.cancel();

    const again = await transportTo("desk").reconnectToStream({ chatId: "ui-back" });
    const read = shown(again!);
    read.catch(() => undefined);
    await stop(turn);

    await expect(read).rejects.toThrow();
    expect(await transportTo("desk").reconnectToStream({ chatId: "ui-back" })).toBeNull();
    expect(await transportTo("desk").reconnectToStream({ chatId: "ui-never" })).toBeNull();
    expect(await saidIn("ui-back")).toEqual([WORDS.hang]);
  });
});

describe("refused", FULL, () => {
  test.each([
    ["an answer made anew", { trigger: "regenerate-message" as const }, "NOT_SPOKEN"],
    ["a session of dure's own", { chatId: "job:j1" }, "SESSION_RESERVED"],
    ["other words under the same id", { text: "다른 말", messageId: "m-first" }, "KEY_REUSED"],
  ])("%s", async (_what, change, code) => {
    const asked = { chatId: "ui-refused", text: "처음", messageId: "m-first" };
    await shown(await send(asked));

    await expect(send({ ...asked, ...change })).rejects.toThrow(code);
  });

  test("no token, and a token without the scope chat", async () => {
    const store = new PostgresTokenStore({ database: team.database });
    const { token } = await store.create({ name: "worker", scopes: ["jobs"], tenant: "" });
    const to = (other: string) =>
      send({ transport: transportTo("desk", other), chatId: "ui-none", text: "안녕" });

    await expect(to("wrong-0123456789abcdef")).rejects.toThrow("TOKEN_INVALID");
    await expect(to(token)).rejects.toThrow("SCOPE_MISSING");
  });

  test("another tenant's running turn is not gone on with", async () => {
    const store = new PostgresTokenStore({ database: team.database });
    const { token } = await store.create({ name: "acme", scopes: ["chat"], tenant: "acme" });
    const running = await send({ chatId: "ui-ours", text: WORDS.hang });
    const turn = await runningIn("ui-ours");

    expect(await transportTo("desk", token).reconnectToStream({ chatId: "ui-ours" })).toBeNull();
    await running.cancel();
    await stop(turn);
  });
});
