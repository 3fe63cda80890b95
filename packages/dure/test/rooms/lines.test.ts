import { FULL } from "../../src/kernel/test-tiers.ts";
import { describe, expect, test } from "vitest";
import { placeOfSession, sessionIdOf } from "../../src/rooms/place.ts";
import { eventually } from "../until.ts";
import { collaborate, deployTool, readyTeamOn, settled, teamOn } from "./helpers.ts";
import type { TestPlatform } from "./platform.ts";
import { PLATFORM } from "./platforms.ts";
import type { Behave, TestTeam } from "./team.ts";
import { webPlatform } from "./web-platform.ts";

/** 루다 has a line for each person. */
function withLines(platform: TestPlatform): TestPlatform["agents"] {
  return platform.agents.map((agent) => ({ ...agent, line: "person" as const }));
}

/** `서연: 물음 2` is answered with `답 2`; what 민준 says first is answered when `first` is. */
function slowFor(first: Promise<unknown>): Behave {
  return async ({ text }) => {
    if (text.includes("물음 1")) await first;
    return `답 ${text.replace(/\D/g, "")}`;
  };
}

describe.each(PLATFORM.rows)(
  "a line for each person of a channel on %s",
  { ...PLATFORM.options, timeout: 60_000 },
  (name, makePlatform) => {
    const general = `${name}:general`;

    test(
      "two people do not wait for each other, and each one's words keep their order",
      FULL,
      async () => {
        const first = Promise.withResolvers<void>();
        const platform = await makePlatform();
        const agents = withLines(platform);
        const team = await readyTeamOn(platform, {
          agents,
          behave: { ruda: slowFor(first.promise) },
        });

        await platform.say(team, "물음 1");
        await eventually(() => expect(team.calls("ruda")).toBe(1)); // before that they are one turn
        await platform.say(team, "물음 2");
        await platform.say(team, "물음 3", { person: "서연" });
        await eventually(async () =>
          expect(await platform.shown(team, general)).toContain("루다: 답 3"),
        );

        expect(await answers(team)).toEqual(["답 3"]); // 민준's second stands behind his first
        first.resolve();
        await settled(team);
        expect(await answers(team)).toEqual(["답 3", "답 1", "답 2"]);
      },
    );

    test("when the process dies, another one answers each person once", FULL, async () => {
      const never = Promise.withResolvers<void>();
      const platform = await makePlatform();
      const options = { agents: withLines(platform), limits: {} };
      const hung = await readyTeamOn(platform, {
        ...options,
        behave: { ruda: async () => never.promise.then(() => "죽은 자의 답") },
      });
      await platform.say(hung, "물음 1");
      await platform.say(hung, "물음 2", { person: "서연" });
      await eventually(() => expect(hung.calls("ruda")).toBe(2));
      const second = await teamOn(platform, {
        ...options,
        on: hung,
        behave: { ruda: slowFor(Promise.resolve()) },
      });

      await fence(second, hung);

      await eventually(
        async () => expect([...(await answers(second))].sort()).toEqual(["답 1", "답 2"]),
        { patienceMs: 20_000 },
      );
      never.resolve();
      await settled(second);
      expect(await answers(second)).toHaveLength(2);
    });
  },
);

