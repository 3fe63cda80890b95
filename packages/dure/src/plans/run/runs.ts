import { createHash } from "node:crypto";
import path from "node:path";
import type { Database } from "../../durable/database.ts";
import type { EventLog } from "../../durable/event-log.ts";
import type { Lease, Leases } from "../../durable/leases.ts";
import type { Notifications } from "../../durable/notify.ts";
import type { ProcessLease } from "../../durable/processes.ts";
import type { SweepRule } from "../../durable/retention.ts";
import type { Inbox } from "../../escalations/inbox.ts";
import type { Cancel, Clock } from "../../kernel/clock.ts";
import { codeOf, DureError, messageOf } from "../../kernel/errors.ts";
import { subjectOf } from "../../kernel/escalation.ts";
import { ulid } from "../../kernel/ids.ts";
import { canonicalJson } from "../../kernel/json.ts";
import type { PlatformEvent } from "../../kernel/platform-events.ts";
import type { Logger } from "../../kernel/logger.ts";
import type { TenantView } from "../../kernel/tenant.ts";
import type { Page } from "../../engine/api.ts";
import type { Plan } from "../plan.ts";
import type { TestFeedback } from "../workers/feedback.ts";
import type { RunCleaned } from "./clean.ts";
import { commitsOf, decideRemains, moveRun, stepCommits } from "./adopt.ts";
import {
  channelMessages,
  sendFromOutside,
  type ChannelMember,
  type ChannelMessage,
} from "./channel.ts";
import type { Elsewhere } from "./elsewhere.ts";
import { grantable } from "./grants.ts";
import { takeTestReport, type ReportAnswer } from "./hooks.ts";
import { becauseOf, reportOf, RunLeader, type LeaderParts } from "./leader.ts";
import { ORCHESTRATOR } from "./merge.ts";
import { emit, RunRecords, type PlanViolation } from "./records.ts";
import {
  isRunEnded,
  type Because,
  type PlanPort,
  type PlanRun,
  type PlanRunStatus,
  type PlanStep,
  type RunOrder,
} from "./run.ts";
import { escalationFor, orderOf, pathsIn } from "./triggers.ts";
import { BROKEN_TRIES, ORCHESTRATOR_TRIES, MAX_TRIES, triesForBreak } from "./tries.ts";

/** Wakes the processes of a machine: a run was begun, or somebody wants something of one. */
const RUNS_TOPIC = "plan-runs";

/** What a run does with files and workers; made once per leader. */
export type RunWork = Pick<LeaderParts, "prepare" | "build" | "merge" | "mergeReady" | "tidy"> & {
  /** Ends processes that a dead leader of the run has left. */
  readonly clear: (run: PlanRun, options: { signal: AbortSignal }) => Promise<void>;
  /** Why the files of an ended run are worth keeping; undefined: they are not. */
  readonly whyKept: (
    run: PlanRun,
    ports: readonly PlanPort[],
    steps: readonly PlanStep[],
    options: { signal: AbortSignal },
  ) => Promise<Because | undefined>;
  /** Removes the folder and the refs of a run, whatever is in them; again is nothing. */
  readonly remove: (run: PlanRun, options: { signal: AbortSignal }) => Promise<void>;
};

export interface RunsOptions {
  readonly database: Database;
  readonly notifications: Pick<Notifications, "publish" | "subscribe">;
  readonly events: Pick<EventLog, "announce" | "now" | "read" | "follow" | "caughtUp">;
  readonly lease: Pick<ProcessLease, "id" | "signal" | "whenHeld">;
  readonly leases: Leases;
  readonly inbox: Inbox;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Folder of data of this machine; runs keep their files in `plans/<run>`. */
  readonly home: string;
  /** Names that folder for every process that shares it. A run belongs to it. */
  readonly host: string;
  /** What the base names in a repository: a commit. Throws what is wrong with the repository. */
  readonly resolveBase: (
    repository: string,
    base: string,
    options: { signal: AbortSignal },
  ) => Promise<{ commit: string; repository: string }>;
  readonly work: (parts: { records: RunRecords; lease: Lease; run: PlanRun }) => RunWork;
  /** Runs that one process leads at once. Default 20. Source: our choice. */
  readonly running?: number;
  /** How to go on with runs of a machine that is gone. Absent: they wait for it. */
  readonly elsewhere?: Elsewhere | undefined;
  /**
   * Files of runs that ended longer ago are removed by themselves, milliseconds, where nothing
   * unmerged goes with them. Default 90 days, as their rows.
   */
  readonly keepFilesMs?: number;
  /**
   * A machine without a living process for longer than this is gone, in milliseconds. Default 60 s.
   * Source: our choice; a restart takes seconds.
   */
  readonly hostGoneMs?: number;
}

export interface StartRun {
  readonly plan: Plan;
  /** Where it was read, for people. */
  readonly file?: string | undefined;
  /** The user's repository; default: what the caller's layer finds. */
  readonly repository: string;
  readonly tenant?: string | undefined;
  readonly by: string;
  /** The same key gives the same run. */
  readonly key?: string | undefined;
  /** Only these ports and what they need. */
  readonly only?: readonly string[] | undefined;
  /** These ports and what needs them; what they need is taken as done at the base. */
  readonly from?: readonly string[] | undefined;
}

