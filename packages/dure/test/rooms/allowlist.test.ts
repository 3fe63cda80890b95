import { describe, expect, test } from "vitest";
import { FULL } from "../../src/kernel/test-tiers.ts";
import { eventually } from "../until.ts";
import type { DiscordStage } from "./discord-platform.ts";
import type { SlackStage } from "./slack-platform.ts";
import {
  collaborate,
  ANONYMOUS,
  participantsOf,
  readyTeamOn,
  settled,
  silent,
  stateOf,
} from "./helpers.ts";
import { PLATFORM } from "./platforms.ts";

describe.each(PLATFORM.rows)(
  "a channel that is taken out of the configuration, on %s",
  { ...PLATFORM.options, timeout: 60_000 },
  (name, makePlatform) => {
    test(
      "is heard no more: nothing is handled or recorded there or in its threads; put back, it goes on",
      FULL,
      async () => {
        const platform = await makePlatform();
        const team = await readyTeamOn(platform, { behave: { ruda: silent, eden: silent } });
        const { threadId } = await collaborate(team, "ruda", {
          targetAgent: "eden",
          message: "검토",
        });
        await platform.say(team, "들리나요");
        await settled(team);
        await team.stop();

        const without = await readyTeamOn(platform, {
          on: team,
          defaultChannel: "quiet",
          channels: platform.channels.filter(({ key }) => key !== "general"),
        });
        const before = await countOf(without);
        if (name === "web") {
          await expect(platform.say(without, "아직 들리나요")).rejects.toMatchObject({
            code: "PLACE_CLOSED",
          });
        } else if (name === "slack") {
          const stage = platform as SlackStage;
          const channel = { channel: stage.places.general };
          const [thread] = stage.slack.threads(stage.places.general);
          const said = stage.slack.messages(channel).find(({ text }) => text === "들리나요")!;
          stage.person("민준").edit({ channel: channel.channel.id, ts: said.ts }, "고쳐 쓴 말");
          stage.person("민준").post(channel, "아직 들리나요");
          stage.person("민준").post({ ...channel, threadTs: thread!.ts }, "여기는요");
          await platform.say(without, "조용한 곳에서 한마디", { channel: "quiet" });
        } else {
          const stage = platform as DiscordStage;
          stage.person("민준").edit(
            stage.discord.messages(stage.places.general).find(({ text }) => text === "들리나요")!,
            "고쳐 쓴 말",
          );
          stage.person("민준").post(stage.places.general, "아직 들리나요");
          stage.person("민준").post(stage.discord.threads(stage.places.general)[0]!, "여기는요");
          await platform.say(without, "조용한 곳에서 한마디", { channel: "quiet" });
        }
        await settled(without);

        expect(await countOf(without)).toEqual(before);
        const rooms = (await without.rooms.reader.rooms(ANONYMOUS)).items.map(({ id }) => id);
        expect(rooms.filter((id) => id.startsWith(`${name}:`))).toEqual([`${name}:quiet`]);
        expect(await stateOf(without, threadId)).toBe("closed");
        expect(
          (
            await without.database.query<{ state: string }>({
              text: "select state from dure.requests",
            })
          ).map(({ state }) => state),
        ).toEqual(["withdrawn"]);
        await without.stop();

        const again = await readyTeamOn(platform, {
          on: team,
          behave: { eden: () => "다시 왔습니다", ruda: silent },
        });
        await platform.say(again, "계속해 줘", { thread: threadId });
        await eventually(async () =>
          expect((await platform.shown(again, threadId)).at(-1)).toBe("이든: 다시 왔습니다"),
        );
        expect(await participantsOf(again, threadId)).toEqual(["eden", "ruda"]);
        // Dure's own concern.
        expect((await again.rooms.reader.rooms(ANONYMOUS)).items[0]).not.toHaveProperty("awayFrom");
        await settled(again);
        expect(
          await again.database.query({
            text: "select text from dure.room_messages where text in ('아직 들리나요', '여기는요', '고쳐 쓴 말')",
          }),
        ).toEqual([]); // it is not caught up with either
      },
    );

    async function countOf(team: Awaited<ReturnType<typeof readyTeamOn>>): Promise<unknown> {
      return team.database.query({
        text: `select (select count(*)::integer from dure.room_messages where place not like '%quiet') as messages, (select count(*)::integer from dure.observations where place not like '%quiet') as records`,
      });
    }
  },
);
