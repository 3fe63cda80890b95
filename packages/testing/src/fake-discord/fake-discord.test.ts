import {
  Client,
  Events,
  GatewayIntentBits,
  Options,
  REST,
  type GuildChannel,
  type Interaction,
  type Message,
} from "discord.js";
import { systemClock, type Clock } from "dure/client";
import { afterEach, describe, expect, test } from "vitest";
import { FULL } from "../../../dure/src/kernel/test-tiers.ts";
import { WebSocket } from "ws";
import {
  FakeDiscord,
  type FakeBot,
  type FakeDiscordOptions,
  type FakePlace,
} from "./fake-discord.ts";
import { eventually } from "../../../dure/test/until.ts";

const clients: Client[] = [];
const OPEN_LIMITS = {
  routes: {},
  others: { limit: 1000, perMs: 1000 },
  global: { limit: 1000, perMs: 1000 },
};
const INTENTS = [
  GatewayIntentBits.Guilds,
  GatewayIntentBits.GuildMessages,
  GatewayIntentBits.MessageContent,
  GatewayIntentBits.DirectMessages,
];

afterEach(async () => {
  await Promise.all(clients.splice(0).map((client) => client.destroy()));
});

describe("with the real discord.js", () => {
  test("a bot logs in, reads what a person posts and answers", async () => {
    await using stage = await aStage();
    const ruda = await stage.login(stage.ruda);

    const received = next(ruda, (message) => message.author.username === "민수");
    stage.minsu.post(stage.general, "안녕", { mentions: [stage.ruda] });
    const message = await received;
    await message.reply("안녕하세요");

    expect(message.content).toBe(`<@${stage.ruda.id}> 안녕`);
    expect(message.mentions.has(ruda.user!)).toBe(true);
    expect(stage.discord.messages(stage.general)).toMatchObject([
      { author: "민수", mentions: ["루다"] },
      { author: "루다", text: "안녕하세요", type: 19, replyTo: message.id, mentions: ["민수"] },
    ]);
  });

  test("a thread's messages reach only bots that joined it, and a mention makes one join", async () => {
    await using stage = await aStage();
    const [ruda, eden] = [await stage.login(stage.ruda), await stage.login(stage.eden)];
    const heard: string[] = [];
    eden.on(Events.MessageCreate, ({ content }) => heard.push(content));
    const created = once(eden, Events.ThreadCreate);

    const channel = await ruda.channels.fetch(stage.general.id);
    if (channel?.isTextBased() !== true || !("threads" in channel)) {
      throw new Error("no text channel");
    }
    const thread = await channel.threads.create({ name: "협업", type: 11 as never });
    await created;
    await thread.send("이든은 아직 듣지 않는다");
    await thread.send({
      content: `<@${stage.eden.id}> 들어와`,
      allowedMentions: { users: [stage.eden.id] },
    });
    await thread.send("이제 듣는다");

    await eventually(() => expect(heard).toContain("이제 듣는다"));
    expect(heard.filter((text) => text !== "협업")).toEqual([
      `<@${stage.eden.id}> 들어와`,
      "이제 듣는다",
    ]);
    expect(stage.discord.threads(stage.general)).toMatchObject([
      { name: "협업", members: ["루다", "이든"], owner: "루다" },
    ]);
    expect(stage.discord.messages(stage.general)).toMatchObject([{ type: 18, text: "협업" }]);
  });

  test("a bot that joins hears what comes after it", async () => {
    await using stage = await aStage();
    const eden = await stage.login(stage.eden);
    const thread = stage.minsu.startThread(stage.general, "새 스레드");

    const fetched = await eden.channels.fetch(thread.id);
    if (fetched?.isThread() !== true) throw new Error("no thread");
    await fetched.join();
    const received = next(eden, ({ channelId }) => channelId === thread.id);
    stage.minsu.post(thread, "들려?");

    expect((await received).content).toBe("들려?");
  });

  test(
    "a resumable loss is filled by the resume, the other one starts a session anew",
    FULL,
    async () => {
      await using stage = await aStage({ identifyWindowMs: 1 });
      const ruda = await stage.login(stage.ruda);

      const resumed = once(ruda, Events.ShardResume);
      const missed = next(ruda, ({ content }) => content === "그 사이에");
      stage.discord.dropGateway(stage.ruda, { resumable: true });
      stage.minsu.post(stage.general, "그 사이에");
      await Promise.all([resumed, missed]);
      const startedBefore = stage.discord.sessionsStarted(stage.ruda);

      const heard: string[] = [];
      ruda.on(Events.MessageCreate, ({ content }) => heard.push(content));
      stage.discord.dropGateway(stage.ruda, { resumable: false });
      stage.minsu.post(stage.general, "잃은 말");
      await stage.discord.waitFor(
        "a new session",
        () =>
          stage.discord.sessionsStarted(stage.ruda) === startedBefore + 1 &&
          stage.discord.isConnected(stage.ruda),
        { timeoutMs: 15_000 },
      );
      stage.minsu.post(stage.general, "다음 말");

      await eventually(() => expect(heard).toContain("다음 말"));
      expect(startedBefore).toBe(1);
      expect(heard).toEqual(["다음 말"]);
    },
  );

  test("events are lost or come twice when the test says so", async () => {
    await using stage = await aStage();
    const ruda = await stage.login(stage.ruda);
    const heard: string[] = [];
    ruda.ws.on("MESSAGE_CREATE" as never, (data: { content: string }) => heard.push(data.content));

    stage.discord.loseGatewayEvents(stage.ruda, true);
    stage.minsu.post(stage.general, "하나");
    stage.discord.loseGatewayEvents(stage.ruda, false);
    stage.discord.duplicateNext(stage.ruda);
    stage.minsu.post(stage.general, "둘");
    stage.minsu.post(stage.general, "셋");

    await eventually(() => expect(heard).toEqual(["둘", "둘", "셋"]));
  });

  test("a pressed button reaches its bot alone, and the person sees the answer", async () => {
    await using stage = await aStage();
    const [ruda, eden] = [await stage.login(stage.ruda), await stage.login(stage.eden)];
    const others: unknown[] = [];
    eden.on(Events.InteractionCreate, (interaction) => others.push(interaction));
    const answer = async (interaction: Interaction): Promise<void> => {
      if (!interaction.isButton()) return;
      await interaction.deferReply({ flags: 64 });
      await interaction.editReply(`${interaction.user.username}: ${interaction.customId}`);
    };
    ruda.on(Events.InteractionCreate, (interaction) => void answer(interaction));
    const channel = await ruda.channels.fetch(stage.general.id);
    if (channel?.isSendable() !== true) throw new Error("no channel");
    await channel.send({
      content: "할까요?",
      components: [{ type: 1, components: [{ type: 2, style: 1, label: "네", custom_id: "yes" }] }],
    });

    const shown = await stage.minsu.press(stage.discord.messages(stage.general)[0]!.buttons[0]!);

    expect(shown).toEqual({ text: "민수: yes", ephemeral: true });
    expect(others).toEqual([]);
  });

  test("waits at a real 429 and goes on, within the limits of the headers", async () => {
    await using stage = await aStage({
      rateLimits: {
        ...OPEN_LIMITS,
        routes: { "POST /channels/{channel}/messages": { limit: 2, perMs: 300 } },
      },
    });
    const rest = stage.rest(stage.ruda);
    stage.discord.fault(
      { route: "/channels/{channel}/messages", method: "POST" },
      { kind: "429", retryAfterMs: 100 },
    );

    for (const text of ["1", "2", "3", "4"]) {
      await rest.post(`/channels/${stage.general.id}/messages`, { body: { content: text } });
    }

    expect(stage.discord.messages(stage.general).map(({ text }) => text)).toEqual([
      "1",
      "2",
      "3",
      "4",
    ]);
    expect(stage.discord.requests.map(({ status }) => status)).toEqual([429, 200, 200, 200, 200]);
  });
});

