import { expect, test } from "vitest";
import { testDatabase, type TestDatabase } from "../durable/test-database.ts";
import { subjectOf, type NewEscalation } from "../kernel/escalation.ts";
import { Inbox } from "./inbox.ts";

const mina = { tenant: "", name: "mina" };

test("one is open per subject, and a repeat gives the one that is open", async () => {
  await using world = await openWorld();

  const [first] = await world.raise({ title: "Three tries have failed." });
  const [again, other] = await world.raise(
    { title: "Four tries have failed." },
    { subject: "another" },
  );

  expect(first).toMatchObject({ isNew: true, subject: SUBJECT });
  expect(again).toEqual({ id: first!.id, subject: SUBJECT, isNew: false });
  expect(other).toMatchObject({ isNew: true, subject: "another" });
  expect(await world.inbox.get(first!.id, mina)).toMatchObject({
    source: { run: "run_1", port: "api" },
    type: "test_failure",
    severity: "high",
    title: "Three tries have failed.",
    description: "",
    context: { failedTests: ["login"] },
    status: "open",
    resolution: null,
    step: "worker",
  });
  expect(await world.events()).toEqual([`new ${first!.id}`, `new ${other!.id}`]);
});

test("what has become more severe says so, is told anew, and is still one", async () => {
  await using world = await openWorld();
  const [low] = await world.raise({
    type: "token_exhausted",
    severity: "low",
    title: "80 % of the tokens are used.",
  });

  const [worse] = await world.raise({
    type: "token_exhausted",
    severity: "medium",
    title: "95 % of the tokens are used.",
  });
  const [milder] = await world.raise({
    type: "token_exhausted",
    severity: "low",
    title: "80 % of the tokens are used.",
  });

  expect([worse!.id, milder!.id]).toEqual([low!.id, low!.id]);
  expect(await world.inbox.get(low!.id, mina)).toMatchObject({
    severity: "medium",
    title: "95 % of the tokens are used.",
    nextStepAt: expect.any(Number) as number,
  });
  expect(await world.events()).toEqual([`new ${low!.id}`, `worsened ${low!.id}`]);
});

test("two that raise the same subject at once raise one", async () => {
  await using world = await openWorld();

  const raised = await Promise.all(Array.from({ length: 8 }, () => world.raise({})));

  expect(new Set(raised.flat().map(({ id }) => id)).size).toBe(1);
  expect(raised.flat().filter(({ isNew }) => isNew)).toHaveLength(1);
  expect(await world.events()).toHaveLength(1);
});

test("an answer is kept with its note and who gave it; the second of two at once is refused", async () => {
  await using world = await openWorld();
  const [raised] = await world.raise({});

  const answers = await Promise.allSettled(
    ["mina", "jun"].map((name) =>
      world.inbox.answer(
        raised!.id,
        { value: "retry", note: " Mock the clock. " },
        { tenant: "", name },
      ),
    ),
  );

  const [won] = answers.filter(({ status }) => status === "fulfilled");
  const [lost] = answers.filter(({ status }) => status === "rejected");
  expect(won).toMatchObject({
    value: {
      turn: null,
      escalation: {
        status: "resolved",
        resolution: { value: "retry", note: "Mock the clock." },
        resolvedBy: expect.stringMatching(/mina|jun/) as string,
        resolvedAt: expect.any(Number) as number,
      },
    },
  });
  expect(lost).toMatchObject({
    reason: {
      code: "ESCALATION_CLOSED",
      message: expect.stringContaining("resolved already") as string,
    },
  });
  expect(await world.events()).toEqual([`new ${raised!.id}`, `resolved ${raised!.id}`]);
});

test.for([
  ["a value that was not suggested", { value: "explode" }, mina, "ANSWER_INVALID"],
  ["a note that is too long", { value: "retry", note: "x".repeat(4_001) }, mina, "ANSWER_INVALID"],
  ["another tenant's", { value: "retry" }, { tenant: "acme", name: "mina" }, "ESCALATION_UNKNOWN"],
] as const)("an answer with %s is refused, and it stays open", async ([, answer, by, code]) => {
  await using world = await openWorld();
  const [raised] = await world.raise({});

  await expect(world.inbox.answer(raised!.id, answer, by)).rejects.toMatchObject({ code });
  expect(await world.inbox.get(raised!.id, mina)).toMatchObject({ status: "open" });
});

