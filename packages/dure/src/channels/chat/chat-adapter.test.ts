import { expect, onTestFinished, test } from "vitest";
import { eventually } from "../../../test/until.ts";
import type { ChannelAccount, OutgoingPost, PlaceAddress } from "../../rooms/channel-adapter.ts";
import { RecordingPort } from "../test-port.ts";
import { ChatChannelAdapter } from "./chat-adapter.ts";
import { TEST_PLATFORM, TestChat, type TestChatAdapter } from "./test-chat-adapter.ts";

const general: PlaceAddress = { adapter: "test", channel: "test:general" };
const ruda: ChannelAccount = { id: "ruda", agent: "ruda", displayName: "루다", platformId: "bot1" };
const { signal } = new AbortController();
const minjun = { userId: "minjun", userName: "민준", fullName: "김민준", isBot: false };

interface Stage {
  readonly chat: TestChat;
  readonly adapter: ChatChannelAdapter;
  readonly port: RecordingPort;
  readonly bot: TestChatAdapter;
}

/** Two bots at one platform; the first is connected. */
async function connected(given: Partial<typeof TEST_PLATFORM> = {}): Promise<Stage> {
  const chat = new TestChat();
  const bot = chat.adapter("bot1", "ruda_bot");
  const other = chat.adapter("bot2", "eden_bot");
  const adapter = new ChatChannelAdapter({
    name: "test",
    platform: { ...TEST_PLATFORM, ...given },
    bots: [
      { account: "ruda", agent: "ruda", adapter: bot },
      { account: "eden", agent: "eden", adapter: other },
    ],
    isPolling: false,
    state: undefined,
    channels: () => ["test:general", "test:secret", "no thread"],
  });
  const port = new RecordingPort(adapter);
  await adapter.start(port);
  void adapter.connect(ruda, { signal });
  await eventually(() => expect(port.gaps).toBe(1));
  onTestFinished(() => adapter.stop());

  return { chat, adapter, port, bot };
}

let updates = 0;

/** A request of the platform, with what stands in its message besides. */
function update(message: object, given: { update?: number; threadId?: string } = {}): Request {
  updates += 1;
  const { threadId = "test:general" } = given;
  const body = {
    secret: "right",
    update: given.update ?? updates,
    threadId,
    message: { id: `m${updates}`, threadId, text: "", author: minjun, attachments: [], ...message },
  };

  return new Request("https://dure.example/v1/channels/test/webhook", {
    method: "POST",
    body: JSON.stringify(body),
  });
}

function postOf(given: Partial<OutgoingPost>): OutgoingPost {
  return { account: ruda, place: general, text: "", mentions: [], key: "a-key", ...given };
}

const heard = ({ port }: Stage): readonly string[] =>
  port.messages.map(({ message }) => message.text);

test("a request of the platform is answered when what it tells is stored", async () => {
  const stage = await connected();
  const { promise: stored, resolve: store } = Promise.withResolvers<void>();
  stage.port.before = () => stored;

  let isAnswered = false;
  const answer = stage.adapter.webhook(update({ text: "안녕" }), "ruda");
  void answer.then(() => (isAnswered = true));
  await new Promise((resolve) => setImmediate(resolve));
  expect(isAnswered).toBe(false);
  store();

  const { status, headers } = await answer;
  expect([status, headers.get("x-platform")]).toEqual([200, "test"]);
  expect(heard(stage)).toEqual(["안녕"]);
});

test("what was not stored is asked for again, and taken when it comes again", async () => {
  const stage = await connected();
  let tries = 0;
  stage.port.before = async () => {
    tries += 1;
    if (tries === 1) throw new Error("the store is away");
  };

  const first = await stage.adapter.webhook(update({ text: "하나" }, { update: 7 }), "ruda");
  const again = await stage.adapter.webhook(update({ text: "하나" }, { update: 7 }), "ruda");
  const twice = await stage.adapter.webhook(update({ text: "하나" }, { update: 7 }), "ruda");

  expect([first.status, first.headers.get("retry-after")]).toEqual([503, "5"]);
  expect([again.status, twice.status]).toEqual([200, 200]);
  expect(heard(stage)).toEqual(["하나"]);
  expect(stage.port.lines).toEqual([expect.stringContaining("the store is away")]);
});

