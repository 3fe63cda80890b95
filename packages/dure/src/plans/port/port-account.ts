import type { Cancel } from "../../kernel/clock.ts";
import type { NewEscalation } from "../../kernel/escalation.ts";
import type { PairParts } from "./pair-parts.ts";
import { useExhausted } from "./port-failure.ts";
import type { PlanPort, PlanRun, StoredUse, Used } from "../rows/run.ts";
import { portsChanged, useAdded, type Counting, type Write } from "../rows/records.ts";
import type { PortChange } from "../rows/run-changes.ts";
import { NOTHING_COUNTED, type Counted, type StepWritten } from "../rows/step-log.ts";
import { TokenMeter, type Bound } from "../assign/token-meter.ts";
import { aboutPort, aboutRun, escalationFor, tokensTrigger } from "../ask/triggers.ts";

type AccountParts = Pick<PairParts, "records" | "lease" | "clock" | "tokens">;

/** What a port has used and may still use: time, tokens, tries, paths. */
export class PortAccount {
  readonly #run: PlanRun;
  readonly #parts: AccountParts;
  /** Of the port, below the run's. */
  readonly meter: TokenMeter;
  #port: PlanPort;
  /** When the time that is not yet written began. */
  #countedAt: number;
  /** Since when the port waits, which takes nothing of its time. */
  #waitsSince: number | undefined;
  #holds = 0;

  constructor(run: PlanRun, port: PlanPort, parts: AccountParts) {
    this.#run = run;
    this.#port = port;
    this.#parts = parts;
    this.meter = new TokenMeter("port", parts.tokens);
    this.#meterPort();
    this.#countedAt = parts.clock.monotonic();
  }

  /** The port's row, as far as it is known here. */
  get port(): PlanPort {
    return this.#port;
  }

  /** Milliseconds. */
  get timeLeft(): number {
    const unwritten = this.#timeOfPort - this.#countedAt;
    return this.#port.timeMs - this.#port.spentMs - unwritten;
  }

  /** The bound that is used up, else the tightest; undefined: there is none. */
  get left(): Bound | undefined {
    return this.meter.usedUp ?? this.meter.bound("tokens");
  }

  /** Reads what people gave the port, or the run, since the last time. */
  async reloadAllowances(): Promise<void> {
    const allowed = await this.#parts.records.allowances(this.#run.id, this.#port.id);
    if (!allowed) return;
    this.#port = { ...this.#port, ...allowed.ofPort };
    this.#meterPort();
    this.#parts.tokens.known(allowed.ofRun);
  }