test("a dismissal closes it without a decision, once", async () => {
  await using world = await openWorld();
  const [raised] = await world.raise({});

  expect(await world.inbox.dismiss(raised!.id, mina, "an old one")).toMatchObject({
    status: "dismissed",
    resolution: { value: "dismissed", note: "an old one" },
    resolvedBy: "mina",
  });
  await expect(world.inbox.dismiss(raised!.id, mina)).rejects.toMatchObject({
    code: "ESCALATION_CLOSED",
  });
  await expect(world.inbox.answer(raised!.id, { value: "retry" }, mina)).rejects.toMatchObject({
    code: "ESCALATION_CLOSED",
  });
  await expect(world.inbox.dismiss("escalation_0", mina)).rejects.toMatchObject({
    code: "ESCALATION_UNKNOWN",
  });
});

test("one of another tenant is neither read nor dismissed", async () => {
  await using world = await openWorld();
  const [raised] = await world.raise({});
  const stranger = { tenant: "acme", name: "mallory" };

  await expect(world.inbox.get(raised!.id, stranger)).rejects.toMatchObject({
    code: "ESCALATION_UNKNOWN",
  });
  await expect(world.inbox.dismiss(raised!.id, stranger)).rejects.toMatchObject({
    code: "ESCALATION_UNKNOWN",
  });

  expect(await world.inbox.get(raised!.id, mina)).toMatchObject({ status: "open" });
});

test("what is closed is not closed again", async () => {
  await using world = await openWorld();
  const [raised] = await world.raise({});
  await world.inbox.answer(raised!.id, { value: "retry" }, mina);

  // As by a sweep that had found it open.
  const again = await world.database.query(
    {
      text: `select id from dure.close_escalation($1, 'dismissed', '{"value": "time"}', 'system')`,
    },
    [raised!.id],
  );

  expect(again).toEqual([]);
  expect(await world.inbox.get(raised!.id, mina)).toMatchObject({
    status: "resolved",
    resolution: { value: "retry" },
    resolvedBy: "mina",
  });
  expect(await world.events()).toEqual([`new ${raised!.id}`, `resolved ${raised!.id}`]);
});

test("an answer about an effect that has settled meanwhile leaves the effect as it is", async () => {
  await using world = await openWorld();
  await world.database.query({
    text: "insert into dure.effects (key, turn_id, tool, input, nonce, status) values ('pay/1', 'turn_1', 'pay', '{}', 'n', 'done')",
  });
  const actions = [
    { value: "happened", label: "Yes" },
    { value: "not_happened", label: "No" },
  ];
  const [raised] = await world.raise({
    type: "effect_unknown",
    context: { key: "pay/1" },
    suggestedActions: actions,
  });

  await world.inbox.answer(raised!.id, { value: "not_happened" }, mina);

  expect(await world.database.query({ text: "select status, error from dure.effects" })).toEqual([
    { status: "done", error: null },
  ]);
});

test("what needs no decision any more settles itself, and can be raised anew", async () => {
  await using world = await openWorld();
  const [raised] = await world.raise({});

  const settled = await world.database.transaction((tx) =>
    world.inbox.settle(tx, SUBJECT, { by: "run_1" }),
  );
  const nothing = await world.database.transaction((tx) =>
    world.inbox.settle(tx, SUBJECT, { by: "run_1" }),
  );
  const [next] = await world.raise({});

  expect([settled, nothing]).toEqual([[raised!.id], []]);
  expect(await world.inbox.get(raised!.id, mina)).toMatchObject({
    status: "resolved",
    resolution: { value: "settled" },
    resolvedBy: "run_1",
  });
  expect(next).toMatchObject({ isNew: true });
});

