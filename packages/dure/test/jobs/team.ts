import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import type { Database } from "../../src/durable/database.ts";
import { testDatabase } from "../../src/durable/test-database.ts";
import type { AskRequest } from "../../src/jobs/ask.ts";
import { PostgresProxy } from "@dure/testing";
import { until } from "../until.ts";

/** What a process of the team is started with. */
export interface TeamSettings {
  /** Of the database, perhaps through a proxy. */
  readonly url: string;
  /** Of the database itself. */
  readonly directUrl: string;
  readonly agents: readonly string[];
  /** Calls of this exchange turn never end. */
  readonly hold?: { readonly agent?: string; readonly turn: number };
  /** Asked with these words, the process dies. */
  readonly poison?: string;
  readonly delayMs?: number;
  readonly version?: string;
  /** Eden pays, and behind that its model is away, hangs or answers. */
  readonly pays?: "away" | "hangs" | "answers";
}

type Line = { readonly say: string; readonly at: number; readonly [key: string]: unknown };

const PROGRAM = fileURLToPath(new URL("team-process.ts", import.meta.url));
/** Longest wait on a busy machine, milliseconds. */
export const PATIENCE = { patienceMs: 60_000 };

/** A real process with engine and jobs. Killed at the end of the block. */
export class TeamProcess implements AsyncDisposable {
  readonly lines: Line[] = [];
  /** It has ended, and what it wrote is read. */
  readonly exited: Promise<number | null>;
  readonly #child: ChildProcess;
  #isOver = false;
  #errors = "";

  constructor(settings: TeamSettings) {
    this.#child = spawn(
      process.execPath,
      ["--conditions=dure-source", "--no-warnings", PROGRAM, JSON.stringify(settings)],
      {
        stdio: ["pipe", "pipe", "pipe"],
      },
    );
    this.#child.stderr!.on("data", (chunk: Buffer) => (this.#errors += chunk.toString()));
    this.#child.stdin!.on("error", () => {});
    createInterface({ input: this.#child.stdout! }).on(
      "line",
      (line) => line.startsWith("{") && this.lines.push(JSON.parse(line) as Line),
    );
    this.#child.once("close", () => (this.#isOver = true));
    this.exited = once(this.#child, "close").then(([code]) => code as number | null);
  }

  get isOver(): boolean {
    return this.#isOver;
  }

  get errors(): string {
    return this.#errors;
  }

  /** The first line that says `what` and passes `test`. */
  async says(what: string, test: (line: Line) => boolean = () => true): Promise<Line> {
    return until(
      () => {
        const found = this.lines.find((line) => line.say === what && test(line));
        if (!found && this.isOver) {
          throw new Error(
            `the process ended without saying "${what}": ${this.#errors.slice(-2_000)}`,
          );
        }
        return found;
      },
      () =>
        `the process did not say "${what}"; it said ${JSON.stringify(this.lines)} ` +
        this.#errors.slice(-2_000),
      PATIENCE,
    );
  }

  ask(request: AskRequest): void {
    this.#tell(`ask ${JSON.stringify(request)}`);
  }

  cancel(job: string): void {
    this.#tell(`cancel ${job}`);
  }

  retry(job: string): void {
    this.#tell(`retry ${job}`);
  }

  signal(name: NodeJS.Signals): void {
    this.#child.kill(name);
  }

  async kill(): Promise<void> {
    this.signal("SIGKILL");
    await this.exited;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (!this.isOver) await this.kill();
  }

  #tell(line: string): void {
    this.#child.stdin!.write(`${line}\n`);
  }
}

/** The database of one test with its proxy, and what the agents were asked. */
export class JobsWorld implements AsyncDisposable {
  readonly database: Database;
  readonly proxy: PostgresProxy;
  readonly #url: string;
  readonly #stack: AsyncDisposableStack;

  private constructor(
    database: Database,
    url: string,
    proxy: PostgresProxy,
    stack: AsyncDisposableStack,
  ) {
    this.database = database;
    this.#url = url;
    this.proxy = proxy;
    this.#stack = stack;
  }

  static async start(): Promise<JobsWorld> {
    await using stack = new AsyncDisposableStack();
    const db = stack.use(await testDatabase({ applicationName: "jobs-test", max: 4 }));
    await db.database.query({
      text: `
        create table test_calls (id bigint generated always as identity, agent text,
        turn int, asked text, at timestamptz default clock_timestamp())`,
    });
    await db.database.query({ text: "create table test_told (key text, payload jsonb)" });
    const proxy = stack.use(await PostgresProxy.start(db.url));
    return new JobsWorld(db.database, db.url, proxy, stack.move());
  }

  /** A process that reaches the database through the proxy. */
  process(settings: Partial<TeamSettings> = {}): TeamProcess {
    return this.#stack.use(
      new TeamProcess({
        url: this.proxy.url,
        directUrl: this.#url,
        agents: ["ruda", "eden"],
        ...settings,
      }),
    );
  }

  /** A process that the proxy's stops and cuts do not meet. */
  direct(settings: Partial<TeamSettings> = {}): TeamProcess {
    return this.process({ url: this.#url, ...settings });
  }

  async jobs(): Promise<
    readonly {
      id: string;
      status: string;
      outcome: string | null;
      turns_done: number;
      resume_count: number;
      resumes: number;
      has_permit: boolean;
      holder: string | null;
    }[]
  > {
    return this.database.query({
      text: `
        select id, status, outcome, turns_done, resume_count, resumes, has_permit, holder
        from dure.jobs
        order by seq`,
    });
  }

  async transcript(job: string): Promise<readonly string[]> {
    const rows = await this.database.query<{ number: number; speaker: string; text: string }>(
      {
        text: "select number, speaker, text from dure.job_turns where job_id = $1 order by number",
      },
      [job],
    );
    return rows.map(({ number, speaker, text }) => `${number} ${speaker}: ${text}`);
  }

  /** What its turns have used: `1: 195 + 12 tokens in 1 attempt`. */
  async used(job: string): Promise<readonly string[]> {
    const rows = await this.database.query<{
      number: number;
      tokens_in: number;
      tokens_out: number;
      attempts: number;
    }>(
      {
        text: `
          select number, tokens_in, tokens_out, attempts
          from dure.job_turns
          where job_id = $1
          order by number`,
      },
      [job],
    );
    return rows.map(
      (turn) =>
        `${turn.number}: ${turn.tokens_in} + ${turn.tokens_out} tokens in ${turn.attempts} attempt`,
    );
  }

  /** How often each exchange turn was asked of a model: `{1: 1, 2: 2}`. */
  async calls(): Promise<Readonly<Record<string, number>>> {
    const rows = await this.database.query<{ turn: number; count: number }>({
      text: "select turn, count(*) as count from test_calls group by turn",
    });
    return Object.fromEntries(rows.map(({ turn, count }) => [turn, count]));
  }

  async told(): Promise<readonly string[]> {
    return (await this.database.query<{ key: string }>({ text: "select key from test_told" })).map(
      ({ key }) => key,
    );
  }

  /** Types of the events of a job, in their order. */
  async events(job: string): Promise<readonly string[]> {
    return (
      await this.database.query<{ type: string }>(
        { text: "select type from dure.events where job = $1 order by xid, seq" },
        [job],
      )
    ).map(({ type }) => type);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#stack.disposeAsync();
  }
}
