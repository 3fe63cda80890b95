import { expect, test } from "vitest";
import { numbersFrom } from "../../src/channels/test-odd-payloads.ts";
import { FULL } from "../../src/kernel/test-tiers.ts";
import { eventually } from "../until.ts";
import {
  discordOutside,
  slackOutside,
  type Outside,
  type Shown,
} from "./conversation-platforms.ts";
import {
  answerersOf,
  conversationOf,
  oneOf,
  secretOf,
  wordsOf,
  type Random,
  type Step,
  type Where,
} from "./conversations.ts";
import { ONE_BY_ONE, settled, silent, teamOn } from "./helpers.ts";
import { NAMES, type Behave, type Name, type TestTeam } from "./team.ts";
import { WebAdapter } from "../../src/channels/web/web-adapter.ts";

/**
 * Conversations by seed on web rooms, HTTP and Discord or Slack at once, with two processes, while the
 * platform cuts, repeats and refuses. What people can see must be whole. `npm run test:long` holds
 * 1,000 on each, from DURE_TEST_SEED on.
 */
const isLong = process.env["DURE_TEST_LONG"] === "1";
const FIRST_SEED = Number(process.env["DURE_TEST_SEED"] ?? "1");
const PER_SEED = isLong ? 20 : 5;
const ROWS = Array.from({ length: isLong ? 50 : 4 }, (_, index) => FIRST_SEED + index);
const SEEDS = ROWS.flatMap((seed) => [["Discord", seed] as const, ["Slack", seed] as const]);
/** Conversations that go on beside each other: new threads of a guild are made one after another. */
const AT_ONCE = 5;
const AGENTS = Object.keys(NAMES) as Name[];
/** What stops agents' talk is of other tests; here nothing that is asked may be refused. */
const LIMITS = { pairCalls: 10_000, threadsPerMinute: 10_000 };

test.each(SEEDS)(
  `of ${PER_SEED} conversations on %s (seed %i) nothing is lost, told twice, misplaced or overheard`,
  { ...FULL, timeout: 300_000 },
  async (platform, seed) => {
    const random = numbersFrom(seed);
    const outside =
      platform === "Slack" ? await slackOutside() : await discordOutside(losesSessions(seed));
    const world = await openWorld(outside);
    const steps = Array.from({ length: PER_SEED }, (_, index) =>
      conversationOf(`${seed}.${index}`, random, placesOf(platform, seed)),
    );

    for (let from = 0; from < steps.length; from += AT_ONCE) {
      const group = steps.slice(from, from + AT_ONCE);
      await Promise.all(group.map((conversation) => hold(world, conversation, random)));
    }
    await expectHeard(world, steps.flat());
    await expectEnded(world);

    const said = await shownIn(world);
    for (const step of steps.flat()) expectAnswered(world, said, step);
    await expectHandedOver(world, said, steps.flat());
    await expectPrivate(world, said, steps.flat());
  },
);

/**
 * A bot of Discord that has to begin anew has missed what was written to it alone in a direct room that it did
 * not know: so in these seeds there are none.
 */
function placesOf(platform: string, seed: number): readonly Where[] {
  const all: readonly Where[] = ["web channel", "channel", "web direct", "http"];
  return platform === "Discord" && losesSessions(seed) ? all : [...all, "direct"];
}

function losesSessions(seed: number): boolean {
  return seed % 2 === 1;
}

interface World {
  readonly outside: Outside;
  readonly first: TestTeam;
  readonly second: TestTeam;
  /** What was answered over HTTP, by token. */
  readonly overHttp: Map<string, string[]>;
  /** Agents' requests of models: what was asked last, and all that was told with it. */
  readonly heard: { agent: Name; token: string | undefined; all: string }[];
  /** What `collaborate` refused. */
  readonly refused: unknown[];
}

/** 루다 and 세움 are connected by the first process, the others by the second; web rooms by both. */
async function openWorld(outside: Outside): Promise<World> {
  const { stage } = outside;
  const seen: Pick<World, "heard" | "refused"> = { heard: [], refused: [] };
  const behave = Object.fromEntries(AGENTS.map((agent) => [agent, aMind(agent, seen)]));
  const first = await teamOn(stage, {
    behave,
    limits: LIMITS,
    gather: ONE_BY_ONE,
    defaultChannel: "general",
    adapter: (database) => [new WebAdapter({ database }), outside.adapterOf(["ruda", "seum"])],
  });
  const second = await teamOn(stage, {
    behave,
    limits: LIMITS,
    gather: ONE_BY_ONE,
    defaultChannel: "general",
    on: first,
    adapter: (database) => [new WebAdapter({ database }), outside.adapterOf(["eden", "dajim"])],
  });
  await stage.ready(second);
  return { outside, first, second, overHttp: new Map(), ...seen };
}

