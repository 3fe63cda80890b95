import { systemClock } from "../../src/kernel/clock.ts";
import { silentLogger } from "../../src/kernel/logger.ts";
import { Database } from "../../src/durable/database.ts";
import { replaceFile } from "../../src/team/agent-edit-files.ts";
import { AgentEdits } from "../../src/team/agent-edits.ts";
import { checkTeam } from "../../src/team/config.ts";

/**
 * A process that changes SOUL.md and stands still at a point, to be killed there:
 * `edit-process.ts FOLDER DATABASE POINT VERSION`.
 */
const [folder = "", url = "", point = "", version = ""] = process.argv.slice(2);

const database = await Database.open({
  url,
  applicationName: "dure:edit-process",
  logger: silentLogger,
  clock: systemClock,
});

const edits = new AgentEdits({
  folder,
  host: "host-of-test",
  database,
  notifications: { publish: () => {}, subscribe: () => () => {} },
  reloader: {
    configured: checkTeam(
      { file: "t", value: { services: {}, agents: { eden: {} } }, locate: () => undefined },
      folder,
    ),
    takeIn: async (_agent, { write }) => {
      await write?.();
      if (point === "taken-in") await standStill();
    },
  },
  clock: systemClock,
  logger: silentLogger,
  replace: async (place, text) => {
    if (point === "row") await standStill();
    await replaceFile(place, text);
    if (point === "file") await standStill();
  },
});

await edits.save({ agent: "eden", file: "SOUL.md", text: "new\n", version, by: "test" });
process.stdout.write("over\n");

function standStill(): Promise<never> {
  process.stdout.write("there\n");
  return new Promise(() => setInterval(() => {}, 1_000));
}
