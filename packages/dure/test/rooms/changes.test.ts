// @module-tag slow
import { describe, expect, test } from "vitest";
import { eventually } from "../until.ts";
import { discordPlatform } from "./discord-platform.ts";
import { ANONYMOUS, readyTeamOn, settled } from "./helpers.ts";
import type { TestPlatform } from "./platform.ts";
import { slackPlatform } from "./slack-platform.ts";
import type { Behave, Name, TestTeam } from "./team.ts";
import { webPlatform } from "./web-platform.ts";

const PLATFORMS = [
  ["web", async () => webPlatform()],
  ["discord", () => discordPlatform()],
  ["slack", () => slackPlatform()],
] as const satisfies readonly (readonly [string, () => Promise<TestPlatform>])[];

/** A team whose agent waits for more words before it answers, and what its model is given. */
async function stageOf(make: () => Promise<TestPlatform>, restMs: number) {
  const platform = await make();
  const asked: string[] = [];
  const ruda: Behave = ({ request }) => {
    asked.push(JSON.stringify(request.messages));
    return "알겠어요";
  };
  const team = await readyTeamOn(platform, { behave: { ruda }, gather: { restMs } });
  return { platform, team, asked };
}

describe.each(PLATFORMS)("on %s a message", { timeout: 60_000 }, (_name, make) => {
  test("that is edited before it is answered is answered as it reads now", async () => {
    const { platform, team, asked } = await stageOf(make, 700);
    const message = await platform.say(team, "제주 날씨 알려 줘요");
    await platform.edit(team, message, "부산 날씨 알려 줘요");
    await settled(team);

    expect(asked).toHaveLength(1);
    expect(asked[0]).toContain("부산 날씨");
    expect(asked[0]).not.toContain("제주");
  });

  test("that is deleted before it is answered has no answer, and costs no call", async () => {
    const { platform, team, asked } = await stageOf(make, 700);
    const message = await platform.say(team, "비밀번호는 1234예요");
    await platform.remove(team, message);
    await settled(team);

    expect(asked).toEqual([]);
    expect(await team.rooms.message(message, ANONYMOUS)).toMatchObject({ text: "" });
  });

  test("that is edited after its answer is told to the agent once, on its next turn", async () => {
    const { platform, team, asked } = await stageOf(make, 0);
    const message = await platform.say(team, "회의는 3시예요");
    await settled(team);
    await platform.edit(team, message, "회의는 4시예요");
    await platform.say(team, "고마워요");
    await settled(team);
    await platform.say(team, "또 봐요");
    await settled(team);

    const told = asked.map((text) =>
      text.includes("was edited since. It reads now:\\n> 회의는 4시"),
    );
    expect(told).toEqual([false, true, false]);
  });

  test("that is deleted after its answer leaves the record, the next prompt and the memory", async () => {
    const { platform, team, asked } = await stageOf(make, 0);
    const message = await platform.say(team, "비밀번호는 1234예요");
    await settled(team);
    await platform.remove(team, message);
    await eventually(async () => expect(await holdersOf(team, "1234")).toEqual([]));
    await platform.say(team, "고마워요");
    await settled(team);

    expect(asked[1]).not.toContain("1234");
    expect(asked[1]).toContain("민준: (deleted)");
    expect(asked[1]).toContain("was deleted by its author");
  });

  test("that is edited to another agent and back is answered once, by the first one", async () => {
    const platform = await make();
    const team = await readyTeamOn(platform, { gather: { restMs: 1_500, mostMs: 10_000 } });
    const message = await platform.say(team, "@이든 봐 주세요");
    await platform.edit(team, message, "@세움 봐 주세요");
    await platform.edit(team, message, "봐 주세요");
    await platform.edit(team, message, "@이든 다시 봐 주세요");
    await settled(team);

    const { place } = await team.rooms.message(message, ANONYMOUS);
    const shown = await platform.shown(team, place);
    expect(shown.slice(1)).toEqual(["이든: 이든의 답입니다"]);
    expect(["ruda", "seum", "eden"].map((agent) => team.calls(agent as Name))).toEqual([0, 0, 1]);
  });
});