/** Answers what it is asked, hands over what it is told to, and keeps quiet else. */
function aMind(agent: Name, { heard, refused }: Pick<World, "heard" | "refused">): Behave {
  return (told) => {
    const token = /#(\S+)$/u.exec(told.text)?.[1];
    heard.push({ agent, token, all: JSON.stringify(told.request.messages) });
    const [, target] = /맡겨 (\w+)/u.exec(told.text) ?? [];
    if (target !== undefined) {
      // Trouble of the database is told as a text, and the call made again.
      const result = told.results.find((one) => typeof one !== "string");
      if (result !== undefined) {
        if (!(result as { ok: boolean }).ok) refused.push({ token, ...(result as object) });
        return `맡겼어요 #${token}`;
      }
      const args = { targetAgent: target, message: `해 줘 #${token}`, topic: token };
      return { toolCalls: [{ name: "collaborate", args }] };
    }
    if (told.text.includes("해 줘")) return `했어요 #${token}`;
    if (/어떻게 생각해|우리만 알자/u.test(told.text)) return `답 #${token}`;
    return silent(told);
  };
}

function makeTrouble({ troubles }: Outside, random: Random): void {
  if (random() > 0.15) return;
  oneOf(troubles, random)(random);
}

async function say(world: World, step: Step, team: TestTeam): Promise<void> {
  const { outside, overHttp } = world;
  const text = wordsOf(step, (agent) => NAMES[agent]);
  const who = { tenant: "", person: step.person };
  switch (step.where) {
    case "web channel":
      return void (await team.rooms.post(who, { place: `web:${step.channel}`, text }));
    case "web direct": {
      const { id } = await team.rooms.direct(who, step.alone);
      return void (await team.rooms.post(who, { place: id, text }));
    }
    case "channel":
      return outside.sayInChannel(step, text);
    case "direct":
      return outside.sayAlone(step, text);
    case "http": {
      const session = `${step.token.split(".", 2).join("-")}-${step.alone}`;
      const turn = { session, service: step.alone, message: text };
      const done = await team.engine.turn(turn, {}).done;
      const answers = overHttp.get(step.token) ?? [];
      return void overHttp.set(step.token, [...answers, done.message ?? ""]);
    }
    default:
      return step.where satisfies never;
  }
}

async function hold(world: World, conversation: readonly Step[], random: Random): Promise<void> {
  for (const step of conversation) {
    makeTrouble(world.outside, random);
    await say(world, step, random() < 0.5 ? world.first : world.second);
  }
}

/**
 * Those who must answer have heard it. What a bot has missed it reads later, and until then nothing of
 * it waits.
 */
async function expectHeard({ first }: World, steps: readonly Step[]): Promise<void> {
  const inRooms = steps.filter(({ where }) => where !== "http");
  await eventually(
    async () => {
      const recorded = await first.database.query<{ text: string; heard: string[] }>({
        text: `
          select text, array(select jsonb_object_keys(roles)) as heard
          from dure.room_messages
          where author_kind = 'person'`,
      });
      const unheard = inRooms.flatMap((step) => {
        const heard = recorded.find(({ text }) => text.endsWith(`#${step.token}`))?.heard ?? [];
        return answerersOf(step)
          .filter((agent) => !heard.includes(agent))
          .map((agent) => [step.token, agent]);
      });
      expect(unheard).toEqual([]);
    },
    { patienceMs: 60_000, everyMs: 100 },
  );
}

/** Nothing waits, runs or leaves any more, and every request has been answered. */
async function expectEnded({ first, outside }: World): Promise<void> {
  await eventually(
    async () => {
      expect(outside.untold()).toBe(0);
      const open = await first.database.query<{ what: string }>({
        text: `
          select 'request ' || state as what from dure.requests where state <> 'answered'
          union all
          select 'turn ' || id from dure.turns where status <> 'done'
          union all
          select 'message ' || delivery || ': ' || text
          from dure.room_messages
          where delivery <> 'sent'`,
      });
      expect(open.map(({ what }) => what)).toEqual([]);
    },
    { patienceMs: 60_000, everyMs: 100 },
  );
  await settled(first);
}

