import { globSync, readFileSync } from "node:fs";
import path from "node:path";
import { expect, test } from "vitest";
import { EFFECT_STATUSES } from "../../src/durable/turns.ts";
import { ENTRY_ENDS, OPEN_ENTRY_STATES } from "../../src/durable/outbox-step.ts";
import { testDatabase } from "../../src/durable/test-database.ts";
import { NEXT_STATUSES } from "../../src/jobs/job.ts";
import { ESCALATION_STATUSES } from "../../src/kernel/escalation.ts";
import { JOB_ENDS, JOB_STATUSES, OPEN_JOB_STATUSES } from "../../src/kernel/jobs.ts";
import {
  isPortOver,
  OPEN_RUN_STATUSES,
  PLAN_RUN_STATUSES,
  PORT_STATUSES,
  RUN_OUTCOMES,
  STEP_STATUSES,
} from "../../src/kernel/plans.ts";
import {
  ACCOUNT_STATES,
  DELIVERIES,
  PLACE_STATES,
  REQUEST_STATES,
} from "../../src/kernel/rooms.ts";
import { TURN_STATUSES } from "../../src/kernel/turn-events.ts";
import { FiringJson } from "../../src/wire/schedules.ts";

/** Statements name statuses as text: what is not in one of these lists was forgotten there. */

const ROOT = path.resolve(import.meta.dirname, "../../../..");

const isRetried = (end: (typeof JOB_ENDS)[number]): boolean => NEXT_STATUSES[end].length > 0;

/** Every list that a statement may ask for. */
const LISTS: readonly (readonly string[])[] = [
  ...[OPEN_JOB_STATUSES, JOB_ENDS, JOB_ENDS.filter(isRetried)],
  ...[JOB_ENDS.filter((end) => !isRetried(end)), NEXT_STATUSES.PENDING],
  ...[OPEN_RUN_STATUSES, RUN_OUTCOMES, PORT_STATUSES.filter(isPortOver)],
  OPEN_RUN_STATUSES.filter((status) => status !== "waiting_host"), // those that a process leads
  ...[OPEN_ENTRY_STATES, ENTRY_ENDS.filter((end) => end !== "unknown")], // doubt waits for a person
  DELIVERIES.filter((delivery) => delivery !== "queued"),
  EFFECT_STATUSES.filter((status) => status !== "done" && status !== "failed"),
  EFFECT_STATUSES.filter((status) => status === "done" || status === "failed"),
  TURN_STATUSES.filter((status) => status !== "queued"),
  PLACE_STATES.filter((state) => state !== "open" && state !== "closed"),
  ACCOUNT_STATES.filter((state) => state === "ready" || state === "reconnecting"),
];

const IN_LIST = /(?:\b(?:status|state|delivery)'?|\$\d+) (?:not )?in \(([^()]*'[^()]*)\)/gu;

test("each list of statuses in a statement is a list of the types", () => {
  const known = new Set(LISTS.map(nameOf));
  const files = globSync(["packages/dure/src/**/*.ts", "chaos/*.ts"], { cwd: ROOT });
  const found = files
    .filter((file) => !/\.test\.ts$|\/(?:durable\/schema|parse)\//u.test(file))
    .flatMap((file) => {
      const text = readFileSync(path.join(ROOT, file), "utf8");
      return [...text.matchAll(IN_LIST)].map(([, list = ""]) => ({ file, list: valuesOf(list) }));
    });

  expect(found.filter(({ list }) => !known.has(nameOf(list)))).toEqual([]);
  expect(found.length).toBeGreaterThan(40); // it has looked at something
});

const COLUMNS: Readonly<Record<string, readonly string[]>> = {
  "accounts.state": ACCOUNT_STATES,
  "effects.status": EFFECT_STATUSES,
  "escalations.status": ESCALATION_STATUSES,
  "jobs.status": JOB_STATUSES,
  "outbox.state": [...OPEN_ENTRY_STATES, ...ENTRY_ENDS],
  "places.state": PLACE_STATES,
  "plan_ports.status": PORT_STATUSES,
  "plan_runs.status": PLAN_RUN_STATUSES,
  "plan_steps.status": STEP_STATUSES,
  "requests.state": REQUEST_STATES,
  "room_messages.delivery": DELIVERIES,
  "schedule_firings.status": FiringJson.shape.status.options,
  "turns.status": TURN_STATUSES,
};

test("each column of a status takes what its type has, and nothing else", async () => {
  await using db = await testDatabase();
  const rows = await db.database.query<{ column: string; definition: string }>({
    text: `
      select replace(c.conrelid::regclass::text, 'dure.', '') || '.' || a.attname as "column",
        pg_get_constraintdef(c.oid) as definition
      from pg_constraint c
      join pg_attribute a on a.attrelid = c.conrelid and c.conkey = array[a.attnum]
      where c.contype = 'c' and c.connamespace = 'dure'::regnamespace`,
  });
  const taken = Object.fromEntries(
    rows
      .filter(({ column }) => column in COLUMNS)
      .map(({ column, definition }) => [column, nameOf(valuesOf(definition))]),
  );

  expect(taken).toEqual(
    Object.fromEntries(Object.entries(COLUMNS).map(([column, list]) => [column, nameOf(list)])),
  );
});

function valuesOf(list: string): string[] {
  return [...list.matchAll(/'([^']*)'/gu)].map(([, value = ""]) => value);
}

function nameOf(list: readonly string[]): string {
  return list.toSorted().join(" ");
}
