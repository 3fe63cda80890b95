// @module-tag slow
import { describe, expect, test } from "vitest";
import { eventually } from "../until.ts";
import type {
  CollaborateCall,
  CollaborateResult,
} from "../../src/rooms/handover/collaborate-call.ts";
import type { DefaultPlaces } from "../../src/rooms/named-place.ts";
import { PAIR, pairOf } from "./both-platforms.ts";
import { ANONYMOUS, readyTeamOn, settled, silent } from "./helpers.ts";
import type { Behave, TestTeam } from "./team.ts";

/** Room for all calls of one test. */
const LIMITS = { pairCalls: 100, threadsPerMinute: 100 };

/** Hands over what a person tells it to. */
const ruda: Behave = (heard) => {
  if (heard.results.length > 0) return "맡겼습니다";
  if (!heard.text.includes("맡겨")) return silent(heard);
  const args = { targetAgent: "eden", message: "로그를 봐 줘" };
  return { toolCalls: [{ name: "collaborate", args }] };
};

/** Scenarios of docs/spec/collaboration §4 and §10 that name places, with two platforms at once. */
describe.each(PAIR.rows)(
  "people on %s, beside it %s",
  { ...PAIR.options, timeout: 60_000 },
  (here, there) => {
    const start = async (defaultChannel: DefaultPlaces): Promise<TestTeam> => {
      const platform = await pairOf([here, there] as Parameters<typeof pairOf>[0]);
      const behave = { ruda: silent, eden: silent };
      return readyTeamOn(platform, { defaultChannel, behave, limits: LIMITS });
    };

    test("C1 C2 C3 from HTTP, the CLI and a job the default with its platform decides", async () => {
      for (const places of [`${there}:general`, [`${there}:general`, `${here}:general`]]) {
        const team = await start(places);
        const channels = ["http-session-1", "cli-01", "job:job_1:ruda"].map((session) =>
          channelOf(team, { session, message: session }),
        );

        expect(await Promise.all(channels)).toEqual(channels.map(() => `${there}:general`));
      }
    });

    test("C4 C5 an unknown and an offline agent are refused, and nothing begins anywhere", async () => {
      const team = await start("general");
      await team.rooms.pauses.pause("eden", { by: "mina" });

      expect(await channelOf(team, { targetAgent: "chorong" })).toBe("AGENT_UNKNOWN");
      expect(await channelOf(team, {})).toBe("AGENT_OFFLINE");
      for (const { adapter, key } of team.rooms.directory.channels) {
        expect(await team.rooms.reader.threads(`${adapter}:${key}`, ANONYMOUS)).toEqual([]);
      }
    });

    test("S1 S2 a channel in full is taken on either platform, and one that takes none is refused", async () => {
      const team = await start("general");

      for (const adapter of [here, there]) {
        const { channel } = team.rooms.directory.channelOf(`${adapter}:general`)!;
        for (const channelId of [`${adapter}:general`, `${adapter}:${channel}`]) {
          expect(await channelOf(team, { channelId })).toBe(`${adapter}:general`);
        }
        expect(await ask(team, { channelId: `${adapter}:quiet` })).toMatchObject({
          code: "CHANNEL_NOT_ALLOWED",
          hint: expect.stringContaining("rooms.channels.quiet.collaborate is false") as string,
        });
      }
      const several = await ask(team, { channelId: "general" });
      expect(several).toMatchObject({ code: "CHANNEL_REQUIRED" });
      for (const adapter of [here, there]) {
        expect((several as { hint: string }).hint).toContain(`${adapter}:general`);
      }
    });

    test("S3 without a channel the default of the asker's platform is taken, in each form", async () => {
      for (const places of ["general", [`${there}:general`, `${here}:general`]]) {
        const team = await start(places);

        for (const adapter of [here, there]) {
          const session = `room:ruda:${adapter}:quiet`;
          expect(await channelOf(team, { session })).toBe(`${adapter}:general`);
        }
      }
    });

    test("S4 without a default there the refusal names both keys, the value, and what may stand there", async () => {
      const team = await start(`${there}:general`);

      const refused = await ask(team, { session: `room:ruda:${here}:quiet` });

      expect(refused).toMatchObject({
        code: "CHANNEL_REQUIRED",
        message:
          `No default channel is on ${here} (rooms.defaultChannel is "${there}:general", ` +
          "agents.ruda.channel is not set).",
        hint:
          "Add one of these to rooms.defaultChannel or agents.ruda.channel, or give channelId: " +
          `${here}:general.`,
      });
    });

    test("R3 a thread is named by its platform's id too, by an agent and by a person", async () => {
      const team = await start("general");
      const first = await ask(team, { channelId: `${here}:general` });
      if (!first.ok) throw new Error(first.message);
      await settled(team);
      const { thread } = await team.rooms.place(first.threadId, ANONYMOUS);
      const name = here === "web" ? first.threadId : `${here}:${thread}`;

      expect(await ask(team, { threadId: name })).toMatchObject({ threadId: first.threadId });
      expect((await team.rooms.place(name, ANONYMOUS)).id).toBe(first.threadId);
      expect((await team.rooms.place(`${there}:general`, ANONYMOUS)).id).toBe(`${there}:general`);
      await expect(team.rooms.place("general", ANONYMOUS)).rejects.toMatchObject({
        code: "PLACE_AMBIGUOUS",
        hint: expect.stringContaining(`${here}:general`) as string,
      });
    });

    test("D a session that is no room hands over into the default channel, and hears the answer", async () => {
      const platform = await pairOf([here, there] as Parameters<typeof pairOf>[0]);
      const eden: Behave = (heard) =>
        heard.background.includes("asks this of you") ? "디스크가 찼습니다" : silent(heard);
      const team = await readyTeamOn(platform, { behave: { ruda, eden } });

      const turn = { session: "http-session-1", service: "ruda", message: "이든에게 맡겨 줘" };
      await team.engine.turn(turn, {}).done;

      await eventually(async () =>
        expect(
          await team.database.query({
            text: "select session from dure.events where type = 'collaborate.answered'",
          }),
        ).toEqual([{ session: "http-session-1" }]),
      );
      await settled(team);
      const [thread, ...others] = await team.rooms.reader.threads(`${here}:general`, ANONYMOUS);
      expect(others).toEqual([]);
      expect((await platform.shown(team, thread!.id)).slice(0, 2)).toEqual([
        "루다: @이든 로그를 봐 줘",
        "이든: 디스크가 찼습니다",
      ]);
      expect(await team.rooms.reader.threads(`${there}:general`, ANONYMOUS)).toEqual([]);
    });
  },
);

/** 루다 asks 이든 from a session, or from none. */
function ask(
  team: TestTeam,
  { session, ...call }: Partial<CollaborateCall> & { session?: string },
): Promise<CollaborateResult> {
  const caller = session === undefined ? { agent: "ruda" } : { agent: "ruda", session };
  return team.rooms.collaboration.collaborate(caller, {
    targetAgent: "eden",
    message: "봐 줘",
    ...call,
  });
}

/** The channel that was taken, or the code of the refusal. */
async function channelOf(team: TestTeam, call: Parameters<typeof ask>[1]): Promise<string> {
  const result = await ask(team, call);
  return result.ok ? result.channelId : result.code;
}