test("a request is for one account, and a wrong signature is the adapter's to refuse", async () => {
  const { adapter } = await connected();
  const wrong = new Request("https://dure.example/", { method: "POST", body: '{"secret":"no"}' });

  expect((await adapter.webhook(update({}), undefined)).status).toBe(404); // there are two
  expect((await adapter.webhook(update({}), "seum")).status).toBe(404);
  expect((await adapter.webhook(wrong, "ruda")).status).toBe(401);
});

test("a message that is none costs a line of the log, and nothing else", async () => {
  const stage = await connected();
  const odd: readonly object[] = [
    { id: "" },
    { id: 7 },
    { id: "x".repeat(2_000) },
    { threadId: "nonsense" },
    { author: null },
    { author: { userId: "" } },
  ];

  for (const message of odd) {
    const { status } = await stage.adapter.webhook(update(message), "ruda");
    expect(status).toBe(200);
  }
  await stage.adapter.webhook(update({ text: 5, attachments: "none", metadata: null }), "ruda");

  expect(stage.port.lines).toHaveLength(odd.length);
  expect(heard(stage)).toEqual([""]);
});

test("a notice of the platform itself is left out", async () => {
  const stage = await connected();

  await stage.adapter.webhook(update({ author: { ...minjun, isSystem: true } }), "ruda");

  expect(heard(stage)).toEqual([]);
});

test("bots that a text names are mentions, also where the platform alone says so", async () => {
  const stage = await connected();

  const said = [
    { text: "@Ruda_Bot 봐 줘" },
    { text: "@ruda_bots" },
    { text: "@eden_bot and @ruda_bot아" },
    { text: "이것 좀", isMention: true },
    { text: "맞아요", isMention: true, replyTo: { id: "9", author: { userId: "bot1" } } },
  ];
  for (const message of said) await stage.adapter.webhook(update(message), "ruda");

  expect(heard(stage)).toEqual([
    "<@bot1> 봐 줘",
    "@ruda_bots",
    "<@bot2> and <@bot1>아",
    "<@bot1> 이것 좀",
    "맞아요",
  ]);
  const { message } = stage.port.messages[4]!;
  expect(message.mentions).toEqual([{ platformId: "bot1", at: -1 }]);
  expect(message.replyTo).toBe("test:general#9");
  expect(stage.port.messages[2]!.message.mentions.map(({ platformId }) => platformId)).toEqual([
    "bot2",
    "bot1",
  ]);
});

test("channels, threads and direct messages are places", async () => {
  const stage = await connected();

  for (const threadId of ["test:general", "test:general:77", "test:direct5"]) {
    await stage.adapter.webhook(update({ text: threadId }, { threadId }), "ruda");
  }

  expect(stage.port.messages.map(({ message }) => message.place)).toEqual([
    { adapter: "test", channel: "test:general", thread: undefined },
    { adapter: "test", channel: "test:general", thread: "test:general:77" },
    { adapter: "test", channel: "test:direct5", direct: true },
  ]);
});

test("an edit, a deletion and words of other bots come as such", async () => {
  const stage = await connected();
  const host = stage.bot.host!;
  const metadata = { dateSent: new Date(5_000), edited: true };
  const message = { id: "1", threadId: "test:general", text: "고침", author: minjun, metadata };

  await host.processMessage(stage.bot, "test:general", message);
  await host.processMessageUpdated({
    threadId: "test:general",
    message: async () => ({ ...message, text: "또 고침" }),
  });
  await host.processMessageDeleted({ threadId: "test:general", messageId: "1" });
  const other = { ...message, id: "2", author: { userId: "bot2", userName: "eden_bot" } };
  await host.processMessage(stage.bot, "test:general", other);

  expect(stage.port.edits.map(({ platformId, text }) => [platformId, text])).toEqual([
    ["test:general#1", "고침"],
    ["test:general#1", "또 고침"],
  ]);
  expect(stage.port.gone).toEqual(["test:general#1"]);
  expect(stage.port.messages.at(-1)!.message.author).toEqual({
    platformId: "bot2",
    name: "eden_bot",
    isBot: true,
  });
  expect(stage.port.messages[0]!.message.at).toBe(5_000);
});

