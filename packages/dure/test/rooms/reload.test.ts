// @module-tag slow
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { eventually } from "../until.ts";
import { Database } from "../../src/durable/database.ts";
import { testDatabase } from "../../src/durable/test-database.ts";
import { silentLogger } from "../../src/kernel/logger.ts";
import { FakeDiscord } from "@dure/testing";
import { ServerProcess } from "../crash/server-process.ts";
import { FULL, sampled } from "../../src/kernel/test-tiers.ts";

/**
 * A server whose configuration is a file that can be written anew, and people who speak in its
 * channels.
 */
interface World {
  /** The configuration with these channels alone, taken up by `POST /v1/reload`. */
  reloadWith(channels: readonly Channel[]): Promise<{ readonly restart: readonly string[] }>;
  /** A person's, on Discord. */
  openThread(
    channel: Channel,
    name: string,
  ): { readonly members: () => readonly string[]; readonly say: (text: string) => void };
  /** The status of a web post, or 202 when it stands on Discord. */
  say(channel: Channel, text: string): Promise<number>;
  /** Who answered what, of everything that was said so far: `ruda: …`. */
  heard(text: string): Promise<readonly string[]>;
  readonly database: Database;
}

type Channel = "general" | "quiet";
const PLACES = ["general", "quiet"] as const;

const PLACES_OF = sampled(["web", "discord"] as const, 1);

test.each(PLACES_OF.rows)(
  "a channel of %s that leaves the configuration is closed by a reload, and opened by the next one",
  { ...PLACES_OF.options, timeout: 120_000 },
  async (adapter) => {
    const world = await openWorld(adapter);
    await world.say("general", "들리나요");
    await eventually(
      async () => expect(await world.heard("들리나요")).toEqual(["민준", "ruda"]),
      PATIENT,
    );

    await world.reloadWith(["quiet"]);
    expect(await statesOf(world)).toEqual({ general: "closed", quiet: "open" });
    const status = await world.say("general", "아직 들리나요");
    if (adapter === "web") expect(status).toBe(409);
    const meanwhile =
      adapter === "discord" ? world.openThread("general", "그 사이의 방") : undefined;
    meanwhile?.say("그 사이에 한 말");
    // What was said later in the other channel is answered: so what was said before it in the
    // closed one has been let go.
    await world.say("quiet", "여기서는요");
    await eventually(
      async () => expect(await world.heard("여기서는요")).toEqual(["민준", "ruda"]),
      PATIENT,
    );
    expect(await world.heard("아직 들리나요")).toEqual([]);
    expect(
      await world.database.query({
        text: "select from dure.observations where excerpt like '%아직 들리나요%'",
      }),
    ).toEqual([]);

    await world.reloadWith(["general", "quiet"]);
    expect(await statesOf(world)).toEqual({ general: "open", quiet: "open" });
    await world.say("general", "다시 들리나요");
    await eventually(
      async () => expect(await world.heard("다시 들리나요")).toEqual(["민준", "ruda"]),
      PATIENT,
    );
    expect(await world.heard("아직 들리나요")).toEqual([]);
    meanwhile?.say("돌아와서 한 말");
    if (meanwhile) {
      await eventually(
        async () => expect(await world.heard("돌아와서 한 말")).toEqual(["민준"]),
        PATIENT,
      );
    }
    expect(await world.heard("그 사이에 한 말")).toEqual([]);
  },
);

test(
  "agents join the open threads of a Discord channel that a reload adds, and history stays unanswered",
  { ...FULL, timeout: 120_000 },
  async () => {
    const world = await openWorld("discord", ["general"]);
    const old = world.openThread("quiet", "있던 방");
    old.say("전에 한 말");

    const { restart } = await world.reloadWith(PLACES);
    const fresh = world.openThread("quiet", "새 방");

    expect(restart).toEqual([]);
    for (const thread of [old, fresh]) {
      await eventually(() => expect(thread.members()).toContain("루다"), PATIENT);
    }
    old.say("이제 한 말");
    await eventually(
      async () => expect(await world.heard("이제 한 말")).toEqual(["민준"]),
      PATIENT,
    );
    expect(await world.heard("전에 한 말")).toEqual([]);
  },
);

const PATIENT = { patienceMs: 30_000, everyMs: 50 };

