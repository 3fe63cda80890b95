import { expect, test } from "vitest";
import { testDatabase } from "../durable/test-database.ts";
import { raiseEscalations } from "../escalations/inbox.ts";
import type { NewEscalation } from "../kernel/escalation.ts";
import { silentLogger } from "../kernel/logger.ts";
import { until } from "../../test/until.ts";
import { readTeam } from "./config.ts";
import { readEnvironment } from "./environment.ts";
import { startTeam } from "./start.ts";

const SECRET = "민아만 아는 말";
const asked = (subject: string, source: NewEscalation["source"], title: string): NewEscalation => ({
  subject,
  type: "conflict",
  severity: "high",
  source,
  title,
  suggestedActions: [{ value: "yes", label: title }],
});

test("what waits in private is said in the room of decisions without its words and answers", async () => {
  await using db = await testDatabase();
  const team = await startTeam(
    await readTeam(
      {
        name: "두레",
        locale: "ko",
        model: "offline:echo",
        agents: { ruda: { displayName: "루다", leads: true } },
        rooms: { channels: { ops: { name: "운영" } } },
        escalations: { room: "ops" },
      },
      import.meta.dirname,
    ),
    { ...readEnvironment({ PORT: "0" }), databaseUrl: db.url },
    { logger: silentLogger },
  );
  await using _stop = { [Symbol.asyncDispose]: () => team.stop() };

  await raiseEscalations(db.database, [
    asked("of a room", { room: "direct_mina" }, SECRET),
    asked("of a thread", { session: "room:ruda:private_thread" }, SECRET),
    asked("of an operator's look", { session: "escalation:gone" }, SECRET),
    asked("of work that is gone", { job: `job_${"A".repeat(26)}` }, SECRET),
    asked("of a channel", { room: "web:ops" }, "모두가 아는 말"),
  ]);

  const said = await until(
    async () => {
      const rows = await db.database.query<{ text: string; buttons: object[] | null }>({
        text: "select text, buttons from dure.room_messages order by text",
      });
      return rows.length === 5 ? rows : undefined;
    },
    () => "not every escalation was said in the room",
  );
  const hidden = said.filter(({ buttons }) => buttons === null);
  expect(hidden.map(({ text }) => text)).toEqual(
    Array.from({ length: 4 }, () => expect.stringContaining("따로 나눈 대화")),
  );
  expect(JSON.stringify(said)).not.toContain(SECRET);
  expect(said.map(({ text }) => text)).toContainEqual(expect.stringContaining("모두가 아는 말"));
});
