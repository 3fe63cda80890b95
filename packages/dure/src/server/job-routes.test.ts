import { afterAll, beforeAll, expect, test } from "vitest";
import { FULL } from "../kernel/test-tiers.ts";
import {
  DureClient,
  JOB_OUTCOMES,
  JOB_STATUSES as CLIENT_STATUSES,
  type JobNews,
} from "../client/index.ts";
import { testDatabase, type TestDatabase } from "../durable/test-database.ts";
import { OUTCOMES } from "../jobs/job.ts";
import {
  hanging,
  startTestTeam,
  talkative,
  type TestAgent,
  type TestTeam,
} from "../jobs/test-jobs.ts";
import { MemoryTokenStore } from "./token-store.ts";
import { SseReader, startTestServer, type TestServer } from "./test-server.ts";
import { JOB_STATUSES } from "../kernel/jobs.ts";

let database: TestDatabase;
let team: TestTeam;
let server: TestServer;
let dure: DureClient;
/** What `gate` says waits for this. */
let gate: PromiseWithResolvers<void>;

const gated: TestAgent = async (request, context) => {
  await gate.promise;
  return talkative(request, context);
};

beforeAll(async () => {
  database = await testDatabase();
  team = await startTestTeam({
    url: database.url,
    agents: { ruda: talkative, eden: talkative, seum: hanging, gated },
    jobs: { allow: ["* -> eden", "* -> seum", "* -> gated"] },
  });
  server = await startTestServer({ jobs: team.jobs, events: team.events });
  dure = new DureClient({ baseUrl: server.url });
}, 60_000);
afterAll(async () => {
  await server?.[Symbol.asyncDispose]();
  await team?.[Symbol.asyncDispose]();
  await database?.[Symbol.asyncDispose]();
});

test("the client knows every status and every outcome", () => {
  expect(CLIENT_STATUSES).toEqual(JOB_STATUSES);
  expect([...JOB_OUTCOMES].toSorted()).toEqual(Object.keys(OUTCOMES).toSorted());
});

test("an exchange is asked for, waited for, and shown with its transcript in the spelling of the wire", async () => {
  const answer = await server.post("/v1/jobs", {
    agent: "ruda",
    target: "eden",
    message: "Please look at the login module",
    max_turns: 3,
  });
  const { status, job_id, reply } = (await answer.json()) as {
    status: string;
    job_id: string;
    reply: string;
  };
  const job = (await (await server.fetch(`/v1/jobs/${job_id}`)).json()) as {
    turns: { speaker: string; text: string }[];
    answer: { how: string; by: string | null; text: string };
  };

  expect([answer.status, status]).toEqual([200, "ok"]);
  expect(job).toMatchObject({
    job_id,
    status: "COMPLETED",
    outcome: "max_turns",
    requester_name: "ruda",
    turns_done: 3,
    last_error: null,
  });
  expect(job.turns.map(({ speaker }) => speaker)).toEqual(["eden", "ruda", "eden"]);
  // Two messages of 이든 may be the answer, so it is all that was said.
  const said = job.turns.map(({ speaker, text }) => `${speaker}: ${text}`).join("\n\n");
  expect([reply, job.answer]).toEqual([said, { how: "exchange", by: null, text: said }]);
  expect(server.audit).toContainEqual(
    expect.objectContaining({ what: "job.ask", subject: job_id }),
  );
});

test("the same Idempotency-Key is the same job, another body is 422, and wait_sec 0 does not wait", async () => {
  const body = { agent: "ruda", target: "eden", message: "FYI: the build is green", wait_sec: 0 };
  const ask = (more: object = {}): Promise<Response> =>
    server.post("/v1/jobs", { ...body, ...more }, { "idempotency-key": "once" });

  const [first, second, third] = [
    await ask(),
    await ask(),
    await ask({ message: "something else" }),
  ];

  expect([first.status, second.status, third.status]).toEqual([202, 202, 422]);
  expect(await second.json()).toEqual(await first.json());
  expect(await third.json()).toMatchObject({ code: "IDEMPOTENCY_KEY_REUSED" });
});

