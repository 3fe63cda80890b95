/** What the rows of a place do by themselves, for every writer. */

import { describe, expect, test } from "vitest";
import type { Database } from "../durable/database.ts";
import { testDatabase } from "../durable/test-database.ts";
import { untilBlocked } from "../durable/test-members.ts";
import { ROOM_LIMITS } from "./limits.ts";
import { placeOf, sessionIdOf, type PlaceRow } from "./place.ts";
import { maySee } from "./look/room-person.ts";
import { RoomStore, type NewHandling, type WrittenMessage } from "./room-store.ts";

const HOUR_MS = 3_600_000;

async function openWorld() {
  const db = await testDatabase();
  const { database } = db;
  await database.query({
    text: `insert into dure.places (id, adapter, kind, parent, name, thread) values
      ('web:general', 'web', 'channel', null, 'general', null),
      ('web:thread', 'web', 'thread', 'web:general', 'thread', 't')`,
  });
  const store = new RoomStore({ database, limits: ROOM_LIMITS });
  return {
    database,
    store,
    open: (id: string) => database.transaction((tx) => store.open(tx, id)),
    say: (id: string, given: Partial<WrittenMessage> = {}) =>
      database.transaction((tx) => store.write(tx, aMessage(id, given))),
    [Symbol.asyncDispose]: () => db[Symbol.asyncDispose](),
  };
}

function aMessage(id: string, given: Partial<WrittenMessage> = {}): WrittenMessage {
  return {
    place: "web:general",
    adapter: "web",
    known: false,
    message: {
      id,
      author_kind: "person",
      author: "mina",
      author_name: "Mina",
      text: "hello",
      mentions: [],
    },
    roles: {},
    joins: [],
    handlings: [],
    change: {},
    events: [],
    ...given,
  };
}

test("what is written in a place at once gets one order, and each is counted", async () => {
  await using world = await openWorld();

  await Promise.all(
    Array.from({ length: 8 }, (_, index) =>
      world.database.transaction(async (tx) => {
        const place = await world.store.open(tx, "web:general");
        await world.store.write(
          tx,
          aMessage(`message_${index}`, { change: { agent_messages: place!.agentMessages + 1 } }),
        );
      }),
    ),
  );

  expect((await world.open("web:general"))!.agentMessages).toBe(8);
  const rows = await world.database.query<{ seq: number }>({
    text: "select seq from dure.room_messages order by seq",
  });
  expect(rows.map(({ seq }) => seq)).toEqual([1, 2, 3, 4, 5, 6, 7, 8]);
});

const PLACES = [
  null,
  "web:general",
  "direct_web",
  "direct_discord",
  "private_web",
  "private_thread",
  "direct_gone",
];
/** Private ones, of which their platform has told nothing, and open ones, with a thread of each. */
const CHANNELS = ["open", "board", "new"].flatMap((name) => [`slack:${name}`, `thread_${name}`]);

test("what is private is known to its person alone, and so is the work that began there", async () => {
  await using world = await openWorld();
  await addPrivatePlaces(world.database);
  const [root, child, gone] = [aJobId("A"), aJobId("B"), aJobId("C")];
  await addJobs(world.database, { root, child, session: "room:ruda:direct_web" });
  await addEscalation(world.database, { id: "of_room", session: "room:ruda:direct_web" });
  await addEscalation(world.database, { id: "of_work", session: `job:${child}:eden` });
  await addEscalation(world.database, { id: "of_channel", session: "room:ruda:web:general" });
  const asked = ["of_room", "of_work", "of_channel", "gone"].map((id) => `escalation:${id}`);
  const known = async (tenant: string, person: string): Promise<readonly string[]> => {
    const rows = await world.database.query<{ what: string }>({ text: KNOWN }, [
      [...PLACES, ...CHANNELS],
      [null, "mine", "room:ruda:direct_web", `job:${root}:eden`, `job:${child}:eden`, ...asked],
      [null, root, child, gone],
      tenant,
      person,
    ]);
    return rows.map(({ what }) => what).toSorted();
  };

  const open = [
    "job ",
    "place ",
    "place slack:open",
    "place thread_open",
    "place web:general",
    "session ",
    "session escalation:of_channel",
    "session mine",
  ];
  const ofMina = [
    `job ${root}`,
    `job ${child}`,
    "place direct_web",
    "place private_web",
    "session escalation:of_room",
    "session escalation:of_work",
    `session job:${root}:eden`,
    `session job:${child}:eden`,
    "session room:ruda:direct_web",
  ];

  expect(await known("acme", "mina")).toEqual([...open, ...ofMina].toSorted());
  expect(await known("acme", "junho")).toEqual(open);
  expect(await known("", "mina")).toEqual(open);
  expect(await known("acme", "")).toEqual(open);
});

