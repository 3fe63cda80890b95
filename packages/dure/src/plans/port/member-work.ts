/** The work of one member of a pair: its worker runs, and what it changed is taken. */

import type { MemberPlace } from "../agents/member-home.ts";
import { isGrave } from "../workspace/owned-changes.ts";
import { policyOfWorker } from "../network-needs.ts";
import { workerOf, type WorkerSpec } from "../plan.ts";
import type { Confinement } from "../sandbox/sandbox.ts";
import { makeScope, type WorkerScope, type ScopeInput } from "../scope.ts";
import type { ImplResult } from "../workers/feedback.ts";
import {
  type Assignment,
  type TranscriptEntry,
  type WorkerChannel,
  type AccessRequest,
  WORKER_FAILURES,
} from "../workers/worker.ts";
import { assignmentOf } from "../assign/assignment.ts";
import type { Briefing } from "../assign/brief.ts";
import { wordsIn } from "../rows/channel-message.ts";
import { followWorker, type Violation, type WorkerEnd } from "../assign/follow-worker.ts";
import { waitForLimit } from "../assign/wait-for-limit.ts";
import { scopeOfMember } from "./member-scope.ts";
import type { PortWork, Try } from "./pair-parts.ts";
import { pastOf } from "./member-past.ts";
import { PairTalk } from "./pair-talk.ts";
import { PortFailure, useExhausted } from "./port-failure.ts";
import type { MemberOutput } from "./port-steps.ts";
import type { PlanStep } from "../rows/run.ts";
import type { Counting } from "../rows/records.ts";
import { WorkerHeartbeats } from "../assign/heartbeats.ts";
import type { Counted, StepEnd } from "../rows/step-log.ts";
import type { Member, OnViolation } from "../../kernel/plans.ts";
import type { ChannelMessage, TestFeedback } from "../../wire/runs.ts";
import { messageOf } from "../../kernel/errors.ts";
import type { HookAccess } from "../../wire/hooks.ts";
import { grantable } from "../ask/grants.ts";
import {
  ASKED_OPERATOR,
  isGranted,
  KNOWN_PATH,
  NO_PATH,
  pathQuestion,
} from "../ask/path-requests.ts";
import { takeSharedRequest } from "../ask/shared-requests.ts";
import { aboutRun } from "../ask/triggers.ts";
import { namesOf } from "../rows/words.ts";
import type { PortAccount } from "./port-account.ts";

/** One member's part of a try. */
export interface MemberPart {
  readonly try: Try;
  readonly kind: "implement" | "test";
  readonly member: Member;
  /** The commit that it works on. */
  readonly from: string;
  /** What the try before came to. */
  readonly feedback?: TestFeedback | undefined;
  /** What the implementer has done, for the tester. */
  readonly toTest?: ImplResult | undefined;
}

/** What a member's part of a try came to. */
export interface PartEnd {
  readonly output: MemberOutput;
  /**
   * Why it could not go on, when the operator has decided about it since: it was a try, and no
   * more.
   */
  readonly decidedAbout: PortFailure | undefined;
}

/** What a worker works with in one step. */
interface MemberSession {
  readonly part: MemberPart;
  readonly step: PlanStep;
  readonly spec: WorkerSpec;
  readonly prompt: string;
  /** Of the prompt what people said. */
  readonly heard: readonly string[];
  /** The conversation of the member's last try. */
  readonly session: string | undefined;
  readonly scope: WorkerScope;
  readonly place: MemberPlace;
  readonly confinement: Confinement;
}

/** A worker's end, and the paths that it was refused. */
type SessionEnd = WorkerEnd & { readonly refused: readonly string[] };

/** Refused paths of one step that are kept. */
const MAX_REFUSED = 50;

/** Lets members of a port work: `brief → work → take what the member owns`. */
export class MemberWork {
  readonly #work: PortWork;
  /** Steps of earlier work, as `try kind`, about whose failure the operator has decided since. */
  readonly #decidedAbout: ReadonlySet<string>;

  constructor(work: PortWork, decidedAbout: ReadonlySet<string>) {
    this.#work = work;
    this.#decidedAbout = decidedAbout;
  }

