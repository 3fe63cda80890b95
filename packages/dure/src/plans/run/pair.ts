import { lstat } from "node:fs/promises";
import { join } from "node:path";
import type { Database, Transaction } from "../../durable/database.ts";
import type { Notifications } from "../../durable/notify.ts";
import type { Clock } from "../../kernel/clock.ts";
import { DureError, messageOf } from "../../kernel/errors.ts";
import type { NewEscalation } from "../../kernel/escalation.ts";
import type { Logger } from "../../kernel/logger.ts";
import { workerOf, type Port, type WorkerSpec } from "../plan.ts";
import { scopeOf } from "../port-scope.ts";
import { readTestOutput } from "../results/read-output.ts";
import { policyOfWorker } from "../network-needs.ts";
import type { Confinement, ProcessIdentity, SandboxEnd } from "../sandbox/sandbox.ts";
import { makeScope, type Scope, type ScopeInput } from "../scope.ts";
import { sayViolation, type TreeViolation } from "../workspace/owned-changes.ts";
import { feedbackOf, type ImplResult, type TestFeedback } from "../workers/feedback.ts";
import type { Assignment, Member, Worker, WorkerEvent, WorkerResult } from "../workers/worker.ts";
import type { Briefing, BriefingRequest } from "./brief.ts";
import { DirectChannel, wordsIn, type ChannelMember } from "./channel.ts";
import { grantable, grantGlobs } from "./grants.ts";
import { withReports } from "./hooks.ts";
import type { PortOutcome } from "./leader.ts";
import type { PortResult } from "./merge.ts";
import {
  breakAdvice,
  breakWords,
  type ModuleBreak,
  type RunModules,
  type Turn,
} from "./modules.ts";
import {
  RUN_TOKENS_EXHAUSTED,
  type Because,
  type PlanPort,
  type PlanRun,
  type PlanStep,
} from "./run.ts";
import { MAX_LOG, wordsOf } from "./let-work.ts";
import { takeSharedRequest } from "./shared-requests.ts";
import { WorkerSigns } from "./signs.ts";
import {
  exitWords,
  limitsOf,
  StepLog,
  uncounted,
  type StepLogParts,
  type StepEnd,
  type StepEvent,
  type StepKey,
  SETUP_HINT,
} from "./step-log.ts";
import { BROKEN_TRIES, decideTry, triesForBreak, type TriesMade, type TryBy } from "./tries.ts";
import { escalationFor, tokensTrigger, type TriggerName } from "./triggers.ts";

/** A change that git found. */
export interface FileChange {
  readonly path: string;
  readonly kind: "new" | "modified" | "deleted";
}

/** What was taken of a worker's changes. */
export interface TakenWork {
  /** Undefined: nothing was changed. */
  readonly commit: string | undefined;
  readonly changes: readonly FileChange[];
  /** What it changed and does not own; none of it was taken. */
  readonly violations: readonly TreeViolation[];
}

/** The files of one port, on disk and in the run's own repository. */
export interface PortFiles {
  readonly tree: string;
  readonly scratch: string;
  /** In it: of whoever answers the working member's questions. */
  readonly answers: string;
  /**
   * The run's start with the results of what the port needs; the same for the same results.
   * `isTrial`: to be looked at, not built on.
   */
  compose(
    results: readonly { readonly port: string; readonly commit: string; readonly base: string }[],
    options?: { readonly isTrial?: boolean },
  ): Promise<
    | { readonly commit: string }
    | {
        readonly conflicts: readonly { readonly path: string; readonly ports: readonly string[] }[];
      }
  >;
  /** Makes the tree exactly this commit; what is ignored (what the set-up made) stays. */
  checkout(commit: string): Promise<void>;
  /**
   * What a process may touch in the tree under this scope; `git status` works there against this
   * commit.
   */
  confinement(commit: string, scope: Scope): Promise<Confinement>;
  /**
   * Of the tree at this commit: may be written everywhere, and nothing of it stays. What lies
   * around it is hidden as from workers.
   */
  disposable(commit: string): Promise<Confinement>;
  /** As `disposable`, and what is written stays: for the set-up alone. */
  open(commit: string): Promise<Confinement>;
  /** Whether the set-up was done in this very tree. */
  isSetUp(): Promise<boolean>;
  /** The set-up is done; what it left beside ignored files is nobody's change. */
  markSetUp(commit: string): Promise<void>;
  /**
   * Takes what the scope owns from the tree; the commit is referenced before this resolves. Done
   * again under the same name it gives the same.
   */
  take(work: {
    readonly parent: string;
    readonly scope: Scope;
    readonly message: string;
    readonly name: string;
    readonly at: number;
  }): Promise<TakenWork>;
  /** References the port's result, in the user's repository too. */
  keep(commit: string): Promise<void>;
  read(commit: string, path: string): Promise<string | undefined>;
}

export interface PairParts extends StepLogParts {
  readonly database: Database;
  readonly notifications: Pick<Notifications, "publish" | "subscribe">;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly files: (port: Port) => Promise<PortFiles>;
  readonly worker: (spec: WorkerSpec) => Worker;
  /** From the files of a commit. */
  readonly brief: (request: BriefingRequest, commit: string) => Promise<Briefing>;
  /** Variables of a worker of this port; complete. */
  readonly environment: (
    port: Port,
    spec: WorkerSpec | undefined,
    files: PortFiles,
    step: PlanStep,
  ) => Readonly<Record<string, string>>;
  /** What a worker may write beside the tree, because the plan says so. */
  readonly surroundings: (spec: WorkerSpec) => readonly string[];
  /** At most one orchestrator works at a time. */
  readonly orchestratorTurn: Turn;
  readonly modules: RunModules;
  /** See `WorkerSignsOptions`. */
  readonly stalledMs?: number | undefined;
}

/** The violation that ends a worker. Source: docs/spec/plans §5. */
const STOP_AT_VIOLATION = 2;
/** Questions that a member may ask in one step. Source: our choice. */
const MAX_QUERIES = 5;

interface Made {
  readonly result: Pick<WorkerResult, "status" | "summary" | "claimedFiles" | "error" | "feedback">;
  readonly commit: string;
  readonly changes: readonly FileChange[];
  readonly violations: readonly TreeViolation[];
  /** Paths that it asked for and was refused. */
  readonly refused?: readonly string[];
}

/** What a member's part of a try came to. */
interface Part {
  readonly made: Made;
  /** Why it could not go on, when that was decided about since: it was a try, and no more. */
  readonly told: PortFailure | undefined;
}