test("work that began in a private channel is private, and says where it began", async () => {
  await using world = await openWorld();
  await addPrivatePlaces(world.database);
  const [root, child] = [aJobId("A"), aJobId("B")];
  await addJobs(world.database, {
    root,
    child,
    session: "room:ruda:slack:board@@0123456789abcdef",
  });
  const sessions = ["room:ruda:slack:board", "room:ruda:thread_new", "room:ruda:slack:open"];

  const rows = await world.database.query<{ place: string | null }>(
    {
      text: "select dure.private_place_of(s) as place from unnest($1::text[]) s",
    },
    [[...sessions, `job:${child}:eden`]],
  );

  expect(rows.map(({ place }) => place)).toEqual([
    "slack:board",
    "thread_new",
    null,
    "slack:board",
  ]);
});

test("lists show the places that maySee shows, to everyone alike", async () => {
  await using world = await openWorld();
  await addPrivatePlaces(world.database);
  const rows = await world.database.query<PlaceRow>({
    text: "select p.*, dure.is_private(p) as is_private from dure.places p",
  });
  const people = ["", "acme", "other"].flatMap((tenant) =>
    ["", "mina", "junho"].flatMap((person) => [
      { tenant, person },
      { tenant, person, seesAll: true },
    ]),
  );

  for (const who of people) {
    const listed = await world.database.query<{ id: string }>(
      { text: "select id from dure.places p where dure.may_see_place(p, $1, $2, $3)" },
      [who.tenant, who.person, "seesAll" in who],
    );
    const seen = rows.filter((row) => maySee(placeOf(row), who));
    expect([who, listed.map(({ id }) => id).toSorted()]).toEqual([
      who,
      seen.map(({ id }) => id).toSorted(),
    ]);
  }
});

test("the first job of some work is kept as long as one of the others: it says to whom they belong", async () => {
  await using world = await openWorld();
  const [root, child] = [aJobId("A"), aJobId("B")];
  await addJobs(world.database, { root, child, session: "room:ruda:direct_web" });
  const end = (id: string): Promise<unknown> =>
    world.database.query(
      {
        text: `
          update dure.jobs
          set status = 'CANCELLED', outcome = 'cancelled', finished_at = now() - interval '8 days'
          where id = $1`,
      },
      [id],
    );
  const removed = async (): Promise<number | undefined> => {
    const text = "select dure.purge_jobs(7 * 86400000, 100) as jobs";
    return (await world.database.query<{ jobs: number }>({ text }))[0]?.jobs;
  };

  await end(root);
  expect(await removed()).toBe(0);
  await end(child);
  expect(await removed()).toBe(2);
});

