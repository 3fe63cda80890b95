// @module-tag slow
import { FULL } from "../../src/kernel/test-tiers.ts";
import { describe, expect, test } from "vitest";
import { eventually } from "../until.ts";
import { systemClock } from "../../src/kernel/clock.ts";
import {
  collaborate,
  ANONYMOUS,
  participantsOf,
  readyTeamOn,
  rolesOf,
  settled,
} from "./helpers.ts";
import { PLATFORM } from "./platforms.ts";
import type { Behave, Heard, Name, TestTeam } from "./team.ts";
import { webPlatform } from "./web-platform.ts";

/**
 * The stories of docs/spec/collaboration §10, from the first word of a person to what everybody can
 * see in the end. E is in the crash tests.
 */
/** How a platform names a thread to people. */
function linkTo(platform: string, thread: { id: string; thread: string | null }): string {
  if (platform === "web") return `/rooms/${encodeURIComponent(thread.id)}`;
  if (platform === "discord") return `<#${thread.thread}>`;
  const [channel, ts = ""] = (thread.thread ?? "").split(":");
  return `/archives/${channel}/p${ts.replace(".", "")}`;
}

describe.each(PLATFORM.rows)(
  "stories on %s",
  { ...PLATFORM.options, timeout: 60_000 },
  (name, makePlatform) => {
    const general = `${name}:general`;

    test("A a person asks 루다 for a review: 이든 answers with context, and the first place is told", async () => {
      const asked: Heard[] = [];
      const told: Heard[] = [];
      const platform = await makePlatform();
      const team = await readyTeamOn(platform, {
        behave: {
          ruda: handsOver("리뷰 부탁", "eden", "결제 모듈 코드를 리뷰해 줘", "이든에게 맡겼습니다"),
          eden: (heard) => (asked.push(heard), "널 검사가 빠졌습니다"),
          dajim: (heard) => (told.push(heard), "루다가 리뷰를 맡겼고 이든이 답했습니다"),
        },
      });
      await platform.say(team, "@이든 금요일이 마감이야");
      await eventually(async () => expect(await platform.shown(team, general)).toHaveLength(2));
      await settled(team);

      const request = await platform.say(team, "@루다 리뷰 부탁을 해 줘");

      // 루다 hands over and goes on with its person; the place is told where the answer stands.
      await eventually(async () => expect(await platform.shown(team, general)).toHaveLength(5));
      await settled(team);
      const [thread] = await team.rooms.reader.threads(general, ANONYMOUS);
      const shown = await platform.shown(team, general);
      expect(shown.slice(0, 3)).toEqual([
        "민준: @이든 금요일이 마감이야",
        "이든: 널 검사가 빠졌습니다",
        "민준: @루다 리뷰 부탁을 해 줘",
      ]);
      expect(shown.slice(3)).toContain("루다: 이든에게 맡겼습니다");
      const [notice] = shown.filter((line) => line.includes("이든 님이 답했어요"));
      expect(notice).toContain(linkTo(name, thread!));
      expect(thread).toMatchObject({
        name: "[협업] 루다 → 이든 · 결제 모듈 코드를 리뷰해 줘",
        state: "open",
        openRequests: 0,
      });
      expect(await participantsOf(team, thread!.id)).toEqual(["eden", "ruda"]);
      expect((await platform.shown(team, thread!.id)).slice(0, 2)).toEqual([
        "루다: @이든 결제 모듈 코드를 리뷰해 줘",
        "이든: 널 검사가 빠졌습니다",
      ]);

      // 이든 was asked as itself, with the request, who asks, and what it knows of the place.
      const heard = asked.find(({ text }) => text.includes("리뷰해 줘"))!;
      expect(systemOf(heard)).toContain("You are 이든.");
      expect(heard.text).toBe("루다: @이든 결제 모듈 코드를 리뷰해 줘");
      expect(heard.background).toContain("루다 asks this of you");
      expect(heard.background).toMatch(/In this thread take part: (이든, 루다|루다, 이든)\./);

      // 다짐 heard all of it and was not asked; later it can tell.
      expect(await rolesOf(team, request)).toEqual({
        ruda: "HANDLER",
        eden: "OBSERVER",
        seum: "OBSERVER",
        dajim: "OBSERVER",
      });
      expect(team.calls("dajim")).toBe(0);
      await platform.say(team, "@다짐 리뷰는 어떻게 됐어?");
      await eventually(async () =>
        expect((await platform.shown(team, general)).at(-1)).toBe(
          "다짐: 루다가 리뷰를 맡겼고 이든이 답했습니다",
        ),
      );
      for (const words of [
        "리뷰 부탁을 해 줘",
        "결제 모듈 코드를 리뷰해 줘",
        "널 검사가 빠졌습니다",
      ]) {
        expect(told[0]!.background).toContain(words);
      }
    });

    test("B two are mentioned, both answer, and the second adds to the first", FULL, async () => {
      const added: Heard[] = [];
      const platform = await makePlatform();
      const led: Heard[] = [];
      const team = await readyTeamOn(platform, {
        limits: { secondaryWaitMs: 60_000 }, // the order is meant, also on a busy machine
        behave: {
          eden: (heard) => (led.push(heard), "테스트는 통과했습니다"),
          seum: (heard) => (added.push(heard), "다만 부하 시험은 아직입니다"),
        },
      });

      await platform.say(team, "@이든 @세움 배포해도 될까?");

      await eventually(async () =>
        expect(await platform.shown(team, general)).toEqual([
          "민준: @이든 @세움 배포해도 될까?",
          "이든: 테스트는 통과했습니다",
          "세움: 다만 부하 시험은 아직입니다",
        ]),
      );
      await settled(team);
      expect(led[0]!.background).toContain("you lead the answer");
      expect(led[0]!.background).not.toContain("부하 시험");
      expect(added[0]!.background).toContain(
        "이든 leads the answer. 이든 has answered:\n> 테스트는 통과했습니다",
      );
      expect([team.calls("ruda"), team.calls("dajim")]).toEqual([0, 0]);
    });

    test("B the second does not wait for a first that says nothing for long", FULL, async () => {
      const never = Promise.withResolvers<string>();
      const platform = await makePlatform();
      const added: Heard[] = [];
      const team = await readyTeamOn(platform, {
        limits: { secondaryWaitMs: 300 },
        behave: {
          eden: () => never.promise,
          seum: (heard) => (added.push(heard), "먼저 말씀드립니다"),
        },
      });

      await platform.say(team, "@이든 @세움 어때?");

      await eventually(async () =>
        expect((await platform.shown(team, general)).at(-1)).toBe("세움: 먼저 말씀드립니다"),
      );
      expect(added[0]!.background).toContain("이든 has not answered yet");
      never.resolve("늦었습니다");
      await eventually(async () =>
        expect((await platform.shown(team, general)).at(-1)).toBe("이든: 늦었습니다"),
      );
      await settled(team);
    });

    test(
      "C a third agent is added in a thread: it joins, answers, and later also without being named",
      FULL,
      async () => {
        const platform = await makePlatform();
        const team = await readyTeamOn(platform, {
          behave: {
            ruda: quiet("알겠습니다"),
            eden: quiet("검토했습니다"),
            seum: quiet("확인했습니다"),
          },
        });
        const { threadId: thread } = await collaborate(team, "ruda", {
          targetAgent: "eden",
          message: "검토",
        });
        await settled(team);

        await platform.say(team, "@세움 도 확인해봐", { thread });
        await eventually(async () =>
          expect((await platform.shown(team, thread)).at(-1)).toBe("세움: 확인했습니다"),
        );
        await settled(team);
        expect(await participantsOf(team, thread)).toEqual(["eden", "ruda", "seum"]);
        const later = await platform.say(team, "이제 어때요?", { thread });

        expect(await rolesOf(team, later)).toEqual({
          ruda: "HANDLER",
          eden: "HANDLER",
          seum: "HANDLER",
          dajim: "OBSERVER",
        });
        await settled(team);
        expect(
          (await platform.shown(team, thread)).filter((line) => line.startsWith("세움")),
        ).toHaveLength(2);
      },
    );

    test("D a session that is no room hands over into the default channel, and an event tells it the answer", async () => {
      const platform = await makePlatform();
      const team = await readyTeamOn(platform, {
        behave: {
          ruda: handsOver("맡겨", "eden", "로그를 봐 줘", "이든에게 맡겼습니다"),
          eden: quiet("디스크가 찼습니다"),
        },
      });

      const done = await said(team, "ruda", "http-session-1", "이든에게 맡겨 줘");

      expect(done).toBe("이든에게 맡겼습니다");
      await eventually(async () =>
        expect(await team.database.query({ text: "select state from dure.requests" })).toEqual([
          { state: "answered" },
        ]),
      );
      await settled(team);
      const [thread, ...others] = await team.rooms.reader.threads(general, ANONYMOUS);
      expect(others).toEqual([]);
      expect((await platform.shown(team, thread!.id)).slice(0, 2)).toEqual([
        "루다: @이든 로그를 봐 줘",
        "이든: 디스크가 찼습니다",
      ]);
      expect(await platform.shown(team, general)).toEqual([]);
      expect(
        await team.database.query({
          text: "select session from dure.events where type = 'collaborate.answered'",
        }),
      ).toEqual([{ session: "http-session-1" }]);
    });

    test("D a session of another kind goes on meanwhile, and a repeated turn hands over once", async () => {
      const platform = await makePlatform();
      const team = await readyTeamOn(platform, {
        behave: {
          ruda: handsOver("맡겨", "eden", "로그를 봐 줘", "이든에게 맡겼습니다"),
          eden: quiet("봤습니다"),
        },
      });

      const answers = await Promise.all(
        [1, 2].map(() => said(team, "ruda", "http-session-2", "이든에게 맡겨 줘", "the-same-key")),
      );

      expect(answers).toEqual(["이든에게 맡겼습니다", "이든에게 맡겼습니다"]);
      await settled(team);
      expect(await team.database.query({ text: "select from dure.requests" })).toHaveLength(1);
    });
  },
);

