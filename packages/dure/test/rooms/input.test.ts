// @module-tag slow
import { describe, expect, onTestFinished, test } from "vitest";
import { FULL } from "../../src/kernel/test-tiers.ts";
import { boundMs } from "../../src/kernel/test-bounds.ts";
import { eventually } from "../until.ts";
import { startTestServer, type TestServer } from "../../src/server/test-server.ts";
import { MemoryTokenStore } from "../../src/server/token-store.ts";
import { discordPlatform } from "./discord-platform.ts";
import {
  collaborate,
  deployTool,
  HEARS_PLATFORM,
  readyTeamOn,
  settled,
  silent,
} from "./helpers.ts";
import type { Behave, TestTeam, TestTeamOptions } from "./team.ts";
import { webPlatform } from "./web-platform.ts";

interface Answer {
  readonly status: number;
  readonly body: Record<string, unknown> & {
    readonly code?: string;
    readonly message_id?: string;
    readonly items?: readonly Record<string, unknown>[];
  };
}

interface Stage {
  readonly team: TestTeam;
  readonly server: TestServer;
  readonly get: (path: string, token?: string) => Promise<Answer>;
  readonly post: (path: string, body: unknown, token?: string) => Promise<Answer>;
  /** 민준 says something in the web room `general`. */
  readonly say: (body: Record<string, unknown>, room?: string) => Promise<Answer>;
}

const GENERAL = "/v1/rooms/web%3Ageneral/messages";

async function startStage(
  options: Omit<Partial<TestTeamOptions>, "adapter"> & { tokens?: MemoryTokenStore } = {},
): Promise<Stage> {
  const { tokens, ...teamOptions } = options;
  const team = await readyTeamOn(webPlatform(), teamOptions);
  const server = await startTestServer({
    rooms: team.rooms,
    inbox: team.inbox,
    auth: tokens ?? new MemoryTokenStore(),
  });
  onTestFinished(() => server[Symbol.asyncDispose]());
  const answerOf = async (response: Response): Promise<Answer> => {
    const text = await response.text();
    return {
      status: response.status,
      body: (text === "" ? {} : JSON.parse(text)) as Answer["body"],
    };
  };
  const bearer = (token: string | undefined): Record<string, string> =>
    token === undefined ? {} : { authorization: `Bearer ${token}` };
  const post = async (path: string, body: unknown, token?: string): Promise<Answer> =>
    answerOf(await server.post(path, body, bearer(token)));
  return {
    team,
    server,
    get: async (path, token) => answerOf(await server.fetch(path, { headers: bearer(token) })),
    post,
    say: (body, room = GENERAL) => post(room, { as_person: "민준", ...body }),
  };
}

