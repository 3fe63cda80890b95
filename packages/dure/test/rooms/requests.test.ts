import { describe, expect, test } from "vitest";
import { FULL } from "../../src/kernel/test-tiers.ts";
import { eventually } from "../until.ts";
import { untilBlocked } from "../../src/durable/test-members.ts";
import type { RoomChannel } from "../../src/rooms/directory.ts";
import {
  collaborate,
  ANONYMOUS,
  openTypes,
  readyTeamOn,
  rolesOf,
  settled,
  silent,
} from "./helpers.ts";
import type { TestPlatform } from "./platform.ts";
import { PLATFORM } from "./platforms.ts";
import type { Behave, Name, TestTeam } from "./team.ts";

/** Hands over what it is asked to hand over, and goes on from nothing. */
const ruda: Behave = (heard) => {
  if (heard.results.length > 0) return "맡겼습니다";
  return heard.text.includes("맡겨 줘")
    ? { toolCalls: [{ name: "collaborate", args: { targetAgent: "eden", message: "코드 리뷰" } }] }
    : { toolCalls: [{ name: "stay_silent", args: {} }] };
};

/** Says by `collaborate` what there is to say, and nothing else. */
const handsBack =
  (more: { channelId?: string; topic?: string } = {}): Behave =>
  (heard) => {
    if (heard.results.length > 0 || !heard.text.includes("코드 리뷰")) {
      return heard.results.length > 0 ? "." : { toolCalls: [{ name: "stay_silent", args: {} }] };
    }
    return {
      toolCalls: [
        { name: "collaborate", args: { targetAgent: "ruda", message: "다 봤어", ...more } },
        { name: "stay_silent", args: {} },
      ],
    };
  };