  #meterPort(): void {
    this.meter.known(useOfPort(this.#port));
  }

  /** Throws {@link PortFailure} when nothing is left: a worker is begun only with tokens to use. */
  async requireTokens(): Promise<void> {
    await this.reloadAllowances();
    const { usedUp } = this.meter;
    if (usedUp) throw useExhausted(usedUp);
  }

  /** Waits, which takes nothing of the port's time. */
  async untimed(wait: () => Promise<void>): Promise<void> {
    const goOn = this.hold();
    try {
      await wait();
    } finally {
      goOn();
    }
  }

  /** The port waits until the returned function is called; of several waits, until the last. */
  hold(): Cancel {
    const { clock } = this.#parts;
    this.#holds += 1;
    const began = (this.#waitsSince ??= clock.monotonic());
    return () => {
      this.#holds -= 1;
      if (this.#holds > 0) return;
      this.#waitsSince = undefined;
      this.#countedAt += clock.monotonic() - began;
    };
  }

  /** Stores what the port starts from. */
  async startFrom(commit: string): Promise<void> {
    await this.#put({ startCommit: commit });
    this.#port = { ...this.#port, startCommit: commit };
  }

  /** Gives the time since it was counted last, for who stores it, milliseconds. */
  takeTime(): number {
    const spent = this.#spentSince();
    this.#port = { ...this.#port, spentMs: this.#port.spentMs + spent };

    return spent;
  }

  /** Stores the time since it was counted last. */
  async countTime(): Promise<void> {
    await this.#put({ addSpentMs: this.takeTime() });
  }

  async #put(change: Omit<PortChange, "position">): Promise<void> {
    const { records, lease } = this.#parts;
    const { position } = this.#port;
    await records.put(lease, [portsChanged(this.#run.id, [{ position, ...change }])]);
  }

  /** Adds time and tokens, with a sign of the worker. */
  countSign(used: Counted): Counting {
    const counted = this.#count(used);
    const added = isNothing(used) ? [] : [useAdded(this.#run.id, used)];

    return { writes: [counted, ...added], stored: (use) => this.#parts.tokens.known(use) };
  }

  /**
   * Adds time and tokens, with the end of a step. `asks` gives the questions when a bound may nearly
   * be reached.
   */
  countStep(used: Used | undefined): Pick<StepWritten, "counting" | "asks"> {
    if (!used) return { counting: { writes: [this.#count(undefined)], stored: () => {} } };
    const { tokens, calls } = this.#parts.tokens.use;
    // At most what is stored then: of a run this process alone counts.
    const most = {
      tokens: { ...tokens, used: tokens.used + used.input + used.output },
      calls: calls && { ...calls, used: calls.used + used.calls },
    };
    const counting = this.countSign(used);
    const isNear = this.#questions(most).length > 0;

    return { counting, asks: isNear ? (use) => this.#questions(use ?? most) : undefined };
  }

  #count(used: Used | undefined): Write {
    const { position } = this.#port;
    const addSpentMs = this.#spentSince();
    const { input, cached, output } = used ?? NOTHING_COUNTED;
    const change = {
      position,
      addSpentMs,
      addTokensIn: used?.input,
      addTokensCached: used?.cached,
      addTokensOut: used?.output,
    };
    // A partner that answers is counted meanwhile.
    const { spentMs, tokensIn, tokensCached, tokensOut } = this.#port;
    this.#port = {
      ...this.#port,
      spentMs: spentMs + addSpentMs,
      tokensIn: tokensIn + input,
      tokensCached: tokensCached + cached,
      tokensOut: tokensOut + output,
    };
    this.#meterPort();

    return portsChanged(this.#run.id, [change]);
  }

  /** Milliseconds; it stands while the port waits. */
  get #timeOfPort(): number {
    return this.#waitsSince ?? this.#parts.clock.monotonic();
  }

  #spentSince(): number {
    const now = this.#timeOfPort;
    const spent = Math.max(0, Math.round(now - this.#countedAt));
    this.#countedAt = now;

    return spent;
  }

  #questions(ofRun: StoredUse): NewEscalation[] {
    const { id, tokensIn, tokensOut, tokensMost } = this.#port;
    const { title } = this.#run.plan.ports[this.#port.position]!;
    const used = tokensIn + tokensOut;
    const ofPort = tokensTrigger(used, tokensMost);
    const questions = useQuestions(this.#run, ofRun);
    if (!ofPort) return questions;
    const question = escalationFor(ofPort, {
      ...aboutPort(this.#run, id),
      title: `${title}: ${used} of ${tokensMost} tokens`,
      context: { unit: "tokens", used, most: tokensMost },
    });

    return [question, ...questions];
  }
}

/** What to ask when a bound of a run is nearly reached. Pure. */
export function useQuestions(run: PlanRun, { tokens, calls }: StoredUse): NewEscalation[] {
  const both = [
    { unit: "tokens", what: "tokens", ...tokens },
    { unit: "calls", what: "calls of models", used: 0, most: null, ...calls },
  ];

  return both.flatMap(({ unit, what, used, most }) => {
    const trigger = tokensTrigger(used, most);
    if (!trigger) return [];
    const title = `${run.plan.name}: ${used} of ${most} ${what}`.slice(0, 300);
    const about = { ...aboutRun(run), title, context: { unit, used, most } };

    return [escalationFor(trigger, unit === "calls" ? { ...about, key: unit } : about)];
  });
}

/** Pure. */
export function isNothing({ input, output, calls }: Used): boolean {
  return input === 0 && output === 0 && calls === 0;
}

/** Pure. */
function useOfPort({ tokensIn, tokensOut, tokensMost }: PlanPort): StoredUse {
  return { tokens: { used: tokensIn + tokensOut, most: tokensMost } };
}

/** Pure. */
export function useOfRun({
  tokensIn,
  tokensOut,
  tokensMost,
  calls,
  callsMost,
}: PlanRun): StoredUse {
  return {
    tokens: { used: tokensIn + tokensOut, most: tokensMost },
    calls: { used: calls, most: callsMost },
  };
}
