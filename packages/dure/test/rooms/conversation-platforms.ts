import type { ChannelAdapter } from "../../src/rooms/channel-adapter.ts";
import { bothPlatforms, webAndSlack } from "./both-platforms.ts";
import { oneOf, type Random, type Step } from "./conversations.ts";
import type { DiscordStage } from "./discord-platform.ts";
import type { TestPlatform } from "./platform.ts";
import type { SlackStage } from "./slack-platform.ts";
import { NAMES, type Name } from "./team.ts";

/** A line that people see, with the place where they see it: `web:general`, `discord:일`. */
export interface Shown {
  readonly platform: string;
  /** dure's id on the web; elsewhere the platform's, of a thread its own. */
  readonly place: string;
  /** Of a thread. */
  readonly channel: string | undefined;
  readonly author: string;
  readonly text: string;
}

/** A platform beside the web rooms, as the conversations by seed use it. */
export interface Outside {
  readonly stage: TestPlatform;
  /** Its id of #general. */
  readonly general: string;
  /** Of a process that connects these accounts alone. */
  adapterOf(names: readonly Name[]): ChannelAdapter;
  sayInChannel(step: Step, text: string): void;
  sayAlone(step: Step, text: string): void;
  /** Ways in which it can fail; each does one. */
  readonly troubles: readonly ((random: Random) => void)[];
  /** Events that it will tell again. */
  untold(): number;
  /** All that is to be seen in its channels, their threads and these direct rooms. */
  shown(direct: readonly string[]): readonly Shown[];
}

const AGENTS = Object.keys(NAMES) as Name[];

/** `losesSessions`: a gateway that is cut begins anew, and does not tell what it had. */
export async function discordOutside(losesSessions: boolean): Promise<Outside> {
  const stage = await bothPlatforms();
  const { discord, places, bots, person } = stage;
  const messages = { route: "/channels/{channel}/messages", method: "POST", times: 1 } as const;
  const botOf = (random: Random): (typeof bots)[Name] => bots[oneOf(AGENTS, random)];
  return {
    stage,
    general: places.general.id,
    adapterOf: (names) => stage.adapterOf(names),
    sayInChannel: (step, text) =>
      void person(step.person).post(places[step.channel], withMentions(text, stage.discord, bots)),
    sayAlone: (step, text) => {
      const who = person(step.person);
      who.post(who.directMessages(bots[step.alone]), text);
    },
    troubles: [
      (random) => discord.duplicateNext(botOf(random)),
      (random) => discord.dropGateway(botOf(random), { resumable: !losesSessions }),
      () => discord.fault(messages, { kind: "5xx", after: "doing it" }),
      () => discord.fault(messages, { kind: "5xx", after: "nothing" }),
      () => discord.fault(messages, { kind: "429", retryAfterMs: 50 }),
    ],
    untold: () => 0,
    shown: (direct) => discordLines(stage, direct),
  };
}

function discordLines(
  { discord, places }: DiscordStage,
  direct: readonly string[],
): readonly Shown[] {
  const channels = Object.values(places).map(({ id }) => id);
  const threads = Object.values(places).flatMap((channel) =>
    discord.threads(channel).map(({ id }) => ({ id, parent: channel.id })),
  );
  const all = [...[...channels, ...direct].map((id) => ({ id, parent: undefined })), ...threads];
  return all.flatMap(({ id, parent }) =>
    discord
      .messages({ id, name: "" })
      .filter(({ type }) => type !== 18)
      .map(({ author, text }) => ({
        platform: "discord",
        place: id,
        channel: parent,
        author,
        text,
      })),
  );
}

/** What is not acknowledged soon is told again, so that much comes twice. */
export async function slackOutside(): Promise<Outside> {
  const stage = await webAndSlack({
    redelivery: { ackWithinMs: 300, againAfterMs: [0, 1_500, 3_000, 6_000, 12_000] },
  });
  const { slack, places, apps, person } = stage;
  const posting = { method: "chat.postMessage", times: 1 } as const;
  const appOf = (random: Random): (typeof apps)[Name] => apps[oneOf(AGENTS, random)];
  return {
    stage,
    general: places.general.id,
    adapterOf: (names) => stage.adapterOf(names),
    sayInChannel: (step, text) =>
      void person(step.person).post(
        { channel: places[step.channel] },
        withMentions(text, slack, apps),
      ),
    sayAlone: (step, text) => {
      const who = person(step.person);
      who.post({ channel: slack.direct(apps[step.alone], who) }, text);
    },
    troubles: [
      (random) => slack.cut(appOf(random)),
      (random) => slack.refresh(appOf(random)),
      () => slack.fault(posting, { kind: "5xx", afterDoing: true }),
      () => slack.fault(posting, { kind: "5xx" }),
      () => slack.fault(posting, { kind: "429", retryAfterMs: 50 }),
      () => slack.fault({ method: "conversations.history", times: 1 }, { kind: "5xx" }),
    ],
    untold: () => slack.unacknowledged,
    shown: (direct) => slackLines(stage, direct),
  };
}

function slackLines({ slack, places }: SlackStage, direct: readonly string[]): readonly Shown[] {
  const channels = Object.values(places);
  const roots = [...channels, ...direct.map((id) => ({ id, name: "" }))];
  const threads = channels.flatMap((channel) =>
    slack.threads(channel).map(({ ts }) => ({ channel, threadTs: ts })),
  );
  const all = [...roots.map((channel) => ({ channel, threadTs: undefined })), ...threads];
  return all.flatMap(({ channel, threadTs }) =>
    slack
      .messages({ channel, threadTs })
      .filter(({ eventType }) => eventType !== "dure_thread")
      .map(({ author, text }) => ({
        platform: "slack",
        place: threadTs === undefined ? channel.id : `${channel.id}:${threadTs}`,
        channel: threadTs === undefined ? undefined : channel.id,
        author,
        text,
      })),
  );
}

function withMentions<Account>(
  text: string,
  platform: { mention(account: Account): string },
  accounts: Readonly<Record<Name, Account>>,
): string {
  return AGENTS.reduce(
    (all, agent) => all.replaceAll(`@${NAMES[agent]}`, platform.mention(accounts[agent])),
    text,
  );
}
