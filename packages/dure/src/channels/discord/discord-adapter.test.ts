import { FULL } from "../../kernel/test-tiers.ts";
import { describe, expect, test } from "vitest";
import type {
  ChannelAccount,
  ChannelError,
  OutgoingPost,
  PlaceAddress,
} from "../../rooms/channel-adapter.ts";
import { FakeDiscord, type FakeDiscordOptions, type FakePlace } from "@dure/testing";
import { DiscordAdapter, type DiscordOptions } from "./discord-adapter.ts";
import { toWireText } from "./mapping.ts";
import { loadDiscordJs } from "./discord-js.ts";
import { RecordingPort } from "../test-port.ts";
import { eventually } from "../../../test/until.ts";

const OPEN_LIMITS = {
  routes: {},
  others: { limit: 1000, perMs: 1000 },
  global: { limit: 1000, perMs: 1000 },
};
const RUDA: ChannelAccount = { id: "ruda", agent: "ruda", displayName: "루다" };
const EDEN: ChannelAccount = { id: "eden", agent: "eden", displayName: "이든" };
const MESSAGES = "/channels/{channel}/messages";
const never = new AbortController().signal;
/** What the platform sends with an empty text. Source: "Message Snapshot Object", "Poll Object". */
const ODD_FORMS: Readonly<Record<string, object>> = {
  forward: {
    content: "",
    message_reference: { type: 1, message_id: "1", channel_id: "2" },
    message_snapshots: [
      {
        message: {
          content: "첫 줄\n둘째 줄",
          attachments: [{ id: "1", filename: "a.png", size: 1, url: "https://cdn.invalid/a.png" }],
        },
      },
    ],
  },
  poll: {
    content: "",
    poll: {
      question: { text: "언제 볼까요?" },
      answers: [
        { answer_id: 1, poll_media: { text: "오늘" } },
        { answer_id: 2, poll_media: { text: "내일" } },
      ],
      allow_multiselect: false,
    },
  },
};

