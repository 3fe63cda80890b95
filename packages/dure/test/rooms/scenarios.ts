import { describe, expect, test } from "vitest";
import { eventually } from "../until.ts";
import type { CollaborateResult } from "../../src/rooms/collaborate.ts";
import type { StoredRole } from "../../src/rooms/room-store.ts";
import type { TestPlatform } from "./platform.ts";
import { silentLogger } from "../../src/kernel/logger.ts";
import { NAMES, startTestTeam, type Behave, type Name, type TestTeam, type TestTeamOptions } from "./team.ts";

/** The scenarios of docs/spec/collaboration, on any platform. */
export function roomScenarios(name: string, makePlatform: () => TestPlatform | Promise<TestPlatform>): void {
  const start = async (options: Omit<Partial<TestTeamOptions>, "adapter"> = {}): Promise<{ platform: TestPlatform; team: TestTeam }> => {
    const platform = await makePlatform();
    return { platform, team: await startOn(platform, options) };
  };
  const startOn = async (platform: TestPlatform, options: Omit<Partial<TestTeamOptions>, "adapter"> = {}): Promise<TestTeam> => {
    const team = await startTestTeam({ defaultChannel: "general", ...options, adapter: (database) => platform.adapter(database), agents: options.agents ?? platform.agents, channels: options.channels ?? platform.channels });
    await platform.ready(team);
    return team;
  };

  describe(`rooms on ${name}`, { timeout: 30_000 }, () => {
    const general = `${name}:general`;

    describe("who answers", () => {
      test("H1 only the mentioned agent answers; the other three record", async () => {
        const { platform, team } = await start();

        const message = await platform.say(team, "@루다 이것 확인해줘");

        await eventually(async () => expect(await platform.shown(team, general)).toEqual(["민준: @루다 이것 확인해줘", "루다: 루다의 답입니다"]));
        expect(await rolesOf(team, message)).toEqual({ ruda: "HANDLER", eden: "OBSERVER", seum: "OBSERVER", dajim: "OBSERVER" });
        expect(await heardBy(team, "dajim", general)).toContain("민준: @루다 이것 확인해줘");
        expect(team.calls("eden") + team.calls("seum") + team.calls("dajim")).toBe(0);
      });

      test("H2 without a mention only the default agent answers", async () => {
        const { platform, team } = await start();

        await platform.say(team, "오늘 일정 알려줘");

        await eventually(async () => expect(await platform.shown(team, general)).toEqual(["민준: 오늘 일정 알려줘", "루다: 루다의 답입니다"]));
        await settled(team);
        expect(team.calls("eden")).toBe(0);
      });

      test("H3 of two mentioned both answer: the first leads, the second sees its answer and adds to it", async () => {
        const backgrounds: string[] = [];
        const { platform, team } = await start({ behave: { seum: (heard) => (backgrounds.push(heard.background), "덧붙입니다") } });

        const message = await platform.say(team, "@이든 @세움 배포해도 될까?");

        await eventually(async () => expect([...(await platform.shown(team, general))].sort()).toEqual(["민준: @이든 @세움 배포해도 될까?", "세움: 덧붙입니다", "이든: 이든의 답입니다"].sort()));
        expect(await ranksOf(team, message)).toEqual({ eden: "PRIMARY", seum: "SECONDARY" });
        expect(backgrounds[0]).toContain("이든의 답입니다");
      });

      test("H4 an observer can tell later what was said, at the level of the record, also after a restart", async () => {
        const backgrounds: string[] = [];
        const behave: Behave = (heard) => (backgrounds.push(heard.background), "들은 대로입니다");
        const { platform, team } = await start();
        await platform.say(team, "@루다 결제 모듈은 금요일에 배포하고 공지는 월요일 아침에 하기로 했어, 그리고 더 긴 이야기는 이 다음에 계속 이어집니다 끝");
        await eventually(async () => expect(await platform.shown(team, general)).toHaveLength(2));
        await team.stop();

        const second = await startOn(platform, { on: team, behave: { dajim: behave } });
        await platform.say(second, "@다짐 루다가 뭐라고 했어?");

        await eventually(async () => expect((await platform.shown(second, general)).at(-1)).toBe("다짐: 들은 대로입니다"));
        expect(backgrounds[0]).toContain("결제 모듈은 금요일에 배포하고");
        expect(backgrounds[0]).toContain("루다의 답입니다");
        expect(backgrounds[0]).not.toContain("끝");
      });
    });

    describe("who is named", () => {
      test("a mention inside a quote or code names nobody", async () => {
        const { platform, team } = await start();

        const quoted = await platform.say(team, "> @이든 어제 뭐라고 했지?\n루다, 이게 무슨 뜻이야?");
        const coded = await platform.say(team, "`@이든` 이라고 쓰면 불러집니다");

        for (const message of [quoted, coded]) expect(await rolesOf(team, message)).toMatchObject({ ruda: "HANDLER", eden: "OBSERVER" });
        await settled(team);
      });

      test("who is named first leads, and whose message is answered comes after those whom the text names", async () => {
        const { platform, team } = await start();
        await platform.say(team, "@세움 먼저 말해 줘");
        await eventually(async () => expect(await platform.shown(team, general)).toHaveLength(2));
        await settled(team);

        const message = await platform.say(team, "@다짐 그리고 @이든 이 말 맞아?", { replyToLast: true });

        expect(await ranksOf(team, message)).toEqual({ dajim: "PRIMARY", eden: "SECONDARY", seum: "SECONDARY" });
        await settled(team);
      });
    });

    describe("threads and participants", () => {
      test("T1 T2 T3 collaborate makes a thread with both; there they answer each other's people without a mention", async () => {
        const { platform, team } = await start();

        const asked = await collaborate(team, "ruda", { targetAgent: "eden", message: "코드 리뷰 해줘" });
        const thread = asked.threadId;
        await eventually(async () => expect(await platform.shown(team, thread)).toEqual(["루다: @이든 코드 리뷰 해줘", "이든: 이든의 답입니다", "루다: 루다의 답입니다"]));

        expect(asked).toMatchObject({ reused: false, delivery: "sent", threadName: "[협업] 루다 → 이든 · 코드 리뷰 해줘" });
        expect(await participantsOf(team, thread)).toEqual(["eden", "ruda"]);
        await settled(team);

        // T3: 루다's line names nobody, and 이든 takes part.
        const unnamed = (await team.rooms.reader.messages(thread, {})).find(({ author, text }) => author === "ruda" && text === "루다의 답입니다")!;
        expect(unnamed.mentions).toEqual([]);
        expect(unnamed.roles["eden"]).toMatchObject({ role: "HANDLER", because: "participant" });

        const said = await platform.say(team, "로그인 쪽도 봐 줘", { thread });
        expect(await rolesOf(team, said)).toEqual({ ruda: "HANDLER", eden: "HANDLER", seum: "OBSERVER", dajim: "OBSERVER" });
      });

      test("T4 T5 a mention in a thread lets another agent join; who is not in it only records", async () => {
        const { platform, team } = await start({ limits: { exchangeMessages: 3 } });
        const { threadId: thread } = await collaborate(team, "ruda", { targetAgent: "eden", message: "검토" });
        await settled(team);

        const joining = await platform.say(team, "@세움 도 확인해봐", { thread });
        await eventually(async () => expect(await participantsOf(team, thread)).toEqual(["eden", "ruda", "seum"]));
        const later = await platform.say(team, "멘션 없이 한마디", { thread });

        expect(await rolesOf(team, joining)).toEqual({ seum: "HANDLER", ruda: "OBSERVER", eden: "OBSERVER", dajim: "OBSERVER" });
        expect(await rolesOf(team, later)).toEqual({ seum: "HANDLER", ruda: "HANDLER", eden: "HANDLER", dajim: "OBSERVER" });
      });

      test("T6 after a restart participants are restored, and 이든 handles a message without a mention", async () => {
        const { platform, team } = await start();
        const { threadId: thread } = await collaborate(team, "ruda", { targetAgent: "eden", message: "검토" });
        await settled(team);
        await team.stop();

        const second = await startOn(platform, { on: team });
        const said = await platform.say(second, "하나만 더", { thread });

        expect(await rolesOf(second, said)).toMatchObject({ eden: "HANDLER", ruda: "HANDLER", seum: "OBSERVER" });
      });

      test("T7 when the record was lost nobody answers without a mention, one line warns, and a mention registers again", async () => {
        const warnings: string[] = [];
        const { platform, team } = await start({ logger: { ...silentLogger, warn: (_fields: unknown, message: string) => void warnings.push(message) } });
        const { threadId: thread } = await collaborate(team, "ruda", { targetAgent: "eden", message: "검토" });
        await settled(team);
        await team.database.query({ text: "delete from dure.participants" });

        const unnamed = await platform.say(team, "여기 누구 있나요", { thread });
        await platform.say(team, "정말 아무도 없나요", { thread });
        await platform.say(team, "@이든 있나요", { thread });
        await settled(team);
        const again = await platform.say(team, "계속해 줘", { thread });

        expect(Object.values(await rolesOf(team, unnamed))).not.toContain("HANDLER");
        expect(warnings.filter((line) => line.startsWith("nobody takes part in the thread [협업] 루다 → 이든"))).toHaveLength(1);
        expect(await rolesOf(team, again)).toMatchObject({ eden: "HANDLER", ruda: "OBSERVER" });
      });
    });

    describe("leaving", () => {
      test("an agent that leaves says its farewell, hears the thread no more, and comes back when it is named", async () => {
        const eden: Behave = (heard) => (heard.results.length > 0 ? "저는 이만 갑니다" : heard.text.includes("나가도 돼") ? { toolCalls: [{ name: "leave", args: {} }] } : { toolCalls: [{ name: "stay_silent", args: {} }] });
        const { platform, team } = await start({ behave: { eden, ruda: silent } });
        const { threadId: thread } = await collaborate(team, "ruda", { targetAgent: "eden", message: "검토" });
        await settled(team);

        await platform.say(team, "@이든 이제 나가도 돼", { thread });
        await eventually(async () => expect((await platform.shown(team, thread)).at(-1)).toBe("이든: 저는 이만 갑니다"));
        await settled(team);
        const after = await platform.say(team, "남은 사람끼리 이야기해요", { thread });

        expect(await participantsOf(team, thread)).toEqual(["ruda"]);
        expect(await rolesOf(team, after)).toMatchObject({ ruda: "HANDLER", eden: "OBSERVER" });
        expect(await team.database.query({ text: "select agent, data->>'by' as by from dure.events where type = 'room.left'" })).toEqual([{ agent: "eden", by: "eden" }]);
        await platform.say(team, "@이든 다시 와 줘", { thread });
        expect(await participantsOf(team, thread)).toEqual(["eden", "ruda"]);
      });
    });

    describe("what an agent wants of its part", () => {
      test("who is silent and leaves does both", async () => {
        const eden: Behave = (heard) => (heard.results.length === 0 ? { toolCalls: [{ name: "stay_silent", args: {} }, { name: "leave", args: {} }] } : "말하지 않습니다");
        const { platform, team } = await start({ behave: { eden, ruda: silent } });
        const { threadId: thread } = await collaborate(team, "ruda", { targetAgent: "eden", message: "검토" });

        await eventually(async () => expect(await participantsOf(team, thread)).toEqual(["ruda"]));

        await settled(team);
        expect(await platform.shown(team, thread)).toEqual(["루다: @이든 검토"]);
      });
    });

    describe("collaborate", () => {
      test("a thread is named by what the call says it is about, without signs that nobody sees; links come with every way of handing over", async () => {
        const eden: Behave = (heard) => (heard.results.length === 0 && heard.text.includes("되물어") ? { toolCalls: [{ name: "collaborate", args: { targetAgent: "ruda", message: "이 파일이 맞나요?", attachments: ["https://example.com/a.pdf"] } }] } : { toolCalls: [{ name: "stay_silent", args: {} }] });
        const { platform, team } = await start({ behave: { eden, ruda: silent } });

        const named = await collaborate(team, "ruda", { targetAgent: "seum", message: "검토해 줘", topic: "login", threadName: "로그인\u202e 검토" });
        const unnamed = await collaborate(team, "ruda", { targetAgent: "eden", message: "되물어 줘", topic: "login" });

        expect(named.threadName).toBe("[협업] 루다 → 세움 · 로그인 검토");
        expect(unnamed.threadName).toBe("[협업] 루다 → 이든 · 되물어 줘");
        await eventually(async () => expect((await platform.shown(team, unnamed.threadId)).at(-1)).toBe("이든: @루다 이 파일이 맞나요?\nhttps://example.com/a.pdf"));
        await settled(team);
      });

      test("C4 E6 an unknown agent is refused at once, and the hint names the mapping keys", async () => {
        const { team } = await start();

        const result = await team.rooms.collaborate({ agent: "ruda" }, { targetAgent: "nobody", message: "도와줘" });

        expect(result).toMatchObject({ ok: false, code: "AGENT_UNKNOWN", hint: expect.stringContaining("agents.nobody") as string });
        expect((result as { hint: string }).hint).toContain("eden");
        expect(await team.rooms.reader.threads(general, NOBODY)).toEqual([]);
      });

      test("C5 a target that is offline is refused at once, and an escalation is recorded", async () => {
        const { team, platform } = await start();
        await team.rooms.pause(platform.name, "eden", true);

        const result = await team.rooms.collaborate({ agent: "ruda" }, { targetAgent: "eden", message: "도와줘" });

        expect(result).toMatchObject({ ok: false, code: "AGENT_OFFLINE", escalated: true });
        expect((await team.inbox.list({ tenant: "", status: "open" })).items.map((entry) => entry.type)).toEqual(["agent_offline"]);
      });

      test("R1 R2 R3 the same pair gets the same thread within the route's time, then a new one, and a given thread whatever its age", async () => {
        const { team } = await start({ limits: { pairCalls: 10 } });
        const first = await collaborate(team, "ruda", { targetAgent: "eden", message: "하나" });
        const second = await collaborate(team, "ruda", { targetAgent: "eden", message: "둘" });
        await team.database.query({ text: "update dure.thread_routes set renewed_at = renewed_at - interval '6 hours 1 second'" });
        const third = await collaborate(team, "ruda", { targetAgent: "eden", message: "셋" });
        const given = await collaborate(team, "ruda", { targetAgent: "eden", message: "넷", threadId: first.threadId });

        expect([second.threadId, second.reused]).toEqual([first.threadId, true]);
        expect([third.threadId === first.threadId, third.reused]).toEqual([false, false]);
        expect(given.threadId).toBe(first.threadId);
      });

      test("each collaborate renews the six hours of its route, talk in the thread does not", async () => {
        const { team, platform } = await start({ behave: { ruda: silent, eden: silent } });
        const { threadId } = await collaborate(team, "ruda", { targetAgent: "eden", message: "하나" });
        await team.database.query({ text: "update dure.thread_routes set renewed_at = renewed_at - interval '5 hours'" });
        const age = async (): Promise<number> => (await team.database.query<{ hours: number }>({ text: "select extract(epoch from clock_timestamp() - renewed_at)::double precision / 3600 as hours from dure.thread_routes" }))[0]!.hours;

        await platform.say(team, "아직 이야기 중", { thread: threadId });
        await settled(team);
        expect(await age()).toBeGreaterThan(4.9);
        await collaborate(team, "ruda", { targetAgent: "eden", message: "둘" });

        expect(await age()).toBeLessThan(1);
      });

      test("R4 a restart between keeps the thread", async () => {
        const { team, platform } = await start();
        const first = await collaborate(team, "ruda", { targetAgent: "eden", message: "하나" });
        await team.stop();

        const second = await startOn(platform, { on: team });
        const again = await collaborate(second, "ruda", { targetAgent: "eden", message: "둘" });

        expect(again).toMatchObject({ threadId: first.threadId, reused: true });
      });

      test("S1 S2 S3 an allowed channel gets the thread, another one is an error, and without one it is the default channel", async () => {
        const { team } = await start();

        const allowed = await collaborate(team, "ruda", { targetAgent: "eden", message: "여기서", channelId: general });
        const refused = await team.rooms.collaborate({ agent: "ruda" }, { targetAgent: "seum", message: "저기서", channelId: `${name}:quiet` });
        const fallback = await collaborate(team, "ruda", { targetAgent: "dajim", message: "어디서든" });

        expect(allowed.channelId).toBe(general);
        expect(refused).toMatchObject({ ok: false, code: "CHANNEL_NOT_ALLOWED" });
        expect(fallback.channelId).toBe(general);
      });

      test("S4 without a channel and without a default it says which key to set", async () => {
        const platform = await makePlatform();
        const team = await startTestTeam({ adapter: (database) => platform.adapter(database), agents: platform.agents, channels: platform.channels });
        await platform.ready(team);

        const result = await team.rooms.collaborate({ agent: "ruda" }, { targetAgent: "eden", message: "어디서?" });

        expect(result).toMatchObject({ ok: false, code: "CHANNEL_REQUIRED", hint: expect.stringContaining("agents.ruda.channel") as string });
      });

      test("A1 A2 A3 it returns at once with a note of whom it was handed to, while the target still works", async () => {
        const working = Promise.withResolvers<string>();
        const { team } = await start({ behave: { eden: () => working.promise } });

        const result = await collaborate(team, "ruda", { targetAgent: "eden", message: "오래 걸리는 일" });

        expect(result.note).toContain("이든");
        working.resolve("이제 됐습니다");
        await settled(team);
      });

      test("C1 C2 C3 the tool works from a direct room, over HTTP and from a job: the thread begins in the default channel", async () => {
        const { team } = await start({ limits: { pairCalls: 10 } });

        const results = await Promise.all(
          ["http-session-1", "cli-01", "job:job_1:ruda"].map((session) => team.rooms.collaborate({ agent: "ruda", session, turn: `turn_${session}` }, { targetAgent: "eden", message: `${session}에서` })),
        );

        expect(results.map((result) => (result.ok ? result.channelId : result.code))).toEqual([general, general, general]);
      });

      test("the same key of a call gives the first result, whatever the clock says; a caller's own key holds for five minutes", async () => {
        const { team } = await start({ limits: { pairCalls: 10 } });
        const call = { targetAgent: "eden", message: "한 번만" };

        const first = await team.rooms.collaborate({ agent: "ruda", callKey: "turn-1/2" }, call);
        const again = await team.rooms.collaborate({ agent: "ruda", callKey: "turn-1/2" }, call);
        const outside = await team.rooms.collaborate({ agent: "ruda" }, { ...call, idempotencyKey: "k" });
        const repeated = await team.rooms.collaborate({ agent: "ruda" }, { ...call, idempotencyKey: "k" });
        await team.database.query({ text: "update dure.collaborations set at = at - interval '5 minutes 1 second'" });
        const later = await team.rooms.collaborate({ agent: "ruda" }, { ...call, idempotencyKey: "k" });
        const sameCall = await team.rooms.collaborate({ agent: "ruda", callKey: "turn-1/2" }, call);

        expect(idOf(again)).toBe(idOf(first));
        expect(idOf(sameCall)).toBe(idOf(first));
        expect(idOf(repeated)).toBe(idOf(outside));
        expect(idOf(later)).not.toBe(idOf(outside));
      });

      test.each([
        ["an empty message", { targetAgent: "eden", message: "" }],
        ["only spaces and zero-width characters", { targetAgent: "eden", message: " \u200b\u2060 " }],
        ["itself as the target", { targetAgent: "ruda", message: "나에게" }],
        ["a text of 100,001 characters", { targetAgent: "eden", message: "가".repeat(100_001) }],
      ])("refuses %s and changes nothing", async (_what, call) => {
        const { team } = await start();

        expect(await team.rooms.collaborate({ agent: "ruda" }, call)).toMatchObject({ ok: false, code: "INVALID_ARGUMENT" });

        expect(await team.rooms.reader.threads(general, NOBODY)).toEqual([]);
        expect(await team.database.query({ text: "select from dure.agent_pairs" })).toEqual([]);
      });
    });

    describe("no endless talk", () => {
      test("L1 what the sink reports of the background is shown, costs no model call and is not recorded", async () => {
        const platform = await makePlatform();
        const team = await startOn(platform, { sink: { channel: platform.channels.find(({ key }) => key === "quiet")! } });

        await eventually(async () => expect(await team.database.query({ text: "select from dure.cursors where name = 'room.sink'" })).toHaveLength(1));
        await team.database.query({ text: "select dure.emit($1)" }, [JSON.stringify([{ type: "job.turn", role: "delegation", job: "job_1", data: { speaker: "eden", text: "@루다 금요일이 좋습니다" } }])]);

        const [thread] = await eventually(async () => {
          const threads = await team.rooms.reader.threads(`${name}:quiet`, NOBODY);
          expect(await platform.shown(team, threads[0]?.id ?? "")).toEqual(["이든: @루다 금요일이 좋습니다"]);
          return threads;
        });
        await settled(team);
        expect((await team.rooms.reader.messages(thread!.id, {})).map(({ mark, roles }) => [mark, roles])).toEqual([["sink", {}]]);
        expect(await team.rooms.reader.observations({ place: thread!.id, tenant: "" })).toEqual([]);
        expect((Object.keys(NAMES) as Name[]).map((agent) => team.calls(agent))).toEqual([0, 0, 0, 0]);
      });

      test("L2 what is said in a thread of the sink costs no model call and is not recorded, also when it names an agent", async () => {
        const { platform, team } = await start();
        const place = (await collaborate(team, "ruda", { targetAgent: "eden", message: "일" })).threadId;
        await settled(team);
        await team.database.query({ text: "update dure.places set is_sink = true where id = $1" }, [place]);
        const before = team.calls("eden") + team.calls("ruda");

        const message = await platform.say(team, "@이든 들려요?", { thread: place });

        await settled(team);
        expect(await rolesOf(team, message)).toEqual({});
        expect((await team.rooms.reader.observations({ place, tenant: "" })).filter((record) => record.message === message)).toEqual([]);
        expect(team.calls("eden") + team.calls("ruda")).toBe(before);
      });

      test("L3 in its own thread a collaborate back to the asker is just a message", async () => {
        const results: unknown[] = [];
        const eden: Behave = (heard) => {
          if (heard.results.length > 0) return (results.push(heard.results[0]), { text: "전했습니다" });
          return heard.text.includes("코드 리뷰") ? { toolCalls: [{ name: "collaborate", args: { targetAgent: "ruda", message: "다 봤어" } }] } : "네";
        };
        const { team, platform } = await start({ behave: { eden } });

        const { threadId } = await collaborate(team, "ruda", { targetAgent: "eden", message: "코드 리뷰" });

        await eventually(async () => expect(await platform.shown(team, threadId)).toContain("이든: @루다 다 봤어"));
        await settled(team);
        expect(results[0]).toMatchObject({ ok: true, threadId, reused: true });
        expect(await team.database.query({ text: "select from dure.requests" })).toHaveLength(1);
        expect(await team.rooms.reader.threads(general, NOBODY)).toHaveLength(1);
      });

      test("L4 the fourth call of a pair within five minutes is blocked, with the minutes to wait and the thread, and told once", async () => {
        const { team, platform } = await start({ behave: { eden: silent, ruda: silent } });
        const first = await collaborate(team, "ruda", { targetAgent: "eden", message: "하나" });
        await collaborate(team, "eden", { targetAgent: "ruda", message: "둘" });
        await collaborate(team, "ruda", { targetAgent: "eden", message: "셋" });

        const fourth = await team.rooms.collaborate({ agent: "ruda" }, { targetAgent: "eden", message: "넷" });
        const fifth = await team.rooms.collaborate({ agent: "ruda" }, { targetAgent: "eden", message: "다섯" });

        expect(fourth).toMatchObject({ ok: false, code: "LOOP_GUARD", escalated: true, hint: expect.stringContaining(first.threadId) as string });
        expect(fifth).toMatchObject({ ok: false, code: "LOOP_GUARD" });
        await eventually(async () => expect((await platform.shown(team, first.threadId)).filter((line) => line.includes("막았습니다"))).toHaveLength(1));
      });

      test("L5 more than six agent messages within a minute suspend the thread; one notice, and a person lifts it", async () => {
        const chatty: Behave = (heard) => `${heard.text.length}번째 이야기 ${Math.random()}`;
        const { team, platform } = await start({ behave: { ruda: chatty, eden: chatty } });

        const { threadId } = await collaborate(team, "ruda", { targetAgent: "eden", message: "이야기하자" });

        await eventually(async () => expect(await stateOf(team, threadId)).toBe("suspended"));
        await settled(team);
        const shown = await platform.shown(team, threadId);
        expect(shown.filter((line) => line.includes("멈춥니다"))).toHaveLength(1);
        expect(shown).toHaveLength(8); // seven of agents, the last of which trips, and the notice
        const calls = team.calls("ruda") + team.calls("eden");
        await team.rooms.resume(threadId, { tenant: "", person: "민준" });
        expect(await stateOf(team, threadId)).toBe("open");
        expect(team.calls("ruda") + team.calls("eden")).toBe(calls);
        expect((await team.inbox.list({ tenant: "", status: "open" })).items.filter((entry) => entry.type === "conflict")).toEqual([]);
      });

      test("a suspension ends by itself when its time is over, and agents go on from the next word", async () => {
        const chatty: Behave = () => `이야기 ${Math.random()}`;
        const { team } = await start({ behave: { ruda: chatty, eden: chatty }, limits: { exchangeMessages: 1_000 } });
        const { threadId } = await collaborate(team, "ruda", { targetAgent: "eden", message: "이야기하자" });
        await eventually(async () => expect(await stateOf(team, threadId)).toBe("suspended"));
        await settled(team);
        const [{ wait }] = (await team.database.query<{ wait: number }>({ text: "select extract(epoch from suspended_until - clock_timestamp())::integer as wait from dure.places where id = $1" }, [threadId])) as [{ wait: number }];
        expect(wait).toBeGreaterThan(240);
        expect(wait).toBeLessThanOrEqual(300);

        await team.database.query({ text: "update dure.places set suspended_until = clock_timestamp() - interval '1 second' where id = $1" }, [threadId]);
        expect(await stateOf(team, threadId)).toBe("open");
        const before = team.calls("eden");
        await collaborate(team, "ruda", { targetAgent: "eden", message: "계속하자", threadId });

        await eventually(() => expect(team.calls("eden")).toBeGreaterThan(before));
      });

      test("two agents that always answer fall silent after the exchange budget, also with a restart in the middle; a person wakes them", async () => {
        const chatty: Behave = () => `이야기 ${Math.random()}`;
        const limits = { threadMessages: 100, exchangeMessages: 10 };
        const { team, platform } = await start({ behave: { ruda: chatty, eden: chatty }, limits });
        const { threadId } = await collaborate(team, "ruda", { targetAgent: "eden", message: "이야기하자" });
        await eventually(async () => expect((await platform.shown(team, threadId)).length).toBeGreaterThan(3));
        await team.stop();

        const second = await startOn(platform, { on: team, behave: { ruda: chatty, eden: chatty }, limits });
        await eventually(async () => expect(await stateOf(second, threadId)).toBe("resting"));
        await settled(second);
        const shown = await platform.shown(second, threadId);
        expect(shown.filter((line) => line.includes("쉽니다"))).toHaveLength(1);
        // The collaborate, ten more, and the notice.
        expect(shown).toHaveLength(12);

        const woken = await platform.say(second, "다시 이야기해 줘", { thread: threadId });
        expect(await rolesOf(second, woken)).toMatchObject({ ruda: "HANDLER", eden: "HANDLER" });
      });

      test("three agents in a ring stop at the cycle guard", async () => {
        const next: Record<string, Name> = { ruda: "eden", eden: "seum", seum: "ruda" };
        const passOn = (self: Name): Behave => (heard) => (heard.results.length > 0 ? "넘겼습니다" : heard.text.includes("부탁") ? { toolCalls: [{ name: "collaborate", args: { targetAgent: next[self]!, message: "이 부탁 좀" } }] } : { toolCalls: [{ name: "stay_silent", args: {} }] });
        const { team } = await start({ behave: { ruda: passOn("ruda"), eden: passOn("eden"), seum: passOn("seum") }, limits: { threadMessages: 100 } });

        await collaborate(team, "ruda", { targetAgent: "eden", message: "이 부탁 좀" });
        await settled(team);

        expect(await team.database.query({ text: "select from dure.requests" })).toHaveLength(2);
        expect(team.calls("ruda") + team.calls("eden") + team.calls("seum")).toBeLessThan(40);
      });

      test("a ring whose topic changes each time stops at the depth guard", async () => {
        const next: Record<string, Name> = { ruda: "eden", eden: "seum", seum: "ruda" };
        const passOn = (self: Name): Behave => (heard) => (heard.results.length > 0 ? "넘겼습니다" : heard.text.includes("부탁") ? { toolCalls: [{ name: "collaborate", args: { targetAgent: next[self]!, message: "이 부탁 좀", topic: `주제 ${Math.random()}` } }] } : { toolCalls: [{ name: "stay_silent", args: {} }] });
        const { team } = await start({ behave: { ruda: passOn("ruda"), eden: passOn("eden"), seum: passOn("seum") }, limits: { threadMessages: 100, pairCalls: 100, threadsPerMinute: 100 } });

        await collaborate(team, "ruda", { targetAgent: "eden", message: "이 부탁 좀", topic: "처음" });
        await eventually(async () => expect(await team.database.query({ text: "select from dure.events where type = 'room.guard_tripped' and data->>'guard' = 'chain'" })).toHaveLength(1));
        await settled(team);

        expect((await team.database.query<{ chain: string[] }>({ text: "select chain from dure.requests order by created_at" })).map(({ chain }) => chain.length)).toEqual([1, 2, 3, 4, 5]);
      });

      test("an agent that ends the conversation says its last word, and nobody goes on from it", async () => {
        const eden: Behave = (heard) => (heard.results.length > 0 ? "이만 마칩니다" : { toolCalls: [{ name: "end_conversation", args: {} }] });
        const { team, platform } = await start({ behave: { eden } });

        const { threadId } = await collaborate(team, "ruda", { targetAgent: "eden", message: "정리해 줘" });
        await settled(team);

        expect(await platform.shown(team, threadId)).toEqual(["루다: @이든 정리해 줘", "이든: 이만 마칩니다"]);
        expect(team.calls("ruda")).toBe(0);
      });

      test("a bare acknowledgement of an acknowledgement ends it", async () => {
        const { team, platform } = await start({ behave: { ruda: () => "네, 알겠습니다", eden: () => "감사합니다!" } });

        const { threadId } = await collaborate(team, "ruda", { targetAgent: "eden", message: "확인만 부탁" });
        await settled(team);

        expect((await platform.shown(team, threadId)).slice(1)).toEqual(["이든: 감사합니다!", "루다: 네, 알겠습니다"]);
      });
    });

    describe("response tracking", () => {
      test("the answer closes exactly one request, and the place where it began is told", async () => {
        const { team, platform } = await start({ behave: { ruda: (heard) => askOnce(heard, "eden", "리뷰해 줘") } });

        await platform.say(team, "@루다 이든한테 리뷰 받아 줘");
        await eventually(async () => expect((await platform.shown(team, general)).filter((line) => line.includes("이든 님이 답했습니다"))).toHaveLength(1));

        expect(await requestStates(team)).toEqual(["answered"]);
      });

      test("an answer that cannot be posted closes nothing: the request stays open, and the place where it began is told nothing", async () => {
        const { team, platform } = await start({ behave: { ruda: (heard) => askOnce(heard, "eden", "리뷰해 줘") } });
        platform.fail("post", "permission", { agent: "eden" });

        await platform.say(team, "@루다 이든한테 리뷰 받아 줘");
        await eventually(async () => expect((await team.database.query({ text: "select from dure.room_messages where author = 'eden' and delivery = 'failed'" }))).toHaveLength(1));
        await settled(team);

        expect(await requestStates(team)).toEqual(["open"]);
        expect((await platform.shown(team, general)).filter((line) => line.includes("답했습니다"))).toEqual([]);
        const [thread] = await team.rooms.reader.threads(general, NOBODY);
        await platform.say(team, "@이든 다시 한 번 말해 줘", { thread: thread!.id });
        await eventually(async () => expect(await requestStates(team)).toEqual(["answered"]));
      });

      test("reminders come at 5 and 10 minutes, an escalation at 15, and a late answer resolves it", async () => {
        const { team, platform } = await start({ behave: { eden: silent } });
        const { threadId } = await collaborate(team, "ruda", { targetAgent: "eden", message: "답 좀" });
        await settled(team);
        const pass = async (): Promise<void> => void (await team.database.query({ text: "update dure.requests set next_at = clock_timestamp() - interval '1 second', created_at = created_at - interval '5 minutes'" }));

        await pass();
        await eventually(async () => expect((await platform.shown(team, threadId)).filter((line) => line.includes("답해 주세요"))).toHaveLength(1));
        await settled(team);
        await pass();
        await eventually(async () => expect((await platform.shown(team, threadId)).filter((line) => line.includes("답해 주세요"))).toHaveLength(2));
        await settled(team);
        await pass();
        await eventually(async () => expect((await team.inbox.list({ tenant: "", status: "open" })).items.map((entry) => entry.type)).toEqual(["unanswered"]));
        expect(team.calls("eden")).toBeGreaterThanOrEqual(3);

        await team.stop();
        const second = await startOn(platform, { on: team });
        await platform.say(second, "@이든 늦었지만 답해 줘", { thread: threadId });
        await eventually(async () => expect(await requestStates(second)).toEqual(["answered"]));
        expect((await second.inbox.list({ tenant: "", status: "open" })).items).toEqual([]);
      });
    });

    describe("delivery", () => {
      test("E1 403: no retry, failed at once, an escalation names the place", async () => {
        const { team, platform } = await start();
        platform.fail("post", "permission", { agent: "ruda" });

        await platform.say(team, "안녕");

        await eventually(async () => expect(await deliveries(team, general)).toEqual(["sent", "failed"]));
        expect((await team.inbox.list({ tenant: "", status: "open" })).items).toMatchObject([{ type: "delivery", title: expect.stringContaining("→ general") as string, context: { place: general, code: "CHANNEL_PERMISSION" } }]);
        expect(platform.posts()).toBe(1);
      });

      test("E2 404: no retry, failed at once, an escalation", async () => {
        const { team, platform } = await start();
        platform.fail("post", "not-found", { agent: "ruda" });

        await platform.say(team, "안녕");

        await eventually(async () => expect(await deliveries(team, general)).toEqual(["sent", "failed"]));
        expect(await openTypes(team)).toEqual(["delivery"]);
      });

      test("E3 429: waits as told, then sends; it counts as no attempt", async () => {
        const { team, platform } = await start();
        platform.fail("post", "rate-limited", { times: 6, retryAfterMs: 50, agent: "ruda" });

        await platform.say(team, "안녕");

        await eventually(async () => expect(await platform.shown(team, general)).toEqual(["민준: 안녕", "루다: 루다의 답입니다"]));
        expect(platform.posts()).toBe(7);
        expect(await openTypes(team)).toEqual([]);
      });

      test("E4 5xx: three retries after 1, 2 and 4 s, then failed and escalated", async () => {
        const { team, platform } = await start();
        platform.fail("post", "transient", { times: 4, agent: "ruda" });

        await platform.say(team, "안녕");

        await eventually(async () => expect(await deliveries(team, general)).toEqual(["sent", "failed"]), { patienceMs: 30_000 });
        expect(platform.posts()).toBe(4);
        expect(await openTypes(team)).toEqual(["delivery"]);
      });

      test("E5 no answer in 10 s: it is tried again, and shown once", async () => {
        const { team, platform } = await start();
        platform.fail("post", "hang", { agent: "ruda" });

        await platform.say(team, "안녕");

        await eventually(async () => expect(await deliveries(team, general)).toEqual(["sent", "sent"]), { patienceMs: 25_000 });
        expect(platform.posts()).toBe(2);
        expect(await platform.shown(team, general)).toEqual(["민준: 안녕", "루다: 루다의 답입니다"]);
      });

      test("a 5xx after the message was made shows it once", async () => {
        const { team, platform } = await start();
        platform.fail("post", "transient", { afterDoing: true, agent: "ruda" });

        await platform.say(team, "안녕");

        await eventually(async () => expect(await deliveries(team, general)).toEqual(["sent", "sent"]), { patienceMs: 15_000 });
        expect(await platform.shown(team, general)).toEqual(["민준: 안녕", "루다: 루다의 답입니다"]);
      });

      test("a thread whose creation answered 5xx but happened is found, not made again", async () => {
        const { team, platform } = await start();
        platform.fail("thread", "transient", { afterDoing: true });

        const { threadId } = await collaborate(team, "ruda", { targetAgent: "eden", message: "일" });

        await eventually(async () => expect((await platform.shown(team, threadId))[0]).toBe("루다: @이든 일"), { patienceMs: 15_000 });
        expect(await team.rooms.reader.threads(general, NOBODY)).toHaveLength(1);
      });

      test("an answer that is longer than a room takes is shown as far as it fits, and says how much is missing", async () => {
        const { team, platform } = await start({ behave: { ruda: () => "가".repeat(120_000) } });

        await platform.say(team, "길게 말해 줘");
        await eventually(async () => expect(await deliveries(team, general)).toEqual(["sent", "sent"]));

        const { text } = (await team.rooms.reader.messages(general, {})).at(-1)!;
        expect(text.length).toBeLessThanOrEqual(100_000);
        const [, kept, missing] = /^(가+)\n… \(뒤의 (\d+)자는 너무 길어 뺐습니다\)$/.exec(text)!;
        expect(kept!.length + Number(missing)).toBe(120_000);
      });

      test("a part that failed stops the later parts of its message; what is said after it goes on", async () => {
        const long = "한 문장입니다. ".repeat(11_095).trim(); // longer than one message of the web rooms
        const { team, platform } = await start({ behave: { ruda: (heard) => (heard.text.includes("길게") ? long : "짧은 답") } });
        platform.fail("post", "permission", { agent: "ruda" });

        await platform.say(team, "길게 말해 줘");
        await eventually(async () => expect(await deliveries(team, general)).toEqual(["sent", "failed"]));
        await settled(team);

        expect(platform.posts()).toBe(1);
        const parts = await team.database.query<{ state: string }>({ text: "select state from dure.outbox where payload->>'kind' = 'post'" });
        expect(parts.length).toBeGreaterThan(1);
        expect(new Set(parts.map(({ state }) => state))).toEqual(new Set(["failed"]));
        await platform.say(team, "안녕");
        await eventually(async () => expect((await platform.shown(team, general)).at(-1)).toBe("루다: 짧은 답"));
      });

      test("a refused token takes the account offline with one critical escalation, and no storm follows", async () => {
        const { team, platform } = await start();
        platform.fail("post", "credential", { agent: "ruda", times: 100 });

        await platform.say(team, "안녕");

        await eventually(async () => expect(await openTypes(team)).toEqual(["account"]));
        await settled(team);
        expect(platform.posts()).toBeLessThanOrEqual(2);
        expect((await team.rooms.reader.agents()).find((agent) => agent.id === "ruda")?.accounts[0]?.state).toBe("refused");
      });
    });

    describe("records", () => {
      test("O1 O2 O3 at most 50 records per agent and place, the newest ones, of 50 graphemes and without the original text", async () => {
        const { team, platform } = await start({ behave: { ruda: silent } });
        const long = "👩‍👩‍👧가나다".repeat(30);

        for (let index = 1; index <= 55; index++) await platform.say(team, `@루다 ${index}번 ${long}`);
        await settled(team);

        const records = await team.rooms.reader.observations({ agent: "dajim", place: general, tenant: "" });
        expect(records.map((record) => /(\d+)번/.exec(record.excerpt)?.[1])).toEqual(Array.from({ length: 50 }, (_none, index) => String(index + 6)));
        expect([...new Intl.Segmenter("ko").segment(records[0]!.excerpt)].length).toBeLessThanOrEqual(50);
        expect(JSON.stringify(records)).not.toContain(long);
      });

      test("a record that cannot be written is left out with a warning, and who handles the message answers all the same", async () => {
        const warnings: string[] = [];
        const { team, platform } = await start({ logger: { ...silentLogger, warn: (_fields: unknown, message: string) => void warnings.push(message) } });
        await team.database.query({ text: "alter table dure.observations add constraint refuses check (false) not valid" });

        const message = await platform.say(team, "@루다 이것 확인해줘");

        await eventually(async () => expect(await platform.shown(team, general)).toEqual(["민준: @루다 이것 확인해줘", "루다: 루다의 답입니다"]));
        expect(await rolesOf(team, message)).toMatchObject({ ruda: "HANDLER", dajim: "OBSERVER" });
        await settled(team);
        expect(await team.rooms.reader.observations({ place: general, tenant: "" })).toEqual([]);
        expect(warnings.filter((line) => line.includes(message))).not.toEqual([]);
      });

      test("O2 a record counts for 24 hours: then nobody is told of it any more, swept or not", async () => {
        const backgrounds: string[] = [];
        const { team, platform } = await start({ behave: { ruda: silent, dajim: (heard) => (backgrounds.push(heard.background), "모릅니다") } });
        await platform.say(team, "@루다 비밀 번호는 금요일에 바뀝니다");
        await settled(team);
        const age = async (span: string): Promise<void> => void (await team.database.query({ text: "update dure.observations set at = at - $1::interval" }, [span]));

        await age("23 hours 50 minutes");
        expect(await heardBy(team, "dajim", general)).toEqual(["민준: @루다 비밀 번호는 금요일에 바뀝니다"]);
        await age("11 minutes");
        expect(await heardBy(team, "dajim", general)).toEqual([]);
        await platform.say(team, "@다짐 무슨 말 들었어?");
        await eventually(() => expect(backgrounds).toHaveLength(1));
        expect(backgrounds[0]).not.toContain("비밀 번호");
      });

      test("O4 what an agent handled is kept word for word in its session", async () => {
        const { team, platform } = await start();
        const long = `긴 부탁입니다. ${"자세한 내용 ".repeat(30)}끝`;

        await platform.say(team, `@루다 ${long}`);
        await settled(team);

        const session = await team.engine.session(`room:ruda:${general}`);
        expect(session.history[0]!.content).toContain(long);
      });
    });
  });
}