/** What a try came to. */
interface Tried {
  readonly commit: string;
  readonly feedback: TestFeedback;
  /** It failed with the check, not with tests. */
  readonly buildFailed?: boolean;
  /** It had passed alone. */
  readonly broken?: ModuleBreak;
}

export interface CheckOutput {
  readonly passed: boolean;
  readonly feedback?: TestFeedback;
  /** Of a module: whose check fails, and with what. */
  readonly broken?: ModuleBreak;
}

export interface AcceptOutput {
  readonly feedback: TestFeedback;
  /** The acceptance passed, and the check did not. */
  readonly buildFailed?: boolean;
  readonly framework: string;
  readonly exitCode: number | null;
  readonly because: string;
  readonly output: string;
}

/**
 * Works on one port: `start → set up → (implement → test → accept)*`. Each step is a row, its work a commit under a name that
 * tells the step; so a port that is taken up again goes on behind the last step that ended, and no
 * try is made twice.
 */
export async function buildPort(
  run: PlanRun,
  port: PlanPort,
  parts: PairParts,
  options: { signal: AbortSignal },
): Promise<PortOutcome> {
  const now = await parts.records.port(run.id, port.id); // with what earlier work on it has written
  return new PairWork(run, now ?? port, parts, options.signal).build();
}

class PairWork {
  readonly #run: PlanRun;
  readonly #port: Port;
  readonly #parts: PairParts;
  readonly #channel: DirectChannel;
  readonly #signal: AbortSignal;
  readonly stepLog: StepLog;
  readonly #late = new AbortController();
  readonly #outer: AbortSignal;
  #state: PlanPort;
  /** Tokens of the whole run, as far as they are known here; other ports use them too. */
  #ofRun: { readonly used: number; readonly most: number | null } = { used: 0, most: null };
  #files!: PortFiles;
  /** Steps of earlier work, as `try kind`, whose failure was decided about since. */
  #told: ReadonlySet<string> = new Set();
  /** When the time that is not yet written began. */
  #countedAt: number;