describe("what a bot hears", () => {
  test("a message, in the words of rooms", async () => {
    await using stage = await aStage();
    await stage.connect(RUDA);

    const own = stage.discord.messages(stage.general);
    const asked = stage.minsu.post(
      stage.general,
      `안녕 ${stage.mention.ruda} 그리고 \`${stage.mention.eden}\``,
      { attachments: [{ name: "a.txt", size: 3, contentType: "text/plain" }] },
    );
    await stage.heard("ruda", asked.text);

    expect(own).toEqual([]);
    expect(stage.port.messages[0]?.message).toEqual({
      platformId: asked.id,
      place: stage.here,
      author: { platformId: stage.minsu.id, name: "민수", isBot: false },
      text: asked.text,
      mentions: [{ platformId: stage.ruda.id, at: 3 }],
      attachments: [
        {
          id: expect.any(String) as string,
          name: "a.txt",
          url: expect.stringContaining("a.txt") as string,
          size: 3,
          contentType: "text/plain",
        },
      ],
      at: expect.any(Number) as number,
    });
    expect(stage.port.states.map(({ state }) => state)).toEqual(["starting", "ready"]);
    expect(stage.port.states.at(-1)?.account.platformId).toBe(stage.ruda.id);
  });

  test("a reply mentions the author if that is a bot, and not a person", async () => {
    await using stage = await aStage();
    await stage.connect(EDEN);
    const { platformId } = await stage.adapter.post(stage.aPost("물어보세요"), { signal: never });

    stage.minsu.post(stage.general, "이것은?", { replyTo: { id: platformId } });
    const hers = stage.minsu.post(stage.general, "혼잣말");
    stage.minsu.post(stage.general, "덧붙임", { replyTo: hers });
    await stage.heard("eden", "덧붙임");

    const mentions = Object.fromEntries(
      stage.port.messages.map(({ message }) => [
        message.text,
        message.mentions.map(({ platformId }) => platformId),
      ]),
    );
    expect(mentions).toMatchObject({ "이것은?": [stage.ruda.id], 혼잣말: [], 덧붙임: [] });
  });

  test("the role that came with a bot mentions that bot, where it is told and where it is read", async () => {
    await using stage = await aStage();
    await stage.connect(RUDA);
    const [own, eden] = [stage.ruda, stage.eden].map((bot) => stage.discord.mentionRole(bot));

    stage.minsu.post(stage.general, `${own} 그리고 ${eden} \`${own}\` <@&1>`);
    const text = `${stage.mention.ruda} 그리고 ${stage.mention.eden} \`${stage.mention.ruda}\` <@&1>`;
    await stage.heard("ruda", text);
    const read = await stage.adapter.readSince(RUDA, stage.here, { limit: 10, signal: never });

    for (const message of [stage.port.messages[0]!.message, read[0]!]) {
      expect(message.text).toBe(text);
      expect(message.mentions.map(({ platformId }) => platformId)).toEqual([
        stage.ruda.id,
        stage.eden.id,
      ]);
    }
  });

  test("the role of a bot that comes later counts, and that of one that was removed does not", async () => {
    await using stage = await aStage();
    await stage.connect(RUDA);
    const later = stage.discord.addBot({ name: "세움", token: "token-seum" });

    stage.minsu.post(stage.general, `${stage.discord.mentionRole(later)} 왔어요?`);
    stage.discord.kickBot(stage.eden, stage.guild);
    stage.minsu.post(stage.general, `${stage.discord.mentionRole(stage.eden)} 갔어요?`);
    await eventually(() => expect(stage.port.messages).toHaveLength(2));

    expect(stage.port.messages.map(({ message }) => message.mentions.length)).toEqual([1, 0]);
  });

  test("what was forwarded, and a poll with its answers", async () => {
    await using stage = await aStage();
    await stage.connect(RUDA);
    stage.discord.gateway.alter((packet) => {
      const data = packet.d as { content?: string };
      if (packet.t !== "MESSAGE_CREATE") return packet;
      return { ...packet, d: { ...data, ...ODD_FORMS[data.content ?? ""] } };
    });

    for (const kind of Object.keys(ODD_FORMS)) stage.minsu.post(stage.general, kind);
    await eventually(() => expect(stage.port.messages).toHaveLength(2));

    expect(stage.port.messages.map(({ message }) => message.text)).toEqual([
      "↪\n> 첫 줄\n> 둘째 줄",
      "📊 언제 볼까요?\n- 오늘\n- 내일",
    ]);
    expect(stage.port.messages[0]?.message.attachments).toMatchObject([{ name: "a.png" }]);
  });

  test("that others put it into a thread, and took it out", async () => {
    await using stage = await aStage({}, { joinsThread: () => false });
    await stage.connect(EDEN);
    const thread = stage.minsu.startThread(stage.general, "회의");
    const place = { ...stage.here, thread: thread.id };
    stage.minsu.post(thread, "말");
    const change = (what: object): void =>
      stage.discord.gateway.sendEvent(stage.eden, "THREAD_MEMBERS_UPDATE", {
        ...{ id: thread.id, guild_id: stage.guild.id, member_count: 2 },
        ...what,
      });
    const isIn = () =>
      stage.adapter.threadsInUse(EDEN).map(({ place: { thread: id }, wasAdded }) => [id, wasAdded]);

    stage.discord.archiveThread(thread);
    stage.minsu.post(thread, "다시"); // tells its newest message
    await eventually(() => expect(isIn()).toEqual([[place.thread, false]]));
    change({ added_members: [{ user_id: stage.eden.id }] });
    await eventually(() => expect(isIn()).toEqual([[place.thread, true]]));
    change({ removed_member_ids: [stage.eden.id] });
    await eventually(() => expect(isIn()).toEqual([[place.thread, false]]));
  });

  test("a list of threads that names its memberships apart: it joins the others alone", async () => {
    await using stage = await aStage({}, JOINS_ALL);
    await stage.connect(EDEN);
    const [member, other] = ["한 방", "딴 방"].map((name, index) => ({
      ...{ id: `90000000000000000${index}`, type: 11, name, guild_id: stage.guild.id },
      ...{ parent_id: stage.general.id, owner_id: stage.minsu.id },
    }));

    stage.discord.gateway.sendEvent(stage.eden, "THREAD_LIST_SYNC", {
      guild_id: stage.guild.id,
      threads: [member, other],
      members: [{ id: member!.id, user_id: stage.eden.id, join_timestamp: "", flags: 0 }],
    });
    await eventually(() =>
      expect(joinsOf(stage.discord)).toEqual([`/channels/${other!.id}/thread-members/@me`]),
    );
  });

  test("a direct message, an edit, the end of a thread, and its own removal from a server", async () => {
    await using stage = await aStage();
    await stage.connect(RUDA);
    const thread = stage.minsu.startThread(stage.general, "잡담");
    const direct = stage.minsu.directMessages(stage.ruda);

    stage.minsu.edit(stage.minsu.post(direct, "우리끼리"), "우리끼리만");
    await eventually(() =>
      expect(stage.port.edits).toMatchObject([
        { text: "우리끼리만", place: { adapter: "discord", channel: direct.id, direct: true } },
      ]),
    );
    stage.discord.archiveThread(thread);
    stage.minsu.post(thread, "다시 열기");
    stage.discord.deleteThread(thread);
    await eventually(() =>
      expect(stage.port.changes.map(({ kind }) => kind)).toContain("thread-deleted"),
    );
    stage.discord.kickBot(stage.ruda, stage.guild);
    await eventually(() =>
      expect(stage.port.changes.at(-1)).toEqual({ kind: "access-lost", place: stage.here }),
    );

    const place = { ...stage.here, thread: thread.id };
    expect(stage.port.changes.map(({ kind }) => kind)).toEqual([
      "thread-created",
      "thread-archived",
      "thread-opened",
      "thread-deleted",
      "access-lost",
    ]);
    expect(stage.port.changes[0]).toEqual({
      kind: "thread-created",
      place,
      name: "잡담",
      owner: stage.minsu.id,
    });
  });

  test("of a thread that does not concern it nothing, until it is named there: then all", async () => {
    await using stage = await aStage();
    await stage.connect(EDEN);
    const thread = stage.minsu.startThread(stage.general, "회의");

    stage.minsu.post(thread, "먼저 한 말");
    await eventually(() => expect(stage.port.changes).toHaveLength(1));
    expect(stage.discord.threads(stage.general)[0]?.members).toEqual(["민수"]);
    stage.minsu.post(thread, `${stage.mention.eden} 봐 줘`);

    await stage.heard("eden", `${stage.mention.eden} 봐 줘`);
    expect(stage.port.texts("eden")).toEqual(["먼저 한 말", `${stage.mention.eden} 봐 줘`]);
    expect(joinsOf(stage.discord)).toEqual([]); // the platform has put it in
  });

  test("a thread that it is called to: it joins, and hears what was said there", async () => {
    await using stage = await aStage();
    await stage.connect(EDEN);
    const thread = stage.minsu.startThread(stage.general, "회의");
    stage.minsu.post(thread, "@이든 봐 줘");

    await stage.adapter.joinThread(EDEN, { ...stage.here, thread: thread.id });

    await stage.heard("eden", "@이든 봐 줘");
    expect(joinsOf(stage.discord)).toEqual([`/channels/${thread.id}/thread-members/@me`]);
    await expect(
      stage.adapter.joinThread(RUDA, { ...stage.here, thread: thread.id }),
    ).rejects.toMatchObject({ failure: "rate-limited" }); // not connected yet: called again later
  });

  test("a private thread only by invitation, and that it is private", async () => {
    await using stage = await aStage({}, JOINS_ALL);
    await stage.connect(EDEN);
    const thread = stage.minsu.startThread(stage.general, "우리끼리", { isPrivate: true });
    stage.minsu.post(thread, "우리만의 말");
    const open = stage.minsu.startThread(stage.general, "모두");
    stage.minsu.post(open, "모두의 말");
    await stage.heard("eden", "모두의 말");
    expect(stage.port.texts("eden")).toEqual(["모두의 말"]);

    stage.minsu.post(thread, `${stage.mention.eden} 어때요?`);

    await stage.heard("eden", `${stage.mention.eden} 어때요?`);
    const place = { ...stage.here, thread: thread.id, private: true };
    expect(stage.port.messages.at(-1)?.message.place).toEqual(place);
  });

  test("the mention of a bot's role in a text that was edited", async () => {
    await using stage = await aStage();
    await stage.connect(EDEN);
    const said = stage.minsu.post(stage.general, "봐 줘");

    stage.minsu.edit(said, `${stage.discord.mentionRole({ ...stage.eden, token: "" })} 봐 줘`);

    await eventually(() =>
      expect(stage.port.edits).toMatchObject([{ text: `<@${stage.eden.id}> 봐 줘` }]),
    );
  });

  test("joins a new thread where it joins all, and hears what was said before it had joined", async () => {
    await using stage = await aStage({}, JOINS_ALL);
    await stage.connect(EDEN);
    const joining = stage.discord.fault(
      { route: "/channels/{channel}/thread-members/@me", method: "PUT" },
      { kind: "5xx" },
    );

    const thread = stage.minsu.startThread(stage.general, "회의");
    stage.minsu.post(thread, "먼저 한 말");
    await joining.reached;
    await stage.discord.waitFor("eden in the thread", () =>
      stage.discord.threads(stage.general)[0]?.members.includes("이든"),
    );
    stage.minsu.post(thread, "나중 한 말");

    await stage.heard("eden", "나중 한 말");
    expect(stage.port.texts("eden")).toEqual(["먼저 한 말", "나중 한 말"]);
    expect(stage.port.messages[0]?.message).toMatchObject({
      place: { channel: stage.general.id, thread: thread.id },
      threadName: "회의",
    });
  });

  test("joins the threads of a channel that is allowed later: at once or when in use again; no other", async () => {
    let allowed = false;
    await using stage = await aStage(
      {},
      { joinsThread: ({ channel }) => allowed && channel === stage.general.id },
    );
    const elsewhere = stage.discord.addChannel(stage.guild, "elsewhere");
    await stage.connect(EDEN);
    const [open, asleep, other] = [
      stage.minsu.startThread(stage.general, "열린 방"),
      stage.minsu.startThread(stage.general, "자는 방"),
      stage.minsu.startThread(elsewhere, "딴 방"),
    ];
    stage.minsu.post(open, "전에 한 말");
    stage.discord.archiveThread(asleep);
    await eventually(() =>
      expect(stage.port.changes.map(({ kind }) => kind)).toContain("thread-archived"),
    );
    const membersOf = ({ id }: FakePlace): readonly string[] =>
      [...stage.discord.threads(stage.general), ...stage.discord.threads(elsewhere)].find(
        (thread) => thread.id === id,
      )!.members;
    expect([open, asleep, other].map(membersOf).flat()).not.toContain("이든");

    allowed = true;
    stage.adapter.channelsChanged();
    await stage.heard("eden", "전에 한 말");
    expect([open, asleep, other].map((thread) => membersOf(thread).includes("이든"))).toEqual([
      true,
      false,
      false,
    ]);
    stage.minsu.post(asleep, "깨어난 말");
    await stage.heard("eden", "깨어난 말");

    expect(membersOf(asleep)).toContain("이든");
    stage.adapter.channelsChanged();
    stage.minsu.post(open, "다음 말");
    await stage.heard("eden", "다음 말");
    expect(
      stage.discord.requests.filter(
        ({ method, route }) =>
          method === "PUT" && route === "/channels/{channel}/thread-members/@me",
      ),
    ).toHaveLength(2);
  });

  test("each place in order, also when storing is slow, and places beside each other", async () => {
    await using stage = await aStage();
    await stage.connect(RUDA);
    const other = stage.discord.addChannel(stage.guild, "other");
    const gate = Promise.withResolvers<void>();
    stage.port.before = ({ text }) => (text === "느린 것" ? gate.promise : Promise.resolve());

    stage.minsu.post(stage.general, "느린 것");
    stage.minsu.post(stage.general, "그다음");
    stage.minsu.post(other, "옆방");
    await stage.heard("ruda", "옆방");
    const whileSlow = stage.port.texts("ruda");
    gate.resolve();
    await stage.heard("ruda", "그다음");

    expect(whileSlow).toEqual(["옆방"]);
    expect(stage.port.texts("ruda")).toEqual(["옆방", "느린 것", "그다음"]);
  });
});

