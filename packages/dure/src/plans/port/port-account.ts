import type { Transaction } from "../../durable/database.ts";
import type { NewEscalation } from "../../kernel/escalation.ts";
import type { PairParts } from "./pair-parts.ts";
import { tokensExhausted } from "./port-failure.ts";
import type { PlanPort, PlanRun } from "../rows/run.ts";
import { aboutPort, aboutRun, escalationFor, tokensTrigger } from "../ask/triggers.ts";

/** A bound of tokens, and how much of it is used. */
export interface TokenBound {
  readonly left: number;
  readonly of: "port" | "run";
  readonly used: number;
  readonly most: number;
}

interface Tokens {
  readonly input: number;
  readonly output: number;
}

/** Tokens of the whole run, as far as they are known here; other ports use them too. */
interface RunTokens {
  readonly used: number;
  readonly most: number | null;
}

/** What a port has used and may still use: time, tokens, tries, paths. */
export class PortAccount {
  readonly #run: PlanRun;
  readonly #parts: Pick<PairParts, "records" | "lease" | "clock">;
  #port: PlanPort;
  #ofRun: RunTokens = { used: 0, most: null };
  /** When the time that is not yet written began. */
  #countedAt: number;
  /** Since when the port waits, which takes nothing of its time. */
  #waitsSince: number | undefined;

  constructor(run: PlanRun, port: PlanPort, parts: Pick<PairParts, "records" | "lease" | "clock">) {
    this.#run = run;
    this.#port = port;
    this.#parts = parts;
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
    const { tokensMost, tokensIn, tokensOut } = this.#port;
    const known = [
      { of: "port" as const, used: tokensIn + tokensOut, most: tokensMost },
      { of: "run" as const, ...this.#ofRun },
    ];
    const bounds = known.flatMap(({ of, used, most }) =>
      most === null ? [] : [{ of, used, most, left: most - used }],
    );

    return bounds.toSorted((one, other) => one.left - other.left)[0];
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
    this.#ofRun = { used: run.tokensIn + run.tokensOut, most: run.tokensMost };
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
    this.#ofRun = await this.#parts.records.addTokens(tx, this.#run.id, {
      input: tokens,
      output: 0,
    });
  }

  /**
   * Adds time and tokens, in the transaction of a step's end. Gives the questions to ask when a
   * bound is nearly reached.
   */
  async countStep(tx: Transaction, tokens: Tokens | undefined): Promise<NewEscalation[]> {
    await this.#count(tx, { addTokensIn: tokens?.input, addTokensOut: tokens?.output });
    if (!tokens) return [];
    this.#ofRun = await this.#parts.records.addTokens(tx, this.#run.id, tokens);

    return this.#tokenQuestions();
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

  #tokenQuestions(): NewEscalation[] {
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
    const { used: usedOfRun, most: mostOfRun } = this.#ofRun;
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