test("a press, a stop sign and an order are told to rooms, and the person sees the answer", async () => {
  const stage = await connected();
  const host = stage.bot.host!;
  const at = { threadId: "test:general", user: minjun };

  await host.processAction({ ...at, actionId: "esc_1:approve" }, undefined);
  await host.processReaction({ ...at, added: true, emoji: { name: "stop" } });
  await host.processReaction({ ...at, added: true, emoji: { name: "heart" } });
  await host.processReaction({ ...at, added: false, emoji: { name: "stop" } });
  await host.processSlashCommand({ ...at, channelId: "test:general", command: "/who" }, undefined);
  await host.processAction({ threadId: "test:general" }, undefined);

  expect(stage.chat.shown("test:general")).toEqual([
    "pressed esc_1:approve",
    "pressed order:stop",
    "pressed order:who",
  ]);
  expect(stage.port.lines).toHaveLength(1);
});

test("another command is said like a message", async () => {
  const stage = await connected();
  const raw = { id: "3", threadId: "test:general", text: "/start now", author: minjun };

  await stage.bot.host!.processSlashCommand(
    { channelId: "test:general", command: "/start", raw },
    undefined,
  );

  expect(heard(stage)).toEqual(["/start now"]);
});

test("messages of one thread are stored in their order, threads beside each other", async () => {
  const stage = await connected();
  const { promise: free, resolve: release } = Promise.withResolvers<void>();
  stage.port.before = ({ text }) => (text === "1" ? free : Promise.resolve());

  const answers = [
    stage.adapter.webhook(update({ text: "1" }), "ruda"),
    stage.adapter.webhook(update({ text: "2" }), "ruda"),
    stage.adapter.webhook(update({ text: "3" }, { threadId: "test:general:5" }), "ruda"),
  ];
  await answers[2];
  release();
  await Promise.all(answers);

  expect(heard(stage)).toEqual(["3", "1", "2"]);
});

test("buttons are a card; a platform that refuses them gets lines", async () => {
  const { adapter, bot, chat } = await connected();
  const buttons = [{ value: "esc_1:approve", label: "승인" }];

  await adapter.post(postOf({ text: "할까요?", buttons }), { signal });
  chat.faults.push({ what: "post", code: "VALIDATION_ERROR", afterDoing: false });
  await adapter.post(postOf({ text: "할까요?", buttons }), { signal });

  expect(bot.posted.map(({ message }) => message)).toEqual([
    {
      card: {
        type: "card",
        children: [
          { type: "text", content: "할까요?" },
          { type: "actions", children: [{ type: "button", id: "esc_1:approve", label: "승인" }] },
        ],
      },
      fallbackText: "할까요?",
    },
    { markdown: "할까요?\n- 승인" },
  ]);
});

test("files leave with their names, and those of people are read or refused", async () => {
  const stage = await connected();
  const { adapter, bot } = stage;
  const file = { name: "a.txt", type: "text/plain", bytes: new Uint8Array([104, 105]) };
  const attachments = [
    { type: "file", name: "b.txt", mimeType: "text/plain", fetchMetadata: { content: "읽음" } },
    { type: "image", url: "https://cdn.example/c.png" },
  ];

  await adapter.post(postOf({ files: [file] }), { signal });
  await adapter.webhook(update({ attachments }), "ruda");
  const [readable, link] = stage.port.messages[0]!.message.attachments;
  const read = (attachment: typeof readable, maxBytes: number): Promise<Uint8Array> =>
    adapter.readFile(
      ruda,
      { place: general, message: "1", attachment: attachment!, maxBytes },
      { signal },
    );

  expect(bot.posted[0]!.message).toMatchObject({
    files: [{ filename: "a.txt", mimeType: "text/plain", data: Buffer.from("hi") }],
  });
  expect(Buffer.from(await read(readable, 100)).toString()).toBe("읽음");
  await expect(read(readable, 2)).rejects.toMatchObject({ failure: "full" });
  await expect(read(link, 100)).rejects.toMatchObject({ failure: "not-found" });
  expect([readable!.name, link!.name, link!.url]).toEqual([
    "b.txt",
    "image",
    "https://cdn.example/c.png",
  ]);
});

