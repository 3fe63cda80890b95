// @module-tag slow
import { describe, expect, test } from "vitest";
import { FULL } from "../../src/kernel/test-tiers.ts";
import { eventually } from "../until.ts";
import { silentLogger } from "../../src/kernel/logger.ts";
import {
  collaborate,
  NEVER_SILENT,
  ANONYMOUS,
  participantsOf,
  readyTeamOn,
  rolesOf,
  HEARS_PLATFORM,
  settled,
  silent,
  stateOf,
  type TeamOptions,
} from "./helpers.ts";
import type { TestPlatform } from "./platform.ts";
import { PLATFORM } from "./platforms.ts";
import { NAMES, type Behave, type Name, type TestTeam } from "./team.ts";

/** Scenarios of docs/spec/collaboration §2, §3, §5 and §7, on every platform. */
describe.each(PLATFORM.rows)(
  "who answers, and what stops agents, on %s",
  { ...PLATFORM.options, timeout: 30_000 },
  (name, makePlatform) => {
    const general = `${name}:general`;
    const start = async (
      options: TeamOptions = {},
    ): Promise<{ platform: TestPlatform; team: TestTeam }> => {
      const platform = await makePlatform();
      return { platform, team: await readyTeamOn(platform, options) };
    };

    describe("who answers", () => {
      test("H1 only the mentioned agent answers; the other three record", FULL, async () => {
        const lines: string[] = [];
        const { platform, team } = await start({
          logger: {
            ...silentLogger,
            debug: (_fields: unknown, line: string) => void lines.push(line),
          },
        });

        const message = await platform.say(team, "@루다 이것 확인해줘");

        await eventually(async () =>
          expect(await platform.shown(team, general)).toEqual([
            "민준: @루다 이것 확인해줘",
            "루다: 루다의 답입니다",
          ]),
        );
        expect(await rolesOf(team, message)).toEqual({
          ruda: "HANDLER",
          eden: "OBSERVER",
          seum: "OBSERVER",
          dajim: "OBSERVER",
        });
        expect(await heardBy(team, "dajim", general)).toContain("민준: @루다 이것 확인해줘");
        expect((await team.rooms.message(message, ANONYMOUS)).roles["dajim"]).toMatchObject({
          because: "others-mentioned",
        });
        expect(lines).toEqual(
          expect.arrayContaining([
            `ruda is HANDLER of ${message}: mentioned`,
            `dajim is OBSERVER of ${message}: others-mentioned`,
          ]),
        );
        expect(team.calls("eden") + team.calls("seum") + team.calls("dajim")).toBe(0);
      });

      test("H2 without a mention only the default agent answers", FULL, async () => {
        const { platform, team } = await start();

        await platform.say(team, "오늘 일정 알려줘");

        await eventually(async () =>
          expect(await platform.shown(team, general)).toEqual([
            "민준: 오늘 일정 알려줘",
            "루다: 루다의 답입니다",
          ]),
        );
        await settled(team);
        expect(team.calls("eden")).toBe(0);
      });

      test(
        "H3 of two mentioned both answer: the first leads, the second sees its answer and adds to it",
        FULL,
        async () => {
          const backgrounds: string[] = [];
          const { platform, team } = await start({
            behave: { seum: (heard) => (backgrounds.push(heard.background), "덧붙입니다") },
          });

          const message = await platform.say(team, "@이든 @세움 배포해도 될까?");

          await eventually(async () =>
            expect([...(await platform.shown(team, general))].sort()).toEqual(
              [
                "민준: @이든 @세움 배포해도 될까?",
                "세움: 덧붙입니다",
                "이든: 이든의 답입니다",
              ].sort(),
            ),
          );
          expect(await ranksOf(team, message)).toEqual({ eden: "PRIMARY", seum: "SECONDARY" });
          expect(backgrounds[0]).toContain("이든의 답입니다");
        },
      );

      test(
        "H4 an observer can tell later what was said, at the level of the record, also after a restart",
        FULL,
        async () => {
          const backgrounds: string[] = [];
          const behave: Behave = (heard) => (backgrounds.push(heard.background), "들은 대로입니다");
          const { platform, team } = await start();
          await platform.say(
            team,
            "@루다 결제 모듈은 금요일에 배포하고 공지는 월요일 아침에 하기로 했어, 그리고 더 긴 이야기는 이 다음에 계속 이어집니다 끝",
          );
          await eventually(async () => expect(await platform.shown(team, general)).toHaveLength(2));
          await team.stop();

          const second = await readyTeamOn(platform, { on: team, behave: { dajim: behave } });
          await platform.say(second, "@다짐 루다가 뭐라고 했어?");

          await eventually(async () =>
            expect((await platform.shown(second, general)).at(-1)).toBe("다짐: 들은 대로입니다"),
          );
          expect(backgrounds[0]).toContain("결제 모듈은 금요일에 배포하고");
          expect(backgrounds[0]).toContain("루다의 답입니다");
          expect(backgrounds[0]).not.toContain("끝");
        },
      );
    });

    describe("who is named", () => {
      test("a mention inside a quote or code names no agent", FULL, async () => {
        const { platform, team } = await start();

        const quoted = await platform.say(
          team,
          "> @이든 어제 뭐라고 했지?\n루다, 이게 무슨 뜻이야?",
        );
        const coded = await platform.say(team, "`@이든` 이라고 쓰면 불러집니다");

        for (const message of [quoted, coded]) {
          expect(await rolesOf(team, message)).toMatchObject({ ruda: "HANDLER", eden: "OBSERVER" });
        }
        await settled(team);
      });

      test(
        "of two names that begin alike each means its own, in any spelling, also in an agent's words",
        FULL,
        async () => {
          const platform = await makePlatform();
          const agents = platform.agents.map((agent) =>
            agent.id === "dajim" ? { ...agent, displayName: "이든이" } : agent,
          );
          const team = await readyTeamOn(platform, {
            agents,
            behave: {
              eden: silent,
              dajim: silent,
              ruda: (heard) => (heard.text.includes("누구") ? "＠이든이가 합니다" : silent(heard)),
            },
          });
          const handlersOf = async (message: string): Promise<readonly string[]> =>
            Object.entries(await rolesOf(team, message)).flatMap(([agent, role]) =>
              role === "HANDLER" ? [agent] : [],
            );

          const asked = [];
          for (const text of [
            "＠이든이가 봐 줘",
            "@이든은 봐 줘".normalize("NFD"),
            "＠이든이한테ㅎㅎ,＠이든도 같이.",
            "누구 차례야?",
          ]) {
            asked.push(await handlersOf(await platform.say(team, text)));
            await settled(team);
          }
          expect(asked.map((agents) => agents.toSorted())).toEqual([
            ["dajim"],
            ["eden"],
            ["dajim", "eden"],
            ["ruda"],
          ]);
          const answer = await eventually(async () => {
            const own = (await team.rooms.reader.messages(general, {})).find(
              ({ author }) => author === "ruda",
            );
            expect(own?.delivery).toBe("sent");
            return own!;
          });
          await settled(team);
          expect(await handlersOf(answer.id)).toEqual(["dajim"]);
          if (name === "discord") {
            expect((await platform.shown(team, general)).at(-1)).toBe("루다: @다짐가 합니다");
          } // the mention is that of its bot
        },
      );

      test(
        "who is named first leads, and whose message is answered comes after those whom the text names",
        FULL,
        async () => {
          const { platform, team } = await start();
          await platform.say(team, "@세움 먼저 말해 줘");
          await eventually(async () => expect(await platform.shown(team, general)).toHaveLength(2));
          await settled(team);

          const message = await platform.say(team, "@다짐 그리고 @이든 이 말 맞아?", {
            replyToLast: true,
          });

          expect(await ranksOf(team, message)).toEqual({
            dajim: "PRIMARY",
            eden: "SECONDARY",
            ...(name === "slack" ? {} : { seum: "SECONDARY" }), // Slack has no reply but a thread
          });
          await settled(team);
        },
      );
    });

    describe("threads and participants", () => {
      test(
        "T1 T2 T3 collaborate makes a thread in which both answer people without a mention",
        FULL,
        async () => {
          const { platform, team } = await start({ limits: HEARS_PLATFORM });

          const asked = await collaborate(team, "ruda", {
            targetAgent: "eden",
            message: "코드 리뷰 해줘",
          });
          const thread = asked.threadId;
          // The fourth says what the second said, which ends the talk.
          await eventually(async () =>
            expect(await platform.shown(team, thread)).toEqual([
              "루다: @이든 코드 리뷰 해줘",
              "이든: 이든의 답입니다",
              "루다: 루다의 답입니다",
              "이든: 이든의 답입니다",
            ]),
          );

          expect(asked).toMatchObject({
            reused: false,
            delivery: "sent",
            threadName: "[협업] 루다 → 이든 · 코드 리뷰 해줘",
          });
          expect(await participantsOf(team, thread)).toEqual(["eden", "ruda"]);
          await settled(team);
          expect(await platform.shown(team, thread)).toHaveLength(4);

          // T3: 루다's line names no agent, and 이든 takes part.
          const unnamed = (await team.rooms.reader.messages(thread, {})).find(
            ({ author, text }) => author === "ruda" && text === "루다의 답입니다",
          )!;
          expect(unnamed.mentions).toEqual([]);
          expect(unnamed.roles["eden"]).toMatchObject({ role: "HANDLER", because: "participant" });

          const said = await platform.say(team, "로그인 쪽도 봐 줘", { thread });
          expect(await rolesOf(team, said)).toEqual({
            ruda: "HANDLER",
            eden: "HANDLER",
            seum: "OBSERVER",
            dajim: "OBSERVER",
          });
        },
      );

      test(
        "T4 T5 a mention in a thread lets another agent join; who is not in it only records",
        FULL,
        async () => {
          const { platform, team } = await start({ limits: { exchangeMessages: 3 } });
          const { threadId: thread } = await collaborate(team, "ruda", {
            targetAgent: "eden",
            message: "검토",
          });
          await settled(team);

          const joining = await platform.say(team, "@세움 도 확인해봐", { thread });
          await eventually(async () =>
            expect(await participantsOf(team, thread)).toEqual(["eden", "ruda", "seum"]),
          );
          await settled(team);
          const later = await platform.say(team, "멘션 없이 한마디", { thread });

          expect(await rolesOf(team, joining)).toEqual({
            seum: "HANDLER",
            ruda: "OBSERVER",
            eden: "OBSERVER",
            dajim: "OBSERVER",
          });
          expect(await rolesOf(team, later)).toEqual({
            seum: "HANDLER",
            ruda: "HANDLER",
            eden: "HANDLER",
            dajim: "OBSERVER",
          });
        },
      );

      test("T6 after a restart participants are restored, and 이든 handles a message without a mention", async () => {
        const { platform, team } = await start();
        const { threadId: thread } = await collaborate(team, "ruda", {
          targetAgent: "eden",
          message: "검토",
        });
        await settled(team);
        await team.stop();

        const second = await readyTeamOn(platform, { on: team });
        const said = await platform.say(second, "하나만 더", { thread });

        expect(await rolesOf(second, said)).toMatchObject({
          eden: "HANDLER",
          ruda: "HANDLER",
          seum: "OBSERVER",
        });
      });

      test(
        "T7 without the record no agent answers unmentioned, one line warns, and a mention registers again",
        FULL,
        async () => {
          const warnings: string[] = [];
          const { platform, team } = await start({
            logger: {
              ...silentLogger,
              warn: (_fields: unknown, message: string) => void warnings.push(message),
            },
          });
          const { threadId: thread } = await collaborate(team, "ruda", {
            targetAgent: "eden",
            message: "검토",
          });
          await settled(team);
          await team.database.query({ text: "delete from dure.participants" });

          const unnamed = await platform.say(team, "여기 누구 있나요", { thread });
          await platform.say(team, "정말 아무도 없나요", { thread });
          await platform.say(team, "@이든 있나요", { thread });
          await settled(team);
          const again = await platform.say(team, "계속해 줘", { thread });

          expect(Object.values(await rolesOf(team, unnamed))).not.toContain("HANDLER");
          expect(
            warnings.filter((line) =>
              line.startsWith("no agent takes part in the thread [협업] 루다 → 이든"),
            ),
          ).toHaveLength(1);
          expect(await rolesOf(team, again)).toMatchObject({ eden: "HANDLER", ruda: "OBSERVER" });
        },
      );
    });

    describe("leaving", () => {
      test(
        "an agent that leaves says its farewell, hears the thread no more, and comes back when it is named",
        FULL,
        async () => {
          const eden: Behave = (heard) =>
            heard.results.length > 0
              ? "저는 이만 갑니다"
              : heard.text.includes("나가도 돼")
                ? { toolCalls: [{ name: "leave", args: {} }] }
                : { toolCalls: [{ name: "stay_silent", args: {} }] };
          const { platform, team } = await start({ behave: { eden, ruda: silent } });
          const { threadId: thread } = await collaborate(team, "ruda", {
            targetAgent: "eden",
            message: "검토",
          });
          await settled(team);

          await platform.say(team, "@이든 이제 나가도 돼", { thread });
          await eventually(async () =>
            expect((await platform.shown(team, thread)).at(-1)).toBe("이든: 저는 이만 갑니다"),
          );
          await settled(team);
          const after = await platform.say(team, "남은 사람끼리 이야기해요", { thread });

          expect(await participantsOf(team, thread)).toEqual(["ruda"]);
          expect(await rolesOf(team, after)).toMatchObject({ ruda: "HANDLER", eden: "OBSERVER" });
          expect(
            await team.database.query({
              text: "select agent, data->>'by' as by from dure.events where type = 'room.left'",
            }),
          ).toEqual([{ agent: "eden", by: "eden" }]);
          await platform.say(team, "@이든 다시 와 줘", { thread });
          expect(await participantsOf(team, thread)).toEqual(["eden", "ruda"]);
        },
      );
    });

    describe("what an agent wants of its part", () => {
      test("who is silent and leaves does both", FULL, async () => {
        const eden: Behave = (heard) =>
          heard.results.length === 0
            ? {
                toolCalls: [
                  { name: "stay_silent", args: {} },
                  { name: "leave", args: {} },
                ],
              }
            : "말하지 않습니다";
        const { platform, team } = await start({ behave: { eden, ruda: silent } });
        const { threadId: thread } = await collaborate(team, "ruda", {
          targetAgent: "eden",
          message: "검토",
        });

        await eventually(async () => expect(await participantsOf(team, thread)).toEqual(["ruda"]));

        await settled(team);
        expect(await platform.shown(team, thread)).toEqual(["루다: @이든 검토"]);
      });
    });

    describe("no endless talk", () => {
      test("L1 what the sink reports of the background is shown, costs no model call and is not recorded", async () => {
        const platform = await makePlatform();
        const team = await readyTeamOn(platform, {
          sink: { channels: [platform.channels.findLast(({ key }) => key === "quiet")!] },
        });

        await eventually(async () =>
          expect(
            await team.database.query({
              text: "select from dure.cursors where name = 'room.sink'",
            }),
          ).toHaveLength(1),
        );
        await team.database.query({ text: "select dure.emit($1)" }, [
          JSON.stringify([
            {
              type: "job.turn",
              role: "delegation",
              job: "job_1",
              data: { speaker: "eden", text: "@루다 금요일이 좋습니다" },
            },
          ]),
        ]);

        const [thread] = await eventually(async () => {
          const threads = await team.rooms.reader.threads(`${name}:quiet`, ANONYMOUS);
          expect(await platform.shown(team, threads[0]?.id ?? "")).toEqual([
            "이든: @루다 금요일이 좋습니다",
          ]);
          return threads;
        });
        await settled(team);
        expect(
          (await team.rooms.reader.messages(thread!.id, {})).map(({ mark, roles }) => [
            mark,
            roles,
          ]),
        ).toEqual([["sink", {}]]);
        expect(await team.rooms.reader.observations({ place: thread!.id, tenant: "" })).toEqual([]);
        expect((Object.keys(NAMES) as Name[]).map((agent) => team.calls(agent))).toEqual([
          0, 0, 0, 0,
        ]);
      });

      test(
        "L2 a message in a thread of the sink costs no model call and is not recorded",
        FULL,
        async () => {
          const { platform, team } = await start();
          const place = (await collaborate(team, "ruda", { targetAgent: "eden", message: "일" }))
            .threadId;
          await settled(team);
          await team.database.query(
            { text: "update dure.places set is_sink = true where id = $1" },
            [place],
          );
          const before = team.calls("eden") + team.calls("ruda");

          const message = await platform.say(team, "@이든 들려요?", { thread: place });

          await settled(team);
          expect(await rolesOf(team, message)).toEqual({});
          expect(
            (await team.rooms.reader.observations({ place, tenant: "" })).filter(
              (record) => record.message === message,
            ),
          ).toEqual([]);
          expect(team.calls("eden") + team.calls("ruda")).toBe(before);
        },
      );

      test(
        "L3 in its own thread a collaborate back to the asker is just a message",
        FULL,
        async () => {
          const results: unknown[] = [];
          const eden: Behave = (heard) => {
            if (heard.results.length > 0) {
              return (results.push(heard.results[0]), { text: "전했습니다" });
            }
            return heard.text.includes("코드 리뷰")
              ? {
                  toolCalls: [
                    { name: "collaborate", args: { targetAgent: "ruda", message: "다 봤어" } },
                  ],
                }
              : "네";
          };
          const { team, platform } = await start({ behave: { eden } });

          const { threadId } = await collaborate(team, "ruda", {
            targetAgent: "eden",
            message: "코드 리뷰",
          });

          await eventually(async () =>
            expect(await platform.shown(team, threadId)).toContain("이든: @루다 다 봤어"),
          );
          await settled(team);
          expect(results[0]).toMatchObject({ ok: true, threadId, reused: true });
          expect(await team.database.query({ text: "select from dure.requests" })).toHaveLength(1);
          expect(await team.rooms.reader.threads(general, ANONYMOUS)).toHaveLength(1);
        },
      );

      test("L4 the fourth call of a pair within five minutes is blocked, with the time to wait, and told once", async () => {
        const { team, platform } = await start({ behave: { eden: silent, ruda: silent } });
        const first = await collaborate(team, "ruda", { targetAgent: "eden", message: "하나" });
        await collaborate(team, "eden", { targetAgent: "ruda", message: "둘" });
        await collaborate(team, "ruda", { targetAgent: "eden", message: "셋" });

        const fourth = await team.rooms.collaboration.collaborate(
          { agent: "ruda" },
          { targetAgent: "eden", message: "넷" },
        );
        const fifth = await team.rooms.collaboration.collaborate(
          { agent: "ruda" },
          { targetAgent: "eden", message: "다섯" },
        );

        expect(fourth).toMatchObject({
          ok: false,
          code: "LOOP_GUARD",
          escalated: true,
          hint: expect.stringContaining(first.threadId) as string,
        });
        expect(fifth).toMatchObject({ ok: false, code: "LOOP_GUARD" });
        await eventually(async () =>
          expect(
            (await platform.shown(team, first.threadId)).filter((line) =>
              line.includes("막았어요"),
            ),
          ).toHaveLength(1),
        );
      });

      test(
        "L5 more than six agent messages in a minute suspend the thread; one notice, and a person lifts it",
        FULL,
        async () => {
          const chatty: Behave = (heard) => `${heard.text.length}번째 이야기 ${Math.random()}`;
          const { team, platform } = await start({ behave: { ruda: chatty, eden: chatty } });

          const { threadId } = await collaborate(team, "ruda", {
            targetAgent: "eden",
            message: "이야기하자",
          });

          await eventually(async () => expect(await stateOf(team, threadId)).toBe("suspended"));
          await settled(team);
          const shown = await platform.shown(team, threadId);
          expect(shown.filter((line) => line.includes("멈춰요"))).toHaveLength(1);
          expect(shown).toHaveLength(8); // seven of agents, the last of which trips, and the notice
          const calls = team.calls("ruda") + team.calls("eden");
          await team.rooms.resume(threadId, { tenant: "", person: "민준" });
          expect(await stateOf(team, threadId)).toBe("open");
          expect(team.calls("ruda") + team.calls("eden")).toBe(calls);
          expect(
            (await team.inbox.list({ tenant: "", status: "open" })).items.filter(
              (entry) => entry.type === "conflict",
            ),
          ).toEqual([]);
        },
      );

      test(
        "a suspension ends by itself when its time is over, and agents go on from the next word",
        FULL,
        async () => {
          const chatty: Behave = () => `이야기 ${Math.random()}`;
          const { team } = await start({
            behave: { ruda: chatty, eden: chatty },
            limits: { exchangeMessages: 1_000 },
          });
          const { threadId } = await collaborate(team, "ruda", {
            targetAgent: "eden",
            message: "이야기하자",
          });
          await eventually(async () => expect(await stateOf(team, threadId)).toBe("suspended"));
          await settled(team);
          const [{ wait }] = (await team.database.query<{ wait: number }>(
            {
              text: `
              select extract(epoch
              from suspended_until - clock_timestamp())::integer as wait
              from dure.places
              where id = $1`,
            },
            [threadId],
          )) as [{ wait: number }];
          expect(wait).toBeGreaterThan(240);
          expect(wait).toBeLessThanOrEqual(300);

          await team.database.query(
            {
              text: `
              update dure.places
              set suspended_until = clock_timestamp() - interval '1 second'
              where id = $1`,
            },
            [threadId],
          );
          expect(await stateOf(team, threadId)).toBe("open");
          const before = team.calls("eden");
          await collaborate(team, "ruda", { targetAgent: "eden", message: "계속하자", threadId });

          await eventually(() => expect(team.calls("eden")).toBeGreaterThan(before));
        },
      );

      test.each(NEVER_SILENT)(
        "%s fall silent after the exchange budget, also with a restart in the middle; a person wakes them",
        FULL,
        async (_who, behave) => {
          const limits = { threadMessages: 100, exchangeMessages: 10 };
          const { team, platform } = await start({ behave, limits });
          const { threadId } = await collaborate(team, "ruda", {
            targetAgent: "eden",
            message: "이야기하자",
          });
          await eventually(async () =>
            expect((await platform.shown(team, threadId)).length).toBeGreaterThan(3),
          );
          await team.stop();

          const second = await readyTeamOn(platform, { on: team, behave, limits });
          await eventually(async () => expect(await stateOf(second, threadId)).toBe("resting"));
          await settled(second);
          const shown = await platform.shown(second, threadId);
          expect(shown.filter((line) => line.includes("쉬어요"))).toHaveLength(1);
          // The collaborate, ten more, and the notice.
          expect(shown).toHaveLength(12);

          const woken = await platform.say(second, "다시 이야기해 줘", { thread: threadId });
          expect(await rolesOf(second, woken)).toMatchObject({ ruda: "HANDLER", eden: "HANDLER" });
        },
      );

      test(
        "agents that name each other in a channel fall silent after the budget, until a person writes",
        FULL,
        async () => {
          const naming =
            (other: string): Behave =>
            () =>
              `@${other} 이야기 ${Math.random()}`;
          const { team, platform } = await start({
            behave: { ruda: naming("이든"), eden: naming("루다") },
            limits: { threadMessages: 100, exchangeMessages: 5 },
          });
          const stateOfChannel = async (): Promise<string | undefined> =>
            (await team.rooms.reader.rooms(ANONYMOUS)).items.find(({ id }) => id === general)
              ?.state;

          await platform.say(team, "@루다 시작해 줘");
          await eventually(async () => expect(await stateOfChannel()).toBe("resting"));
          await settled(team);

          const shown = await platform.shown(team, general);
          expect(shown).toHaveLength(7); // the person's, five of agents, and the notice
          expect(shown.filter((line) => line.includes("쉬어요"))).toHaveLength(1);
          expect(team.calls("ruda") + team.calls("eden")).toBe(5);
          const woken = await platform.say(team, "@이든 계속해 줘");
          expect(await rolesOf(team, woken)).toMatchObject({ eden: "HANDLER" });
          await settled(team);
        },
      );

      test("three agents in a ring stop at the cycle guard", FULL, async () => {
        const next: Record<string, Name> = { ruda: "eden", eden: "seum", seum: "ruda" };
        const passOn =
          (self: Name): Behave =>
          (heard) =>
            heard.results.length > 0
              ? "넘겼습니다"
              : heard.text.includes("부탁")
                ? {
                    toolCalls: [
                      {
                        name: "collaborate",
                        args: { targetAgent: next[self]!, message: "이 부탁 좀" },
                      },
                    ],
                  }
                : { toolCalls: [{ name: "stay_silent", args: {} }] };
        const { team } = await start({
          behave: { ruda: passOn("ruda"), eden: passOn("eden"), seum: passOn("seum") },
          limits: { threadMessages: 100 },
        });

        await collaborate(team, "ruda", { targetAgent: "eden", message: "이 부탁 좀" });
        await settled(team);

        expect(await team.database.query({ text: "select from dure.requests" })).toHaveLength(2);
        expect(team.calls("ruda") + team.calls("eden") + team.calls("seum")).toBeLessThan(40);
      });

      test("a ring whose topic changes each time stops at the depth guard", FULL, async () => {
        const next: Record<string, Name> = { ruda: "eden", eden: "seum", seum: "ruda" };
        const passOn =
          (self: Name): Behave =>
          (heard) =>
            heard.results.length > 0
              ? "넘겼습니다"
              : heard.text.includes("부탁")
                ? {
                    toolCalls: [
                      {
                        name: "collaborate",
                        args: {
                          targetAgent: next[self]!,
                          message: "이 부탁 좀",
                          topic: `주제 ${Math.random()}`,
                        },
                      },
                    ],
                  }
                : { toolCalls: [{ name: "stay_silent", args: {} }] };
        const { team } = await start({
          behave: { ruda: passOn("ruda"), eden: passOn("eden"), seum: passOn("seum") },
          limits: { threadMessages: 100, pairCalls: 100, threadsPerMinute: 100 },
        });

        await collaborate(team, "ruda", {
          targetAgent: "eden",
          message: "이 부탁 좀",
          topic: "처음",
        });
        await eventually(async () =>
          expect(
            await team.database.query({
              text: "select from dure.events where type = 'room.guard_tripped' and data->>'guard' = 'chain'",
            }),
          ).toHaveLength(1),
        );
        await settled(team);

        expect(
          (
            await team.database.query<{ chain: string[] }>({
              text: "select chain from dure.requests order by created_at",
            })
          ).map(({ chain }) => chain.length),
        ).toEqual([1, 2, 3, 4, 5]);
      });

      test("an agent that ends the conversation says its last word, and no agent goes on from it", async () => {
        const eden: Behave = (heard) =>
          heard.results.length > 0
            ? "이만 마칩니다"
            : { toolCalls: [{ name: "end_conversation", args: {} }] };
        const { team, platform } = await start({ behave: { eden } });

        const { threadId } = await collaborate(team, "ruda", {
          targetAgent: "eden",
          message: "정리해 줘",
        });
        await settled(team);

        expect(await platform.shown(team, threadId)).toEqual([
          "루다: @이든 정리해 줘",
          "이든: 이만 마칩니다",
        ]);
        expect(team.calls("ruda")).toBe(0);
      });

      test("an answer that says what was said before ends it", async () => {
        const { team, platform } = await start({
          behave: {
            ruda: () => `그런데 말이야 ${Math.random()}`,
            eden: () => "로그인 모듈 검토가 끝났고 문제는 없습니다",
          },
        });

        const { threadId } = await collaborate(team, "ruda", {
          targetAgent: "eden",
          message: "검토해 줘",
        });
        await settled(team);

        expect((await platform.shown(team, threadId)).map((line) => line.split(":")[0])).toEqual([
          "루다",
          "이든",
          "루다",
          "이든",
        ]);
        expect(await stateOf(team, threadId)).toBe("open"); // no guard had to stop it
      });

      test("a bare acknowledgement of an acknowledgement ends it", async () => {
        const { team, platform } = await start({
          behave: { ruda: () => "네, 알겠습니다", eden: () => "감사합니다!" },
        });

        const { threadId } = await collaborate(team, "ruda", {
          targetAgent: "eden",
          message: "확인만 부탁",
        });
        await settled(team);

        expect((await platform.shown(team, threadId)).slice(1)).toEqual([
          "이든: 감사합니다!",
          "루다: 네, 알겠습니다",
        ]);
      });
    });

    describe("records", () => {
      test(
        "O1 O2 O3 the newest 50 records per agent and place are kept, of 50 graphemes, without the text",
        FULL,
        async () => {
          const { team, platform } = await start({ behave: { ruda: silent } });
          const long = "👩‍👩‍👧가나다".repeat(30);

          for (let index = 1; index <= 55; index++) {
            await platform.say(team, `@루다 ${index}번 ${long}`);
          }
          await settled(team);

          const records = await team.rooms.reader.observations({
            agent: "dajim",
            place: general,
            tenant: "",
          });
          expect(records.map((record) => /(\d+)번/.exec(record.excerpt)?.[1])).toEqual(
            Array.from({ length: 50 }, (_none, index) => String(index + 6)),
          );
          expect(
            [...new Intl.Segmenter("ko").segment(records[0]!.excerpt)].length,
          ).toBeLessThanOrEqual(50);
          expect(JSON.stringify(records)).not.toContain(long);
        },
      );

      test("a record that cannot be written is left out with a warning, and the handler answers all the same", async () => {
        const warnings: string[] = [];
        const { team, platform } = await start({
          logger: {
            ...silentLogger,
            warn: (_fields: unknown, message: string) => void warnings.push(message),
          },
        });
        await team.database.query({
          text: "alter table dure.observations add constraint refuses check (false) not valid",
        });

        const message = await platform.say(team, "@루다 이것 확인해줘");

        await eventually(async () =>
          expect(await platform.shown(team, general)).toEqual([
            "민준: @루다 이것 확인해줘",
            "루다: 루다의 답입니다",
          ]),
        );
        expect(await rolesOf(team, message)).toMatchObject({ ruda: "HANDLER", dajim: "OBSERVER" });
        await settled(team);
        expect(await team.rooms.reader.observations({ place: general, tenant: "" })).toEqual([]);
        expect(warnings.filter((line) => line.includes(message))).not.toEqual([]);
      });

      test("O2 a record counts for 24 hours: then no agent is told of it any more, swept or not", async () => {
        const backgrounds: string[] = [];
        const { team, platform } = await start({
          behave: {
            ruda: silent,
            dajim: (heard) => (backgrounds.push(heard.background), "모릅니다"),
          },
        });
        await platform.say(team, "@루다 비밀 번호는 금요일에 바뀝니다");
        await settled(team);
        const age = async (span: string): Promise<void> =>
          void (await team.database.query(
            { text: "update dure.observations set at = at - $1::interval" },
            [span],
          ));

        await age("23 hours 50 minutes");
        expect(await heardBy(team, "dajim", general)).toEqual([
          "민준: @루다 비밀 번호는 금요일에 바뀝니다",
        ]);
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
  },
);

async function ranksOf(team: TestTeam, message: string): Promise<Record<string, string>> {
  const stored = await team.rooms.message(message, ANONYMOUS);
  return Object.fromEntries(
    Object.entries(stored.roles).flatMap(([agent, { rank }]) => (rank ? [[agent, rank]] : [])),
  );
}

async function heardBy(team: TestTeam, agent: Name, place: string): Promise<readonly string[]> {
  return (await team.rooms.reader.observations({ agent, place, tenant: "" })).map(
    (record) => `${record.sender}: ${record.excerpt}`,
  );
}
