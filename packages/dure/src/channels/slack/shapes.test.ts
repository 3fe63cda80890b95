import path from "node:path";
import { FakeSlack, type FakeSlackChannel, type FakeSlackPerson } from "@dure/testing";
import { WebClient } from "@slack/web-api";
import ts from "typescript";
import { expect, onTestFinished, test } from "vitest";
import { FULL } from "../../kernel/test-tiers.ts";
import type { ChannelAccount, OutgoingPost } from "../../rooms/channel-adapter.ts";
import { RecordingPort } from "../test-port.ts";
import { SlackAdapter } from "./slack-adapter.ts";
import { eventually } from "../../../test/until.ts";

/**
 * What dure asks and what the double answers, held against the types of `@slack/web-api`, which
 * Slack makes: the compiler reads each request and each answer as a literal of its type.
 */

const RUDA: ChannelAccount = { id: "ruda", agent: "ruda", displayName: "루다" };
const { signal } = new AbortController();
const OPEN = { limit: 1_000, perMs: 1_000 };
const LIMITS = { tiers: { "1": OPEN, "2": OPEN, "3": OPEN, "4": OPEN }, posting: OPEN };
const BUTTONS = [{ value: "e1:yes", label: "네" }];

/** Names of the types of each method that is used. */
const METHODS = {
  "apps.connections.open": "AppsConnectionsOpen",
  "auth.test": "AuthTest",
  "chat.delete": "ChatDelete",
  "chat.postEphemeral": "ChatPostEphemeral",
  "chat.postMessage": "ChatPostMessage",
  "chat.update": "ChatUpdate",
  "conversations.history": "ConversationsHistory",
  "conversations.info": "ConversationsInfo",
  "conversations.replies": "ConversationsReplies",
  "users.info": "UsersInfo",
} as const;
type Method = keyof typeof METHODS;

test("each request of the adapter has the form of the official client's types", FULL, async () => {
  const { slack, general, minjun, adapter, port } = await aStage();
  const here = { adapter: "slack", channel: general.id };
  const post: OutgoingPost = { account: RUDA, place: here, text: "글", mentions: [], key: "k-1" };

  const { platformId } = await adapter.post({ ...post, buttons: BUTTONS }, { signal });
  await adapter.edit({ ...post, text: "가".repeat(3_900), buttons: BUTTONS }, platformId, {
    signal,
  });
  const order = { channel: here, account: RUDA, name: "일", key: "t-1", since: 0 };
  const thread = await adapter.createThread(order, { signal });
  const inThread = { ...here, thread: thread.platformId };
  const reply = await adapter.post({ ...post, place: inThread, key: "k-2" }, { signal });
  await adapter.findPost({ ...post, place: inThread }, { after: reply.platformId, signal });
  await adapter.findThread(order, { signal });
  await adapter.readSince(RUDA, here, { limit: 10, signal });
  await adapter.check(RUDA, { signal });
  minjun.press(slack.messages({ channel: general })[0]!, "네");
  await until(() => expect(asked(slack)).toContain("chat.postEphemeral"));
  await adapter.remove(RUDA, inThread, reply.platformId, { signal });
  minjun.post({ channel: general }, "들려요?");
  await until(() => expect(port.texts("ruda")).toContain("들려요?"));

  expect(asked(slack)).toEqual(Object.keys(METHODS).toSorted());
  const requests = slack.requests.map(({ method, args }) => ({
    type: `${METHODS[method as Method]}Arguments`,
    value: plainArguments(args),
  }));
  expect(problemsOf(requests)).toEqual([]);
});

test("each answer of the double has the form of the official client's types", FULL, async () => {
  const { slack, general, minjun, tokens } = await aStage();
  const client = clientOf(slack, tokens.bot);
  const channel = general.id;
  const blocks = [
    { type: "section", text: { type: "mrkdwn", text: "*글*" } },
    {
      type: "actions",
      elements: [
        { type: "button", action_id: "a", text: { type: "plain_text", text: "네" }, value: "e:y" },
      ],
    },
  ];
  const metadata = { event_type: "dure_post", event_payload: { key: "k" } };
  const answers: { type: string; value: unknown }[] = [];
  const ask = async (method: Method, args: Record<string, unknown> = {}): Promise<string> => {
    const value: object = await client.apiCall(method, args);
    answers.push({ type: `${METHODS[method]}Response`, value });
    return "ts" in value ? String(value.ts) : "";
  };

  await ask("auth.test");
  const root = await ask("chat.postMessage", { channel, text: "글", blocks, metadata });
  await ask("chat.postMessage", { channel, text: "답", thread_ts: root });
  await ask("chat.update", { channel, ts: root, text: "고친 글" });
  minjun.post({ channel: general }, "파일", { files: [{ name: "a.txt", size: 1 }] });
  await ask("chat.postEphemeral", { channel, user: minjun.id, text: "혼자 봐요" });
  await ask("conversations.history", { channel, include_all_metadata: true });
  await ask("conversations.replies", { channel, ts: root });
  await ask("conversations.info", { channel });
  await ask("users.info", { user: minjun.id });
  await ask("chat.delete", { channel, ts: root });
  const opened = await clientOf(slack, tokens.app).apiCall("apps.connections.open");
  answers.push({ type: "AppsConnectionsOpenResponse", value: opened });

  expect(new Set(answers.map(({ type }) => type)).size).toBe(Object.keys(METHODS).length);
  expect(problemsOf(answers)).toEqual([]);
});

