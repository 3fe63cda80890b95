/** The steps of a run: begun, run as commands, and recorded once. */

import { stripVTControlCharacters } from "node:util";
import type { Transaction } from "../../durable/database.ts";
import type { Lease } from "../../durable/leases.ts";
import type { NewEscalation } from "../../kernel/escalation.ts";
import { policyOfCommand, type NetworkFacts } from "../network-needs.ts";
import type { Port, WorkerSpec } from "../plan.ts";
import { absentWords } from "../sandbox/absent.ts";
import { refusedWords } from "../sandbox/refused-hosts.ts";
import { bytesWords } from "../sandbox/memory-watch.ts";
import type { Confinement, Sandbox, SandboxEnd } from "../sandbox/sandbox.ts";
import type { RunInbox } from "./outcomes.ts";
import { Concealer } from "../workers/concealer.ts";
import type { TranscriptEntry, WorkerTokens } from "../workers/worker.ts";
import {
  eventsEmitted,
  stepEnded,
  stepSigned,
  stepWaits,
  type Counting,
  type RunRecords,
  type Write,
} from "./records.ts";
import { transcriptAppended } from "./transcript-rows.ts";
import { workerNode } from "./tree.ts";
import type { PlanRun, PlanStep, StoredUse, Used } from "./run.ts";
import type { NewPlatformEvent } from "../../wire/events.ts";
import type { StepWaiting } from "../../wire/runs.ts";
import type { Member, StepKind } from "../../kernel/plans.ts";
import { type RunEvent, eventOfRun } from "./run-event.ts";

export interface StepLogParts {
  readonly records: RunRecords;
  readonly lease: Lease;
  readonly inbox: RunInbox;
  readonly announce: () => void;
  readonly sandbox: Sandbox;
  /** How far processes of this machine's runs get, in addition to what their plans say. */
  readonly network: NetworkFacts;
}

export interface StepKey {
  /** 1-based over all tries; 0 before the first. */
  readonly try: number;
  readonly kind: StepKind;
  readonly member?: Member | undefined;
  /** Its kind. */
  readonly worker?: string | undefined;
  readonly manifest?: unknown;
  /** It is done whenever it is asked for: what it made is known to be gone. */
  readonly again?: boolean | undefined;
}

/** What signs of a worker have counted. */
export type Counted = Used;

export const NOTHING_COUNTED: Counted = { input: 0, cached: 0, output: 0, calls: 0 };

/** What a worker has used, where it tells the sum alone: as input. Pure. */
export function countedOf(tokens: WorkerTokens | undefined, calls: number, sum = 0): Counted {
  if (tokens === undefined) return { ...NOTHING_COUNTED, input: sum, calls };
  const { input, cached = 0, output } = tokens;

  return { input, cached, output, calls };
}

/** Pure. */
export function addCounted(one: Counted, other: Counted): Counted {
  return {
    input: one.input + other.input,
    cached: one.cached + other.cached,
    output: one.output + other.output,
    calls: one.calls + other.calls,
  };
}

/** What one has that another has not; of one kind it may be below zero. Pure. */
export function lessCounted(one: Counted, other: Counted): Counted {
  return {
    input: one.input - other.input,
    cached: one.cached - other.cached,
    output: one.output - other.output,
    calls: one.calls - other.calls,
  };
}

export interface StepEnd<Output> {
  readonly output: Output;
  readonly tokens?: WorkerTokens | undefined;
  /** Of a worker's model; its start counts as one. */
  readonly calls?: number | undefined;
  /** What signs of the worker have counted of both. */
  readonly counted?: Counted | undefined;
  readonly log?: string | undefined;
}

/** What is written together with the end of a step. */
export interface StepWritten {
  readonly counting?: Counting | undefined;
  readonly events?: readonly RunEvent[] | undefined;
  /** Gives questions to the operator, by what all of the run have used; absent: there are none. */
  readonly asks?: ((use: StoredUse | undefined) => readonly NewEscalation[]) | undefined;
}

/** How a command of the plan is run. */
interface CommandOf {
  readonly env: Readonly<Record<string, string>>;
  readonly timeMs: number;
  /** It is the acceptance of this port. Default: what the step's kind says. */
  readonly port?: Port | undefined;
}

/** Whose policy a command of a step has. All others compile or try what compiles. */
const NETWORK_USERS: Partial<Record<StepKind, "setup" | "acceptance" | "integration">> = {
  setup: "setup",
  accept: "acceptance",
  count: "acceptance",
  base: "acceptance",
  integrate: "integration",
};

/** Where it is said how a repository is set up. */
export const SETUP_PLACES = "setup of the plan, or of .dure/project.yaml in the repository";

/**
 * What to do about a set-up that failed: most of all it has no network, unless its plan says so.
 */
