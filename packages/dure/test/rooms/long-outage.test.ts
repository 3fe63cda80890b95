import { expect, test } from "vitest";
import { FULL } from "../../src/kernel/test-tiers.ts";
import { eventually } from "../until.ts";
import { accountStates, readyTeamOn, settled, silent } from "./helpers.ts";
import { slackPlatform } from "./slack-platform.ts";
import type { Behave, TestTeam } from "./team.ts";

const MINUTE = 60_000;
const AGENTS = 4;

/** Answers `물음 n` with `답 n`. */
const answers: Behave = (heard) => {
  const [, n] = /물음 (\d+)$/u.exec(heard.text) ?? [];
  return n === undefined ? silent(heard) : `답 ${n}`;
};

test(
  "Slack was away for longer than it tells again: what came is read, or said to be left out",
  { ...FULL, timeout: 120_000 },
  async () => {
    const stage = await slackPlatform();
    const { slack, places, person, apps } = stage;
    const team = await readyTeamOn(stage, {
      behave: { ruda: answers, eden: answers },
      limits: { missedPerPlace: 5 },
    });
    const say = (text: string, agoMs: number): string => {
      const { ts } = person("민준").post({ channel: places.general }, text, { agoMs });
      return `${places.general.id}:${ts}`;
    };
    await isReadByAll(team, say("물음 0", 30 * MINUTE));
    await isOld(team);

    slack.setOutage(true);
    await eventually(async () =>
      expect(new Set(Object.values(await accountStates(team)))).toEqual(new Set(["reconnecting"])),
    );
    const eden = slack.mention(apps.eden);
    say(`${eden} 물음 1`, 20 * MINUTE);
    for (let n = 2; n < 7; n++) say(`지난 말 ${n}`, 20 * MINUTE);
    say(`${eden} 물음 7`, 19 * MINUTE);
    say("물음 8", 0);
    say(`${eden} 물음 9`, 0);
    slack.setOutage(false);

    const said = async (): Promise<readonly string[]> =>
      (await stage.shown(team, "slack:general")).filter((line) => !line.startsWith("민준"));
    await eventually(async () => expect(await said()).toHaveLength(4), { patienceMs: 60_000 });
    await settled(team);
    expect((await said()).toSorted()).toEqual([
      "루다: 답 8",
      expect.stringMatching(/^루다: .*최근 5개만 읽었어요/u),
      "이든: 답 9",
      expect.stringMatching(/^이든: 자리를 비운 사이에 온 부름이라/u),
    ]);
    const known = await team.database.query<{ text: string }>({
      text: "select text from dure.room_messages where author_kind = 'person' order by seq",
    });
    expect(known.map(({ text }) => text.replace(/^\S+ (?=물음)/u, ""))).toEqual([
      "물음 0",
      ...["지난 말 5", "지난 말 6", "물음 7", "물음 8", "물음 9"],
    ]);
  },
);

function isReadByAll(team: TestTeam, platformId: string): Promise<unknown> {
  return eventually(async () =>
    expect(
      await team.database.query({ text: "select from dure.account_reads where platform_id = $1" }, [
        platformId,
      ]),
    ).toHaveLength(AGENTS),
  );
}

/** The places have been known for an hour: what is older than that is history. */
async function isOld({ database }: TestTeam): Promise<void> {
  await database.query({
    text: "update dure.places set created_at = created_at - interval '1 hour'",
  });
}