test("a stop in a channel ends what was asked for there, also in the line of one person", async () => {
  await using world = await openWorld();
  const line = sessionIdOf("ruda", "web:general", "mina");
  const sessions = ["room:ruda:web:general", line, "room:ruda:web:thread", "room:ruda:web:other"];
  for (const [index, session] of sessions.entries()) {
    const [root, child] = [aJobId(String(index)), aJobId("ABCD"[index]!)];
    await addJobs(world.database, { root, child, session });
  }

  const [stopped] = await world.database.query<{ jobs: number }>({
    text: "select dure.stop_jobs_of('web:general', 'mina', clock_timestamp()) as jobs",
  });

  expect(stopped).toEqual({ jobs: 3 });
  const left = await world.database.query<{ session: string }>({
    text: `
      select origin_session as session
      from dure.jobs
      where status = 'PENDING' and origin_session is not null`,
  });
  expect(left).toEqual([{ session: "room:ruda:web:other" }]);
});

test("a suspension ends with its time, not before", async () => {
  await using world = await openWorld();
  const suspend = (until: string) =>
    world.database.query({
      text: `
        update dure.places
        set state = 'suspended',
          suspended_until = clock_timestamp() ${until} interval '1 minute'
        where id = 'web:general'`,
    });

  await suspend("+");
  expect((await world.open("web:general"))!.state).toBe("suspended");

  await suspend("-");
  expect((await world.open("web:general"))!.state).toBe("open");
});

test("who took part in a thread is forgotten when it slept for too long, not before", async () => {
  await using world = await openWorld();
  await world.database.query({
    text: "insert into dure.participants (place, agent) values ('web:thread', 'ruda')",
  });
  const sleptFor = (ms: number) =>
    world.database.query(
      {
        text: `
          update dure.places
          set active_at = clock_timestamp() - $1 * interval '1 millisecond'
          where id = 'web:thread'`,
      },
      [ms],
    );

  await sleptFor(ROOM_LIMITS.participantsMs - HOUR_MS);
  expect((await world.open("web:thread"))!.participants).toEqual(["ruda"]);

  await sleptFor(ROOM_LIMITS.participantsMs + HOUR_MS);
  expect((await world.open("web:thread"))!.participants).toEqual([]);
});

test("who comes to a place that was found to be another one is led there", async () => {
  await using world = await openWorld();
  await world.database.query({
    text: `
      insert into dure.places (id, adapter, kind, parent, name, thread, moved_to)
      values ('web:double', 'web', 'thread', 'web:general', 'double', 'd', 'web:thread')`,
  });

  expect(await world.open("web:double")).toMatchObject({ id: "web:thread" });
});

test("a place keeps fifty records of what was overheard, the newest", async () => {
  await using world = await openWorld();

  for (let index = 1; index <= 60; index++) {
    await world.say(`message_${index}`, {
      observed: { sender: "Mina", excerpt: "hello", agents: ["ruda"] },
    });
  }

  const rows = await world.database.query<{ seq: number }>({
    text: "select seq from dure.observations order by seq",
  });
  expect(rows.map(({ seq }) => seq)).toEqual(Array.from({ length: 50 }, (_, index) => index + 11));
});

test("the work that a message makes for an agent is made once", async () => {
  await using world = await openWorld();
  const handlings: readonly NewHandling[] = [
    { id: "handling_1_ruda", agent: "ruda", session: "room:ruda:web:general" },
  ];
  await world.say("message_1", { handlings });
  await world.database.query({ text: "update dure.handlings set state = 'done'" });

  await world.say("message_1", { handlings, known: true, message: { id: "message_1" } });

  expect(await world.database.query({ text: "select id, state from dure.handlings" })).toEqual([
    { id: "handling_1_ruda", state: "done" },
  ]);
});

