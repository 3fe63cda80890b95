// @module-tag slow
import { expect, test } from "vitest";
import { eventually } from "../until.ts";
import type { ChannelAdapter } from "../../src/rooms/channel-adapter.ts";
import { discordPlatform } from "./discord-platform.ts";
import { readyTeamOn, settled, silent, teamOn, type TeamOptions } from "./helpers.ts";
import type { TestPlatform } from "./platform.ts";
import { slackPlatform } from "./slack-platform.ts";
import type { Behave, Name, TestTeam } from "./team.ts";
import { webPlatform } from "./web-platform.ts";

const ALL = "@루다 @이든 @세움 @다짐";
const loud: Behave = () => `${ALL} 이야기 ${Math.random()}`;
const LOUD: Partial<Record<Name, Behave>> = { ruda: loud, eden: loud, seum: loud, dajim: loud };

/** Accounts of a process; on the web each process has all of them. */
type Half = readonly Name[];
const STAGES: readonly (readonly [string, () => Promise<Stage>])[] = [
  ["the web", async () => ({ platform: webPlatform() })],
  ["Discord", async () => stageOf(await discordPlatform())],
  ["Slack", async () => stageOf(await slackPlatform())],
];

interface Stage {
  readonly platform: TestPlatform;
  readonly adapterOf?: (names: Half) => ChannelAdapter;
}

function stageOf(platform: TestPlatform & Required<Pick<Stage, "adapterOf">>): Stage {
  return { platform, adapterOf: (names) => platform.adapterOf(names) };
}

test.each(STAGES)(
  "no answer of an agent to an agent begins after the guard's notice, in two processes on %s",
  { timeout: 60_000 },
  async (_name, makeStage) => {
    const { platform, adapterOf } = await makeStage();
    const limits = { threadMessages: 6, exchangeMessages: 100, secondaryWaitMs: 50 };
    const half = (names: Half): TeamOptions => ({
      behave: LOUD,
      limits,
      ...(adapterOf && { adapter: () => adapterOf(names) }),
    });
    const team = await teamOn(platform, half(["ruda", "eden"]));
    await teamOn(platform, { ...half(["seum", "dajim"]), on: team });
    await platform.ready(team);

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
    const shown = await platform.shown(team, `${platform.name}:general`);
    const after = shown.slice(shown.findIndex((line) => line.includes("멈춰요")) + 1);
    // Words that were on their way; each other account sends one at a time.
    expect(after.length).toBeLessThanOrEqual(3);
    expect(shown.length).toBeLessThanOrEqual(1 + 4 + 6 + 4 + 1);
    await expectAnswered(team, platform, "@이든 지금도 답해요?");
  },
);

test("words that wait to leave are dropped, and a person's answer is not", async () => {
  const platform = webPlatform();
  const answers: Partial<Record<Name, Behave>> = {
    ruda: (heard) => (heard.text.startsWith("민준") ? "@세움 봐 주세요" : silent(heard)),
    // Not to 다짐, whose words may come before the guard stops.
    seum: (heard) => (heard.text.includes("봐 주세요") ? "느린 답" : silent(heard)),
    eden: (heard) => (heard.text.startsWith("민준") ? "사람에게 하는 답" : silent(heard)),
    dajim: loud,
  };
  const team = await readyTeamOn(platform, {
    behave: answers,
    limits: { threadMessages: 2 },
    gather: { policy: "queue" },
  });
  platform.fail("post", "rate-limited", { times: 1, retryAfterMs: 600_000, agent: "seum" });
  platform.fail("post", "rate-limited", { times: 4, retryAfterMs: 200, agent: "eden" });

  await platform.say(team, "@루다 안녕하세요");
  await eventually(async () =>
    expect((await answersToAgents(team)).map(({ text }) => text)).toEqual(["느린 답"]),
  );
  await eventually(async () => expect(await putOffIn(team)).toHaveLength(1));
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

test("words that the platform did not take before the guard stopped are not brought again", async () => {
  const platform = webPlatform();
  const team = await readyTeamOn(platform, {
    behave: {
      ruda: (heard) => (heard.text.startsWith("민준") ? "@세움 봐 주세요" : silent(heard)),
      seum: () => "느린 답",
    },
  });
  platform.fail("post", "rate-limited", { times: 1_000, retryAfterMs: 20, agent: "seum" });

  await platform.say(team, "@루다 안녕하세요");
  await eventually(async () => expect(await answersToAgents(team)).toHaveLength(1));
  await suspendGeneral(team);
  await settled(team);

  expect(await answersToAgents(team)).toMatchObject([{ text: "느린 답", delivery: "failed" }]);
  expect(await team.inbox.list({ tenant: "", status: "open" })).toMatchObject({ items: [] });
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
  await suspendGeneral(team);
  written.resolve("늦은 답");
  await settled(team);

  expect(await answersToAgents(team)).toEqual([]);
  expect(
    await team.database.query({
      text: "select outcome from dure.handlings where agent = 'seum'",
    }),
  ).toEqual([{ outcome: "silent" }]);
});

/** What a platform has put off for minutes. */
async function putOffIn({ database }: TestTeam): Promise<readonly unknown[]> {
  return database.query({
    text: `
      select key
      from dure.outbox
      where state = 'pending' and next_at > clock_timestamp() + interval '1 minute'`,
  });
}

/** As a guard does whose look at what waits came too early. */
async function suspendGeneral({ database }: TestTeam): Promise<void> {
  await database.query({
    text: `
      update dure.places
      set state = 'suspended', suspended_until = clock_timestamp() + interval '5 minutes'
      where id = 'web:general'`,
  });
}

/** A person is always answered. */
async function expectAnswered(team: TestTeam, platform: TestPlatform, text: string): Promise<void> {
  const messageId = await platform.say(team, text);
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
