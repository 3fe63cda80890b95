import type {
  ChannelAccount,
  ChannelAdapter,
  ChannelFailure,
} from "../../src/rooms/channel-adapter.ts";
import { systemClock, type Clock } from "../../src/kernel/clock.ts";
import { DiscordAdapter, type DiscordOptions } from "../../src/channels/discord/discord-adapter.ts";
import {
  type FakeBot,
  FakeDiscord,
  type FakeFault,
  type FakeGuild,
  type FakePerson,
  type FakePlace,
} from "@dure/testing";
import { onTestFinished, expect } from "vitest";
import { NAMES, type Name, type TestTeam } from "./team.ts";
import { changed } from "./helpers.ts";
import type { TestPlatform } from "./platform.ts";
import { eventually } from "../until.ts";

/** Limits are a matter of their own tests; here they would only slow down. */
export const OPEN_LIMITS = {
  routes: {},
  others: { limit: 10_000, perMs: 1_000 },
  global: { limit: 10_000, perMs: 1_000 },
};
const MESSAGES = "/channels/{channel}/messages";
const THREADS = "/channels/{channel}/threads";

/** What stands behind it, for tests that look there or break it. */
export interface DiscordStage extends TestPlatform {
  readonly discord: FakeDiscord;
  readonly guild: FakeGuild;
  readonly bots: Readonly<Record<Name, FakeBot>>;
  readonly places: Readonly<Record<"general" | "quiet", FakePlace>>;
  /** A person at the keyboard; 민준 is one. */
  readonly person: (name: string) => FakePerson;
  /** Of another process: it connects these accounts alone. */
  adapterOf(names: readonly Name[]): ChannelAdapter;
}