const NOBODY = { tenant: "", person: "" };

/** Calls stay_silent and says nothing. */
const silent: Behave = (heard) => (heard.results.length > 0 ? "." : { toolCalls: [{ name: "stay_silent", args: {} }] });

function askOnce(heard: Parameters<Behave>[0], targetAgent: Name, message: string): ReturnType<Behave> {
  if (heard.results.length > 0) return "부탁해 두었습니다";
  return heard.text.includes("받아 줘") ? { toolCalls: [{ name: "collaborate", args: { targetAgent, message } }] } : { toolCalls: [{ name: "stay_silent", args: {} }] };
}

/** Nothing is waiting, running or leaving. */
async function settled(team: TestTeam): Promise<void> {
  let quiet = 0;
  await eventually(
    async () => {
      const [row] = await team.database.query<{ open: number }>({
        text: "select ((select count(*) from dure.handlings where state <> 'done') + (select count(*) from dure.outbox where state in ('pending', 'sending') and topic like 'room.%' and next_at < clock_timestamp() + interval '1 minute'))::integer as open",
      });
      quiet = row!.open === 0 ? quiet + 1 : 0;
      expect(quiet).toBeGreaterThanOrEqual(3);
    },
    { everyMs: 20 },
  );
}

async function collaborate(team: TestTeam, agent: Name, call: Parameters<TestTeam["rooms"]["collaborate"]>[1]): Promise<Extract<CollaborateResult, { ok: true }>> {
  const result = await team.rooms.collaborate({ agent }, call);
  if (!result.ok) throw new Error(`${result.code}: ${result.message}`);
  return result;
}

