// @module-tag slow
import { afterEach, beforeEach, expect, test } from "vitest";
import { z } from "zod";
import { Inbox, type EscalationAnswer } from "../../escalations/inbox.ts";
import type { Escalation } from "../../wire/escalations.ts";
import { Database } from "../../durable/database.ts";
import { testDatabase } from "../../durable/test-database.ts";
import { systemClock } from "../../kernel/clock.ts";
import { silentLogger } from "../../kernel/logger.ts";
import type { Done } from "../../kernel/turn-events.ts";
import type { ModelMessage } from "../../models/model.ts";
import { randomFrom, type OfflineModel } from "../../models/offline.ts";
import { defineService, flow, type Service } from "../service/service.ts";
import type { TurnRequest } from "../api.ts";
import { takeChangedInput } from "../effects/changed-input.ts";
import { startTestEngine, type TestEngine } from "../test-engine.ts";
import { chatAgent } from "./agent.ts";
import { honestModel, honestSummary } from "./test-honest-model.ts";
import { tool, type AnyTool, type ToolContext } from "./tool.ts";

/** Who asks, decides and finds out: each wish has its own fate. */
type Fate = "approved" | "rejected" | "approved late";

interface Wish {
  readonly id: string;
  readonly tool: "pay" | "big" | "slow" | "late" | "keyed" | "mine";
  readonly fate: Fate;
}

/** What happens in one session. */
interface Script {
  readonly session: string;
  readonly messages: readonly (readonly Wish[])[];
  readonly folds: boolean;
}

/** The world outside: counts deeds, and loses answers. */
class Outside {
  /** `session/id`. */
  readonly done: { readonly id: string; readonly key: string; readonly by: string | undefined }[] =
    [];
  readonly #random: () => number;

  constructor(random: () => number) {
    this.#random = random;
  }

  count(id: string): number {
    return this.done.filter((deed) => deed.id === id).length;
  }

  has(key: string): boolean {
    return this.done.some((deed) => deed.key === key);
  }

  do(id: string, key: string, by?: string): { receipt: string } {
    this.done.push({ id, key, by });
    return { receipt: `r_${id}` };
  }

