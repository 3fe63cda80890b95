import {
  FakeSlack,
  type FakeSlackApp,
  type FakeSlackChannel,
  type FakeSlackPerson,
  type FakeSlackPlace,
  type Redelivery,
  type SlackFault,
  type SlackRateLimits,
} from "@dure/testing";
import { expect, onTestFinished } from "vitest";
import { SlackAdapter, type SlackOptions } from "../../src/channels/slack/slack-adapter.ts";
import { systemClock, type Clock } from "../../src/kernel/clock.ts";
import type {
  ChannelAccount,
  ChannelAdapter,
  ChannelFailure,
  PlaceAddress,
} from "../../src/rooms/channel-adapter.ts";
import { changed } from "./helpers.ts";
import type { TestPlatform } from "./platform.ts";
import { NAMES, type Name, type TestTeam } from "./team.ts";
import { eventually } from "../until.ts";

const OPEN = { limit: 10_000, perMs: 1_000 };
/** Limits are a matter of their own tests; here they would only slow down. */
export const OPEN_SLACK_LIMITS: SlackRateLimits = {
  tiers: { "1": OPEN, "2": OPEN, "3": OPEN, "4": OPEN },
  posting: OPEN,
};

/** What stands behind it, for tests that look there or break it. */
export interface SlackStage extends TestPlatform {
  readonly slack: FakeSlack;
  readonly apps: Readonly<Record<Name, FakeSlackApp>>;
  readonly places: Readonly<Record<"general" | "quiet", FakeSlackChannel>>;
  readonly person: (name: string) => FakeSlackPerson;
  /** Of another process: it connects these accounts alone. */
  adapterOf(names: readonly Name[]): ChannelAdapter;
}

/** The official clients against a strict double of the service; an app per agent. */
export async function slackPlatform({
  clock = systemClock,
  redelivery,
}: { clock?: Clock; redelivery?: Redelivery | undefined } = {}): Promise<SlackStage> {
  const slack = await FakeSlack.start({ rateLimits: OPEN_SLACK_LIMITS, clock, redelivery });
  onTestFinished(() => slack.stop());
  const places = { general: slack.addChannel("general"), quiet: slack.addChannel("quiet") };
  const names = Object.keys(NAMES) as Name[];
  const apps = Object.fromEntries(
    names.map((name) => [
      name,
      slack.addApp({ name: NAMES[name], botToken: `xoxb-${name}`, appToken: `xapp-${name}` }),
    ]),
  ) as Record<Name, FakeSlackApp>;
  const people = new Map([["민준", slack.addPerson("민준")]]);
  const personOf = (name: string): FakeSlackPerson => {
    const known = people.get(name) ?? slack.addPerson(name);
    people.set(name, known);
    return known;
  };
  const tokens = names.flatMap((name) =>
    [name, `${name}-bot`].map((account) => [
      account,
      { bot: apps[name].botToken, app: apps[name].appToken },
    ]),
  );
  const options: SlackOptions = {
    tokens: Object.fromEntries(tokens) as Record<string, { bot: string; app: string }>,
    apiUrl: slack.url,
    channels: () => Object.values(places).map(({ id }) => id),
  };

  return {
    slack,
    apps,
    places,
    person: personOf,
    name: "slack",
    agents: names.map((id) => ({
      id,
      displayName: NAMES[id],
      service: id,
      leads: id === "ruda",
      accounts: { slack: { id } },
    })),
    channels: (["general", "quiet"] as const).map((key) => ({
      key,
      adapter: "slack",
      name: key,
      channel: places[key].id,
      collaborate: key === "general",
    })),
    adapter: () => new SlackAdapter(options),
    adapterOf: (connected) => new PickySlack(options, connected),
    ready: (team) =>
      eventually(async () =>
        expect((await team.rooms.reader.agents()).map((agent) => agent.accounts[0]?.state)).toEqual(
          names.map(() => "ready"),
        ),
      ),
    say: async (team, text, { thread, channel = "general", person = "민준", below } = {}) => {
      const at =
        below !== undefined
          ? { channel: places.general, threadTs: await tsOf(team, below) }
          : thread === undefined
            ? { channel: places[channel as keyof typeof places] }
            : await eventually(() => placeIn(team, thread));
      const mentioned = text.replace(/@(루다|이든|세움|다짐)/g, (_all, name: string) =>
        slack.mention(apps[names.find((id) => NAMES[id] === name)!]),
      );
      const posted = personOf(person).post(at, mentioned);
      return heardBy(team, `${posted.channel}:${posted.ts}`, names.length);
    },
    edit: async (team, message, text) => {
      const ts = await tsOf(team, message);
      personOf("민준").edit({ channel: places.general.id, ts }, text);
      await changed(team, message);
    },
    remove: async (team, message) => {
      const ts = await tsOf(team, message);
      personOf("민준").remove({ channel: places.general.id, ts });
      await changed(team, message);
    },
    shown: async (team, place) => {
      const at = await placeIn(team, place).catch(() => undefined);
      if (!at) return [];
      return slack
        .messages(at)
        .filter(({ eventType }) => eventType !== "dure_thread")
        .map(({ author, text }) => `${author}: ${readable(text, apps)}`);
    },
    fail: (what, failure, { times, afterDoing = false, retryAfterMs = 1_000, agent } = {}) =>
      slack.fault(
        {
          method: "chat.postMessage",
          eventType: what === "post" ? "dure_post" : "dure_thread",
          times,
          app: agent === undefined ? undefined : NAMES[agent as Name],
        },
        slackFaultOf(failure, afterDoing, retryAfterMs),
      ),
    posts: () =>
      slack.requests.filter(
        ({ method, args }) =>
          method === "chat.postMessage" && args["metadata"]?.includes("dure_post"),
      ).length,
  };
}

