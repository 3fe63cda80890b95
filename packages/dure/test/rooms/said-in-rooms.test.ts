import type { FakePlace, GatewayPacket } from "@dure/testing";
import { expect, onTestFinished, test } from "vitest";
import { sampled } from "../../src/kernel/test-tiers.ts";
import { eventually } from "../until.ts";
import { discordPlatform, type DiscordStage } from "./discord-platform.ts";
import { collaborate, readyTeamOn, settled, silent, ONE_BY_ONE } from "./helpers.ts";
import { SAID, type Said } from "./said-in-rooms.ts";
import { NAMES, type Behave, type Name, type TestTeam } from "./team.ts";
import type { TestPlatform } from "./platform.ts";
import { webPlatform } from "./web-platform.ts";

/** A platform as a way of writing: `mentions` says what becomes of `@이든`. */
interface Shape {
  readonly platform: TestPlatform;
  /** 민준 or a bot says it. Gives dure's id; undefined where nothing of it is kept. */
  say(team: TestTeam, said: Said, thread: string): Promise<string | undefined>;
  edit?: ((team: TestTeam, message: string, text: string) => Promise<void>) | undefined;
  /** Whether bots of others write here. */
  readonly hasForeignBots: boolean;
}

interface Outcome {
  readonly said: Said;
  /** Who was asked for an answer, each time it was, in the order of their ranks. */
  readonly asked: readonly Name[];
}

const NAME_IDS: ReadonlyMap<string, Name> = new Map(
  Object.entries(NAMES).map(([id, name]) => [name, id as Name]),
);
const NO_TALK_LIMITS = { threadMessages: 10_000, exchangeMessages: 10_000 };

const SHAPES = sampled<readonly [string, () => Promise<Shape>]>(
  [
    ["web", async () => webShape()],
    ["Discord, names typed", () => discordShape({ picks: false })],
    ["Discord, names picked from its list", () => discordShape({ picks: true })],
  ],
  0,
);

test("the set has at least 200 messages, with each agent on either side, none twice in a place", () => {
  const keys = SAID.map(({ where, by, text, replyTo }) => [where, by, text, replyTo].join("|"));

  expect(SAID.length).toBeGreaterThanOrEqual(200);
  expect(new Set(keys).size).toBe(keys.length);
  for (const name of Object.keys(NAMES) as Name[]) {
    expect(SAID.filter(({ answers }) => answers.includes(name)).length).toBeGreaterThan(10);
    expect(SAID.filter(({ by }) => by === name).length).toBeGreaterThan(3);
  }
});

test.each(SHAPES.rows)(
  "who answers what people and agents say, on %s: no one beside those who must, at most 1 % wrong",
  { ...SHAPES.options, timeout: 300_000 },
  async (name, makeShape) => {
    const shape = await makeShape();
    const outcomes = await outcomesOn(shape);
    const wrong = outcomes.filter(({ said, asked }) => asked.join() !== said.answers.join());
    const double = outcomes.filter(
      ({ said, asked }) => asked.filter((agent) => !said.answers.includes(agent)).length > 0,
    );
    const twice = outcomes.filter(({ asked }) => new Set(asked).size < asked.length);

    console.log(tableOf(name, outcomes));
    expect(wrong.map(({ said, asked }) => `${said.text} → ${asked.join(", ")}`)).toEqual([]);
    expect(double).toEqual([]);
    expect(twice).toEqual([]);
  },
);

async function outcomesOn(shape: Shape): Promise<readonly Outcome[]> {
  const { team, thread } = await aRoomfulOn(shape);
  const lines = SAID.filter(({ by }) => by !== "foreign" || shape.hasForeignBots);
  const ids = new Map<Said, string | undefined>();
  for (const said of lines) ids.set(said, await sayIn(shape, team, { said, thread }));
  await settled(team);

  for (const said of lines.filter(({ editedTo }) => editedTo !== undefined)) {
    await shape.edit?.(team, ids.get(said)!, said.editedTo!);
  }
  await settled(team);
  const asked = await askedFor(team);
  return lines.map((said) => ({ said, asked: asked.get(ids.get(said) ?? "") ?? [] }));
}

/** Everyone has said something in the channel, and 루다 and 이든 have a thread. */
async function aRoomfulOn(shape: Shape): Promise<{ team: TestTeam; thread: string }> {
  const speak: Behave = (heard) => {
    const line = /대사 (\d+)$/u.exec(heard.text)?.[1];
    return line === undefined || heard.results.length > 0
      ? silent(heard)
      : SAID[Number(line)]!.text;
  };
  const { platform } = shape;
  const team = await readyTeamOn(platform, {
    gather: ONE_BY_ONE,
    behave: { ruda: speak, eden: speak, seum: speak, dajim: speak },
    limits: NO_TALK_LIMITS,
  });
  const { threadId } = await collaborate(team, "ruda", { targetAgent: "eden", message: "리뷰" });
  await settled(team);
  return { team, thread: threadId };
}

