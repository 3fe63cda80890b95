import { onTestFinished } from "vitest";
import { DiscordAdapter } from "../../src/channels/discord/discord-adapter.ts";
import { ChatChannelAdapter } from "../../src/channels/chat/chat-adapter.ts";
import { TEST_PLATFORM, TestChat } from "../../src/channels/chat/test-chat-adapter.ts";
import { testDatabase } from "../../src/durable/test-database.ts";
import type { PlaceAddress } from "../../src/rooms/channel-adapter.ts";
import { WebAdapter } from "../../src/channels/web/web-adapter.ts";
import { SlackAdapter } from "../../src/channels/slack/slack-adapter.ts";
import { FakeDiscord, FakeSlack, WebFaultSwitch } from "@dure/testing";
import { channelContract, type ChannelStage } from "./channel-contract.ts";
import { chatCodeOf } from "./chat-platform.ts";
import { faultOf, OPEN_LIMITS } from "./discord-platform.ts";
import { OPEN_SLACK_LIMITS, slackFaultOf, slackPlaceOf } from "./slack-platform.ts";

channelContract("web", async (): Promise<ChannelStage> => {
  const { database, [Symbol.asyncDispose]: dispose } = await testDatabase({ max: 2 });
  const faults = new WebFaultSwitch();
  const adapter = new WebAdapter({ database, faults });
  onTestFinished(async () => {
    await adapter.stop();
    await dispose();
  });
  return {
    adapter,
    account: { id: "ruda", agent: "ruda", displayName: "루다" },
    other: { id: "eden", agent: "eden", displayName: "이든" },
    channel: { adapter: "web", channel: "general" },
    shown: async (place) => {
      const rows = await database.query<{ text: string }>(
        {
          text: "select text from dure.web_posts where place = $1 and id like 'web-%' order by at",
        },
        [place.thread ?? place.channel],
      );
      return rows.map(({ text }) => text.replace("<@eden>", "@이든"));
    },
    fail: (what, failure, options) => faults.add({ what, failure, ...options }),
  };
});

channelContract("Discord", async (): Promise<ChannelStage> => {
  const discord = await FakeDiscord.start({ rateLimits: OPEN_LIMITS, identifyWindowMs: 1 });
  const guild = discord.addGuild("두레");
  const general = discord.addChannel(guild, "general");
  const [ruda, eden] = [
    discord.addBot({ name: "루다", token: "token-ruda" }),
    discord.addBot({ name: "이든", token: "token-eden" }),
  ];
  const person = discord.addPerson("민준");
  const adapter = new DiscordAdapter({
    tokens: { ruda: ruda.token, eden: eden.token },
    apiUrl: discord.url,
    startBetweenBotsMs: 1,
    startPerBotMs: 1,
  });
  onTestFinished(async () => {
    await adapter.stop();
    await discord.stop();
  });
  const placeOf = (place: PlaceAddress): { id: string; name: string } => ({
    id: place.thread ?? place.channel,
    name: "",
  });
  return {
    adapter,
    account: { id: "ruda", agent: "ruda", displayName: "루다", platformId: ruda.id },
    other: { id: "eden", agent: "eden", displayName: "이든", platformId: eden.id },
    channel: { adapter: "discord", guild: guild.id, channel: general.id },
    shown: async (place) =>
      discord
        .messages(placeOf(place))
        .filter(({ type }) => type !== 18)
        .map(({ text }) => text.replace(discord.mention(eden), "@이든")),
    fail: (what, failure, { afterDoing = false, retryAfterMs = 1_000 } = {}) =>
      void discord.fault(
        {
          route: what === "post" ? "/channels/{channel}/messages" : "/channels/{channel}/threads",
          method: "POST",
        },
        faultOf(failure, afterDoing, retryAfterMs),
      ),
    say: async (place, text) => person.post(placeOf(place), text).id,
  };
});

channelContract("Slack", async (): Promise<ChannelStage> => {
  const slack = await FakeSlack.start({ rateLimits: OPEN_SLACK_LIMITS });
  const general = slack.addChannel("general");
  const [ruda, eden] = [
    slack.addApp({ name: "루다", botToken: "xoxb-ruda", appToken: "xapp-ruda" }),
    slack.addApp({ name: "이든", botToken: "xoxb-eden", appToken: "xapp-eden" }),
  ];
  const person = slack.addPerson("민준");
  const adapter = new SlackAdapter({
    tokens: {
      ruda: { bot: ruda.botToken, app: ruda.appToken },
      eden: { bot: eden.botToken, app: eden.appToken },
    },
    apiUrl: slack.url,
  });
  onTestFinished(async () => {
    await adapter.stop();
    await slack.stop();
  });
  return {
    adapter,
    account: { id: "ruda", agent: "ruda", displayName: "루다", platformId: ruda.id },
    other: { id: "eden", agent: "eden", displayName: "이든", platformId: eden.id },
    channel: { adapter: "slack", channel: general.id },
    shown: async (place) =>
      slack
        .messages(slackPlaceOf(place))
        .filter(({ eventType }) => eventType !== "dure_thread")
        .map(({ text }) => text.replace(slack.mention(eden), "@이든")),
    fail: (what, failure, { afterDoing = false, retryAfterMs = 1_000 } = {}) =>
      slack.fault(
        { method: "chat.postMessage", eventType: what === "post" ? "dure_post" : "dure_thread" },
        slackFaultOf(failure, afterDoing, retryAfterMs),
      ),
    say: async (place, text) => {
      const { ts } = person.post(slackPlaceOf(place), text);
      return `${place.channel}:${ts}`;
    },
  };
});

channelContract("an adapter of chat", async (): Promise<ChannelStage> => {
  const chat = new TestChat();
  const adapter = new ChatChannelAdapter({
    name: "test",
    platform: TEST_PLATFORM,
    bots: [
      { account: "ruda", agent: "ruda", adapter: chat.adapter("bot1", "ruda_bot") },
      { account: "eden", agent: "eden", adapter: chat.adapter("bot2", "eden_bot") },
    ],
    isPolling: false,
    state: undefined,
    channels: () => ["test:general"],
  });
  onTestFinished(() => adapter.stop());
  return {
    adapter,
    account: { id: "ruda", agent: "ruda", displayName: "루다", platformId: "bot1" },
    other: { id: "eden", agent: "eden", displayName: "이든", platformId: "bot2" },
    channel: { adapter: "test", channel: "test:general" },
    shown: async ({ channel, thread }) => chat.shown(thread ?? channel),
    fail: (what, failure, { afterDoing = false, retryAfterMs = 1_000 } = {}) =>
      void chat.faults.push({
        what,
        code: chatCodeOf(failure),
        retryAfter: retryAfterMs / 1_000,
        afterDoing,
      }),
    say: async ({ channel, thread }, text) =>
      `${channel}#${await chat.say(thread ?? channel, text)}`,
  };
});