/** Leaves the accounts of others alone: a process that gives a lease back lets another have it. */
export class PickySlack extends SlackAdapter {
  readonly #connected: readonly string[];

  constructor(options: SlackOptions, connected: readonly string[]) {
    super(options);
    this.#connected = connected;
  }

  override async connect(account: ChannelAccount, options: { signal: AbortSignal }): Promise<void> {
    if (this.#connected.includes(account.id)) await super.connect(account, options);
  }
}

async function tsOf({ database }: TestTeam, message: string): Promise<string> {
  const [row] = await database.query<{ id: string }>(
    { text: "select platform_id as id from dure.room_parts where message = $1 and part = 0" },
    [message],
  );
  return row!.id.split(":")[1]!;
}

/** A place of dure as the double knows it. */
export function slackPlaceOf({ channel, thread }: PlaceAddress): FakeSlackPlace {
  return { channel: { id: channel }, threadTs: thread?.split(":")[1] };
}

export function slackFaultOf(
  failure: ChannelFailure | "hang",
  afterDoing: boolean,
  retryAfterMs: number,
): SlackFault {
  switch (failure) {
    case "permission":
      return { kind: "error", error: "not_in_channel" };
    case "not-found":
      return { kind: "error", error: "channel_not_found" };
    case "credential":
      return { kind: "error", error: "invalid_auth" };
    case "invalid":
      return { kind: "error", error: "invalid_blocks" };
    case "rate-limited":
      return { kind: "429", retryAfterMs };
    case "hang":
      return { kind: "hang", afterDoing };
    case "transient":
      return { kind: "5xx", afterDoing };
    case "unavailable":
      throw new Error("Slack tells no outage of one workspace.");
    case "full":
      throw new Error("Slack bounds no number of threads.");
    default:
      return failure satisfies never;
  }
}

async function placeIn(team: TestTeam, place: string): Promise<FakeSlackPlace> {
  const [row] = await team.database.query<{ channel: string; thread: string | null }>(
    {
      text: "select channel, thread from dure.places where id = $1 and (kind <> 'thread' or thread is not null)",
    },
    [place],
  );
  if (!row) throw new Error(`${place} is not on the platform yet`);
  return slackPlaceOf({ adapter: "slack", channel: row.channel, thread: row.thread ?? undefined });
}

/** Resolves when every account has stored it. Gives dure's id. */
async function heardBy(team: TestTeam, platformId: string, accounts: number): Promise<string> {
  return eventually(async () => {
    const [row] = await team.database.query<{ message: string; readers: number }>(
      {
        text: `
            select p.message, (
              select count(*)::integer
              from dure.account_reads r
              join dure.room_messages m on m.id = p.message and m.place = r.place
              where (length(r.platform_id), r.platform_id) >= (length(p.platform_id), p.platform_id)
            ) as readers
            from dure.room_parts p
            where p.adapter = 'slack' and p.platform_id = $1`,
      },
      [platformId],
    );
    expect(row?.readers).toBe(accounts);
    return row!.message;
  });
}

/** Mentions by names, and signs as people see them. */
function readable(text: string, apps: Readonly<Record<Name, FakeSlackApp>>): string {
  const named = Object.entries(apps).reduce(
    (shown, [name, { id }]) => shown.replaceAll(`<@${id}>`, `@${NAMES[name as Name]}`),
    text,
  );
  return named.replaceAll("&lt;", "<").replaceAll("&gt;", ">").replaceAll("&amp;", "&");
}