describe("gaps", () => {
  test("after a session that could not be resumed, what was missed is read before what comes then is stored", async () => {
    await using stage = await aStage();
    await stage.connect(RUDA);
    stage.minsu.post(stage.general, "하나");
    await stage.heard("ruda", "하나");

    const gate = Promise.withResolvers<void>();
    stage.port.beforeGap = (account) => (account === "ruda" ? gate.promise : Promise.resolve());
    stage.discord.dropGateway(stage.ruda, { resumable: false });
    stage.minsu.post(stage.general, "둘");
    await eventually(() => expect(stage.port.gaps).toBe(2));
    await stage.connect(EDEN); // hears the next one while 루다 may not yet
    stage.minsu.post(stage.general, "셋");
    await stage.heard("eden", "셋");
    const whileHeld = stage.port.texts("ruda");
    gate.resolve();
    await stage.heard("ruda", "셋");

    expect(whileHeld).toEqual(["하나"]);
    expect(stage.port.texts("ruda")).toEqual(["하나", "둘", "셋"]);
    expect(
      stage.port.states.flatMap(({ account, state }) => (account.id === "ruda" ? state : [])),
    ).toEqual(["starting", "ready", "reconnecting", "ready"]);
  });

  test("what a new session brings before it is complete waits too", async () => {
    await using stage = await aStage({ guildsAfterMs: 150 });
    await stage.connect(RUDA);

    stage.discord.dropGateway(stage.ruda, { resumable: false });
    stage.minsu.post(stage.general, "잃은 말");
    await stage.discord.waitFor("a new session", () => stage.discord.isConnected(stage.ruda), {
      timeoutMs: 10_000,
    });
    stage.minsu.post(stage.general, "이른 말");
    await stage.heard("ruda", "이른 말");

    expect(stage.port.texts("ruda")).toEqual(["잃은 말", "이른 말"]);
  });

  test("a server that comes late is read too", async () => {
    await using stage = await aStage();
    stage.discord.kickBot(stage.ruda, stage.guild);
    stage.port.watched.length = 0;
    await stage.connect(RUDA);
    stage.minsu.post(stage.general, "루다가 오기 전");

    stage.port.watched.push(stage.here);
    stage.discord.inviteBot(stage.ruda, stage.guild);

    await stage.heard("ruda", "루다가 오기 전");
    expect(stage.port.gaps).toBe(2);
  });

  test("a resumed session needs no reading, and an event that comes twice is handed on twice", async () => {
    await using stage = await aStage();
    await stage.connect(RUDA);

    stage.discord.dropGateway(stage.ruda, { resumable: true });
    stage.minsu.post(stage.general, "그 사이");
    await stage.heard("ruda", "그 사이");
    stage.discord.duplicateNext(stage.ruda);
    stage.minsu.post(stage.general, "두 번");
    await eventually(() =>
      expect(stage.port.messages.filter(({ message }) => message.text === "두 번")).toHaveLength(2),
    );

    expect(stage.port.gaps).toBe(1);
    expect(stage.discord.sessionsStarted(stage.ruda)).toBe(1);
    expect(stage.port.states.map(({ state }) => state)).toEqual([
      "starting",
      "ready",
      "reconnecting",
      "ready",
    ]);
  });

  test("events that the platform lost come with the next reading", async () => {
    await using stage = await aStage();
    await stage.connect(RUDA);

    stage.discord.loseGatewayEvents(stage.ruda, true);
    stage.minsu.post(stage.general, "잃은 말");
    stage.discord.loseGatewayEvents(stage.ruda, false);
    stage.discord.dropGateway(stage.ruda, { resumable: false });

    await stage.heard("ruda", "잃은 말");
    expect(stage.port.gaps).toBe(2);
  });

  test("a full inbox is left out and read again, in order and nothing lost", async () => {
    await using stage = await aStage({}, { inboxLimit: 5 });
    await stage.connect(RUDA);
    const gate = Promise.withResolvers<void>();
    stage.port.before = ({ text }) => (text === "0" ? gate.promise : Promise.resolve());

    for (let index = 0; index < 20; index++) stage.minsu.post(stage.general, String(index));
    await stage.discord.waitFor(
      "all posted",
      () => stage.discord.messages(stage.general).length === 20,
    );
    await eventually(() => expect(stage.port.lines.join("\n")).toContain("inbox of ruda is full"));
    gate.resolve();
    await stage.heard("ruda", "19");

    expect(stage.port.texts("ruda")).toEqual(
      Array.from({ length: 20 }, (_, index) => String(index)),
    );
    expect(stage.port.gaps).toBeGreaterThan(1);
  });

  test("a message that could not be stored is read again, before younger ones", FULL, async () => {
    await using stage = await aStage();
    await stage.connect(RUDA);
    let failures = 2;
    stage.port.before = async ({ text }) => {
      if (text === "하나" && failures-- > 0) throw new Error("the database is away");
    };

    stage.minsu.post(stage.general, "하나");
    stage.minsu.post(stage.general, "둘");
    await stage.heard("ruda", "둘");

    expect(stage.port.texts("ruda")).toEqual(["하나", "둘"]);
  });

  test("reading a gap waits at rate limits and tries again after a failure of theirs", async () => {
    await using stage = await aStage();
    stage.minsu.post(stage.general, "하나");
    stage.discord.fault({ route: MESSAGES, method: "GET" }, { kind: "429", retryAfterMs: 50 });
    stage.discord.fault({ route: MESSAGES, method: "GET" }, { kind: "5xx" });

    const read = await stage.adapter.readSince(RUDA, stage.here, { limit: 10, signal: never });

    expect(read.map(({ text }) => text)).toEqual(["하나"]);
  });

  test("a thread that was opened meanwhile is told, and joined where all are joined", async () => {
    await using stage = await aStage({}, JOINS_ALL);
    await stage.connect(EDEN);

    stage.discord.dropGateway(stage.eden, { resumable: false });
    const thread = stage.minsu.startThread(stage.general, "그 사이의 일");
    await stage.discord.waitFor(
      "eden in the thread",
      () => stage.discord.threads(stage.general)[0]?.members.includes("이든"),
      { timeoutMs: 10_000 },
    );

    await eventually(() =>
      expect(stage.port.changes).toContainEqual({
        kind: "thread-created",
        place: { ...stage.here, thread: thread.id },
        name: "그 사이의 일",
        owner: stage.minsu.id,
      }),
    );
  });

  test("stopping while the gateway reconnects leaves no connection behind", async () => {
    await using stage = await aStage();
    const connection = await stage.connect(RUDA);

    const lost = Promise.withResolvers<void>();
    const told = stage.port.accountChanged.bind(stage.port);
    stage.port.accountChanged = async (account, state, detail) => {
      await told(account, state, detail);
      if (state === "reconnecting") lost.resolve();
    };
    stage.discord.dropGateway(stage.ruda, { resumable: true });
    await lost.promise;
    await connection.end();
    await new Promise((resolve) => setTimeout(resolve, 800)); // discord.js connects again 500 ms after a loss

    expect(stage.discord.isConnected(stage.ruda)).toBe(false);
    expect(stage.port.stateOf("ruda")).toBe("stopped");
  });
});