describe("lines of an agent", { timeout: 60_000 }, () => {
  test("without a word of the card all people of a channel stand in one line", async () => {
    const first = Promise.withResolvers<void>();
    const platform = webPlatform();
    const team = await readyTeamOn(platform, { behave: { ruda: slowFor(first.promise) } });

    await platform.say(team, "물음 1");
    await platform.say(team, "물음 2", { person: "서연" });
    await eventually(() => expect(team.calls("ruda")).toBe(1));
    expect(await sessions(team)).toEqual(["room:ruda:web:general"]);
    first.resolve();

    await settled(team);
    expect(await answers(team)).toEqual(["답 1", "답 2"]);
  });

  test("an agent knows in one person's line what it was told and what it said in another's", async () => {
    const backgrounds: string[] = [];
    const platform = webPlatform();
    const team = await readyTeamOn(platform, {
      agents: withLines(platform),
      behave: {
        ruda: ({ background, text }) => {
          backgrounds.push(background);
          return text.includes("암호") ? "사과로 할게요" : "네";
        },
      },
    });

    await platform.say(team, "암호는 뭘로 해요?");
    await settled(team);
    await platform.say(team, "아까 뭐라고 했어요?", { person: "서연" });
    await settled(team);

    expect(backgrounds[0]).not.toContain("암호");
    expect(backgrounds[1]).toContain("민준 in general: “암호는 뭘로 해요?”");
    expect(backgrounds[1]).toContain("루다 in general: “사과로 할게요”");
  });

  test(
    "a thread is one line, and so is what agents say to each other in a channel",
    FULL,
    async () => {
      const platform = webPlatform();
      const team = await readyTeamOn(platform, {
        agents: platform.agents.map((agent) => ({ ...agent, line: "person" as const })),
        behave: {
          ruda: ({ text }) => (text.includes("전해") ? "@이든 봐 주세요" : "네"),
        },
      });
      const { threadId } = await collaborate(team, "ruda", {
        targetAgent: "eden",
        message: "봐 주세요",
      });
      await settled(team);

      await platform.say(team, "@이든 어때요?", { thread: threadId });
      await platform.say(team, "@이든 저도요", { thread: threadId, person: "서연" });
      await platform.say(team, "이든한테 전해 주세요");
      await settled(team);

      expect((await sessions(team)).filter((id) => id.startsWith("room:eden:"))).toEqual(
        [`room:eden:${threadId}`, "room:eden:web:general"].toSorted(),
      );
    },
  );

  test(
    "a yes that a person gives later is answered in the channel, from that person's line",
    FULL,
    async () => {
      const { tool, done } = deployTool();
      const platform = webPlatform();
      const team = await readyTeamOn(platform, {
        agents: withLines(platform),
        tools: { deploy: tool },
        behave: {
          ruda: ({ results }) =>
            results.length > 0
              ? "내보냈어요"
              : { toolCalls: [{ name: "deploy", args: { version: "1" } }] },
        },
      });
      await platform.say(team, "내보내 주세요");
      await settled(team);
      const { items } = await team.inbox.list({ tenant: "", status: "open" });

      await team.inbox.answer(items[0]!.id, { value: "approve" }, { tenant: "", name: "boss" });

      await eventually(async () => expect(await answers(team)).toContain("내보냈어요"));
      expect(done).toEqual(["1"]);
      expect(await sessions(team)).toEqual([sessionIdOf("ruda", "web:general", "민준")]);
    },
  );

  test("the place of a session is known whether or not a person's line follows it", () => {
    for (const place of ["web:general", "web:general@acme", "web:g@sha256:0123456789abcdef"]) {
      const known = { agent: "ruda", place };
      expect(placeOfSession(sessionIdOf("ruda", place))).toEqual(known);
      expect(placeOfSession(sessionIdOf("ruda", place, "민준 @@ 김"))).toEqual(known);
    }
  });
});

/** What 루다 has said in channels, notices left out. */
async function answers(team: TestTeam): Promise<readonly string[]> {
  const rows = await team.database.query<{ text: string }>({
    text: `
      select m.text
      from dure.room_messages m
      join dure.places p on p.id = m.place
      where m.author = 'ruda' and m.mark is null and p.kind = 'channel'
      order by m.seq`,
  });
  return rows.map(({ text }) => text);
}

async function sessions(team: TestTeam): Promise<readonly string[]> {
  const rows = await team.database.query<{ session: string }>({
    text: "select distinct session from dure.handlings order by session",
  });
  return rows.map(({ session }) => session);
}

/** A process that the others think dead: from now on it may write nothing. */
async function fence(by: TestTeam, dead: TestTeam): Promise<void> {
  await by.database.query(
    {
      text: `
        update dure.processes
        set epoch = epoch + 1, ended_at = clock_timestamp(), ended_because = 'silent'
        where id = $1`,
    },
    [dead.processId],
  );
}