describe("of the work in a session", () => {
  test("what a living process does is left to it, what a dead one did is given to the next", async () => {
    await using world = await openWorld();
    await addProcess(world.database, "process_lives", { ended: false });
    await addProcess(world.database, "process_dead", { ended: true });
    await addWork(world.database, {
      id: "kept",
      session: "one",
      state: "running",
      holder: "process_lives",
    });
    await addWork(world.database, {
      id: "left",
      session: "two",
      state: "running",
      holder: "process_dead",
    });

    expect(await startWork(world.database)).toEqual(["left"]);
    expect(await startWork(world.database)).toEqual(["left"]); // this process does not know that it has it
    expect(await startWork(world.database, ["left"])).toEqual([]);
  });

  test("the first is given first, and the next when it has ended", async () => {
    await using world = await openWorld();
    await addWork(world.database, { id: "a-second", session: "one", ageMs: 1_000 });
    await addWork(world.database, { id: "b-first", session: "one", ageMs: 2_000 });

    expect(await startWork(world.database)).toEqual(["b-first"]);
    expect(await startWork(world.database, ["b-first"])).toEqual([]);

    await world.database.query({
      text: "update dure.handlings set state = 'done' where id = 'b-first'",
    });
    expect(await startWork(world.database)).toEqual(["a-second"]);
  });

  test("a second agent's starts at its time, or when what it stands behind has ended", async () => {
    await using world = await openWorld();
    await addWork(world.database, {
      id: "first",
      session: "one",
      state: "running",
      holder: "process_me",
    });
    await addWork(world.database, {
      id: "behind",
      session: "two",
      behind: "first",
      waitMs: HOUR_MS,
    });
    await addWork(world.database, {
      id: "later",
      session: "three",
      behind: "nothing",
      waitMs: HOUR_MS,
    });

    expect(await startWork(world.database, ["first"])).toEqual([]);

    await world.database.query({
      text: "update dure.handlings set state = 'done' where id = 'first'",
    });
    expect(await startWork(world.database)).toEqual(["behind"]);

    await world.database.query({
      text: "update dure.handlings set not_before = clock_timestamp() where id = 'later'",
    });
    expect(await startWork(world.database, ["behind"])).toEqual(["later"]);
  });

  test("what another process was given since the look began is not given again", async () => {
    await using world = await openWorld();
    await addProcess(world.database, "process_lives", { ended: false });
    await addWork(world.database, { id: "first", session: "one" });
    await addWork(world.database, { id: "second", session: "two" });

    const other = await world.database.connectSession();
    await other.query("begin");
    await other.query("select from dure.handlings where id = 'first' for update");
    const given = startWork(world.database);
    await untilBlocked(world.database, "%start_handlings%");
    await other.query(
      "update dure.handlings set state = 'running', holder = 'process_lives' where id = 'second'",
    );
    await other.query("commit");
    await other.end();

    expect(await given).toEqual(["first"]);
  });

  test("nothing is given while another process decides about it, and no more than was asked for", async () => {
    await using world = await openWorld();
    for (const session of ["one", "two", "three"]) {
      await addWork(world.database, { id: session, session });
    }

    const given = await world.database.transaction(async (tx) => {
      await tx.query({
        text: "select pg_advisory_xact_lock(hashtextextended('dure:handlings:one', 0))",
      });
      return startWork(world.database);
    });

    expect(given.toSorted()).toEqual(["three", "two"]);
    await addWork(world.database, { id: "four", session: "four" });
    expect(await startWork(world.database, given, 1)).toHaveLength(1);
  });
});

interface Work {
  readonly id: string;
  readonly session: string;
  readonly state?: string;
  readonly holder?: string;
  readonly behind?: string;
  readonly waitMs?: number;
  readonly ageMs?: number;
}

async function addWork(
  database: Database,
  { id, session, state, holder, behind, waitMs, ageMs }: Work,
): Promise<void> {
  await database.query(
    {
      text: `
        insert into dure.handlings (
          id, agent, place, session, state, holder, behind, not_before, created_at
        )
        values (
          $1, 'ruda', 'web:general', $2, $3, $4, $5,
          clock_timestamp() + $6 * interval '1 millisecond',
          clock_timestamp() - $7 * interval '1 millisecond'
        )`,
    },
    [id, session, state ?? "waiting", holder ?? null, behind ?? null, waitMs ?? 0, ageMs ?? 0],
  );
}