test("a connection that is not wanted any more ends at once, also while the platform does not answer", async () => {
  await using stage = await aStage();
  const fault = stage.discord.fault({ route: "/gateway/bot" }, { kind: "timeout" });
  const abort = new AbortController();

  const ended = stage.adapter.connect(RUDA, { signal: abort.signal });
  await fault.reached;
  abort.abort(new Error("the lease is lost"));
  await ended;

  expect(stage.port.states.map(({ state }) => state)).toEqual(["starting", "stopped"]);
  expect(stage.discord.sessionsStarted(stage.ruda)).toBe(0);
});

describe("posting", () => {
  test("mentions only the intended, in the platform's form", async () => {
    await using stage = await aStage();

    await stage.adapter.post(
      {
        ...stage.aPost(`<@eden> 봐줘 ${stage.mention.minsu} @everyone`),
        mentions: [{ agent: "eden", platformId: stage.eden.id, displayName: "이든" }],
      },
      { signal: never },
    );

    expect(stage.discord.messages(stage.general)).toMatchObject([
      {
        author: "루다",
        text: `${stage.mention.eden} 봐줘 ${stage.mention.minsu} @everyone`,
        mentions: ["이든"],
        mentionsEveryone: false,
        nonce: "key-1",
      },
    ]);
  });

  test.each(["5xx", "timeout", "cut"] as const)(
    "one message although the answer to the first attempt was lost by %s",
    async (kind) => {
      await using stage = await aStage({}, { timeoutMs: 300 });
      stage.discord.fault({ route: MESSAGES, method: "POST" }, { kind, after: "doing it" });
      const post = stage.aPost("한 번만");

      const error = await stage.adapter
        .post(post, { signal: never })
        .catch((error: unknown) => error as ChannelError);
      const { platformId } = await stage.adapter.post(post, { signal: never });

      expect(error).toMatchObject({ failure: "transient", notSent: false });
      expect(stage.discord.messages(stage.general).map(({ id }) => id)).toEqual([platformId]);
    },
  );

  test("is found by its exact text among its own messages after the last confirmed one", async () => {
    await using stage = await aStage();
    const before = await stage.adapter.post(
      { ...stage.aPost("같은 말"), key: "key-0" },
      { signal: never },
    );
    const post = stage.aPost("같은 말");
    const after = before.platformId;

    stage.minsu.post(stage.general, "같은 말");
    expect(await stage.adapter.findPost(post, { after, signal: never })).toEqual({ found: "no" });
    stage.discord.fault({ route: MESSAGES, method: "POST" }, { kind: "cut", after: "doing it" });
    await expect(stage.adapter.post(post, { signal: never })).rejects.toMatchObject({
      failure: "transient",
    });
    for (let index = 0; index < 120; index++) stage.minsu.post(stage.general, String(index));

    expect(await stage.adapter.findPost(post, { after, signal: never })).toEqual({
      found: "yes",
      platformId: stage.discord.messages(stage.general)[2]?.id,
    });
  });

  test("is not believed to be missing by a bot that may not read the history", async () => {
    await using stage = await aStage();
    const { platformId } = await stage.adapter.post(stage.aPost("한 말"), { signal: never });
    stage.discord.setPermissions(stage.ruda, stage.general, { deny: ["READ_MESSAGE_HISTORY"] });

    expect(await stage.adapter.findPost(stage.aPost("한 말"), { signal: never })).toEqual({
      found: "unsure",
    });
    expect(
      await stage.adapter.findPost(stage.aPost("한 말"), { after: platformId, signal: never }),
    ).toEqual({ found: "no" });
    await expect(
      stage.adapter.readSince(RUDA, stage.here, { limit: 10, signal: never }),
    ).rejects.toMatchObject({ failure: "permission", missing: "READ_MESSAGE_HISTORY" });
  });

  test.each<[string, (stage: Stage) => void, object]>([
    [
      "a kicked bot",
      (stage) => stage.discord.kickBot(stage.ruda, stage.guild),
      { failure: "permission", missing: "VIEW_CHANNEL", detail: "403 50001", notSent: true },
    ],
    [
      "a bot that may not write",
      (stage) =>
        stage.discord.setPermissions(stage.ruda, stage.general, { deny: ["SEND_MESSAGES"] }),
      { failure: "permission", missing: "SEND_MESSAGES", detail: "403 50013" },
    ],
    [
      "a channel that is gone",
      (stage) => stage.discord.removeChannel(stage.general),
      { failure: "not-found", detail: "404 10003" },
    ],
    [
      "a text that is too long",
      (stage) => stage.setText("가".repeat(2001)),
      { failure: "invalid", detail: "400 50035" },
    ],
    [
      "a rate limit",
      (stage) => stage.discord.fault({ route: MESSAGES }, { kind: "429", retryAfterMs: 2500 }),
      { failure: "rate-limited", retryAfterMs: 2550, notSent: true },
    ],
    [
      "the global rate limit",
      (stage) =>
        stage.discord.fault({ route: MESSAGES }, { kind: "429", retryAfterMs: 2500, global: true }),
      { failure: "rate-limited", detail: "429 global" },
    ],
    [
      "a server with no room for threads",
      (stage) => stage.discord.fault({ route: MESSAGES }, { kind: "400", code: 160006 }),
      {
        failure: "full",
        detail: "400 160006",
        message: expect.stringContaining("archive some") as string,
      },
    ],
    [
      "a server that is away",
      (stage) => void stage.discord.fault({ route: MESSAGES }, { kind: "5xx", status: 503 }),
      { failure: "transient", notSent: false },
    ],
    [
      "a revoked token",
      (stage) => stage.discord.revokeToken(stage.ruda),
      { failure: "credential", notSent: true },
    ],
  ])("to %s is refused in its class", async (_name, arrange, expected) => {
    await using stage = await aStage();
    arrange(stage);

    await expect(
      stage.adapter.post(stage.aPost(stage.text()), { signal: never }),
    ).rejects.toMatchObject(expected);
  });

  test("does not ask again before the rate limit that it was told is over", async () => {
    await using stage = await aStage({
      rateLimits: { ...OPEN_LIMITS, routes: { [`POST ${MESSAGES}`]: { limit: 1, perMs: 5000 } } },
    });

    await stage.adapter.post(stage.aPost("하나"), { signal: never });
    const next = () =>
      stage.adapter
        .post({ ...stage.aPost("둘"), key: "key-2" }, { signal: never })
        .catch((error: unknown) => error as ChannelError);
    const errors = [await next(), await next(), await next()];

    for (const error of errors) {
      expect(error).toMatchObject({ failure: "rate-limited", notSent: true });
    }
    expect((errors[2] as ChannelError).retryAfterMs).toBeGreaterThan(3000);
    expect(stage.discord.requests.map(({ status }) => status)).toEqual([200, 429]);
  });

  test("from an address that is banned waits until the ban is over, told by a page", async () => {
    await using stage = await aStage({ invalidRequests: { limit: 1, perMs: 60_000 } });
    await fetch(`${stage.discord.url}/v10/users/@me`);

    await expect(stage.adapter.post(stage.aPost("말"), { signal: never })).rejects.toMatchObject({
      failure: "rate-limited",
      notSent: true,
      retryAfterMs: 60_050,
    });
  });

  test("nothing more is asked with a token that was refused, and the account is told so", async () => {
    await using stage = await aStage();
    const connection = await stage.connect(RUDA);
    stage.discord.fault({ route: MESSAGES, method: "POST" }, { kind: "401" });

    await expect(stage.adapter.post(stage.aPost("하나"), { signal: never })).rejects.toMatchObject({
      failure: "credential",
    });
    await connection.ended;
    const asked = stage.discord.requests.length;
    await expect(stage.adapter.post(stage.aPost("둘"), { signal: never })).rejects.toMatchObject({
      failure: "credential",
    });

    expect(stage.port.stateOf("ruda")).toBe("refused");
    expect(stage.discord.requests).toHaveLength(asked);
    expect(stage.discord.isConnected(stage.ruda)).toBe(false);
  });

  test("shows buttons, and a person who presses one sees the port's answer", async () => {
    await using stage = await aStage();
    await stage.connect(RUDA);
    const buttons = [
      { value: "escalation_1:yes", label: "승인" },
      { value: "escalation_1:no", label: "거절" },
    ];

    await stage.adapter.post({ ...stage.aPost("괜찮을까요?"), buttons }, { signal: never });
    const shown = await stage.minsu.press(stage.discord.messages(stage.general)[0]!.buttons[1]!);
    stage.port.answer = () => Promise.reject(new Error("The database is away."));
    stage.discord.fault(
      { route: "/webhooks/{webhook}/{token}/messages/@original" },
      { kind: "429", retryAfterMs: 50 },
    );
    const failed = await stage.minsu.press(stage.discord.messages(stage.general)[0]!.buttons[0]!);

    expect(shown).toEqual({ text: "pressed escalation_1:no", ephemeral: true });
    expect(failed.text).toContain("The database is away.");
  });

  test("an abort ends a request that has no answer", async () => {
    await using stage = await aStage();
    const fault = stage.discord.fault({ route: MESSAGES, method: "POST" }, { kind: "timeout" });
    const abort = new AbortController();

    const posting = stage.adapter.post(stage.aPost("x"), { signal: abort.signal });
    await fault.reached;
    abort.abort(new Error("enough"));

    await expect(posting).rejects.toThrow("enough");
  });
});