test("without a history it is not known what has arrived, and nothing is read", async () => {
  const { adapter } = await connected({ hasHistory: false });
  const thread = { account: ruda, channel: general, name: "일", key: "k", since: 0 };

  expect(await adapter.findPost(postOf({ text: "안녕" }), { signal })).toEqual({ found: "unsure" });
  expect(await adapter.findThread(thread, { signal })).toEqual({ found: "unsure" });
  expect(await adapter.readSince(ruda, general, { limit: 10, signal })).toEqual([]);
});

test("where dure makes no threads, none is found and none is made", async () => {
  const { adapter, bot } = await connected({ threadBelow: undefined });
  const thread = { account: ruda, channel: general, name: "일", key: "k", since: 0 };

  expect(await adapter.findThread(thread, { signal })).toEqual({ found: "no" });
  await expect(adapter.createThread(thread, { signal })).rejects.toMatchObject({
    failure: "invalid",
  });
  expect(bot.posted).toEqual([]);
});

test("a post is found although the platform gives its formatting back in another way", async () => {
  const { adapter, chat } = await connected();
  const { id } = chat.add("test:general", "굵게 그리고 코드", { userId: "bot1", isBot: true });

  const found = await adapter.findPost(postOf({ text: "**굵게** 그리고 `코드`" }), { signal });

  expect(found).toEqual({ found: "yes", platformId: `test:general#${id}` });
});

test("a post is not taken for missing where the message before it is not given back", async () => {
  const { adapter, chat } = await connected();
  const post = postOf({ text: "안녕" });

  const behindNone = await adapter.findPost(post, { after: "test:general#gone", signal });
  for (let index = 0; index < 100; index++) chat.add("test:general", String(index), minjun);

  expect(behindNone).toEqual({ found: "unsure" });
  expect(await adapter.findPost(post, { signal })).toEqual({ found: "unsure" });
  chat.messages.pop();
  expect(await adapter.findPost(post, { signal })).toEqual({ found: "no" });
});

test("a channel that has only threads has nothing to read", async () => {
  const { adapter, chat } = await connected({ hasOnlyThreads: true });
  chat.add("test:general:1", "안녕", minjun);
  const thread = { ...general, thread: "test:general:1" };

  expect(await adapter.readSince(ruda, general, { limit: 10, signal })).toEqual([]);
  expect(await adapter.readSince(ruda, thread, { limit: 10, signal })).toHaveLength(1);
});

test("a message is edited and taken away, unless the platform cannot", async () => {
  const { adapter, chat } = await connected();
  const { adapter: plain } = await connected({ edits: false });
  const { platformId } = await adapter.post(postOf({ text: "하나" }), { signal });

  await adapter.edit!(postOf({ text: "둘" }), platformId, { signal });
  expect(chat.shown("test:general")).toEqual(["둘"]);
  await adapter.remove!(ruda, general, platformId, { signal });

  expect(chat.shown("test:general")).toEqual([]);
  await expect(adapter.remove!(ruda, general, platformId, { signal })).rejects.toMatchObject({
    failure: "not-found",
  });
  expect([plain.edit, plain.remove]).toEqual([undefined, undefined]);
});

test("who may read a channel is told where the adapter knows it", async () => {
  const { port } = await connected();

  expect(port.audiences).toEqual([
    { place: general, seenByAll: true },
    { place: { adapter: "test", channel: "test:secret" }, seenByAll: false },
  ]);
});