describe("what people may write", { timeout: 60_000 }, () => {
  test(
    "100,000 characters are taken and answered, 100,001 are refused with what to do",
    FULL,
    async () => {
      const { say, team } = await startStage();

      const longest = await say({ text: "가".repeat(100_000) });
      const longer = await say({ text: "가".repeat(100_001) });

      expect(longest.status).toBe(202);
      expect(longer).toMatchObject({ status: 400, body: { code: "MESSAGE_TOO_LONG" } });
      await settled(team);
      const messages = await team.rooms.reader.messages("web:general", {});
      expect(messages.map(({ author, text }) => [author, text.length])).toEqual([
        ["민준", 100_000],
        ["ruda", "루다의 답입니다".length],
      ]);
    },
  );

  test.each([
    ["nothing", "", "MESSAGE_INVALID"],
    ["only spaces", " \n\t\u3000 ", "MESSAGE_INVALID"],
    ["only characters without width", "\u200b\u2060\ufeff", "MESSAGE_INVALID"],
    ["only control characters", "\u0007\u001b", "MESSAGE_INVALID"],
    ["U+0000", "a\u0000b", "BODY_INVALID"],
    ["half of a character", "a\ud83d", "BODY_INVALID"],
  ])("refuses %s and stores nothing", async (_what, text, code) => {
    const { say, team } = await startStage();

    expect(await say({ text })).toMatchObject({ status: 400, body: { code } });

    expect(await team.rooms.reader.messages("web:general", {})).toEqual([]);
  });

  test("control characters and those that turn the direction are gone; what scripts need stays", async () => {
    const { say, team } = await startStage({ behave: { ruda: silent } });

    await say({ text: "a\u0007b\u202ec\u2066d\r\ne\tf مرحبا 👩‍👩‍👧" });

    expect((await team.rooms.reader.messages("web:general", {}))[0]!.text).toBe(
      "abcd\ne\tf مرحبا 👩‍👩‍👧",
    );
  });

  test("five hundred mentions wake each agent once, and quickly", async () => {
    const { say, team } = await startStage();
    const text = Array.from({ length: 125 }, () => "@루다 @이든 @세움 @다짐").join(" ");
    const startedAt = performance.now();

    const { status } = await say({ text });
    const tookMs = performance.now() - startedAt;

    expect(status).toBe(202);
    expect(tookMs).toBeLessThan(boundMs(2_000));
    await settled(team);
    expect(["ruda", "eden", "seum", "dajim"].map((agent) => team.calls(agent as "ruda"))).toEqual([
      1, 1, 1, 1,
    ]);
  });

  test("fifty thousand signs of a mention are looked at in bounded time", async () => {
    const { say, team } = await startStage({ behave: { ruda: silent } });
    const startedAt = performance.now();

    expect((await say({ text: "@ ".repeat(50_000) })).status).toBe(202);

    expect(performance.now() - startedAt).toBeLessThan(boundMs(3_000));
    await settled(team);
  });

  test("a name with invisible characters in it mentions its agent; one right behind the sign takes it back", async () => {
    const { say, get, team } = await startStage();

    const named = await say({ text: "@이\u200b든 봐 줘" });
    await settled(team); // before that the next words would go on with these
    const takenBack = await say({ text: "@\u200b이든 봐 줘" });

    expect(await rolesOf(get, named)).toMatchObject({ eden: "HANDLER", ruda: "OBSERVER" });
    expect(await rolesOf(get, takenBack)).toMatchObject({ eden: "OBSERVER", ruda: "HANDLER" });
  });

  test(
    "a message of attachments alone is handled by their names and what came of them",
    FULL,
    async () => {
      const stage = await discordPlatform();
      const heard: string[] = [];
      const team = await readyTeamOn(stage, {
        behave: { ruda: ({ text }) => (heard.push(text), "받았어요") },
      });

      stage
        .person("민준")
        .post(stage.places.general, "", { attachments: [{ name: "설계.pdf", size: 10 }] });

      await eventually(async () =>
        expect((await stage.shown(team, "discord:general")).at(-1)).toBe("루다: 받았어요"),
      );
      expect(heard[0]).toMatch(/\[설계\.pdf\] \(10 \w+, not read: it is gone\)/);
    },
  );
});

test.each([
  ["night-owl", "밤.올빼미 (2)"],
  ["agent_1", "a+b*c?"],
  ["x", "\\d{2}|[루다]"],
])(
  "an agent with the id %s and the name %s is handed work and named by others",
  { ...FULL, timeout: 60_000 },
  async (id, displayName) => {
    const platform = webPlatform();
    const agents = [
      platform.agents[0]!,
      { id, displayName, service: "eden", leads: false, accounts: { web: { id } } },
    ];
    const team = await readyTeamOn(platform, {
      agents,
      limits: HEARS_PLATFORM,
      behave: {
        ruda: ({ text }) => (text.includes("물어봐") ? `@${displayName} 어때요?` : ""),
        eden: () => "괜찮습니다",
      },
    });

    const asked = await team.rooms.collaboration.collaborate(
      { agent: "ruda" },
      { targetAgent: id, message: "검토해 줘" },
    );
    await platform.say(team, "그 사람에게 물어봐");
    await settled(team);

    expect(asked).toMatchObject({ ok: true, delivery: "sent" });
    const general = (await team.rooms.reader.messages("web:general", {})).map(
      ({ author, text, delivery }) => `${author} ${delivery}: ${text}`,
    );
    expect(general.slice(0, 2)).toEqual([
      "민준 sent: 그 사람에게 물어봐",
      `ruda sent: @${displayName} 어때요?`,
    ]);
    expect(general).toContain(`${id} sent: 괜찮습니다`);
  },
);

