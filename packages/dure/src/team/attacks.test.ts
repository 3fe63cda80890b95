import { fork, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { Agent, request, type IncomingMessage } from "node:http";
import { connect, type Socket } from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { execa } from "execa";
import { afterAll, beforeAll, expect, test } from "vitest";
import { FULL } from "../kernel/test-tiers.ts";
import { testDatabaseUrl } from "../durable/test-database.ts";
import { systemClock } from "../kernel/clock.ts";
import { beLate } from "../kernel/test-late.ts";
import { boundMs } from "../kernel/test-bounds.ts";
import type { Strain } from "./test-attacked-server.ts";

/**
 * The attack table: what is sent, what answers it, and what it costs the server. The server is a
 * whole team in a process of its own and measures its main thread itself. `busyMs` counts processor
 * time of that thread alone, so a busy machine does not turn this red; what the clock on the wall
 * measures is compared with a moment without an attack. A large plan ends in its answer or at its
 * deadline, as fast as the machine is: both are bounded, and plan-file.test.ts shows the answers.
 */
const SERVER = fileURLToPath(new URL("./test-attacked-server.ts", import.meta.url));
const TOKEN = "the-token-of-the-attack-table";
/** Attackers come from here, other clients from 127.0.0.1: addresses are counted apart. */
const ATTACKER = "127.0.0.2";
/** Small, so that the table is quick; the defaults are in server/limits.ts. */
const LIMITS = {
  head: "2s",
  request: "4s",
  bodyIdle: "1s",
  planTime: "4s",
  connections: 500,
  connectionsPerLoopback: 200,
  streams: 90,
  streamsPerLoopback: 60,
  streamsPerToken: 80,
  streamsBytes: 4_194_304,
  stall: "2s",
  logins: 5,
};
/** Of the main thread's own processor time without a pause. */
const MAX_BUSY_MS = 200;
/**
 * By the clock on the wall, on an idle machine: of another client's answer, and of waits that cost
 * no processor time.
 */
const MAX_WAIT_MS = boundMs(2_000);
const MIB = 1024 * 1024;

interface Reply {
  readonly status: number;
  readonly code: string | undefined;
  readonly body: string;
  readonly retryAfter: string | undefined;
}

interface Call {
  readonly method?: string;
  readonly from?: string;
  readonly headers?: Record<string, string>;
  readonly body?: string | Buffer;
}

let database: { url: string } & AsyncDisposable;
let folder: string;
let server: ChildProcess;
let port: number;

beforeAll(async () => {
  database = await testDatabaseUrl();
  folder = await mkdtemp(path.join(tmpdir(), "dure-attacked-"));
  await mkdir(path.join(folder, "plans"));
  await execa("git", ["init", "--quiet", folder]);
  await execa("git", [
    "-C",
    folder,
    "-c",
    "user.name=a",
    "-c",
    "user.email=a@example.com",
    "commit",
    "--quiet",
    "--allow-empty",
    "-m",
    "Begin",
  ]);
  const options = JSON.stringify({ server: { limits: LIMITS }, plans: { ownFolder: true } });
  server = fork(SERVER, [database.url, folder, options, JSON.stringify({ DURE_TOKEN: TOKEN })], {
    execArgv: ["--conditions=dure-source"],
    stdio: ["ignore", "inherit", "inherit", "ipc"],
  });
  const [{ url }] = (await once(server, "message")) as [{ url: string }];
  port = Number(new URL(url).port);
  await check("plan: warm"); // what is loaded with the first request is no attack
  await strain("collect");
}, 60_000);

afterAll(async () => {
  server.kill("SIGKILL");
  await once(server, "exit");
  await rm(folder, { recursive: true, force: true });
  await database[Symbol.asyncDispose]();
});

async function strain(ask: "strain" | "collect" = "strain"): Promise<Strain> {
  const answered = once(server, "message");
  server.send(ask);
  return ((await answered) as [Strain])[0];
}

function call(
  target: string,
  { method = "GET", from = ATTACKER, headers = {}, body }: Call = {},
): Promise<Reply> {
  return new Promise((resolve, reject) => {
    const asked = { authorization: `Bearer ${TOKEN}`, connection: "keep-alive", ...headers };
    const sent = request({
      port,
      host: "127.0.0.1",
      localAddress: from,
      path: target,
      method,
      agent: false,
      headers: asked,
    });
    const close = (): void => void sent.destroy();
    sent.on("response", (answer) => void replyOf(answer).then(resolve, reject).finally(close));
    sent.on("error", reject);
    sent.end(body);
  });
}

async function replyOf(answer: IncomingMessage): Promise<Reply> {
  const body = await text(answer);
  return {
    status: answer.statusCode!,
    code: /"code":"([A-Z_]+)"/.exec(body)?.[1],
    body,
    retryAfter: answer.headers["retry-after"],
  };
}

function post(target: string, body: unknown, more: Call = {}): Promise<Reply> {
  const bytes = typeof body === "string" ? body : JSON.stringify(body);
  return call(target, {
    method: "POST",
    ...more,
    headers: { "content-type": "application/json", ...more.headers },
    body: bytes,
  });
}

function check(plan: string): Promise<Reply> {
  return post("/v1/plans/check", { file: "plan.yaml", text: plan });
}

const chat = (more: object): Promise<Reply> =>
  post("/v1/agent/chat", { session_id: "attacker", message: "hi", ...more });

/**
 * Sockets with what is written to each; `answers` resolves with what came back when all are closed
 * by the server.
 */
async function sockets(
  count: number,
  first: string,
  { from = ATTACKER }: { from?: string } = {},
): Promise<{ all: Socket[]; answers: Promise<string[]> }> {
  const all = Array.from({ length: count }, () =>
    connect({ port, host: "127.0.0.1", localAddress: from }),
  );
  await Promise.all(all.map((socket) => once(socket, "connect")));
  const answers = Promise.all(all.map(answerOn));
  if (first !== "") for (const socket of all) socket.write(first);
  return { all, answers };
}

function answerOn(socket: Socket): Promise<string> {
  const { promise, resolve } = Promise.withResolvers<string>();
  let answer = "";
  socket.setEncoding("utf8").on("data", (part: string) => (answer += part));
  socket.on("error", () => {});
  socket.once("close", () => resolve(answer));
  return promise;
}

/** Writes one byte after the other until the server closes. */
async function drip({
  all,
  answers,
}: {
  all: Socket[];
  answers: Promise<string[]>;
}): Promise<string[]> {
  const cancel = systemClock.every(200, () => {
    for (const socket of all) if (socket.writable) socket.write("a");
  });
  try {
    return await answers;
  } finally {
    cancel();
  }
}

const statusesOf = (answers: readonly string[]): string[] =>
  [
    ...new Set(answers.map((answer) => /^HTTP\/1\.1 (\d{3}) /.exec(answer)?.[1] ?? "closed")),
  ].sort();
const codesOf = (replies: readonly Reply[]): string[] =>
  [...new Set(replies.map(({ status, code }) => `${status} ${code ?? ""}`.trim()))].sort();
const head = (method: string, target: string, more = ""): string =>
  `${method} ${target} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${TOKEN}\r\n${more}\r\n`;
const PLAN_HEAD = "plan: big\nroles: modules\nworkers: { default: { kind: offline } }\nports:\n";
const planOf = (count: number, line: (index: number) => string): string =>
  PLAN_HEAD + Array.from({ length: count }, (_, index) => line(index)).join("");
const list = (count: number, item: (index: number) => string): string =>
  Array.from({ length: count }, (_, index) => item(index)).join("");
const told = ({ status, code, body }: Reply): string => {
  const found = /"problem_count":(\d+)/.exec(body)?.[1];
  if (found === undefined) return `${status} ${code}`;
  const { ok, problems } = JSON.parse(body) as { ok: boolean; problems: unknown[] };
  return `${status} ${ok ? "ok" : `${problems.length} of ${found}`}`;
};

interface Attack {
  readonly name: string;
  /** What the attacker sees. */
  readonly run: () => Promise<unknown>;
  readonly expected: unknown;
  /**
   * The server ends it within this, milliseconds on a machine with little else to do: its limit,
   * and one look at the connections with time to spare.
   */
  readonly withinMs?: number;
  /**
   * MiB that the process may hold more than before the attack. Reading plans has a thread of 768
   * MiB. Default 128.
   */
  readonly memory?: number;
}

/** On a machine that does much else, each plan may come to its deadline. */
const orTooExpensive = (answer: RegExp): unknown =>
  expect.stringMatching(new RegExp(`${answer.source}|^400 PLAN_TOO_EXPENSIVE$`));
const PLANS = 900;
const BULK = "x".repeat(200);

const ATTACKS: readonly Attack[] = [
  {
    name: "60 event streams that are not read, while 60 turns answer with 40 KB",
    run: async () => {
      const { all, answers } = await sockets(60, head("GET", "/v1/events"));
      await begun(all);
      for (const socket of all) socket.pause();
      const turns = await Promise.all(
        Array.from({ length: 60 }, (_, index) =>
          post(
            "/v1/agent/chat",
            { session_id: `long-${index % 20}`, message: "long" },
            { from: "127.0.0.3" },
          ),
        ),
      );
      for (const socket of all) socket.destroy();
      await answers;
      return codesOf(turns);
    },
    expected: ["200"],
  },
  // --- plans
  {
    name: "80,000 flat keys in a plan",
    run: async () => told(await check(list(80_000, (index) => `key${index}: 1\n`))),
    expected: orTooExpensive(/^200 50 of 80004$/),
    memory: PLANS,
  },
  {
    name: "10,000 ports of 300 bytes",
    run: async () =>
      told(
        await check(
          planOf(
            10_000,
            (index) =>
              `  - { id: p${index}, role: r, owns: [src/m${index}/**], acceptance: "true", goal: ` +
              `"${BULK}" }\n`,
          ),
        ),
      ),
    expected: orTooExpensive(/^200 ok$/),
    memory: PLANS,
  },
  {
    name: "10,000 ports with errors",
    run: async () => told(await check(planOf(10_000, (index) => `  - { id: p${index} }\n`))),
    expected: orTooExpensive(/^200 50 of 30000$/),
    memory: PLANS,
  },
  {
    name: "10,000 ports that need ports that are not there",
    run: async () =>
      told(
        await check(
          planOf(
            10_000,
            (index) =>
              `  - { id: p${index}, role: r, owns: [m${index}/**], dependsOn: [q${index}], ` +
              `acceptance: "true", goal: g }\n`,
          ),
        ),
      ),
    expected: orTooExpensive(/^200 50 of 10000$/),
    memory: PLANS,
  },
  {
    name: "10,000 ports each of whose patterns may meet each other",
    run: async () =>
      told(
        await check(
          planOf(
            10_000,
            (index) =>
              `  - { id: p${index}, role: r, owns: ["**/a${index}.ts"], acceptance: "true", goal: g }\n`,
          ),
        ),
      ),
    expected: "400 PLAN_TOO_EXPENSIVE",
    memory: PLANS,
  },
  {
    name: "20,000 open brackets in a plan",
    run: async () => told(await check("[".repeat(20_000))),
    expected: orTooExpensive(/^200 50 of \d+$/),
    memory: PLANS,
  },
  {
    name: "2,000 levels of maps in a plan",
    run: async () => told(await check(list(2_000, (index) => `${" ".repeat(index)}a:\n`))),
    expected: orTooExpensive(/^200 \d+ of \d+$/),
    memory: PLANS,
  },
  {
    name: "an alias bomb",
    run: async () =>
      told(
        await check(
          "a0: &a0 " +
            `[${"x,".repeat(9)}]\n${list(7, (index) => `a${index + 1}: &a${index + 1} [${`*a${index} , `.repeat(9)}]\n`)}`,
        ),
      ),
    expected: orTooExpensive(/^200 1 of 1$/),
    memory: PLANS,
  },
  {
    name: "a scalar of 3.5 MB",
    run: async () => told(await check(`plan: "${"x".repeat(3_500_000)}"`)),
    expected: orTooExpensive(/^200 4 of 4$/),
    memory: PLANS,
  },
  {
    name: "a plan of 5 MB",
    run: async () => told(await check("x".repeat(5 * MIB))),
    expected: "413 BODY_TOO_LARGE",
    memory: PLANS,
  },
  {
    name: "a run from the text of 10,000 ports, tried dry",
    run: async () =>
      told(
        await post("/v1/runs", {
          text: planOf(
            10_000,
            (index) =>
              `  - { id: p${index}, role: r, owns: [src/m${index}/**], acceptance: "true", goal: ` +
              `"${BULK}" }\n`,
          ),
          dry_run: true,
        }),
      ),
    expected: orTooExpensive(/^200 undefined$/),
    memory: PLANS,
  },

  // --- bodies
  {
    name: "50,000 levels of JSON",
    run: async () =>
      codesOf([
        await post("/v1/agent/chat", `{"slots":${"[".repeat(50_000)}${"]".repeat(50_000)}}`),
      ]),
    expected: ["400 BODY_TOO_COMPLEX"],
  },
  {
    name: "a million values of JSON",
    run: async () => codesOf([await post("/v1/plans/check", `[${"1,".repeat(1_000_000)}1]`)]),
    expected: ["400 BODY_TOO_COMPLEX"],
  },
  {
    name: "30,000 slots",
    run: async () =>
      codesOf([
        await chat({
          slots: Object.fromEntries(Array.from({ length: 30_000 }, (_, index) => [`k${index}`, 1])),
        }),
      ]),
    expected: ["400 BODY_TOO_COMPLEX"],
  },
  {
    name: "300 slots",
    run: async () =>
      codesOf([
        await chat({
          slots: Object.fromEntries(Array.from({ length: 300 }, (_, index) => [`k${index}`, 1])),
        }),
      ]),
    expected: ["400 SLOTS_TOO_MANY"],
  },
  {
    name: "a compressed body",
    run: async () =>
      codesOf([await post("/v1/agent/chat", "{}", { headers: { "content-encoding": "gzip" } })]),
    expected: ["415 CONTENT_TYPE_UNSUPPORTED"],
  },
  {
    name: "half of a character, and U+0000, in text, keys and addresses",
    run: async () =>
      codesOf(
        await Promise.all([
          post("/v1/agent/chat", '{"session_id":"a","message":"\\ud83d"}'),
          post("/v1/agent/chat", '{"session_id":"a","message":"a\\u0000"}'),
          post("/v1/agent/chat", '{"session_id":"a","message":"a","slots":{"\\u0000":1}}'),
          call("/v1/agent/sessions?search=%00"),
          call("/v1/agent/sessions?search=%ed%a0%80"),
        ]),
      ),
    expected: ["400 BODY_INVALID", "400 QUERY_INVALID"],
  },

  // --- heads
  {
    name: "a head of 20 KB",
    run: async () => codesOf([await call("/v1/me", { headers: { "x-long": "x".repeat(20_000) } })]),
    expected: ["431 HEADERS_TOO_LARGE"],
  },
  {
    name: "an address of 20 KB",
    run: async () => codesOf([await call(`/v1/agent/chat/stream?message=${"x".repeat(20_000)}`)]),
    expected: ["431 HEADERS_TOO_LARGE"],
  },
  {
    name: "ids of 1,000 characters",
    run: async () =>
      codesOf(
        await Promise.all(
          ["agent/sessions", "agent/turns", "runs", "plans", "escalations"].map((what) =>
            call(`/v1/${what}/${"x".repeat(1_000)}${what === "agent/turns" ? "/stream" : ""}`),
          ),
        ),
      ).every((code) => /^40[04] /.test(code)),
    expected: true,
  },
  {
    name: "40 guesses of a token, by header and by login",
    run: async () =>
      codesOf(
        await Promise.all(
          Array.from({ length: 20 }, (_, index) => [
            call("/v1/me", { headers: { authorization: `Bearer guess-${index}` } }),
            post("/v1/login", { token: `guess-${index}` }),
          ]).flat(),
        ),
      ),
    expected: ["401 TOKEN_INVALID", "429 RATE_LIMITED"],
  },

  // --- slow and idle connections
  {
    name: "150 requests without their body",
    run: async () =>
      statusesOf(
        await (
          await sockets(
            150,
            head(
              "POST",
              "/v1/agent/chat",
              "Content-Type: application/json\r\nContent-Length: 100\r\n",
            ),
          )
        ).answers,
      ),
    expected: ["408"],
    withinMs: 5_000,
  },
  {
    name: "150 requests whose head does not end",
    run: async () =>
      statusesOf(await (await sockets(150, "GET /v1/me HTTP/1.1\r\nHost: localhost\r\n")).answers),
    expected: ["408"],
    withinMs: 7_000,
  },
  {
    name: "50 heads that come byte by byte",
    run: async () =>
      statusesOf(
        await drip(await sockets(50, "GET /v1/me HTTP/1.1\r\nHost: localhost\r\nX-Slow: ")),
      ),
    expected: ["408"],
    withinMs: 7_000,
  },
  {
    name: "50 bodies that come byte by byte",
    run: async () =>
      statusesOf(
        await drip(
          await sockets(
            50,
            head(
              "POST",
              "/v1/agent/chat",
              "Content-Type: application/json\r\nContent-Length: 1000\r\n",
            ),
          ),
        ),
      ),
    expected: ["408"],
    withinMs: 12_000,
  },
  {
    name: "150 connections that say nothing",
    run: async () => statusesOf(await (await sockets(150, "")).answers),
    expected: ["closed"],
    withinMs: 7_000,
  },

  // --- many connections and streams
  {
    name: "more connections than an address may have",
    run: async () => {
      const { all, answers } = await sockets(200, "");
      const refused = await call("/v1/me");
      for (const socket of all) socket.destroy();
      await answers;
      return [`${refused.status} ${refused.code}`, refused.retryAfter];
    },
    expected: ["429 CONNECTIONS_PER_ADDRESS", "5"],
  },
  {
    name: "more connections than there may be",
    run: async () => {
      const crowds = await Promise.all(
        [3, 4, 5].map((last) => sockets(190, "", { from: `127.0.0.${last}` })),
      );
      const refused = await call("/v1/me", { from: "127.0.0.6" });
      for (const { all } of crowds) for (const socket of all) socket.destroy();
      await Promise.all(crowds.map(({ answers }) => answers));
      return [`${refused.status} ${refused.code}`, refused.retryAfter];
    },
    expected: ["503 CONNECTIONS_FULL", "5"],
  },
  {
    name: "more streams than an address, a token and the server may have",
    run: async () => {
      const first = await sockets(60, head("GET", "/v1/events"));
      await begun(first.all);
      const ofAddress = await call("/v1/events");
      const second = await sockets(20, head("GET", "/v1/events"), { from: "127.0.0.3" });
      await begun(second.all);
      const ofToken = await call("/v1/events", { from: "127.0.0.4" });
      for (const socket of [...first.all, ...second.all]) socket.destroy();
      return [
        `${ofAddress.status} ${ofAddress.code}`,
        `${ofToken.status} ${ofToken.code}`,
        ofToken.retryAfter,
      ];
    },
    expected: ["429 STREAMS_PER_ADDRESS", "429 STREAMS_PER_TOKEN", "5"],
  },
];

/** Waits until each stream has begun. */
async function begun(all: readonly Socket[]): Promise<void> {
  await beLate();
  while (all.some((socket) => socket.bytesRead === 0)) await systemClock.sleep(10);
}

/** A client that was there before, for as long as an attack goes on. */
class OtherClient {
  readonly #agent = new Agent({ keepAlive: true, maxSockets: 1 });
  readonly #over = new AbortController();
  #asking: Promise<void> | undefined;
  longestMs = 0;
  readonly answers = new Set<string>();

  /** How long the same takes without an attack, milliseconds. */
  async control(): Promise<number> {
    for (let asked = 0; asked < 3; asked++) await this.#askOnce();
    const longest = this.longestMs;
    this.longestMs = 0;
    return longest;
  }

  start(): void {
    this.#asking = this.#ask();
  }

  async stop(): Promise<void> {
    this.#over.abort();
    await this.#asking;
    this.#agent.destroy();
  }

  async #ask(): Promise<void> {
    while (!this.#over.signal.aborted) {
      await this.#askOnce();
      await systemClock.sleep(50, { signal: this.#over.signal }).catch(() => {});
    }
  }

  async #askOnce(): Promise<void> {
    const askedAt = systemClock.monotonic();
    this.answers.add(await this.#answer().catch((error: Error) => error.message));
    this.longestMs = Math.max(this.longestMs, systemClock.monotonic() - askedAt);
  }

  #answer(): Promise<string> {
    return new Promise((resolve, reject) => {
      const sent = request({
        port,
        host: "127.0.0.1",
        path: "/v1/me",
        agent: this.#agent,
        headers: { authorization: `Bearer ${TOKEN}` },
      });
      sent.on(
        "response",
        (answer) => void replyOf(answer).then(({ status }) => resolve(String(status)), reject),
      );
      sent.on("error", reject);
      sent.end();
    });
  }
}

test.each(ATTACKS)(
  "attack: $name",
  { ...FULL, timeout: 60_000 },
  async ({ run, expected, withinMs = Infinity, memory = 128 }) => {
    const other = new OtherClient();
    const control = await other.control();
    const before = await strain("collect");
    await strain();
    other.start();

    const startedAt = systemClock.monotonic();
    const seen = await run();
    const tookMs = systemClock.monotonic() - startedAt;

    await other.stop();
    const { busyMs, stallMs, rss } = await strain();
    const grown = Math.round((rss - before.rss) / MIB);
    if (process.env["DURE_ATTACKS_TELL"]) {
      process.stdout.write(
        `${JSON.stringify({ seen, busyMs, stallMs, grown, rss: Math.round(rss / MIB), other: Math.round(other.longestMs), control: Math.round(control) })}\n`,
      );
    }
    expect(seen).toEqual(expected);
    expect(tookMs).toBeLessThan(boundMs(withinMs));
    expect([...other.answers]).toEqual(["200"]);
    expect(busyMs).toBeLessThanOrEqual(MAX_BUSY_MS + 20 * control);
    expect(stallMs).toBeLessThan(MAX_WAIT_MS + 20 * control);
    expect(other.longestMs).toBeLessThan(MAX_WAIT_MS + 20 * control);
    expect(grown).toBeLessThan(memory);
  },
);
