import { FakeDiscord, type FakeDiscordOptions, type GatewayEnding } from "@dure/testing";
import { describe, expect, test } from "vitest";
import { FULL, sampled } from "../../kernel/test-tiers.ts";
import type { ChannelAccount } from "../../rooms/channel-adapter.ts";
import { DiscordAdapter } from "./discord-adapter.ts";
import { decideStart } from "./identify-budget.ts";
import { pauseMs, shortInARow, type LostLink } from "./gateway-client.ts";
import { RecordingPort } from "../test-port.ts";
import { eventually } from "../../../test/until.ts";

const RUDA: ChannelAccount = { id: "ruda", agent: "ruda", displayName: "루다" };
const OPEN = { limit: 1000, perMs: 1000 };
const never = new AbortController().signal;

describe("a gateway that closes", () => {
  const endings = sampled<[string, GatewayEnding]>(
    [
      ["right after READY", { when: "after READY" }],
      ["before HELLO", { when: "before HELLO" }],
      ["never, and says nothing", { when: "before HELLO", code: "never" }],
    ],
    0,
  );
  test.each(endings.rows)(
    "%s is dialled with growing pauses, each in the log",
    endings.options,
    async (_name, ending) => {
      await using stage = await aStage();
      stage.discord.gateway.endNext(ending, 3);

      void stage.adapter.connect(RUDA, { signal: never });
      await eventually(() => expect(waitsOf(stage.port)).toHaveLength(3));
      await stage.isReady();

      const waits = waitsOf(stage.port);
      const [first, second, third] = waits;
      expect(first).toBeLessThanOrEqual(500);
      expect(second).toBeLessThanOrEqual(1000);
      expect(third).toBeGreaterThanOrEqual(1000);
    },
  );

  test.each([
    ["for ever right after READY", { livedMs: 1000, identified: true }, 250],
    ["for ever without a session", { livedMs: undefined, identified: true }, 250],
    ["before HELLO, which costs nothing", { livedMs: undefined, identified: false }, 3000],
  ])("%s is dialled a bounded number of times a day", (_name, facts, most) => {
    const lost: LostLink = { ...facts, refusedResume: false };

    let [short, dials, at] = [0, 0, 0];
    while (at < 86_400_000) {
      dials++;
      short = shortInARow(short, lost);
      at += pauseMs(short, lost.identified, dials % 2);
    }

    expect(dials).toBeLessThan(most);
  });

  test("after a long session is dialled at once, but not by all bots at the same time", () => {
    const long: LostLink = { livedMs: 6 * 60_000, identified: true, refusedResume: false };

    expect(shortInARow(7, long)).toBe(0);
    expect([pauseMs(0, true, 0), pauseMs(0, true, 1)]).toEqual([250, 500]);
  });
});

describe("the session starts of a bot", () => {
  const day = { total: 1000, resetAfterMs: 7_200_000 };

  test.each([
    [{ ...day, remaining: 51 }, 0, { start: true }],
    [{ ...day, remaining: 50 }, 0, { start: false, remaining: 50, waitMs: 3_600_000 }],
    [{ ...day, remaining: 1, resetAfterMs: 30_000 }, 0, { remaining: 1, waitMs: 30_000 }],
    [{ ...day, remaining: 700 }, 250, { start: false, remaining: 0 }],
    [undefined, 249, { start: true }],
    [undefined, 250, { start: false, waitMs: 3_600_000 }],
  ])("are spared: %j, %i of its own: %j", (limit, own, expected) => {
    expect(decideStart(limit, own)).toMatchObject(expected);
  });

  test(
    "that are nearly used up: it says so, waits, keeps its token, and goes on the next day",
    FULL,
    async () => {
      await using stage = await aStage({ sessionStarts: { total: 20, perMs: 1500 } });
      stage.discord.gateway.useSessionStarts(stage.ruda, 19);

      const startedBefore: number[] = [];
      const told = stage.port.accountChanged.bind(stage.port);
      stage.port.accountChanged = (account, state, detail) => {
        if (state === "reconnecting") startedBefore.push(stage.discord.sessionsStarted(stage.ruda));
        return told(account, state, detail);
      };

      void stage.adapter.connect(RUDA, { signal: never });
      await stage.isReady();

      const rests = stage.port.states.find(({ state }) => state === "reconnecting");
      expect(rests?.detail).toContain("Only 1 session starts are left");
      expect(rests?.needsPeople).toBe(true);
      expect(startedBefore).toEqual([0]);
      expect(stage.port.lines.join("\n")).toContain("has only 1 session starts left");
    },
  );

  test("of the double end with its token, as on the platform", async () => {
    await using stage = await aStage();
    const use = (): void => stage.discord.gateway.useSessionStarts(stage.ruda, 1000);
    stage.discord.gateway.alter((packet) => {
      if (packet.op === 10) use(); // after the adapter has asked
      return packet;
    });

    await stage.adapter.connect(RUDA, { signal: never });

    expect(stage.port.stateOf("ruda")).toBe("refused");
  });
});

/** What the log says of connections that were lost, but for sessions that are too old. */
function waitsOf(port: RecordingPort): number[] {
  return port.lines.flatMap((line) => {
    const [, why, wait] = /not connected to Discord \((.+)\); again in (\d+) ms/u.exec(line) ?? [];
    return why === undefined || why.includes("does not know") ? [] : [Number(wait)];
  });
}

async function aStage(options: FakeDiscordOptions = {}) {
  const discord = await FakeDiscord.start({
    rateLimits: { routes: {}, others: OPEN, global: OPEN },
    identifyWindowMs: 1,
    ...options,
  });
  discord.addChannel(discord.addGuild(), "general");
  const ruda = discord.addBot({ name: "루다", token: "token-ruda" });
  const adapter = new DiscordAdapter({
    tokens: { ruda: "token-ruda" },
    apiUrl: discord.url,
    startPerBotMs: 5,
    startBetweenBotsMs: 1,
    gatewayPatienceMs: 200,
  });
  const port = new RecordingPort(adapter);
  await adapter.start(port);
  const isReady = () => eventually(() => expect(port.stateOf("ruda")).toBe("ready"));
  return {
    ...{ discord, ruda, adapter, port, isReady },
    [Symbol.asyncDispose]: async () => {
      await adapter.stop();
      await discord.stop();
    },
  };
}
