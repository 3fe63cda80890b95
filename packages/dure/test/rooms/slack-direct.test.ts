import { expect, test } from "vitest";
import { eventually } from "../until.ts";
import { readyTeamOn, settled } from "./helpers.ts";
import { slackPlatform } from "./slack-platform.ts";

test(
  "what is written in a thread of a direct message on Slack is answered there",
  { timeout: 60_000 },
  async () => {
    const backgrounds: string[] = [];
    const stage = await slackPlatform();
    const { slack, apps } = stage;
    const team = await readyTeamOn(stage, {
      behave: { eden: ({ text, background }) => (backgrounds.push(background), `답 ${text}`) },
    });
    const minjun = stage.person("민준");
    const channel = slack.direct(apps.eden, minjun);
    const shown = (threadTs?: string) =>
      slack.messages({ channel, threadTs }).map(({ author, text }) => `${author}: ${text}`);

    const root = minjun.post({ channel }, "하나");
    await eventually(() => expect(shown()).toEqual(["민준: 하나", "이든: 답 민준: 하나"]));
    minjun.post({ channel, threadTs: root.ts }, "둘");

    await eventually(() => expect(shown(root.ts)).toEqual(["민준: 둘", "이든: 답 민준: 둘"]));
    await settled(team);
    expect(shown()).toHaveLength(2);
    expect(backgrounds[1]).toContain("“하나”"); // it knows in short what stands above the thread
    const places = await team.database.query<{ id: string; kind: string }>(
      {
        text: "select id, kind from dure.places where channel = $1 order by created_at",
      },
      [channel.id],
    );
    expect(places.map(({ kind }) => kind)).toEqual(["direct", "direct"]);
    expect(places.map(({ id }) => id.startsWith("direct_"))).toEqual([true, true]);
  },
);
