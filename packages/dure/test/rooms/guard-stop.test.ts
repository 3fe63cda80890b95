import { expect, test } from "vitest";
import { eventually } from "../until.ts";
import { readyTeamOn, settled, silent } from "./helpers.ts";
import type { Behave, Name, TestTeam } from "./team.ts";
import { webPlatform } from "./web-platform.ts";

const ALL = "@루다 @이든 @세움 @다짐";
const loud: Behave = () => `${ALL} 이야기 ${Math.random()}`;
const LOUD: Partial<Record<Name, Behave>> = { ruda: loud, eden: loud, seum: loud, dajim: loud };

test(
  "no answer of an agent to an agent begins after the guard's notice, in two processes",
  { timeout: 60_000 },
  async () => {
    const platform = webPlatform();
    const limits = { threadMessages: 6, exchangeMessages: 100, secondaryWaitMs: 50 };
    const team = await readyTeamOn(platform, { behave: LOUD, limits });
    await readyTeamOn(platform, { on: team, behave: LOUD, limits });

    await platform.say(team, `${ALL} 다들 한마디씩`);
    await eventually(async () => expect(await noticesIn(team)).toHaveLength(1), {
      patienceMs: 20_000,
    });
    await settled(team);

    const [notice] = await noticesIn(team);
    const answers = await answersToAgents(team);
    expect(answers.filter(({ seq }) => seq > notice!.seq)).toEqual([]);
    expect(answers.filter(({ delivery }) => delivery === "sent").length).toBeLessThanOrEqual(6 + 4);
    expect(await noticesIn(team)).toHaveLength(1);
    await expectAnswered(team, "@이든 지금도 답해요?");
  },
);

test("words that wait to leave are dropped, and a person's answer is not", async () => {
  const platform = webPlatform();
  const answers: Partial<Record<Name, Behave>> = {
    ruda: (heard) => (heard.text.startsWith("민준") ? "@세움 봐 주세요" : silent(heard)),
    seum: () => "느린 답",
    eden: () => "사람에게 하는 답",
    dajim: loud,
  };
  const team = await readyTeamOn(platform, { behave: answers, limits: { threadMessages: 2 } });
  platform.fail("post", "rate-limited", { times: 1_000, retryAfterMs: 200, agent: "seum" });
  platform.fail("post", "rate-limited", { times: 4, retryAfterMs: 200, agent: "eden" });

  await platform.say(team, "@루다 안녕하세요");
  await eventually(async () =>
    expect((await answersToAgents(team)).map(({ text }) => text)).toEqual(["느린 답"]),
  );
  await platform.say(team, "@이든 안녕하세요");
  await platform.say(team, "@다짐 하나", { channel: "general" });
  await platform.say(team, "@다짐 둘", { channel: "general" });
  await eventually(async () => expect(await noticesIn(team)).toHaveLength(1));
  await settled(team);

  expect(await answersToAgents(team)).toMatchObject([{ text: "느린 답", delivery: "failed" }]);
  const shown = await platform.shown(team, "web:general");
  expect(shown).toContain("이든: 사람에게 하는 답");
  expect(shown).not.toContain("세움: 느린 답");
});

test("an answer that is being written when the guard stops its place ends silent", async () => {
  const platform = webPlatform();
  const written = Promise.withResolvers<string>();
  const begun = Promise.withResolvers<void>();
  const team = await readyTeamOn(platform, {
    behave: {
      ruda: (heard) => (heard.text.startsWith("민준") ? "@세움 봐 주세요" : silent(heard)),
      seum: (heard) => (begun.resolve(), heard.results.length > 0 ? "." : written.promise),
    },
  });

  await platform.say(team, "@루다 안녕하세요");
  await begun.promise;
  await team.database.query({
    text: `
      update dure.places
      set state = 'suspended', suspended_until = clock_timestamp() + interval '5 minutes'
      where id = 'web:general'`,
  });
  written.resolve("늦은 답");
  await settled(team);

  expect(await answersToAgents(team)).toEqual([]);
  expect(
    await team.database.query({
      text: "select outcome from dure.handlings where agent = 'seum'",
    }),
  ).toEqual([{ outcome: "silent" }]);
});

/** A person is always answered. */
async function expectAnswered(team: TestTeam, text: string): Promise<void> {
  const { messageId } = await team.rooms.post(
    { tenant: "", person: "민준" },
    { place: "web:general", text },
  );
  await eventually(async () => {
    const { roles } = await team.rooms.message(messageId, { tenant: "", person: "민준" });
    expect(roles["eden"]?.answer).toBeDefined();
  });
}

async function noticesIn({ database }: TestTeam): Promise<readonly { seq: number }[]> {
  return database.query({
    text: `
      select seq
      from dure.room_messages
      where mark = 'notice' and text like '%멈춰요%'
      order by seq`,
  });
}

/** What agents have answered to agents. */
async function answersToAgents({
  database,
}: TestTeam): Promise<readonly { seq: number; delivery: string; text: string }[]> {
  return database.query({
    text: `
      select said.seq, said.delivery, said.text
      from dure.room_messages said
      join dure.handlings h on h.turn = said.turn
      join dure.room_messages asked on asked.id = h.message
      where said.mark is null and asked.author_kind = 'agent'
      order by said.seq`,
  });
}
