// @module-tag slow
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { newId } from "../../src/kernel/ids.ts";
import type { Scope } from "../../src/kernel/access.ts";
import { PostgresTokenStore } from "../../src/server/token-store.ts";
import { SseReader } from "../../src/server/test-server.ts";
import { startContractTeam, type ContractTeam } from "../contract/contract-team.ts";
import { eventually } from "../until.ts";
import { ROUTES, type Row } from "./route-table.ts";
import { noThings, type Things } from "./tenant-things.ts";

/**
 * Each route × the things of a direct room, asked for by others than its person. Source:
 * docs/spec/collaboration §9, "Who may read".
 */
const SECRET = "우리끼리만-아는-말";
const SCOPES: Scope[] = ["chat", "rooms", "jobs"];
/** Of the same forms, and of no owner. */
const NONE: Things = {
  ...noThings(),
  session: `room:ruda:${newId("direct")}`,
  room: newId("direct"),
};
const OTHERS = ["another person", "another tenant"] as const;

let team: ContractTeam;
let things: Things;
const tokens = new Map<string, string>();

beforeAll(async () => {
  team = await startContractTeam({ logins: 1_000 });
  const store = new PostgresTokenStore({ database: team.database });
  const people = [
    ["its person", { name: "mina", tenant: "" }],
    ["another person", { name: "junho", tenant: "" }],
    ["another tenant", { name: "mina", tenant: "acme" }],
  ] as const;
  for (const [who, person] of people) {
    tokens.set(who, (await store.create({ ...person, scopes: SCOPES })).token);
  }
  tokens.set("an operator", team.admin);
  things = await privateThings();
}, 120_000);

afterAll(async () => team?.[Symbol.asyncDispose](), 60_000);

const table = Object.entries(ROUTES);
const naming = table.filter(
  ([, { names, scope }]) => names === "thing" && SCOPES.includes(scope as Scope),
);
// Their things are none of a room's; doors of other protocols are tried below.
const ofRooms = naming.filter(([route]) => route.includes(" /v1/") && !route.includes("/threads/"));

describe.each(OTHERS)("to %s", (who) => {
  test("each route answers about what is of a direct room as about what does not exist", async () => {
    for (const [route, row] of ofRooms) {
      const theirs = await call(route, row, things, who);
      const none = await call(route, row, NONE, who);

      expect([route, theirs.status]).toEqual([
        route,
        row.own === "404 SESSION_UNKNOWN" ? none.status : row.absent,
      ]);
      expect(plain(theirs.body, things), route).toBe(plain(none.body, NONE));
    }
  });

  test("no list, no search and no event holds a word or an id of a direct room", async () => {
    const lists = table.filter(
      ([, row]) => row.names === "list" && row.isEndless !== true && !row.call(things).body,
    );
    for (const [route, row] of lists) {
      const { body } = await call(route, row, things, who);
      for (const word of [SECRET, things.room, things.job, things.escalation]) {
        expect(body.includes(word), `${route}: ${word}`).toBe(false);
      }
    }

    const told = await eventsOf(who);
    for (const word of [SECRET, things.room, things.job]) expect(told).not.toContain(word);
    expect(await eventsOf(who, `&session=${things.session}`)).not.toContain(things.room);
  });
});

test("a page is full of what its reader may know, whatever private things stand between", async () => {
  await team.database.query(
    {
      text: `
      insert into dure.escalations (
        id, subject, type, severity, tenant, title, room, session_id, job
      )
      select 'escalation_between_' || n, 'between:' || n, 'info', 'low', '', 'between ' || n,
        case when n % 4 = 1 then $1 end,
        case when n % 4 = 2 then $2 end,
        case when n % 4 = 3 then $3 end
      from generate_series(1, 40) n`,
    },
    [things.room, things.session, things.job],
  );

  const { items } = await get("another person", "/v1/escalations?limit=5");

  expect(items).toHaveLength(5);
  expect(JSON.stringify(items)).not.toContain(things.room);
  expect(JSON.stringify(items)).not.toContain(things.job);
  const jobs = await get("another person", "/v1/jobs?limit=1");
  expect([jobs.items, jobs.next_cursor]).toEqual([[], null]); // the one there is private
});