test("listeners are called in the closing transaction, and after the commit with what they returned", async () => {
  await using world = await openWorld();
  const called: string[] = [];
  world.inbox.onResolved({ source: "run" }, async (tx, { status, resolution }) => {
    await tx.query(
      { text: "insert into dure.audit (tenant, name, what, subject) values ('', 'run', $1, '')" },
      [`${status} ${resolution!.value}`],
    );
    called.push("in");
    return () => called.push("after");
  });
  world.inbox.onResolved({ type: "delivery" }, async () => void called.push("delivery"));
  const stop = world.inbox.onResolved(
    { type: "test_failure" },
    async () => void called.push("stopped"),
  );
  stop();
  const [ofRun] = await world.raise({});
  const [ofJob] = await world.raise({ subject: "job", source: { job: "job_1" }, type: "timeout" });

  await world.inbox.answer(ofRun!.id, { value: "retry" }, mina);
  await world.inbox.dismiss(ofJob!.id, mina);

  expect(called).toEqual(["in", "after"]);
  expect(await world.database.query({ text: "select what from dure.audit" })).toEqual([
    { what: "resolved retry" },
  ]);
});

test("what a turn of a job's exchange asks is found by the job", async () => {
  await using world = await openWorld();
  const job = "job_01M8DGM2Y20VXF59ZY8GPZ2VAV";
  const [own] = await world.raise({ subject: "job", source: { job }, type: "timeout" });
  const source = { session: `job:${job}:eden`, turn: "turn_1" };
  const [ofTurn] = await world.raise({ subject: "turn", source });
  const other = { session: `job:${job}0:eden`, turn: "turn_2" };
  await world.raise({ subject: "other", source: other });

  const { items } = await world.inbox.list({ tenant: "", job, limit: 10 });

  expect(items.map(({ id }) => id).toSorted()).toEqual([own!.id, ofTurn!.id].toSorted());
});

test("a listener that fails leaves it open, and the answerer hears why", async () => {
  await using world = await openWorld();
  world.inbox.onResolved({ source: "run" }, async () => {
    throw new Error("the run is held by another process");
  });
  const [raised] = await world.raise({});

  await expect(world.inbox.answer(raised!.id, { value: "retry" }, mina)).rejects.toThrow(
    "held by another process",
  );

  expect(await world.inbox.get(raised!.id, mina)).toMatchObject({ status: "open" });
  expect(await world.events()).toEqual([`new ${raised!.id}`]);
});

test("one whose time has passed is dismissed once by any process, and its listener is told once", async () => {
  await using world = await openWorld();
  const told: string[] = [];
  world.inbox.onResolved(
    { source: "run" },
    async (_tx, { id, status, resolution, resolvedBy }) =>
      void told.push(`${id} ${status} ${resolution!.value} ${resolvedBy}`),
  );
  const [read] = await world.raise({ subject: "a", expiresMs: 1 });
  const [answered] = await world.raise({ subject: "b", expiresMs: 1 });

  await expect.poll(async () => (await world.inbox.get(read!.id, mina)).status).toBe("dismissed");
  await expect(world.inbox.answer(answered!.id, { value: "retry" }, mina)).rejects.toMatchObject({
    code: "ESCALATION_CLOSED",
    message: expect.stringContaining("dismissed") as string,
  });
  await Promise.all([world.inbox.expire(10), world.inbox.expire(10)]);
  const [anew] = await world.raise({ subject: "a" });

  expect(told.toSorted()).toEqual(
    [`${read!.id} dismissed time system`, `${answered!.id} dismissed time system`].toSorted(),
  );
  expect(anew).toMatchObject({ isNew: true });
  expect((await world.inbox.list({ tenant: "", status: "dismissed" })).items).toHaveLength(2);
});

test("one that is closed while a sweep is under way is not told by the sweep", async () => {
  await using world = await openWorld();
  const elsewhere = new Inbox({ database: world.database, notifications: { publish: () => {} } });
  const [first] = await world.raise({ subject: "a" });
  const [second] = await world.raise({ subject: "b" });
  await world.database.query({ text: "update dure.escalations set expires_at = created_at" });
  const told: string[] = [];
  world.inbox.onResolved({}, async (_tx, { id }) => {
    told.push(id);
    if (id === first!.id) await elsewhere.expire(10);
  });

  await world.inbox.expire(10);

  expect(told).toEqual([first!.id]);
  expect(await world.inbox.get(second!.id, mina)).toMatchObject({ status: "dismissed" });
});