  constructor(run: PlanRun, port: PlanPort, parts: PairParts, signal: AbortSignal) {
    this.#run = run;
    this.#state = port;
    this.#port = run.plan.ports[port.position]!;
    this.#parts = parts;
    this.#outer = signal;
    this.#signal = AbortSignal.any([signal, this.#late.signal]);
    this.#countedAt = parts.clock.monotonic();
    this.stepLog = new StepLog(run, port.id, parts, this.#signal);
    this.#channel = new DirectChannel({
      database: parts.database,
      records: parts.records,
      notifications: parts.notifications,
      lease: parts.lease,
      run: run.id,
      port: port.id,
    });
  }

  async build(): Promise<PortOutcome> {
    const patience = new AbortController();
    const late = this.#watchTime(patience.signal);
    this.#parts.modules.forget(this.#port.id);
    let isIn = false;
    try {
      const outcome = await this.#work();
      isIn = outcome.status === "succeeded";
      return outcome;
    } catch (error) {
      if (this.#outer.aborted) throw error;
      if (this.#late.signal.aborted) {
        return this.#failed("time-over", {
          code: "PORT_TIMEOUT",
          message: `It took longer than ${Math.round(this.#state.timeMs / 1_000)} s.`,
          hint: "Give it more time, or make it smaller.",
        });
      }
      if (error instanceof PortFailure) {
        return this.#failed(error.trigger, error.because, error.context);
      }
      throw error;
    } finally {
      if (!isIn) this.#parts.modules.forget(this.#port.id);
      patience.abort();
      await late;
      await this.#countTime().catch(() => {}); // a leader who has lost the run writes nothing
    }
  }

  /**
   * Aborts the work when the port's time is over; time that was given meanwhile counts. Never
   * rejects.
   */
  async #watchTime(signal: AbortSignal): Promise<void> {
    try {
      for (let left = this.#timeLeft(); ; left = this.#timeLeft()) {
        if (left > 0) await this.#parts.clock.sleep(left, { signal });
        else await this.#readGifts();
        if (left <= 0 && this.#timeLeft() <= 0) break;
      }
    } catch (error) {
      if (signal.aborted) return;
      this.#parts.logger.warn(
        { run: this.#run.id, port: this.#port.id, error: messageOf(error) },
        `whether ${this.#port.id} got more time could not be read`,
      );
    }
    this.#late.abort(
      new DureError(
        "PORT_TIMEOUT",
        `The port ${this.#port.id} has used up its ${Math.round(this.#state.timeMs / 1_000)} s.`,
      ),
    );
  }

  /** What people gave the port, or the run, since it was last read. */
  async #readGifts(): Promise<void> {
    const { records } = this.#parts;
    const [port, run] = await Promise.all([
      records.port(this.#run.id, this.#port.id),
      records.run(this.#run.id),
    ]);
    if (!port || !run) return;
    const { timeMs, tokensMost, triesPair, triesOrchestrator, hint, grants } = port;
    this.#state = {
      ...this.#state,
      timeMs,
      tokensMost,
      triesPair,
      triesOrchestrator,
      hint,
      grants,
    };
    this.#ofRun = { used: run.tokensIn + run.tokensOut, most: run.tokensMost };
  }

  async #work(): Promise<PortOutcome> {
    const { records } = this.#parts;
    this.#files = await this.#parts.files(this.#port);
    const start = await this.#start();
    await this.#setUp(start);
    const done = (await records.steps(this.#run.id, this.#port.id)).filter(
      ({ status }) => status === "done",
    );
    this.#told = new Set(done.filter(({ told }) => told).map((step) => `${step.try} ${step.kind}`));
    let commit = start;
    let last: Tried | undefined;
    let more = triesForBreak(done);
    for (let made: TriesMade = { pair: 0, orchestrator: 0 }; ;) {
      this.#signal.throwIfAborted();
      await this.#readGifts();
      const next = decideTry(made, { ...this.#state, triesPair: this.#state.triesPair + more });
      const number = made.pair + made.orchestrator + 1;
      // A try that was made before stands, whoever would make it by what was given since.
      const before = done.find((step) => step.try === number && step.kind === "implement")?.member;
      if (!next.go && before === undefined) return await this.#exhausted(number - 1, last);
      const by: TryBy =
        before === "orchestrator"
          ? "orchestrator"
          : next.go && before === undefined
            ? next.by
            : "pair";
      const round = { number, most: next.most, by };
      const tried: Tried =
        by === "orchestrator"
          ? await this.#parts.orchestratorTurn(() => this.#try(round, commit, last?.feedback), {
              signal: this.#signal,
            })
          : await this.#try(round, commit, last?.feedback);
      made = { ...made, [by]: made[by] + 1 };
      commit = tried.commit;
      last = tried;
      if (tried.broken?.by !== undefined) more = BROKEN_TRIES;
      if (!tried.feedback.success) continue;
      await this.#files.keep(commit);
      return { status: "succeeded", commit };
    }
  }

  /**
   * What the port starts from; decided once, so that a port that is tried again does not change its
   * ground.
   */
  async #start(): Promise<string> {
    if (this.#state.startCommit !== null) return this.#state.startCommit;
    const { records, lease, modules } = this.#parts;
    const isOneContext = this.#run.mode?.oneContext === true;
    const names = isOneContext
      ? this.#run.plan.ports.map(({ id }) => id)
      : [...modules.neededBy([this.#port.id])];
    const ports = (await records.portsNamed(this.#run.id, names)).filter(
      ({ id, status }) => !isOneContext || (status === "succeeded" && id !== this.#port.id),
    );
    const results = resultsOf(ports);
    const composed = await this.#files.compose(results);
    if ("conflicts" in composed) {
      const [first] = composed.conflicts;
      throw new PortFailure(
        "same-file",
        {
          code: "CONFLICT",
          message: `${first!.ports.join(" and ")} both changed ${first!.path}.`,
          hint: "Give the file to one of them.",
        },
        { conflicts: composed.conflicts.slice(0, 20) },
      );
    }
    await records.write(lease, (tx) =>
      records.changePorts(tx, this.#run.id, [
        { position: this.#state.position, startCommit: composed.commit },
      ]),
    );
    this.#state = { ...this.#state, startCommit: composed.commit };
    return composed.commit;
  }

  async #setUp(start: string): Promise<void> {
    const { setup } = this.#run.plan;
    // The tree tells whether it is set up: it may be another one than that of an earlier try.
    if (setup === undefined || (await this.#files.isSetUp())) return;
    await this.#step<{ exitCode: number | null }>(
      { try: 0, kind: "setup", again: true },
      async (step) => {
        await this.#files.checkout(start);
        const ran = await this.#command(setup, await this.#files.open(start), step);
        if (ran.exitCode !== 0) {
          throw new PortFailure(
            "build-failed",
            {
              code: "SETUP_FAILED",
              message: `The set-up ended with ${exitWords(ran)}.`,
              hint: SETUP_HINT,
            },
            { output: ran.output.slice(-4_000) },
          );
        }
        await this.#files.markSetUp(start);
        return { output: { exitCode: ran.exitCode }, log: ran.output };
      },
    );
  }

  async #try(round: Try, from: string, before: TestFeedback | undefined): Promise<Tried> {
    const by: Member = round.by === "orchestrator" ? "orchestrator" : "implementer";
    const { made, told } = await this.#member(round, "implement", by, from, before, undefined);
    const fails = told !== undefined || made.result.status === "failed";
    const checked =
      fails || this.#port.check === undefined
        ? undefined
        : await this.#checked(round, made.commit, this.#port.check);
    const result: ImplResult = {
      status: fails ? "failed" : made.result.status,
      changedFiles: made.changes.map(({ path }) => path),
      summary: made.result.summary,
      ...(checked && { buildPassed: checked.passed }),
    };
    if (round.by === "pair") await this.#say(round, "implementer", "tester", "result", result);
    if (fails) {
      return this.#failedTry(
        round,
        made.commit,
        failedTry(told?.because.message ?? made.result.error?.message ?? made.result.summary),
      );
    }
    // What does not build cannot be tested.
    if (checked?.feedback) {
      return {
        ...(await this.#failedTry(round, made.commit, checked.feedback)),
        buildFailed: true,
      };
    }
    const part =
      this.#port.tests.length > 0 && round.by === "pair"
        ? await this.#member(round, "test", "tester", made.commit, before, result)
        : undefined;
    if (part?.told) {
      return this.#failedTry(round, part.made.commit, failedTry(part.told.because.message));
    }
    const { commit } = part?.made ?? made;
    const accepted = await this.#accept(round, commit, { wasChecked: commit === made.commit });
    const recalled = await this.#recalled(round.number);
    if (accepted.feedback.success && recalled) return { commit, feedback: recalled };
    const together = accepted.feedback.success ? await this.#together(round, commit) : undefined;
    const suggestions = part?.made.result.feedback?.suggestions ?? [];
    const reported = withReports(
      together?.feedback ?? accepted.feedback,
      await this.#channel.reports(round.number),
    );
    const feedback: TestFeedback = {
      ...reported,
      suggestions: [...reported.suggestions, ...suggestions].slice(0, 30),
    };
    if (round.by === "pair") await this.#say(round, "tester", "implementer", "feedback", feedback);
    return {
      commit,
      feedback,
      ...((accepted.buildFailed || together) && { buildFailed: true }),
      ...(together?.broken && { broken: together.broken }),
    };
  }

  /**
   * Whether the port's modules still compile with what other ports have made in them; undefined
   * when they do. Whoever comes to a module that others are in tries it with them, so the one that
   * comes last tries it whole, and what fails is told to the port that made it fail.
   */
  async #together(round: Try, commit: string): Promise<CheckOutput | undefined> {
    const { modules, records } = this.#parts;
    const own: PortResult = { port: this.#port.id, commit, base: this.#state.startCommit! };
    const peers = modules.peersOf(own.port);
    if (peers.length === 0) return undefined;
    const needed = modules.neededBy([own.port]);
    return modules.turn(
      async () => {
        const unknown = modules.unknown(peers);
        modules.learn(
          unknown,
          resultsOf(
            (await records.portsNamed(this.#run.id, unknown)).filter(
              ({ status }) => status === "succeeded",
            ),
          ),
        );
        const there = peers.flatMap((port) => modules.accepted(port) ?? []);
        const checks = modules.checksOf([own.port, ...there.map(({ port }) => port)]);
        const isNew = there.some(({ port }) => !needed.has(port)); // what it needs is in its own tree, and was tried with it
        const wasTried = (await records.steps(this.#run.id, own.port)).some(
          (step) => step.try === round.number && step.kind === "module",
        );
        const made =
          wasTried || (isNew && checks.length > 0)
            ? await this.#step<CheckOutput>(
                { try: round.number, kind: "module" },
                async (step) => ({
                  output: await this.#tryModule(there, own, checks, round, step),
                }),
              )
            : undefined;
        if (made?.passed !== false) modules.accept(own);
        return made?.passed === false ? made : undefined;
      },
      { signal: this.#signal },
    );
  }

  async #tryModule(
    there: readonly PortResult[],
    own: PortResult,
    checks: readonly string[],
    round: Try,
    step: PlanStep,
  ): Promise<CheckOutput> {
    const commit = await this.#composed([...there, own]);
    if (commit === undefined) return { passed: true }; // the merge has them written once, and tries the whole
    await this.#files.checkout(commit);
    for (const check of checks) {
      const failed = await this.#check(check, commit, step);
      if (!failed) continue;
      const names = there.map(({ port }) => port);
      const of = this.#parts.modules.checkedBy(check, [...names, own.port]);
      // What is in was tried with the checks of all that are in: only a check that comes with this
      // port can fail for them alone.
      const by =
        round.by === "pair" && names.every((name) => !of.includes(name))
          ? await this.#brokenBy(check, there, step)
          : undefined;
      const broken: ModuleBreak = {
        check,
        of: of.slice(0, 20),
        with: names.slice(0, 20),
        ...(by !== undefined && { by }),
      };
      return {
        passed: false,
        broken,
        feedback: {
          ...failed,
          suggestions: [breakAdvice(broken, own.port), ...failed.suggestions],
        },
      };
    }
    return { passed: true };
  }

  /**
   * Which of these results breaks the check without any work of this port, although it passes on
   * what the port began from; undefined: none does alone.
   */
  async #brokenBy(
    check: string,
    there: readonly PortResult[],
    step: PlanStep,
  ): Promise<string | undefined> {
    const ordered = this.#parts.modules.inOrder(there);
    const fails = async (commit: string): Promise<boolean> => {
      await this.#files.checkout(commit);
      return (await this.#check(check, commit, step)) !== undefined;
    };
    const failsWith = async (count: number): Promise<boolean> => {
      const commit = await this.#composed(ordered.slice(0, count));
      return commit !== undefined && fails(commit);
    };
    if ((await fails(this.#state.startCommit!)) || !(await failsWith(ordered.length))) {
      return undefined;
    }
    let [passes, breaks] = [0, ordered.length];
    while (breaks - passes > 1) {
      const middle = (passes + breaks) >> 1;
      if (await failsWith(middle)) breaks = middle;
      else passes = middle;
    }
    return ordered[breaks - 1]!.port;
  }

  /**
   * These results with what they need, and with what this port began from; undefined: two of them
   * changed the same.
   */
  async #composed(results: readonly PortResult[]): Promise<string | undefined> {
    const { modules, records } = this.#parts;
    const names = results.map(({ port }) => port);
    const needed = [...modules.neededBy([...names, this.#port.id])].filter(
      (port) => !names.includes(port),
    );
    const composed = await this.#files.compose(
      modules.inOrder([...results, ...resultsOf(await records.portsNamed(this.#run.id, needed))]),
      { isTrial: true },
    );
    return "conflicts" in composed ? undefined : composed.commit;
  }

  /** A try that came to nothing that could be accepted; the next one is told why. */
  async #failedTry(round: Try, commit: string, why: TestFeedback): Promise<Tried> {
    const feedback = withReports(why, await this.#channel.reports(round.number));
    if (round.by === "pair") await this.#say(round, "tester", "implementer", "feedback", feedback);
    return { commit, feedback };
  }

  /** One worker's part of a try: brief it, let it work, take what it owns. */
  async #member(
    round: Try,
    kind: "implement" | "test",
    member: Member,
    from: string,
    before: TestFeedback | undefined,
    result: ImplResult | undefined,
  ): Promise<Part> {
    const { clock } = this.#parts;
    const spec = workerOf(
      this.#run.plan.workers,
      member === "orchestrator" ? "orchestrator" : this.#port.role,
    );
    if (!spec) {
      throw new PortFailure("worker-lost", {
        code: "WORKER_UNKNOWN",
        message: `Nobody works for the role ${this.#port.role}.`,
      });
    }
    const scopeInput = await this.#scope(member);
    const scope = makeScope(scopeInput);
    // A model listens while it works; the others read what the operator said in their prompt.
    const unheard =
      member === "orchestrator" || spec.kind === "model" ? [] : await this.#channel.unheard(member);
    const hints = [
      ...(this.#state.hint === null ? [] : [this.#state.hint]),
      ...unheard.map(({ payload }) => wordsIn(payload)),
    ];
    const briefing = await this.#parts.brief(
      {
        run: this.#run,
        port: this.#port,
        member,
        scope: scopeInput,
        try: round.number,
        triesMost: round.most,
        ...(before && { feedback: before }),
        ...(result && { toTest: result }),
        ...(hints.length > 0 && { hint: hints.join("\n\n") }),
      },
      from,
    );
    const refused = new Set<string>();
    const made = await this.#step<Made>(
      { try: round.number, kind, member, worker: spec.kind, manifest: briefing.manifest },
      async (step) => {
        await this.#requireTokens();
        await this.#files.checkout(from);
        const tree = await this.#files.confinement(from, scope);
        const network = policyOfWorker(
          spec,
          { plan: this.#run.plan, port: this.#port },
          this.#parts.network,
        );
        const confinement = {
          ...tree,
          writable: [...tree.writable, ...this.#parts.surroundings(spec)],
          network,
        };
        const worked = await this.#let(
          spec,
          member,
          round,
          step,
          briefing.prompt,
          scope,
          confinement,
          (path) => refused.add(path),
        );
        const taken = await this.#files.take({
          parent: from,
          scope,
          message:
            `${this.#port.title} (${member}, try ${round.number})\n\n${worked.result.summary}`.trim(),
          name: `${this.#port.id}/${round.number}.${kind}`,
          at: step.startedAt,
        });
        const { tokens: _tokens, ...kept } = worked.result;
        const output: Made = {
          result: kept,
          commit: taken.commit ?? from,
          changes: taken.changes,
          violations: taken.violations,
          ...(refused.size > 0 && { refused: [...refused].slice(0, 50) }),
        };
        for (const { id } of unheard) await this.#channel.processed(id);
        return { output, tokens: worked.result.tokens, counted: worked.counted, log: worked.log };
      },
    );
    const failure = this.#failureOf(made, member);
    if (failure && !this.#told.has(`${round.number} ${kind}`)) throw failure;
    this.#parts.logger.debug(
      { run: this.#run.id, port: this.#port.id, at: clock.now() },
      `${member} of ${this.#port.id} ended try ${round.number} of ${round.most}: ${made.result.status}`,
    );
    return { made, told: failure };
  }

  /**
   * What of a member's part somebody must decide about before the port can go on. Once that is
   * decided, its try is over.
   */
  #failureOf({ result, violations, refused = [] }: Made, member: Member): PortFailure | undefined {
    const hint = "Give it the path, or tell it to leave it alone.";
    if (violations.length > 0 && this.#run.plan.violations !== "report") {
      const paths = violations.map(({ path }) => path);
      return new PortFailure(
        "ownership-violated",
        {
          code: "OWNERSHIP_VIOLATED",
          message: `The ${member} changed ${paths.slice(0, 3).join(", ")}${paths.length > 3 ? ` and ${paths.length - 3} more` : ""}, which it does not own. Nothing of that was taken.`,
          hint,
        },
        { paths: paths.slice(0, 50) },
      );
    }
    switch (result.error?.code) {
      case "WORKER_STOPPED_VIOLATIONS":
        return new PortFailure(
          "ownership-violated",
          {
            code: "OWNERSHIP_VIOLATED",
            message: `The ${member} was stopped: ${result.error.message}`,
            hint,
          },
          { paths: refused },
        );
      case "WORKER_TOKENS":
        return tokensExhausted(this.#tokensLeft());
      case "WORKER_NOT_STARTED":
        return new PortFailure("worker-lost", {
          code: "WORKER_NOT_STARTED",
          message: result.error.message,
          hint: result.error.hint ?? "Check the worker's command.",
        });
      default:
        return undefined;
    }
  }

  async #scope(member: Member): Promise<ScopeInput> {
    const { plan, mode } = this.#run;
    const how = { oneContext: mode?.oneContext };
    const base =
      member === "orchestrator"
        ? {
            ...scopeOf(plan, this.#port, "implementer", how),
            exceptions: [],
            writes: [...this.#port.owns, ...this.#port.tests],
          }
        : scopeOf(plan, this.#port, member, how);
    const grants = await Promise.all(
      this.#state.grants.map(async (grant) => ({
        ...grant,
        isFolder: await this.#isFolder(grant.path),
      })),
    );
    const globs = (wants: "read" | "own"): string[] =>
      grants
        .filter((grant) => wants === "read" || grant.wants === "own")
        .flatMap(({ path, isFolder }) => grantGlobs({ path, wants }, isFolder));
    const own = member === "tester" ? [] : globs("own");
    return {
      ...base,
      writes: [...base.writes, ...own],
      ...(base.orchestrators && {
        orchestrators: { ...base.orchestrators, but: [...base.orchestrators.but, ...own] },
      }),
      reads: [...base.reads, ...globs("read")],
    };
  }

  async #isFolder(path: string): Promise<boolean> {
    const plain = grantable(path);
    if (plain === undefined) return false;
    return lstat(join(this.#files.tree, plain)).then(
      (found) => found.isDirectory(),
      () => false,
    );
  }

  /** Lets a worker work, listens to it, and stores its signs. */
  async #let(
    spec: WorkerSpec,
    member: Member,
    round: Try,
    step: PlanStep,
    prompt: string,
    scope: Scope,
    confinement: Confinement,
    onRefused: (path: string) => void,
  ): Promise<{ result: WorkerResult; counted: number; log: string }> {
    const { records, lease, sandbox, worker } = this.#parts;
    const listening = new AbortController();
    const signal = AbortSignal.any([this.#signal, listening.signal]);
    const mute = new AbortController();
    const talk: Talk = { key: `${step.id}.${step.starts}`, asked: 0, mute: mute.signal };
    if (member !== "orchestrator") await this.#channel.forgetQuestions(); // whoever asked them is gone
    const answering =
      member === "orchestrator"
        ? undefined
        : this.#answer(member, round, spec, step, readOnlyOf(confinement), { signal, mute });
    const tokensLeft = this.#tokensLeft();
    const assignment: Assignment = {
      id: step.node.id,
      run: this.#run.id,
      plan: this.#run.plan.name,
      port: this.#port.id,
      member,
      attempt: 1,
      round: round.number,
      prompt,
      scope,
      tree: this.#files.tree,
      scratch: this.#files.scratch,
      sandbox,
      confinement,
      env: this.#parts.environment(this.#port, spec, this.#files, step),
      limits: {
        timeMs: Math.max(1_000, this.#timeLeft()),
        ...limitsOf(spec),
        ...(tokensLeft && { tokens: Math.max(1, tokensLeft.left) }),
      },
      onStart: (identity: ProcessIdentity) => records.stepProcess(lease, step.id, identity),
      channel: {
        query: async (text, { signal: asking }) =>
          this.#ask(member, talk, text, AbortSignal.any([asking, signal])),
        inbox: () => this.#operatorWords(member, signal),
      },
      requestAccess: (request, { signal: asking }) =>
        this.#requestAccess(member, request, AbortSignal.any([asking, signal])),
      stopAtViolation: STOP_AT_VIOLATION,
    };
    const signs = new WorkerSigns({
      ...this.#parts,
      stepLog: this.stepLog,
      step,
      port: this.#port.id,
      member,
      count: (tx, tokens) => this.#count(tx, tokens),
    });
    let log = "";
    let result: WorkerResult | undefined;
    try {
      for await (const event of worker(spec).run(assignment, { signal: this.#signal })) {
        log = (log + wordsOf(event)).slice(-MAX_LOG);
        if (event.type === "result") result = event.result;
        if (event.type === "violation") {
          onRefused(event.path);
          await this.#violated(event, member, round);
        }
        if (event.type === "progress") await signs.heard(event, log);
      }
    } finally {
      signs.stop();
      listening.abort();
      await answering;
      if (!result) await signs.lastWord(log).catch(() => {}); // a leader who has lost the run writes nothing
    }
    if (!result) {
      throw new DureError(
        "WORKER_FAILED",
        `The ${spec.kind} worker of ${this.#port.id} ended without a result.`,
      );
    }
    return { result, counted: signs.counted, log };
  }

  /** What a sign adds to the port and the run: tokens, and the time since the last one. */
  async #count(tx: Transaction, tokens: number): Promise<void> {
    const { records } = this.#parts;
    const spent = this.#spentSince();
    await records.changePorts(tx, this.#run.id, [
      { position: this.#state.position, addSpentMs: spent, addTokensIn: tokens },
    ]);
    if (tokens > 0) {
      this.#ofRun = await records.addTokens(tx, this.#run.id, { input: tokens, output: 0 });
    }
    this.#state = {
      ...this.#state,
      spentMs: this.#state.spentMs + spent,
      tokensIn: this.#state.tokensIn + tokens,
    };
  }

  async #accept(
    round: Try,
    commit: string,
    { wasChecked }: { wasChecked: boolean },
  ): Promise<AcceptOutput> {
    return this.#step<AcceptOutput>({ try: round.number, kind: "accept" }, async (step) => {
      await this.#files.checkout(commit);
      const began = this.#parts.clock.monotonic();
      const ran = await this.#command(
        this.#port.acceptance,
        await this.#files.disposable(commit),
        step,
      );
      const report = readTestOutput(ran.output);
      const feedback = feedbackOf({
        report,
        exitCode: ran.exitCode,
        output: ran.output,
        durationMs: this.#parts.clock.monotonic() - began,
        isComplete: !ran.outputTruncated,
      });
      const broken =
        feedback.success && this.#port.check !== undefined && !wasChecked
          ? await this.#check(this.#port.check, commit, step)
          : undefined;
      const output: AcceptOutput = {
        feedback: broken ?? feedback,
        ...(broken && { buildFailed: true }),
        framework: report.framework,
        exitCode: ran.exitCode,
        because: ran.because,
        output: ran.output.slice(-8_000),
      };
      return { output, log: ran.output };
    });
  }

  /** Whether what the implementer left compiles. */
  async #checked(round: Try, commit: string, check: string): Promise<CheckOutput> {
    return this.#step<CheckOutput>({ try: round.number, kind: "check" }, async (step) => {
      await this.#files.checkout(commit);
      const broken = await this.#check(check, commit, step);
      return { output: broken ? { passed: false, feedback: broken } : { passed: true } };
    });
  }

  /** What the merged tree failed with, when bisection blamed this try: it had passed alone. */
  async #recalled(number: number): Promise<TestFeedback | undefined> {
    const steps = await this.#parts.records.steps(this.#run.id, this.#port.id);
    return steps.find((step) => step.try === number && step.kind === "integrate")?.output as
      | TestFeedback
      | undefined;
  }

  /** The compile command of the port; undefined when it passes. */
  async #check(check: string, commit: string, step: PlanStep): Promise<TestFeedback | undefined> {
    const ran = await this.#command(check, await this.#files.disposable(commit), step);
    if (ran.exitCode === 0) return undefined;
    return {
      success: false,
      failedTests: [],
      suggestions: [
        `The check \`${check}\` ended with ${exitWords(ran)}:\n${ran.output.slice(-4_000)}`,
      ],
      metrics: { total: 0, passed: 0, failed: 0, durationMs: 0 },
    };
  }

  #command(
    command: string,
    confinement: Confinement,
    step: PlanStep,
  ): Promise<SandboxEnd & { readonly output: string }> {
    return this.stepLog.command(step, command, confinement, {
      env: this.#parts.environment(this.#port, undefined, this.#files, step),
      timeMs: this.#timeLeft(),
    });
  }

  /** A step of this port; with its end goes what it has used. */
  async #step<Output>(
    key: StepKey,
    work: (step: PlanStep) => Promise<StepEnd<Output>>,
  ): Promise<Output> {
    const { records } = this.#parts;
    return this.stepLog.step(key, work, async (tx, end) => {
      const { output } = end;
      const tokens = uncounted(end);
      const spent = this.#spentSince();
      await records.changePorts(tx, this.#run.id, [
        {
          position: this.#state.position,
          addSpentMs: spent,
          ...(tokens && { addTokensIn: tokens.input, addTokensOut: tokens.output }),
        },
      ]);
      const ofRun = tokens ? await records.addTokens(tx, this.#run.id, tokens) : undefined;
      if (ofRun) this.#ofRun = ofRun;
      for (const violation of violationsIn(output)) {
        await records.violation(tx, this.#run.id, {
          port: this.#port.id,
          try: key.try,
          member: key.member!,
          path: violation.path,
          wanted: "write",
          because: violation.because,
          detail: sayViolation(violation.because),
          found: "commit",
        });
      }
      const escalations = this.#tokenEscalations(tokens, ofRun);
      this.#state = {
        ...this.#state,
        spentMs: this.#state.spentMs + spent,
        tokensIn: this.#state.tokensIn + (tokens?.input ?? 0),
        tokensOut: this.#state.tokensOut + (tokens?.output ?? 0),
      };
      return { escalations, events: stepEvents(key, output, end.tokens, this.#port.id) };
    });
  }

  // --- the channel

  async #say(
    round: Try,
    from: ChannelMember,
    to: ChannelMember,
    type: "result" | "feedback",
    payload: unknown,
  ): Promise<void> {
    const id = await this.#channel.send({
      key: `${round.number}:${type}:${from}`,
      from,
      to,
      type,
      payload,
    });
    // Its receiver reads it in its next prompt, which is made from the steps.
    await this.#channel.take(to, type);
    await this.#channel.processed(id);
  }

  async #ask(member: Member, talk: Talk, text: string, signal: AbortSignal): Promise<string> {
    if (member === "orchestrator") return "Nobody works beside the orchestrator.";
    const number = ++talk.asked;
    if (number > MAX_QUERIES) {
      return `No more than ${MAX_QUERIES} questions are answered in one step.`;
    }
    const to = member === "implementer" ? "tester" : "implementer";
    try {
      const { answer } = await this.#channel.query(
        { key: `${talk.key}:query:${member}:${number}`, from: member, to, text },
        { signal: AbortSignal.any([signal, talk.mute]) },
      );
      return wordsIn(answer);
    } catch (error) {
      if (signal.aborted) throw error;
      return `The ${to} cannot answer: ${messageOf(error)}. Decide by yourself.`;
    }
  }

  /**
   * Answers what the working member asks, in the place of the other one; takes no slot. Ends with
   * `signal`; aborts `mute` when nobody will answer any more.
   */
  async #answer(
    asking: ChannelMember,
    round: Try,
    spec: WorkerSpec,
    step: PlanStep,
    confinement: Confinement,
    { signal, mute }: { signal: AbortSignal; mute: AbortController },
  ): Promise<void> {
    const other: ChannelMember = asking === "implementer" ? "tester" : "implementer";
    const failed = (error: unknown): void =>
      this.#parts.logger.warn(
        { run: this.#run.id, port: this.#port.id, error: messageOf(error) },
        `the ${other} of ${this.#port.id} could not answer`,
      );
    try {
      let number = 0;
      for await (const question of this.#channel.inbox(other, "query", { signal })) {
        const text = await this.#oneAnswer(
          other,
          round,
          spec,
          step,
          confinement,
          { number: ++number, text: wordsIn(question.payload) },
          signal,
        ).catch((error: unknown) => {
          signal.throwIfAborted();
          failed(error);
          return `The ${other} cannot answer: ${messageOf(error)}. Decide by yourself.`;
        });
        await this.#channel.send({
          key: `ack:${question.id}`,
          from: other,
          to: asking,
          type: "ack",
          payload: { text },
          replyTo: question.id,
        });
      }
    } catch (error) {
      if (signal.aborted) return;
      failed(error);
      mute.abort(error);
    }
  }

  async #oneAnswer(
    other: ChannelMember,
    round: Try,
    spec: WorkerSpec,
    step: PlanStep,
    confinement: Confinement,
    question: { readonly number: number; readonly text: string },
    signal: AbortSignal,
  ): Promise<string> {
    const { sandbox, worker } = this.#parts;
    const input = await this.#scope(other);
    const readOnly = makeScope({ ...input, writes: [], reads: [...input.reads, ...input.writes] });
    const assignment: Assignment = {
      id: `${step.node.id}/answer/${question.number}`,
      run: this.#run.id,
      plan: this.#run.plan.name,
      port: this.#port.id,
      member: other,
      attempt: 1,
      round: round.number,
      prompt: `You are the ${other} of the port "${this.#port.title}". Your partner asks:\n\n${question.text}\n\nAnswer in a few sentences. Change no file. The task of the port is:\n${this.#port.goal}`,
      scope: readOnly,
      tree: this.#files.tree,
      scratch: this.#files.answers,
      sandbox,
      confinement,
      env: this.#parts.environment(this.#port, spec, this.#files, step),
      limits: { timeMs: Math.min(120_000, Math.max(1_000, this.#timeLeft())), ...limitsOf(spec) },
      onStart: async () => {},
      channel: { query: async () => "Answer by yourself.", inbox: async function* () {} },
      requestAccess: async () => ({ granted: false, note: "An answer needs no other files." }),
      stopAtViolation: STOP_AT_VIOLATION,
    };
    for await (const event of worker(spec).run(assignment, { signal })) {
      if (event.type !== "result") continue;
      if (event.result.status === "failed") {
        throw new DureError(
          event.result.error?.code ?? "WORKER_FAILED",
          event.result.error?.message ?? event.result.summary,
        );
      }
      return event.result.summary || "(no answer)";
    }
    return "(no answer)";
  }

  async *#operatorWords(
    member: Member,
    signal: AbortSignal,
  ): AsyncGenerator<{ from: string; text: string }> {
    if (member === "orchestrator") return;
    for await (const message of this.#channel.inbox(member, "feedback", { signal })) {
      if (message.from === "operator") yield { from: "operator", text: wordsIn(message.payload) };
    }
  }

  /**
   * The question goes to the operator; what is allowed counts from the next try on, for a running
   * process keeps the mounts that it has.
   */
  async #requestAccess(
    member: Member,
    request: { path: string; wants: "read" | "own"; why: string },
    _signal: AbortSignal,
  ): Promise<{ granted: boolean; note: string }> {
    const { records, lease, inbox } = this.#parts;
    const path = grantable(request.path);
    if (path === undefined) {
      return {
        granted: false,
        note: "That is no path of the repository; paths begin at its root.",
      };
    }
    const known = this.#state.grants.some(
      (grant) => grant.path === path && (grant.wants === "own" || grant.wants === request.wants),
    );
    if (known) return { granted: true, note: "It is yours already." };
    const noted = await takeSharedRequest(
      this.#parts,
      { run: this.#run.id, port: this.#port.id, member, plan: this.#run.plan },
      { ...request, path },
    ).catch((error: unknown) => ({ granted: false, note: messageOf(error) }));
    if (noted) return noted;
    const question = escalationFor("access-asked", {
      tenant: this.#run.tenant,
      run: this.#run.id,
      plan: this.#run.plan.name,
      port: this.#port.id,
      key: `${request.wants}=${path}`, // each path is a question of its own
      title: `${this.#port.id}: ${member} → ${request.wants} ${path}`.slice(0, 300),
      context: { path, wants: request.wants, why: request.why.slice(0, 2_000) },
    });
    await records.write(lease, (tx) => inbox.raise(tx, [question]));
    inbox.announce();
    return {
      granted: false,
      note: "The operator was asked. Go on without it; what is allowed counts from the next try on.",
    };
  }

  async #violated(
    event: Extract<WorkerEvent, { type: "violation" }>,
    member: Member,
    round: Try,
  ): Promise<void> {
    const { records, lease } = this.#parts;
    await records.write(lease, (tx) =>
      records.violation(tx, this.#run.id, {
        port: this.#port.id,
        try: round.number,
        member,
        path: event.path.slice(0, 1_000),
        wanted: event.wanted,
        because: event.because,
        detail: event.detail,
        found: "request",
      }),
    );
  }

  // --- ends

  async #exhausted(made: number, last: Tried | undefined): Promise<PortOutcome> {
    const { feedback, buildFailed = false, broken } = last ?? {};
    const failing = feedback?.failedTests.slice(0, 5).map(({ name }) => name) ?? [];
    const words = broken
      ? breakWords(broken, this.#port.id)
      : failing.length > 0
        ? `These still fail: ${failing.join("; ")}.`
        : (feedback?.suggestions[0]?.slice(0, 500) ?? "");
    return this.#failed(
      buildFailed ? "build-failed" : "tries-exhausted",
      {
        code: "TRIES_EXHAUSTED",
        message:
          `${made} of ${made} tries did not pass the ${buildFailed ? "check" : "acceptance"}. ${words}`.trim(),
        hint: broken
          ? `Say how ${this.#port.id} is to fit to ${broken.by ?? broken.with.slice(0, 5).join(", ")}, and let it try again, or go on without it.`
          : "Say what to do differently, and let it try again.",
      },
      {
        tries: made,
        failing,
        ...(feedback && { metrics: feedback.metrics }),
        ...(broken && {
          check: broken.check,
          checkOf: broken.of,
          together: [this.#port.id, ...broken.with],
          ...(broken.by !== undefined && { brokenBy: broken.by }),
        }),
      },
    );
  }

  #failed(
    trigger: TriggerName,
    because: Because,
    context: Readonly<Record<string, unknown>> = {},
  ): PortOutcome {
    return {
      status: "failed",
      because,
      escalation: {
        ...this.#escalation(
          trigger,
          `${this.#run.plan.name} › ${this.#port.title}: ${because.message}`.slice(0, 300),
          context,
        ),
        ...(because.hint !== undefined && { description: because.hint }),
      },
    };
  }

  #escalation(
    trigger: TriggerName,
    title: string,
    context: Readonly<Record<string, unknown>>,
  ): NewEscalation {
    const { id, tenant, plan } = this.#run;
    return escalationFor(trigger, {
      tenant,
      run: id,
      plan: plan.name,
      port: this.#port.id,
      hasOrchestrator: plan.workers.orchestrator !== undefined,
      title,
      context,
    });
  }

  // --- time and tokens

  #timeLeft(): number {
    return (
      this.#state.timeMs - this.#state.spentMs - (this.#parts.clock.monotonic() - this.#countedAt)
    );
  }

  /** What is left of the tightest bound; undefined: there is none. */
  #tokensLeft():
    | {
        readonly left: number;
        readonly of: "port" | "run";
        readonly used: number;
        readonly most: number;
      }
    | undefined {
    const { tokensMost, tokensIn, tokensOut } = this.#state;
    const bounds = [
      { of: "port" as const, used: tokensIn + tokensOut, most: tokensMost },
      { of: "run" as const, ...this.#ofRun },
    ].flatMap(({ of, used, most }) =>
      most === null ? [] : [{ of, used, most, left: most - used }],
    );
    return bounds.toSorted((one, other) => one.left - other.left)[0];
  }

  /** A worker is begun only with tokens to use. */
  async #requireTokens(): Promise<void> {
    await this.#readGifts();
    const bound = this.#tokensLeft();
    if (bound && bound.left <= 0) throw tokensExhausted(bound);
  }

  #spentSince(): number {
    const now = this.#parts.clock.monotonic();
    const spent = Math.max(0, Math.round(now - this.#countedAt));
    this.#countedAt = now;
    return spent;
  }

  async #countTime(): Promise<void> {
    const { records, lease } = this.#parts;
    const spent = this.#spentSince();
    this.#state = { ...this.#state, spentMs: this.#state.spentMs + spent };
    await records.write(lease, (tx) =>
      records.changePorts(tx, this.#run.id, [
        { position: this.#state.position, addSpentMs: spent },
      ]),
    );
  }

  #tokenEscalations(
    tokens: StepEnd<unknown>["tokens"],
    ofRun: { used: number; most: number | null } | undefined,
  ): NewEscalation[] {
    if (!tokens) return [];
    const used = this.#state.tokensIn + this.#state.tokensOut + tokens.input + tokens.output;
    const port = tokensTrigger(used, this.#state.tokensMost);
    const bound = ofRun ?? { used: 0, most: null };
    const run = tokensTrigger(bound.used, bound.most);
    return [
      ...(port
        ? [
            this.#escalation(
              port,
              `${this.#port.title}: ${used} of ${this.#state.tokensMost} tokens`,
              { used, most: this.#state.tokensMost },
            ),
          ]
        : []),
      ...(run
        ? [
            escalationFor(run, {
              tenant: this.#run.tenant,
              run: this.#run.id,
              plan: this.#run.plan.name,
              title: `${this.#run.plan.name}: ${bound.used} of ${bound.most} tokens`,
              context: { used: bound.used, most: bound.most },
            }),
          ]
        : []),
    ];
  }
}