test.for([
  ["an unknown agent", { agent: "ruda", target: "nobody", message: "hello" }, 404, "AGENT_UNKNOWN"],
  [
    "an agent that may not be asked",
    { agent: "eden", target: "ruda", message: "hello" },
    403,
    "JOB_NOT_ALLOWED",
  ],
  ["no target", { agent: "ruda", message: "hello" }, 400, "AGENT_UNKNOWN"],
  ["oneself", { agent: "eden", target: "eden", message: "hello" }, 400, "JOB_SELF"],
  ["an empty message", { agent: "ruda", target: "eden", message: " " }, 400, "MESSAGE_INVALID"],
  [
    "a payload that does not fit",
    { agent: "ruda", target: "eden", message: "hello", payload: { kind: "question" } },
    400,
    "PAYLOAD_INVALID",
  ],
  [
    "a wait that is too long",
    { agent: "ruda", target: "eden", message: "hello", wait_sec: 301 },
    400,
    "REQUEST_INVALID",
  ],
] as const)("asking %s is refused", async ([, body, status, code]) => {
  const answer = await server.post("/v1/jobs", body);

  expect([answer.status, await answer.json()]).toMatchObject([status, { code }]);
});

test("the list is filtered by status and agent and goes on behind its cursor", async () => {
  const ids: string[] = [];
  for (const message of ["one", "two", "three"]) {
    ids.push(
      (await dure.jobs.ask({ agent: "seum", target: "eden", message: `FYI: ${message}` })).jobId,
    );
  }

  const first = await dure.jobs.list({ agent: "seum", limit: 2, since: "1h" });
  const second = await dure.jobs.list({ agent: "seum", limit: 2, cursor: first.nextCursor! });

  expect([...first.items, ...second.items].map(({ jobId }) => jobId)).toEqual(ids.toReversed());
  expect(second.nextCursor).toBeNull();
  expect((await dure.jobs.list({ agent: "seum", status: "CANCELLED" })).items).toEqual([]);
  expect((await server.fetch("/v1/jobs?since=lately")).status).toBe(400);
  expect((await server.fetch("/v1/jobs?cursor=nonsense")).status).toBe(400);
});

test("a whole work is listed by its root, and the events of a job are read by it, from the log and live", async () => {
  const { jobId } = await dure.jobs.ask({
    agent: "ruda",
    target: "eden",
    message: "When is it done?",
  });
  await dure.jobs.ask({ agent: "ruda", target: "eden", message: "And the other one?" });

  const work = await dure.jobs.list({ root: jobId });
  const seen: string[] = [];
  for await (const event of dure.events({ job: jobId, types: ["job.*"] }, { last: 100 })) {
    seen.push(`${event.job} ${event.type}`);
    if (event.type === "job.completed") break;
  }

  expect(work.items.map((job) => job.jobId)).toEqual([jobId]);
  expect((await dure.jobs.list({ parent: jobId })).items).toEqual([]);
  expect([seen.at(0), seen.at(-1), new Set(seen.map((line) => line.split(" ")[0]))]).toEqual([
    `${jobId} job.accepted`,
    `${jobId} job.completed`,
    new Set([jobId]),
  ]);
});

test("who cancels or retries a completed job is told something true", async () => {
  const { jobId } = await dure.jobs.ask({
    agent: "ruda",
    target: "eden",
    message: "When is it done?",
  });

  const answers = await Promise.all(
    ["cancel", "retry"].map(
      async (what) =>
        (await server.fetch(`/v1/jobs/${jobId}/${what}`, { method: "POST" })).json() as Promise<{
          code: string;
          hint: string;
        }>,
    ),
  );

  expect(answers).toMatchObject([
    { code: "JOB_TRANSITION", hint: "It did what it was asked; there is nothing left to change." },
    { code: "JOB_NOT_RETRYABLE", hint: "It did what it was asked; ask again for more." },
  ]);
});

