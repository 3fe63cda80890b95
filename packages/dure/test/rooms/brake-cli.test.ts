import { expect, onTestFinished, test } from "vitest";
import { pauseAgent, stopPlace } from "../../src/cli/brake.ts";
import type { Output } from "../../src/cli/output.ts";
import { WORDS_EN } from "../../src/cli/words/words.en.ts";
import { DureClient } from "../../src/client/index.ts";
import { testDatabase } from "../../src/durable/test-database.ts";
import { FULL } from "../../src/kernel/test-tiers.ts";
import { readEnvironment, readTeam, silentLogger, startTeam } from "../../src/team/index.ts";
import { eventually } from "../until.ts";

const PLACE = "web:general";

test(
  "dure pause, stop and resume do it, say it in the room, and are in the audit",
  { ...FULL, timeout: 90_000 },
  async () => {
    const owned = await testDatabase();
    onTestFinished(() => owned[Symbol.asyncDispose]());
    const team = await startTeam(
      await readTeam(
        {
          name: "두레",
          model: "offline:echo",
          locale: "en",
          agents: { ruda: { leads: true }, eden: {} },
        },
        ".",
      ),
      { ...readEnvironment({ PORT: "0" }), databaseUrl: owned.url },
      { logger: silentLogger },
    );
    onTestFinished(() => team.stop());
    const lines: string[] = [];
    const line = (text: string): void => void lines.push(text);
    const output = { line, result: () => {}, words: WORDS_EN };
    const client = new DureClient({ baseUrl: team.url });
    const order = { client, output: output as unknown as Output, person: "민준" };
    const shown = async (): Promise<string> =>
      (await client.rooms("민준").messages(PLACE)).items.map(({ text }) => text).join("\n");

    await pauseAgent("eden", true, order);
    await client.rooms("민준").post(PLACE, { text: "@eden a long piece of work" });
    await eventually(async () => expect(await shown()).toContain("민준 has paused eden"));
    await stopPlace("room", PLACE, order);
    await eventually(async () =>
      expect(await shown()).toContain("민준 has stopped what ran here: 1 answer"),
    );
    await pauseAgent("eden", false, order);
    await client.rooms("민준").post(PLACE, { text: "@eden a new one" });
    await eventually(async () => expect(await shown()).toContain("민준: @eden a new one"));

    expect(lines).toEqual([
      expect.stringContaining("eden is paused"),
      `stopped in ${PLACE}: 1 answers, 0 requests, 0 jobs`,
      expect.stringContaining("eden goes on"),
    ]);
    const deeds = { text: "select what, subject, outcome from dure.audit order by at, id" };
    expect(await owned.database.query(deeds)).toMatchObject([
      { what: "agent.pause", subject: "eden", outcome: "done" },
      { what: "room.stop", subject: PLACE, outcome: "done" },
      { what: "agent.resume", subject: "eden", outcome: "done" },
    ]);
  },
);