describe("at the gateway", () => {
  test.each([
    ["an unknown token is closed with 4004", { token: "nobody" }, 4004],
    [
      "a privileged intent that the portal forbids is closed with 4014",
      { token: "token-dajim", intents: 1 << 15 },
      4014,
    ],
    ["an intent that does not exist is closed with 4013", { intents: 2 ** 30 }, 4013],
  ])("%s", async (_name, identify, code) => {
    await using stage = await aStage();
    stage.discord.addBot({ name: "다짐", token: "token-dajim", messageContentIntent: false });

    const socket = await stage.socket();
    socket.send({ op: 2, d: { token: "token-ruda", properties: {}, intents: 1, ...identify } });

    expect(await socket.closed).toBe(code);
  });

  test("anything else before identify is closed with 4003, and a second identify with 4005", async () => {
    await using stage = await aStage();

    const eager = await stage.socket();
    eager.send({ op: 3, d: {} });
    const twice = await stage.socket();
    twice.send({ op: 2, d: { token: "token-ruda", properties: {}, intents: 1 } });
    twice.send({ op: 2, d: { token: "token-ruda", properties: {}, intents: 1 } });

    expect(await eager.closed).toBe(4003);
    expect(await twice.closed).toBe(4005);
  });

  test("a second session within the window is refused as invalid, and so is the resume of an unknown one", async () => {
    await using stage = await aStage();
    const first = await stage.socket();
    first.send({ op: 2, d: { token: "token-ruda", properties: {}, intents: 1 } });
    await first.until((frame) => frame.t === "READY");

    const second = await stage.socket();
    second.send({ op: 2, d: { token: "token-ruda", properties: {}, intents: 1 } });
    const third = await stage.socket();
    third.send({ op: 6, d: { token: "token-ruda", session_id: "nothing", seq: 1 } });

    expect(await second.until(({ op }) => op === 9)).toMatchObject({ d: false });
    expect(await third.until(({ op }) => op === 9)).toMatchObject({ d: false });
  });

  test("two sessions of one bot live beside each other and both are told everything", async () => {
    await using stage = await aStage({ maxConcurrency: 2 });
    const sockets = [await stage.socket(), await stage.socket()];
    for (const socket of sockets) {
      socket.send({ op: 2, d: { token: "token-ruda", properties: {}, intents: 1 << 9 } });
    }
    for (const socket of sockets) await socket.until((frame) => frame.t === "READY");

    stage.minsu.post(stage.general, "둘 다");

    for (const socket of sockets) {
      expect(await socket.until((frame) => frame.t === "MESSAGE_CREATE")).toMatchObject({
        d: { channel_id: stage.general.id },
      });
    }
  });

  test("who sends no heartbeat is closed with 4009", async () => {
    await using stage = await aStage({ heartbeatIntervalMs: 40 });

    const socket = await stage.socket();

    expect(await socket.closed).toBe(4009);
  });

  test("without the message content intent only texts that mention the bot, its own and direct ones show", async () => {
    await using stage = await aStage();
    const ruda = await stage.login(stage.ruda, [
      GatewayIntentBits.Guilds,
      GatewayIntentBits.GuildMessages,
      GatewayIntentBits.DirectMessages,
    ]);
    const heard: string[] = [];
    ruda.ws.on("MESSAGE_CREATE" as never, (data: { content: string }) => heard.push(data.content));

    stage.minsu.post(stage.general, "모두에게");
    stage.minsu.post(stage.general, "너에게", { mentions: [stage.ruda] });
    stage.minsu.post(stage.minsu.directMessages(stage.ruda), "우리끼리");

    await eventually(() => expect(heard).toEqual(["", `<@${stage.ruda.id}> 너에게`, "우리끼리"]));
  });
});

