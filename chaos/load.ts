import { setTimeout as sleep } from "node:timers/promises";
import type { Client } from "./client.ts";
import { Follower, readTurn, type TurnRead } from "./readers.ts";

const ROOMS = ["r1", "r2", "r3"] as const;
/** Persons who pay at the same time. */
const PAYERS = 4;
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
  readonly #working: Promise<void>[] = [];
  readonly #following: Promise<void>[] = [];
  #isOver = false;
  /** The last event of all; set when nothing more happens. */
  #lastEvent: string | undefined;

  constructor(client: Client, repository: string) {
    this.#client = client;
    this.#repository = repository;
  }

  start(): void {
    for (let payer = 0; payer < PAYERS; payer += 1) this.#working.push(this.#pay());
    for (const room of ROOMS) this.#working.push(this.#talk(room));
    this.#working.push(this.#delegate(), this.#build());
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

  /** Background work between the agents. */
  async #delegate(): Promise<void> {
    const { random } = this.#client;
    while (!this.#isOver) {
      const job: AskedJob = { name: `j${this.jobs.length + 1}` };
      this.jobs.push(job);
      this.#client.count("jobs");
      const body = {
        agent: "ara",
        target: "bora",
        message: `Look at this, please: [[${job.name}.0]]`,
        wait_sec: 0,
        max_turns: 3,
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
      await sleep(random.between(2_000, 6_000));
    }
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
      async (response) => (await response.json()) as { status: string },
    );
    return ["success", "partial", "failed", "cancelled"].includes(status);
  }
}