describe.each(PLATFORM.rows)(
  "a request on %s",
  { ...PLATFORM.options, timeout: 60_000 },
  (name, makePlatform) => {
    const general = `${name}:general`;

    test(
      "is answered by a hand-back, also of a turn that says nothing more; its origin is told once",
      FULL,
      async () => {
        const platform = await makePlatform();
        const team = await readyTeamOn(platform, { behave: { ruda, eden: handsBack() } });

        await platform.say(team, "@루다 이든한테 맡겨 줘");

        await eventually(async () => expect(await requestStates(team)).toEqual(["answered"]));
        await settled(team);
        const [thread] = await team.rooms.reader.threads(general, ANONYMOUS);
        expect(await platform.shown(team, thread!.id)).toEqual([
          "루다: @이든 코드 리뷰",
          "이든: @루다 다 봤어",
        ]);
        expect(
          (await platform.shown(team, general)).filter((line) =>
            line.includes("이든 님이 답했어요"),
          ),
        ).toHaveLength(1);
        expect(
          await team.database.query({
            text: "select from dure.requests where next_at is not null",
          }),
        ).toEqual([]); // no agent is reminded
        expect(
          await team.database.query({
            text: "select cardinality(calls) as calls from dure.agent_pairs",
          }),
        ).toEqual([{ calls: 1 }]); // it was no call
      },
    );

    test("is answered once by a turn that hands back and has the last word too", FULL, async () => {
      const platform = await makePlatform();
      const eden: Behave = (heard) => {
        if (heard.results.length > 0) return "이상입니다";
        return heard.text.includes("코드 리뷰")
          ? {
              toolCalls: [
                { name: "collaborate", args: { targetAgent: "ruda", message: "다 봤어" } },
              ],
            }
          : silent(heard);
      };
      const team = await readyTeamOn(platform, { behave: { ruda, eden } });

      await platform.say(team, "@루다 이든한테 맡겨 줘");

      const [thread] = await eventually(async () => {
        const threads = await team.rooms.reader.threads(general, ANONYMOUS);
        expect(await platform.shown(team, threads[0]!.id)).toContain("이든: 이상입니다");
        return threads;
      });
      await settled(team);
      expect((await platform.shown(team, thread!.id)).at(-1)).toBe("이든: 이상입니다");
      expect(
        (await platform.shown(team, general)).filter((line) => line.includes("이든 님이 답했어요")),
      ).toHaveLength(1);
    });

    test("stays open when the hand-back cannot be posted, and the next word in the thread answers it", async () => {
      const platform = await makePlatform();
      const team = await readyTeamOn(platform, {
        behave: {
          ruda,
          eden: (heard) => (heard.text.includes("어떻게") ? "다 보았습니다" : handsBack()(heard)),
        },
      });
      platform.fail("post", "permission", { agent: "eden" });

      await platform.say(team, "@루다 이든한테 맡겨 줘");
      await eventually(async () =>
        expect(
          await team.database.query({
            text: "select from dure.room_messages where author = 'eden' and delivery = 'failed'",
          }),
        ).toHaveLength(1),
      );
      await settled(team);

      expect(await requestStates(team)).toEqual(["open"]);
      const [thread] = await team.rooms.reader.threads(general, ANONYMOUS);
      await platform.say(team, "@이든 어떻게 됐어?", { thread: thread!.id });
      await eventually(async () => expect(await requestStates(team)).toEqual(["answered"]));
    });

    test.each([
      ["the channel of its thread", { channelId: `${name}:general`, topic: "다른 일" }],
      ["another channel, for the same thing", { channelId: `${name}:quiet` }],
    ])("is handed back in its own thread when the call names %s", FULL, async (_what, more) => {
      const platform = await makePlatform();
      const team = await readyTeamOn(platform, {
        channels: allowingAll(platform),
        behave: { ruda, eden: handsBack(more) },
      });

      const { threadId } = await collaborate(team, "ruda", {
        targetAgent: "eden",
        message: "코드 리뷰",
      });
      await eventually(async () => expect(await requestStates(team)).toEqual(["answered"]));
      await settled(team);

      expect(await placesOf(team, "다 봤어")).toEqual([{ id: threadId, parent: general }]);
      expect(
        await team.database.query({ text: "select from dure.places where kind = 'thread'" }),
      ).toHaveLength(1);
    });

    test(
      "is not handed back by a call about something else in another channel, and still waits",
      FULL,
      async () => {
        const platform = await makePlatform();
        const team = await readyTeamOn(platform, {
          channels: allowingAll(platform),
          behave: {
            ruda: silent,
            eden: handsBack({ channelId: `${name}:quiet`, topic: "다른 일" }),
          },
        });

        const { threadId } = await collaborate(team, "ruda", {
          targetAgent: "eden",
          message: "코드 리뷰",
        });
        await eventually(async () => expect(await requestStates(team)).toEqual(["open", "open"]));
        await settled(team);

        const [place, ...others] = await placesOf(team, "다 봤어");
        expect(others).toEqual([]);
        expect(place).toMatchObject({ parent: `${name}:quiet` });
        expect(await platform.shown(team, threadId)).toEqual(["루다: @이든 코드 리뷰"]);
      },
    );

    test("is closed alone by an answer: of two that wait the older one first", FULL, async () => {
      const platform = await makePlatform();
      const team = await readyTeamOn(platform, {
        behave: {
          ruda: silent,
          eden: (heard) =>
            /^민준: @이든 \d/.test(heard.text) ? `답 ${Math.random()}` : silent(heard),
        },
      });
      const { threadId: thread } = await collaborate(team, "ruda", {
        targetAgent: "eden",
        message: "하나",
      });
      await collaborate(team, "ruda", { targetAgent: "eden", message: "둘" });
      await settled(team);
      expect(await requestStates(team)).toEqual(["open", "open"]);

      await platform.say(team, "@이든 1 어떻게 됐어?", { thread });
      await eventually(async () => expect(await requestStates(team)).toEqual(["answered", "open"]));
      await settled(team);
      expect(await requestStates(team)).toEqual(["answered", "open"]);
      await platform.say(team, "@이든 2 그리고?", { thread });
      await eventually(async () =>
        expect(await requestStates(team)).toEqual(["answered", "answered"]),
      );
    });

    test(
      "whose message fails after its caller was told that it is on its way is withdrawn and reported",
      FULL,
      async () => {
        const results: unknown[] = [];
        const asks: Behave = (heard) => {
          if (heard.results.length > 0) return (results.push(heard.results[0]), ".");
          return heard.text.includes("맡겨 줘")
            ? {
                toolCalls: [
                  { name: "collaborate", args: { targetAgent: "eden", message: "코드 리뷰" } },
                  { name: "stay_silent", args: {} },
                ],
              }
            : silent(heard);
        };
        const platform = await makePlatform();
        const team = await readyTeamOn(platform, { behave: { ruda: asks } });
        platform.fail("post", "transient", { agent: "ruda", times: 4 });

        await platform.say(team, "@루다 이든한테 맡겨 줘");
        await eventually(
          async () =>
            expect(
              (await platform.shown(team, general)).filter((line) =>
                line.includes("이든 님에게 보낸 부탁이 전달되지 않았어요"),
              ),
            ).toHaveLength(1),
          { patienceMs: 40_000 },
        );

        expect(results).toEqual([expect.objectContaining({ ok: true, delivery: "queued" })]);
        expect(await requestStates(team)).toEqual(["withdrawn"]);
        expect(await openTypes(team)).toEqual(["delivery"]);
        expect(team.calls("eden")).toBe(0);
      },
    );

    test(
      "without an answer is told where it began when the operator is, and ends after a day",
      FULL,
      async () => {
        const platform = await makePlatform();
        const team = await readyTeamOn(platform, { behave: { ruda, eden: silent } });
        const pass = async (): Promise<void> =>
          void (await team.database.query({
            text: "update dure.requests set next_at = clock_timestamp() - interval '1 second', created_at = created_at - interval '5 minutes' where state = 'open'",
          }));
        const linesWith = async (words: string): Promise<number> =>
          (await platform.shown(team, general)).filter((line) => line.includes(words)).length;
        await platform.say(team, "@루다 이든한테 맡겨 줘");
        await eventually(async () => expect(await requestStates(team)).toEqual(["open"]));
        await settled(team);
        const guards = async (): Promise<unknown> =>
          team.database.query({
            text: "select agent_messages, cardinality(recent) as recent from dure.places where kind = 'thread'",
          });
        const before = await guards();
        for (let reminders = 1; reminders <= 2; reminders++) {
          await pass();
          await eventually(async () =>
            expect(
              await team.database.query({ text: "select reminders from dure.requests" }),
            ).toEqual([{ reminders }]),
          );
          await settled(team);
        }
        expect(await guards()).toEqual(before); // a reminder counts in no guard

        await pass();
        await eventually(async () =>
          expect(await linesWith("답하지 않아 운영자에게 알렸어요")).toBe(1),
        );
        expect(await openTypes(team)).toEqual(["unanswered"]);
        const [{ wait }] = (await team.database.query<{ wait: number }>({
          text: "select extract(epoch from next_at - clock_timestamp())::integer as wait from dure.requests",
        })) as [{ wait: number }];
        expect(wait).toBeGreaterThan(23 * 3_600);
        await pass();

        await eventually(async () => expect(await requestStates(team)).toEqual(["expired"]));
        await eventually(async () => expect(await linesWith("부탁을 거둬요")).toBe(1));
        await settled(team);
        expect(await linesWith("답하지 않아 운영자에게 알렸어요")).toBe(1);
        expect(await openTypes(team)).toEqual(["unanswered"]); // an operator has not seen it yet
        const [thread] = await team.rooms.reader.threads(general, ANONYMOUS);
        expect(thread!.openRequests).toBe(0);
      },
    );
    test("into a suspended thread is refused and changes nothing; lifted, the thread takes it", async () => {
      const platform = await makePlatform();
      const team = await readyTeamOn(platform, { behave: { ruda: silent, eden: silent } });
      const { threadId } = await collaborate(team, "ruda", {
        targetAgent: "eden",
        message: "코드 리뷰",
      });
      await settled(team);
      await suspend(team, threadId);

      const again = { targetAgent: "eden", message: "하나 더" };
      const refused = await team.rooms.collaboration.collaborate({ agent: "ruda" }, again);

      expect(refused).toMatchObject({ ok: false, code: "THREAD_SUSPENDED", escalated: false });
      expect(refused).toMatchObject({
        hint: expect.stringContaining(`dure rooms resume ${threadId}`) as string,
      });
      expect(await requestStates(team)).toEqual(["open"]);
      expect(await platform.shown(team, threadId)).toEqual(["루다: @이든 코드 리뷰"]);
      expect(
        await team.database.query({
          text: "select cardinality(calls) as calls from dure.agent_pairs",
        }),
      ).toEqual([{ calls: 1 }]);

      await team.rooms.resume(threadId, { tenant: "", person: "민준" });
      expect(await collaborate(team, "ruda", again)).toMatchObject({ threadId, reused: true });
    });

    test(
      "that its thread's suspension overtook is not called sent, and its reminder tells all of it",
      FULL,
      async () => {
        const heard: string[] = [];
        const platform = await makePlatform();
        const answers = ["네, 확인했습니다.", "비밀번호를 상수 시간에 비교해 주세요."];
        const eden: Behave = (told) =>
          told.text.includes("부탁을 기다린 지")
            ? (heard.push(told.text), answers.shift() ?? "더 없습니다")
            : silent(told);
        const team = await readyTeamOn(platform, {
          behave: { ruda: silent, eden },
          limits: { threadMessages: 1 },
        });
        const first = await collaborate(team, "ruda", { targetAgent: "eden", message: "하나" });
        await settled(team);
        const request = `로그인 모듈을 보아 줘. ${"비밀번호 비교가 걱정이야. ".repeat(30)}끝.`;

        const second = await collaborate(team, "ruda", { targetAgent: "eden", message: request });

        expect(second).toMatchObject({ threadId: first.threadId, delivery: "queued" });
        expect(second.note).toContain("paused");
        await settled(team);
        expect(await rolesOf(team, second.messageId)).toMatchObject({ eden: "OBSERVER" });
        await team.database.query(
          {
            text: "update dure.requests set state = 'withdrawn', next_at = null where message <> $1",
          },
          [second.messageId],
        );

        await makeDue(team, "eden");
        await eventually(() => expect(heard).toHaveLength(1));
        await settled(team);
        expect(heard[0]).toContain(request);
        expect(await requestStates(team)).toEqual(["withdrawn", "open"]); // it was only polite

        await makeDue(team, "eden");
        await eventually(async () =>
          expect(await requestStates(team)).toEqual(["withdrawn", "answered"]),
        );
      },
    );

    test(
      "that was answered by politeness is closed by the words that answer it",
      FULL,
      async () => {
        const platform = await makePlatform();
        const eden: Behave = (told) => {
          if (told.text.includes("부탁을 기다린 지")) return "어느 모듈 말씀이신가요?";
          return told.text.includes("로그인 모듈") ? "다 보았고 문제가 없습니다." : silent(told);
        };
        const team = await readyTeamOn(platform, { behave: { ruda: silent, eden } });
        const { threadId: thread } = await collaborate(team, "ruda", {
          targetAgent: "eden",
          message: "코드 리뷰",
        });
        await settled(team);
        await makeDue(team, "eden");
        await eventually(async () =>
          expect(await platform.shown(team, thread)).toContain("이든: 어느 모듈 말씀이신가요?"),
        );
        await settled(team);
        expect(await requestStates(team)).toEqual(["open"]);

        await platform.say(team, "@이든 로그인 모듈이야", { thread });

        await eventually(async () => expect(await requestStates(team)).toEqual(["answered"]));
      },
    );

    test("is not answered by another agent who speaks in its thread", async () => {
      const platform = await makePlatform();
      const team = await readyTeamOn(platform, { behave: { ruda: silent, eden: silent } });
      const { threadId: thread } = await collaborate(team, "ruda", {
        targetAgent: "eden",
        message: "코드 리뷰",
      });
      await settled(team);

      await platform.say(team, "@세움 이건 어때?", { thread });
      await eventually(async () =>
        expect(await platform.shown(team, thread)).toContain("세움: 세움의 답입니다"),
      );
      await settled(team);

      expect(await requestStates(team)).toEqual(["open"]);
    });

    test(
      "that is answered while its reminder waits for the thread is not reminded of",
      FULL,
      async () => {
        const platform = await makePlatform();
        const team = await readyTeamOn(platform, {
          behave: { ruda: silent, eden: silent, seum: silent },
        });
        const { threadId: thread } = await collaborate(team, "ruda", {
          targetAgent: "eden",
          message: "하나",
        });
        await collaborate(team, "ruda", { targetAgent: "seum", message: "둘" });
        await settled(team);

        const holder = await team.database.connectSession();
        try {
          await holder.query("begin");
          await holder.query("select from dure.places where id = $1 for update", [thread]);
          await makeDue(team, "eden");
          await untilBlocked(team.database, "%dure.open_place%");
          await holder.query(
            "update dure.requests set state = 'answered', next_at = null where to_agent = 'eden'",
          );
          await holder.query("commit");
        } finally {
          await holder.end();
        }

        await makeDue(team, "seum"); // looked for after the first has been left alone
        await eventually(async () => expect(await remindersOf(team, "seum")).toBe(1));
        expect(await remindersOf(team, "eden")).toBe(0);
      },
    );

    test(
      "on which the agent is still at work is not reminded of, and answered once",
      FULL,
      async () => {
        const platform = await makePlatform();
        const written = Promise.withResolvers<string>();
        const begun = Promise.withResolvers<void>();
        const eden: Behave = () => (begun.resolve(), written.promise);
        const team = await readyTeamOn(platform, { behave: { ruda: silent, eden } });
        const { threadId: thread } = await collaborate(team, "ruda", {
          targetAgent: "eden",
          message: "코드 리뷰",
        });
        await begun.promise;

        for (const reminders of [1, 2]) {
          await makeDue(team, "eden");
          await eventually(async () => expect(await remindersOf(team, "eden")).toBe(reminders));
        }
        written.resolve("다 봤어");
        await settled(team);

        expect(await requestStates(team)).toEqual(["answered"]);
        expect(await platform.shown(team, thread)).toEqual([
          "루다: @이든 코드 리뷰",
          "이든: 다 봤어",
        ]);
      },
    );

    test("that was answered before its message failed stays answered", FULL, async () => {
      const platform = await makePlatform();
      const team = await readyTeamOn(platform, { behave: { ruda: silent, eden: silent } });
      platform.fail("post", "transient", { agent: "ruda", times: 4 });

      const asked = team.rooms.collaboration.collaborate(
        { agent: "ruda" },
        { targetAgent: "eden", message: "코드 리뷰" },
      );
      await eventually(async () => expect(await requestStates(team)).toEqual(["open"]));
      await team.database.query({
        text: "update dure.requests set state = 'answered', next_at = null",
      });

      await eventually(async () => {
        await team.database.query({
          text: "update dure.outbox set next_at = clock_timestamp() where state = 'pending' and attempts > 0",
        });
        expect(await openTypes(team)).toEqual(["delivery"]);
      });
      await asked;
      expect(await requestStates(team)).toEqual(["answered"]);
    });
  },
);

