import { FakeSlack, type FakeSlackApp, type Redelivery } from "@dure/testing";
import { expect, onTestFinished, test } from "vitest";
import { systemClock } from "../../kernel/clock.ts";
import { silentLogger, type Logger } from "../../kernel/logger.ts";
import type { AccountState } from "../../kernel/rooms.ts";
import type {
  Audience,
  ChannelAccount,
  ChannelPort,
  InboundMessage,
  OutgoingPost,
  PlaceChange,
} from "../../rooms/channel-adapter.ts";
import { SlackAdapter } from "./slack-adapter.ts";
import { eventually } from "../../../test/until.ts";

const RUDA: ChannelAccount = { id: "ruda", agent: "ruda", displayName: "루다" };
const EDEN: ChannelAccount = { id: "eden", agent: "eden", displayName: "이든" };
const { signal } = new AbortController();
const SOON: Redelivery = { ackWithinMs: 150, againAfterMs: [0, 50, 600_000] };

test("an event is acknowledged when it is stored, and told once however often it comes", async () => {
  const { slack, minjun, general, port } = await connected({ redelivery: SOON });
  const slow = Promise.withResolvers<void>();
  port.before = () => slow.promise;

  minjun.post({ channel: general }, "천천히");
  await until(() => expect(port.waiting).toBe(1));
  await until(() => expect(slack.told.length).toBeGreaterThanOrEqual(3));
  expect(new Set(slack.told).size).toBe(1);
  expect(slack.acknowledged).toEqual([]);
  slow.resolve();

  await until(() => expect(slack.acknowledged.length).toBeGreaterThan(0));
  expect(port.texts()).toEqual(["천천히"]);
});

test("what could not be stored is not acknowledged and is read again", async () => {
  const { slack, minjun, general, port } = await connected();
  port.before = async () => {
    if (port.waiting === 1) throw new Error("the database is away");
  };

  minjun.post({ channel: general }, "잃으면 안 돼요");

  await until(() => expect(port.gaps).toBe(2));
  expect(slack.acknowledged).toEqual([]);
});

test.each([
  ["no JSON", "{"],
  ["an envelope of null", "null"],
  ["a payload of null", '{"type":"events_api","envelope_id":"1","payload":null}'],
  ["an event of null", '{"type":"events_api","envelope_id":"2","payload":{"event":null}}'],
  [
    "an event that is called as one of the client's own",
    '{"type":"events_api","envelope_id":"3","payload":{"event_id":"E3","event":{"type":"close"}}}',
  ],
  [
    "a message whose time is an object",
    '{"type":"events_api","envelope_id":"4","payload":{"event_id":"E4","event":{"type":"message","channel":"C1","ts":{}}}}',
  ],
  ["a press without actions", '{"type":"interactive","envelope_id":"5","payload":{"type":"x"}}'],
])("%s costs a line at most, and the next message is heard", async (_what, raw) => {
  const { slack, ruda, minjun, general, port } = await connected();

  slack.sendRaw(ruda, raw);
  minjun.post({ channel: general }, "그다음 말");

  await until(() => expect(port.texts()).toEqual(["그다음 말"]));
  expect(port.lines.length).toBeLessThanOrEqual(1);
  expect(port.states).toEqual(["starting", "ready"]);
});

test("a connection that is to be made anew or was cut comes back, and its gap is read", async () => {
  const { slack, ruda, port } = await connected();

  slack.refresh(ruda);
  await until(() => expect(slack.sessionsStarted(ruda)).toBe(2));
  await until(() => expect(port.gaps).toBe(2));
  expect(port.states).toEqual(["starting", "ready"]);

  slack.cut(ruda);
  await until(() => expect(port.states).toEqual(["starting", "ready", "reconnecting", "ready"]));
  await until(() => expect(port.gaps).toBe(3));
});

test("tokens that Slack does not take make the account refused, with one connection", async () => {
  const { slack, ruda, port } = await connected();

  slack.revoke(ruda);

  await until(() => expect(port.states.at(-1)).toBe("refused"));
  expect(slack.connections(ruda)).toBe(0);
});

test("edits, threads of people, files and links arrive as people read them", async () => {
  const { minjun, general, port } = await connected();
  const root = minjun.post({ channel: general }, "배포 이야기 &amp; 일정");
  minjun.post({ channel: general, threadTs: root.ts }, "<https://a.example|문서> 보세요", {
    files: [{ name: "plan.txt", size: 3 }],
  });
  minjun.edit(root, "배포 이야기");

  await until(() => expect(port.edits).toEqual(["배포 이야기"]));
  await until(() => expect(port.messages).toHaveLength(2));
  const reply = port.messages.find(({ place }) => place.thread !== undefined);
  expect(reply).toMatchObject({
    text: "문서 (https://a.example) 보세요",
    threadName: expect.stringMatching(/^배포 이야기/),
    attachments: [{ name: "plan.txt", size: 3 }],
    author: { name: "민준", isBot: false },
  });
});

