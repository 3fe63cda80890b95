// @module-tag slow
import { FULL } from "../../src/kernel/test-tiers.ts";
import { Client } from "pg";
import { expect, onTestFinished, test } from "vitest";
import { DureClient, type Page, type Room } from "../../src/client/index.ts";
import { listRooms } from "../../src/cli/rooms.ts";
import type { Output } from "../../src/cli/output.ts";
import { WORDS_EN } from "../../src/cli/words/words.en.ts";
import { chatAgent, defineService, flow } from "../../src/index.ts";
import {
  readEnvironment,
  readTeam,
  silentLogger,
  startTeam,
  type RunningTeam,
} from "../../src/team/index.ts";
import { testDatabaseUrl } from "../../src/durable/test-database.ts";

const CHANNELS = 60;

/** A team with 60 channels and two agents. */
async function manyRooms(): Promise<{ team: RunningTeam; client: DureClient; database: Client }> {
  const owned = await testDatabaseUrl();
  onTestFinished(() => owned[Symbol.asyncDispose]());
  const helper = chatAgent({ name: "helper", card: { llm: "offline:echo" } });
  const minimal = defineService({
    name: "minimal",
    agents: { helper },
    flows: {
      DEFAULT: flow(async (turn) => turn.done({ message: (await turn.agent("helper", "…")).text })),
    },
  });
  const channels = Object.fromEntries(
    Array.from({ length: CHANNELS }, (_none, index) => [`room-${index}`, {}]),
  );
  const team = await startTeam(
    await readTeam(
      {
        name: "두레",
        model: "offline:echo",
        agents: { ruda: { leads: true }, eden: {} },
        rooms: { channels },
        services: { minimal },
      },
      ".",
    ),
    { ...readEnvironment({ PORT: "0" }), databaseUrl: owned.url },
    { logger: silentLogger },
  );
  onTestFinished(() => team.stop());
  const database = new Client({ connectionString: owned.url });
  await database.connect();
  onTestFinished(() => database.end());
  return { team, database, client: new DureClient({ baseUrl: team.url }) };
}

test(
  "rooms are listed page by page, channels first, each once, whatever is made or removed meanwhile",
  { ...FULL, timeout: 60_000 },
  async () => {
    const { client } = await manyRooms();
    const rooms = client.rooms("민준");
    await rooms.direct("eden");

    const first = await rooms.list();
    await rooms.direct("ruda"); // made during the reading
    const second = await rooms.list({ cursor: first.nextCursor! });

    expect(first.items).toHaveLength(50);
    expect(second.nextCursor).toBeNull();
    const all = [...first.items, ...second.items];
    expect(all.map(({ kind }) => kind)).toEqual([
      ...Array.from({ length: CHANNELS }, () => "channel"),
      "direct",
      "direct",
    ]);
    expect(new Set(all.map(({ id }) => id)).size).toBe(CHANNELS + 2);
    expect(all.slice(CHANNELS).map(({ agent }) => agent)).toEqual(["eden", "ruda"]);
    // Another one's direct rooms are theirs.
    expect((await client.rooms("서연").list({ limit: 200 })).items).toHaveLength(CHANNELS);

    const small: Room[] = [];
    for (let page: Page<Room> | undefined; page === undefined || page.nextCursor !== null;) {
      page = await rooms.list({ limit: 7, cursor: page?.nextCursor ?? undefined });
      expect(page.items.length).toBeLessThanOrEqual(7);
      small.push(...page.items);
    }
    expect(small.map(({ id }) => id)).toEqual(all.map(({ id }) => id));
  },
);

test(
  "a page that begins behind a room that is gone goes on where it stood",
  { ...FULL, timeout: 60_000 },
  async () => {
    const { client, database } = await manyRooms();
    const rooms = client.rooms("민준");
    const ruda = await rooms.direct("ruda");
    const eden = await rooms.direct("eden");
    const page = await rooms.list({ limit: CHANNELS + 1 });
    expect(page.items.at(-1)?.id).toBe(ruda.id);

    await database.query("delete from dure.places where id = $1", [ruda.id]);

    expect((await rooms.list({ cursor: page.nextCursor! })).items.map(({ id }) => id)).toEqual([
      eden.id,
    ]);
  },
);

test.each([
  ["?cursor=nonsense", "CURSOR_INVALID"],
  [`?cursor=${Buffer.from("thread/1/x").toString("base64url")}`, "CURSOR_INVALID"],
  ["?limit=0", "REQUEST_INVALID"],
  ["?limit=201", "REQUEST_INVALID"],
])("GET /v1/rooms%s is refused: %s", { timeout: 60_000 }, async (query, code) => {
  const { team } = await manyRooms();

  const response = await team.request(`/v1/rooms${query}`);

  expect(response.status).toBe(400);
  expect(await response.json()).toMatchObject({ code });
});

test(
  "threads are listed page by page, also when several were last active in one millisecond",
  { timeout: 60_000 },
  async () => {
    const { client, database } = await manyRooms();
    await database.query(`insert into dure.places (id, adapter, kind, parent, name, channel, thread, active_at)
    select 'thread_' || n, 'web', 'thread', 'web:room-0', 'thread ' || n, 'room-0', 'thread_' || n, timestamptz '2026-11-22 12:00:00.123000+00' + n * interval '1 microsecond' from generate_series(1, 20) n`);
    const rooms = client.rooms("민준");

    const listed: string[] = [];
    for (let before: number | undefined, isMore = true; isMore;) {
      const page = await rooms.threads("web:room-0", {
        limit: 3,
        ...(before !== undefined && { before }),
      });
      listed.push(...page.map(({ id }) => id));
      before = page.at(-1)?.activeAt;
      isMore = page.length === 3;
    }

    expect(listed).toEqual(Array.from({ length: 20 }, (_none, index) => `thread_${20 - index}`));
  },
);

test(
  "dure rooms list shows a page and says how to go on",
  { ...FULL, timeout: 60_000 },
  async () => {
    const { client } = await manyRooms();
    const lines: string[] = [];
    const notes: string[] = [];
    const output = {
      line: (text: string) => void lines.push(text),
      note: (text: string) => void notes.push(text),
      result: () => {},
      words: WORDS_EN,
    } as unknown as Output;

    await listRooms({ limit: 40 }, { client, output, person: "민준" });
    const [, cursor] = /^There are more: --cursor (\S+)$/.exec(notes[0]!) ?? [];
    await listRooms({ limit: 40, cursor }, { client, output, person: "민준" });

    expect(lines).toHaveLength(CHANNELS);
    expect(new Set(lines).size).toBe(CHANNELS);
    expect(notes).toHaveLength(1);
  },
);