  /** The answer is lost, half of the time before the deed. */
  lose(id: string, key: string, by?: string): never {
    if (this.#random() < 0.5) this.do(id, key, by);
    throw new Error("socket hang up");
  }
}

interface Asked {
  readonly id: string;
  /** Of a call that a person has changed. */
  readonly by?: string | undefined;
}

function toolsOf(outside: Outside): Record<Wish["tool"], AnyTool> {
  const inputSchema = z.object({ id: z.string(), by: z.string().optional() });
  const once = { description: "Does a deed.", inputSchema, effect: "once" } as const;
  const probe = ({ key }: { key: string }) =>
    Promise.resolve(outside.has(key) ? ("happened" as const) : ("not_happened" as const));
  const plain = {
    ...once,
    probe,
    timeout: 200,
    settle: 50,
    execute: ({ id, by }: Asked, { session, key }: ToolContext) =>
      outside.do(`${session}/${id}`, key, by),
  };
  const lost = { ...once, recover: "ask" as const };
  const loses = ({ id, by }: Asked, { session, key }: ToolContext): never =>
    outside.lose(`${session}/${id}`, key, by);
  return {
    pay: tool(plain),
    keyed: tool({ ...plain, key: ({ id }) => [id] }),
    big: tool({ ...plain, approval: true }),
    mine: tool({ ...plain, approval: { by: "person" } }),
    slow: tool({ ...lost, execute: loses }),
    late: tool({ ...lost, approval: true, execute: loses }),
  };
}

function serviceOf(outside: Outside, folds: boolean): Service {
  return defineService({
    name: folds ? "folding" : "plain",
    agents: {
      clerk: chatAgent({
        name: "clerk",
        prompt: "Do what you are asked.",
        tools: toolsOf(outside),
        card: { policy: { backoffSec: 0, maxAttempts: 1 } },
      }),
    },
    flows: {
      DEFAULT: flow(async (turn) => turn.done({ message: (await turn.agent("clerk", "…")).text })),
    },
    memory: folds
      ? { summarizeThreshold: 3, keepRecentTurns: 1, summaryModel: "offline:summary" }
      : { summaryModel: "offline:summary" },
  });
}

/** Every request of a model is held against the rules that all providers have. */
function watched(model: OfflineModel, problems: string[]): OfflineModel {
  return {
    name: model.name,
    respond: (request, context) => {
      const problem = problemOf(request.messages);
      if (problem) problems.push(`${problem}: ${JSON.stringify(request.messages)}`);
      return model.respond(request, context);
    },
  };
}

function problemOf(messages: readonly ModelMessage[]): string | undefined {
  const ids = new Set<string>();
  let open: string[] = [];
  for (const message of messages) {
    if (message.role === "tool") {
      if (!open.includes(message.callId)) return "a result without its call";
      open = open.filter((id) => id !== message.callId);
      if (message.isError && /"There is no result/.test(JSON.stringify(message.result))) {
        return "a call without its result";
      }
      continue;
    }
    if (open.length > 0) return "something before a result";
    if (message.role === "user" && message.text.trim() === "") return "an empty text";
    if (message.role === "user" && message.text === "(…)") return "words of no person";
    open = (message.role === "assistant" ? (message.toolCalls ?? []) : []).map(({ id }) => id);
    if (open.some((id) => ids.has(id))) return "an id twice";
    open.forEach((id) => ids.add(id));
  }
  if (open.length > 0) return "a call at the end";
  return messages[0]?.role === "user" ? undefined : "no person at the beginning";
}

/** Of so many requests one is shown to each provider, too. */
const HELD = { first: 0, every: 20 } as const;

/** The process that lives now; a kill fences it, and another one takes its turns over. */
class Processes implements AsyncDisposable {
  readonly #url: string;
  readonly #services: readonly Service[];
  readonly #models: readonly OfflineModel[];
  readonly #all: TestEngine[] = [];
  #replacing: Promise<void> | undefined;

  constructor(options: {
    url: string;
    services: readonly Service[];
    models: readonly OfflineModel[];
  }) {
    this.#url = options.url;
    this.#services = options.services;
    this.#models = options.models;
  }

  get living(): TestEngine {
    return this.#all.at(-1)!;
  }

  async start(): Promise<void> {
    this.#all.push(
      await startTestEngine(this.#services, {
        offline: this.#models,
        on: { url: this.#url },
        held: HELD,
      }),
    );
  }

  async kill(): Promise<void> {
    const dead = this.living;
    dead.fence();
    this.#replacing = this.start();
    await this.#replacing;
    await this.takeOver();
  }

  /** What the dead hold, also what they have accepted with their last statement. */
  async takeOver(): Promise<void> {
    const { store } = this.living.engine;
    for (const dead of this.#all.slice(0, -1)) await store.release(dead.processId);
  }

  /** Whether another process lives by now in the place of `one`, or begins to. */
  async hasReplaced(one: TestEngine): Promise<boolean> {
    await this.#replacing;
    return one !== this.living;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const one of this.#all) await one[Symbol.asyncDispose]();
  }
}

let database: Database;
let url: string;
// Each round has its own: what earlier rounds stored makes no query of this one slower.
let own: AsyncDisposableStack;
beforeEach(async () => {
  own = new AsyncDisposableStack();
  ({ url } = own.use(await testDatabase()));
  const options = { url, applicationName: "honest", logger: silentLogger, max: 4 };
  database = own.adopt(await Database.open(options), (opened) => opened.close());
});
afterEach(() => own.disposeAsync());

function scriptOf(session: string, random: () => number): Script {
  const pick = <T>(of: readonly T[]): T => of[Math.floor(random() * of.length)]!;
  const tools = ["pay", "pay", "big", "big", "slow", "late", "keyed", "mine", "mine"] as const;
  const fates = ["approved", "approved", "rejected", "approved late"] as const;
  let next = 1;
  const messages = Array.from({ length: 1 + Math.floor(random() * 3) }, () =>
    Array.from({ length: 1 + Math.floor(random() * 3) }, () => ({
      id: `d${next++}`,
      tool: pick(tools),
      fate: pick(fates),
    })),
  );
  return { session: `script-${session}`, messages, folds: random() < 0.4 };
}

/** Plays one script to its end, through whatever processes live. */
class Play {
  readonly #script: Script;
  readonly #processes: Processes;
  readonly #outside: Outside;
  readonly #random: () => number;
  /** What the model has said last. */
  told = "";
  /** Deeds that the boss has allowed, the last time with other arguments. */
  readonly #changed = new Set<string>();
  #said = 0;

