import { HttpAgent, type BaseEvent, type RunAgentParameters } from "@ag-ui/client";
import type { Task } from "@a2a-js/sdk";
import { DefaultChatTransport, readUIMessageStream, type UIMessage } from "ai";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { FULL } from "../../src/kernel/test-tiers.ts";
import { a2aClient, saying, type Binding } from "../a2a/a2a-client.ts";
import { startContractTeam, type ContractTeam } from "../contract/contract-team.ts";
import { openAiClient } from "../openai/client.ts";

/**
 * A form asks whom is meant, through the official client of each protocol: what the client is told,
 * and that its answer does the deed once, with what was shown. The editor's is in `test/acp`.
 */
let team: ContractTeam;

beforeAll(async () => {
  team = await startContractTeam();
}, 120_000);

afterAll(async () => team?.[Symbol.asyncDispose](), 60_000);

/** An answer as a client is told it; without buttons where its protocol has none. */
interface Told {
  readonly text: string;
  readonly buttons?: readonly string[] | undefined;
}

/** A person at a client, in one session. */
interface Talk {
  say(words: string): Promise<Told>;
  /** What is said to the question that stands: by the button where there is one, else in words. */
  answer(words: string): Promise<Told>;
}

type Opening = (session: string) => Promise<Talk>;

interface Hint {
  readonly buttons?: readonly string[];
  readonly confirm_id?: string;
}

const agUi: Opening = async (threadId) => {
  const headers = { authorization: `Bearer ${team.admin}` };
  const url = `${team.url}/ag-ui/v1/agents/transfer`;
  const agent = new HttpAgent({ url, headers, threadId });
  let hint: Hint = {};
  const run = async (parameters: RunAgentParameters): Promise<Told> => {
    const events: BaseEvent[] = [];
    await agent.runAgent(parameters, { onEvent: ({ event }) => void events.push(event) });
    const { result } = events.at(-1) as unknown as { readonly result: { readonly ui_hint: Hint } };
    hint = result.ui_hint;
    const content = agent.messages.at(-1)?.content;
    return { text: typeof content === "string" ? content : "", buttons: hint.buttons };
  };
  return {
    say(content) {
      agent.addMessage({ id: `m-${agent.messages.length}`, role: "user", content });
      return run({});
    },
    answer: (payload) =>
      run({ resume: [{ interruptId: hint.confirm_id!, status: "resolved", payload }] }),
  };
};

const aiSdk: Opening = async (chatId) => {
  const transport = new DefaultChatTransport<UIMessage>({
    api: `${team.url}/ai-sdk/v1/chat/transfer`,
    headers: { authorization: `Bearer ${team.admin}` },
  });
  let hint: Hint = {};
  let said = 0;
  const send = async (text: string, body: object): Promise<Told> => {
    said += 1;
    const message = { id: `m-${said}`, role: "user" as const, parts: [{ type: "text", text }] };
    const stream = await transport.sendMessages({
      ...{ trigger: "submit-message", chatId, messageId: undefined, abortSignal: undefined, body },
      messages: [message as UIMessage],
    });
    let last: UIMessage | undefined;
    for await (const one of readUIMessageStream({ stream })) last = one;
    hint = (last!.metadata as { readonly ui_hint: Hint }).ui_hint;
    const words = last!.parts.map((part) => (part.type === "text" ? part.text : ""));
    return { text: words.join(""), buttons: hint.buttons };
  };
  return {
    say: (text) => send(text, {}),
    answer: (text) => send(text, { confirm_id: hint.confirm_id }),
  };
};

const openAi: Opening = async (user) => {
  const openai = await openAiClient({ apiKey: team.admin, baseURL: `${team.url}/openai/v1` });
  const say = async (content: string): Promise<Told> => {
    const messages = [{ role: "user", content }];
    const { choices } = await openai.chat.completions.create({ model: "transfer", user, messages });
    return { text: choices[0]!.message.content };
  };
  return { say, answer: say };
};

const a2a: (binding: Binding) => Opening = (binding) => async (context) => {
  const reached = { url: team.url, token: team.admin, service: "transfer", binding };
  const client = await a2aClient(reached);
  let task: string | undefined;
  const say = async (text: string): Promise<Told> => {
    const told = (await client.sendMessage(saying({ text, context, task }))) as Task;
    task = told.id;
    const asked = told.status?.message ?? told.artifacts[0];
    const words = (asked?.parts ?? []).map(({ content }) => String(content?.value ?? ""));
    const { buttons } = (asked?.metadata ?? {}) as Hint;
    return { text: words.join(""), buttons };
  };
  return { say, answer: say };
};

const CHANGE = "정하준님으로 바꾸기";

describe.each([
  ["AG-UI", agUi, 31_000, CHANGE, "확인"],
  ["the AI SDK", aiSdk, 32_000, CHANGE, "확인"],
  ["OpenAI", openAi, 33_000, "첫 번째", "네"],
  ["A2A over JSON-RPC", a2a("JSONRPC"), 34_000, CHANGE, "확인"],
  ["A2A over HTTP", a2a("HTTP+JSON"), 35_000, "첫 번째", "확인"],
] as const)("a client of %s", FULL, (name, open, amount, choice, yes) => {
  const booked = () => team.bank.bookings().filter((one) => one.amount === amount);

  test("is asked who is meant, and its answer is done once as it was shown", async () => {
    const talk = await open(`doubt-${amount}`);
    await talk.say(`홍길동에게 ${amount}원 보내줘`);

    // AG-UI's client lets nothing be said beside a question that waits for a yes.
    const doubted = await (name === "AG-UI" ? talk.answer("정하준") : talk.say("정하준"));
    const asked = await talk.answer(choice);
    expect(booked()).toEqual([]);
    const done = await talk.answer(yes);

    expect(doubted.text).toBe(
      "홍길동님 대신 정하준님에게 보낼까요, 아니면 정하준님에게도 보낼까요?",
    );
    expect(doubted.buttons).toEqual(
      name === "OpenAI" ? undefined : [CHANGE, "정하준님에게도 보내기"],
    );
    expect(asked.text).toBe(`정하준님에게 ${amount.toLocaleString("ko")}원을 보낼까요?`);
    expect(done.text).toContain("보냈어요");
    expect(booked()).toMatchObject([{ to: "정하준" }]);
  });
});