test("a channel that is renamed, left or archived is told", async () => {
  const { slack, ruda, general, port } = await connected();

  slack.rename(general, "plaza");
  slack.archive(general);
  slack.removeFrom(general, ruda);

  await until(() =>
    expect(port.changes.map(({ kind }) => kind)).toEqual([
      "renamed",
      "channel-removed",
      "access-lost",
    ]),
  );
});

test("a button is answered to the person who pressed it, and says whether that one manages", async () => {
  const { slack, adapter, minjun, general, port } = await connected();
  await adapter.post(postOf(general.id, "할까요?", [{ value: "e1:yes", label: "네" }]), {
    signal,
  });
  const [shown] = slack.messages({ channel: general });

  minjun.press(shown!, "네");

  await until(() => expect(port.presses).toEqual([["e1:yes", minjun.id, false]]));
  await until(() =>
    expect(slack.requests.filter(({ method }) => method === "chat.postEphemeral")).toMatchObject([
      { outcome: "ok", args: { user: minjun.id, text: "답했어요" } },
    ]),
  );
});

test("Markdown becomes Slack's marks, signs are escaped, code stays, long text goes in blocks", async () => {
  const { slack, adapter, general } = await connected();

  await adapter.post(
    postOf(general.id, "## 제목\n**굵게**는 [문서](https://a.b/?x=1&y) <a> `a<b`"),
    {
      signal,
    },
  );
  await until(() => adapter.post(postOf(general.id, "&".repeat(3_800)), { signal }));

  const [short, long] = slack.messages({ channel: general });
  expect(short!.text).toBe(
    "*제목*\n*굵게*\u200B는 <https://a.b/?x=1&amp;y|문서> &lt;a&gt; `a&lt;b`",
  );
  expect(long!.text.length).toBeLessThanOrEqual(4_000);
  expect(slack.requests.at(-1)!.args["blocks"]).toContain("section");
});

test("agents that share an app speak under their names and are told apart", async () => {
  const { slack, adapter, minjun, general, port, ruda } = await connected({ isShared: true });
  const ofEden = { ...postOf(general.id, "이든입니다"), account: EDEN };
  await adapter.post(ofEden, { signal });
  minjun.post({ channel: general }, `${slack.mention(ruda)} 이든 봐 줘`);

  expect(slack.messages({ channel: general })[0]).toMatchObject({ author: "이든" });
  await until(() => expect(port.texts()).toEqual(["이든입니다", "@이든 봐 줘"]));
  expect(port.messages[0]!.author.platformId).toBe(`${ruda.id}:eden`);
  expect(new Set(port.listeners)).toEqual(new Set(["ruda", "eden"]));
});

test("the rate limit of a channel is told with its time, and nothing was said", async () => {
  const { slack, adapter, general } = await connected();
  await adapter.post(postOf(general.id, "하나"), { signal });

  await expect(adapter.post(postOf(general.id, "둘"), { signal })).rejects.toMatchObject({
    failure: "rate-limited",
    retryAfterMs: 1000,
  });
  expect(slack.messages({ channel: general })).toHaveLength(1);
});

test("a doctor is told which scope is missing and which channel the app is not in", async () => {
  const slack = await FakeSlack.start();
  onTestFinished(() => slack.stop());
  const general = slack.addChannel("general");
  const app = slack.addApp({
    name: "ruda",
    botToken: "xoxb-1",
    appToken: "xapp-1",
    scopes: ["chat:write", "channels:read", "mpim:read"],
  });
  slack.removeFrom(general, app);
  const board = slack.addChannel("board", { isPrivate: true });
  const group = slack.group(app, slack.addPerson("민수"));
  const adapter = new SlackAdapter({
    tokens: { ruda: { bot: "xoxb-1", app: "xapp-1" } },
    apiUrl: slack.url,
    channels: () => [general.id, group.id, board.id],
  });
  await adapter.start(new Port());
  onTestFinished(() => adapter.stop());

  const findings = await adapter.check(RUDA, { signal });

  expect(findings.filter(({ isWarning }) => isWarning)).toHaveLength(1);
  expect(findings.map(({ ok, what }) => `${ok ? "ok" : "no"} ${what}`)).toEqual([
    "ok ruda: the app-level token opens Socket Mode.",
    `ok ruda: the token belongs to ruda (${app.id}).`,
    "no ruda: the app lacks channels:history, users:read, reactions:read, commands.",
    "no ruda: without files:read, files:write files are passed on by name alone.",
    "no ruda: is not in #general and hears nothing there.",
    `no ruda: ${group.id} is a direct message, and nothing in it is heard as a channel.`,
    `no ruda: cannot ask whether ${board.id} is private, and keeps it as a private channel.`,
  ]);
});

test("an app asks which of its channels are private, before it is ready and a word is said", async () => {
  const slack = await FakeSlack.start();
  onTestFinished(() => slack.stop());
  const channels = [slack.addChannel("general"), slack.addChannel("board", { isPrivate: true })];
  slack.addApp({ name: "ruda", botToken: "xoxb-1", appToken: "xapp-1" });
  const adapter = new SlackAdapter({
    tokens: { ruda: { bot: "xoxb-1", app: "xapp-1" } },
    apiUrl: slack.url,
    channels: () => channels.map(({ id }) => id),
  });
  const port = new Port();
  await adapter.start(port);
  onTestFinished(() => adapter.stop());

  void adapter.connect(RUDA, { signal });

  await until(() => expect(port.states).toContain("ready"));
  expect(port.audiences).toEqual([
    [channels[0]!.id, true],
    [channels[1]!.id, false],
  ]);
});