test("a stream begins with the whole job, has each turn once, ends with it, and resumes behind an id", async () => {
  gate = Promise.withResolvers();
  const { jobId } = await dure.jobs.ask({
    agent: "ruda",
    target: "gated",
    message: "Please go on",
    maxTurns: 3,
    waitSec: 0,
  });

  await using reader = new SseReader(await server.fetch(`/v1/jobs/${jobId}/stream`));
  await reader.until(({ types }) => types.includes("job"));
  gate.resolve();
  await reader.ended;
  const firstTurn = reader.frames.find(({ event }) => event === "job.turn")!;
  await using again = new SseReader(
    await server.fetch(`/v1/jobs/${jobId}/stream`, { headers: { "last-event-id": firstTurn.id! } }),
  );
  await again.ended;
  const over = await server.fetch(`/v1/jobs/${jobId}/stream`, {
    headers: { "last-event-id": reader.lastEventId! },
  });
  const broken = await server.fetch(`/v1/jobs/${jobId}/stream?last_event_id=nonsense`);

  expect(reader.types.filter((type) => type !== "job.accepted" && type !== "job.started")).toEqual([
    "job",
    "job.turn",
    "job.turn",
    "job.turn",
    "job.completed",
  ]);
  expect(reader.frames[0]!.data).toMatchObject({ job_id: jobId, turns: [] });
  expect(reader.frames.at(-1)!.data).toMatchObject({
    job: jobId,
    data: { outcome: "max_turns", turnsDone: 3 },
  });
  expect(again.frames).toEqual(reader.frames.slice(reader.frames.indexOf(firstTurn) + 1));
  expect([over.status, broken.status]).toEqual([204, 400]);
});

test("the stream of a job that has ended is the job alone", async () => {
  const { jobId } = await dure.jobs.ask({
    agent: "ruda",
    target: "eden",
    message: "Please say it once",
    maxTurns: 1,
  });

  await using reader = new SseReader(await server.fetch(`/v1/jobs/${jobId}/stream`));
  await reader.ended;

  expect(reader.types).toEqual(["job"]);
  expect(
    (
      await server.fetch(`/v1/jobs/${jobId}/stream`, {
        headers: { "last-event-id": reader.lastEventId! },
      })
    ).status,
  ).toBe(204);
});

test.for([1, 2, 3, 4])(
  "the client reads each turn once although its connection is cut after %i frames, again and again",
  FULL,
  async (cut) => {
    gate = Promise.withResolvers();
    const { jobId } = await dure.jobs.ask({
      agent: "ruda",
      target: "gated",
      message: "Please go on",
      maxTurns: 5,
      waitSec: 0,
    });
    const cutting = new DureClient({
      baseUrl: server.url,
      reconnect: { maxDelayMs: 10 },
      fetch: async (input, init) => cutAfter(await fetch(input, init), cut),
    });

    const news: JobNews[] = [];
    for await (const item of cutting.jobs.stream(jobId)) {
      news.push(item);
      gate.resolve();
    }

    expect(
      news.flatMap((item) =>
        item.kind === "event" && item.event.type === "job.turn" ? [item.event.data.number] : [],
      ),
    ).toEqual([1, 2, 3, 4, 5]);
    expect(news[0]).toMatchObject({ kind: "job", job: { jobId, turnsDone: 0 } });
    expect(news.at(-1)).toMatchObject({ kind: "event", event: { type: "job.completed" } });
  },
);

test("a hanging exchange hears a person, is cancelled (twice is once), and is then not retried", async () => {
  const { jobId } = await dure.jobs.ask({
    agent: "ruda",
    target: "seum",
    message: "Please think about it",
    waitSec: 0,
  });
  await dure.jobs.speak(jobId, "Make it short.", { asPerson: "민준" });

  const cancelled = await dure.jobs.cancel(jobId);
  const [second, spoken] = [
    await server.fetch(`/v1/jobs/${jobId}/cancel`, { method: "POST" }),
    await server.post(`/v1/jobs/${jobId}/speak`, { text: "too late" }),
  ];
  const retried = await dure.jobs.retry(jobId).catch((error: unknown) => error);

  expect(cancelled).toMatchObject({ status: "CANCELLED", outcome: "cancelled" });
  expect((await dure.jobs.get(jobId)).words).toMatchObject([
    { author: "민준", text: "Make it short." },
  ]);
  expect([second.status, spoken.status]).toEqual([200, 409]);
  expect(retried).toMatchObject({
    code: "JOB_NOT_RETRYABLE",
    message: `The job ${jobId} was cancelled.`,
    hint: "It stays cancelled; ask again.",
  });
  expect(server.audit.map(({ what }) => what)).toEqual(
    expect.arrayContaining(["job.cancel", "job.speak", "job.retry"]),
  );
  expect(
    await (await server.post(`/v1/jobs/${(await completed()).jobId}/retry`, {})).json(),
  ).toMatchObject({ status: 409, code: "JOB_NOT_RETRYABLE" });
});