describe("who speaks, and where", { timeout: 60_000 }, () => {
  test("an unknown room, thread and message are not found; speaking needs a name that is no agent's", async () => {
    const { say, post, get } = await startStage();

    expect(await say({ text: "안녕" }, "/v1/rooms/web%3Anowhere/messages")).toMatchObject({
      status: 404,
      body: { code: "PLACE_UNKNOWN" },
    });
    expect(await say({ text: "안녕", thread_id: "thread_nowhere" })).toMatchObject({
      status: 404,
      body: { code: "PLACE_UNKNOWN" },
    });
    expect(await get("/v1/messages/message_nowhere")).toMatchObject({
      status: 404,
      body: { code: "ROOM_MESSAGE_UNKNOWN" },
    });
    expect(await get("/v1/threads/web%3Ageneral")).toMatchObject({
      status: 404,
      body: { code: "THREAD_UNKNOWN" },
    });
    expect(await post(GENERAL, { text: "안녕" })).toMatchObject({
      status: 400,
      body: { code: "PERSON_REQUIRED" },
    });
    for (const name of [
      "루다",
      " 루다 ",
      "RUDA",
      "루\u200b다",
      "루다\u2060",
      "ｒｕｄａ",
      "루 다",
      "루\u202e다",
    ]) {
      expect(
        await post(GENERAL, { text: "안녕", as_person: name }),
        JSON.stringify(name),
      ).toMatchObject({ status: 400, body: { code: "PERSON_INVALID" } });
    }
  });

  test("no caller speaks as an agent without the scope admin, not by a collaborate either", async () => {
    const tokens = new MemoryTokenStore();
    const [minjun, boss] = [
      (await tokens.create({ name: "민준", tenant: "", scopes: ["rooms"] })).token,
      (await tokens.create({ name: "boss", tenant: "", scopes: ["admin"] })).token,
    ];
    const { post, team } = await startStage({ tokens, behave: { eden: silent, ruda: silent } });
    const body = {
      agent: "ruda",
      target_agent: "eden",
      message: "몰래 시키기",
      channel_id: "web:general",
    };

    expect(await post("/v1/collaborate", body, minjun)).toMatchObject({ status: 403 });
    expect(await team.rooms.reader.messages("web:general", {})).toEqual([]);
    expect(await team.rooms.reader.threads("web:general", { tenant: "", person: "" })).toEqual([]);
    expect(await post("/v1/collaborate", body, boss)).toMatchObject({
      status: 200,
      body: { ok: true },
    });
  });

  test("with tokens the caller speaks under the token's name, and for others only with the scope admin", async () => {
    const tokens = new MemoryTokenStore();
    const token = async (
      name: string,
      tenant: string,
      scopes: readonly ("rooms" | "chat" | "admin")[],
    ): Promise<string> => (await tokens.create({ name, tenant, scopes })).token;
    const [minjun, seoyeon, boss, chatter] = [
      await token("민준", "a", ["rooms"]),
      await token("서연", "b", ["rooms"]),
      await token("boss", "a", ["admin"]),
      await token("채팅", "a", ["chat"]),
    ];
    const { post, get, team } = await startStage({ tokens });

    expect(await post(GENERAL, { text: "안녕" })).toMatchObject({ status: 401 });
    expect(await post(GENERAL, { text: "안녕" }, chatter)).toMatchObject({ status: 403 });
    expect(await post(GENERAL, { text: "안녕", as_person: "서연" }, minjun)).toMatchObject({
      status: 403,
      body: { code: "PERSON_FORBIDDEN" },
    });
    expect(await post(GENERAL, { text: "안녕" }, minjun)).toMatchObject({ status: 202 });
    expect(await post(GENERAL, { text: "대신", as_person: "손님" }, boss)).toMatchObject({
      status: 202,
    });
    expect(await post(GENERAL, { text: "대신", as_person: "이든" }, boss)).toMatchObject({
      status: 400,
      body: { code: "PERSON_INVALID" },
    });
    expect(
      (await team.rooms.reader.messages("web:general@a", {}))
        .filter(({ authorKind }) => authorKind === "person")
        .map(({ authorName, text }) => `${authorName}: ${text}`),
    ).toEqual(["민준: 안녕", "손님: 대신"]);

    const { body: direct } = await post("/v1/rooms", { agent: "eden" }, minjun);
    const own = `/v1/rooms/${String(direct["id"])}/messages`;
    const said = await post(own, { text: "둘이서만" }, minjun);
    expect(said.status).toBe(202);
    for (const path of [
      own,
      `/v1/rooms/${String(direct["id"])}/threads`,
      `/v1/messages/${said.body.message_id}`,
    ]) {
      expect(await get(path, seoyeon), path).toMatchObject({ status: 404 });
    }
    expect(await get(own, boss)).toMatchObject({ status: 404 }); // the same tenant, another person
    expect(await post(own, { text: "나도" }, seoyeon)).toMatchObject({ status: 404 });
    expect((await get(own, minjun)).status).toBe(200);
  });

  test(
    "what is said to an agent in private on Discord is not for other tenants",
    FULL,
    async () => {
      const stage = await discordPlatform();
      const team = await readyTeamOn(stage);
      const minjun = stage.person("민준");
      minjun.post(minjun.directMessages(stage.bots.eden), "비밀이야");
      const [direct] = await eventuallySome(() =>
        team.database.query<{ id: string }>({
          text: "select id from dure.places where kind = 'direct'",
        }),
      );

      await expect(
        team.rooms.place(direct!.id, { tenant: "other", person: "서연" }),
      ).rejects.toMatchObject({ code: "PLACE_UNKNOWN" });
      const operator = { tenant: "", person: "", seesAll: true };
      expect((await team.rooms.place(direct!.id, operator)).kind).toBe("direct");
      await settled(team);
    },
  );

  test("the same client_id is one message, per person and room, for 24 hours", async () => {
    const { say, team, post } = await startStage({ behave: { ruda: silent } });

    const first = await say({ text: "한 번만", client_id: "k1" });
    const again = await say({ text: "한 번만", client_id: "k1" });
    const [, ...same] = await Promise.all(
      [0, 1, 2, 3].map(() => say({ text: "같이", client_id: "k2" })),
    ).then((all) => [all[0], ...all.map(({ body }) => body.message_id)]);
    const other = await post(GENERAL, { text: "한 번만", client_id: "k1", as_person: "서연" });
    const elsewhere = await say(
      { text: "한 번만", client_id: "k1" },
      "/v1/rooms/web%3Aquiet/messages",
    );
    await team.database.query({
      text: "update dure.room_client_ids set at = at - interval '24 hours 1 second'",
    });
    const later = await say({ text: "다음 날", client_id: "k1" });
    const laterAgain = await say({ text: "다음 날", client_id: "k1" });

    expect(again.body.message_id).toBe(first.body.message_id);
    expect(new Set(same).size).toBe(1);
    expect(new Set([first, other, elsewhere, later].map(({ body }) => body.message_id)).size).toBe(
      4,
    );
    expect(later.status).toBe(202);
    expect(laterAgain.body.message_id).toBe(later.body.message_id);
    await settled(team);
  });

  test("a closed place cannot be resumed or written in, and resuming an open one changes nothing", async () => {
    const { post, say, team } = await startStage({ behave: { eden: silent } });
    const { threadId } = await collaborate(team, "ruda", { targetAgent: "eden", message: "일" });
    await settled(team);

    expect(await post(`/v1/threads/${threadId}/resume`, { as_person: "민준" })).toMatchObject({
      status: 200,
      body: { state: "open" },
    });
    await team.database.query(
      {
        text: `
          update dure.places
          set state = 'closed', closed_because = 'the thread was deleted'
          where id = $1`,
      },
      [threadId],
    );
    expect(await post(`/v1/threads/${threadId}/resume`, { as_person: "민준" })).toMatchObject({
      status: 409,
      body: { code: "PLACE_CLOSED" },
    });
    expect(await say({ text: "아직?", thread_id: threadId })).toMatchObject({
      status: 409,
      body: { code: "PLACE_CLOSED" },
    });
    expect(await post("/v1/threads/thread_nowhere/resume", {})).toMatchObject({ status: 404 });
  });

  test("what agents overheard can be read by agent and place, in short", async () => {
    const { say, get } = await startStage();
    const { body } = await say({ text: `@루다 ${"긴 이야기 ".repeat(30)}` });

    const items = (await get("/v1/observations?agent=dajim&place=web%3Ageneral")).body.items!;

    expect(items[0]).toMatchObject({
      agent: "dajim",
      place: "web:general",
      message: body.message_id,
      sender: "민준",
    });
    expect(String(items[0]!["excerpt"]).length).toBeLessThanOrEqual(50);
    expect((await get("/v1/observations?agent=dajim&place=web%3Aquiet")).body.items).toEqual([]);
    expect((await get(`/v1/messages/${body.message_id}`)).body["roles"]).toEqual(
      expect.arrayContaining([
        expect.objectContaining({
          agent: "dajim",
          role: "OBSERVER",
          because: "others-mentioned",
          observed_at: expect.any(Number) as number,
        }),
      ]),
    );
  });
});