test(
  "D from a direct room into a thread of its own; only the direct room is told",
  { timeout: 60_000 },
  async () => {
    const platform = webPlatform();
    const team = await readyTeamOn(platform, {
      behave: { ruda: handsOver("맡겨", "eden", "로그를 봐 줘", "이든에게 맡겼습니다") },
    });
    const minjun = { tenant: "", person: "민준" };
    const direct = await team.rooms.direct(minjun, "ruda");

    await team.rooms.post(minjun, { place: direct.id, text: "이든에게 맡겨 줘" });

    await eventually(async () =>
      expect([...(await platform.shown(team, direct.id))].sort()).toEqual([
        expect.stringMatching(/^루다: 이든 님이 답했어요/),
        "루다: 이든에게 맡겼습니다",
        "민준: 이든에게 맡겨 줘",
      ]),
    );
    await settled(team);
    const [thread] = await team.rooms.reader.threads(direct.id, minjun);
    expect((await platform.shown(team, thread!.id)).slice(0, 2)).toEqual([
      "루다: @이든 로그를 봐 줘",
      "이든: 이든의 답입니다",
    ]);
    expect(await team.rooms.reader.threads("web:general", ANONYMOUS)).toEqual([]);
    expect(await team.rooms.reader.observations({ place: direct.id, tenant: "" })).toEqual([]);
  },
);