export const SETUP_HINT = [
  "Run it by hand in a fresh clone. If it fetches something, name its hosts in the plan:",
  "network: { setup: [registry.example.org] }.",
].join(" ");

/** The log of a set-up that did not have to run. */
export const SETUP_KEPT = "What the same set-up has made for the same files was taken.\n";

/** Why a command of the plan was ended that asked for hosts that it may not reach. Pure. */
export function hostRefused(
  user: "setup" | "acceptance",
  refused: readonly string[],
): { readonly code: string; readonly message: string; readonly hint: string } {
  const hosts = refused.join(", ");
  const named = refused.map((host) => (host.includes(":") ? host : `${host}:443`)).join(", ");
  const file = user === "setup" ? `, or setup_hosts: [${named}] in .dure/project.yaml` : "";
  const else_ = user === "setup" ? "" : " What it fetches may belong into the setup.";

  return {
    code: HOST_REFUSED,
    message:
      user === "setup"
        ? `The set-up asked for ${hosts}, which it may not reach.`
        : `The acceptance asked for ${hosts}, which it may not reach.`,
    hint: `Allow it in the plan, network: { ${user}: [${named}] }${file}.${else_}`,
  };
}

export const HOST_REFUSED = "HOST_REFUSED";

/**
 * Bounds of one process; the port's time bounds it too. One file: a build or a package may hold a
 * whole browser or runtime. What all files may have together is `plans.diskBytes`.
 */
export const PROCESS_LIMITS = {
  outputBytes: 8_000_000,
  fileBytes: 1_073_741_824,
  processes: 512,
} as const;

/**
 * An agent's protocol goes over its output too, with every file that it is given.
 */
const PROTOCOL_BYTES = 64_000_000;

/** The violation that ends a worker. Source: docs/spec/plans §5. */
export const STOP_AT_VIOLATION = 2;

/** Bounds of a worker's processes. */
export function limitsOf({
  kind,
}: WorkerSpec):
  | typeof PROCESS_LIMITS
  | (Omit<typeof PROCESS_LIMITS, "outputBytes"> & { outputBytes: number }) {
  return kind === "acp" ? { ...PROCESS_LIMITS, outputBytes: PROTOCOL_BYTES } : PROCESS_LIMITS;
}

/** Stores the steps of one port with their events. A step that has ended gives its output again. */
export class StepLog {
  readonly #run: PlanRun;
  readonly #port: string;
  readonly #parts: StepLogParts;
  readonly #signal: AbortSignal;

  constructor(run: PlanRun, port: string, parts: StepLogParts, signal: AbortSignal) {
    this.#run = run;
    this.#port = port;
    this.#parts = parts;
    this.#signal = signal;
  }