describe("a tool that needs a yes", { timeout: 60_000 }, () => {
  const deploys: Behave = (heard) => {
    const [result] = heard.results;
    if (heard.request.messages.at(-1)?.role === "tool" && result !== undefined) {
      return "배포했습니다";
    }
    return heard.text.includes("배포해")
      ? { toolCalls: [{ name: "deploy", args: { version: "1.0" } }] }
      : "배포 결과를 알려 드립니다";
  };

  test("in a web room the question is shown with its answers, the first wins, and the agent goes on", async () => {
    const { tool: deploy, done } = deployTool();
    const { say, post, team, get } = await startStage({
      behave: { ruda: deploys },
      tools: { deploy },
    });

    await say({ text: "1.0 배포해 줘" });
    const asked = await eventuallyIs(async () =>
      (await get(GENERAL)).body.items!.find(
        (message) => message["buttons"] !== null && message["buttons"] !== undefined,
      ),
    );
    const [yes] = asked["buttons"] as { value: string; label: string }[];
    const [escalation, value] = yes!.value.split(":") as [string, string];
    expect(done).toEqual([]);

    const answers = await Promise.all([
      post(`/v1/escalations/${escalation}/answer`, { value }),
      post(`/v1/escalations/${escalation}/answer`, { value }),
    ]);

    expect(answers.map(({ status }) => status).sort((a, b) => a - b)).toEqual([200, 409]);
    await settled(team);
    const texts = (await team.rooms.reader.messages("web:general", {})).map(
      ({ author, text }) => `${author}: ${text}`,
    );
    expect(texts).toHaveLength(3);
    expect(texts[2]).toMatch(/^ruda: 배포/);
    expect(done).toEqual(["1.0"]);
  });

  test("on Discord a button answers; a second press says that it is answered, and the agent goes on there", async () => {
    const { tool: deploy, done } = deployTool();
    const stage = await discordPlatform();
    const team = await readyTeamOn(stage, { behave: { ruda: deploys }, tools: { deploy } });

    stage.person("민준").post(stage.places.general, "1.0 배포해 줘");
    const question = await eventuallyIs(async () =>
      stage.discord.messages(stage.places.general).find(({ buttons }) => buttons.length > 0),
    );
    const shown = await stage.person("민준").press(question.buttons[0]!);
    const late = await stage.person("서연").press(question.buttons[1]!);

    expect(shown.text).toContain("민준");
    expect(late.text).toContain("이미 답이 끝난");
    await eventually(async () =>
      expect((await stage.shown(team, "discord:general")).at(-1)).toMatch(/^루다: 배포/),
    );
    await settled(team);
    expect(await stage.shown(team, "discord:general")).toHaveLength(3);
    expect(done).toEqual(["1.0"]);
  });

  test("on Discord only those who manage the server decide, and the audit log has their fixed id", async () => {
    const { tool: deploy, done } = deployTool();
    const stage = await discordPlatform();
    const team = await readyTeamOn(stage, { behave: { ruda: deploys }, tools: { deploy } });
    const guest = stage.discord.addPerson("서연", {
      permissions: ["VIEW_CHANNEL", "SEND_MESSAGES", "READ_MESSAGE_HISTORY"],
    });

    guest.post(stage.places.general, "1.0 배포해 줘");
    const question = await eventuallyIs(async () =>
      stage.discord.messages(stage.places.general).find(({ buttons }) => buttons.length > 0),
    );
    const refused = await guest.press(question.buttons[0]!);
    expect(refused.text).toContain("답할 수 있는 분이 아니에요");
    expect(await auditOf(team)).toEqual([]);
    await stage.person("민준").press(question.buttons[0]!);

    await eventually(() => expect(done).toEqual(["1.0"]));
    const who = `민준 (discord:${stage.person("민준").id})`;
    await eventually(async () =>
      expect(await auditOf(team)).toEqual([
        {
          name: who,
          what: expect.stringMatching(/^escalation\./) as string,
          subject: question.buttons[0]!.value.split(":")[0],
        },
      ]),
    );
    expect((await team.inbox.list({ tenant: "", status: "resolved" })).items[0]?.resolvedBy).toBe(
      who,
    );
  });

  test("with a list of approvers only the roles and users in it decide", async () => {
    const { tool: deploy, done } = deployTool();
    const stage = await discordPlatform();
    await readyTeamOn(stage, {
      behave: { ruda: deploys },
      tools: { deploy },
      approvers: ["777000777000777000"],
    });
    const release = stage.discord.addPerson("서연", {
      permissions: ["VIEW_CHANNEL", "SEND_MESSAGES"],
      roles: ["777000777000777000"],
    });

    release.post(stage.places.general, "1.0 배포해 줘");
    const question = await eventuallyIs(async () =>
      stage.discord.messages(stage.places.general).find(({ buttons }) => buttons.length > 0),
    );
    const refused = await stage.person("민준").press(question.buttons[0]!);
    await release.press(question.buttons[0]!);

    expect(refused.text).toContain("답할 수 있는 분이 아니에요");
    await eventually(() => expect(done).toEqual(["1.0"]));
  });

  test("a call that needs a role is approved by those who have it on Discord, and by no one else", async () => {
    const { tool: deploy, done } = deployTool({ by: { role: "release" } });
    const stage = await discordPlatform();
    await readyTeamOn(stage, {
      behave: { ruda: deploys },
      tools: { deploy },
      roles: { release: ["777000777000777000"] },
    });
    const release = stage.discord.addPerson("서연", {
      permissions: ["VIEW_CHANNEL", "SEND_MESSAGES"],
      roles: ["777000777000777000"],
    });

    release.post(stage.places.general, "1.0 배포해 줘");
    const question = await eventuallyIs(async () =>
      stage.discord.messages(stage.places.general).find(({ buttons }) => buttons.length > 0),
    );
    expect(question.text).toContain("release 역할을 가진 분");
    const manager = await stage.person("민준").press(question.buttons[0]!);
    expect(done).toEqual([]);
    await release.press(question.buttons[0]!);

    expect(manager.text).toContain("그 역할을 가진 분이 할 수 있어요");
    await eventually(() => expect(done).toEqual(["1.0"]));
  });

  test("two people are never two accounts of a platform", async () => {
    const { tool: deploy, done } = deployTool({ by: { role: "release" }, two: true });
    const stage = await discordPlatform();
    const team = await readyTeamOn(stage, {
      behave: { ruda: deploys },
      tools: { deploy },
      roles: { release: [stage.person("민준").id, stage.person("서연").id] },
    });

    stage.person("민준").post(stage.places.general, "1.0 배포해 줘");
    const question = await eventuallyIs(async () =>
      stage.discord.messages(stage.places.general).find(({ buttons }) => buttons.length > 0),
    );
    const pressed = [
      await stage.person("민준").press(question.buttons[0]!),
      await stage.person("서연").press(question.buttons[0]!),
    ];

    for (const { text } of pressed) expect(text).toContain("각자의 토큰");
    await settled(team);
    expect(done).toEqual([]);
    expect((await team.inbox.list({ tenant: "", status: "open" })).items).toHaveLength(1);
  });
});

async function auditOf(team: TestTeam): Promise<readonly unknown[]> {
  return team.database.query({ text: "select name, what, subject from dure.audit order by id" });
}

async function rolesOf(get: Stage["get"], { body }: Answer): Promise<Record<string, unknown>> {
  const message = await get(`/v1/messages/${body.message_id}`);
  return Object.fromEntries(
    (message.body["roles"] as { agent: string; role: string }[]).map(({ agent, role }) => [
      agent,
      role,
    ]),
  );
}

async function eventuallyIs<T>(look: () => Promise<T | undefined>): Promise<T> {
  let found: T | undefined;
  await eventually(async () => {
    found = await look();
    expect(found).toBeDefined();
  });
  return found!;
}

async function eventuallySome<T>(look: () => Promise<readonly T[]>): Promise<readonly T[]> {
  return eventuallyIs(async () => {
    const found = await look();
    return found.length > 0 ? found : undefined;
  });
}