async function openWorld(
  adapter: "web" | "discord",
  atStart: readonly Channel[] = PLACES,
): Promise<World> {
  const stack = new AsyncDisposableStack();
  onTestFinished(() => stack.disposeAsync());
  const folder = await mkdtemp(path.join(tmpdir(), "dure-reload-"));
  stack.defer(() => rm(folder, { recursive: true, force: true }));
  const owned = stack.use(await testDatabase());
  const database = await Database.open({
    url: owned.url,
    applicationName: "rooms-reload",
    logger: silentLogger,
    max: 2,
  });
  stack.defer(() => database.close());
  const discord = stack.use(await FakeDiscord.start({ identifyWindowMs: 1 }));
  const guild = discord.addGuild("두레");
  const channels = {
    general: discord.addChannel(guild, "general"),
    quiet: discord.addChannel(guild, "quiet"),
  };
  const minjun = discord.addPerson("민준");
  const bot = discord.addBot({ name: "루다", token: "token-ruda" });
  const configure = async (keys: readonly Channel[]): Promise<void> => {
    const lines = keys.map(
      (key) => `    ${key}: ${adapter === "web" ? "{}" : `{ discord: "${channels[key].id}" }`}`,
    );
    await writeFile(
      path.join(folder, "dure.yaml"),
      `name: rooms\nlocale: ko\nmodel: offline:echo\nagents:\n  ruda: { displayName: 루다, leads: ` +
        `true }\nrooms:\n  adapters: [${adapter}]\n  channels:\n${lines.join("\n")}\nservices: { ` +
        `minimal: ./minimal }\n`,
    );
  };
  await mkdir(path.join(folder, "minimal"));
  await writeFile(
    path.join(folder, "minimal", "service.yaml"),
    "name: minimal\nagents: {}\nflows:\n  handlers: { DEFAULT: answer }\n",
  );
  await writeFile(
    path.join(folder, "minimal", "flows.js"),
    'export async function* answer() { return { message: "네" }; }\n',
  );
  await configure(atStart);
  const server = stack.use(
    ServerProcess.spawn(
      { DATABASE_URL: owned.url, DISCORD_API_URL: discord.url, DISCORD_TOKEN_RUDA: bot.token },
      folder,
    ),
  );
  const url = await server.url;
  await eventually(
    async () =>
      expect(await database.query({ text: "select state from dure.accounts" })).toEqual([
        { state: "ready" },
      ]),
    { ...PATIENT, also: () => server.log.slice(-20).join("\n") },
  );

  const send = (method: string, target: string, body: object): Promise<Response> =>
    fetch(`${url}${target}`, {
      method,
      headers: { "content-type": "application/json" },
      body: JSON.stringify(body),
    });
  return {
    database,
    reloadWith: async (keys) => {
      await configure(keys);
      const response = await send("POST", "/v1/reload", {});
      expect(response.status, await response.clone().text()).toBe(200);
      return (await response.json()) as { restart: readonly string[] };
    },
    openThread: (channel, name) => {
      const { id } = minjun.startThread(channels[channel], name);
      return {
        members: () =>
          discord.threads(channels[channel]).find((thread) => thread.id === id)?.members ?? [],
        say: (text) => void minjun.post({ id, name }, text),
      };
    },
    say: async (channel, text) => {
      if (adapter === "web") {
        return (
          await send("POST", `/v1/rooms/web:${channel}/messages`, { text, as_person: "민준" })
        ).status;
      }
      minjun.post(channels[channel], text);
      return 202;
    },
    heard: async (text) => {
      const rows = await database.query<{ author: string }>(
        {
          text: `
            select m.author_name as author
            from dure.room_messages m
            where m.text = $1
            union all select h.agent
            from dure.room_messages m
            join dure.handlings h on h.message = m.id
            join dure.room_messages a on a.id = h.answer
            and a.delivery = 'sent'
            where m.text = $1`,
        },
        [text],
      );
      return rows.map(({ author }) => author);
    },
  };
}

async function statesOf({ database }: World): Promise<Record<string, string>> {
  const rows = await database.query<{ name: string; state: string }>({
    text: "select name, state from dure.places where kind = 'channel'",
  });
  return Object.fromEntries(rows.map(({ name, state }) => [name, state]));
}