  /** Throws {@link PortFailure} when the operator must decide before the port can go on. */
  async do(part: MemberPart): Promise<PartEnd> {
    const { run, port, parts, steps, account } = this.#work;
    const { member, kind, try: current } = part;
    const spec = this.#workerOf(member);
    const scopeInput = await scopeOfMember(this.#work, member);
    const scope = makeScope(scopeInput);
    const unheard = await this.#work.channel.unheard(member);
    const before = await pastOf(this.#work, member, { worker: spec.kind, before: current.number });
    const briefing = await this.#brief(part, scopeInput, unheard, before.summary);

    const output = await steps.step<MemberOutput>(
      { try: current.number, kind, member, worker: spec.kind, manifest: briefing.manifest },
      async (step) => {
        const place = await this.#work.files.place(member, spec);
        const confinement = await this.#prepareTree(part, { spec, scope, place });
        const { prompt } = briefing;
        const session = step.session ?? before.session;
        const heard = unheard.map(({ payload }) => wordsIn(payload));
        const given = { part, step, spec, prompt, heard, session, scope, place, confinement };
        await this.#work.channel.processed(...unheard.map(({ id }) => id));

        return this.#take(part, scope, step, await this.#runWorker(given));
      },
    );
    const failure = memberFailure(output, member, {
      violations: run.plan.violations,
      left: account.left,
    });
    if (failure && !this.#decidedAbout.has(`${current.number} ${kind}`)) throw failure;
    parts.logger.debug(
      { run: run.id, port: port.id, at: parts.clock.now() },
      `${member} of ${port.id} ended try ${current.number} of ${current.most}: ${output.result.status}`,
    );

    return { output, decidedAbout: failure };
  }

  #workerOf(member: Member): WorkerSpec {
    const { run, port } = this.#work;
    const spec = workerOf(run.plan.workers, port.role, member);
    if (spec) return spec;
    throw new PortFailure("worker-lost", {
      code: "WORKER_UNKNOWN",
      message: `No worker for the role ${port.role}.`,
    });
  }

  async #brief(
    part: MemberPart,
    scope: ScopeInput,
    unheard: readonly ChannelMessage[],
    saidBefore: string | undefined,
  ): Promise<Briefing> {
    const { run, port, parts, account } = this.#work;
    const { hint } = account.port;
    const hints = [
      ...(hint === null ? [] : [hint]),
      ...unheard.map(({ payload }) => wordsIn(payload)),
    ];
    const request = {
      run,
      port,
      member: part.member,
      scope,
      try: part.try.own.number,
      triesMost: part.try.own.most,
      feedback: part.feedback,
      toTest: part.toTest,
      saidBefore,
      hint: hints.length > 0 ? hints.join("\n\n") : undefined,
    };

    return parts.brief(request, part.from);
  }

  /** Checks the commit out. Gives what the worker's process may touch and reach. */
  async #prepareTree(
    part: MemberPart,
    { spec, scope, place }: Pick<MemberSession, "spec" | "scope" | "place">,
  ): Promise<Confinement> {
    const { run, port, parts, account, files } = this.#work;
    await account.requireTokens();
    await files.checkout(part.from);
    const tree = await files.confinement(part.from, scope, place);
    const beside = parts.surroundings(spec);

    return {
      ...tree,
      writable: [...tree.writable, ...beside.writable],
      shown: beside.shown,
      network: policyOfWorker(spec, { plan: run.plan, port }, parts.network),
    };
  }

  /** Takes what the member owns. Gives the end of its step. */
  async #take(
    part: MemberPart,
    scope: WorkerScope,
    step: PlanStep,
    { result, refused, counted, log }: SessionEnd,
  ): Promise<StepEnd<MemberOutput>> {
    const { port, files } = this.#work;
    const { member, kind, from } = part;
    const { number } = part.try;
    const message = `${port.title} (${member}, try ${number})\n\n${result.summary}`;
    const taken = await files.take({
      parent: from,
      scope,
      message: message.trim(),
      name: `${port.id}/${number}.${kind}`,
      at: step.startedAt,
    });
    const { tokens, ...kept } = result;
    const output: MemberOutput = {
      result: kept,
      commit: taken.commit ?? from,
      changes: taken.changes,
      violations: taken.violations,
      ignored: taken.ignored,
      refused: refused.length > 0 ? refused.slice(0, MAX_REFUSED) : undefined,
    };

    return { output, tokens, calls: result.calls, counted, log };
  }

  // --- the worker

  /** Lets a worker work, with its partner to ask. */
  async #runWorker(session: MemberSession): Promise<SessionEnd> {
    const { parts, steps, account, port, signal } = this.#work;
    const { part, step, spec } = session;
    const end = new AbortController();
    const listening = AbortSignal.any([signal, end.signal]);
    const now: { signs?: WorkerHeartbeats } = {};
    const talk = await this.#talk(session, (entry) => now.signs?.note(entry), listening);
    const refused = new Set<string>();
    try {
      const where = { stepLog: steps.log, port: port.id, member: part.member };
      const place = {
        ...where,
        step,
        clock: parts.clock,
        signal,
        untimed: (wait: () => Promise<void>) => account.untimed(wait),
      };
      const left = await talk.leftWords(listening);
      const tests = port.acceptance;
      const typicalMs = await parts.typicalMs(step);
      const prompt = left === undefined ? session.prompt : `${session.prompt}\n\n${left}`;
      const ended = await waitForLimit(place, async ({ step: from, session: known }) => {
        const given = { ...session, prompt, session: known ?? session.session };
        const assignment = this.#assignment(given, talk, listening);
        const count = (more: Counted): Counting => account.countSign(more);
        const signs = new WorkerHeartbeats({
          ...parts,
          ...where,
          step: from,
          tests,
          typicalMs,
          count,
        });
        now.signs = signs;

        return followWorker(parts.worker(spec), assignment, {
          signs,
          heard: session.heard,
          onViolation: async (violation) => {
            refused.add(violation.path);
            await this.#storeViolation(violation, part);
          },
          signal,
        });
      });

      return { ...ended, refused: [...refused] };
    } finally {
      end.abort();
      await talk.finished;
    }
  }

  async #talk(
    { part, step, place, confinement }: MemberSession,
    note: (entry: TranscriptEntry) => void,
    signal: AbortSignal,
  ): Promise<PairTalk> {
    const { channel } = this.#work;
    const left = await channel.leftQuestions(step.id);
    const asking = { member: part.member, step, place, confinement, left, note };

    return new PairTalk(this.#work, asking, signal);
  }

  #assignment(session: MemberSession, talk: PairTalk, listening: AbortSignal): Assignment {
    const { run, port, parts, account, files } = this.#work;
    const { part, step, spec, prompt, scope, place, confinement } = session;
    const { member } = part;

    return assignmentOf(
      {
        id: step.node.id,
        run,
        port: port.id,
        member,
        spec,
        try: part.try.number,
        prompt,
        session: session.session,
        scope,
        tree: files.tree,
        scratch: place.folder,
        sandbox: parts.sandbox,
        confinement,
        env: parts.environment(port, spec, place, step),
        timeMs: account.timeLeft,
        meter: account.meter,
      },
      {
        hold: () => account.hold(),
        onStart: (identity) => parts.records.steps.noteProcess(parts.lease, step.id, identity),
        channel: this.#channelOf(talk, listening),
        requestAccess: (request) => askForPath(this.#work, member, request),
      },
    );
  }

  #channelOf(talk: PairTalk, listening: AbortSignal): WorkerChannel {
    return {
      query: (text, { signal }) => talk.ask(text, AbortSignal.any([signal, listening])),
      letters: ({ signal }) => talk.letters(AbortSignal.any([signal, listening])),
    };
  }

  async #storeViolation(violation: Violation, { member, try: current }: MemberPart): Promise<void> {
    const { run, port, parts } = this.#work;
    const { path, wanted, because, detail } = violation;
    await parts.records.violation(parts.lease, run.id, {
      port: port.id,
      try: current.number,
      member,
      path: path.slice(0, 1_000),
      wanted,
      because,
      detail,
      found: "request",
    });
  }
}