test("a summary that was made of a deleted message goes, and what else was said is still known", async () => {
  const { platform, team, asked } = await stageOf(async () => webPlatform(), 0);
  const message = await platform.say(team, "비밀번호는 1234예요");
  await settled(team);
  await platform.say(team, "제 생일은 5월이에요");
  await settled(team);
  await platform.say(team, "고마워요");
  await settled(team);
  await team.database.query(FOLDED);

  await platform.remove(team, message);
  await eventually(async () => expect(await holdersOf(team, "1234")).toEqual([]));
  await platform.say(team, "제 생일이 언제죠?");
  await settled(team);

  const last = asked.at(-1)!;
  expect(last).not.toContain("1234");
  expect(last).toContain("제 생일은 5월이에요");
  expect(last.split("고마워요")).toHaveLength(2);
});

/** As a model would have folded all but the last exchange. */
const FOLDED = {
  text: `update dure.sessions
         set memory = jsonb_build_object(
           'summaryText', '비밀번호가 1234이고 생일이 5월이라고 했다.',
           'rawHistory', jsonb_path_query_array(memory->'rawHistory', '$[last - 1 to last]')
         )
         where memory ? 'rawHistory'`,
};

test("a message that is deleted while it is answered ends that answer unsaid", async () => {
  const gate = Promise.withResolvers<void>();
  const begun = Promise.withResolvers<void>();
  const platform = webPlatform();
  const ruda: Behave = async () => {
    begun.resolve();
    await gate.promise;
    return "답이에요";
  };
  const team = await readyTeamOn(platform, { behave: { ruda } });
  const message = await platform.say(team, "제 주민번호로 찾아 줘요");
  await begun.promise;
  await platform.remove(team, message);
  gate.resolve();
  await settled(team);

  expect(await platform.shown(team, "web:general")).toEqual(["민준: "]);
});

test("one of several messages that is deleted leaves the others their answer", async () => {
  const { platform, team, asked } = await stageOf(async () => webPlatform(), 600);
  await platform.say(team, "날씨 알려 줘요");
  const message = await platform.say(team, "비밀번호는 1234예요");
  await platform.remove(team, message);
  await settled(team);

  expect(asked).toHaveLength(1);
  expect(asked[0]).toContain("날씨");
  expect(asked[0]).not.toContain("1234");
});

test("a person changes no words of another one, and none that are deleted", async () => {
  const platform = webPlatform();
  const team = await readyTeamOn(platform);
  const message = await platform.say(team, "안녕하세요");
  await settled(team);
  const jiu = { tenant: "", person: "지우" };
  const minjun = { tenant: "", person: "민준" };

  await expect(team.rooms.own.edit(message, jiu, "안녕")).rejects.toMatchObject({
    code: "MESSAGE_NOT_YOURS",
  });
  await expect(team.rooms.own.delete(message, jiu)).rejects.toMatchObject({
    code: "MESSAGE_NOT_YOURS",
  });
  await team.rooms.own.delete(message, minjun);
  await team.rooms.own.delete(message, minjun);
  await expect(team.rooms.own.edit(message, minjun, "안녕")).rejects.toMatchObject({
    code: "MESSAGE_DELETED",
  });
});

/** Tables in which the words stand. */
async function holdersOf({ database }: TestTeam, words: string): Promise<readonly string[]> {
  const rows = await database.query<{ name: string; held: boolean }>(
    {
      text: `
        select 'room_messages' as name, exists (select from dure.room_messages where strpos(text, $1) > 0) as held
        union all
        select 'observations', exists (select from dure.observations where strpos(excerpt, $1) > 0)
        union all
        select 'messages', exists (select from dure.messages where strpos(text, $1) > 0)
        union all
        select 'sessions', exists (select from dure.sessions where strpos(memory::text, $1) > 0)`,
    },
    [words],
  );
  return rows.flatMap(({ name, held }) => (held ? [name] : []));
}