/** dure's id of the message; an agent's is asked for by 민준. */
async function sayIn(
  shape: Shape,
  team: TestTeam,
  { said, thread }: { said: Said; thread: string },
): Promise<string | undefined> {
  if (said.by === "person" || said.by === "foreign") {
    const { replyTo } = said;
    if (replyTo !== undefined && replyTo !== "person") await haveSpoken(shape, team, replyTo);
    return shape.say(team, said, thread);
  }
  const place = said.where === "thread" ? thread : undefined;
  return spokenBy(shape, team, { agent: said.by, line: SAID.indexOf(said), thread: place });
}

/** The agent's words are the newest in the channel. */
async function haveSpoken(shape: Shape, team: TestTeam, agent: Name): Promise<void> {
  await settled(team);
  const line = SAID.findIndex(({ by, answers }) => by === agent && answers.length === 0);
  await spokenBy(shape, team, { agent, line, thread: undefined });
}

/** An agent says a line of the set when it is told to. Gives dure's id, when it is decided. */
async function spokenBy(
  { platform }: Shape,
  team: TestTeam,
  { agent, line, thread }: { agent: Name; line: number; thread: string | undefined },
): Promise<string> {
  const prompt = await platform.say(
    team,
    `@${NAMES[agent]} 대사 ${line}`,
    thread === undefined ? {} : { thread },
  );
  return eventually(async () => {
    const [row] = await team.database.query<{ answer: string; delivery: string }>(
      {
        text: `
          select h.answer, m.delivery
          from dure.handlings h
          join dure.room_messages m on m.id = h.answer
          where h.message = $1 and h.agent = $2`,
      },
      [prompt, agent],
    );
    expect(row?.delivery).toBe("sent");
    return row!.answer;
  });
}

/** Of each message: the agents that were asked for an answer, PRIMARY first. */
async function askedFor(team: TestTeam): Promise<ReadonlyMap<string, readonly Name[]>> {
  const rows = await team.database.query<{ message: string; agent: Name }>({
    text: `
      select h.message, h.agent
      from dure.handlings h
      join dure.room_messages m on m.id = h.message
      order by h.message,
        array_position(m.mentions, h.agent),
        array_position(array['ruda', 'eden', 'seum', 'dajim'], h.agent)`,
  });
  const byMessage = [...Map.groupBy(rows, ({ message }) => message)];
  return new Map(byMessage.map(([message, asked]) => [message, asked.map(({ agent }) => agent)]));
}

function tableOf(name: string, outcomes: readonly Outcome[]): string {
  const groups = Map.groupBy(outcomes, ({ said }) => `${said.where}, ${said.by}`);
  const rows = [...groups].map(([group, members]) => {
    const right = members.filter(({ said, asked }) => asked.join() === said.answers.join());
    return `  ${group.padEnd(18)} ${String(members.length).padStart(4)} ${String(right.length).padStart(6)}`;
  });
  return [`who answers, on ${name}`, "  where, by          said  right", ...rows].join("\n");
}

function webShape(): Shape {
  const platform = webPlatform();
  const minjun = { tenant: "", person: "민준" };
  return {
    platform,
    hasForeignBots: false,
    say: async (team, said, thread) => {
      const direct = said.where === "direct" ? await team.rooms.direct(minjun, "eden") : undefined;
      const place = direct?.id ?? (said.where === "thread" ? thread : "web:general");
      const replyTo = await repliedIn(team, place, said.replyTo);
      const text = quoted(said).replaceAll(/<@&(\S+?)>/gu, "@$1");
      const reply = replyTo === undefined ? {} : { replyTo };
      return (await team.rooms.post(minjun, { place, text, ...reply })).messageId;
    },
  };
}

/** What was forwarded, where people can only quote it. */
function quoted({ text, forwarded }: Said): string {
  if (forwarded === undefined) return text;
  return [text, forwarded.replaceAll(/^/gmu, "> ")].filter(Boolean).join("\n");
}

async function repliedIn(
  team: TestTeam,
  place: string,
  author: Said["replyTo"],
): Promise<string | undefined> {
  if (author === undefined) return undefined;
  const messages = await team.rooms.reader.messages(place, { limit: 100 });
  const isBy = (kind: string, by: string): boolean =>
    author === "person" ? kind === "person" : by === author;
  return messages.findLast((message) => isBy(message.authorKind, message.author))!.id;
}

/** `picks`: people choose names of agents from the platform's list, which inserts its own mention. */
async function discordShape({ picks }: { picks: boolean }): Promise<Shape> {
  const stage = await discordPlatform();
  const bot = stage.discord.addBot({ name: "CI", token: "token-ci" });
  const forwards = new Map<string, string>();
  stage.discord.gateway.alter((packet) => withForward(packet, forwards));
  onTestFinished(() => stage.discord.gateway.alter());
  return {
    platform: stage,
    hasForeignBots: true,
    say: async (team, said, thread) => {
      const minjun = stage.person("민준");
      const at = await placeOn(stage, team, { said, thread });
      const text = writtenOn(stage, said, picks);
      if (said.by === "foreign") return postAs(stage, team, { token: bot.token, at: at.id, text });
      // The platform lets people forward without a word, which its double cannot post.
      const marker = said.text === "" ? `forward ${forwards.size}` : text;
      if (said.forwarded !== undefined) forwards.set(marker, said.forwarded);
      const replyTo = repliedOn(stage, at, said.replyTo);
      const posted = minjun.post(at, marker, replyTo ? { replyTo } : {});
      return heardAs(team, posted.id);
    },
    edit: async (team, message, text) => {
      const [part] = await team.database.query<{ platform_id: string }>(
        { text: "select platform_id from dure.room_parts where message = $1" },
        [message],
      );
      const placed = { id: part!.platform_id, placeId: stage.places.general.id };
      stage.person("민준").edit(placed, picks ? picked(stage, text) : text);
      await eventually(async () => {
        const [row] = await team.database.query<{ edited: boolean }>(
          { text: "select edited_at is not null as edited from dure.room_messages where id = $1" },
          [message],
        );
        expect(row?.edited).toBe(true);
      });
    },
  };
}