/** What a member asks its partner in one step, from this start of it on. */
interface Talk {
  readonly key: string;
  asked: number;
  /** Aborted when nobody answers any more. */
  readonly mute: AbortSignal;
}

interface Try {
  /** 1-based over all tries. */
  readonly number: number;
  readonly most: number;
  readonly by: TryBy;
}

/** The port cannot go on without somebody's decision. */
class PortFailure extends Error {
  readonly trigger: TriggerName;
  readonly because: Because;
  readonly context: Readonly<Record<string, unknown>>;

  constructor(
    trigger: TriggerName,
    because: Because,
    context: Readonly<Record<string, unknown>> = {},
  ) {
    super(because.message);
    this.trigger = trigger;
    this.because = because;
    this.context = context;
  }
}

/** Nobody works on without tokens; of the run, or of the port alone. */
function tokensExhausted(
  bound: { readonly of: "port" | "run"; readonly used: number; readonly most: number } | undefined,
): PortFailure {
  const code = bound?.of === "run" ? RUN_TOKENS_EXHAUSTED : "TOKENS_EXHAUSTED";
  const message = bound
    ? `${bound.used} of ${bound.most} tokens of the ${bound.of} are used; what is left is not enough.`
    : "The budget of the team leaves nothing for it.";
  return new PortFailure(
    "tokens-95",
    {
      code,
      message,
      hint: bound
        ? "Give it more, or make it smaller."
        : "Raise the budget, or wait until tomorrow.",
    },
    bound ? { of: bound.of, used: bound.used, most: bound.most } : {},
  );
}

