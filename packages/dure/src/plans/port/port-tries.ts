/** The tries of a port: implement, test, accept, until one is good or none is left. */

import type { PortOutcome } from "../rows/outcomes.ts";
import { countOf, fewerTests } from "../results/count.ts";
import type { Framework } from "../results/report.ts";
import { judgeTry } from "./judge.ts";
import { readTestOutput } from "../results/read-output.ts";
import { feedbackOf, type ImplResult } from "../workers/feedback.ts";
import type { ChannelMember } from "../rows/channel.ts";
import { countAtStart, tryBeforeWork, tryWithoutWork } from "./trials-at-start.ts";
import { findTampering, type Tampering } from "./tampering.ts";
import { withFindings } from "./hooks.ts";
import { aboutPort, escalationFor } from "../ask/triggers.ts";
import { withReview } from "../ask/review.ts";
import { MemberWork, type PartEnd } from "./member-work.ts";
import { openContractsOf } from "../mode.ts";
import { ModuleTrial, resultsOf } from "./module-trial.ts";
import type { PortWork, Try } from "./pair-parts.ts";
import { failedOutcome, PortFailure } from "./port-failure.ts";
import { failedWith, type AcceptOutput, type CheckOutput } from "./port-steps.ts";
import type { NewEscalation } from "../../kernel/escalation.ts";
import type { PlanStep, PlanPort } from "../rows/run.ts";
import {
  brokeOff,
  exhaustion,
  failureWords,
  hintOf,
  implResultOf,
  lastTry,
  missingProgram,
  whyFailed,
  withLeftOut,
  type TryEnd,
} from "./try-end.ts";
import {
  BROKEN_TRIES,
  decideTry,
  ownTries,
  triesForBreak,
  type TriesMade,
  type TryBy,
} from "./tries.ts";
import type { TestFeedback } from "../../wire/runs.ts";
import { exitWords, hostRefused, SETUP_HINT, SETUP_KEPT } from "../rows/step-log.ts";

/** Characters of the end of an acceptance's output that are kept. */
const ACCEPT_OUTPUT = 8_000;

/** Works on a port until it is accepted, or has no try left: `start → set up → tries`. */
export async function workOnPort(work: PortWork): Promise<PortOutcome> {
  const { run, port, parts } = work;
  const start = await startOf(work);
  await setUp(work, start);
  await tryBeforeWork(work, start);
  return new PortTries(work, await parts.records.steps.of(run.id, port.id)).run(start);
}

/** The tries of one port: `implement → check → test → accept → try with its modules`. */
class PortTries {
  readonly #work: PortWork;
  /** Steps of earlier work. */
  readonly #before: readonly PlanStep[];
  /** Of these, those that have ended. */
  readonly #done: readonly PlanStep[];
  readonly #members: MemberWork;
  readonly #modules: ModuleTrial;

  constructor(work: PortWork, before: readonly PlanStep[]) {
    this.#work = work;
    this.#before = before;
    const done = before.filter(({ status }) => status === "done");
    this.#done = done;
    const decidedAbout = done.filter(({ told }) => told).map((step) => `${step.try} ${step.kind}`);
    this.#members = new MemberWork(work, new Set(decidedAbout));
    this.#modules = new ModuleTrial(work);
  }

  async run(start: string): Promise<PortOutcome> {
    const { account, files, signal } = this.#work;
    let commit = start;
    let last = this.#reviewedBefore(start);
    let made: TriesMade = { pair: 0, orchestrator: 0 };
    let triesMore = triesForBreak(this.#done);
    // What a person wanted changed, until an accepted try has.
    let reviewed = last?.commit;
    for (;;) {
      signal.throwIfAborted();
      await account.reloadAllowances();
      const next = this.#nextTry(made, triesMore);
      if (!next) {
        const { run, port } = this.#work;
        return failedOutcome(run, port, exhaustion(port.id, made.pair + made.orchestrator, last));
      }

      last = await this.#inTurn(next, commit, last?.feedback);
      made = { ...made, [next.by]: made[next.by] + 1 };
      commit = last.commit;
      if (last.broken?.by !== undefined) triesMore = BROKEN_TRIES;
      last = this.#reviewed(next.number, last);
      if (last.feedback.reviewedBy !== undefined) reviewed = commit;
      if (!last.feedback.success) continue;
      await tryWithoutWork(this.#work, next, commit);
      await files.keep(commit);
      const isChanged =
        reviewed === undefined || (await files.changes(reviewed, commit)).length > 0;

      return isChanged ? this.#accepted(commit) : this.#unchanged(commit, next);
    }
  }

  /** What a person said when no try had been made. */
  #reviewedBefore(commit: string): TryEnd | undefined {
    const review = this.#done.find((step) => step.try === 0 && step.kind === "review");
    return review && { commit, feedback: review.output as TestFeedback };
  }

  /** With what a person wants changed of the try. */
  #reviewed(number: number, end: TryEnd): TryEnd {
    const review = this.#done.find((step) => step.try === number && step.kind === "review");
    if (!review) return end;

    return { ...end, feedback: withReview(review.output as TestFeedback, end.feedback) };
  }