/** All that is to be seen on the platforms, read as their people do. */
async function shownIn({ outside, first }: World): Promise<readonly Shown[]> {
  const direct = await first.database.query<{ channel: string }>(
    { text: "select channel from dure.places where adapter = $1 and kind = 'direct'" },
    [outside.stage.name],
  );
  const onWeb = await first.database.query<Shown>({
    text: `
      select 'web' as platform, m.place, p.parent as channel, m.author_name as author, m.text
      from dure.room_messages m
      join dure.places p on p.id = m.place
      where p.adapter = 'web'
        and (m.author_kind <> 'agent' or exists (
          select 1 from dure.room_parts part
          join dure.web_posts w on w.id = part.platform_id
          where part.message = m.id))`,
  });
  return [...outside.shown(direct.map(({ channel }) => channel)), ...onWeb];
}

/** Each agent that must answer has answered once, where it was asked; no other one has. */
function expectAnswered(world: World, said: readonly Shown[], step: Step): void {
  const lines = said.filter(({ text }) => text.endsWith(`#${step.token}`));
  const answers = lines.filter(({ text }) => /^(?:답|맡겼어요) /u.test(text));
  const expected = step.deed === "hush" ? [] : answerersOf(step);
  if (step.where === "http") {
    const answer = step.deed === "hand over" ? "맡겼어요" : "답";
    const told = `${answer} #${step.token}`;
    expect([step.token, world.overHttp.get(step.token)]).toEqual([step.token, [told]]);
    return expect(answers).toEqual([]);
  }
  const asked = lines.filter(({ author }) => author === step.person);
  expect([step.token, asked.length]).toEqual([step.token, 1]);
  expect([step.token, ...answers.map(({ author }) => author).toSorted()]).toEqual([
    step.token,
    ...expected.map((agent) => NAMES[agent]).toSorted(),
  ]);
  expect(new Set([asked[0]!, ...answers].map(({ place }) => place)).size).toBe(1);
}

/** Each is asked once and answered once, in a thread of the right channel, and told of at home. */
async function expectHandedOver(
  world: World,
  said: readonly Shown[],
  steps: readonly Step[],
): Promise<void> {
  expect(world.refused).toEqual([]);
  const handed = steps.filter(({ deed }) => deed === "hand over");
  for (const step of handed) {
    const lines = said.filter(({ text }) => text.endsWith(`#${step.token}`));
    const asked = lines.filter(({ text }) => text.includes("해 줘"));
    const done = lines.filter(({ text }) => text.startsWith("했어요"));
    expect([step.token, asked.length, done.length]).toEqual([step.token, 1, 1]);
    expect(asked[0]!.author).toBe(NAMES[answerersOf(step)[0]!]);
    expect(done[0]!.author).toBe(NAMES[step.target]);
    expect(done[0]!.place).toBe(asked[0]!.place);
    const channel = asked[0]!.channel?.startsWith("direct_") ? "web direct" : asked[0]!.channel;
    expect([step.token, channel]).toEqual([step.token, channelFor(world, step)]);
  }
  const lines = said.filter(({ text }) => / 님이 답했어요 → /u.test(text));
  expect(lines).toHaveLength(handed.filter(({ where }) => where !== "http").length);
  const [row] = await world.first.database.query<{ answered: number }>({
    text: "select count(*)::integer as answered from dure.requests where state = 'answered'",
  });
  expect(row!.answered).toBe(handed.length);
}

/** The asker's own place; the platform's configured channel where that takes no threads. */
function channelFor({ outside }: World, { where }: Step): string {
  if (where === "web direct") return where;
  return where === "channel" ? outside.general : "web:general";
}

/** What is said to one agent alone is seen, recorded and heard nowhere else. */
async function expectPrivate(
  { first, heard }: World,
  said: readonly Shown[],
  steps: readonly Step[],
): Promise<void> {
  const records = await first.database.query<{ excerpt: string }>({
    text: "select excerpt from dure.observations",
  });
  const byToken = new Map(steps.map((step) => [step.token, step]));
  for (const step of steps.filter(({ deed }) => deed === "secret")) {
    const secret = secretOf(step);
    const seen = said.filter(({ text }) => text.includes(secret));
    expect(seen.map(({ author }) => author)).toEqual(step.where === "http" ? [] : [step.person]);
    expect(records.filter(({ excerpt }) => excerpt.includes(secret))).toEqual([]);
    const hearers = heard.filter(({ all }) => all.includes(secret));
    expect(hearers.length).toBeGreaterThan(0);
    for (const { agent, token } of hearers) {
      const asked = byToken.get(token ?? "");
      expect([agent, asked?.person, asked?.where]).toEqual([step.alone, step.person, step.where]);
    }
  }
}