/** Hands over when it hears `words`, tells its person, and says nothing to anything else. */
function handsOver(words: string, targetAgent: Name, message: string, tells: string): Behave {
  return (heard) =>
    heard.text.includes(words)
      ? heard.results.length > 0
        ? tells
        : { toolCalls: [{ name: "collaborate", args: { targetAgent, message } }] }
      : staysSilent(heard);
}

/** Answers people and requests, and lets other agents' talk be. */
function quiet(text: string): Behave {
  return (heard) =>
    heard.text.startsWith("민준") || heard.background.includes("asks this of you")
      ? text
      : staysSilent(heard);
}

function staysSilent(heard: Heard): ReturnType<Behave> {
  return heard.results.length > 0 ? "." : { toolCalls: [{ name: "stay_silent", args: {} }] };
}

function systemOf(heard: Heard): string {
  return JSON.stringify(heard.request);
}

/** One turn of an agent's own service outside rooms, as over HTTP; gives its last words. */
async function said(
  team: TestTeam,
  service: Name,
  session: string,
  message: string,
  key?: string,
): Promise<string> {
  const { turnId } = await team.engine.accept(
    { session, service, message },
    key === undefined ? {} : { key, path: "test", caller: { tenant: "", name: "test" } },
  );
  for await (const { event } of team.engine.read(turnId, { signal: AbortSignal.timeout(20_000) })) {
    if (event.type === "DONE") return event.data.message ?? "";
  }
  throw new Error(`${turnId} has no end after ${systemClock.now()}`);
}