test("the list is filtered by everything that it shows, and read in pages without gap or repeat", async () => {
  await using world = await openWorld();
  for (let index = 0; index < 7; index++) {
    await world.raise({
      subject: `s${index}`,
      severity: index % 2 === 0 ? "high" : "critical",
      source: { run: `run_${index % 2}`, port: "api" },
    });
  }
  await world.raise({ subject: "theirs", tenant: "acme" });
  const count = async (filter: object): Promise<number> =>
    (await world.inbox.list({ tenant: "", ...filter })).items.length;

  const seen: string[] = [];
  let cursor: string | undefined;
  do {
    const page = await world.inbox.list({
      tenant: "",
      limit: 3,
      ...(cursor !== undefined && { cursor }),
    });
    seen.push(...page.items.map(({ title, source }) => `${title} ${source.run}`));
    cursor = page.nextCursor ?? undefined;
  } while (cursor !== undefined);

  expect(seen).toHaveLength(7);
  expect(
    await Promise.all(
      [
        { severity: "critical" },
        { run: "run_0" },
        { port: "api" },
        { port: "web" },
        { job: "x" },
        { room: "x" },
        { session: "x" },
        { type: "timeout" },
        { status: "resolved" },
      ].map(count),
    ),
  ).toEqual([3, 4, 7, 0, 0, 0, 0, 0, 0]);
  expect(await world.inbox.count({ tenant: "" })).toEqual({ critical: 3, high: 4 });
  expect(await world.inbox.count({ tenant: "", run: "run_1" })).toEqual({ critical: 3 });
  await expect(world.inbox.list({ tenant: "", cursor: "nonsense" })).rejects.toMatchObject({
    code: "CURSOR_INVALID",
  });
});

test("what a model wrote can always be stored, and is cut at a title's length", async () => {
  await using world = await openWorld();

  const [raised] = await world.raise({
    title: `\u0000${"긴".repeat(400)}`,
    description: "\ud800",
    context: { said: "\ud800\u0000" },
  });

  const stored = await world.inbox.get(raised!.id, mina);
  expect(stored.title).toHaveLength(300);
  expect(stored).toMatchObject({ description: "\ufffd", context: { said: "\ufffd\ufffd" } });
});

test("a subject names its type and its source in a fixed order", () => {
  expect(subjectOf("test_failure", { port: "api", run: "run_1" })).toBe(
    "test_failure:run=run_1:port=api",
  );
  expect(subjectOf("general", {})).toBe("general");
});

const SUBJECT = subjectOf("test_failure", { run: "run_1", port: "api" });

interface World extends TestDatabase {
  readonly inbox: Inbox;
  raise(...given: readonly Partial<NewEscalation>[]): ReturnType<Inbox["raise"]>;
  /** `new escalation_…`, in order. */
  events(): Promise<readonly string[]>;
}

async function openWorld(): Promise<World> {
  const db = await testDatabase();
  const { database } = db;
  const inbox = new Inbox({ database, notifications: { publish: () => {} } });
  return {
    database,
    url: db.url,
    inbox,
    raise: (...given) =>
      database.transaction((tx) =>
        inbox.raise(
          tx,
          given.map((one) => ({
            subject: SUBJECT,
            type: "test_failure",
            severity: "high",
            source: { run: "run_1", port: "api" },
            title: "Three tries have failed.",
            context: { failedTests: ["login"] },
            suggestedActions: [
              { value: "retry", label: "Retry", asks: "text" },
              { value: "skip", label: "Skip" },
            ],
            ...one,
          })),
        ),
      ),
    events: async () => {
      const rows = await database.query<{ type: string; id: string }>({
        text: "select type, data->>'id' as id from dure.events where type like 'escalation.%' order by xid, seq",
      });
      return rows.map(({ type, id }) => `${type.slice("escalation.".length)} ${id}`);
    },
    [Symbol.asyncDispose]: () => db[Symbol.asyncDispose](),
  };
}
