import { FakeDiscord, type GatewayPacket } from "@dure/testing";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { FULL, sampled } from "../../kernel/test-tiers.ts";
import type { ChannelAccount, PlaceAddress } from "../../rooms/channel-adapter.ts";
import { DiscordAdapter } from "./discord-adapter.ts";
import { GATEWAY_EVENTS } from "./gateway-client.ts";
import { numbersFrom, oddPayload } from "../test-odd-payloads.ts";
import { RecordingPort } from "../test-port.ts";
import { eventually } from "../../../test/until.ts";

/** Odd events behind each seed; 10,000 in all. */
const PER_SEED = 100;
const FIRST_SEED = Number(process.env["DURE_TEST_SEED"] ?? "1");
const SEEDS = sampled(
  Array.from({ length: 100 }, (_, index) => FIRST_SEED + index),
  3,
);
const RUDA: ChannelAccount = { id: "ruda", agent: "ruda", displayName: "루다" };
/** A pause before a new connection is longer than what vitest waits by itself. */
const OPEN = { limit: 100_000, perMs: 1000 };
const never = new AbortController().signal;

let stage: Awaited<ReturnType<typeof aStage>>;
let samples: ReadonlyMap<string, readonly unknown[]>;

beforeAll(async () => {
  stage = await aStage();
  samples = await trueEvents();
});

afterAll(() => stage.stop());

describe("odd events", () => {
  test("are made of true ones, of every kind that is heard", () => {
    expect(GATEWAY_EVENTS.filter((type) => !samples.has(type))).toEqual([]);
  });

  test.each(SEEDS.rows)(
    "cost a line and an account state, and the next message is answered (seed %i)",
    SEEDS.options,
    async (seed) => {
      const { discord, ruda, minsu, general, here, port, adapter } = stage;
      const random = numbersFrom(seed);
      const events = Array.from({ length: PER_SEED }, (_, index) => {
        const type = GATEWAY_EVENTS[(seed + index) % GATEWAY_EVENTS.length]!;
        const known = samples.get(type)!;
        return { type, data: oddPayload(known[Math.floor(random() * known.length)], random) };
      });

      for (const { type, data } of events) discord.gateway.sendEvent(ruda, type, data);
      // one of them may have taken the server away
      discord.gateway.sendEvent(ruda, "GUILD_CREATE", samples.get("GUILD_CREATE")!.at(-1));
      const text = `말 ${seed}`;
      minsu.post(general, text);
      await eventually(() => expect(port.texts("ruda")).toContain(text));
      const key = `key-${seed}`;
      const post = { account: RUDA, place: here, text: `답 ${seed}`, mentions: [], key };
      // Discord's own client allows a bot 50 requests a second, and odd events make it look.
      await eventually(() => adapter.post(post, { signal: never }), { everyMs: 200 });

      expect(discord.messages(general).at(-1)?.text).toBe(`답 ${seed}`);
      expect(port.stateOf("ruda")).toBe("ready");
    },
  );

  test("have left a line for each kind, and the account tells the first", () => {
    const { port } = stage;
    const kinds = port.lines.flatMap((line) => /was sent (\w+) in a form/u.exec(line)?.[1] ?? []);

    expect(kinds.length).toBeGreaterThan(0);
    expect(GATEWAY_EVENTS).toEqual(expect.arrayContaining(kinds));
    expect(port.states.at(-1)?.detail).toContain("could not understand");
    expect(stage.discord.sessionsStarted(stage.ruda)).toBe(1);
  });
});

describe("odd packets", () => {
  test.each<[string, (packet: GatewayPacket) => unknown]>([
    ["a HELLO without anything", (packet) => (packet.op === 10 ? { op: 10, d: null } : packet)],
    ["a HELLO that beats never", (packet) => hello(packet, { heartbeat_interval: -1 })],
    ["a READY without anything", (packet) => (isReady(packet) ? { ...packet, d: null } : packet)],
    ["a READY without its user", (packet) => ready(packet, { user: null })],
    ["a READY without a session", (packet) => ready(packet, { session_id: 5 })],
    ["an end of the session", (packet) => (isReady(packet) ? { op: 9 } : packet)],
    ["a text that is no JSON", (packet) => (isReady(packet) ? "{" : packet)],
    ["a packet that is null", (packet) => (isReady(packet) ? null : packet)],
    ["a packet without an opcode", (packet) => (isReady(packet) ? { t: "READY" } : packet)],
  ])("%s: the bot connects again, and no process ends", async (_name, alter) => {
    await using other = await aStage({ gatewayPatienceMs: 200, connects: false });
    let altered = 0;
    other.discord.gateway.alter((packet) => {
      const now = altered === 0 ? alter(packet) : packet;
      if (now !== packet) altered++;
      return now;
    });

    void other.adapter.connect(RUDA, { signal: never });
    await eventually(() => expect(other.port.stateOf("ruda")).toBe("ready"));

    expect(altered).toBe(1);
    expect(other.port.states.map(({ state }) => state)).toContain("reconnecting");
  });

  test(
    "answers to heartbeats are understood, and one that is missing ends the connection",
    FULL,
    async () => {
      await using other = await aStage({ heartbeatIntervalMs: 1000 });
      let beats = 0;
      const watch = new Promise<void>((resolve) => {
        other.discord.gateway.alter((packet) => {
          if (packet.op === 11 && ++beats === 2) resolve();
          return packet;
        });
      });
      await watch;
      const states = other.port.states.map(({ state }) => state);
      other.discord.gateway.alter((packet) => (packet.op === 11 ? undefined : packet));
      await eventually(() =>
        expect(other.port.lines.join("\n")).toContain("the gateway stopped answering"),
      );

      expect(states).toEqual(["starting", "ready"]);
      expect(other.port.lines.join("\n")).not.toContain("left out");
    },
  );

  test(
    "a process that stood still reads the answer to its heartbeat before it judges",
    FULL,
    async () => {
      await using other = await aStage({ heartbeatIntervalMs: 1000 });
      let beats = 0;
      other.discord.gateway.alter((packet) => {
        if (packet.op === 11 && ++beats === 1) standStill(1100);
        return packet;
      });

      await eventually(() => expect(beats).toBeGreaterThanOrEqual(2));

      expect(other.port.states.map(({ state }) => state)).toEqual(["starting", "ready"]);
    },
  );

  test.each([5, "nowhere", "http://127.0.0.1:1/"])(
    "a READY that says to resume at %j: it resumes where it was",
    async (url) => {
      await using other = await aStage({ connects: false });
      other.discord.gateway.alter((packet) => ready(packet, { resume_gateway_url: url }));
      void other.adapter.connect(RUDA, { signal: never });
      await eventually(() => expect(other.port.stateOf("ruda")).toBe("ready"));

      other.discord.dropGateway(other.ruda, { resumable: true });
      other.minsu.post(other.general, "그 사이");

      await eventually(() => expect(other.port.texts("ruda")).toContain("그 사이"));
      expect(other.discord.sessionsStarted(other.ruda)).toBe(1);
    },
  );
});