test("a mention that grows over the limit is kept once per agent, and named after that", () => {
  const mentions = [{ agent: "eden", platformId: "9".repeat(19), displayName: "이든" }];

  const short = toWireText("<@eden> <@eden> <@nobody>", mentions);
  const long = toWireText(`${"<@eden> ".repeat(100)}${"가".repeat(1150)}`, mentions);

  expect(short).toBe(`<@${"9".repeat(19)}> <@${"9".repeat(19)}> <@nobody>`);
  expect(long.startsWith(`<@${"9".repeat(19)}> @이든 @이든 `)).toBe(true);
  expect(long.length).toBeLessThanOrEqual(2000);
});

describe("threads", () => {
  const aThread = (stage: Stage, since = Date.now()) => ({
    account: RUDA,
    channel: stage.here,
    name: "[협업] 루다 → 이든 · 리뷰",
    key: "t-1",
    since,
  });

  test.each(["active", "archived"])(
    "a thread whose creation answered 5xx is found while %s",
    async (state) => {
      await using stage = await aStage();
      stage.discord.fault(
        { route: "/channels/{channel}/threads" },
        { kind: "5xx", after: "doing it" },
      );

      await expect(
        stage.adapter.createThread(aThread(stage), { signal: never }),
      ).rejects.toMatchObject({ failure: "transient", notSent: false });
      const [made] = stage.discord.threads(stage.general);
      if (state === "archived") stage.discord.archiveThread(made!);

      expect(await stage.adapter.findThread(aThread(stage), { signal: never })).toEqual({
        found: "yes",
        platformId: made?.id,
      });
    },
  );

  test("an older one, another's or one of another name is not it", async () => {
    await using stage = await aStage();
    const signal = never;

    await stage.adapter.createThread(aThread(stage), { signal });
    await stage.adapter.createThread({ ...aThread(stage), name: "다른 이름" }, { signal });

    expect(
      await stage.adapter.findThread(aThread(stage, Date.now() + 3_600_000), { signal }),
    ).toEqual({ found: "no" });
    expect(
      await stage.adapter.findThread({ ...aThread(stage), account: EDEN }, { signal }),
    ).toEqual({ found: "no" });
    expect(
      await stage.adapter.findThread({ ...aThread(stage), name: "없는 이름" }, { signal }),
    ).toEqual({ found: "no" });
  });

  test("of an announcement channel is of its own type, and bots talk in it", async () => {
    await using stage = await aStage();
    const news = stage.discord.addChannel(stage.guild, "news", "announcement");
    await stage.connect(RUDA);
    const channel = { ...stage.here, channel: news.id };

    const { platformId } = await stage.adapter.createThread(
      { ...aThread(stage), channel },
      { signal: never },
    );
    const place = { ...channel, thread: platformId };
    await stage.adapter.post({ ...stage.aPost("소식"), place }, { signal: never });

    expect(stage.discord.threads(news)).toMatchObject([{ id: platformId, owner: "루다" }]);
    await stage.heard("ruda", "소식");
  });

  test.each(["connected", "not connected"])(
    "of a forum is a post with its name, %s",
    async (how) => {
      await using stage = await aStage();
      const forum = stage.discord.addChannel(stage.guild, "forum", "forum");
      if (how === "connected") await stage.connect(RUDA);
      const channel = { ...stage.here, channel: forum.id };
      const thread = { ...aThread(stage), channel };

      const { platformId } = await stage.adapter.createThread(thread, { signal: never });
      const place = { ...channel, thread: platformId };
      await stage.adapter.post({ ...stage.aPost("첫 답"), place }, { signal: never });

      const said = stage.discord.messages({ id: platformId, name: "" }).map(({ text }) => text);
      expect(said).toEqual([thread.name, "첫 답"]);
      expect(await stage.adapter.findThread(thread, { signal: never })).toEqual({
        found: "yes",
        platformId,
      });
      stage.discord.setPermissions(stage.ruda, forum, { deny: ["SEND_MESSAGES"] });
      await expect(stage.adapter.createThread(thread, { signal: never })).rejects.toMatchObject({
        failure: "permission",
        missing: "SEND_MESSAGES",
      });
    },
  );

  test("that no list shows is unsure where the list of active ones was cut", async () => {
    await using stage = await aStage({ activeThreads: 1 });
    const thread = aThread(stage);
    const { platformId } = await stage.adapter.createThread(thread, { signal: never });

    const sure = await stage.adapter.findThread(thread, { signal: never });
    stage.minsu.startThread(stage.general, "더 새 방");
    const cut = await stage.adapter.findThread(thread, { signal: never });

    expect([sure, cut]).toEqual([{ found: "yes", platformId }, { found: "unsure" }]);
  });

  test("is public, and an account that may not create one is told what is missing", async () => {
    await using stage = await aStage();

    const { platformId } = await stage.adapter.createThread(aThread(stage), { signal: never });
    stage.discord.setPermissions(stage.ruda, stage.general, { deny: ["CREATE_PUBLIC_THREADS"] });

    expect(stage.discord.threads(stage.general)).toMatchObject([{ id: platformId, owner: "루다" }]);
    await expect(
      stage.adapter.createThread(aThread(stage), { signal: never }),
    ).rejects.toMatchObject({ failure: "permission", missing: "CREATE_PUBLIC_THREADS" });
  });

  test("hears in its own thread what another writes, and shows that it types there", async () => {
    await using stage = await aStage();
    await Promise.all([stage.connect(RUDA), stage.connect(EDEN)]);
    const { platformId: thread } = await stage.adapter.createThread(aThread(stage), {
      signal: never,
    });
    const place = { ...stage.here, thread };
    const mentions = [{ agent: "eden", platformId: stage.eden.id, displayName: "이든" }];

    await stage.adapter.post(
      { ...stage.aPost("<@eden> 리뷰 부탁해"), place, mentions },
      { signal: never },
    );
    await stage.heard("eden", `${stage.mention.eden} 리뷰 부탁해`);
    stage.adapter.typing(EDEN, place);
    await stage.adapter.post(
      { ...stage.aPost("했어"), account: EDEN, place, key: "key-2" },
      { signal: never },
    );

    await stage.heard("ruda", "했어");
    expect(
      stage.port.messages.find(
        ({ account, message }) => account === "ruda" && message.text === "했어",
      )?.message,
    ).toMatchObject({ place, author: { isBot: true, platformId: stage.eden.id }, key: "key-2" });
    await stage.discord.waitFor("the typing sign", () =>
      stage.discord.requests.some(({ route }) => route === "/channels/{channel}/typing"),
    );
  });
});