describe("over HTTP", () => {
  test.each<[string, object, number, number]>([
    ["more than 2,000 characters", { content: "가".repeat(2001) }, 400, 50035],
    ["nothing to say", { content: " " }, 400, 50006],
    ["a nonce of 26 characters", { content: "x", nonce: "n".repeat(26) }, 400, 50035],
    [
      "users both listed and parsed",
      { content: "x", allowed_mentions: { parse: ["users"], users: ["1"] } },
      400,
      50035,
    ],
    ["a field that does not exist", { content: "x", enforceNonce: true }, 400, 50035],
    ["a reply to nothing", { content: "x", message_reference: { message_id: "1" } }, 400, 50035],
    [
      "a button without a custom id",
      { content: "x", components: [{ type: 1, components: [{ type: 2, style: 1, label: "a" }] }] },
      400,
      50035,
    ],
  ])("refuses a message with %s", async (_name, body, status, code) => {
    await using stage = await aStage();

    await expect(
      stage.rest(stage.ruda).post(`/channels/${stage.general.id}/messages`, { body }),
    ).rejects.toMatchObject({ status, code });
    expect(stage.discord.messages(stage.general)).toEqual([]);
  });

  test("the same nonce gives the first message within the window, and a new one after it", async () => {
    await using stage = await aStage({ nonceWindowMs: 200 });
    const rest = stage.rest(stage.ruda);
    const post = (nonce: string, enforce_nonce = true) =>
      rest.post(`/channels/${stage.general.id}/messages`, {
        body: { content: "x", nonce, enforce_nonce },
      }) as Promise<{ id: string; nonce: string }>;

    const first = await post("a");
    const again = await post("a");
    const other = await stage.rest(stage.eden).post(`/channels/${stage.general.id}/messages`, {
      body: { content: "x", nonce: "a", enforce_nonce: true },
    });
    await new Promise((resolve) => setTimeout(resolve, 250)); // the window itself
    const late = await post("a");

    expect(again).toMatchObject({ id: first.id, nonce: "a" });
    expect(other).not.toMatchObject({ id: first.id });
    expect(late.id).not.toBe(first.id);
    expect(stage.discord.messages(stage.general)).toHaveLength(3);
    const [read] = (await rest.get(`/channels/${stage.general.id}/messages`)) as object[];
    expect(read).not.toHaveProperty("nonce");
  });

  test("a mention outside allowed_mentions or in code wakes no account", async () => {
    await using stage = await aStage();
    const rest = stage.rest(stage.ruda);
    const [eden, minsu] = [stage.discord.mention(stage.eden), stage.discord.mention(stage.minsu)];
    const post = (body: object) => rest.post(`/channels/${stage.general.id}/messages`, { body });

    await post({
      content: `${eden} ${minsu} @everyone`,
      allowed_mentions: { parse: [], users: [stage.eden.id] },
    });
    await post({ content: `\`${eden}\` ${minsu}` });

    expect(stage.discord.messages(stage.general)).toMatchObject([
      { mentions: ["이든"], mentionsEveryone: false },
      { mentions: ["민수"] },
    ]);
  });

  test("permissions decide, and without history the list is empty", async () => {
    await using stage = await aStage();
    const rest = stage.rest(stage.ruda);
    const messages = `/channels/${stage.general.id}/messages` as const;
    stage.minsu.post(stage.general, "말");

    stage.discord.setPermissions(stage.ruda, stage.general, {
      deny: ["SEND_MESSAGES", "READ_MESSAGE_HISTORY", "CREATE_PUBLIC_THREADS"],
    });
    await expect(rest.post(messages, { body: { content: "x" } })).rejects.toMatchObject({
      status: 403,
      code: 50013,
    });
    await expect(
      rest.post(`/channels/${stage.general.id}/threads`, { body: { name: "t", type: 11 } }),
    ).rejects.toMatchObject({ status: 403, code: 50013 });
    expect(await rest.get(messages)).toEqual([]);

    stage.discord.setPermissions(stage.ruda, stage.general, { deny: ["VIEW_CHANNEL"] });
    await expect(rest.get(messages)).rejects.toMatchObject({ status: 403, code: 50001 });
    stage.discord.kickBot(stage.eden, stage.guild);
    await expect(stage.rest(stage.eden).get(messages)).rejects.toMatchObject({
      status: 403,
      code: 50001,
    });
    stage.discord.removeChannel(stage.general);
    await expect(rest.get(messages)).rejects.toMatchObject({ status: 404, code: 10003 });
  });

  test(
    "overwrites of all members, roles and one member decide as the real discord.js says",
    FULL,
    async () => {
      await using stage = await aStage();
      const { discord, guild } = stage;
      const ways = [{}, { allow: ["SEND_MESSAGES"] }, { deny: ["SEND_MESSAGES"] }] as const;
      const channels = ways.flatMap((everyone) =>
        ways.flatMap((role) =>
          ways.map((member) => {
            const channel = discord.addChannel(guild, "a channel");
            discord.setPermissions("everyone", channel, everyone);
            discord.setPermissions({ roleOf: stage.ruda }, channel, role);
            discord.setPermissions(stage.ruda, channel, member);
            return channel;
          }),
        ),
      );
      const ruda = await stage.login(stage.ruda);
      const said = (id: string): boolean => {
        const channel = ruda.channels.cache.get(id) as GuildChannel;
        return channel.permissionsFor(ruda.user!)!.has("SendMessages");
      };
      const done = async (id: string): Promise<boolean> =>
        stage
          .rest(stage.ruda)
          .post(`/channels/${id}/typing`)
          .then(
            () => true,
            () => false,
          );

      const decided: boolean[] = [];
      for (const { id } of channels) decided.push(await done(id));

      expect(decided).toEqual(channels.map(({ id }) => said(id)));
      expect(decided.filter(Boolean)).toHaveLength(14);
    },
  );

  test("a guild with an outage is unavailable, also to bots that come meanwhile, until it is back", async () => {
    await using stage = await aStage({ identifyWindowMs: 1 });
    const ruda = await stage.login(stage.ruda);
    const heard: string[] = [];
    ruda.on(Events.MessageCreate, ({ content }) => heard.push(content));
    const messages = `/channels/${stage.general.id}/messages` as const;

    const gone = once(ruda, Events.GuildUnavailable);
    stage.discord.setOutage(stage.guild, true);
    await gone;
    const eden = await stage.login(stage.eden);
    stage.minsu.post(stage.general, "아무도 듣지 않는다");
    await expect(
      stage.rest(stage.ruda).post(messages, { body: { content: "안 나간다" } }),
    ).rejects.toMatchObject({ status: 503 });
    await expect(
      stage.rest(stage.ruda).get(`/guilds/${stage.guild.id}/channels`),
    ).rejects.toMatchObject({ status: 503 });
    const back = [ruda, eden].map((client) => once(client, Events.GuildAvailable));
    stage.discord.setOutage(stage.guild, false);
    await Promise.all(back);
    stage.minsu.post(stage.general, "이제 듣는다");

    await eventually(() => expect(heard).toEqual(["이제 듣는다"]));
    expect(stage.discord.messages(stage.general).map(({ text }) => text)).toEqual([
      "아무도 듣지 않는다",
      "이제 듣는다",
    ]);
  });

  test("a revoked token is 401 and ends the session with 4004", async () => {
    await using stage = await aStage();
    const ruda = await stage.login(stage.ruda);
    const gone = once(ruda, Events.ShardDisconnect);

    stage.discord.revokeToken(stage.ruda);

    expect((await gone)[0]).toMatchObject({ code: 4004 });
    await expect(stage.rest(stage.ruda).get("/users/@me")).rejects.toMatchObject({ status: 401 });
  });

  test("a thread that is archived opens by a message, and a locked one does not", async () => {
    await using stage = await aStage();
    const thread = stage.minsu.startThread(stage.general, "오래된 것");
    const rest = stage.rest(stage.ruda);
    const post = () => rest.post(`/channels/${thread.id}/messages`, { body: { content: "다시" } });

    stage.discord.archiveThread(thread);
    const archived = (await rest.get(`/channels/${stage.general.id}/threads/archived/public`)) as {
      threads: { id: string }[];
    };
    await post();
    expect(archived.threads.map(({ id }) => id)).toEqual([thread.id]);
    expect(stage.discord.threads(stage.general)[0]).toMatchObject({ archived: false });

    stage.discord.archiveThread(thread, { locked: true });
    await expect(post()).rejects.toMatchObject({ status: 403 });
  });

  test("pages through messages in both directions, at most 100 at once", async () => {
    await using stage = await aStage();
    const posted = Array.from({ length: 7 }, (_, index) =>
      stage.minsu.post(stage.general, String(index)),
    );
    const rest = stage.rest(stage.ruda);
    const texts = async (query: string) =>
      (
        (await rest.get(`/channels/${stage.general.id}/messages`, {
          query: new URLSearchParams(query),
        })) as { content: string }[]
      ).map(({ content }) => content);

    expect(await texts(`after=${posted[1]!.id}&limit=3`)).toEqual(["4", "3", "2"]);
    expect(await texts(`before=${posted[5]!.id}&limit=2`)).toEqual(["4", "3"]);
    expect(await texts("limit=2")).toEqual(["6", "5"]);
    await expect(texts("limit=101")).rejects.toMatchObject({ status: 400, code: 50035 });
    await expect(texts(`after=1&before=2`)).rejects.toMatchObject({ status: 400, code: 50035 });
  });

  test("too many refused requests ban the address with a page, whatever is asked, until they are old", async () => {
    await using stage = await aStage({ invalidRequests: { limit: 3, perMs: 400 } });
    const ask = (token: string) =>
      fetch(`${stage.discord.url}/v10/users/@me`, { headers: { authorization: `Bot ${token}` } });

    const wrong = [await ask("x"), await ask("x"), await ask("x")].map(({ status }) => status);
    const banned = await ask("token-ruda");
    const page = await banned.text();
    await eventually(async () => expect((await ask("token-ruda")).status).toBe(200));

    expect(wrong).toEqual([401, 401, 401]);
    expect(banned.status).toBe(429);
    expect(banned.headers.get("via")).toBeNull();
    expect(banned.headers.get("retry-after")).toBe("1");
    expect(page).toContain("<!doctype html>");
  });

  test("a thread in which nothing happens for its time is archived, and a message begins it anew", async () => {
    const timers = new Map<() => void, number>();
    const after: Clock["after"] = (ms, callback) => {
      timers.set(callback, ms);
      return () => timers.delete(callback);
    };
    await using stage = await aStage({ clock: { ...systemClock, after } });
    const thread = stage.minsu.startThread(stage.general, "일");
    const isDue = () => [...timers].filter(([, ms]) => ms === 4320 * 60_000);

    stage.minsu.post(thread, "말");
    const [due, ...others] = isDue();
    due![0]();
    const archived = stage.discord.threads(stage.general)[0]!.archived;
    timers.clear();
    stage.minsu.post(thread, "다시");

    expect(others).toEqual([]);
    expect(archived).toBe(true);
    expect(stage.discord.threads(stage.general)[0]!.archived).toBe(false);
    expect(isDue()).toHaveLength(1);
  });

  test("a global limit stops every route of that bot alone", async () => {
    await using stage = await aStage({
      rateLimits: { ...OPEN_LIMITS, global: { limit: 2, perMs: 5000 } },
    });
    const rest = stage.rest(stage.ruda, { rejectOnRateLimit: () => true });

    await rest.get("/users/@me");
    await rest.get("/users/@me/guilds");

    await expect(rest.get(`/channels/${stage.general.id}`)).rejects.toMatchObject({ global: true });
    expect(stage.discord.requests.at(-1)).toMatchObject({ status: 429, bot: "루다" });
    await expect(stage.rest(stage.eden).get("/users/@me")).resolves.toMatchObject({
      username: "이든",
    });
  });

  test.each(["nothing", "doing it"] as const)(
    "a failure after %s leaves what it says",
    async (after) => {
      await using stage = await aStage();
      const messages = `/channels/${stage.general.id}/messages` as const;
      const rest = stage.rest(stage.ruda, { timeout: 150 });

      for (const kind of ["5xx", "timeout", "cut"] as const) {
        stage.discord.fault({ route: messages, method: "POST", bot: "루다" }, { kind, after });
        await expect(rest.post(messages, { body: { content: kind } })).rejects.toThrow();
      }

      expect(stage.discord.messages(stage.general).map(({ text }) => text)).toEqual(
        after === "nothing" ? [] : ["5xx", "timeout", "cut"],
      );
      expect(stage.discord.requests.map(({ status }) => status)).toEqual([502, 0, 0]);
    },
  );
});