function asked({ requests }: FakeSlack): readonly string[] {
  return [...new Set(requests.map(({ method }) => method))].toSorted();
}

/** As they were before the client made a form of them. */
function plainArguments(args: Readonly<Record<string, string>>): object {
  return Object.fromEntries(
    Object.entries(args).map(([name, text]) => [name, isWritten(name) ? text : JSON.parse(text)]),
  );
}

function isWritten(name: string): boolean {
  return ["channel", "text", "ts", "thread_ts", "oldest", "cursor", "user", "username"].includes(
    name,
  );
}

/** What the compiler says of these values as literals of these types. */
function problemsOf(values: readonly { type: string; value: unknown }[]): readonly string[] {
  const types = [...new Set(values.map(({ type }) => type))];
  const source = [
    `import type { ${types.join(", ")} } from "@slack/web-api";`,
    "type Plain<T> = T extends string ? `${T}` : T extends readonly (infer U)[] ? Plain<U>[]",
    "  : T extends object ? { [K in keyof T]: Plain<T[K]> } : T;",
    "declare function hold<T>(value: Plain<T>): void;",
    ...values.map(({ type, value }) => `hold<${type}>(${JSON.stringify(value)});`),
  ].join("\n");
  return compiled(source);
}

function compiled(source: string): readonly string[] {
  const file = path.join(import.meta.dirname, "held-shapes.ts");
  const options: ts.CompilerOptions = {
    strict: true,
    noEmit: true,
    skipLibCheck: true,
    types: ["node"],
    target: ts.ScriptTarget.ES2023,
    module: ts.ModuleKind.NodeNext,
    moduleResolution: ts.ModuleResolutionKind.NodeNext,
  };
  const host = ts.createCompilerHost(options);
  const withSource: ts.CompilerHost = {
    ...host,
    fileExists: (name) => name === file || host.fileExists(name),
    readFile: (name) => (name === file ? source : host.readFile(name)),
    getSourceFile: (name, ...rest) =>
      name === file
        ? ts.createSourceFile(name, source, ts.ScriptTarget.ES2023, true)
        : host.getSourceFile(name, ...rest),
  };
  return ts
    .getPreEmitDiagnostics(ts.createProgram([file], options, withSource))
    .map(({ messageText }) => ts.flattenDiagnosticMessageText(messageText, "\n"));
}

function clientOf(slack: FakeSlack, token: string): WebClient {
  return new WebClient(token, { slackApiUrl: slack.url, retryConfig: { retries: 0 } });
}

interface Stage {
  readonly slack: FakeSlack;
  readonly general: FakeSlackChannel;
  readonly minjun: FakeSlackPerson;
  readonly tokens: { readonly bot: string; readonly app: string };
  readonly adapter: SlackAdapter;
  readonly port: RecordingPort;
}

async function aStage(): Promise<Stage> {
  const slack = await FakeSlack.start({ rateLimits: LIMITS });
  const general = slack.addChannel("general");
  const tokens = { bot: "xoxb-1", app: "xapp-1" };
  slack.addApp({ name: "루다", botToken: tokens.bot, appToken: tokens.app });
  const minjun = slack.addPerson("민준");
  const adapter = new SlackAdapter({
    tokens: { ruda: tokens },
    apiUrl: slack.url,
    channels: () => [general.id],
  });
  const port = new RecordingPort(adapter);
  onTestFinished(async () => {
    await adapter.stop();
    await slack.stop();
  });
  await adapter.start(port);
  void adapter.connect(RUDA, { signal });
  await until(() => expect(port.gapsRead).toBe(1));
  return { slack, general, minjun, tokens, adapter, port };
}

function until(check: () => unknown): Promise<unknown> {
  return eventually(check, { patienceMs: 30_000 });
}
