// @module-tag slow
import { createTelegramAdapter, type TelegramAdapterConfig } from "@chat-adapter/telegram";
import { describe, expect, onTestFinished, test } from "vitest";
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
import { FakeTelegram, type FakeTelegramBot } from "./fake-telegram.ts";

/**
 * Telegram by the adapter of `chat` as it is published, against a double of the Bot API. What the
 * platform does not have, and what dure answers instead: "what Telegram cannot".
 */
channelContract(
  "Telegram by chat",
  async (): Promise<ChannelStage> => {
    const { telegram, adapter, group, ruda, eden } = await stage("polling");
    const minjun = telegram.addPerson("민준");
    return {
      adapter,
      account: { id: "ruda", agent: "ruda", displayName: "루다", platformId: String(ruda.id) },
      other: { id: "eden", agent: "eden", displayName: "이든", platformId: String(eden.id) },
      channel: { adapter: "telegram", channel: `telegram:${group.id}` },
      shown: async ({ channel }) => telegram.shown(Number(channel.split(":")[1])),
      fail: (_what, failure, options = {}) => telegram.fail(failure, options),
      say: async ({ channel }, text) => {
        const chat = { id: Number(channel.split(":")[1]) };
        const { message_id } = await telegram.say(minjun, chat, { text });
        return `${channel}#${chat.id}:${message_id}`;
      },
    };
  },
  { cannot: ["find", "threads", "read"] },
);

interface TelegramStage {
  readonly telegram: FakeTelegram;
  readonly adapter: ChannelAdapter;
  readonly group: { readonly id: number };
  readonly ruda: FakeTelegramBot;
  readonly eden: FakeTelegramBot;
}

/** Two bots in a group. */
async function stage(mode: "polling" | "webhook"): Promise<TelegramStage> {
  const telegram = await FakeTelegram.start();
  const group = telegram.addGroup("두레");
  const [ruda, eden] = [telegram.addBot("ruda_bot"), telegram.addBot("eden_bot")];
  const made = (botToken: string, given: TelegramAdapterConfig) => () =>
    createTelegramAdapter({ botToken, apiUrl: telegram.url, logger: QUIET, ...given });
  const options =
    mode === "polling"
      ? { mode, longPolling: { timeout: 30, retryDelayMs: 10 } }
      : { mode, secretToken: "a-secret" };
  const kind = chatPlatform({
    name: "telegram",
    hears: mode,
    accounts: { ruda: made(ruda.token, options), eden: made(eden.token, options) },
  });
  const adapter = await kind.open({
    database: undefined,
    environment: { discordTokens: {} },
    accounts: { ruda: "ruda", eden: "eden", seum: "seum" },
    channels: () => [`telegram:${group.id}`],
  });
  onTestFinished(async () => {
    await adapter.stop();
    await telegram.stop();
  });

  return { telegram, adapter, group, ruda, eden };
}

const QUIET = { debug() {}, info() {}, warn() {}, error() {}, child: () => QUIET };
const account: ChannelAccount = { id: "ruda", agent: "ruda", displayName: "루다" };
const { signal } = new AbortController();

/** The first bot hears by a webhook. */
async function hearing(): Promise<TelegramStage & { port: RecordingPort; place: PlaceAddress }> {
  const at = await stage("webhook");
  const port = new RecordingPort(at.adapter);
  await at.adapter.start(port);
  void at.adapter.connect(account, { signal });
  await eventually(() => expect(port.stateOf("ruda")).toBe("ready"));
  at.telegram.setWebhook(at.ruda, "a-secret", (request) => at.adapter.webhook!(request, "ruda"));

  return { ...at, port, place: { adapter: "telegram", channel: `telegram:${at.group.id}` } };
}

function postOf(place: PlaceAddress, given: Partial<OutgoingPost>): OutgoingPost {
  return { account, place, text: "", mentions: [], key: "a-key", ...given };
}

