import { setTimeout as sleep } from "node:timers/promises";
import { isJobOver, type JobStatus } from "../packages/dure/src/kernel/jobs.ts";
import { isRunOver, type PlanRunStatus } from "../packages/dure/src/kernel/plans.ts";
import type { Client } from "./client.ts";
import { MODES, type LoadShape } from "./modes.ts";
import { Follower, readTurn, type TurnRead } from "./readers.ts";
import { JOB_TURNS } from "./words.ts";

const ROOMS = ["r1", "r2", "r3"] as const;
const FOLLOWERS = 3;

export interface Payment {
  readonly name: string;
  readonly session: string;
  readonly amount: number;
  /** What the person said to the question. */
  said?: "yes" | "no" | "nothing" | undefined;
  readonly turns: TurnRead[];
}

export interface RoomPost {
  readonly nonce: string;
  readonly room: string;
  /** Who is to answer. */
  readonly agent: "ara" | "bora";
  messageId?: string;
}

export interface AskedJob {
  readonly name: string;
  jobId?: string;
  /** The status that its worker was told last. */
  ended?: string;
}

/** Persons and agents at work: what they did is kept for the checks. */
export class Load {
  readonly payments: Payment[] = [];
  readonly posts: RoomPost[] = [];
  readonly jobs: AskedJob[] = [];
  readonly followers: Follower[] = [];
  readonly runs: string[] = [];
  readonly #client: Client;
  /** The repository that the plan is built on. */
  readonly #repository: string;
  readonly #shape: LoadShape;
  readonly #working: Promise<void>[] = [];
  readonly #following: Promise<void>[] = [];
  #isOver = false;
  /** The last event of all; set when nothing more happens. */
  #lastEvent: string | undefined;

  constructor(client: Client, repository: string, shape: LoadShape = MODES.all.load) {
    this.#client = client;
    this.#repository = repository;
    this.#shape = shape;
  }