/** The real discord.js against a strict double of the service. `clock`: of the service. */
export async function discordPlatform({
  clock = systemClock,
  leadJoins = false,
}: { clock?: Clock; leadJoins?: boolean } = {}): Promise<DiscordStage> {
  const discord = await FakeDiscord.start({ rateLimits: OPEN_LIMITS, identifyWindowMs: 1, clock });
  onTestFinished(() => discord.stop());
  const guild = discord.addGuild("두레");
  const places: Record<"general" | "quiet", FakePlace> = {
    general: discord.addChannel(guild, "general"),
    quiet: discord.addChannel(guild, "quiet"),
  };
  const names = Object.keys(NAMES) as Name[];
  const bots = Object.fromEntries(
    names.map((name) => [name, discord.addBot({ name: NAMES[name], token: `token-${name}` })]),
  ) as Record<Name, FakeBot>;
  const people = new Map([["민준", discord.addPerson("민준")]]);
  const nameOf = new Map(names.map((name) => [bots[name].id, NAMES[name]]));

  const placeOf = async (team: TestTeam, place: string): Promise<FakePlace> => {
    const [row] = await team.database.query<{ id: string | null; name: string }>(
      {
        text: `
          select case kind when 'thread' then thread else channel end as id, name
          from dure.places
          where id = $1`,
      },
      [place],
    );
    if (!row?.id) throw new Error(`${place} is not on the platform yet`);
    return { id: row.id, name: row.name };
  };

  /** How many bots are told what is said there: in a thread those that are in it. */
  const hearersOf = (at: FakePlace): number => {
    const threads = Object.values(places).flatMap((channel) => discord.threads(channel));
    const members = threads.find(({ id }) => id === at.id)?.members;
    return members?.filter((name) => names.some((id) => NAMES[id] === name)).length ?? names.length;
  };

  const options = {
    tokens: Object.fromEntries(
      names.flatMap((name) => [name, `${name}-bot`].map((account) => [account, `token-${name}`])),
    ),
    apiUrl: discord.url,
    startBetweenBotsMs: 1,
    startPerBotMs: 1,
    joinsThread: (_place: unknown, { agent }: ChannelAccount) => leadJoins && agent === "ruda",
  };
  const postOf = async (team: TestTeam, message: string): Promise<string> => {
    const [row] = await team.database.query<{ id: string }>(
      { text: "select platform_id as id from dure.room_parts where message = $1 and part = 0" },
      [message],
    );
    return row!.id;
  };
  const messageOf = async (team: TestTeam, message: string) => {
    const id = await postOf(team, message);
    return discord.messages(places.general).find((posted) => posted.id === id)!;
  };
  const threadBelow = async (team: TestTeam, message: string): Promise<FakePlace> => {
    const id = await postOf(team, message);
    const [made] = discord.threads(places.general).filter((thread) => thread.id === id);
    return made ?? personOf("민준").startThread(places.general, "이어서", { from: { id } });
  };
  const personOf = (name: string): FakePerson => {
    const known = people.get(name) ?? discord.addPerson(name);
    people.set(name, known);
    return known;
  };

  return {
    discord,
    guild,
    bots,
    places,
    person: personOf,
    adapterOf: (connected) => new PickyAdapter(options, connected),
    name: "discord",
    agents: names.map((id) => ({
      id,
      displayName: NAMES[id],
      service: id,
      leads: id === "ruda",
      accounts: { discord: { id } },
    })),
    channels: (["general", "quiet"] as const).map((key) => ({
      key,
      adapter: "discord",
      name: key,
      guild: guild.id,
      channel: places[key].id,
      collaborate: key === "general",
    })),
    adapter: () => new DiscordAdapter(options),
    ready: (team) =>
      eventually(async () =>
        expect((await team.rooms.reader.agents()).map((agent) => agent.accounts[0]?.state)).toEqual(
          names.map(() => "ready"),
        ),
      ),
    say: async (
      team,
      text,
      { thread, channel = "general", person = "민준", replyToLast = false, replyTo, below } = {},
    ) => {
      const inChannel = places[channel as keyof typeof places];
      const at =
        below !== undefined
          ? await threadBelow(team, below)
          : thread === undefined
            ? inChannel
            : await eventually(() => placeOf(team, thread));
      const mentioned = text.replace(/@(루다|이든|세움|다짐)/g, (_all, name: string) =>
        discord.mention(bots[names.find((id) => NAMES[id] === name)!]),
      );
      const replied = replyTo === undefined ? undefined : await postOf(team, replyTo);
      const last = discord
        .messages(at)
        .findLast(({ id }) => (replyToLast && replied === undefined) || id === replied);
      const posted = personOf(person).post(at, mentioned, last && { replyTo: last });
      return eventually(async () => {
        const [row] = await team.database.query<{ message: string; readers: number }>(
          {
            text: `select p.message, (select count(*)::integer from dure.account_reads r join dure.room_messages m on m.id = p.message and m.place = r.place
                                          where (length(r.platform_id), r.platform_id) >= (length(p.platform_id), p.platform_id)) as readers
                       from dure.room_parts p where p.adapter = 'discord' and p.platform_id = $1`,
          },
          [posted.id],
        );
        expect(row?.readers).toBeGreaterThanOrEqual(hearersOf(at));
        return row!.message;
      });
    },
    edit: async (team, message, text) => {
      const found = await messageOf(team, message);
      personOf(found.author).edit(found, text);
      await changed(team, message);
    },
    remove: async (team, message) => {
      const found = await messageOf(team, message);
      personOf(found.author).remove(found);
      await changed(team, message);
    },
    shown: async (team, place) => {
      const at = await placeOf(team, place).catch(() => undefined);
      if (!at) return [];
      const messages = discord.messages(at).filter(({ type }) => type !== 18);
      return messages.map(
        ({ author, text }) =>
          `${author}: ${text.replace(/<@(\d+)>/g, (_all, id: string) => `@${nameOf.get(id) ?? id}`)}`,
      );
    },
    fail: (what, failure, { times, afterDoing, retryAfterMs, agent } = {}) => {
      const fault = faultOf(failure, afterDoing ?? false, retryAfterMs ?? 1_000);
      discord.fault(
        {
          route: what === "post" ? MESSAGES : THREADS,
          method: "POST",
          ...(times !== undefined && { times }),
          ...(agent !== undefined && { bot: NAMES[agent as Name] }),
        },
        fault,
      );
    },
    posts: () =>
      discord.requests.filter(({ method, route }) => method === "POST" && route === MESSAGES)
        .length,
  };
}

/**
 * Leaves the accounts of others alone: a process that gives a lease back at once lets another process have
 * it.
 */
class PickyAdapter extends DiscordAdapter {
  readonly #connected: readonly string[];

  constructor(options: DiscordOptions, connected: readonly string[]) {
    super(options);
    this.#connected = connected;
  }

  override async connect(account: ChannelAccount, options: { signal: AbortSignal }): Promise<void> {
    if (this.#connected.includes(account.id)) await super.connect(account, options);
  }
}

export function faultOf(
  failure: ChannelFailure | "hang",
  afterDoing: boolean,
  retryAfterMs: number,
): FakeFault {
  const after = afterDoing ? ("doing it" as const) : ("nothing" as const);
  switch (failure) {
    case "permission":
      return { kind: "403" };
    case "not-found":
      return { kind: "404" };
    case "credential":
      return { kind: "401" };
    case "rate-limited":
      return { kind: "429", retryAfterMs };
    case "hang":
      return { kind: "timeout", after };
    case "transient":
      return { kind: "5xx", after };
    case "full":
      return { kind: "400", code: 160006 };
    case "invalid":
      throw new Error("The double refuses invalid posts by itself.");
    case "unavailable":
      throw new Error("An outage is one of a whole server: discord.setOutage.");
    default:
      return failure satisfies never;
  }
}