describe("what Telegram cannot", () => {
  test.each([
    ["what was sent cannot be looked for", "findPost", { found: "unsure" }],
    ["what was said is not given back", "readSince", []],
    ["a thread is none that dure could have made", "findThread", { found: "no" }],
  ] as const)("%s", async (_title, method, expected) => {
    const { adapter, place } = await hearing();
    const post = postOf(place, { text: "안녕" });
    const thread = { account, channel: place, name: "일", key: "k", since: 0 };
    const asked = {
      findPost: () => adapter.findPost(post, { signal }),
      readSince: () => adapter.readSince(account, place, { limit: 10, signal }),
      findThread: () => adapter.findThread(thread, { signal }),
    };

    expect(await asked[method]()).toEqual(expected);
  });

  test("a thread is not made: topics of a group are made by people", async () => {
    const { adapter, place, telegram } = await hearing();
    const thread = { account, channel: place, name: "일", key: "k", since: 0 };

    await expect(adapter.createThread(thread, { signal })).rejects.toMatchObject({
      failure: "invalid",
    });
    expect(telegram.messages).toEqual([]);
  });
});

test("a webhook that was not stored is sent again by Telegram, and heard once", async () => {
  const { telegram, group, port } = await hearing();
  const minjun = telegram.addPerson("민준");
  let tries = 0;
  port.before = async () => {
    tries += 1;
    if (tries === 1) throw new Error("the store is away");
  };

  await telegram.say(minjun, group, { text: "안녕" });

  expect(port.texts("ruda")).toEqual(["안녕"]);
  expect([tries, telegram.refused]).toEqual([2, 1]);
});

test("a request without Telegram's secret is refused by the adapter", async () => {
  const { adapter, port } = await hearing();
  const body = JSON.stringify({ update_id: 1, message: {} });

  const { status } = await adapter.webhook!(
    new Request("https://dure.example/", { method: "POST", body }),
    "ruda",
  );

  expect(status).toBe(401);
  expect(port.messages).toEqual([]);
});

test("an update that was not stored is asked for again by the adapter that polls", async () => {
  const { telegram, adapter, group } = await stage("polling");
  const port = new RecordingPort(adapter);
  await adapter.start(port);
  void adapter.connect(account, { signal });
  await eventually(() => expect(port.stateOf("ruda")).toBe("ready"));
  let tries = 0;
  port.before = async () => {
    tries += 1;
    if (tries === 1) throw new Error("the store is away");
  };

  await telegram.say(telegram.addPerson("민준"), group, { text: "안녕" });

  await eventually(() => expect(port.texts("ruda")).toEqual(["안녕"]));
  expect(tries).toBe(2);
});

test("mentions, replies, topics and private chats are what they are in dure", async () => {
  const { telegram, adapter, group, port, place, ruda } = await hearing();
  const minjun = telegram.addPerson("민준");
  const text = "@ruda_bot 봐 줘";
  const entities = [{ type: "mention", offset: 0, length: 9 }];
  await adapter.post(postOf(place, { text: "봤어요" }), { signal });
  const reply_to_message = telegram.messages[0]!;

  await telegram.say(minjun, group, { text, entities });
  await telegram.say(minjun, group, { text: "고마워", reply_to_message });
  await telegram.say(minjun, group, { text: "주제에서", message_thread_id: 9 });
  await telegram.say(minjun, { id: minjun.id }, { text: "둘이서" });

  const [named, replied, inTopic, direct] = port.messages.map(({ message }) => message);
  expect(named).toMatchObject({
    text: `<@${ruda.id}> 봐 줘`,
    mentions: [{ platformId: String(ruda.id), at: 0 }],
    author: { platformId: String(minjun.id), name: "민준", isBot: false },
  });
  expect(replied!.mentions).toEqual([{ platformId: String(ruda.id), at: -1 }]);
  expect(inTopic!.place).toEqual({ ...place, thread: `${place.channel}:9` });
  expect(direct).toMatchObject({
    text: "둘이서",
    mentions: [],
    place: { adapter: "telegram", channel: `telegram:${minjun.id}`, direct: true },
  });
});

test("edits, buttons, reactions and commands of people are heard", async () => {
  const { telegram, adapter, group, port, place } = await hearing();
  const minjun = telegram.addPerson("민준");
  const value = "esc_01KD6Z0000000000000000000:approve";

  const said = await telegram.say(minjun, group, { text: "처음" });
  await telegram.edit(said, "고침");
  await adapter.post(
    postOf(place, { text: "할까요? (2건)", buttons: [{ value, label: "승인" }] }),
    { signal },
  );
  const asked = telegram.messages.at(-1)!;
  const sent = telegram.calls.findLast(({ method }) => method === "sendMessage")!;
  const { inline_keyboard } = sent.fields["reply_markup"] as {
    inline_keyboard: { text: string; callback_data: string }[][];
  };
  await telegram.press(minjun, asked, inline_keyboard[0]![0]!.callback_data);
  await telegram.react(minjun, asked, "\u{1f6d1}");
  const entities = [{ type: "bot_command", offset: 0, length: 4 }];
  await telegram.say(minjun, group, { text: "/who", entities });
  await telegram.say(minjun, group, { text: "/buy 2", entities });

  expect(port.edits).toEqual([expect.objectContaining({ text: "고침" })]);
  expect(telegram.shown(group.id)).toEqual([
    "고침",
    "할까요? (2건)",
    `pressed ${value}`,
    "pressed order:stop",
    "/who",
    "pressed order:who",
    "/buy 2",
  ]);
  expect(port.texts("ruda").at(-1)).toBe("/buy 2");
});