  /** @param atEnd what is written together with the end of the step. */
  async step<Output>(
    key: StepKey,
    work: (step: PlanStep) => Promise<StepEnd<Output>>,
    atEnd: (end: StepEnd<Output>) => StepWritten = () => ({}),
  ): Promise<Output> {
    const { records, lease, inbox, announce } = this.#parts;
    const begun = { run: this.#run.id, port: this.#port, ...key };
    const step = await records.steps.begin(lease, begun, this.events(this.#spawned(key)));
    if (step.status === "done" && !key.again) return step.output as Output;
    const end = await work(step);
    this.#signal.throwIfAborted();
    const { tokens, log, output } = end;
    // What earlier starts of it have used stays in its row.
    const ended = stepEnded(step.id, {
      output,
      tokensIn: tokens && step.tokensIn + tokens.input,
      tokensCached: tokens && step.tokensCached + (tokens.cached ?? 0),
      tokensOut: tokens && step.tokensOut + tokens.output,
      log,
    });
    const { counting, events = [], asks } = atEnd(end);
    const { writes = [], stored = () => {} } = counting ?? {};
    let asked = 0;
    const raise = async (tx: Transaction, use: StoredUse | undefined): Promise<void> => {
      const escalations = asks!(use);
      asked = escalations.length;
      if (asked > 0) await inbox.raise(tx, escalations);
    };
    const all = [ended, ...writes, ...eventsEmitted(this.events(events))];
    await records.putAll(lease, { writes: all, stored }, asks && raise);
    if (asked > 0) inbox.announce();
    announce();

    return output;
  }

  /** Tells of the worker that a step begins; how often it was begun its row knows. */
  #spawned({ member, worker: by, try: number, kind }: StepKey): readonly RunEvent[] {
    if (!member) return [];
    const port = this.#port;
    const node = workerNode(this.#run.id, { port, try: number, kind });
    const data = { port, member, worker: by ?? null, try: number, starts: 1, node };

    return [{ type: "worker.spawn", data }];
  }

  /** Runs a command of the plan; its process is written down before it does anything. */
  async command(
    step: PlanStep,
    command: string,
    confinement: Confinement,
    how: CommandOf,
  ): Promise<SandboxEnd & { readonly output: string }> {
    const { sandbox, records, lease, network } = this.#parts;
    const { plan } = this.#run;
    const port = how.port ?? plan.ports.find(({ id }) => id === this.#port);
    const user = NETWORK_USERS[how.port ? "accept" : step.kind];
    const policy = policyOfCommand(user ?? "check", { plan, port }, network);
    const ran = await sandbox.run(
      { ...confinement, network: policy },
      {
        command,
        env: how.env,
        limits: { ...PROCESS_LIMITS, timeMs: Math.max(1_000, Math.floor(how.timeMs)) },
      },
      {
        signal: this.#signal,
        onStart: (identity) => records.steps.noteProcess(lease, step.id, identity),
        // Tests may go on without what they were refused; what fetches for them tries for minutes.
        onRefusal: step.kind === "setup" ? "end" : "end-silent",
      },
    );
    this.#signal.throwIfAborted();
    const isEnded = ran.because === "memory" || ran.because === "refused";
    const ended = isEnded ? `dure ended it: ${exitWords(ran)}.` : "";
    const denied = isEnded || ran.exitCode === 0 ? "" : refusedWords(ran);
    const why = `${ended}${absentWords(ran)}${denied}`.trim();

    const output = stripVTControlCharacters(ran.output);
    const said = new Concealer(Object.entries(how.env)).conceal(output);
    return { ...ran, output: why === "" ? said : `${said}\n${why}\n` };
  }

  /**
   * A sign of the step's worker, with what it said and did. `used`: what it has used in this start;
   * `counting` is written with it.
   */
  async sign(
    step: PlanStep,
    sign: {
      readonly progress: number;
      readonly task: string;
      readonly log: string;
      readonly used: Omit<Counted, "calls">;
      readonly entries: readonly TranscriptEntry[];
    },
    { writes, stored }: Counting,
    events: readonly RunEvent[],
  ): Promise<void> {
    const { records, lease } = this.#parts;
    const { used, entries, ...words } = sign;
    const signed = stepSigned(step.id, {
      ...words,
      tokensIn: step.tokensIn + used.input,
      tokensCached: step.tokensCached + used.cached,
      tokensOut: step.tokensOut + used.output,
    });
    const said = transcriptAppended(step.id, entries);
    const all = [signed, ...said, ...writes, ...eventsEmitted(this.events(events))];
    // Not announced: readers look within 500 ms by themselves.
    await records.putAll(lease, { writes: all, stored });
  }

  /** Stores which conversation the agent of the step has, so that another try can go on with it. */
  async session(step: PlanStep, session: string): Promise<void> {
    await this.#parts.records.steps.noteSession(this.#parts.lease, step.id, session);
  }

  /** Stores what the step waits for, or that it goes on (null), and tells it. */
  async waits(
    step: PlanStep,
    waiting: StepWaiting | null,
    events: readonly RunEvent[],
  ): Promise<void> {
    await this.#put([stepWaits(step.id, waiting), ...eventsEmitted(this.events(events))]);
    this.#parts.announce();
  }

  /** Stores what a worker of the step said and did. */
  async note(step: Pick<PlanStep, "id">, entries: readonly TranscriptEntry[]): Promise<void> {
    await this.#put(transcriptAppended(step.id, entries));
  }

  async tell(events: readonly RunEvent[]): Promise<void> {
    await this.#put(eventsEmitted(this.events(events)));
    this.#parts.announce();
  }

  async #put(writes: readonly Write[]): Promise<void> {
    const { records, lease } = this.#parts;
    if (writes.length > 0) await records.put(lease, writes);
  }

  events(events: readonly RunEvent[]): NewPlatformEvent[] {
    return events.map(({ type, data }) => eventOfRun(this.#run, type, data));
  }
}

/** Of what a step has used that which no sign has counted yet. Pure. */
export function uncounted({
  tokens,
  calls = 0,
  counted = NOTHING_COUNTED,
}: Pick<StepEnd<unknown>, "tokens" | "calls" | "counted">): Used | undefined {
  return tokens && lessCounted(countedOf(tokens, calls), counted);
}

export function exitWords(end: SandboxEnd): string {
  const { exitCode, because, signal, mostBytes, refused = [] } = end;
  if (because === "refused") return `a host that it may not reach: ${refused.join(", ")}`;
  if (because === "time") return "the end of its time";
  if (because === "output") return "too much output";
  if (because === "memory") return `more memory than ${bytesWords({ mostBytes })}`;
  if (because === "disk") return `more than ${bytesWords({ mostBytes })} written to the disk`;

  return exitCode === null ? `the signal ${signal ?? "KILL"}` : `exit code ${exitCode}`;
}