test("without a token each of them is refused", async () => {
  for (const [route, row] of ofRooms) {
    expect([route, (await call(route, row, things, undefined)).status]).toEqual([
      route,
      "401 TOKEN_NEEDED",
    ]);
  }
});

test.each(["its person", "an operator"])("%s sees session, events and job of it", async (who) => {
  const look = async (path: string): Promise<number> =>
    (await fetch(team.url + path, { headers: bearer(who) })).status;

  expect([
    await look(`/v1/agent/sessions/${things.session}`),
    await look(`/v1/agent/turns/${things.turn}/stream`),
    await look(`/v1/jobs/${things.job}`),
    await look(`/v1/escalations/${things.escalation}`),
    await look(`/v1/agent/sessions/escalation:${things.escalation}`),
  ]).toEqual([200, 200, 200, 200, 200]);
  expect(await eventsOf(who)).toContain(things.room);
});

describe.each(OTHERS)("for %s", (who) => {
  test("no door of another protocol leads to it", async () => {
    const doors = ({ session, turn }: Things) => [
      ["/openai/v1/responses", { model: "desk", input: "그리고?", previous_response_id: turn }],
      ["/openai/v1/responses", { model: "desk", input: "그리고?", conversation: session }],
      ["/ag-ui/v1/agents/desk", agUi(session)],
      ["/ai-sdk/v1/chat/desk", { id: session, messages: [said("그리고?")] }],
      [`/a2a/v1/desk/tasks/${turn}:cancel?A2A-Version=1.0`, undefined],
    ];
    const open = async (of: Things) => {
      const answers = doors(of).map(async ([path, body]) => {
        const answer = await send(who, path as string, body);
        return [answer.status, plain(await answer.text(), of)];
      });
      return Promise.all(answers);
    };

    const theirs = await open(things);

    expect(theirs).toEqual(await open(NONE));
    expect(theirs.map(([status]) => status)).toEqual([404, 403, 403, 403, 404]);
  });

  test("what the operator agent was asked about it is not there", async () => {
    const look = async (escalation: string): Promise<Answer> => {
      const path = `/v1/agent/sessions/escalation:${escalation}`;
      const answer = await fetch(team.url + path, { headers: bearer(who) });
      return {
        status: String(answer.status),
        body: (await answer.text()).replaceAll(escalation, "…"),
      };
    };

    expect(await look(things.escalation)).toEqual(await look("none"));
    expect((await look(things.escalation)).status).toBe("404");
    const list = await fetch(`${team.url}/v1/agent/sessions?limit=200`, { headers: bearer(who) });
    expect(await list.text()).not.toContain(things.escalation);
  });
});

// It is the last one: it removes the job of the direct room.
test("what is left of work that was removed is for operators alone", async () => {
  await team.database.query(
    {
      text: `
        update dure.jobs
        set status = 'COMPLETED', outcome = 'max_turns', started_at = now(), finished_at = now()
        where id = $1 and finished_at is null`,
    },
    [things.job],
  );
  await team.database.query(
    {
      text: `insert into dure.escalations (id, subject, type, severity, tenant, title, job)
        values ('of_removed', 'of_removed', 'info', 'low', '', $2, $1)`,
    },
    [things.job, SECRET],
  );
  const removed = await team.database.query<{ value: number }>({
    text: "select dure.purge_jobs(0, 100) as value",
  });
  expect(removed).toEqual([{ value: 1 }]);

  expect(await eventsOf("another person")).not.toContain(things.job);
  const { items } = await get("another person", "/v1/escalations?limit=100");
  expect(JSON.stringify(items)).not.toContain(SECRET);
  const one = async (who: string) =>
    (await fetch(`${team.url}/v1/escalations/of_removed`, { headers: bearer(who) })).status;
  expect([await one("another person"), await one("an operator")]).toEqual([404, 200]);
  expect(await eventsOf("an operator")).toContain(things.job);
});

const said = (text: string) => ({ id: "m1", role: "user", parts: [{ type: "text", text }] });
const agUi = (threadId: string) => ({
  threadId,
  runId: "r1",
  messages: [{ id: "m1", role: "user", content: "그리고?" }],
});