/** Nothing in this process runs for `ms`, no timer and no reading. */
function standStill(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
}

function isReady(packet: GatewayPacket): boolean {
  return packet.t === "READY";
}

function ready(packet: GatewayPacket, change: object): GatewayPacket {
  return isReady(packet) ? { ...packet, d: { ...(packet.d as object), ...change } } : packet;
}

function hello(packet: GatewayPacket, data: object): GatewayPacket {
  return packet.op === 10 ? { ...packet, d: data } : packet;
}

/** What the bot is sent when people do everything that it hears of. */
async function trueEvents(): Promise<Map<string, unknown[]>> {
  const { discord, guild, general, ruda, minsu, adapter, here } = stage;
  const room = discord.addChannel(guild, "room");
  const thread = minsu.startThread(room, "일");
  minsu.edit(minsu.post(thread, `${discord.mention(ruda)} 말`), "고친 말");
  minsu.post(general, "답", { replyTo: minsu.post(general, "물음"), attachments: [{ name: "a" }] });
  discord.archiveThread(thread);
  discord.setPermissions(ruda, room, { deny: ["VIEW_CHANNEL"] });
  discord.setPermissions(ruda, room, {});
  discord.deleteThread(minsu.startThread(room, "가는 일"));
  discord.removeChannel(room);
  const buttons = [{ value: "yes", label: "네" }];
  const post = { account: RUDA, place: here, text: "?", mentions: [], key: "q", buttons };
  const { platformId } = await adapter.post(post, { signal: never });
  const asked = discord.messages(general).find(({ id }) => id === platformId);
  await minsu.press(asked!.buttons[0]!);
  minsu.react(asked!, "\u{1f6d1}");
  minsu.unreact(asked!, "\u{1f6d1}");
  minsu.remove(minsu.post(general, "가는 말"));
  discord.setPermissions("everyone", general, { allow: ["MANAGE_MESSAGES"] });
  minsu.removeAll([minsu.post(general, "가는 말"), minsu.post(general, "또 하나")]);
  await minsu.command(ruda, general, "who");
  discord.kickBot(discord.addBot({ name: "이든", token: "token-eden" }), guild);
  discord.setEveryone(guild, ["VIEW_CHANNEL", "SEND_MESSAGES"]);
  discord.kickBot(ruda, guild);
  discord.inviteBot(ruda, guild);

  const known = new Map<string, unknown[]>();
  for (const { type, data } of discord.gateway.events(ruda)) {
    known.set(type, [...(known.get(type) ?? []), data]);
  }
  return known;
}

async function aStage({
  connects = true,
  gatewayPatienceMs = 5000,
  heartbeatIntervalMs = 41_250,
} = {}) {
  const discord = await FakeDiscord.start({
    rateLimits: { routes: {}, others: OPEN, global: OPEN },
    identifyWindowMs: 1,
    heartbeatIntervalMs,
  });
  const guild = discord.addGuild();
  const general = discord.addChannel(guild, "general");
  const ruda = discord.addBot({ name: "루다", token: "token-ruda" });
  const minsu = discord.addPerson("민수");
  const here: PlaceAddress = { adapter: "discord", guild: guild.id, channel: general.id };
  const adapter = new DiscordAdapter({
    tokens: { ruda: "token-ruda" },
    apiUrl: discord.url,
    startPerBotMs: 5,
    startBetweenBotsMs: 1,
    gatewayPatienceMs,
  });
  const port = new RecordingPort(adapter);
  await adapter.start(port);
  if (connects) {
    void adapter.connect(RUDA, { signal: never });
    await eventually(() => expect(port.stateOf("ruda")).toBe("ready"));
  }
  const stop = async (): Promise<void> => {
    await adapter.stop();
    await discord.stop();
  };
  return {
    discord,
    guild,
    general,
    ruda,
    minsu,
    here,
    adapter,
    port,
    stop,
    [Symbol.asyncDispose]: stop,
  };
}
