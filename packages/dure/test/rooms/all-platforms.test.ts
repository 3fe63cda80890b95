import { FULL } from "../../src/kernel/test-tiers.ts";
import { expect, test } from "vitest";
import { eventually } from "../until.ts";
import { discordPlatform, type DiscordStage } from "./discord-platform.ts";
import { ANONYMOUS, readyTeamOn, settled, silent } from "./helpers.ts";
import type { TestPlatform } from "./platform.ts";
import { slackPlatform, type SlackStage } from "./slack-platform.ts";
import type { Behave, TestTeam } from "./team.ts";
import { webPlatform } from "./web-platform.ts";

const MINJUN = { tenant: "", person: "민준" };

/** Web rooms, Slack and Discord at once, in this order, with every agent on each. */
interface AllPlatforms extends TestPlatform {
  readonly discordStage: DiscordStage;
  readonly slackStage: SlackStage;
}

async function allPlatforms(): Promise<AllPlatforms> {
  const web = webPlatform();
  const slackStage = await slackPlatform();
  const discordStage = await discordPlatform();
  const stages = [web, slackStage, discordStage];
  return {
    ...web,
    discordStage,
    slackStage,
    agents: web.agents.map((agent) => ({
      ...agent,
      accounts: { web: { id: agent.id }, slack: { id: agent.id }, discord: { id: agent.id } },
    })),
    channels: stages.flatMap(({ channels }) => channels),
    defaultChannel: "general",
    adapter: (database) => stages.flatMap((stage) => [stage.adapter(database)].flat()),
    ready: (team) =>
      eventually(async () => {
        const agents = await team.rooms.reader.agents();
        const states = agents.flatMap(({ accounts }) => accounts.map(({ state }) => state));
        expect(states).toEqual(states.map(() => "ready"));
        expect(states).toHaveLength(12);
      }),
  };
}

/** 루다 hands over what it is told to; 이든 answers that. */
const ruda: Behave = (heard) => {
  if (heard.text.startsWith("이든:")) return silent(heard);
  if (heard.results.length > 0 || !heard.text.includes("넘겨")) return "넘겼어요";
  const args = { targetAgent: "eden", message: "화면을 봐 주세요", topic: heard.text };
  return { toolCalls: [{ name: "collaborate", args }] };
};
const eden: Behave = (heard) => (heard.text.includes("화면을") ? "색이 흐려요" : silent(heard));

/** Where a person asks; gives the text that makes the request known. */
type Ask = (team: TestTeam, stage: AllPlatforms, text: string) => Promise<void>;

const ASKS: Readonly<Record<string, { readonly ask: Ask; readonly thread: string }>> = {
  "a channel of the web": {
    thread: "web:general",
    ask: async (team, _stage, text) =>
      void (await team.rooms.post(MINJUN, { place: "web:general", text: `@루다 ${text}` })),
  },
  "a direct room of the web": {
    thread: "its own room",
    ask: async (team, _stage, text) => {
      const { id } = await team.rooms.direct(MINJUN, "ruda");
      await team.rooms.post(MINJUN, { place: id, text });
    },
  },
  "HTTP chat": {
    thread: "web:general",
    ask: async (team, _stage, text) =>
      void (await team.engine.turn({ session: "chat", service: "ruda", message: text }, {}).done),
  },
  "a channel of Discord": {
    thread: "discord:general",
    ask: async (_team, { discordStage: { person, places, discord, bots } }, text) =>
      void person("민준").post(places.general, `${discord.mention(bots.ruda)} ${text}`),
  },
  "a thread of Discord": {
    thread: "discord:general",
    ask: async (_team, { discordStage: { person, places, discord, bots } }, text) => {
      const thread = person("민준").startThread(places.general, "사람들의 방");
      person("민준").post(thread, `${discord.mention(bots.ruda)} ${text}`);
    },
  },
  "a channel of Slack": {
    thread: "slack:general",
    ask: async (_team, { slackStage: { person, places, slack, apps } }, text) => {
      const channel = places.general;
      person("민준").post({ channel }, `${slack.mention(apps.ruda)} ${text}`);
    },
  },
  "a thread of Slack": {
    thread: "slack:general",
    ask: async (_team, { slackStage: { person, places, slack, apps } }, text) => {
      const channel = places.general;
      const { ts } = person("민준").post({ channel }, `${slack.mention(apps.dajim)} 안녕하세요`);
      person("민준").post({ channel, threadTs: ts }, `${slack.mention(apps.ruda)} ${text}`);
    },
  },
};