export interface PortDetail extends PlanPort {
  readonly steps: readonly PlanStep[];
  readonly messages: readonly ChannelMessage[];
  readonly violations: readonly PlanViolation[];
}

/** A run with what its ports and the orchestrator have come to. */
export interface RunDetail extends PlanRun {
  /** `triesMade`: tries that were begun. */
  readonly ports: readonly (PlanPort & { readonly triesMade: number })[];
  /** Steps of no port: the contracts, the merge. */
  readonly orchestrator: readonly PlanStep[];
}

/** Which runs are cleaned, and how. */
export interface CleanRuns {
  readonly run?: string | undefined;
  /** Ended longer ago, milliseconds. Default 7 days. */
  readonly olderThanMs?: number | undefined;
  /** What is on no branch, or in no commit, goes too. */
  readonly force?: boolean | undefined;
  /** Removes nothing; says what would be done. */
  readonly dryRun?: boolean | undefined;
  /** Where the last page ended. */
  readonly after?: number | undefined;
  /** At most 100, which is the default. */
  readonly limit?: number | undefined;
}

/** Who cleans, and who is told of it. */
export interface CleanFor {
  /** Undefined: runs of all. */
  readonly tenant?: TenantView | undefined;
  /** Why these files are not for who asks to remove; undefined: they are. Default: all are. */
  readonly whyRefused?: ((run: PlanRun) => Promise<Because | undefined>) | undefined;
  /** Of this run files go from now on. */
  readonly onBegun?: ((run: string) => void) | undefined;
  /**
   * Nobody waits for it any more: the run that is cleaned is cleaned to its end, and no other is
   * begun.
   */
  readonly asked?: AbortSignal | undefined;
  readonly signal?: AbortSignal | undefined;
}

export type RunFrame =
  /** How the run stands; what follows comes behind `position`. */
  | { readonly kind: "run"; readonly run: RunDetail; readonly position: string }
  | { readonly kind: "event"; readonly event: PlatformEvent }
  | { readonly kind: "reset"; readonly oldest: string };

/**
 * How often a process looks for runs that want a leader, in milliseconds. Source: docs/spec/plans
 * §3: another process takes over within 10 s.
 */
const LOOK_EVERY_MS = 1_000;
const HOST_GONE_MS = 60_000;
/**
 * A remote that does not answer, or does not have the run, is asked again after this. Source: our
 * choice.
 */
const ADOPT_AGAIN_MS = 60_000;
const HOST_SEEN_EVERY_MS = 5_000;
const MAX_RUNNING = 20;
/**
 * Longest wait for an order to be carried out, in milliseconds; it is carried out later all the
 * same.
 */
const ORDER_WAIT_MS = 5_000;
const ORDER_LOOK_MS = 50;
const PAGE_DEFAULT = 50;
/**
 * Runs that are cleaned by one request, and by themselves each hour. Source: our choice; one takes
 * some tenths of a second.
 */
const MAX_CLEAN = 100;
const CLEAN_AT_ONCE = 20;
const CLEAN_EVERY_MS = 3_600_000;
const CLEAN_AFTER_MS = 7 * 86_400_000;
const KEEP_FILES_MS = 90 * 86_400_000;
const GOES_ON: Because = {
  code: "RUN_GOING",
  message: "It goes on, or somebody wants something of it.",
  hint: "Cancel it, or look again when it has ended.",
};
/**
 * Characters of what the operator says at once, and words that a port hears in all. Source: our
 * choice.
 */
const MAX_WORDS = 8_000;
const MAX_SAYINGS = 50;
/** Faults of our own in leading a run before it rests until the next start. Source: our choice. */
const MAX_FAULTS = 5;

/**
 * Runs of plans, durable: begun here, led by one process of the machine that holds their files,
 * watched from anywhere.
 *
 * - *start* stores a row; from then on the run ends, whatever dies.
 * - *look*: every process looks for runs of its machine that nobody leads; leading is holding the
 *   lease `run:<id>`.
 * - *order*: pause, resume, cancel, retry are rows; the leader carries them out in their order.
 */
export class Runs {
  readonly records: RunRecords;
  readonly #options: RunsOptions;
  readonly #leading = new Map<string, { leader: RunLeader | undefined; finished: Promise<void> }>();
  readonly #faults = new Map<string, number>();
  /** When a run of a machine that is gone is looked for again. */
  readonly #adoptAgainAt = new Map<string, number>();
  readonly #over = new AbortController();
  readonly #signal: AbortSignal;
  readonly #cancels: Cancel[] = [];
  #looking: Promise<void> | undefined;
  #lookAgain = false;
  #cleaning: Promise<void> | undefined;
  /** The last run that was looked at, by its number. */
  #cleanAfter = 0;
  #seenAt = -Infinity;

