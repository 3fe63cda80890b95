// @module-tag slow
import { expect, test } from "vitest";
import { until } from "../until.ts";
import { startTraceTeam } from "./trace-team.ts";

const SLOW = { timeout: 60_000 };
const PEOPLE = ["chat", "rooms", "jobs", "plans"] as const;

test("the list is filtered by what a trace was, and pages have no gap", SLOW, async () => {
  const { personOf } = await startTraceTeam();
  const mina = await personOf("mina", PEOPLE);
  for (const message of ["alpha", "two", "do it in the background"]) {
    await mina.sendMessage({ sessionId: message.slice(0, 2), service: "ruda", message }).done;
  }
  const ended = () => mina.traces.list({ kind: "job", state: "done" });
  await until(
    async () => (await ended()).items.length === 1,
    () => "no job has ended",
  );

  const all = await mina.traces.list();
  const first = await mina.traces.list({ limit: 2 });
  const rest = await mina.traces.list({ limit: 200, cursor: first.nextCursor! });
  const ids = (page: typeof all): readonly string[] => page.items.map(({ id }) => id);

  expect([...ids(first), ...ids(rest)]).toEqual(ids(all));
  expect(all.nextCursor).toBeNull();
  const found = async (
    filter: Parameters<typeof mina.traces.list>[0],
  ): Promise<readonly string[]> => (await mina.traces.list(filter)).items.map(({ title }) => title);
  expect(await found({ kind: "job" })).toEqual(["count the tests"]);
  expect(await found({ search: "TWO" })).toEqual(["two"]);
  expect(await found({ agent: "eden", kind: "turn" })).toEqual([]);
  expect(await found({ model: "offline:one", search: "alpha" })).toEqual(["alpha"]);
  expect(await found({ model: "offline:other" })).toEqual([]);
  expect(await found({ state: "failed" })).toEqual([]);
  expect(await found({ minMicroUsd: 1 })).toEqual([]);
  expect(await found({ until: 1 })).toEqual([]);
  expect(all.items.find(({ title }) => title === "alpha")).toMatchObject({
    ...{ kind: "turn", who: "ruda", status: "done", models: ["offline:one"], microUsd: 0 },
  });
});

test(
  "the list shows what a viewer may read: its tenant, its scopes, its private rooms",
  SLOW,
  async () => {
    const { personOf } = await startTraceTeam();
    const mina = await personOf("mina", PEOPLE, "acme");
    const guest = await personOf("guest", ["chat"], "acme");
    const other = await personOf("junho", ["admin"], "beta");
    await mina.sendMessage({ sessionId: "t", service: "ruda", message: "in the background" }).done;
    const room = await mina.rooms().direct("ruda");
    await mina.rooms().post(room.id, { text: "secret" });
    await until(
      async () => (await mina.traces.list({ search: "secret" })).items.length > 0,
      () => "the private turn is not there",
    );

    expect(await other.traces.list()).toEqual({ items: [], nextCursor: null });
    const seen = await guest.traces.list();
    expect(seen.items.map(({ kind }) => kind)).toEqual(["turn"]);
    expect(JSON.stringify(seen)).not.toContain("secret");
  },
);

test("a page of ten thousand turns reads a bounded part, and finds an old one", SLOW, async () => {
  const { personOf, database } = await startTraceTeam();
  const mina = await personOf("mina", PEOPLE);
  const sent = mina.sendMessage({ sessionId: "old", service: "ruda", message: "needle" });
  await sent.done;
  await database.query({ text: MANY_TURNS }, [await sent.turnId]);

  let cursor: string | undefined;
  let pages = 0;
  let found: readonly unknown[] = [];
  while (found.length === 0 && pages < 20) {
    const page = await mina.traces.list({ search: "needle", cursor });
    found = page.items;
    cursor = page.nextCursor ?? undefined;
    pages += 1;
    if (cursor === undefined) break;
  }

  expect(found).toMatchObject([{ title: "needle" }]);
  expect(pages).toBe(6);
  expect((await mina.traces.list()).items).toHaveLength(50);
});

/** Ten thousand turns of later ids than `$1`, in a session that is there. */
const MANY_TURNS = `
  insert into dure.turns (id, session_id, service, version, status, accepted_at, finished_at, done)
  select 'turn_7' || lpad(n::text, 25, '0'), t.session_id, t.service, t.version, 'done',
         t.accepted_at, t.finished_at, t.done - 'message'
  from dure.turns t, generate_series(1, 10000) n
  where t.id = $1`;