async function placeOn(
  stage: DiscordStage,
  team: TestTeam,
  { said, thread }: { said: Said; thread: string },
): Promise<FakePlace> {
  const { discord, places, bots } = stage;
  if (said.where === "channel") return places.general;
  if (said.where === "direct") return stage.person("민준").directMessages(bots.eden);
  const [row] = await team.database.query<{ thread: string }>(
    { text: "select thread from dure.places where id = $1" },
    [thread],
  );
  return discord.threads(places.general).find(({ id }) => id === row!.thread)!;
}

function writtenOn(stage: DiscordStage, said: Said, picks: boolean): string {
  const byRole = said.text.replaceAll(/<@&(\S+?)>/gu, (_all, name: string) =>
    stage.discord.mentionRole(stage.bots[NAME_IDS.get(name)!]),
  );
  return picks ? picked(stage, byRole, said.answers) : byRole;
}

/** The mention of each agent that is meant; people pick none within code or a quotation. */
function picked(stage: DiscordStage, text: string, meant?: readonly Name[]): string {
  const spoken = /(```[\s\S]*?```|`[^`\n]*`|^>.*$)/gmu;
  return text
    .split(spoken)
    .map((part, index) => {
      if (index % 2 === 1) return part;
      return part.replaceAll(/[@＠](루다|이든|세움|다짐)/gu, (typed, name: string) => {
        const id = NAME_IDS.get(name)!;
        const isMeant = meant === undefined || meant.includes(id);
        return isMeant ? stage.discord.mention(stage.bots[id]) : typed;
      });
    })
    .join("");
}

function repliedOn(
  { discord }: DiscordStage,
  at: FakePlace,
  author: Said["replyTo"],
): { id: string } | undefined {
  if (author === undefined) return undefined;
  const name = author === "person" ? "민준" : NAMES[author];
  return discord.messages(at).findLast((message) => message.author === name);
}

/** Another program's bot, by the platform's own API. */
async function postAs(
  { discord }: DiscordStage,
  team: TestTeam,
  { token, at, text }: { token: string; at: string; text: string },
): Promise<undefined> {
  const response = await fetch(`${discord.url}/v10/channels/${at}/messages`, {
    method: "POST",
    headers: { authorization: `Bot ${token}`, "content-type": "application/json" },
    body: JSON.stringify({ content: text }),
  });
  const { id } = (await response.json()) as { id: string };
  await eventually(async () => {
    const [row] = await team.database.query<{ readers: number }>(
      {
        text: `
          select count(*)::integer as readers
          from dure.account_reads
          where place = 'discord:general'
          and (length(platform_id), platform_id) >= (length($1), $1)`,
      },
      [id],
    );
    expect(row!.readers).toBe(NAME_IDS.size);
  });
  const stored = await team.database.query(
    { text: "select message from dure.room_parts where platform_id = $1" },
    [id],
  );
  expect(stored).toEqual([]);
}

/** dure's id, when every account that sees the place has heard it. */
async function heardAs(team: TestTeam, platformId: string): Promise<string> {
  return eventually(
    async () => {
      const [row] = await team.database.query<{ message: string; heard: number; kind: string }>(
        {
          text: `
            select p.message, at.kind,
              (select count(*)::integer from jsonb_object_keys(m.roles)) as heard
            from dure.room_parts p
            join dure.room_messages m on m.id = p.message
            join dure.places at on at.id = m.place
            where p.platform_id = $1`,
        },
        [platformId],
      );
      expect(row?.heard).toBe(row?.kind === "direct" ? 1 : NAME_IDS.size);
      return row!.message;
    },
    { everyMs: 10 },
  );
}

/** Source: "Message Snapshot Object": a forward's own text is empty. */
function withForward(packet: GatewayPacket, forwards: ReadonlyMap<string, string>): unknown {
  const message = packet.d as { content?: string } | null | undefined;
  const forwarded =
    packet.t === "MESSAGE_CREATE" ? forwards.get(message?.content ?? "") : undefined;
  if (forwarded === undefined) return packet;
  const content = message!.content!.startsWith("forward ") ? "" : message!.content;
  const snapshots = [{ message: { content: forwarded, attachments: [] } }];
  return { ...packet, d: { ...message, content, message_snapshots: snapshots } };
}