  constructor(
    script: Script,
    parts: { processes: Processes; outside: Outside; random: () => number },
  ) {
    this.#script = script;
    this.#processes = parts.processes;
    this.#outside = parts.outside;
    this.#random = parts.random;
  }

  async toEnd(): Promise<void> {
    for (const wishes of this.#script.messages) {
      await this.#say(`Please: ${wishes.map(({ id, tool: by }) => `${id}=${by}`).join(" ")}`);
      await this.#answerAll({ late: false });
    }
    await this.#answerAll({ late: true });
    await this.#say("And now?");
    await this.#answerAll({ late: true });
    await this.#say("What was done?");
  }

  /** Until the model has answered in words. */
  async #say(message: string): Promise<void> {
    const { session, folds } = this.#script;
    const service = folds ? "folding" : "plain";
    const key = `${session}/${++this.#said}`;
    await this.#ended(await this.#accepted({ session, service, message }, key));
  }

  /** A process that is killed meanwhile may have accepted it: it is sent again under its key. */
  async #accepted(request: TurnRequest, key: string): Promise<string> {
    for (;;) {
      const { living } = this.#processes;
      try {
        return (await living.engine.accept(request, { key })).turnId;
      } catch (error) {
        if (!(await this.#processes.hasReplaced(living))) throw error;
      }
    }
  }

  async #ended(turn: string): Promise<void> {
    const done = await doneOf(turn);
    this.told = done.message;
    if (done.error?.code === "MODEL_UNAUTHORIZED") await this.#say("Go on.");
    if (done.approvals?.some(({ by }) => by === "person")) {
      await this.#say(this.#random() < 0.3 ? "How long does that take?" : "yes");
    }
  }

  /** Decides what is asked, in any order, and finds out what is not known. */
  async #answerAll({ late }: { late: boolean }): Promise<void> {
    for (;;) {
      const open = (await this.#open()).filter(
        ({ context }) => late || this.#wish(context).fate !== "approved late",
      );
      if (open.length === 0) return;
      const one = open[Math.floor(this.#random() * open.length)]!;
      const answer = this.#answerTo(one);
      const { turn } = await this.#inbox.answer(one.id, answer, { tenant: "", name: "boss" });
      await this.#ended(turn!);
    }
  }

  /** Deeds that were not done once, or not told. */
  problems(): readonly string[] {
    const { session, messages } = this.#script;
    return messages.flat().flatMap((wish) => {
      const { id, tool: by, fate } = wish;
      const needsYes = by === "big" || by === "late";
      const wanted = needsYes && fate === "rejected" ? 0 : 1;
      const count = this.#outside.count(`${session}/${id}`);
      const found = count === wanted ? [] : [`${session}/${id} (${by}, ${fate}): ${count} times`];
      const who = this.#changed.has(id) ? "boss" : undefined;
      if (this.#outside.done.some((deed) => deed.id === `${session}/${id}` && deed.by !== who)) {
        found.push(`${session}/${id} was not done by ${who ?? "the model"}`);
      }
      const isTold = this.told.includes(`${id} ${wanted === 1 ? "done" : "refused"}`);
      return isTold ? found : [...found, `${session}/${id} (${by}) not told: ${this.told}`];
    });
  }

  get #inbox(): Inbox {
    const { notifications, engine } = this.#processes.living;
    const inbox = new Inbox({ database, notifications });
    takeChangedInput(inbox, engine);
    return inbox;
  }