test("audit tells what is stuck, and purge removes what is old", async () => {
  const { jobId } = await dure.jobs.ask({
    agent: "ruda",
    target: "seum",
    message: "Please think about it",
    waitSec: 0,
  });
  const old = await completed();
  // Running time is counted once a second.
  await expect
    .poll(async () => (await dure.jobs.audit({ stuck: "1s" })).map((job) => [job.jobId, job.why]), {
      timeout: 20_000,
    })
    .toEqual([[jobId, "stuck"]]);
  await dure.jobs.cancel(jobId);

  expect(await dure.jobs.audit()).toEqual([]);
  expect(await dure.jobs.purge("7d")).toBe(0);
  expect(await dure.jobs.purge("0s")).toBeGreaterThan(1);
  await expect(dure.jobs.get(old.jobId)).rejects.toMatchObject({
    code: "JOB_UNKNOWN",
    class: "not-found",
  });
}, 40_000);

test("another tenant's job is unknown, a token needs the scope, and only an admin purges", async () => {
  const auth = new MemoryTokenStore();
  const tokenOf = async (scopes: ("jobs" | "chat" | "admin")[], tenant: string): Promise<string> =>
    (await auth.create({ name: "test", scopes, tenant })).token;
  const [acme, other, chat, admin] = [
    await tokenOf(["jobs"], "acme"),
    await tokenOf(["jobs"], "other"),
    await tokenOf(["chat"], "acme"),
    await tokenOf(["admin"], "acme"),
  ];
  await using guarded = await startTestServer({ jobs: team.jobs, events: team.events, auth });
  const client = (token: string): DureClient => new DureClient({ baseUrl: guarded.url, token });

  const { jobId } = await client(acme).jobs.ask({
    agent: "ruda",
    target: "eden",
    message: "FYI: ours",
  });

  expect((await client(acme).jobs.list()).items.map((job) => job.jobId)).toEqual([jobId]);
  expect((await client(other).jobs.list()).items).toEqual([]);
  const { jobs } = client(other);
  for (const call of [
    () => jobs.get(jobId),
    () => jobs.cancel(jobId),
    () => jobs.retry(jobId),
    () => jobs.speak(jobId, "hello"),
    () => jobs.stream(jobId).next(),
  ]) {
    await expect(call()).rejects.toMatchObject({ code: "JOB_UNKNOWN" });
  }
  await expect(client(chat).jobs.get(jobId)).rejects.toMatchObject({ code: "SCOPE_MISSING" });
  await expect(client(chat).jobs.retry(jobId)).rejects.toMatchObject({ code: "SCOPE_MISSING" });
  await expect(client(acme).jobs.purge("1d")).rejects.toMatchObject({ code: "SCOPE_MISSING" });
  await expect(client(admin).jobs.purge("1d")).rejects.toMatchObject({ code: "PURGE_NOT_ALLOWED" });
  await expect(client(acme).jobs.speak(jobId, "hello", { asPerson: "boss" })).rejects.toMatchObject(
    { code: "PERSON_FORBIDDEN" },
  );
});

test("a server that closes says 202 with the job's id to callers that wait", async () => {
  await using closing = await startTestServer({
    jobs: team.jobs,
    events: team.events,
    limits: { drainMs: 50 },
  });
  const waiting = closing.post("/v1/jobs", {
    agent: "ruda",
    target: "seum",
    message: "Please think about it",
  });
  await expect
    .poll(() => closing.audit.map(({ outcome }) => outcome), { timeout: 20_000 })
    .toEqual(["done"]); // it is asked for, and its asker waits

  await closing.app.close();
  const answer = await waiting;

  expect([answer.status, await answer.json()]).toEqual([
    202,
    { status: "timeout", job_id: closing.audit[0]!.subject },
  ]);
  await dure.jobs.cancel(closing.audit[0]!.subject);
});

async function completed(): Promise<{ jobId: string }> {
  return dure.jobs.ask({
    agent: "ruda",
    target: "eden",
    message: "Please say it once",
    maxTurns: 1,
  });
}

