import type { Clock } from "../../kernel/clock.ts";
import type { Member } from "../../kernel/plans.ts";
import type { StepWaiting } from "../../wire/runs.ts";
import type { PlanStep } from "../rows/run.ts";
import { addCounted, countedOf, type Counted, type StepLog } from "../rows/step-log.ts";
import type { WorkerError } from "../workers/worker.ts";
import type { WorkerEnd } from "./follow-worker.ts";
import { waitingEvent } from "./heartbeats.ts";

/** The first wait where the provider names no moment, milliseconds; each is twice the one before. */
const FIRST_GUESS_MS = 60_000;
const LONGEST_GUESS_MS = 3_600_000;
/** Where it names moments that come to nothing, they lie at least so far ahead after some waits. */
const LONGEST_FLOOR_MS = 900_000;
/** A step waits no longer in all, milliseconds, when nothing is named: a day. */
const MAX_UNNAMED_MS = 86_400_000;
/** As above, when moments are named: the week of a provider, and a day. */
const MAX_NAMED_MS = 8 * 86_400_000;
/** A machine may sleep meanwhile, so the clock is looked at so often, milliseconds. */
const LOOK_EVERY_MS = 30_000;

/** Where a worker works that may have to wait. */
interface WaitingPlace {
  readonly step: PlanStep;
  readonly stepLog: StepLog;
  readonly port: string;
  readonly member: Member;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** Does it so that it takes nothing of the port's time. */
  readonly untimed: (wait: () => Promise<void>) => Promise<void>;
}

/** What a worker goes on from that has waited. */
export interface Resumption {
  /** With the tokens of what came before the wait. */
  readonly step: PlanStep;
  readonly session?: string | undefined;
}

/**
 * Lets a worker work to its end. While its provider takes no calls, its step waits, and it goes on
 * in its tree and its conversation: that uses up no try and no time. The wait is stored, so a
 * process that takes the run over waits for the same moment. Rejects with the abort of `signal`.
 */
export async function waitForLimit(
  place: WaitingPlace,
  work: (from: Resumption) => Promise<WorkerEnd>,
): Promise<WorkerEnd> {
  const { step, clock } = place;
  let before: WorkerEnd | undefined;
  let since = step.waiting?.since;
  let waiting = step.waiting;
  for (let waits = 0; ; waits += 1) {
    if (waiting) await wait(waiting, place);
    const end = joined(before, await work(resumptionOf(step, before)));
    const now = clock.now();
    since ??= now;
    waiting = decideWait(end.result.error, { since, waits, now });
    if (!waiting) return end;
    before = end;
    await place.stepLog.waits(step, waiting, [waitingEvent(waiting, place)]);
  }
}

/**
 * How long a worker waits that ended with an error; null: it does not, because of its error or
 * because it has waited too long. Pure. `waits`: those before.
 */
export function decideWait(
  error: WorkerError | undefined,
  { since, waits, now }: { readonly since: number; readonly waits: number; readonly now: number },
): StepWaiting | null {
  if (error?.code !== "WORKER_RATE_LIMITED") return null;
  const isTold = error.until !== undefined;
  if (now - since > (isTold ? MAX_NAMED_MS : MAX_UNNAMED_MS)) return null;

  const doubled = 2 ** Math.min(waits, 20);
  const floor = Math.min(1_000 * doubled, LONGEST_FLOOR_MS);
  const guess = Math.min(FIRST_GUESS_MS * doubled, LONGEST_GUESS_MS);
  const until = isTold ? Math.max(error.until, now + floor) : now + guess;
  return { for: "rate_limit", since, until, isTold, says: error.message.slice(0, 500) };
}

async function wait({ until: moment }: StepWaiting, place: WaitingPlace): Promise<void> {
  const { step, stepLog, clock, signal, untimed } = place;
  // A provider that named no moment is asked again at once.
  const until = moment ?? 0;
  await untimed(async () => {
    for (let left = until - clock.now(); left > 0; left = until - clock.now()) {
      await clock.sleep(Math.min(left, LOOK_EVERY_MS), { signal });
    }
  });
  const { port, member } = place;
  const data = { port, member, try: step.try, progress: step.progress, task: "", tokens: 0 };
  await stepLog.waits(step, null, [{ type: "worker.progress", data }]);
}

/** Pure. */
function resumptionOf(step: PlanStep, before: WorkerEnd | undefined): Resumption {
  if (!before) return { step };
  const { input, cached = 0, output } = before.result.tokens;
  return {
    step: {
      ...step,
      tokensIn: step.tokensIn + input,
      tokensCached: step.tokensCached + cached,
      tokensOut: step.tokensOut + output,
    },
    session: before.session,
  };
}

/** What a worker came to, with what it used before it had to wait. Pure. */
function joined(before: WorkerEnd | undefined, now: WorkerEnd): WorkerEnd {
  if (!before) return now;
  const used = ({ result }: WorkerEnd): Counted => countedOf(result.tokens, result.calls ?? 0);
  const { calls, ...tokens } = addCounted(used(before), used(now));

  return {
    result: { ...now.result, tokens, calls },
    counted: addCounted(before.counted, now.counted),
    log: before.log + now.log,
    session: now.session ?? before.session,
  };
}