test("files come and leave, and one that is too large is refused", async () => {
  const { telegram, adapter, group, port, place } = await hearing();
  const file_id = telegram.addFile("내용");
  const document = { file_id, file_name: "a.txt", mime_type: "text/plain", file_size: 6 };

  await telegram.say(telegram.addPerson("민준"), group, { document });
  const { message } = port.messages[0]!;
  const [attachment] = message.attachments;
  const read = (maxBytes: number): Promise<Uint8Array> =>
    adapter.readFile!(
      account,
      { place, message: message.platformId, attachment: attachment!, maxBytes },
      { signal },
    );
  const file = { name: "b.txt", type: "text/plain", bytes: Buffer.from("hi") };
  await adapter.post(postOf(place, { files: [file] }), { signal });

  expect(attachment).toMatchObject({ name: "a.txt", contentType: "text/plain", size: 6 });
  expect(Buffer.from(await read(100)).toString()).toBe("내용");
  await expect(read(5)).rejects.toMatchObject({ failure: "full" });
  expect(telegram.messages.at(-1)!.document).toMatchObject({ file_name: "b.txt", file_size: 2 });
});

test("a message is edited and deleted; one that is gone is not found", async () => {
  const { telegram, adapter, group, place } = await hearing();
  const { platformId } = await adapter.post(postOf(place, { text: "하나." }), { signal });

  await adapter.edit!(postOf(place, { text: "**둘**" }), platformId, { signal });
  await adapter.edit!(postOf(place, { text: "**둘**" }), platformId, { signal }); // harmless
  expect(telegram.shown(group.id)).toEqual(["**둘**"]);
  await adapter.remove!(account, place, platformId, { signal });

  expect(telegram.shown(group.id)).toEqual([]);
  await expect(adapter.remove!(account, place, platformId, { signal })).rejects.toMatchObject({
    failure: "not-found",
  });
});

test("a server of the Bot API without rich messages gets the formatting of Telegram", async () => {
  const { telegram, adapter, group, place } = await hearing();
  telegram.isRich = false;
  const text = `${".".repeat(1_999)}!`;

  await adapter.post(postOf(place, { text: "**굵게** 1.5 (a_b)!" }), { signal });
  await adapter.post(postOf(place, { text }), { signal });

  expect(telegram.shown(group.id)).toEqual(["굵게 1.5 (a_b)!", text]);
});

test("an account whose token is wrong is not ready, and says so", async () => {
  const { telegram } = await stage("webhook");
  const kind = chatPlatform({
    name: "telegram",
    accounts: {
      ruda: () =>
        createTelegramAdapter({
          botToken: "1:wrong",
          apiUrl: telegram.url,
          mode: "webhook",
          secretToken: "s",
          logger: QUIET,
        }),
    },
  });
  const adapter = await kind.open({
    database: undefined,
    environment: { discordTokens: {} },
    accounts: { ruda: "ruda" },
    channels: () => [],
  });
  onTestFinished(() => adapter.stop());
  const port = new RecordingPort(adapter);
  await adapter.start(port);
  void adapter.connect(account, { signal });

  await eventually(() => expect(port.stateOf("ruda")).toBe("reconnecting"));
  expect(port.states.at(-1)!.detail).toContain("look at its token");
});

test("an adapter that cannot be made names its agent", async () => {
  const kind = chatPlatform({
    name: "telegram",
    accounts: { ruda: () => createTelegramAdapter({ botToken: "", mode: "webhook" }) },
  });
  const parts = {
    database: undefined,
    environment: { discordTokens: {} },
    accounts: { ruda: "ruda" },
    channels: () => [],
  };

  await expect(async () => kind.open(parts)).rejects.toMatchObject({
    code: "CHAT_ADAPTER_UNMADE",
    message: expect.stringContaining("ruda"),
  });
});