/** The connection breaks behind the `count`-th frame of a stream. */
function cutAfter(response: Response, count: number): Response {
  if (!response.body || !response.headers.get("content-type")?.startsWith("text/event-stream")) {
    return response;
  }
  let text = "";
  const cut = new TransformStream<Uint8Array, Uint8Array>({
    transform(bytes, controller) {
      text += new TextDecoder().decode(bytes);
      const ends = [...text.matchAll(/data: .*\n\n/g)];
      const last = ends[count - 1];
      if (!last) return controller.enqueue(bytes);
      controller.enqueue(
        new TextEncoder().encode(
          text.slice(text.length - bytes.length, last.index + last[0].length),
        ),
      );
      controller.error(new Error("cut"));
    },
  });
  return new Response(response.body.pipeThrough(cut), {
    status: response.status,
    headers: response.headers,
  });
}

test("two callers of one key have a job each, and one caller has the same one again", async () => {
  const auth = new MemoryTokenStore();
  await using guarded = await startTestServer({ jobs: team.jobs, events: team.events, auth });
  const body = { agent: "ruda", target: "eden", message: "Please look.", max_turns: 1 };
  const ask = async (token: string): Promise<string> => {
    const headers = { authorization: `Bearer ${token}`, "idempotency-key": "of-two" };
    const answer = await guarded.post("/v1/jobs", body, headers);
    return ((await answer.json()) as { job_id: string }).job_id;
  };
  const [mina, junho] = await Promise.all(
    ["mina", "junho"].map(async (name) => (await auth.create({ name, scopes: ["jobs"] })).token),
  );

  const [first, other, again] = [await ask(mina!), await ask(junho!), await ask(mina!)];

  expect(first).toMatch(/^job_/);
  expect(again).toBe(first);
  expect(other).not.toBe(first);
});

test("files go with a request of who may read them, and are read by who may see the job", async () => {
  const auth = new MemoryTokenStore();
  const { files } = team.engine;
  const parts = { jobs: team.jobs, events: team.events, files, auth };
  await using guarded = await startTestServer(parts);
  const bytes = new TextEncoder().encode("what is asked about");
  const own = { tenant: "", session: "desk", turn: "turn_0" };
  const { id } = await files.put({ ...own, name: "asked.txt", bytes });
  const body = { agent: "ruda", target: "eden", message: "Look?", max_turns: 1, files: [id] };
  const bearer = async (
    scopes: ("admin" | "chat" | "jobs")[],
  ): Promise<{ authorization: string }> => ({
    authorization: `Bearer ${(await auth.create({ name: scopes.join("-"), scopes })).token}`,
  });
  const [both, jobsAlone] = [await bearer(["chat", "jobs"]), await bearer(["jobs"])];

  const refused = await guarded.post("/v1/jobs", body, jobsAlone);
  const unknown = await guarded.post("/v1/jobs", { ...body, files: ["file_0"] }, both);
  const foreign = await files.put({
    ...{ ...own, tenant: "acme", session: "acme/desk" },
    name: "asked.txt",
    bytes,
  });
  const ofTenant = await guarded.post(
    "/v1/jobs",
    { ...body, files: [foreign.id] },
    await bearer(["admin"]),
  );
  const asked = await guarded.post("/v1/jobs", body, both);

  expect(await ofTenant.json()).toMatchObject({ status: 404, code: "FILE_UNKNOWN" });
  expect(await refused.json()).toMatchObject({ status: 403, code: "SCOPE_MISSING" });
  expect(await unknown.json()).toMatchObject({ status: 404, code: "FILE_UNKNOWN" });
  const { job_id: job } = (await asked.json()) as { job_id: string };
  const client = new DureClient({ baseUrl: guarded.url, token: jobsAlone.authorization.slice(7) });
  const [file] = (await client.jobs.get(job)).files;
  expect(file).toMatchObject({ name: "asked.txt", type: "text/plain", turn: 0 });
  expect(await (await client.jobs.downloadFile(job, file!.id)).text()).toBe("what is asked about");
  const elsewhere = await guarded.fetch(`/v1/agent/files/${file!.id}`, { headers: both });
  expect(elsewhere.status).toBe(404);
});