  #accepted(commit: string): PortOutcome {
    const { run, port } = this.#work;
    if (port.gate === undefined) return { status: "succeeded", commit };
    const description = `Look at what it changed: dure plan review ${run.id} ${port.id}`;
    const escalation = this.#gate("accepted, and waits for approval", {
      // Of this work alone: an answer to an earlier try approves nothing else.
      key: commit,
      description,
      context: { code: "PORT_HELD", commit },
    });

    return { status: "held", commit, escalation };
  }

  /** The work is as it was before its review: a person decides whether it stays so. */
  #unchanged(commit: string, { number }: Try): PortOutcome {
    const { run, port } = this.#work;
    const because = {
      code: "REVIEW_UNCHANGED",
      message: `The review of ${port.id} came to no change.`,
      hint:
        "Approve the work as it is, or say more exactly what to change: " +
        `dure plan review ${run.id} ${port.id} --send "…"`,
    };
    const escalation = this.#gate(because.message, {
      key: `${commit}:${number}`,
      description: because.hint,
      context: { code: because.code, commit },
    });

    return { status: "held", commit, because, escalation };
  }

  #gate(
    says: string,
    about: Pick<Parameters<typeof escalationFor>[1], "key" | "description" | "context">,
  ): NewEscalation {
    const { run, port } = this.#work;
    const title = `${run.plan.name} › ${port.title}: ${says}`.slice(0, 300);

    return escalationFor("gate", { ...aboutPort(run, port.id), ...about, title });
  }

  /** Undefined: no try is left. A try that was made before stands, whatever was given since. */
  #nextTry(made: TriesMade, triesMore: number): Try | undefined {
    const { port } = this.#work.account;
    const number = made.pair + made.orchestrator + 1;
    const given = { ...port, triesPair: port.triesPair + triesMore };
    const next = decideTry(made, given);
    const before = this.#done.find((step) => step.try === number && step.kind === "implement");
    if (before) {
      const by: TryBy = before.member === "orchestrator" ? "orchestrator" : "pair";
      return { number, most: next.most, by, own: ownTries(made, given, by) };
    }

    return next.go ? next : undefined;
  }

  #inTurn(current: Try, from: string, before: TestFeedback | undefined): Promise<TryEnd> {
    const { parts, signal } = this.#work;
    const work = (): Promise<TryEnd> => this.#try(current, from, before);

    return current.by === "orchestrator" ? parts.orchestratorTurn.run(work, { signal }) : work();
  }

  async #try(current: Try, from: string, before: TestFeedback | undefined): Promise<TryEnd> {
    const member = current.by === "orchestrator" ? "orchestrator" : "implementer";
    const part = { try: current, kind: "implement", member, from, feedback: before } as const;
    const implemented = await this.#members.do(part);
    const { output } = implemented;
    await this.#setUpAgain();
    const why = whyFailed(implemented);
    const checked = why === undefined ? await this.#checked(current, output.commit) : undefined;
    const result: ImplResult = implResultOf(implemented, checked);
    await this.#say(current, "implementer", "result", result);
    if (why !== undefined) {
      const failed = await this.#failed(current, output.commit, failedWith(lastTry(why)));
      return { ...failed, hint: hintOf(implemented) };
    }
    // What does not build cannot be tested.
    if (checked?.feedback) {
      const feedback = withLeftOut(checked.feedback, [implemented]);
      const failed = await this.#failed(current, output.commit, feedback);
      return { ...failed, buildFailed: true };
    }

    const hasTester = this.#work.port.tests.length > 0 && current.by === "pair";
    const tested = hasTester
      ? await this.#members.do({
          try: current,
          kind: "test",
          member: "tester",
          from: output.commit,
          feedback: before,
          toTest: result,
        })
      : undefined;
    if (tested?.decidedAbout) {
      const reason = tested.decidedAbout.because.message;
      return this.#failed(current, tested.output.commit, failedWith(lastTry(reason)));
    }

    return this.#judge(current, implemented, tested);
  }

  /** Where a member changed what the set-up made: as it was, of what the port began from. */
  async #setUpAgain(): Promise<void> {
    await setUp(this.#work, this.#work.account.port.startCommit!);
  }

  /** Runs the acceptance on what the members left, and then the checks of the port's modules. */
  async #judge(current: Try, implemented: PartEnd, tested: PartEnd | undefined): Promise<TryEnd> {
    const { commit } = (tested ?? implemented).output;
    await this.#setUpAgain();
    const wasChecked = commit === implemented.output.commit;
    const accepted = await this.#accept(current, commit, { wasChecked });
    const { port, run } = this.#work;
    const missing = missingProgram({ ...port, setup: run.plan.setup }, accepted);
    if (missing && !this.#isDecided(current)) throw missing;
    const recalled = this.#recalled(current.number);
    if (accepted.feedback.success && recalled) return { commit, feedback: recalled };
    const dishonest = accepted.feedback.success
      ? await this.#dishonesty(current, commit, accepted)
      : undefined;
    const ends = [implemented, tested];
    if (dishonest) {
      return this.#failed(current, commit, withLeftOut(failedWith(dishonest.says), ends));
    }

    const together = accepted.feedback.success
      ? await this.#modules.run(current, commit)
      : undefined;
    const ofTester = tested?.output.result.feedback;
    const reports = await this.#work.channel.reports(current.number);
    const tried = withLeftOut(together?.feedback ?? accepted.feedback, ends);
    const feedback = withFindings(tried, [
      ...(ofTester ? [ofTester] : []),
      ...(reports as readonly TestFeedback[]),
    ]);
    await this.#say(current, "tester", "feedback", feedback);

    return {
      commit,
      feedback,
      buildFailed: accepted.buildFailed === true || together !== undefined,
      isBroken: brokeOff(accepted),
      broken: together?.broken,
    };
  }

  /**
   * What the try would be green for without its work. Throws {@link PortFailure} where the operator
   * must decide; once that is done, the try is over.
   */
  async #dishonesty(
    current: Try,
    commit: string,
    { counted, framework }: AcceptOutput,
  ): Promise<Tampering | undefined> {
    const from = this.#work.account.port.startCommit ?? commit;
    const between = { from, to: commit };
    const found = await findTampering(this.#work, between, async () => {
      const isWeakerAllowed = this.#work.port.weakerTests === "allowed";
      const before = isWeakerAllowed ? undefined : await countAtStart(this.#work, current, between);
      const fewer = before ? fewerTests(before, counted) : [];
      if (fewer.length > 0) return fewer;
      const judged = { ...between, framework: framework as Framework, isWeakerAllowed };
      return judgeTry(this.#work, current, judged);
    });
    if (found?.failure && !this.#isDecided(current)) throw found.failure;

    return found;
  }

  /** The operator was asked about the try, and let it go on. */
  #isDecided({ number }: Try): boolean {
    return this.#done.some((step) => step.try === number && step.told);
  }

  /** A try that came to nothing that could be accepted; the next one is told why. */
  async #failed(current: Try, commit: string, why: TestFeedback): Promise<TryEnd> {
    const reports = await this.#work.channel.reports(current.number);
    const feedback = withFindings(why, reports as readonly TestFeedback[]);
    await this.#say(current, "tester", "feedback", feedback);

    return { commit, feedback };
  }

  /** Whether what the implementer left compiles. Undefined: the port has no check. */
  async #checked({ number }: Try, commit: string): Promise<CheckOutput | undefined> {
    const { port, steps, files } = this.#work;
    const { check } = port;
    if (check === undefined) return undefined;

    return steps.step<CheckOutput>({ try: number, kind: "check" }, async (step) => {
      await files.checkout(commit);
      const failed = await steps.check(check, commit, step);

      return { output: failed ? { passed: false, feedback: failed } : { passed: true } };
    });
  }

  async #accept(
    { number }: Try,
    commit: string,
    { wasChecked }: { wasChecked: boolean },
  ): Promise<AcceptOutput> {
    const { port, parts, steps, files } = this.#work;
    return steps.step<AcceptOutput>({ try: number, kind: "accept" }, async (step) => {
      await files.checkout(commit);
      const began = parts.clock.monotonic();
      const ran = await steps.command(port.acceptance, await files.disposable(commit), step);
      const report = readTestOutput(ran.output);
      const feedback = feedbackOf({
        report,
        exitCode: ran.exitCode,
        output: ran.output,
        durationMs: parts.clock.monotonic() - began,
        isComplete: !ran.outputTruncated,
      });
      const isToCheck = feedback.success && port.check !== undefined && !wasChecked;
      const broken = isToCheck ? await steps.check(port.check, commit, step) : undefined;
      const output: AcceptOutput = {
        feedback: broken ?? feedback,
        buildFailed: broken ? true : undefined,
        framework: report.framework,
        counted: ran.outputTruncated ? undefined : countOf(report),
        exitCode: ran.exitCode,
        because: ran.because,
        refused: ran.refused,
        output: ran.output.slice(-ACCEPT_OUTPUT),
      };

      return { output, log: ran.output };
    });
  }

  /** What the merged tree failed with, when bisection blamed this try: it had passed alone. */
  #recalled(number: number): TestFeedback | undefined {
    const step = this.#before.find((one) => one.try === number && one.kind === "integrate");

    return step?.output as TestFeedback | undefined;
  }

  /** Writes into the pair's channel; the orchestrator has none. */
  async #say(
    current: Try,
    from: ChannelMember,
    type: "result" | "feedback",
    payload: unknown,
  ): Promise<void> {
    if (current.by !== "pair") return;
    const { channel } = this.#work;
    const to = from === "implementer" ? "tester" : "implementer";
    const key = `${current.number}:${type}:${from}`;
    await channel.record({ key, from, to, type, payload });
  }
}