describe("accounts", () => {
  test("a revoked token and a forbidden intent end as refused, with what to do", async () => {
    await using stage = await aStage(
      {},
      { tokens: { ruda: "token-ruda", eden: "token-eden", dajim: "token-dajim" } },
    );
    stage.discord.addBot({ name: "다짐", token: "token-dajim", messageContentIntent: false });
    const dajim = { id: "dajim", agent: "dajim", displayName: "다짐" };
    const ruda = await stage.connect(RUDA);

    stage.discord.revokeToken(stage.ruda);
    await Promise.all([ruda.ended, stage.adapter.connect(dajim, { signal: never })]);
    await stage.adapter.connect({ ...dajim, id: "nobody" }, { signal: never });

    const details = Object.fromEntries(
      stage.port.states
        .filter(({ state }) => state === "refused")
        .map(({ account, detail }) => [account.id, detail]),
    );
    expect(details).toEqual({
      ruda: expect.stringContaining("token") as string,
      dajim: expect.stringContaining("Message Content Intent") as string,
      nobody: expect.stringContaining("no bot token") as string,
    });
  });

  test("a platform that is away is tried again until it is there", async () => {
    await using stage = await aStage();
    stage.discord.fault({ route: "/gateway/bot", times: 1 }, { kind: "5xx" });

    await stage.connect(RUDA);

    expect(stage.port.states.map(({ state }) => state)).toEqual([
      "starting",
      "reconnecting",
      "ready",
    ]);
  });

  test("a doctor learns of the token, the switch and every missing permission with the link to mend it", async () => {
    await using stage = await aStage(
      {},
      { tokens: { ruda: "token-ruda", eden: "nobody's", seum: "token-seum" } },
    );
    stage.discord.addBot({
      name: "세움",
      token: "token-seum",
      guilds: [],
      messageContentIntent: false,
    });
    stage.discord.setPermissions(stage.ruda, stage.general, {
      deny: ["CREATE_PUBLIC_THREADS", "SEND_MESSAGES_IN_THREADS"],
    });

    const ruda = await stage.adapter.check(RUDA, { signal: never });
    stage.discord.setPermissions(stage.ruda, stage.general, { deny: ["ATTACH_FILES"] });
    const older = await stage.adapter.check(RUDA, { signal: never });
    const eden = await stage.adapter.check(EDEN, { signal: never });
    const seum = await stage.adapter.check({ ...RUDA, id: "seum" }, { signal: never });

    expect(ruda.map(({ ok }) => ok)).toEqual([true, true, false]);
    expect(ruda[2]).toMatchObject({
      what: expect.stringContaining(
        "lacks CREATE_PUBLIC_THREADS, SEND_MESSAGES_IN_THREADS in #general",
      ) as string,
      hint: expect.stringContaining(`client_id=${stage.ruda.id}`) as string,
      isWarning: false,
    });
    expect(older[2]).toMatchObject({
      what: expect.stringContaining("lacks ATTACH_FILES in #general") as string,
      isWarning: true,
    });
    expect(eden).toMatchObject([
      { ok: false, what: expect.stringContaining("does not accept the token") as string },
    ]);
    expect(seum.map(({ ok }) => ok)).toEqual([true, false, false]);
  });

  test("a doctor shows for each channel what is needed there, by overwrites of all kinds", async () => {
    await using stage = await aStage();
    const { discord, guild } = stage;
    const rooms = Object.fromEntries(
      (["forum", "announcement"] as const).map((kind) => [
        kind,
        discord.addChannel(guild, kind, kind),
      ]),
    );
    const locked = discord.addChannel(guild, "locked");
    discord.setPermissions({ roleOf: stage.ruda }, locked, { deny: ["SEND_MESSAGES"] });
    const open = discord.addChannel(guild, "open");
    discord.setPermissions("everyone", open, { deny: ["VIEW_CHANNEL", "SEND_MESSAGES"] });
    discord.setPermissions({ roleOf: stage.ruda }, open, { allow: ["VIEW_CHANNEL"] });
    discord.setPermissions(stage.ruda, open, { allow: ["SEND_MESSAGES"] });
    const hidden = discord.addChannel(guild, "hidden");
    discord.setPermissions("everyone", hidden, { deny: ["VIEW_CHANNEL"] });
    const ids = [stage.general, rooms["announcement"]!, locked, open, hidden, rooms["forum"]!];
    const doctor = new DiscordAdapter({
      ...{ tokens: { ruda: "token-ruda" }, apiUrl: discord.url },
      channels: ids.map(({ id }) => id),
    });
    await doctor.start(new RecordingPort(doctor));

    const findings = (await doctor.check(RUDA, { signal: never })).slice(2);
    await doctor.stop();

    const all =
      "VIEW_CHANNEL, SEND_MESSAGES, ATTACH_FILES, READ_MESSAGE_HISTORY, CREATE_PUBLIC_THREADS, SEND_MESSAGES_IN_THREADS";
    const by = (name: string) => findings.find(({ what }) => what.includes(`#${name} `))?.what;
    expect(by("general")).toBe(`ruda: has what it needs in #general (두레): ${all}.`);
    expect(by("announcement")).toContain(all);
    expect(by("open")).toContain(all);
    expect(by("locked")).toContain("lacks SEND_MESSAGES in");
    expect(findings.map(({ what }) => what)).toContain(
      `ruda: lacks VIEW_CHANNEL in the channel ${hidden.id}.`,
    );
    expect(by("forum")).toContain("READ_MESSAGE_HISTORY, SEND_MESSAGES_IN_THREADS.");
    await expect(
      stage.adapter.post(
        { ...stage.aPost("말"), place: { ...stage.here, channel: rooms["forum"]!.id } },
        { signal: never },
      ),
    ).rejects.toMatchObject({
      failure: "invalid",
      message: expect.stringContaining("name a text channel") as string,
    });
  });

  test("a missing discord.js is told with the command that installs it", async () => {
    const load = (): Promise<never> =>
      Promise.reject(
        Object.assign(new Error("Cannot find package 'discord.js'"), {
          code: "ERR_MODULE_NOT_FOUND",
        }),
      );

    await expect(loadDiscordJs(load)).rejects.toMatchObject({
      code: "DISCORD_JS_MISSING",
      hint: expect.stringContaining("npm install discord.js") as string,
    });
  });
});