/** A guild with a channel, two bots and a person; no bot is logged in. */
async function aStage(options: FakeDiscordOptions = {}) {
  const discord = await FakeDiscord.start({ rateLimits: OPEN_LIMITS, ...options });
  const guild = discord.addGuild();
  const general: FakePlace = discord.addChannel(guild, "general");
  const ruda = discord.addBot({ name: "루다", token: "token-ruda" });
  const eden = discord.addBot({ name: "이든", token: "token-eden" });
  const minsu = discord.addPerson("민수");
  return {
    discord,
    guild,
    general,
    ruda,
    eden,
    minsu,
    async login(bot: FakeBot, intents = INTENTS): Promise<Client> {
      const client = new Client({
        intents,
        rest: { api: discord.url, retries: 0 },
        partials: [1],
        makeCache: Options.cacheEverything(),
      });
      clients.push(client);
      const ready = once(client, Events.ClientReady);
      await client.login(bot.token);
      await ready;
      return client;
    },
    rest: (bot: FakeBot, more: object = {}) =>
      new REST({ api: discord.url, retries: 0, ...more }).setToken(bot.token),
    socket: () => aSocket(discord.url),
    [Symbol.asyncDispose]: () => discord.stop(),
  };
}

async function aSocket(url: string) {
  const socket = new WebSocket(
    `${url.replace("http", "ws").replace("/api", "/gateway")}?v=10&encoding=json`,
  );
  const frames: { op: number; t?: string; d?: unknown }[] = [];
  socket.on("message", (data: Buffer) =>
    frames.push(JSON.parse(data.toString()) as (typeof frames)[number]),
  );
  const closed = new Promise<number>((resolve) => socket.on("close", resolve));
  await new Promise((resolve) => socket.once("open", resolve));
  return {
    closed,
    send: (payload: object) => socket.send(JSON.stringify(payload)),
    until: (is: (frame: (typeof frames)[number]) => boolean) =>
      eventually(() => frames.find(is) ?? Promise.reject(new Error("not yet"))),
  };
}

function once(client: Client, event: string): Promise<unknown[]> {
  return new Promise((resolve) =>
    client.once(event as never, (...values: unknown[]) => resolve(values)),
  );
}

function next(client: Client, is: (message: Message) => boolean): Promise<Message> {
  return new Promise((resolve) =>
    client.on(Events.MessageCreate, (message) => is(message) && resolve(message)),
  );
}