test.each([
  ["of another kind", "xoxb-1", "ruda: Slack does not accept the app-level token."],
  ["that no app has", "xapp-gone", "ruda: Slack does not accept the app-level token."],
])("a doctor is told of a token of Socket Mode %s", async (_what, appToken, told) => {
  const slack = await FakeSlack.start();
  onTestFinished(() => slack.stop());
  slack.addApp({ name: "ruda", botToken: "xoxb-1", appToken: "xapp-1" });
  const tokens = { ruda: { bot: "xoxb-1", app: appToken } };
  const adapter = new SlackAdapter({ tokens, apiUrl: slack.url });
  await adapter.start(new Port());
  onTestFinished(() => adapter.stop());

  const [socket, bot] = await adapter.check(RUDA, { signal });

  expect(socket).toMatchObject({ ok: false, what: told });
  expect(socket!.hint).toContain("connections:write");
  expect(bot).toMatchObject({ ok: true });
});

async function connected({
  redelivery,
  isShared = false,
}: { redelivery?: Redelivery; isShared?: boolean } = {}): Promise<{
  slack: FakeSlack;
  ruda: FakeSlackApp;
  adapter: SlackAdapter;
  port: Port;
  general: ReturnType<FakeSlack["addChannel"]>;
  minjun: ReturnType<FakeSlack["addPerson"]>;
}> {
  const slack = await FakeSlack.start(redelivery === undefined ? {} : { redelivery });
  const general = slack.addChannel("general");
  const ruda = slack.addApp({
    name: "두레",
    botToken: "xoxb-1",
    appToken: "xapp-1",
    scopes: ["chat:write", "chat:write.customize", "channels:history", "users:read"],
  });
  const minjun = slack.addPerson("민준");
  const tokens = { bot: "xoxb-1", app: "xapp-1", isShared };
  const adapter = new SlackAdapter({
    tokens: isShared ? { ruda: tokens, eden: tokens } : { ruda: tokens },
    apiUrl: slack.url,
  });
  const port = new Port();
  onTestFinished(async () => {
    await adapter.stop();
    await slack.stop();
  });
  await adapter.start(port);
  const accounts = isShared ? [RUDA, EDEN] : [RUDA];
  for (const account of accounts) void adapter.connect(account, { signal });
  await until(() => {
    expect(port.states.filter((state) => state === "ready")).toHaveLength(accounts.length);
    expect(port.gaps).toBeGreaterThan(0);
  });
  return { slack, ruda, adapter, port, general, minjun };
}

function until(check: () => unknown): Promise<unknown> {
  return eventually(check);
}

function postOf(channel: string, text: string, buttons?: OutgoingPost["buttons"]): OutgoingPost {
  const place = { adapter: "slack", channel };
  return { account: RUDA, place, text, mentions: [], key: `key-${text.length}`, buttons };
}

/** Keeps what it is told. */
class Port implements ChannelPort {
  readonly clock = systemClock;
  readonly lines: string[] = [];
  readonly logger: Logger = {
    ...silentLogger,
    warn: (_facts: unknown, line: string) => void this.lines.push(line),
  };
  readonly states: AccountState[] = [];
  readonly messages: InboundMessage[] = [];
  readonly listeners: string[] = [];
  readonly audiences: [string, boolean][] = [];
  readonly edits: string[] = [];
  readonly changes: PlaceChange[] = [];
  readonly presses: [string, string, boolean | undefined][] = [];
  gaps = 0;
  /** Messages whose storing has begun. */
  waiting = 0;
  before: () => Promise<void> = async () => {};

  texts(): readonly string[] {
    const byId = new Map(this.messages.map((message) => [message.platformId, message.text]));
    return [...byId.values()];
  }

  async received(account: ChannelAccount, message: InboundMessage): Promise<void> {
    this.waiting += 1;
    await this.before();
    this.listeners.push(account.id);
    this.messages.push(message);
  }

  async deleted(): Promise<void> {}
  async reacted(): Promise<void> {}
  async edited(_account: ChannelAccount, { text }: { text: string }): Promise<void> {
    this.edits.push(text);
  }

  async placeChanged(_account: ChannelAccount, change: PlaceChange): Promise<void> {
    this.changes.push(change);
  }

  async audienceChanged(_account: ChannelAccount, { place, seenByAll }: Audience): Promise<void> {
    this.audiences.push([place.channel, seenByAll]);
  }

  async accountChanged(_account: ChannelAccount, state: AccountState): Promise<void> {
    this.states.push(state);
  }

  async mayHaveMissed(): Promise<void> {
    this.gaps += 1;
  }

  async pressed(
    _account: ChannelAccount,
    { value, person }: Parameters<ChannelPort["pressed"]>[1],
  ): Promise<string> {
    this.presses.push([value, person.id, person.manages]);
    return "답했어요";
  }
}