function idOf(result: CollaborateResult): string {
  return result.ok ? result.messageId : result.code;
}

async function rolesOf(team: TestTeam, message: string): Promise<Record<string, StoredRole["role"]>> {
  const stored = await team.rooms.message(message, NOBODY);
  return Object.fromEntries(Object.entries(stored.roles).map(([agent, { role }]) => [agent, role]));
}

async function ranksOf(team: TestTeam, message: string): Promise<Record<string, string>> {
  const stored = await team.rooms.message(message, NOBODY);
  return Object.fromEntries(Object.entries(stored.roles).flatMap(([agent, { rank }]) => (rank ? [[agent, rank]] : [])));
}

async function heardBy(team: TestTeam, agent: Name, place: string): Promise<readonly string[]> {
  return (await team.rooms.reader.observations({ agent, place, tenant: "" })).map((record) => `${record.sender}: ${record.excerpt}`);
}

async function participantsOf(team: TestTeam, thread: string): Promise<readonly string[]> {
  return [...((await team.rooms.reader.thread(thread, NOBODY))?.participants ?? [])].sort();
}

async function stateOf(team: TestTeam, place: string): Promise<string | undefined> {
  return (await team.rooms.reader.thread(place, NOBODY))?.state;
}

async function deliveries(team: TestTeam, place: string): Promise<readonly string[]> {
  return (await team.rooms.reader.messages(place, {})).map((message) => message.delivery);
}

async function openTypes(team: TestTeam): Promise<readonly string[]> {
  return (await team.inbox.list({ tenant: "", status: "open" })).items.map((entry) => entry.type);
}

async function requestStates(team: TestTeam): Promise<readonly string[]> {
  return (await team.database.query<{ state: string }>({ text: "select state from dure.requests order by created_at" })).map((row) => row.state);
}