  constructor(options: RunsOptions) {
    this.#options = options;
    this.records = new RunRecords({ database: options.database, leases: options.leases });
    this.#signal = AbortSignal.any([this.#over.signal, options.lease.signal]);
    options.inbox.onResolved({ source: "run" }, async (tx, escalation) => {
      const { run, port } = escalation.source;
      if (run === undefined || escalation.status !== "resolved" || !escalation.resolution) return;
      const asking = await this.records.run(run, tx);
      if (!asking) return; // removed meanwhile: the answer is kept, and nobody waits for it
      const found = port === undefined ? undefined : await this.records.port(run, port, tx);
      const order = orderOf(escalation.resolution, {
        runTokensMost: asking.tokensMost,
        ...(port !== undefined && { port, pairTries: await this.records.pairTries(run, port, tx) }),
        ...(found && { timeMs: found.timeMs, tokensMost: found.tokensMost }),
        paths: pathsIn(escalation.context),
      });
      if (!order) return;
      await this.records.order(tx, run, order, escalation.resolvedBy ?? "operator");
      return () => this.#options.notifications.publish(RUNS_TOPIC);
    });
  }

  get #hostGoneMs(): number {
    return this.#options.hostGoneMs ?? HOST_GONE_MS;
  }

  /** The machine whose runs are led here. */
  get host(): string {
    return this.#options.host;
  }

  /** Runs that are led here. */
  get leading(): number {
    return this.#leading.size;
  }

  start(): void {
    if (this.#cancels.length > 0) return;
    const { clock, notifications } = this.#options;
    this.#cancels.push(
      clock.every(LOOK_EVERY_MS, () => void this.#look()),
      notifications.subscribe(RUNS_TOPIC, () => {
        for (const { leader } of this.#leading.values()) leader?.notice();
        void this.#look();
      }),
    );
    this.#cancels.push(
      clock.every(CLEAN_EVERY_MS, () => {
        this.#cleaning ??= this.#cleanOld().finally(() => (this.#cleaning = undefined));
      }),
    );
    void this.#look();
  }

  /** Stops leading: workers are ended, runs go on with the next process of this machine. */
  async stop(): Promise<void> {
    for (const cancel of this.#cancels.splice(0)) cancel();
    this.#over.abort(
      new DureError("PROCESS_STOPPED", "The runs of this process were stopped.", {
        class: "unavailable",
      }),
    );
    await this.#looking;
    await this.#cleaning;
    await Promise.allSettled([...this.#leading.values()].map(({ finished }) => finished));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
  }

  // --- asking

  /**
   * Throws `IDEMPOTENCY_KEY_REUSED`, `PLAN_PORT_UNKNOWN`, and what is wrong with the repository;
   * then there is no run.
   */
  async run(
    request: StartRun,
    { signal = this.#signal }: { signal?: AbortSignal } = {},
  ): Promise<PlanRun> {
    const { clock, home, host } = this.#options;
    const tenant = request.tenant ?? "";
    const plan = narrowed(request);
    const bodyHash = createHash("sha256")
      .update(canonicalJson({ plan, repository: request.repository }))
      .digest("hex");
    if (request.key !== undefined) {
      const known = await this.records.runByKey(tenant, request.key);
      if (known) return sameRequest(known, bodyHash, request.key);
    }
    const base = await this.#options.resolveBase(request.repository, plan.base, { signal });
    const id = `run_${ulid(clock.now())}`;
    const made = await this.records.create(
      {
        id,
        tenant,
        plan,
        file: request.file ?? null,
        repository: base.repository,
        folder: path.join(home, "plans", id),
        host,
        baseCommit: base.commit,
        startedBy: request.by,
        key: request.key ?? null,
        bodyHash,
        triesOrchestrator: plan.workers.orchestrator ? ORCHESTRATOR_TRIES : 0,
      },
      [
        {
          type: "session.start",
          role: "orchestration",
          run: id,
          data: { plan: plan.name, ports: plan.ports.length, by: request.by },
        },
      ],
    );
    if (!made) {
      return sameRequest(
        (await this.records.runByKey(tenant, request.key!))!,
        bodyHash,
        request.key!,
      );
    }
    this.#options.events.announce();
    this.#options.notifications.publish(RUNS_TOPIC);
    return (await this.records.run(id))!;
  }

  /**
   * Orders are carried out by the leader; this waits 5 s for it. Throws `RUN_UNKNOWN`,
   * `PLAN_PORT_UNKNOWN`, `TRIES_EXHAUSTED`, `ORCHESTRATOR_MISSING`, `PATH_INVALID`,
   * `RUN_ORDER_REFUSED`.
   */
  async order(
    id: string,
    given: RunOrder,
    {
      tenant = "",
      by,
      signal = this.#signal,
    }: { tenant?: TenantView; by: string; signal?: AbortSignal },
  ): Promise<{ carriedOut: boolean }> {
    const run = await this.#find(id, tenant);
    if (run.cleanedAt !== null) throw runCleaned(run);
    let order = given;
    if (order.type === "retry" && order.by === "orchestrator") {
      if (!run.plan.workers.orchestrator) {
        throw new DureError(
          "ORCHESTRATOR_MISSING",
          `The plan ${run.plan.name} has no orchestrator who could take ${order.port}.`,
          {
            class: "conflict",
            hint: "Add workers.orchestrator to the plan, or let the pair try again.",
          },
        );
      }
      order = { ...order, pairTries: await this.records.pairTries(id, order.port) };
    }
    if (order.type === "retry" || order.type === "skip") {
      const port = await this.records.port(id, order.port);
      if (!port) throw portUnknown(run, order.port);
      if (
        order.type === "retry" &&
        port.triesPair + port.triesOrchestrator + (order.tries ?? 0) > MAX_TRIES
      ) {
        throw new DureError(
          "TRIES_EXHAUSTED",
          `The port ${order.port} has had ${port.triesPair + port.triesOrchestrator} tries; more than ${MAX_TRIES} are not given.`,
          { class: "conflict", hint: "Change the plan, and start another run." },
        );
      }
    }
    if (order.type === "retry") {
      const strange = [...(order.grant ? [order.grant] : []), ...(order.grants ?? [])].find(
        ({ path }) => grantable(path) === undefined,
      );
      if (strange) {
        throw new DureError("PATH_INVALID", `"${strange.path}" is no path of the repository.`, {
          class: "input",
          hint: "Write it from the root of the repository, such as src/app/page.tsx.",
        });
      }
    }
    const number = await this.records.order(undefined, id, order, by);
    this.#options.notifications.publish(RUNS_TOPIC);
    const until = this.#options.clock.monotonic() + ORDER_WAIT_MS;
    for (;;) {
      const outcome = await this.records.orderOutcome(number);
      if (outcome?.ok) return { carriedOut: true };
      if (outcome) {
        throw new DureError("RUN_ORDER_REFUSED", outcome.message, {
          class: "conflict",
          details: { because: outcome.code },
          hint: "Look at the run with: dure plan status",
        });
      }
      if (this.#options.clock.monotonic() >= until) return { carriedOut: false };
      await this.#options.clock.sleep(ORDER_LOOK_MS, { signal });
    }
  }

  /**
   * The operator's words to a member of a port's pair: heard at once by who listens, else in the
   * next prompt. Throws `RUN_UNKNOWN`, `PLAN_PORT_UNKNOWN`, `MESSAGE_INVALID`, `RUN_OVER`,
   * `PORT_OVER`, `TESTER_MISSING`, `CHANNEL_FULL`.
   */
  async say(
    id: string,
    port: string,
    words: { to: ChannelMember; text: string },
    { tenant = "", by, key }: { tenant?: TenantView; by: string; key?: string | undefined },
  ): Promise<{ id: number }> {
    const text = words.text.trim();
    if (text === "" || text.length > MAX_WORDS) {
      throw new DureError(
        "MESSAGE_INVALID",
        `What is said must have 1 to ${MAX_WORDS} characters; this has ${text.length}.`,
        { class: "input" },
      );
    }
    const run = await this.#find(id, tenant);
    const found = await this.records.port(id, port);
    if (!found) throw portUnknown(run, port);
    if (isRunEnded(run.status)) {
      throw new DureError("RUN_OVER", `The run ${id} has ended: ${run.status}.`, {
        class: "conflict",
        hint: `Say it with another try: dure plan retry ${id} ${port} --hint "…"`,
      });
    }
    if (found.status === "succeeded") {
      throw new DureError("PORT_OVER", `The port ${port} has succeeded; nobody listens any more.`, {
        class: "conflict",
        hint: "Say it to a port that is worked on.",
      });
    }
    if (words.to === "tester" && run.plan.ports[found.position]!.tests.length === 0) {
      throw new DureError(
        "TESTER_MISSING",
        `The port ${port} owns no tests, so no tester works on it.`,
        { class: "conflict", hint: "Say it to the implementer." },
      );
    }
    return {
      id: await sendFromOutside(this.#options, {
        run: id,
        port,
        from: "operator",
        to: words.to,
        payload: { text, by },
        key: `operator:${key ?? ulid(this.#options.clock.now())}`,
        most: { keys: "operator:", count: MAX_SAYINGS },
      }),
    };
  }

  /**
   * Takes a report of tests from a tool of a running step. Throws `HOOK_TOKEN_INVALID`,
   * `CHANNEL_FULL`.
   */
  async takeTestReport(
    token: string,
    feedback: TestFeedback,
  ): Promise<ReportAnswer & { readonly run: string }> {
    const answer = await takeTestReport(this.#options, token, feedback);
    this.#options.events.announce();
    return answer;
  }

  // --- looking

  async get(
    id: string,
    { tenant = "" }: { tenant?: TenantView } = {},
  ): Promise<PlanRun & { readonly ports: readonly PlanPort[] }> {
    const run = await this.#find(id, tenant);
    return { ...run, ports: await this.records.ports(id) };
  }

  /** As `get`, with the orchestrator's steps. */
  async detail(id: string, options: { tenant?: TenantView } = {}): Promise<RunDetail> {
    const run = await this.get(id, options);
    const [tries, orchestrator] = await Promise.all([
      this.records.triesMade(id),
      this.records.steps(id, ORCHESTRATOR),
    ]);
    const ports = run.ports.map((port) => {
      const { made = 0, isBroken = false } = tries.get(port.id) ?? {};
      return {
        ...port,
        triesPair: port.triesPair + (isBroken ? BROKEN_TRIES : 0),
        triesMade: made,
      };
    });
    return { ...run, ports, orchestrator };
  }

  /**
   * How the run stands and then what happens to it, until it has ended; a run that is taken up
   * again goes on here. With `after` (the `id` of an event) only what came behind it. Ends with the
   * abort of `signal`.
   */
  async *stream(
    id: string,
    {
      tenant = "",
      after,
      signal,
    }: { tenant?: TenantView; after?: string | undefined; signal?: AbortSignal } = {},
  ): AsyncGenerator<RunFrame, void, undefined> {
    const { events } = this.#options;
    const filter = { run: id };
    const position = after ?? (await events.now());
    const run = await this.detail(id, { tenant });
    if (isRunEnded(run.status)) {
      await events.caughtUp({ signal }); // its last events may stand behind a transaction that is still open
      if (after === undefined) return yield { kind: "run", run, position: await events.now() };
      for (let from = after; ;) {
        const page = await events.read(from, filter, 500);
        if (page.reset) yield { kind: "reset", oldest: page.reset.oldest };
        for (const event of page.events) yield { kind: "event", event };
        if (page.atEnd || signal?.aborted) return;
        from = page.next;
      }
    }
    if (after === undefined) yield { kind: "run", run, position };
    for await (const item of events.follow(filter, {
      after: position,
      ...(signal && { signal }),
    })) {
      yield item;
      if (item.kind !== "event" || item.event.type !== "run.end") continue;
      const now = await this.records.run(id);
      if (!now || isRunEnded(now.status)) return;
    }
  }

  /**
   * What the prompt of a step was made of; null for a step without one. Throws `RUN_UNKNOWN`,
   * `STEP_UNKNOWN`.
   */
  async manifest(
    id: string,
    port: string,
    step: number,
    { tenant = "" }: { tenant?: TenantView } = {},
  ): Promise<unknown> {
    await this.#find(id, tenant);
    const steps = await this.records.steps(id, port);
    if (!steps.some((one) => one.id === step)) {
      throw new DureError("STEP_UNKNOWN", `The port ${port} of ${id} has no step ${step}.`, {
        class: "not-found",
        hint: "Its steps are listed with the port.",
      });
    }
    return this.records.manifest(id, step);
  }

  async port(
    id: string,
    port: string,
    { tenant = "" }: { tenant?: TenantView } = {},
  ): Promise<PortDetail> {
    const run = await this.#find(id, tenant);
    const found = await this.records.port(id, port);
    if (!found) throw portUnknown(run, port);
    const [steps, messages, violations] = await Promise.all([
      this.records.steps(id, port),
      channelMessages(this.#options.database, id, port),
      this.records.violations(id, port),
    ]);
    return {
      ...found,
      triesPair: found.triesPair + triesForBreak(steps),
      steps,
      messages,
      violations,
    };
  }

  /** Newest first. */
  async list(
    options: {
      tenant?: TenantView;
      plan?: string | undefined;
      status?: PlanRunStatus | undefined;
      limit?: number | undefined;
      cursor?: string | undefined;
    } = {},
  ): Promise<Page<PlanRun & { readonly counts: Readonly<Record<string, number>> }>> {
    const limit = Math.min(Math.max(options.limit ?? PAGE_DEFAULT, 1), 200);
    const before = options.cursor === undefined ? undefined : readCursor(options.cursor);
    const rows = await this.records.runs({
      tenant: options.tenant === undefined ? "" : options.tenant,
      plan: options.plan,
      status: options.status,
      before,
      limit: limit + 1,
    });
    const items = rows.slice(0, limit).map(({ run, counts }) => ({ ...run, counts }));
    const last = rows[limit - 1];
    return {
      items,
      nextCursor:
        rows.length > limit && last ? Buffer.from(String(last.seq)).toString("base64url") : null,
    };
  }

  /**
   * Rows of ended runs age with their files: what could still be merged is known as long as it is
   * there. Of a machine that is gone nobody removes the files.
   */
  retentionRule(): SweepRule {
    return {
      name: "plan-runs",
      keep: "90d",
      sweep: async (tx, { keepMs, limit }) => (await tx.query(PURGE, [keepMs, limit])).length,
    };
  }

  // --- cleaning

  /**
   * Removes the files and refs of ended runs of this machine, at most `limit`, oldest first; their
   * history stays. One that goes on, that somebody wants something of, or whose result is on no
   * branch is kept and says why; `force` removes what is on no branch too. `run`: this one alone,
   * however old. Throws `RUN_UNKNOWN`, `RUN_ELSEWHERE`.
   */
  async clean(
    wanted: CleanRuns,
    how: CleanFor = {},
  ): Promise<{ readonly items: readonly RunCleaned[]; readonly next: number | null }> {
    const { tenant, asked, signal = this.#signal } = how;
    const { host } = this.#options;
    if (wanted.run !== undefined) {
      const run = await this.#find(wanted.run, tenant === undefined ? "" : tenant);
      if (run.host !== host) {
        throw new DureError(
          "RUN_ELSEWHERE",
          `The files of the run ${run.id} are on another machine.`,
          { class: "conflict", hint: `Ask a server on ${run.host}.` },
        );
      }
      return { items: [await this.#clean(run.id, wanted, how, signal)], next: null };
    }
    const limit = Math.min(wanted.limit ?? MAX_CLEAN, MAX_CLEAN);
    const found = await this.records.cleanable({
      tenant,
      host,
      olderThanMs: wanted.olderThanMs ?? CLEAN_AFTER_MS,
      after: wanted.after ?? 0,
      limit,
    });
    const items: RunCleaned[] = [];
    for (const [index, { id }] of found.entries()) {
      signal.throwIfAborted();
      if (asked?.aborted) return { items, next: found[index - 1]?.seq ?? wanted.after ?? 0 };
      items.push(await this.#clean(id, wanted, how, signal));
    }
    return { items, next: found.length === limit ? found.at(-1)!.seq : null };
  }

  async #clean(
    id: string,
    { force = false, dryRun = false }: CleanRuns,
    { whyRefused, onBegun }: CleanFor,
    signal: AbortSignal,
  ): Promise<RunCleaned> {
    const { leases, logger, events } = this.#options;
    const kept = (run: PlanRun, because: Because): RunCleaned => ({
      run: id,
      plan: run.plan.name,
      outcome: "kept",
      because,
    });
    try {
      const held = await leases.hold(
        `run:${id}`,
        async (lease, { signal: whileHeld }): Promise<RunCleaned> => {
          const run = (await this.records.run(id))!;
          const done: RunCleaned = { run: id, plan: run.plan.name, outcome: "cleaned" };
          const [ports, steps, orders] = await Promise.all([
            this.records.ports(id),
            this.records.steps(id),
            this.records.openOrders(id),
          ]);
          if (run.cleanedAt === null && (!isRunEnded(run.status) || orders.length > 0)) {
            return kept(run, GOES_ON);
          }
          const refused = await whyRefused?.(run);
          if (refused) return kept(run, refused);
          const work = this.#options.work({ records: this.records, lease, run });
          const because =
            force || run.cleanedAt !== null
              ? undefined
              : await work.whyKept(run, ports, steps, { signal: whileHeld });
          if (because) return kept(run, because);
          if (dryRun) return done;
          // From here on nobody begins anything on it; who dies in the middle leaves a run that is
          // cleaned to its end next time.
          const began = await this.records.write(lease, async (tx) => {
            const free = await this.records.beginClean(tx, id);
            if (free && run.cleanedAt === null) {
              await emit(tx, [
                {
                  type: "run.cleaned",
                  role: "orchestration",
                  run: id,
                  data: { plan: run.plan.name },
                },
              ]);
            }
            return free;
          });
          if (!began) return kept(run, GOES_ON);
          onBegun?.(id);
          await work.clear(run, { signal: whileHeld });
          await work.remove(run, { signal: whileHeld });
          await this.records.write(lease, (tx) => this.records.cleaned(tx, id));
          events.announce();
          logger.info(
            { run: id },
            `the files and refs of run ${id} of ${run.plan.name} were cleaned away`,
          );
          return done;
        },
        { signal },
      );
      if (held.ok) return held.value;
      return kept((await this.records.run(id))!, GOES_ON);
    } catch (error) {
      signal.throwIfAborted();
      logger.warn(
        { run: id, code: codeOf(error), error: messageOf(error) },
        `run ${id} could not be cleaned`,
      );
      return kept((await this.records.run(id))!, becauseOf(error));
    }
  }

  /** Every hour some runs that are old enough, one page after the other. Never rejects. */
  async #cleanOld(): Promise<void> {
    const { keepFilesMs = KEEP_FILES_MS, logger } = this.#options;
    try {
      const { next } = await this.clean(
        { olderThanMs: keepFilesMs, after: this.#cleanAfter, limit: CLEAN_AT_ONCE },
        { signal: this.#signal },
      );
      this.#cleanAfter = next ?? 0;
    } catch (error) {
      if (!this.#signal.aborted) {
        logger.warn(
          { code: codeOf(error), error: messageOf(error) },
          "old runs could not be cleaned; trying again in an hour",
        );
      }
    }
  }

  async #find(id: string, tenant: TenantView): Promise<PlanRun> {
    const run = await this.records.run(id);
    if (!run || (tenant !== null && run.tenant !== tenant)) {
      throw new DureError("RUN_UNKNOWN", `There is no run ${id}.`, {
        class: "not-found",
        hint: "List them with: dure plan runs",
      });
    }
    return run;
  }

  // --- leading

  #look(): Promise<void> {
    this.#lookAgain = true;
    this.#looking ??= this.#lookOnce().finally(() => (this.#looking = undefined));
    return this.#looking;
  }

  async #lookOnce(): Promise<void> {
    const { lease, host, logger, clock } = this.#options;
    try {
      while (this.#lookAgain && !this.#signal.aborted) {
        this.#lookAgain = false;
        await lease.whenHeld({ signal: this.#signal });
        if (
          clock.monotonic() - this.#seenAt >=
          Math.min(HOST_SEEN_EVERY_MS, this.#hostGoneMs / 4)
        ) {
          await this.records.hostSeen(host);
          this.#seenAt = clock.monotonic();
          await this.#tellOrphans();
          await this.#adoptOrphans();
        }
        const room = (this.#options.running ?? MAX_RUNNING) - this.#leading.size;
        if (room <= 0) return;
        const waiting = await this.records.waiting(host, [...this.#leading.keys()]);
        for (const id of waiting.slice(0, room)) this.#begin(id);
      }
    } catch (error) {
      if (!this.#signal.aborted) {
        logger.warn(
          { code: codeOf(error), error: messageOf(error) },
          "could not look for runs of plans; trying again",
        );
      }
    }
  }

  #begin(id: string): void {
    const entry: { leader: RunLeader | undefined; finished: Promise<void> } = {
      leader: undefined,
      finished: Promise.resolve(),
    };
    this.#leading.set(id, entry);
    entry.finished = this.#lead(id, entry).finally(() => {
      this.#leading.delete(id);
      void this.#look();
    });
  }

  /** Never rejects. */
  async #lead(id: string, entry: { leader: RunLeader | undefined }): Promise<void> {
    const { leases, clock, logger, inbox, events } = this.#options;
    try {
      await leases.hold(
        `run:${id}`,
        async (lease, { signal }) => {
          await this.records.claimListenSlot(lease, id);
          const run = await this.records.run(id);
          if (!run) return;
          const work = this.#options.work({ records: this.records, lease, run });
          await work.clear(run, { signal });
          const leader = new RunLeader(run, lease, {
            records: this.records,
            inbox,
            announce: () => events.announce(),
            clock,
            logger,
            ...work,
          });
          entry.leader = leader;
          if (!isRunEnded(run.status)) {
            logger.info(
              { run: id, lease: lease.epoch },
              `run ${id} of ${run.plan.name} is led here`,
            );
          }
          await leader.lead({ signal });
          await this.records.releaseListenSlot(lease, id);
        },
        { signal: this.#signal },
      );
      this.#faults.delete(id);
    } catch (error) {
      if (this.#signal.aborted || codeOf(error) === "FENCED") return;
      const faults = (this.#faults.get(id) ?? 0) + 1;
      this.#faults.set(id, faults);
      logger.error(
        { run: id, code: codeOf(error), error: messageOf(error) },
        `run ${id} could not be led (${faults} of ${MAX_FAULTS})`,
      );
      if (faults >= MAX_FAULTS) {
        await this.#giveUp(id, error).catch((reason: unknown) =>
          logger.error({ run: id, error: messageOf(reason) }, `run ${id} could not be ended`),
        );
      } else {
        await clock
          .sleep(Math.min(250 * 2 ** faults, 5_000), { signal: this.#signal })
          .catch(() => {});
      }
    }
  }

  /**
   * Our own code or the machine fails with a run again and again: it ends, and says why. What was
   * made is kept. Of one that has ended nothing more is wanted.
   */
  async #giveUp(id: string, error: unknown): Promise<void> {
    const { leases, inbox, events } = this.#options;
    this.#faults.delete(id);
    const because = becauseOf(error);
    await leases.hold(`run:${id}`, async (lease) => {
      const run = await this.records.run(id);
      if (!run) return;
      const [ports, orders] = await Promise.all([
        this.records.ports(id),
        this.records.openOrders(id),
      ]);
      await this.records.write(lease, async (tx) => {
        for (const order of orders) {
          await this.records.closeOrder(tx, order.id, {
            ok: false,
            code: because.code,
            message: because.message,
          });
        }
        if (isRunEnded(run.status)) return;
        const report = reportOf(ports, because);
        await this.records.changeRun(tx, id, { status: "failed", phase: "over", because, report });
        await inbox.raise(tx, [
          escalationFor("worker-lost", {
            tenant: run.tenant,
            run: id,
            plan: run.plan.name,
            title: `${run.plan.name}: ${because.message}`.slice(0, 300),
            context: { code: because.code },
          }),
        ]);
        await emit(tx, [
          {
            type: "run.end",
            role: "orchestration",
            run: id,
            data: {
              plan: run.plan.name,
              outcome: "failed",
              because: because.message,
              kept: report.kept.length,
              missing: report.missing.length,
            },
          },
        ]);
      });
      await this.records.releaseListenSlot(lease, id);
    });
    inbox.announce();
    events.announce();
  }

  /** Runs whose machine is gone go on here, from what they have pushed. */
  async #adoptOrphans(): Promise<void> {
    const { elsewhere, host, clock } = this.#options;
    if (!elsewhere) return;
    for (const id of await this.records.deserted(host, this.#hostGoneMs)) {
      if (this.#leading.has(id) || clock.monotonic() < (this.#adoptAgainAt.get(id) ?? -Infinity)) {
        continue;
      }
      this.#adoptAgainAt.set(id, clock.monotonic() + ADOPT_AGAIN_MS);
      const entry = { leader: undefined, finished: Promise.resolve() };
      this.#leading.set(id, entry);
      entry.finished = this.#adopt(id, elsewhere).finally(() => {
        this.#leading.delete(id);
        void this.#look();
      });
    }
  }

  /** Never rejects. */
  async #adopt(id: string, elsewhere: Elsewhere): Promise<void> {
    const { leases, database, logger, inbox, events, host } = this.#options;
    try {
      await leases.hold(
        `run:${id}`,
        async (lease, { signal }) => {
          const run = await this.records.run(id);
          if (run?.status !== "waiting_host" || run.host === host) return;
          const [ports, steps] = await Promise.all([
            this.records.ports(id),
            stepCommits(database, id),
          ]);
          const found = await elsewhere.open(run, commitsOf(run, ports, steps), { signal });
          if (!found) {
            return logger.warn(
              { run: id, host: run.host },
              `run ${id} belongs to a machine that is gone, and this machine's repository does not have its base ${run.baseCommit}`,
            );
          }
          const remains = decideRemains(run, ports, steps, (commit) => found.there.has(commit));
          await moveRun(
            { database, leases },
            run,
            lease,
            found.place,
            remains,
            async (tx) =>
              void (await inbox.settle(tx, subjectOf("blocked", { run: id }), { by: host })),
          );
          logger.info(
            { run: id, from: run.host, to: host, again: remains.lostSteps.length },
            `run ${id} of ${run.plan.name} goes on here, from what was pushed`,
          );
        },
        { signal: this.#signal },
      );
      this.#adoptAgainAt.delete(id);
      inbox.announce();
      events.announce();
    } catch (error) {
      if (this.#signal.aborted || codeOf(error) === "FENCED") return;
      logger.warn(
        { run: id, code: codeOf(error), error: messageOf(error) },
        `run ${id} could not be taken over from its machine; trying again in a minute`,
      );
    }
  }

  /** Runs whose machine is gone wait for it, and somebody is told. */
  async #tellOrphans(): Promise<void> {
    const { database, inbox, events } = this.#options;
    const told = await database.transaction(async (tx) => {
      const orphans = await this.records.orphaned(tx, this.#hostGoneMs);
      if (orphans.length === 0) return false;
      await inbox.raise(
        tx,
        orphans.map(({ id, tenant, plan, host }) =>
          escalationFor("host-gone", {
            tenant,
            run: id,
            plan,
            title: `${plan}: the machine that holds its files is gone`,
            description: `The run ${id} keeps its files on ${host}, of which no process lives. It goes on by itself when one is started there.`,
            context: { host },
          }),
        ),
      );
      await emit(
        tx,
        orphans.map(({ id, plan }) => ({
          type: "run.waiting_host",
          role: "orchestration" as const,
          run: id,
          data: { plan },
        })),
      );
      return true;
    });
    if (!told) return;
    inbox.announce();
    events.announce();
  }
}

/** Cleaned ones, and those of machines that have not been seen for as long. */
const PURGE = {
  name: "plan.purge",
  text: `delete from dure.plan_runs where id in (
      select r.id from dure.plan_runs r where r.finished_at < clock_timestamp() - $1::double precision * interval '1 millisecond'
        and (r.cleaned_at is not null or not exists (select 1 from dure.plan_hosts h where h.host = r.host and h.seen_at > clock_timestamp() - $1::double precision * interval '1 millisecond'))
      limit $2) returning id`,
};

function sameRequest(
  known: { run: PlanRun; bodyHash: string },
  bodyHash: string,
  key: string,
): PlanRun {
  if (known.bodyHash === bodyHash) return known.run;
  throw new DureError("IDEMPOTENCY_KEY_REUSED", `The key ${key} was used for another run.`, {
    class: "conflict",
    hint: "Use a new key for a new request.",
  });
}

/** Of a cleaned run there is only its history. */
export function runCleaned({ id, report }: PlanRun): DureError {
  const branch = report?.branch;
  return new DureError("RUN_CLEANED", `The files of the run ${id} were cleaned away.`, {
    class: "conflict",
    hint:
      branch === undefined
        ? "Begin another run."
        : `Its result was the branch ${branch}; if that is still there, merge it with git.`,
  });
}

function portUnknown(run: PlanRun, port: string): DureError {
  return new DureError("PLAN_PORT_UNKNOWN", `The run ${run.id} has no port ${port}.`, {
    class: "not-found",
    hint: `Its ports are ${run.plan.ports
      .slice(0, 20)
      .map(({ id }) => id)
      .join(", ")}.`,
  });
}

/** The plan without the ports that are not asked for. Throws `PLAN_PORT_UNKNOWN`. */
export function narrowed({ plan, only, from }: Pick<StartRun, "plan" | "only" | "from">): Plan {
  if (!only?.length && !from?.length) return plan;
  const byId = new Map(plan.ports.map((port) => [port.id, port]));
  for (const id of [...(only ?? []), ...(from ?? [])]) {
    if (!byId.has(id)) {
      throw new DureError("PLAN_PORT_UNKNOWN", `The plan ${plan.name} has no port ${id}.`, {
        class: "input",
        hint: `Its ports are ${[...byId.keys()].slice(0, 20).join(", ")}.`,
      });
    }
  }
  const wanted = new Set<string>();
  const needed = [...(only ?? [])];
  for (let id = needed.pop(); id !== undefined; id = needed.pop()) {
    if (wanted.has(id)) continue;
    wanted.add(id);
    needed.push(...byId.get(id)!.dependsOn);
  }
  const later = new Set<string>(from ?? []);
  for (let grew = later.size > 0; grew;) {
    grew = false;
    for (const port of plan.ports) {
      if (later.has(port.id) || !port.dependsOn.some((id) => later.has(id))) continue;
      later.add(port.id);
      grew = true;
    }
  }
  const ports = plan.ports.filter(({ id }) => wanted.has(id) || later.has(id));
  const left = new Set(ports.map(({ id }) => id));
  return {
    ...plan,
    ports: ports.map((port) => ({
      ...port,
      dependsOn: port.dependsOn.filter((id) => left.has(id)),
    })),
  };
}

function readCursor(cursor: string): number {
  const number = Number(Buffer.from(cursor, "base64url").toString());
  if (Number.isSafeInteger(number) && number > 0) return number;
  throw new DureError("CURSOR_INVALID", `"${cursor}" is no cursor of this list.`, {
    class: "input",
    hint: "Give back next_cursor as it was.",
  });
}
