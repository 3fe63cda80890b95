// @module-tag slow
import { createTeamsAdapter, type TeamsAdapterConfig } from "@chat-adapter/teams";
import { beforeAll, describe, expect, onTestFinished, test, vi } from "vitest";
import { chatPlatform } from "../../src/channels/chat/chat.ts";
import { RecordingPort } from "../../src/channels/test-port.ts";
import type {
  ChannelAccount,
  ChannelAdapter,
  OutgoingPost,
  PlaceAddress,
} from "../../src/rooms/channel-adapter.ts";
import { eventually } from "../until.ts";
import { channelContract, type ChannelStage } from "./channel-contract.ts";
import { FakeTeams, type FakeTeamsConversation } from "./fake-teams.ts";

/**
 * Microsoft Teams by the adapter of `chat` as it is published, against a double of the connector.
 * Requests of the connector are signed by Microsoft: here `webhookVerifier` stands for its keys. What
 * the platform does not have, and what dure answers instead: "what Teams cannot".
 */
channelContract(
  "Teams by chat",
  async (): Promise<ChannelStage> => {
    const { teams, adapter, place } = await stage();
    return {
      adapter,
      account: { ...account, platformId: "28app1" },
      other: { id: "eden", agent: "eden", displayName: "이든", platformId: "28app2" },
      channel: place(GROUP),
      shown: async () => teams.shown(GROUP.id).filter((text) => !text.startsWith("🧵")),
      fail: (_what, failure, options = {}) => teams.fail(failure, options),
      say: async ({ channel }, text) => `${channel}#${(await teams.say(GROUP, text)).id}`,
    };
  },
  { cannot: ["find", "threads", "read", "retry-after"] },
);

const GROUP: FakeTeamsConversation = { id: "19:group@thread.v2", type: "groupChat" };
const CHANNEL: FakeTeamsConversation = { id: "19:channel@thread.tacv2", type: "channel" };
const DIRECT: FakeTeamsConversation = { id: "a:direct", type: "personal" };
const account: ChannelAccount = { id: "ruda", agent: "ruda", displayName: "루다" };
const { signal } = new AbortController();
const QUIET = { debug() {}, info() {}, warn() {}, error() {}, child: () => QUIET };

// The client of Microsoft below the adapter has a logger of its own.
beforeAll(() => void vi.stubEnv("LOG_LEVEL", "error"));

interface TeamsStage {
  readonly teams: FakeTeams;
  readonly adapter: ChannelAdapter;
  readonly port: RecordingPort;
  /** Of a conversation; `root`: of the message that a thread of a channel hangs on. */
  readonly place: (conversation: FakeTeamsConversation, root?: string) => PlaceAddress;
}

/** Two bots; the first hears what is said. */
async function stage(given: TeamsAdapterConfig = {}): Promise<TeamsStage> {
  const teams = await FakeTeams.start();
  const made = (appId: string, userName: string) => () =>
    createTeamsAdapter({
      appId,
      userName,
      appType: "MultiTenant",
      apiUrl: teams.url,
      token: () => tokenOf(appId),
      webhookVerifier: (request) => request.headers.get("authorization") === "Bearer signed",
      logger: QUIET,
      ...given,
    });
  const kind = chatPlatform({
    name: "teams",
    accounts: { ruda: made("app1", "ruda"), eden: made("app2", "eden") },
  });
  const place = ({ id, type }: FakeTeamsConversation, root?: string): PlaceAddress => {
    const idOf = (conversationId: string): string =>
      made("app1", "ruda")().encodeThreadId({
        conversationId,
        conversationType: type,
        serviceUrl: teams.url,
      });
    const channel = idOf(id);
    if (type === "personal") return { adapter: "teams", channel, direct: true };
    const thread = root === undefined ? undefined : idOf(`${id};messageid=${root}`);

    return { adapter: "teams", channel, thread };
  };
  const adapter = await kind.open({
    database: undefined,
    environment: { discordTokens: {} },
    accounts: { ruda: "ruda", eden: "eden" },
    channels: () => [place(GROUP).channel, place(CHANNEL).channel],
  });
  const port = new RecordingPort(adapter);
  teams.addBot("app1", (request) => adapter.webhook!(request, "ruda"));
  onTestFinished(async () => {
    await adapter.stop();
    await teams.stop();
  });

  return { teams, adapter, port, place };
}

/** A token as Microsoft gives it: the adapter reads when it ends. */
function tokenOf(appId: string): string {
  const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString("base64url");
  return `${part({ alg: "none" })}.${part({ appid: appId, exp: 4_000_000_000 })}.sign`;
}

/** The first bot is connected. */
async function hearing(given: TeamsAdapterConfig = {}): Promise<TeamsStage> {
  const at = await stage(given);
  await at.adapter.start(at.port);
  void at.adapter.connect(account, { signal });
  await eventually(() => expect(at.port.stateOf("ruda")).toBe("ready"));

  return at;
}

function postOf(place: PlaceAddress, given: Partial<OutgoingPost>): OutgoingPost {
  return { account, place, text: "", mentions: [], key: "a-key", ...given };
}