const AWAY = [
  [
    "discord",
    async () => {
      const stage = await discordPlatform();
      const { discord, guild, places, person } = stage;
      const found = (id: string) => discord.messages(places.general).find((one) => one.id === id)!;
      return {
        stage,
        setAway: (isAway: boolean) => discord.setOutage(guild, isAway),
        edit: (id: string, text: string) => person("민준").edit(found(id), text),
        remove: (id: string) => person("민준").remove(found(id)),
      };
    },
  ],
  [
    "slack",
    async () => {
      const stage = await slackPlatform();
      const { slack, places, person } = stage;
      const found = (id: string) => ({ channel: places.general.id, ts: id.split(":")[1]! });
      return {
        stage,
        setAway: (isAway: boolean) => slack.setOutage(isAway),
        edit: (id: string, text: string) => person("민준").edit(found(id), text),
        remove: (id: string) => person("민준").remove(found(id)),
      };
    },
  ],
] as const;

describe.each(AWAY)("on %s, while no account is connected", { timeout: 60_000 }, (_name, make) => {
  test("what is edited is told to the agent, what is deleted is forgotten, all else stays", async () => {
    const { stage, setAway, edit, remove } = await make();
    const asked: string[] = [];
    const ruda: Behave = ({ request }) => {
      asked.push(JSON.stringify(request.messages));
      return "알겠어요";
    };
    const team = await readyTeamOn(stage, { behave: { ruda }, gather: { restMs: 0 } });
    const said: string[] = [];
    for (const text of ["회의는 3시예요", "비밀번호는 1234예요", "점심은 국수예요"]) {
      said.push(await stage.say(team, text));
      await settled(team);
    }
    const [edited, deleted] = await Promise.all(said.map((id) => platformIdOf(team, id)));

    setAway(true);
    await isAway(team);
    edit(edited!, "회의는 4시예요");
    remove(deleted!);
    setAway(false);
    await eventually(async () => expect(await holdersOf(team, "1234")).toEqual([]));
    await settled(team);
    await stage.say(team, "고마워요");
    await settled(team);

    expect(asked.at(-1)).toContain("was edited since. It reads now:\\n> 회의는 4시");
    expect(asked.at(-1)).toContain("was deleted by its author");
    expect(await team.rooms.message(said[2]!, ANONYMOUS)).toMatchObject({
      text: "점심은 국수예요",
      editedAt: null,
      deletedAt: null,
    });
  });
});

describe("a platform that cannot say whether a message is gone", { timeout: 60_000 }, () => {
  test.each([
    ["is asked again when it was in trouble", { kind: "5xx" }, true],
    ["deletes nothing when it knows the channel no more", { kind: "404", code: 10_003 }, false],
  ] as const)("%s, and what was missed is read at once", async (_what, fault, isGone) => {
    const { stage, setAway, remove } = await AWAY[0][1]();
    const { discord, places, person } = stage;
    const team = await readyTeamOn(stage, { behave: { ruda: () => "알겠어요" } });
    const secret = await stage.say(team, "비밀번호는 1234예요");
    await settled(team);
    const id = await platformIdOf(team, secret);

    setAway(true);
    await isAway(team);
    const asked = { route: `/channels/${places.general.id}/messages/${id}`, method: "GET" };
    const refused = discord.fault({ ...asked, times: ACCOUNTS }, fault);
    remove(id);
    person("민준").post(places.general, "저 왔어요");
    setAway(false);

    await eventually(async () => {
      expect((await stage.shown(team, "discord:general")).slice(-2)).toEqual([
        "민준: 저 왔어요",
        "루다: 알겠어요",
      ]);
    });
    await eventually(() => expect(refused.hits).toBe(ACCOUNTS));
    await eventually(async () =>
      expect((await team.rooms.message(secret, ANONYMOUS)).deletedAt !== null).toBe(isGone),
    );
  });
});

/** Of the team: each reads what it missed. */
const ACCOUNTS = 4;

async function isAway(team: TestTeam): Promise<void> {
  await eventually(async () => {
    const accounts = (await team.rooms.reader.agents()).flatMap((agent) => agent.accounts);
    expect(accounts.filter(({ state, detail }) => state === "ready" && detail === null)).toEqual(
      [],
    );
  });
}

async function platformIdOf(team: TestTeam, message: string): Promise<string> {
  const [row] = await team.database.query<{ platform_id: string }>(
    { text: "select platform_id from dure.room_parts where message = $1" },
    [message],
  );
  return row!.platform_id;
}