  start(): void {
    const { payers, rooms, jobWorkers, plans } = this.#shape;
    for (let payer = 0; payer < payers; payer += 1) this.#working.push(this.#pay());
    for (const room of ROOMS.slice(0, rooms)) this.#working.push(this.#talk(room));
    for (let worker = 0; worker < jobWorkers; worker += 1) {
      this.#working.push(this.#delegate(worker % 2 === 0 ? ["ara", "bora"] : ["bora", "ara"]));
    }
    if (plans > 0) this.#working.push(this.#build());
    for (let number = 1; number <= FOLLOWERS; number += 1) {
      const follower = new Follower(this.#client, `follower-${number}`);
      this.followers.push(follower);
      this.#following.push(follower.follow(() => this.#lastEvent));
    }
    // Heard in `settled` and `followed`.
    for (const work of [...this.#working, ...this.#following]) work.catch(() => {});
  }

  /** Nothing new begins; resolves when every client has its answer. */
  async settled(): Promise<void> {
    this.#isOver = true;
    await Promise.all(this.#working);
  }

  /**
   * Resolves when every follower has read `last`. A server may write its own event at any time, so
   * a follower can be past it already.
   */
  async followed(last: string): Promise<void> {
    this.#lastEvent = last;
    await Promise.all(this.#following);
  }

  async #pay(): Promise<void> {
    const { random } = this.#client;
    while (!this.#isOver) {
      const name = `p${this.payments.length + 1}`;
      const payment: Payment = {
        name,
        session: `s-${name}`,
        amount: random.between(100, 9_999),
        turns: [],
      };
      this.payments.push(payment);
      await this.#say(payment, `pay ${name} ${payment.amount} [[${name}]]`, "ask");
      await this.#decide(payment);
      await sleep(random.between(100, 900));
    }
  }

  async #decide(payment: Payment): Promise<void> {
    const { random } = this.#client;
    const dice = random.next();
    const wasAsked = payment.turns[0]?.done?.message.includes("Shall I pay") ?? false;
    payment.said = !wasAsked || dice < 0.08 ? "nothing" : dice < 0.16 ? "no" : "yes";
    if (payment.said === "nothing") return;
    const isDoubleClick = payment.said === "yes" && dice > 0.85;
    await Promise.all([
      this.#say(payment, payment.said, "answer"),
      ...(isDoubleClick ? [this.#say(payment, payment.said, "answer-twice")] : []),
    ]);
  }

  async #say(payment: Payment, text: string, key: string): Promise<void> {
    this.#client.count("turns");
    const turn = await readTurn(this.#client, {
      session: payment.session,
      text,
      key: `${payment.session}/${key}`,
      service: "money",
    });
    payment.turns.push(turn);
  }

  /** A person who writes into a room, one message after another, each until it is accepted. */
  async #talk(room: string): Promise<void> {
    const { random } = this.#client;
    for (let number = 1; !this.#isOver; number += 1) {
      const agent = number % 7 === 0 ? "bora" : "ara";
      const post: RoomPost = { nonce: `${room}-${number}`, room: `web:${room}`, agent };
      this.posts.push(post);
      const text = `${agent === "bora" ? "@bora " : ""}hello [[${post.nonce}]]`;
      this.#client.count("room messages");
      const body = { text, client_id: post.nonce, as_person: "kim" };
      const { message_id } = await this.#client.ask(
        () => ({
          method: "POST",
          path: `/v1/rooms/${encodeURIComponent(post.room)}/messages`,
          body,
          about: post.nonce,
        }),
        async (response) => (await response.json()) as { message_id: string },
      );
      post.messageId = message_id;
      this.#client.note(`${post.nonce} is message ${message_id}`);
      await sleep(random.between(400, 2_000));
    }
  }

  /** Background work between the agents: one job, and when it has ended the next. */
  async #delegate([agent, target]: readonly [string, string]): Promise<void> {
    const { random } = this.#client;
    while (!this.#isOver) {
      const job: AskedJob = { name: `j${this.jobs.length + 1}` };
      this.jobs.push(job);
      this.#client.count("jobs");
      const body = {
        agent,
        target,
        message: `Look at this, please: [[${job.name}.0]]`,
        wait_sec: 0,
        max_turns: JOB_TURNS,
      };
      const { job_id } = await this.#client.ask(
        () => ({
          method: "POST",
          path: "/v1/jobs",
          body,
          headers: { "idempotency-key": job.name },
          about: job.name,
        }),
        async (response) => (await response.json()) as { job_id: string },
      );
      job.jobId = job_id;
      this.#client.note(`${job.name} is job ${job_id}`);
      while (!(await this.#isOverNow(job))) await sleep(random.between(200, 500));
    }
  }

  async #isOverNow(job: AskedJob): Promise<boolean> {
    const { status } = await this.#client.ask(
      () => ({ method: "GET", path: `/v1/jobs/${job.jobId}`, about: job.name }),
      async (response) => (await response.json()) as { status: JobStatus },
    );
    if (!isJobOver(status)) return false;
    job.ended = status;
    return true;
  }

  /** One run of the plan after the other. */
  async #build(): Promise<void> {
    const client = this.#client;
    for (let number = 1; !this.#isOver; number += 1) {
      const about = `run ${number}`;
      const body = { plan: "garden", repository: this.#repository };
      client.count("plan runs");
      const { id } = await client.ask(
        () => ({
          method: "POST",
          path: "/v1/runs",
          body,
          headers: { "idempotency-key": `garden-${number}` },
          about,
        }),
        async (response) => (await response.json()) as { id: string },
      );
      this.runs.push(id);
      client.note(`${about} is ${id}`);
      while (!(await this.#hasEnded(id))) await sleep(1_000);
    }
  }

  async #hasEnded(id: string): Promise<boolean> {
    const { status } = await this.#client.ask(
      () => ({ method: "GET", path: `/v1/runs/${id}`, about: id }),
      async (response) => (await response.json()) as { status: PlanRunStatus },
    );
    return isRunOver(status);
  }
}