async function get(
  who: string,
  path: string,
): Promise<{ items: readonly unknown[]; next_cursor: string | null }> {
  const answer = await fetch(team.url + path, { headers: bearer(who) });
  expect(answer.status).toBe(200);
  return (await answer.json()) as { items: readonly unknown[]; next_cursor: string | null };
}

interface Answer {
  readonly status: string;
  readonly body: string;
}

function bearer(who: string | undefined): Record<string, string> {
  return who === undefined ? {} : { authorization: `Bearer ${tokens.get(who)!}` };
}

async function call(route: string, row: Row, of: Things, who: string | undefined): Promise<Answer> {
  const [method = ""] = route.split(" ");
  const { path, body } = row.call(of);
  const answer = await fetch(team.url + path, {
    method,
    headers: {
      ...bearer(who),
      ...(body !== undefined && { "content-type": "application/json" }),
    },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  const text = await answer.text();
  const isProblem = answer.headers.get("content-type")?.includes("problem+json") === true;
  const code = isProblem ? ` ${(JSON.parse(text) as { code: string }).code}` : "";
  return { status: `${answer.status}${code}`, body: text };
}

/** Without the names that were asked for. */
function plain(body: string, of: Things): string {
  return Object.values(of)
    .toSorted((a, b) => b.length - a.length)
    .reduce((text, name) => text.replaceAll(name, "…"), body);
}

/** All that the log tells, up to something that is said now. */
async function eventsOf(who: string, more = ""): Promise<string> {
  await using sse = new SseReader(
    await fetch(`${team.url}/v1/events?last=1000${more}`, { headers: bearer(who) }),
  );
  if (more !== "") return JSON.stringify(sse.frames);
  const session = `mark-${Math.random()}`;
  await post(who, "/v1/agent/chat", { session_id: session, message: "네", service: "desk" });
  await sse.until(({ frames }) =>
    frames.some(
      ({ event, data }) => event === "turn.done" && JSON.stringify(data).includes(session),
    ),
  );
  return JSON.stringify(sse.frames);
}

async function post(who: string, path: string, body: unknown): Promise<Record<string, unknown>> {
  return (await (await send(who, path, body)).json()) as Record<string, unknown>;
}

function send(who: string, path: string, body: unknown): Promise<Response> {
  return fetch(team.url + path, {
    method: "POST",
    headers: { ...bearer(who), "content-type": "application/json" },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
}

async function privateThings(): Promise<Things> {
  const { database } = team;
  const room = (await post("its person", "/v1/rooms", { agent: "ruda" }))["id"] as string;
  const said = await post("its person", `/v1/rooms/${room}/messages`, { text: SECRET });
  const session = `room:ruda:${room}`;
  const turn = await eventually(async () => {
    const rows = await database.query<{ turn: string }>(
      { text: "select turn from dure.handlings where place = $1 and state = 'done'" },
      [room],
    );
    expect(rows).toHaveLength(1);
    return rows[0]!.turn;
  });
  const asked = await post("its person", "/v1/jobs", {
    agent: "ruda",
    target: "eden",
    message: SECRET,
    max_turns: 1,
  });
  const job = asked["job_id"] as string;
  await database.query(
    { text: "update dure.jobs set origin_session = $2, origin_turn = $3 where id = $1" },
    [job, session, turn],
  );
  await post("its person", "/v1/agent/chat", {
    session_id: "buys",
    message: "주문해 줘",
    service: "desk",
  });
  const [escalation] = await database.query<{ id: string }>(
    {
      text: "update dure.escalations set session_id = $1, title = $2 where type = 'decision' returning id",
    },
    [session, SECRET],
  );
  await database.query(
    { text: "insert into dure.sessions (id, tenant, service, title) values ($1, '', 'ruda', $2)" },
    [`escalation:${escalation!.id}`, SECRET],
  );
  return {
    ...noThings(),
    secret: SECRET,
    session,
    turn,
    escalation: escalation!.id,
    decided: escalation!.id,
    room,
    message: said["message_id"] as string,
    job,
  };
}
