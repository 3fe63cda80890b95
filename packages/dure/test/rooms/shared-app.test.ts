import { FakeSlack, type FakeSlackChannel } from "@dure/testing";
import { expect, onTestFinished, test } from "vitest";
import type { SlackOptions } from "../../src/channels/slack/slack-adapter.ts";
import { eventually } from "../until.ts";
import { ONE_BY_ONE, settled, silent } from "./helpers.ts";
import { OPEN_SLACK_LIMITS, PickySlack } from "./slack-platform.ts";
import { NAMES, startTestTeam, type Behave, type Name, type TestTeam } from "./team.ts";
import { FULL } from "../../src/kernel/test-tiers.ts";

/** Agents that speak through one app of Slack, connected by two processes. */

const AGENTS = Object.keys(NAMES) as Name[];
const answer: Behave = (heard) => {
  const token = /#\d+$/u.exec(heard.text)?.[0];
  return token === undefined || heard.text.includes(": 답") ? silent(heard) : `답 ${token}`;
};

test(
  "each message is heard by every agent and answered once, whichever process was told of it",
  FULL,
  async () => {
    const { slack, general, teams } = await spreadOver([
      ["ruda", "seum"],
      ["eden", "dajim"],
    ]);
    const minjun = slack.addPerson("민준");

    for (let n = 0; n < 20; n++) {
      minjun.post({ channel: general }, `@${NAMES[AGENTS[n % 4]!]} 어때? #${n}`);
    }

    await eventually(() => expect(answersIn(slack, general)).toHaveLength(20));
    await settled(teams[0]!);
    expect(answersIn(slack, general).toSorted()).toEqual(
      Array.from({ length: 20 }, (_, n) => `${NAMES[AGENTS[n % 4]!]}: 답 #${n}`).toSorted(),
    );
    const heard = await teams[0]!.database.query<{ agents: number }>({
      text: `
      select (select count(*)::integer from jsonb_object_keys(roles)) as agents
      from dure.room_messages
      where author_kind = 'person'`,
    });
    expect(heard.map(({ agents }) => agents)).toEqual(Array.from({ length: 20 }, () => 4));
  },
);

test(
  "when one of the processes stops, the other one hears for its own agents without a gap",
  FULL,
  async () => {
    const { slack, general, teams } = await spreadOver([
      ["ruda", "seum"],
      ["eden", "dajim"],
    ]);
    const [first, second] = teams;
    const minjun = slack.addPerson("민준");
    minjun.post({ channel: general }, "@이든 첫 물음 #1");
    await eventually(() => expect(answersIn(slack, general)).toEqual(["이든: 답 #1"]));

    const stopping = first!.stop();
    for (let n = 2; n < 8; n++) minjun.post({ channel: general }, `@이든 다음 물음 #${n}`);
    await stopping;
    minjun.post({ channel: general }, "@이든 끝 물음 #8");

    await eventually(() => expect(answersIn(slack, general)).toHaveLength(8));
    await settled(second!);
    // Slack keeps no order between two connections.
    expect(answersIn(slack, general).toSorted()).toEqual(
      Array.from({ length: 8 }, (_, n) => `이든: 답 #${n + 1}`),
    );
  },
);

function answersIn(slack: FakeSlack, channel: FakeSlackChannel): readonly string[] {
  return slack
    .messages({ channel })
    .filter(({ authorIsBot }) => authorIsBot)
    .map(({ author, text }) => `${author}: ${text}`);
}

async function spreadOver(
  groups: readonly (readonly Name[])[],
): Promise<{ slack: FakeSlack; general: FakeSlackChannel; teams: readonly TestTeam[] }> {
  const slack = await FakeSlack.start({ rateLimits: OPEN_SLACK_LIMITS });
  onTestFinished(() => slack.stop());
  const general = slack.addChannel("general");
  slack.addApp({
    name: "두레",
    botToken: "xoxb-dure",
    appToken: "xapp-dure",
    scopes: ["chat:write", "chat:write.customize", "channels:history", "users:read"],
  });
  const tokens = { bot: "xoxb-dure", app: "xapp-dure", isShared: true };
  const options: SlackOptions = {
    tokens: Object.fromEntries(AGENTS.map((name) => [name, tokens])),
    agents: Object.fromEntries(AGENTS.map((name) => [name, name])),
    apiUrl: slack.url,
    channels: () => [general.id],
  };
  const teams: TestTeam[] = [];
  for (const connected of groups) teams.push(await aTeam(options, { connected, general, teams }));
  await eventually(async () => {
    const agents = await teams[0]!.rooms.reader.agents();
    expect(agents.map(({ accounts }) => accounts[0]?.state)).toEqual(AGENTS.map(() => "ready"));
  });
  return { slack, general, teams };
}

function aTeam(
  options: SlackOptions,
  parts: { connected: readonly Name[]; general: FakeSlackChannel; teams: readonly TestTeam[] },
): Promise<TestTeam> {
  const { connected, general, teams } = parts;
  const channel = { key: "general", adapter: "slack", name: "general", channel: general.id };
  return startTestTeam({
    gather: ONE_BY_ONE,
    adapter: () => new PickySlack(options, connected),
    agents: AGENTS.map((id) => ({
      id,
      displayName: NAMES[id],
      service: id,
      leads: id === "ruda",
      accounts: { slack: { id } },
    })),
    channels: [{ ...channel, collaborate: true }],
    behave: Object.fromEntries(AGENTS.map((name) => [name, answer])),
    ...(teams[0] && { on: teams[0] }),
  });
}
