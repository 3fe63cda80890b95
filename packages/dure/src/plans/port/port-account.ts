import type { Transaction } from "../../durable/database.ts";
import type { NewEscalation } from "../../kernel/escalation.ts";
import type { PairParts } from "./pair-parts.ts";
import { tokensExhausted } from "./port-failure.ts";
import type { PlanPort, PlanRun } from "../rows/run.ts";
import { TokenMeter, type StoredTokens, type TokenBound } from "../assign/token-meter.ts";
import { aboutPort, aboutRun, escalationFor, tokensTrigger } from "../ask/triggers.ts";

interface Tokens {
  readonly input: number;
  readonly output: number;
}

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

  /** What is left of the tightest bound; undefined: there is none. */
  get tokensLeft(): TokenBound | undefined {
    return this.meter.bound;
  }

  /** Reads what people gave the port, or the run, since the last time. */
  async reloadAllowances(): Promise<void> {
    const { records } = this.#parts;
    const [port, run] = await Promise.all([
      records.port(this.#run.id, this.#port.id),
      records.run(this.#run.id),
    ]);
    if (!port || !run) return;
    const { timeMs, tokensMost, triesPair, triesOrchestrator, hint, grants } = port;
    const { weakerTestsAccepted } = port;
    const given = { timeMs, tokensMost, triesPair, triesOrchestrator, hint, grants };
    this.#port = { ...this.#port, ...given, weakerTestsAccepted };
    this.#meterPort();
    this.#parts.tokens.known(tokensOf(run));
  }

  #meterPort(): void {
    this.meter.known(tokensOf(this.#port));
  }

  /** Throws {@link PortFailure} when nothing is left: a worker is begun only with tokens to use. */
  async requireTokens(): Promise<void> {
    await this.reloadAllowances();
    const bound = this.tokensLeft;
    if (bound && bound.left <= 0) throw tokensExhausted(bound);
  }

  /** Waits, which takes nothing of the port's time. */
  async untimed(wait: () => Promise<void>): Promise<void> {
    const { clock } = this.#parts;
    const began = (this.#waitsSince = clock.monotonic());
    try {
      await wait();
    } finally {
      this.#waitsSince = undefined;
      this.#countedAt += clock.monotonic() - began;
    }
  }

  /** Stores what the port starts from. */
  async startFrom(commit: string): Promise<void> {
    const { records, lease } = this.#parts;
    await records.write(lease, (tx) =>
      records.changePorts(tx, this.#run.id, [
        { position: this.#port.position, startCommit: commit },
      ]),
    );
    this.#port = { ...this.#port, startCommit: commit };
  }

  /** Stores the time since it was counted last. */
  async countTime(): Promise<void> {
    const { records, lease } = this.#parts;
    const spent = this.#spentSince();
    this.#port = { ...this.#port, spentMs: this.#port.spentMs + spent };
    await records.write(lease, (tx) =>
      records.changePorts(tx, this.#run.id, [{ position: this.#port.position, addSpentMs: spent }]),
    );
  }

  /** Adds time and tokens, in the transaction of a sign of the worker. */
  async countSign(tx: Transaction, tokens: number): Promise<void> {
    await this.#count(tx, { addTokensIn: tokens, addTokensOut: undefined });
    if (tokens === 0) return;
    const sum = { input: tokens, output: 0 };
    this.#parts.tokens.known(await this.#parts.records.addTokens(tx, this.#run.id, sum));
  }

  /**
   * Adds time and tokens, in the transaction of a step's end. Gives the questions to ask when a
   * bound is nearly reached.
   */
  async countStep(tx: Transaction, tokens: Tokens | undefined): Promise<NewEscalation[]> {
    await this.#count(tx, { addTokensIn: tokens?.input, addTokensOut: tokens?.output });
    if (!tokens) return [];
    const ofRun = await this.#parts.records.addTokens(tx, this.#run.id, tokens);
    this.#parts.tokens.known(ofRun);

    return this.#tokenQuestions(ofRun);
  }

  async #count(
    tx: Transaction,
    tokens: { addTokensIn: number | undefined; addTokensOut: number | undefined },
  ): Promise<void> {
    const { position } = this.#port;
    const spent = this.#spentSince();
    await this.#parts.records.changePorts(tx, this.#run.id, [
      { position, addSpentMs: spent, ...tokens },
    ]);
    // A partner that answers is counted meanwhile.
    const { spentMs, tokensIn, tokensOut } = this.#port;
    this.#port = {
      ...this.#port,
      spentMs: spentMs + spent,
      tokensIn: tokensIn + (tokens.addTokensIn ?? 0),
      tokensOut: tokensOut + (tokens.addTokensOut ?? 0),
    };
    this.#meterPort();
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

  #tokenQuestions({ used: usedOfRun, most: mostOfRun }: StoredTokens): NewEscalation[] {
    const { plan } = this.#run;
    const { id, tokensIn, tokensOut, tokensMost } = this.#port;
    const { title } = plan.ports[this.#port.position]!;
    const questions: NewEscalation[] = [];

    const used = tokensIn + tokensOut;
    const ofPort = tokensTrigger(used, tokensMost);
    if (ofPort) {
      questions.push(
        escalationFor(ofPort, {
          ...aboutPort(this.#run, id),
          title: `${title}: ${used} of ${tokensMost} tokens`,
          context: { used, most: tokensMost },
        }),
      );
    }
    const ofRun = tokensTrigger(usedOfRun, mostOfRun);
    if (ofRun) {
      questions.push(
        escalationFor(ofRun, {
          ...aboutRun(this.#run),
          title: `${plan.name}: ${usedOfRun} of ${mostOfRun} tokens`,
          context: { used: usedOfRun, most: mostOfRun },
        }),
      );
    }

    return questions;
  }
}

/** Pure. */
export function tokensOf({
  tokensIn,
  tokensOut,
  tokensMost,
}: Pick<PlanPort, "tokensIn" | "tokensOut" | "tokensMost">): StoredTokens {
  return { used: tokensIn + tokensOut, most: tokensMost };
}