/** What ports have come to, of those that have. */
function resultsOf(ports: readonly PlanPort[]): PortResult[] {
  return ports.flatMap(({ id, resultCommit, startCommit }) =>
    resultCommit !== null && startCommit !== null
      ? [{ port: id, commit: resultCommit, base: startCommit }]
      : [],
  );
}

/** A worker that failed has made its try; the next one is told why. */
function failedTry(why: string): TestFeedback {
  return {
    success: false,
    failedTests: [],
    suggestions: [`The last try failed: ${why}`],
    metrics: { total: 0, passed: 0, failed: 0, durationMs: 0 },
  };
}

/**
 * As somebody who answers a question sees the tree: the worker's own mounts, and nothing to write
 * but scratch.
 */
function readOnlyOf({ writable, readOnly, ...same }: Confinement): Confinement {
  return { ...same, writable: [], readOnly: [...readOnly, ...writable] };
}

function violationsIn(output: unknown): readonly TreeViolation[] {
  return typeof output === "object" && output !== null && "violations" in output
    ? (output as Made).violations.slice(0, 100)
    : [];
}

function stepEvents(
  key: StepKey,
  output: unknown,
  tokens: StepEnd<unknown>["tokens"],
  port: string,
): StepEvent[] {
  if (key.kind === "accept") {
    const { feedback } = output as AcceptOutput;
    return [
      {
        type: "worker.feedback",
        data: { port, try: key.try, success: feedback.success, ...feedback.metrics },
      },
    ];
  }
  if (key.kind === "module" && !(output as CheckOutput).passed) {
    return [
      {
        type: "worker.feedback",
        data: { port, try: key.try, success: false, ...(output as CheckOutput).feedback!.metrics },
      },
    ];
  }
  if (!key.member) return [];
  const { result, changes } = output as Made;
  return [
    {
      type: "worker.complete",
      data: {
        port,
        member: key.member,
        try: key.try,
        status: result.status,
        changed: changes.length,
        tokens: (tokens?.input ?? 0) + (tokens?.output ?? 0),
      },
    },
  ];
}