/** Characters of the end of a set-up's output that the operator sees. */
const SETUP_OUTPUT = 4_000;

/**
 * What the port starts from. It is decided once, so that a port that is tried again does not change
 * its ground.
 */
async function startOf(work: PortWork): Promise<string> {
  const { account, files } = work;
  const known = account.port.startCommit;
  if (known !== null) return known;

  const composed = await files.compose(resultsOf(await portsBefore(work)));
  if ("conflicts" in composed) {
    const first = composed.conflicts[0]!;
    throw new PortFailure(
      "same-file",
      {
        code: "CONFLICT",
        message: `${first.ports.join(" and ")} both changed ${first.path}.`,
        hint: "Give the file to one of them.",
      },
      { conflicts: composed.conflicts.slice(0, 20) },
    );
  }
  await account.startFrom(composed.commit);
  return composed.commit;
}

/** What the port needs; in one context, or with a contract that is written on the way, all before. */
async function portsBefore({ run, port, parts }: PortWork): Promise<readonly PlanPort[]> {
  const { records, modules } = parts;
  const goesOn = run.mode?.oneContext === true || openContractsOf(run.mode).length > 0;
  if (!goesOn) {
    return records.portsNamed(run.id, [...modules.neededBy([port.id])]);
  }
  const all = await records.portsNamed(
    run.id,
    run.plan.ports.map(({ id }) => id),
  );
  return all.filter(({ id, status }) => status === "succeeded" && id !== port.id);
}

async function setUp({ run, files, steps }: PortWork, start: string): Promise<void> {
  const { setup } = run.plan;
  // The tree tells whether it is set up: it may be another one than that of an earlier try.
  if (setup === undefined || (await files.isSetUp())) return;
  await steps.step({ try: 0, kind: "setup", again: true }, async (step) => {
    await files.checkout(start);
    if (await files.bringSetup(setup, start)) {
      await files.markSetUp(start);
      return { output: { exitCode: 0 }, log: SETUP_KEPT };
    }
    const ran = await steps.command(setup, await files.open(start), step);
    if (ran.exitCode !== 0) {
      const because = ran.refused
        ? hostRefused("setup", ran.refused)
        : {
            code: "SETUP_FAILED",
            message: `The set-up ended with ${exitWords(ran)}: ${failureWords(ran.output)}`,
            hint: SETUP_HINT,
          };
      throw new PortFailure("build-failed", because, {
        setup,
        output: ran.output.slice(-SETUP_OUTPUT),
      });
    }
    await files.markSetUp(start);
    await files.keepSetup(setup, start);
    return { output: { exitCode: ran.exitCode }, log: ran.output };
  });
}