test(
  "with web, Slack and Discord a hand-over stays on the asker's platform, and its answer comes home",
  { ...FULL, timeout: 120_000 },
  async () => {
    const stage = await allPlatforms();
    const team = await readyTeamOn(stage, {
      behave: { ruda, eden, dajim: silent }, // 다짐 is in a thread below words to it
      limits: { pairCalls: 100, threadsPerMinute: 100 },
    });

    for (const [name, { ask, thread }] of Object.entries(ASKS)) {
      const text = `${name}: 이든한테 넘겨줘`;
      await ask(team, stage, text);

      const found = await eventually(async () => {
        const [request] = await requestOf(team, text);
        expect(request?.state).toBe("answered");
        return request!;
      });
      await settled(team);
      const parent = found.parent.startsWith("direct_") ? "its own room" : found.parent;
      expect([name, parent]).toEqual([name, thread]);
      if (found.home === null) continue; // HTTP chat: its session is told, see the test of homes
      const told = (await team.rooms.reader.messages(found.home, {})).at(-1);
      expect([name, told?.author, told?.mark]).toEqual([name, "ruda", "notice"]);
      expect([name, found.home_adapter]).toEqual([name, found.adapter]);
    }
  },
);

test(
  "a target that is not on the asker's platform is refused there, and asked on no other",
  { timeout: 60_000 },
  async () => {
    const stage = await allPlatforms();
    const results: unknown[] = [];
    const team = await readyTeamOn(
      {
        ...stage,
        ready: (ready) =>
          eventually(async () => {
            const agents = await ready.rooms.reader.agents();
            const states = agents.flatMap(({ accounts }) => accounts.map(({ state }) => state));
            expect(states).toEqual(Array.from({ length: 11 }, () => "ready"));
          }),
      },
      {
        agents: stage.agents.map((agent) =>
          agent.id === "eden"
            ? { ...agent, accounts: { web: { id: "eden" }, slack: { id: "eden" } } }
            : agent,
        ),
        behave: {
          ruda: (heard) => {
            results.push(...heard.results);
            return ruda(heard);
          },
        },
      },
    );

    await ASKS["a channel of Discord"]!.ask(team, stage, "이든한테 넘겨줘");

    await eventually(() => expect(results).toHaveLength(1));
    await settled(team);
    expect(JSON.stringify(results)).toContain("AGENT_OFFLINE");
    expect(JSON.stringify(results)).toContain("has no account on discord");
    for (const { adapter, key } of stage.channels) {
      expect(await team.rooms.reader.threads(`${adapter}:${key}`, ANONYMOUS)).toEqual([]);
    }
  },
);

test(
  "background work is reported where it was asked for, and from a direct room in no channel",
  FULL,
  async () => {
    const stage = await allPlatforms();
    const channels = stage.channels.filter(({ key }) => key === "quiet");
    const origins: Record<string, string> = {
      job_slack: "room:ruda:slack:general",
      job_discord: "room:ruda:discord:general",
      job_direct: "room:ruda:direct_1",
      job_private: "room:ruda:private_1",
      job_chat: "chat",
    };
    const team = await readyTeamOn(stage, {
      sink: { channels },
      originOf: (job) => origins[job],
    });
    await eventually(async () =>
      expect(
        await team.database.query({ text: "select from dure.cursors where name = 'room.sink'" }),
      ).toHaveLength(1),
    );

    await team.database.query({ text: "select dure.emit($1)" }, [
      JSON.stringify(
        Object.keys(origins).map((job) => ({
          type: "job.turn",
          role: "delegation",
          job,
          data: { speaker: "eden", text: `${job}의 말` },
        })),
      ),
    ]);
    const reports = (): Promise<readonly unknown[]> =>
      team.database.query({
        text: `
        select p.parent, m.text
        from dure.room_messages m
        join dure.places p on p.id = m.place
        where m.mark = 'sink'
        order by m.text`,
      });
    await eventually(async () => expect(await reports()).toHaveLength(3));
    await settled(team);

    expect(await reports()).toEqual([
      { parent: "web:quiet", text: "job_chat의 말" },
      { parent: "discord:quiet", text: "job_discord의 말" },
      { parent: "slack:quiet", text: "job_slack의 말" },
    ]);
  },
);

async function requestOf(
  team: TestTeam,
  topic: string,
): Promise<
  readonly {
    state: string;
    parent: string;
    adapter: string;
    home: string | null;
    home_adapter: string | null;
  }[]
> {
  return team.database.query(
    {
      text: `
        select r.state, p.parent, p.adapter, r.origin->>'place' as home, h.adapter as home_adapter
        from dure.requests r
        join dure.places p on p.id = r.thread
        left join dure.places h on h.id = r.origin->>'place'
        where r.topic like '%' || $1 || '%'`,
    },
    [topic.split(":")[0]],
  );
}
