// @module-tag slow
import { describe, expect, test } from "vitest";
import { FULL } from "../../src/kernel/test-tiers.ts";
import { eventually } from "../until.ts";
import { silentLogger } from "../../src/kernel/logger.ts";
import type { CollaborateResult } from "../../src/rooms/handover/collaborate-call.ts";
import { Directory } from "../../src/rooms/directory.ts";
import {
  collaborate,
  ANONYMOUS,
  readyTeamOn,
  settled,
  silent,
  teamOn,
  type TeamOptions,
} from "./helpers.ts";
import type { TestPlatform } from "./platform.ts";
import { PLATFORM } from "./platforms.ts";
import { startTestTeam, type Behave, type Name, type TestTeam } from "./team.ts";

/** What a missing account asks for. */
const ACCOUNT_KEYS: Readonly<Record<string, string>> = {
  web: "agents.seum.accounts.web",
  discord: "DISCORD_TOKEN_SEUM",
  slack: "SLACK_BOT_TOKEN_SEUM",
};

/** Scenarios of docs/spec/collaboration §4, on every platform. */
describe.each(PLATFORM.rows)(
  "handing over on %s",
  { ...PLATFORM.options, timeout: 30_000 },
  (name, makePlatform) => {
    const general = `${name}:general`;
    const start = async (
      options: TeamOptions = {},
    ): Promise<{ platform: TestPlatform; team: TestTeam }> => {
      const platform = await makePlatform();
      return { platform, team: await readyTeamOn(platform, options) };
    };

    describe("collaborate", () => {
      test(
        "a message over the platform's limit is split: its target hears all of it, once, and answers it once",
        FULL,
        async () => {
          const heard: string[] = [];
          const long = `처음. ${"한 문장입니다. ".repeat(name === "web" ? 11_095 : 700).trim()} 끝.`;
          const { team } = await start({
            behave: { ruda: silent, eden: (asked) => (heard.push(asked.text), "다 읽었습니다") },
          });

          const { threadId } = await collaborate(team, "ruda", {
            targetAgent: "eden",
            message: long,
          });
          await eventually(async () =>
            expect(await team.database.query({ text: "select state from dure.requests" })).toEqual([
              { state: "answered" },
            ]),
          );
          await settled(team);

          const [asked] = await team.database.query<{ parts: number }>({
            text: "select count(*)::integer as parts from dure.room_parts p join dure.room_messages m on m.id = p.message where m.author = 'ruda'",
          });
          expect(asked!.parts).toBeGreaterThan(1);
          expect(
            (await team.rooms.reader.messages(threadId, {})).map(({ author }) => author),
          ).toEqual(["ruda", "eden"]);
          expect(heard).toHaveLength(1);
          if (name === "discord") expect(heard[0] === `루다: @이든 ${long}`).toBe(true); // a turn takes less than what the web rooms show in one message
        },
      );

      test(
        "a thread is named by the call's topic without invisible signs; links come with every hand-over",
        FULL,
        async () => {
          const eden: Behave = (heard) =>
            heard.results.length === 0 && heard.text.includes("되물어")
              ? {
                  toolCalls: [
                    {
                      name: "collaborate",
                      args: {
                        targetAgent: "ruda",
                        message: "이 파일이 맞나요?",
                        attachments: ["https://example.com/a.pdf"],
                      },
                    },
                  ],
                }
              : { toolCalls: [{ name: "stay_silent", args: {} }] };
          const { platform, team } = await start({ behave: { eden, ruda: silent } });

          const named = await collaborate(team, "ruda", {
            targetAgent: "seum",
            message: "검토해 줘",
            topic: "login",
            threadName: "로그인\u202e 검토",
          });
          const unnamed = await collaborate(team, "ruda", {
            targetAgent: "eden",
            message: "되물어 줘",
            topic: "login",
          });

          expect(named.threadName).toBe("[협업] 루다 → 세움 · 로그인 검토");
          expect(unnamed.threadName).toBe("[협업] 루다 → 이든 · 되물어 줘");
          await eventually(async () =>
            expect((await platform.shown(team, unnamed.threadId)).at(-1)).toBe(
              "이든: @루다 이 파일이 맞나요?\nhttps://example.com/a.pdf",
            ),
          );
          await settled(team);
        },
      );

      test("M1 M2 a target is called by its own id, or by that of its account", async () => {
        const platform = await makePlatform();
        const agents = platform.agents.map((agent) =>
          agent.id === "eden" ? { ...agent, accounts: { [name]: { id: "eden-bot" } } } : agent,
        );
        const team = await readyTeamOn(platform, { agents });

        const byId = await collaborate(team, "ruda", { targetAgent: "eden", message: "하나" });
        const byAccount = await collaborate(team, "ruda", {
          targetAgent: "eden-bot",
          message: "둘",
        });

        expect(byAccount).toMatchObject({ threadId: byId.threadId, reused: true });
        await eventually(async () =>
          expect(
            (await platform.shown(team, byId.threadId)).filter((line) =>
              line.startsWith("루다: @이든"),
            ),
          ).toEqual(["루다: @이든 하나", "루다: @이든 둘"]),
        );
      });

      test("M3 M4 accounts and missing keys are logged at the start; an agent added later needs a reload", async () => {
        const lines: string[] = [];
        const platform = await makePlatform();
        const [dajim, seum] = ["dajim", "seum"].map((id) =>
          platform.agents.find((agent) => agent.id === id)!,
        );
        const agents = platform.agents
          .filter((agent) => agent !== dajim)
          .map((agent) => (agent === seum ? { ...seum, accounts: {} } : agent));
        const team = await teamOn(platform, {
          agents,
          logger: {
            ...silentLogger,
            info: (_fields: unknown, message: string) => void lines.push(message),
            warn: (_fields: unknown, message: string) => void lines.push(message),
          },
        });

        // A channel counts as private, and its threads have no words in their names, until it is known.
        await eventually(async () =>
          expect(
            await team.database.query(
              { text: "select dure.is_private(p) as kept from dure.places p where id = $1" },
              [general],
            ),
          ).toEqual([{ kept: false }]),
        );
        const before = await team.rooms.collaboration.collaborate(
          { agent: "ruda" },
          { targetAgent: "dajim", message: "도와줘" },
        );
        const { channels, defaultChannel = "general" } = platform;
        const next = new Directory({ agents: platform.agents, channels, defaultChannel });
        await team.rooms.enrol(next);
        team.rooms.directory.replace(next);
        const after = await team.rooms.collaboration.collaborate(
          { agent: "ruda" },
          { targetAgent: "dajim", message: "도와줘" },
        );

        const eden = platform.agents.find(({ id }) => id === "eden")!;
        const accounts = Object.keys(eden.accounts).map((adapter) => `${adapter}:eden`);
        expect(lines).toContain(`agent eden (이든) is ${accounts.join(", ")}`);
        expect(lines).toContain(`agent seum has no account on ${name}: set ${ACCOUNT_KEYS[name]}`);
        expect(before).toMatchObject({
          ok: false,
          code: "AGENT_UNKNOWN",
          hint: expect.stringMatching(
            /ruda \(루다\).*agents\.dajim.*dure reload or a restart/,
          ) as string,
        });
        expect(after).toMatchObject({ ok: true, threadName: "[협업] 루다 → 다짐 · 도와줘" });
      });

      test("C4 E6 an unknown agent is refused at once, and the hint names the mapping keys", async () => {
        const { team } = await start();

        const result = await team.rooms.collaboration.collaborate(
          { agent: "ruda" },
          { targetAgent: "nobody", message: "도와줘" },
        );

        expect(result).toMatchObject({
          ok: false,
          code: "AGENT_UNKNOWN",
          hint: expect.stringContaining("agents.nobody") as string,
        });
        expect((result as { hint: string }).hint).toContain("eden");
        expect(await team.rooms.reader.threads(general, ANONYMOUS)).toEqual([]);
      });

      test("C5 a target that is offline is refused at once, and an escalation is recorded", async () => {
        const { team } = await start();
        await team.rooms.pauses.pause("eden", { by: "mina" });

        const result = await team.rooms.collaboration.collaborate(
          { agent: "ruda" },
          { targetAgent: "eden", message: "도와줘" },
        );

        expect(result).toMatchObject({ ok: false, code: "AGENT_OFFLINE", escalated: true });
        expect(
          (await team.inbox.list({ tenant: "", status: "open" })).items.map((entry) => entry.type),
        ).toEqual(["agent_offline"]);
      });

      test("R1 R2 R3 the same pair gets the same thread within the route's time, then a new one", async () => {
        const { team } = await start({ limits: { pairCalls: 10 } });
        const first = await collaborate(team, "ruda", { targetAgent: "eden", message: "하나" });
        const second = await collaborate(team, "ruda", { targetAgent: "eden", message: "둘" });
        await team.database.query({
          text: "update dure.thread_routes set renewed_at = renewed_at - interval '6 hours 1 second'",
        });
        const third = await collaborate(team, "ruda", { targetAgent: "eden", message: "셋" });
        const given = await collaborate(team, "ruda", {
          targetAgent: "eden",
          message: "넷",
          threadId: first.threadId,
        });

        expect([second.threadId, second.reused]).toEqual([first.threadId, true]);
        expect([third.threadId === first.threadId, third.reused]).toEqual([false, false]);
        expect(given.threadId).toBe(first.threadId);
      });

      test(
        "each collaborate renews the six hours of its route, talk in the thread does not",
        FULL,
        async () => {
          const { team, platform } = await start({ behave: { ruda: silent, eden: silent } });
          const { threadId } = await collaborate(team, "ruda", {
            targetAgent: "eden",
            message: "하나",
          });
          await team.database.query({
            text: "update dure.thread_routes set renewed_at = renewed_at - interval '5 hours'",
          });
          const age = async (): Promise<number> =>
            (
              await team.database.query<{ hours: number }>({
                text: "select extract(epoch from clock_timestamp() - renewed_at)::double precision / 3600 as hours from dure.thread_routes",
              })
            )[0]!.hours;

          await platform.say(team, "아직 이야기 중", { thread: threadId });
          await settled(team);
          expect(await age()).toBeGreaterThan(4.9);
          await collaborate(team, "ruda", { targetAgent: "eden", message: "둘" });

          expect(await age()).toBeLessThan(1);
        },
      );

      test("R4 a restart between keeps the thread", FULL, async () => {
        const { team, platform } = await start();
        const first = await collaborate(team, "ruda", { targetAgent: "eden", message: "하나" });
        await team.stop();

        const second = await readyTeamOn(platform, { on: team });
        const again = await collaborate(second, "ruda", { targetAgent: "eden", message: "둘" });

        expect(again).toMatchObject({ threadId: first.threadId, reused: true });
      });

      test(
        "S1 S2 S3 an allowed channel gets the thread, another is an error, none means the default",
        FULL,
        async () => {
          const { team } = await start();

          const allowed = await collaborate(team, "ruda", {
            targetAgent: "eden",
            message: "여기서",
            channelId: general,
          });
          const refused = await team.rooms.collaboration.collaborate(
            { agent: "ruda" },
            { targetAgent: "seum", message: "저기서", channelId: `${name}:quiet` },
          );
          const fallback = await collaborate(team, "ruda", {
            targetAgent: "dajim",
            message: "어디서든",
          });

          expect(allowed.channelId).toBe(general);
          expect(refused).toMatchObject({ ok: false, code: "CHANNEL_NOT_ALLOWED" });
          expect(fallback.channelId).toBe(general);
        },
      );

      test("S4 without a channel and without a default it says which key to set", async () => {
        const platform = await makePlatform();
        const team = await startTestTeam({
          adapter: (database) => platform.adapter(database),
          agents: platform.agents,
          channels: platform.channels,
        });
        await platform.ready(team);

        const result = await team.rooms.collaboration.collaborate(
          { agent: "ruda" },
          { targetAgent: "eden", message: "어디서?" },
        );

        expect(result).toMatchObject({
          ok: false,
          code: "CHANNEL_REQUIRED",
          hint: expect.stringContaining("agents.ruda.channel") as string,
        });
      });

      test("A1 A2 A3 it returns at once with a note of whom it was handed to, while the target still works", async () => {
        const working = Promise.withResolvers<string>();
        const { team } = await start({ behave: { eden: () => working.promise } });

        const result = await collaborate(team, "ruda", {
          targetAgent: "eden",
          message: "오래 걸리는 일",
        });

        expect(result.note).toContain("이든");
        working.resolve("이제 됐습니다");
        await settled(team);
      });

      test("C1 C2 C3 from HTTP, the CLI and a job the tool begins the thread in the default channel", async () => {
        const { team } = await start({ limits: { pairCalls: 10 } });

        const results = await Promise.all(
          ["http-session-1", "cli-01", "job:job_1:ruda"].map((session) =>
            team.rooms.collaboration.collaborate(
              { agent: "ruda", session, turn: `turn_${session}` },
              { targetAgent: "eden", message: `${session}에서` },
            ),
          ),
        );

        expect(results.map((result) => (result.ok ? result.channelId : result.code))).toEqual([
          general,
          general,
          general,
        ]);
      });

      test(
        "the same key of a call gives the first result at any time; a caller's own key holds five minutes",
        FULL,
        async () => {
          const { team } = await start({ limits: { pairCalls: 10 } });
          const call = { targetAgent: "eden", message: "한 번만" };

          const first = await team.rooms.collaboration.collaborate(
            { agent: "ruda", callKey: "turn-1/2" },
            call,
          );
          const again = await team.rooms.collaboration.collaborate(
            { agent: "ruda", callKey: "turn-1/2" },
            call,
          );
          const outside = await team.rooms.collaboration.collaborate(
            { agent: "ruda" },
            { ...call, idempotencyKey: "k" },
          );
          const repeated = await team.rooms.collaboration.collaborate(
            { agent: "ruda" },
            { ...call, idempotencyKey: "k" },
          );
          await team.database.query({
            text: "update dure.collaborations set at = at - interval '5 minutes 1 second'",
          });
          const later = await team.rooms.collaboration.collaborate(
            { agent: "ruda" },
            { ...call, idempotencyKey: "k" },
          );
          const sameCall = await team.rooms.collaboration.collaborate(
            { agent: "ruda", callKey: "turn-1/2" },
            call,
          );

          expect(idOf(again)).toBe(idOf(first));
          expect(idOf(sameCall)).toBe(idOf(first));
          expect(idOf(repeated)).toBe(idOf(outside));
          expect(idOf(later)).not.toBe(idOf(outside));
        },
      );

      test.each([
        ["an empty message", { targetAgent: "eden", message: "" }],
        [
          "only spaces and zero-width characters",
          { targetAgent: "eden", message: " \u200b\u2060 " },
        ],
        ["itself as the target", { targetAgent: "ruda", message: "나에게" }],
        ["a text of 100,001 characters", { targetAgent: "eden", message: "가".repeat(100_001) }],
      ])("refuses %s and changes nothing", async (_what, call) => {
        const { team } = await start();

        expect(await team.rooms.collaboration.collaborate({ agent: "ruda" }, call)).toMatchObject({
          ok: false,
          code: "INVALID_ARGUMENT",
        });

        expect(await team.rooms.reader.threads(general, ANONYMOUS)).toEqual([]);
        expect(await team.database.query({ text: "select from dure.agent_pairs" })).toEqual([]);
      });
    });

    describe("response tracking", () => {
      test(
        "the answer closes exactly one request, and the place where it began is told",
        FULL,
        async () => {
          const { team, platform } = await start({
            behave: { ruda: (heard) => askOnce(heard, "eden", "리뷰해 줘") },
          });

          await platform.say(team, "@루다 이든한테 리뷰 받아 줘");
          await eventually(async () =>
            expect(
              (await platform.shown(team, general)).filter((line) =>
                line.includes("이든 님이 답했어요"),
              ),
            ).toHaveLength(1),
          );

          expect(await requestStates(team)).toEqual(["answered"]);
        },
      );

      test("an answer that cannot be posted closes nothing, and the origin of the request is told nothing", async () => {
        const { team, platform } = await start({
          behave: { ruda: (heard) => askOnce(heard, "eden", "리뷰해 줘") },
        });
        platform.fail("post", "permission", { agent: "eden" });

        await platform.say(team, "@루다 이든한테 리뷰 받아 줘");
        await eventually(async () =>
          expect(
            await team.database.query({
              text: "select from dure.room_messages where author = 'eden' and delivery = 'failed'",
            }),
          ).toHaveLength(1),
        );
        await settled(team);

        expect(await requestStates(team)).toEqual(["open"]);
        expect(
          (await platform.shown(team, general)).filter((line) => line.includes("답했어요")),
        ).toEqual([]);
        const [thread] = await team.rooms.reader.threads(general, ANONYMOUS);
        await platform.say(team, "@이든 다시 한 번 말해 줘", { thread: thread!.id });
        await eventually(async () => expect(await requestStates(team)).toEqual(["answered"]));
      });

      test(
        "reminders come at 5 and 10 minutes, an escalation at 15, and a late answer resolves it",
        FULL,
        async () => {
          const { team, platform } = await start({ behave: { eden: silent } });
          const { threadId } = await collaborate(team, "ruda", {
            targetAgent: "eden",
            message: "답 좀",
          });
          await settled(team);
          const pass = async (): Promise<void> =>
            void (await team.database.query({
              text: "update dure.requests set next_at = clock_timestamp() - interval '1 second', created_at = created_at - interval '5 minutes'",
            }));

          const counted = async (): Promise<unknown> => [
            await team.database.query(
              { text: "select agent_messages, recent, state from dure.places where id = $1" },
              [threadId],
            ),
            await team.database.query({ text: "select calls from dure.agent_pairs" }),
          ];
          const before = await counted();

          await pass();
          await eventually(async () =>
            expect(
              (await platform.shown(team, threadId)).filter((line) => line.includes("답해 주세요")),
            ).toHaveLength(1),
          );
          await settled(team);
          expect(await counted()).toEqual(before);
          await pass();
          await eventually(async () =>
            expect(
              (await platform.shown(team, threadId)).filter((line) => line.includes("답해 주세요")),
            ).toHaveLength(2),
          );
          await settled(team);
          await pass();
          await eventually(async () =>
            expect(
              (await team.inbox.list({ tenant: "", status: "open" })).items.map(
                (entry) => entry.type,
              ),
            ).toEqual(["unanswered"]),
          );
          expect(team.calls("eden")).toBeGreaterThanOrEqual(3);

          await team.stop();
          const second = await readyTeamOn(platform, { on: team });
          await platform.say(second, "@이든 늦었지만 답해 줘", { thread: threadId });
          await eventually(async () => expect(await requestStates(second)).toEqual(["answered"]));
          expect((await second.inbox.list({ tenant: "", status: "open" })).items).toEqual([]);
        },
      );
    });
  },
);

function askOnce(
  heard: Parameters<Behave>[0],
  targetAgent: Name,
  message: string,
): ReturnType<Behave> {
  if (heard.results.length > 0) return "부탁해 두었습니다";
  return heard.text.includes("받아 줘")
    ? { toolCalls: [{ name: "collaborate", args: { targetAgent, message } }] }
    : { toolCalls: [{ name: "stay_silent", args: {} }] };
}

function idOf(result: CollaborateResult): string {
  return result.ok ? result.messageId : result.code;
}

async function requestStates(team: TestTeam): Promise<readonly string[]> {
  return (
    await team.database.query<{ state: string }>({
      text: "select state from dure.requests order by created_at",
    })
  ).map((row) => row.state);
}