describe("what Teams cannot", () => {
  test("what was sent is not looked for, and what was said is not given back", async () => {
    const { adapter, place } = await hearing();
    const thread = { account, channel: place(CHANNEL), name: "일", key: "k", since: 0 };

    expect(await adapter.findPost(postOf(place(GROUP), { text: "안녕" }), { signal })).toEqual({
      found: "unsure",
    });
    expect(await adapter.findThread(thread, { signal })).toEqual({ found: "unsure" });
    expect(await adapter.readSince(account, place(GROUP), { limit: 10, signal })).toEqual([]);
  });

  test("a refusal for the rate is waited for half a minute: the adapter leaves out how long", async () => {
    const { teams, adapter, place } = await hearing();
    teams.fail("rate-limited");

    await expect(
      adapter.post(postOf(place(GROUP), { text: "안녕" }), { signal }),
    ).rejects.toMatchObject({ failure: "rate-limited", retryAfterMs: 30_000 });
  });
});

test("a request is answered when it is stored, and refused when it was not", async () => {
  const { teams, port } = await hearing();
  let tries = 0;
  port.before = async () => {
    tries += 1;
    if (tries <= 2) throw new Error("the store is away");
  };

  const inGroup = await teams.say(GROUP, "하나");
  const inDirect = await teams.say(DIRECT, "둘");
  const stored = await teams.say(DIRECT, "셋");

  expect([inGroup.statuses, inDirect.statuses, stored.statuses]).toEqual([[503], [503], [200]]);
  expect(port.texts("ruda")).toEqual(["셋"]);
});

test("a request that Microsoft has not signed is refused by the adapter", async () => {
  const { teams, port } = await hearing({ webhookVerifier: () => false });
  const own = await hearing({ webhookVerifier: undefined as never });

  expect((await teams.say(GROUP, "거짓")).statuses).toEqual([401]);
  expect((await own.teams.say(GROUP, "거짓")).statuses).toEqual([401]);
  expect([...port.messages, ...own.port.messages]).toEqual([]);
});

test("channels have threads below their messages, and chats of two are direct", async () => {
  const { teams, port, place } = await hearing();
  const inThread = { ...CHANNEL, id: `${CHANNEL.id};messageid=17` };
  const mentioned = { id: "28:app1", name: "ruda" };
  const entities = [{ type: "mention", mentioned, text: "<at>ruda</at>" }];

  await teams.say(inThread, "<at>ruda</at> 봐 줘", { entities });
  await teams.say(DIRECT, "둘이서");

  expect(port.messages.map(({ message }) => [message.text, message.place])).toEqual([
    ["<@28app1> 봐 줘", place(CHANNEL, "17")],
    ["둘이서", place(DIRECT)],
  ]);
  expect(port.messages[0]!.message).toMatchObject({
    author: { platformId: "29:minjun", name: "민준", isBot: false },
    mentions: [{ platformId: "28app1", at: 0 }],
  });
});

test("a thread is made below its name, and holds what is posted in it", async () => {
  const { teams, adapter, place } = await hearing();
  const channel = place(CHANNEL);

  const { platformId } = await adapter.createThread(
    { account, channel, name: "[협업] 루다 → 이든", key: "k", since: 0 },
    { signal },
  );
  await adapter.post(postOf({ ...channel, thread: platformId }, { text: "여기서" }), { signal });

  const [root, answer] = teams.activities;
  expect(root).toMatchObject({ text: "🧵 [협업] 루다 → 이든", conversation: CHANNEL.id });
  expect(answer).toMatchObject({
    text: "여기서",
    conversation: `${CHANNEL.id};messageid=${root!.id}`,
  });
  expect(platformId).toBe(place(CHANNEL, root!.id).thread);
  expect([...teams.tokens]).toEqual([`Bearer ${tokenOf("app1")}`]);
});

test("buttons are a card; who presses one is asked for, and told", async () => {
  const { teams, adapter, port, place } = await hearing();
  const buttons = [{ value: "esc_1:approve", label: "승인" }];

  await adapter.post(postOf(place(GROUP), { text: "할까요?", buttons }), { signal });
  const [{ content } = { content: undefined }] = teams.activities[0]!.attachments;
  const statuses = await teams.post({
    type: "message",
    id: "press1",
    serviceUrl: teams.url,
    channelId: "msteams",
    from: { id: "29:minjun", name: "민준" },
    conversation: { id: GROUP.id, conversationType: "groupChat" },
    replyToId: teams.activities[0]!.id,
    value: { actionId: "esc_1:approve" },
  });

  expect(JSON.stringify(content)).toContain('"actionId":"esc_1:approve"');
  expect(JSON.stringify(content)).toContain("할까요?");
  expect(statuses).toEqual([200]);
  expect(port.lines).toEqual([]);
  expect(teams.activities.at(-1)!.text).toBe("pressed esc_1:approve");
});

test("a message is edited and deleted; one that is gone is not found", async () => {
  const { teams, adapter, place } = await hearing();
  const at = place(GROUP);
  const { platformId } = await adapter.post(postOf(at, { text: "하나" }), { signal });

  await adapter.edit!(postOf(at, { text: "둘" }), platformId, { signal });
  expect(teams.shown(GROUP.id)).toEqual(["둘"]);
  await adapter.remove!(account, at, platformId, { signal });

  expect(teams.shown(GROUP.id)).toEqual([]);
  await expect(adapter.remove!(account, at, platformId, { signal })).rejects.toMatchObject({
    failure: "not-found",
  });
});