function allowingAll({ channels }: TestPlatform): readonly RoomChannel[] {
  return channels.map((channel) => ({ ...channel, collaborate: true }));
}

async function suspend(team: TestTeam, place: string): Promise<void> {
  await team.database.query(
    {
      text: "update dure.places set state = 'suspended', suspended_until = clock_timestamp() + interval '5 minutes' where id = $1",
    },
    [place],
  );
}

async function requestStates(team: TestTeam): Promise<readonly string[]> {
  return (
    await team.database.query<{ state: string }>({
      text: "select state from dure.requests order by created_at",
    })
  ).map(({ state }) => state);
}

async function makeDue(team: TestTeam, to: Name): Promise<void> {
  await team.database.query(
    { text: "update dure.requests set next_at = clock_timestamp() where to_agent = $1" },
    [to],
  );
}

async function remindersOf(team: TestTeam, to: Name): Promise<number | undefined> {
  const [row] = await team.database.query<{ reminders: number }>(
    { text: "select reminders from dure.requests where to_agent = $1" },
    [to],
  );
  return row?.reminders;
}

async function placesOf(
  team: TestTeam,
  words: string,
): Promise<readonly { readonly id: string; readonly parent: string }[]> {
  return team.database.query(
    {
      text: "select p.id, p.parent from dure.room_messages m join dure.places p on p.id = m.place where m.author = 'eden' and strpos(m.text, $1) > 0",
    },
    [words],
  );
}
