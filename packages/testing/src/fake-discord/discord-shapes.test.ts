import { Client, Events, GatewayIntentBits } from "discord.js";
import { expect, onTestFinished, test } from "vitest";
import { FULL } from "../../../dure/src/kernel/test-tiers.ts";
import { problemsOf, type Held } from "../test-types.ts";
import { FakeDiscord, type FakeMessage } from "./fake-discord.ts";

/**
 * What the double tells and answers, held against the platform's own types: `discord-api-types` is
 * made from its documentation by those who maintain discord.js.
 */
const TYPES = { package: "discord-api-types/v10" } as const;
const INTENTS = [
  GatewayIntentBits.Guilds,
  GatewayIntentBits.GuildMessages,
  GatewayIntentBits.GuildMessageReactions,
  GatewayIntentBits.MessageContent,
  GatewayIntentBits.DirectMessages,
];

/** Of each event that the double knows: the name of its data, where the package has one. */
const EVENTS: Readonly<Record<string, string>> = {
  READY: "api.GatewayReadyDispatchData",
  GUILD_CREATE: "api.GatewayGuildCreateDispatchData",
  GUILD_DELETE: "api.GatewayGuildDeleteDispatchData",
  GUILD_ROLE_CREATE: "api.GatewayGuildRoleCreateDispatchData",
  GUILD_ROLE_UPDATE: "api.GatewayGuildRoleUpdateDispatchData",
  GUILD_ROLE_DELETE: "api.GatewayGuildRoleDeleteDispatchData",
  CHANNEL_CREATE: "api.GatewayChannelCreateDispatchData",
  CHANNEL_UPDATE: "api.GatewayChannelUpdateDispatchData",
  CHANNEL_DELETE: "api.GatewayChannelDeleteDispatchData",
  THREAD_CREATE: "api.GatewayThreadCreateDispatchData",
  THREAD_UPDATE: "api.GatewayThreadUpdateDispatchData",
  THREAD_DELETE: "api.GatewayThreadDeleteDispatchData",
  THREAD_LIST_SYNC: "api.GatewayThreadListSyncDispatchData",
  THREAD_MEMBERS_UPDATE: "api.GatewayThreadMembersUpdateDispatchData",
  MESSAGE_CREATE: "api.GatewayMessageCreateDispatchData",
  MESSAGE_UPDATE: "api.GatewayMessageUpdateDispatchData",
  MESSAGE_DELETE: "api.GatewayMessageDeleteDispatchData",
  MESSAGE_REACTION_ADD: "api.GatewayMessageReactionAddDispatchData",
  INTERACTION_CREATE: "api.GatewayInteractionCreateDispatchData",
  // The package says that it has no data; the platform sends an object with a trace in it.
  RESUMED: "object",
};

test("every event of the double has the form of the platform's types", FULL, async () => {
  await using stage = await aStage();
  await connect(stage);
  await everythingHappens(stage);

  const told = stage.discord.gateway.events(stage.ruda);

  expect(new Set(told.map(({ type }) => type))).toEqual(new Set(Object.keys(EVENTS)));
  expect(problemsOf(told.map(heldEvent), TYPES)).toEqual([]);
});

test("every answer of the double has the form of the platform's types", FULL, async () => {
  await using stage = await aStage();
  const { discord, guild, general, forum, ruda, minsu } = stage;
  const hello = minsu.post(general, "말", { attachments: [{ name: "a.png", size: 3 }] });
  const held: Held[] = [];
  const ask = async (name: string, type: string, body?: object): Promise<{ id: string }> => {
    const [method = "", route = ""] = name.split(" ");
    const answer = await fetch(`${discord.url}/v10${route}`, {
      method,
      headers: { authorization: `Bot ${ruda.token}`, "content-type": "application/json" },
      body: body === undefined ? null : JSON.stringify(body),
    });
    const value: unknown = await answer.json();
    held.push({ what: `${answer.status} ${name}`, type: `api.${type}`, value });
    return value as { id: string };
  };

  const [server, channel] = [`/guilds/${guild.id}`, `/channels/${general.id}`];
  await ask("GET /gateway/bot", "RESTGetAPIGatewayBotResult");
  await ask("GET /users/@me", "RESTGetAPICurrentUserResult");
  await ask("GET /applications/@me", "RESTGetCurrentApplicationResult");
  await ask("GET /users/@me/guilds", "RESTGetAPICurrentUserGuildsResult");
  await ask("POST /users/@me/channels", "RESTPostAPICurrentUserCreateDMChannelResult", {
    recipient_id: minsu.id,
  });
  await ask(`GET ${server}`, "RESTGetAPIGuildResult");
  await ask(`GET ${server}/channels`, "RESTGetAPIGuildChannelsResult");
  await ask(`GET ${server}/roles`, "RESTGetAPIGuildRolesResult");
  await ask(`GET ${server}/members/${ruda.id}`, "RESTGetAPIGuildMemberResult");
  await ask(`GET ${channel}`, "RESTGetAPIChannelResult");
  const own = await ask(`POST ${channel}/messages`, "RESTPostAPIChannelMessageResult", {
    content: "답",
    nonce: "n",
    enforce_nonce: true,
    message_reference: { message_id: hello.id },
    components: [{ type: 1, components: [{ type: 2, style: 1, label: "네", custom_id: "yes" }] }],
  });
  await ask(`GET ${channel}/messages?limit=10`, "RESTGetAPIChannelMessagesResult");
  await ask(`GET ${channel}/messages/${own.id}`, "RESTGetAPIChannelMessageResult");
  await ask(`PATCH ${channel}/messages/${own.id}`, "RESTPatchAPIChannelMessageResult", {
    content: "고친 답",
  });
  const thread = await ask(`POST ${channel}/threads`, "RESTPostAPIChannelThreadsResult", {
    name: "일",
    type: 11,
  });
  await ask(
    `POST ${channel}/messages/${hello.id}/threads`,
    "RESTPostAPIChannelMessagesThreadsResult",
    { name: "그 말에서" },
  );
  await ask(`POST /channels/${forum.id}/threads`, "APIPublicThreadChannel", {
    name: "글",
    message: { content: "글의 첫 말" },
  });
  await ask(`GET ${server}/threads/active`, "RESTGetAPIGuildThreadsResult");
  await ask(`GET /channels/${thread.id}/thread-members`, "RESTGetAPIChannelThreadMembersResult");
  await ask(`PATCH /channels/${thread.id}`, "RESTPatchAPIChannelResult", { archived: true });
  await ask(
    `GET ${channel}/threads/archived/public`,
    "RESTGetAPIChannelThreadsArchivedPublicResult",
  );
  await ask(
    `POST /applications/${ruda.id}/guilds/${guild.id}/commands`,
    "RESTPostAPIApplicationGuildCommandsResult",
    { name: "dure", description: "d", options: [{ type: 1, name: "who", description: "w" }] },
  );
  await ask("GET /channels/1", "RESTError");
  await ask(`POST ${channel}/messages`, "RESTError", { content: "가".repeat(2001) });
  discord.fault({ route: "/users/@me" }, { kind: "429", retryAfterMs: 10 });
  await ask("GET /users/@me", "RESTRateLimit");

  expect(problemsOf(held, TYPES)).toEqual([]);
});

