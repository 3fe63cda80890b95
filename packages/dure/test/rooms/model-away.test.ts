// @module-tag slow
import { describe, expect, test } from "vitest";
import { ONE_TRY, REFUSED } from "../outages/stage.ts";
import { eventually } from "../until.ts";
import { discordPlatform } from "./discord-platform.ts";
import { ANONYMOUS, readyTeamOn, settled, teamOn, ONE_BY_ONE } from "./helpers.ts";
import type { Behave, TestTeam } from "./team.ts";
import { webPlatform } from "./web-platform.ts";

const SOON = {
  attemptRules: () => ONE_TRY,
  patienceMs: () => 60_000,
  outageRetry: { firstMs: 30, maxMs: 100 },
};
/** No call is made again by itself while a test looks. */
const LATER = { ...SOON, outageRetry: { firstMs: 300_000, maxMs: 300_000 } };
const WAITING = "루다: 모델에 연결되지 않아요. 다시 연결되면 답할게요.";
const FAILED = "지금은 답하지 못했어요";

/** A provider that is away until the test says that it is back. */
function awayProvider(): { behave: Behave; comesBack: () => void } {
  let isAway = true;
  return {
    behave: ({ text }) => (isAway ? REFUSED : `${text.split(": ").at(-1)}에 답했어요`),
    comesBack: () => void (isAway = false),
  };
}

async function answersIn(team: TestTeam, place: string): Promise<readonly string[]> {
  const said = await team.rooms.reader.messages(place, { limit: 100 });
  return said.flatMap(({ author, mark, text }) => (author === "ruda" && !mark ? [text] : []));
}

const ASKED = Array.from({ length: 12 }, (_none, index) => `물음 ${index + 1}`);

describe("a room whose agent's model is away", { timeout: 60_000 }, () => {
  test("answers each of twelve messages once when the model is back", async () => {
    const provider = awayProvider();
    const platform = webPlatform();
    const team = await readyTeamOn(platform, {
      gather: ONE_BY_ONE,
      behave: { ruda: provider.behave },
      engine: SOON,
    });

    for (const text of ASKED) await platform.say(team, text);
    await eventually(async () =>
      expect(await platform.shown(team, "web:general")).toContain(WAITING),
    );
    provider.comesBack();
    await settled(team);

    expect(await answersIn(team, "web:general")).toEqual(ASKED.map((text) => `${text}에 답했어요`));
    const shown = await platform.shown(team, "web:general");
    expect(shown).not.toContain(WAITING);
    expect(shown.filter((line) => line.includes(FAILED))).toEqual([]);
    expect(shown.filter((line) => line.includes("다시 연결됐어요"))).toHaveLength(1);
  });

  test("goes on in the next process, with one notice and one answer", async () => {
    const provider = awayProvider();
    const platform = webPlatform();
    const options = { behave: { ruda: provider.behave }, engine: SOON };
    const first = await readyTeamOn(platform, options);
    await platform.say(first, "물음");
    await eventually(async () =>
      expect(await platform.shown(first, "web:general")).toContain(WAITING),
    );

    await first.stop();
    const second = await teamOn(platform, { ...options, on: { url: first.url } });
    provider.comesBack();
    await settled(second);

    expect(await answersIn(second, "web:general")).toEqual(["물음에 답했어요"]);
    expect(await platform.shown(second, "web:general")).toEqual([
      "민준: 물음",
      "루다: 모델에 다시 연결됐어요.",
      "루다: 물음에 답했어요",
    ]);
  });

  test("says so on Discord at once, and its button makes the call again", async () => {
    const provider = awayProvider();
    const stage = await discordPlatform();
    const team = await readyTeamOn(stage, { behave: { ruda: provider.behave }, engine: LATER });
    const last = () => stage.discord.messages(stage.places.general).at(-1);

    await stage.say(team, "물음");
    await eventually(async () =>
      expect((await stage.shown(team, "discord:general")).at(-1)).toBe(WAITING),
    );
    expect(last()?.buttons).toMatchObject([{ label: "멈추기" }, { label: "지금 다시 시도" }]);
    provider.comesBack();
    const told = await stage.person("민준").press(last()!.buttons[1]!);

    expect(told).toEqual({ text: "지금 다시 연결해 볼게요.", ephemeral: true });
    await eventually(async () =>
      expect(await stage.shown(team, "discord:general")).toEqual([
        "민준: 물음",
        "루다: 물음에 답했어요",
      ]),
    );
  });

  test("stops waiting on Discord when a person presses the stop button", async () => {
    const provider = awayProvider();
    const stage = await discordPlatform();
    const team = await readyTeamOn(stage, { behave: { ruda: provider.behave }, engine: LATER });
    await stage.say(team, "물음");
    await eventually(async () =>
      expect((await stage.shown(team, "discord:general")).at(-1)).toBe(WAITING),
    );

    const notice = stage.discord.messages(stage.places.general).at(-1)!;
    await stage.person("민준").press(notice.buttons[0]!);

    await settled(team);
    expect(await stage.shown(team, "discord:general")).toEqual([
      "민준: 물음",
      "루다: 민준 님이 여기서 하던 일을 멈췄어요: 답 1건.",
    ]);
  });

  test("says in the end that it could not answer, when its patience is over", async () => {
    const provider = awayProvider();
    const platform = webPlatform();
    const engine = { ...SOON, patienceMs: () => 200 };
    const team = await readyTeamOn(platform, { behave: { ruda: provider.behave }, engine });

    await platform.say(team, "물음");
    await settled(team);

    const shown = await platform.shown(team, "web:general");
    expect(shown).toEqual([
      "민준: 물음",
      "루다: 모델에 다시 연결되지 않아 더 기다리지 않아요.",
      expect.stringContaining(FAILED),
    ]);
    expect(await answersIn(team, "web:general")).toEqual([]);
  });

  test("says that it waits no more, when a person stops it", async () => {
    const provider = awayProvider();
    const platform = webPlatform();
    const team = await readyTeamOn(platform, { behave: { ruda: provider.behave }, engine: LATER });
    await platform.say(team, "물음");
    await eventually(async () =>
      expect((await platform.shown(team, "web:general")).at(-1)).toBe(WAITING),
    );

    await team.rooms.stopIn("web:general", ANONYMOUS);
    await settled(team);

    expect(await platform.shown(team, "web:general")).toEqual([
      "민준: 물음",
      "루다: 더 기다리지 않고 멈췄어요.",
      "루다: 여기서 하던 일을 멈췄어요: 답 1건.",
    ]);
  });

  test("waits again under the same notice, when its model goes away once more", async () => {
    const provider = awayProvider();
    const platform = webPlatform();
    const engine = { ...SOON, patienceMs: () => 200 };
    const team = await readyTeamOn(platform, { behave: { ruda: provider.behave }, engine });
    await platform.say(team, "물음");
    await settled(team);
    const [first] = await platform.shown(team, "web:general");
    const said = await team.rooms.reader.messages("web:general", {});
    const button = said.flatMap(({ buttons }) => buttons ?? []).at(0)!.value;

    await team.rooms.retryIn("web:general", ANONYMOUS, button.slice("retry:".length));
    await settled(team);

    const shown = await platform.shown(team, "web:general");
    expect(shown[0]).toBe(first);
    expect(shown.filter((line) => line.includes("더 기다리지 않아요"))).toHaveLength(1);
    expect(shown).not.toContain(WAITING);
    expect(shown.at(-1)).toContain(FAILED);
  });
});