/**
 * A member asks for one more path. The question goes to the operator; what is allowed counts from
 * the next try on, for a running process keeps the mounts that it has.
 */
async function askForPath(
  { run, port, parts, account }: PortWork,
  member: Member,
  request: AccessRequest,
): Promise<HookAccess> {
  const path = grantable(request.path);
  if (path === undefined) return NO_PATH;

  const asked = { ...request, path };
  if (isGranted(account.port.grants, asked)) return KNOWN_PATH;

  const about = { run: run.id, port: port.id, member, plan: run.plan };
  const noted = await takeSharedRequest(parts, about, asked).catch((error: unknown) => ({
    granted: false,
    note: messageOf(error),
  }));
  if (noted) return noted;

  const question = pathQuestion({ ...aboutRun(run), port: port.id, member }, asked);
  await parts.records.write(parts.lease, (tx) => parts.inbox.raise(tx, [question]));
  parts.inbox.announce();

  return ASKED_OPERATOR;
}

const OWNERSHIP_HINT = "Give it the path, or tell it to leave it alone.";

/** What the operator must decide about. Once that is decided, the try is over. Pure. */
function memberFailure(
  { result, violations, refused = [] }: MemberOutput,
  member: Member,
  given: { readonly violations: OnViolation; readonly left: PortAccount["left"] },
): PortFailure | undefined {
  const grave = violations.filter(isGrave);
  if (grave.length > 0 && given.violations !== "report") {
    const paths = grave.map(({ path }) => path);
    const changed = `The ${member} changed ${namesOf(paths)}, which it does not own.`;
    return ownershipFailure(`${changed} Nothing of that was taken.`, paths.slice(0, 50));
  }
  const { error } = result;
  switch (error?.code) {
    case "WORKER_STOPPED_VIOLATIONS":
      return ownershipFailure(`The ${member} was stopped: ${error.message}`, refused);
    case "WORKER_TOKENS":
      return useExhausted(given.left);
    case "WORKER_BUDGET":
      return new PortFailure("tokens-95", {
        code: "TOKENS_EXHAUSTED",
        message: error.message,
        hint: error.hint ?? WORKER_FAILURES[error.code],
      });
    // Another try would end the same way.
    case "WORKER_LOGIN":
    // It has waited as long as it may.
    case "WORKER_RATE_LIMITED":
    case "WORKER_NOT_STARTED":
      return new PortFailure("worker-lost", {
        code: error.code,
        message: error.message,
        hint: error.hint ?? WORKER_FAILURES[error.code],
      });
    default:
      return undefined;
  }
}

function ownershipFailure(message: string, paths: readonly string[]): PortFailure {
  const because = { code: "OWNERSHIP_VIOLATED", message, hint: OWNERSHIP_HINT };
  return new PortFailure("ownership-violated", because, { paths });
}