type Stage = Awaited<ReturnType<typeof aStage>>;

/** A bot whose card says that it hears all threads. */
const JOINS_ALL = { joinsThread: () => true } as const;

/** Where bots have asked to be let in. */
function joinsOf(discord: FakeDiscord): readonly string[] {
  return discord.requests.flatMap(({ method, path }) => (method === "PUT" ? [path] : []));
}

/**
 * A server with a channel, the bots 루다 and 이든 and a person; the adapter is started and no account is
 * connected.
 */
async function aStage(fakeOptions: FakeDiscordOptions = {}, options: Partial<DiscordOptions> = {}) {
  const fake = await FakeDiscord.start({
    rateLimits: OPEN_LIMITS,
    identifyWindowMs: 1,
    ...fakeOptions,
  });
  const guild = fake.addGuild();
  const general: FakePlace = fake.addChannel(guild, "general");
  const ruda = fake.addBot({ name: "루다", token: "token-ruda" });
  const eden = fake.addBot({ name: "이든", token: "token-eden" });
  const minsu = fake.addPerson("민수");
  const here: PlaceAddress = { adapter: "discord", guild: guild.id, channel: general.id };
  const adapter = new DiscordAdapter({
    tokens: { ruda: "token-ruda", eden: "token-eden" },
    apiUrl: fake.url,
    startPerBotMs: 5,
    startBetweenBotsMs: 1,
    ...options,
  });
  const port = new RecordingPort(adapter);
  port.watched.push(here);
  await adapter.start(port);
  let text = "말";
  return {
    discord: fake,
    guild,
    general,
    here,
    ruda,
    eden,
    minsu,
    mention: { ruda: fake.mention(ruda), eden: fake.mention(eden), minsu: fake.mention(minsu) },
    adapter,
    port,
    text: () => text,
    setText: (value: string) => {
      text = value;
    },
    aPost: (text: string): OutgoingPost => ({
      account: RUDA,
      place: here,
      text,
      mentions: [],
      key: "key-1",
    }),
    async connect(account: ChannelAccount) {
      const abort = new AbortController();
      const read = port.gapsRead + 1;
      const ended = adapter.connect(account, { signal: abort.signal });
      await eventually(() => expect(port.stateOf(account.id)).toBe("ready"));
      await eventually(() => expect(port.gapsRead).toBeGreaterThanOrEqual(read));
      return {
        ended,
        end: async () => {
          abort.abort(new Error("released"));
          await ended;
        },
      };
    },
    heard: (account: string, text: string) =>
      eventually(() => expect(port.texts(account)).toContain(text)),
    [Symbol.asyncDispose]: async () => {
      await adapter.stop();
      await fake.stop();
    },
  };
}