function heldEvent({ type, data }: { type: string; data: unknown }, index: number): Held {
  return { what: `${type} (${index})`, type: EVENTS[type] ?? type, value: data };
}

/** Whatever people do that a bot is told of. */
async function everythingHappens(stage: Stage): Promise<void> {
  const { discord, guild, general, forum, ruda, minsu } = stage;
  const news = discord.addChannel(guild, "news", "announcement");
  const thread = minsu.startThread(general, "일", { from: minsu.post(general, "시작") });
  const attachments = [{ name: "a.png", size: 3, contentType: "image/png" }];
  const said = minsu.post(thread, `${discord.mention(ruda)} ${discord.mentionRole(ruda)} 말`);
  minsu.edit(said, "고친 말");
  minsu.react(said, "\u{1f6d1}");
  minsu.remove(minsu.post(general, "답", { replyTo: minsu.post(general, "물음"), attachments }));
  minsu.startThread(forum, "글");
  minsu.startThread(news, "소식");
  minsu.post(minsu.startThread(general, "우리끼리", { isPrivate: true }), discord.mention(ruda));
  minsu.post(minsu.directMessages(ruda), "둘이서");
  discord.archiveThread(thread);
  discord.deleteThread(thread);
  discord.setPermissions("everyone", general, { deny: ["MENTION_EVERYONE"] });
  discord.setPermissions(ruda, news, { deny: ["VIEW_CHANNEL"] });
  discord.setPermissions(ruda, news, {});
  discord.removeChannel(news);
  const asked = await stage.post("할까요?", [{ type: 2, style: 1, label: "네", custom_id: "yes" }]);
  await minsu.press(asked.buttons[0]!);
  await minsu.command(ruda, general, "who");
  const eden = discord.addBot({ name: "이든", token: "token-eden", guilds: [] });
  discord.inviteBot(eden, guild);
  discord.setEveryone(guild, ["VIEW_CHANNEL"]);
  discord.kickBot(eden, guild);
  discord.setOutage(guild, true);
  discord.setOutage(guild, false);
  discord.dropGateway(ruda, { resumable: true });
  const isResumed = (): boolean =>
    discord.gateway.events(ruda).some(({ type }) => type === "RESUMED");
  await discord.waitFor("the resume", isResumed, { timeoutMs: 20_000 });
}

/** The real discord.js, which answers every button and command. */
async function connect({ discord, guild, ruda }: Stage): Promise<void> {
  const client = new Client({ intents: INTENTS, rest: { api: discord.url }, partials: [1] });
  onTestFinished(() => client.destroy());
  client.on(Events.InteractionCreate, (interaction) => {
    if (interaction.isRepliable()) void interaction.reply("네");
  });
  const ready = new Promise((resolve) => client.once(Events.ClientReady, resolve));
  await client.login(ruda.token);
  await ready;
  await client.application!.commands.create(
    { name: "dure", description: "d", options: [{ type: 1, name: "who", description: "w" }] },
    guild.id,
  );
}

type Stage = Awaited<ReturnType<typeof aStage>>;

async function aStage() {
  const discord = await FakeDiscord.start({ identifyWindowMs: 1 });
  const guild = discord.addGuild();
  const general = discord.addChannel(guild, "general");
  const forum = discord.addChannel(guild, "forum", "forum");
  const ruda = discord.addBot({ name: "루다", token: "token-ruda" });
  const minsu = discord.addPerson("민수");
  const post = async (content: string, buttons: object[]): Promise<FakeMessage> => {
    await fetch(`${discord.url}/v10/channels/${general.id}/messages`, {
      method: "POST",
      headers: { authorization: `Bot ${ruda.token}`, "content-type": "application/json" },
      body: JSON.stringify({ content, components: [{ type: 1, components: buttons }] }),
    });
    return discord.messages(general).at(-1)!;
  };
  return {
    ...{ discord, guild, general, forum, ruda, minsu, post },
    [Symbol.asyncDispose]: () => discord.stop(),
  };
}