/** Ids of the work that this process is given when it knows that it has `known`. */
async function startWork(
  database: Database,
  known: readonly string[] = [],
  most = 64,
): Promise<readonly string[]> {
  const rows = await database.query<{ id: string }>(
    { text: "select id from dure.start_handlings('process_me', $1, $2)" },
    [most, known],
  );
  return rows.map(({ id }) => id);
}

async function addPrivatePlaces(database: Database): Promise<void> {
  await database.query({
    text: `
      insert into dure.places (
        id, adapter, kind, parent, name, tenant, person, agent, seen_by_all
      )
      values
        ('direct_web', 'web', 'direct', null, 'mina', 'acme', 'mina', 'ruda', null),
        ('direct_discord', 'discord', 'direct', null, 'mina', 'acme', 'mina', 'ruda', null),
        ('web:general@acme', 'web', 'channel', null, 'general', 'acme', null, null, null),
        ('private_web', 'web', 'thread', 'direct_web', 'ours', 'acme', 'mina', null, null),
        ('private_thread', 'discord', 'thread', 'web:general', 'ours', 'acme', null, null, null),
        ('slack:open', 'slack', 'channel', null, 'open', 'acme', null, null, true),
        ('slack:board', 'slack', 'channel', null, 'board', 'acme', null, null, false),
        ('slack:new', 'slack', 'channel', null, 'new', 'acme', null, null, null),
        ('thread_open', 'slack', 'thread', 'slack:open', 'o', 'acme', null, null, null),
        ('thread_board', 'slack', 'thread', 'slack:board', 'b', 'acme', null, null, true),
        ('thread_new', 'slack', 'thread', 'slack:new', 'n', 'acme', null, null, true)`,
  });
}

function aJobId(letter: string): string {
  return `job_${letter.repeat(26)}`;
}

async function addEscalation(
  database: Database,
  { id, session }: { id: string; session: string },
): Promise<void> {
  await database.query(
    {
      text: `
        insert into dure.escalations (id, subject, type, severity, tenant, title, session_id)
        values ($1, $1, 'info', 'low', 'acme', 't', $2)`,
    },
    [id, session],
  );
}

/** A job that was asked for in a session, and one that was asked for by that job. */
async function addJobs(
  database: Database,
  { root, child, session }: { root: string; child: string; session: string },
): Promise<void> {
  await database.query(
    {
      text: `
        insert into dure.jobs (
          id, root_id, root_work, parent_id, origin_session, requester, target, message, intent,
          conversation_id, max_turns, queued_ms, progress_ms
        )
        values
          ($1, $1, 'w', null, $3, 'ruda', 'eden', 'm', 'QUESTION', 'c', 1, 0, 0),
          ($2, $1, 'w', $1, null, 'eden', 'seum', 'm', 'QUESTION', 'c', 1, 0, 0)`,
    },
    [root, child, session],
  );
}

/** Places, sessions and jobs that a person of a tenant may know of. */
const KNOWN = `
  select 'place ' || coalesce(id, '') as what
  from unnest($1::text[]) id
  where dure.may_know_place(id, $4, $5)
  union all
  select 'session ' || coalesce(id, '')
  from unnest($2::text[]) id
  where dure.may_know_session(id, $4, $5)
  union all
  select 'job ' || coalesce(id, '')
  from unnest($3::text[]) id
  where dure.may_know_job(id, $4, $5)`;

async function addProcess(
  database: Database,
  id: string,
  { ended }: { ended: boolean },
): Promise<void> {
  await database.query(
    {
      text: `
        insert into dure.processes (
          id, app_version, host, machine, pid, pid_started, ended_at, ended_because
        )
        values (
          $1, '1', 'h', 'm', 1, '1', case when $2 then clock_timestamp() end,
          case when $2 then 'gone' end
        )`,
    },
    [id, ended],
  );
}