  async #open() {
    const page = await this.#inbox.list({
      tenant: "",
      status: "open",
      session: this.#script.session,
    });
    return page.items;
  }

  #answerTo({ type, context }: Pick<Escalation, "type" | "context">): EscalationAnswer {
    if (type === "effect_unknown") {
      return { value: this.#outside.has(String(context["key"])) ? "happened" : "not_happened" };
    }
    const { id, fate } = this.#wish(context);
    if (fate === "rejected") return { value: "reject" };
    this.#changed.delete(id);
    if (this.#random() < 0.7) return { value: "approve" };
    this.#changed.add(id);
    return { value: "approve", input: { id, by: "boss" } };
  }

  #wish(context: Record<string, unknown>): Wish {
    const { id } = context["input"] as { id: string };
    return this.#script.messages.flat().find((wish) => wish.id === id)!;
  }
}

async function doneOf(turn: string): Promise<Done> {
  let done: Done | null = null;
  await expect
    .poll(
      async () => {
        const [row] = await database.query<{ done: Done | null }>(
          { name: "honest_done", text: "select done from dure.turns where id = $1" },
          [turn],
        );
        done = row?.done ?? null;
        return done !== null;
      },
      { timeout: 60_000, interval: 5 },
    )
    .toBe(true);
  return done!;
}

/** How often the living look for what the dead hold, milliseconds. */
const TAKE_OVER_MS = 500;

async function takeOverUntil(signal: AbortSignal, processes: Processes): Promise<void> {
  while (!signal.aborted) {
    await systemClock.sleep(TAKE_OVER_MS, { signal }).catch(() => undefined);
    await processes.takeOver();
  }
}

/** Plays scripts side by side while processes are killed. Gives what is wrong. */
async function playAll(seed: string, count: number, kills: number): Promise<readonly string[]> {
  const random = randomFrom(seed);
  const problems: string[] = [];
  const outside = new Outside(random);
  await using processes = new Processes({
    url,
    services: [serviceOf(outside, false), serviceOf(outside, true)],
    models: [watched(honestModel("honest", { fails: 0.05 }), problems), honestSummary("summary")],
  });
  await processes.start();
  const plays = Array.from({ length: count }, (_, index) => {
    const script = scriptOf(`${seed}-${index}`, random);
    return new Play(script, { processes, outside, random });
  });
  const played = Promise.all(plays.map((play) => play.toEnd()));
  const over = new AbortController();
  const taking = takeOverUntil(over.signal, processes);
  for (let kill = 0; kill < kills; kill++) {
    await systemClock.sleep(50 + random() * 200);
    await processes.kill();
  }
  try {
    await played;
  } finally {
    over.abort();
    await taking;
  }
  return [...problems, ...plays.flatMap((play) => play.problems())];
}

/** Of 500 scripts. `DURE_TEST_LONG=1`: 10,000 scripts. */
const ROUNDS = process.env["DURE_TEST_LONG"] === "1" ? 20 : 1;

test.each(Array.from({ length: ROUNDS }, (_, round) => round + 1))(
  "an agent does each deed once that it was asked for, and knows it, whatever comes between (%i)",
  { timeout: 600_000 },
  async (round) => {
    for (let go = 1; go <= 10; go++) {
      const seed = `${round}.${go}`;
      expect(await playAll(seed, 50, 2), seed).toEqual([]);
    }
  },
);
