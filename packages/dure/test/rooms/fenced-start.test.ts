// @module-tag slow
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { eventually } from "../until.ts";
import { testDatabase } from "../../src/durable/test-database.ts";
import { sampled } from "../../src/kernel/test-tiers.ts";
import { FakeDiscord, PostgresProxy, type StatementTest } from "@dure/testing";
import { ServerProcess, within } from "../crash/server-process.ts";

const TEAM = fileURLToPath(new URL("folder-discord", import.meta.url));

/** Statements of a start, in their order. */
const POINTS: readonly (readonly [string, StatementTest])[] = [
  ["the dead are being looked for", ({ name }) => name === "takeover.look"],
  ["the accounts are being enrolled", ({ name }) => name === "account.enrol"],
];

const STARTS = sampled(POINTS, 1);

test.each(STARTS.rows)(
  "a process that loses its lease while %s never says that it is ready, and leaves with exit code 75",
  { ...STARTS.options, timeout: 120_000 },
  async (_what, point) => {
    await using owned = await testDatabase();
    await using proxy = await PostgresProxy.start(owned.url);
    await using discord = await FakeDiscord.start({ identifyWindowMs: 1 });
    const general = discord.addChannel(discord.addGuild("두레"), "general");
    const tokens = Object.fromEntries(
      ["ruda", "eden"].map((name) => [
        `DISCORD_TOKEN_${name.toUpperCase()}`,
        discord.addBot({ name, token: `token-${name}` }).token,
      ]),
    );
    const stop = proxy.stop("before", point);
    await using server = ServerProcess.spawn(
      {
        DATABASE_URL: proxy.url,
        DISCORD_API_URL: discord.url,
        TEST_DISCORD_CHANNEL: general.id,
        ...tokens,
      },
      TEAM,
    );
    const said = server.url.then(
      () => "ready",
      () => "never ready",
    );
    await within(stop.reached, "the start did not come to the point", () => server.log);

    await owned.database.query({
      text: `
        update dure.processes
        set ended_at = clock_timestamp(), ended_because = 'silent', epoch = epoch + 1`,
    });
    // It notices by itself, or by its sessions, which its successor ends.
    await eventually(
      () =>
        expect(
          server.isOver || server.log.some((line) => line.includes("is fenced (taken-over)")),
        ).toBe(true),
      { patienceMs: 60_000, everyMs: 50, also: () => server.log.join("\n") },
    );
    stop.release();

    expect(await server.exit).toBe(75);
    expect(await said, server.log.join("\n")).toBe("never ready");
    expect(server.log.filter((line) => line.includes("is ready at"))).toEqual([]);
  },
);
