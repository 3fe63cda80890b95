// @module-tag slow
import { describe, expect, test } from "vitest";
import { silentLogger, type Logger } from "../../src/kernel/logger.ts";
import { FULL } from "../../src/kernel/test-tiers.ts";
import { eventually } from "../until.ts";
import { discordPlatform, type DiscordStage } from "./discord-platform.ts";
import { collaborate, openTypes, readyTeamOn, rolesOf, settled, silent } from "./helpers.ts";
import type { Behave, TestTeam } from "./team.ts";

const PERSON = { tenant: "", person: "지우" };
const OPERATOR = { tenant: "", person: "", seesAll: true };

test("the log names the user of each bot once, as soon as the platform has told it", async () => {
  const lines: string[] = [];
  const logger: Logger = { ...silentLogger, info: (_fields, text) => void lines.push(text) };
  const stage = await discordPlatform();

  await readyTeamOn(stage, { logger });

  const told = lines.filter((line) => line.includes("is the user")).toSorted();
  const ids = Object.entries(stage.bots).map(
    ([agent, { id }]) => `agent ${agent} is the user ${id} on discord`,
  );
  expect(told).toEqual(ids.toSorted());
});

describe("which bots are in a thread of Discord", { timeout: 60_000 }, () => {
  test(
    "who handed over and who was asked; the others have a record and no membership",
    FULL,
    async () => {
      const stage = await discordPlatform();
      const team = await readyTeamOn(stage, { behave: { eden: silent } });
      const { threadId } = await collaborate(team, "ruda", {
        targetAgent: "eden",
        message: "봐 주세요",
      });
      await settled(team);

      const message = await stage.say(team, "나는 어때요?", { thread: threadId });
      await settled(team);

      expect(membersOf(stage)).toEqual(["루다", "민준", "이든"]);
      expect(await rolesOf(team, message)).toEqual({
        ruda: "HANDLER",
        eden: "HANDLER",
        seum: "OBSERVER",
        dajim: "OBSERVER",
      });
      const overheard = await team.rooms.reader.observations({
        agent: "dajim",
        place: threadId,
        tenant: "",
      });
      expect(overheard.map(({ excerpt }) => excerpt)).toContain("나는 어때요?");
    },
  );

  test(
    "an agent that is named in plain words is called to the thread, and answers once",
    FULL,
    async () => {
      const stage = await discordPlatform();
      const team = await readyTeamOn(stage, { behave: { ruda: silent, eden: silent } });
      const { threadId } = await collaborate(team, "ruda", {
        targetAgent: "eden",
        message: "봐 주세요",
      });
      await settled(team);
      const [thread] = stage.discord.threads(stage.places.general);

      stage.person("민준").post(thread!, "＠세움도 확인해봐"); // no mention of the platform

      await eventually(async () =>
        expect(await stage.shown(team, threadId)).toContain("세움: 세움의 답입니다"),
      );
      await settled(team);
      expect(membersOf(stage)).toEqual(["루다", "민준", "세움", "이든"]);
      expect(team.calls("seum")).toBe(1);
    },
  );

  test("what is said in a private thread is for its members and operators alone", async () => {
    const backgrounds: string[] = [];
    const eden: Behave = ({ background }) => {
      backgrounds.push(background);
      return "네";
    };
    const stage = await discordPlatform();
    const team = await readyTeamOn(stage, { behave: { eden, ruda: silent } });
    const minjun = stage.person("민준");
    const secret = minjun.startThread(stage.places.general, "우리끼리", { isPrivate: true });
    minjun.post(secret, `${stage.discord.mention(stage.bots.eden)} 비밀인데 월급이 얼마예요?`);
    const place = await placeOf(team, secret.id);
    await settled(team);

    await stage.say(team, "@이든 다들 뭐래요?");
    await settled(team);

    expect(await stage.shown(team, place)).toHaveLength(2);
    expect(backgrounds).toHaveLength(2);
    expect(backgrounds[1]).not.toContain("월급");
    expect(await team.rooms.reader.threads("discord:general", PERSON)).toEqual([]);
    expect(await team.rooms.reader.threads("discord:general", OPERATOR)).toHaveLength(1);
    await expect(team.rooms.place(place, PERSON)).rejects.toMatchObject({ code: "PLACE_UNKNOWN" });
    expect((await team.rooms.place(place, OPERATOR)).id).toBe(place);
    const heardBy = await team.database.query(
      {
        text: "select distinct unnest(agents) as agent from dure.observations where place = $1",
      },
      [place],
    );
    expect(heardBy).toEqual([]);
  });

  test("an agent that was removed from the server overhears no thread any more", FULL, async () => {
    const stage = await discordPlatform();
    const team = await readyTeamOn(stage, { behave: { ruda: silent, eden: silent } });
    const { threadId } = await collaborate(team, "ruda", {
      targetAgent: "eden",
      message: "봐 주세요",
    });
    await settled(team);

    stage.discord.kickBot(stage.bots.dajim, stage.guild);
    await eventually(async () => expect(await openTypes(team)).toHaveLength(2)); // its channels
    const message = await stage.say(team, "다짐은 이걸 몰라야 해요", { thread: threadId });
    await settled(team);

    expect(await rolesOf(team, message)).not.toHaveProperty("dajim");
    expect(membersOf(stage)).toEqual(["루다", "민준", "이든"]);
    const heard = await team.rooms.reader.observations({
      agent: "dajim",
      place: threadId,
      tenant: "",
    });
    expect(heard.map(({ excerpt }) => excerpt).join()).not.toContain("몰라야");
  });

  test(
    "an agent that may not view the channel any more overhears nothing of it, until it may",
    FULL,
    async () => {
      const stage = await discordPlatform();
      const team = await readyTeamOn(stage, { behave: { ruda: speaks, eden: silent } });
      const { discord, bots, places } = stage;
      const ofDajim = async (): Promise<string> => {
        const heard = await team.rooms.reader.observations({ agent: "dajim", tenant: "" });
        return heard.map(({ excerpt }) => excerpt).join();
      };
      const { threadId } = await collaborate(team, "ruda", {
        targetAgent: "eden",
        message: "봐 주세요",
      });
      await settled(team);

      discord.setPermissions(bots.dajim, places.general, { deny: ["VIEW_CHANNEL"] });
      await eventually(async () => expect(await openTypes(team)).toEqual(["account"]));
      await stage.say(team, "다짐은 이걸 몰라야 해요", { thread: threadId });
      await settled(team);

      expect(await stage.shown(team, threadId)).toContain("루다: 우리만 아는 말");
      expect(await ofDajim()).not.toMatch(/몰라야|우리만/u);
      const { items } = await team.rooms.reader.rooms(PERSON);
      expect(items.map(({ name }) => name)).toContain("general");
      discord.setPermissions(bots.dajim, places.general, {});
      await eventually(async () => expect(await openTypes(team)).toEqual([]));
      await stage.say(team, "이제 다 들려요");
      await eventually(async () => expect(await ofDajim()).toContain("다 들려요"));
    },
  );

  test("a channel that a bot may never view is told once, and keeps its name", FULL, async () => {
    const stage = await discordPlatform();
    stage.discord.setPermissions(stage.bots.dajim, stage.places.general, {
      deny: ["VIEW_CHANNEL"],
    });
    const team = await readyTeamOn(stage, { behave: { ruda: () => "답입니다" } });
    const lost = { text: "select agent, room from dure.events where type = 'room.access_lost'" };
    await eventually(async () =>
      expect(await team.database.query(lost)).toEqual([
        { agent: "dajim", room: "discord:general" },
      ]),
    );

    const call = { targetAgent: "dajim", message: "봐 줘" };
    const result = await team.rooms.collaboration.collaborate({ agent: "ruda" }, call);

    expect(result).toMatchObject({ ok: false, code: "AGENT_OFFLINE" });
    expect(await openTypes(team)).toContain("account");
    const { items } = await team.rooms.reader.rooms(PERSON);
    expect(items.map(({ name }) => name)).not.toContain("___hidden___");
  });

  test("a hand-over into a forum is a post, in which both agents talk", async () => {
    const stage = await discordPlatform();
    const forum = stage.discord.addChannel(stage.guild, "forum", "forum");
    const posts = { key: "forum", adapter: "discord", name: "forum", guild: stage.guild.id };
    const team = await readyTeamOn(stage, {
      behave: { ruda: silent },
      channels: [...stage.channels, { ...posts, channel: forum.id, collaborate: true }],
    });

    const { threadId } = await collaborate(team, "ruda", {
      targetAgent: "eden",
      message: "봐 주세요",
      channelId: "forum",
    });
    await settled(team);

    const [post] = stage.discord.threads(forum);
    expect(post?.members).toEqual(["루다", "이든"]);
    expect(await stage.shown(team, threadId)).toEqual([
      `루다: ${post?.name}`,
      "루다: @이든 봐 주세요",
      "이든: 이든의 답입니다",
    ]);
  });

  test("a hand-over from a private thread stays in it", FULL, async () => {
    const stage = await discordPlatform();
    const ruda: Behave = ({ results, text }) =>
      results.length === 0 && text.includes("넘겨")
        ? {
            toolCalls: [{ name: "collaborate", args: { targetAgent: "eden", message: "비밀 일" } }],
          }
        : "넘겼어요";
    const team = await readyTeamOn(stage, { behave: { ruda } });
    const minjun = stage.person("민준");
    const secret = minjun.startThread(stage.places.general, "우리끼리", { isPrivate: true });

    minjun.post(secret, `${stage.discord.mention(stage.bots.ruda)} 이든한테 넘겨줘`);
    const place = await placeOf(team, secret.id);
    await eventually(async () =>
      expect(await stage.shown(team, place)).toContain("이든: 이든의 답입니다"),
    );
    await settled(team);

    expect(await stage.shown(team, "discord:general")).toEqual([]);
    expect(stage.discord.threads(stage.places.general)).toHaveLength(1);
    expect(await team.rooms.reader.threads("discord:general", PERSON)).toEqual([]);

    // What is asked in the open afterwards is not answered among them.
    const among = await stage.shown(team, place);
    minjun.post(stage.places.general, `${stage.discord.mention(stage.bots.ruda)} 이것도 넘겨줘`);
    await eventually(async () =>
      expect(await team.rooms.reader.threads("discord:general", PERSON)).toHaveLength(1),
    );
    await settled(team);
    expect(await stage.shown(team, place)).toEqual(among);
  });

  test("a private thread takes no hand-over from outside, though its id is known", async () => {
    const stage = await discordPlatform();
    let secretPlace = "";
    const asked: unknown[] = [];
    const ruda: Behave = ({ results, text }) => {
      if (!text.includes("넘겨")) return "네";
      if (results.length > 0) return (asked.push(results[0]), "안 되네요");
      const args = { targetAgent: "eden", message: "그 일 어때?", threadId: secretPlace };
      return { toolCalls: [{ name: "collaborate", args }] };
    };
    const team = await readyTeamOn(stage, { behave: { ruda } });
    const minjun = stage.person("민준");
    const secret = minjun.startThread(stage.places.general, "우리끼리", { isPrivate: true });
    minjun.post(secret, `${stage.discord.mention(stage.bots.ruda)} 우리만 알자`);
    secretPlace = await placeOf(team, secret.id);
    await settled(team);

    minjun.post(stage.places.general, `${stage.discord.mention(stage.bots.ruda)} 넘겨줘`);

    await eventually(() => expect(asked).toHaveLength(1));
    expect(asked).toMatchObject([{ ok: false, code: "THREAD_NOT_FOUND" }]);
    await settled(team);
    expect(JSON.stringify(await stage.shown(team, secretPlace))).not.toContain("그 일");
  });
});

/** Answers what is for the others alone. */
const speaks: Behave = (heard) =>
  heard.text.includes("몰라야") ? "우리만 아는 말" : silent(heard);

function membersOf(stage: DiscordStage): readonly string[] {
  return [...stage.discord.threads(stage.places.general)[0]!.members].sort();
}

/** dure's id of a thread of the platform, as soon as it has one. */
async function placeOf(team: TestTeam, thread: string): Promise<string> {
  let place: string | undefined;
  await eventually(async () => {
    const [row] = await team.database.query<{ id: string }>(
      { text: "select id from dure.places where thread = $1" },
      [thread],
    );
    place = row?.id;
    expect(place).toBeDefined();
  });
  return place!;
}
