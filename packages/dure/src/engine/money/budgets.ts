import type { Clock } from "../../kernel/clock.ts";
import { codeOf, DureError, messageOf } from "../../kernel/errors.ts";
import type { Logger } from "../../kernel/logger.ts";
import {
  BudgetStore,
  type BudgetUnit,
  type ConversationCharge,
  type OwnBound,
  type ReserveAnswer,
} from "../../durable/budgets.ts";
import type { Database } from "../../durable/database.ts";
import { Poller, type PollResult } from "../../durable/poller.ts";
import type { Notifications } from "../../durable/notify.ts";
import { FencedError, type StoredModelCall } from "../../durable/turns.ts";
import type { Budget, BudgetLimit } from "../../models/card.ts";
import type { LlmRef, ModelCall, ModelRequest } from "../../models/model.ts";
import { costMicroUsd, estimateRequestTokens, type Price } from "../../models/prices.ts";
import type { Agent } from "../agent/agent.ts";
import { BudgetPool } from "./budgets-pool.ts";
import type { TurnJournal } from "../turn/journal.ts";
import { storedCall, type StoredCallRecord } from "../agent/stored-call.ts";

/**
 * Upper bounds of a team; an absent one is no bound. All that apply to a call must have room for
 * it.
 */
export interface BudgetLimits {
  /** Of each turn, all its agents together. */
  readonly turn?: BudgetLimit | undefined;
  /** Of each session, as long as it lives. */
  readonly session?: BudgetLimit | undefined;
  /** Of the team, per day in its time zone. */
  readonly day?: BudgetLimit | undefined;
  /** Of the team, in total. */
  readonly total?: BudgetLimit | undefined;
  /** Of each agent. */
  readonly agent?: Budget | undefined;
  /**
   * Of single agents by name; of these, `agent` and the agent's card the strictest number counts.
   */
  readonly agents?: Readonly<Record<string, Budget>> | undefined;
}

/** The model call to charge. */
export interface BudgetFacts {
  readonly session: string;
  readonly turn: string;
  /** Above 1 an earlier life of the turn may have reserved. */
  readonly epoch: number;
  readonly agent: Agent;
  /** Of the call, in the turn's journal. */
  readonly place: string;
}

/** A model call outside of turns: a worker's, on a plan, or one that folds a memory. */
export interface OutsideFacts {
  /** Groups the calls of one work: the run, or the conversation. */
  readonly session: string;
  /** Of the caller: ids from the session's down, such as `run_1/api/2/implement`. */
  readonly path: string;
  /** Name of the service in the record of the call. */
  readonly service: string;
  /** The agent whose daily budget counts. */
  readonly agent: string;
  /** Money of everything below a path, in millionths of a US dollar. */
  readonly bounds?: readonly {
    readonly scope: string;
    readonly path: string;
    readonly most: number;
  }[];
  /**
   * Whether `session` is a conversation at rest, whose own limits count and which is charged with
   * the call.
   */
  readonly isConversation?: boolean;
}

/** A charged call. */
export interface Charged {
  /**
   * Replaces the reservation by the actual usage and records the call. Never rejects: where it
   * cannot be written, the call stays charged.
   */
  settle(record: StoredCallRecord): Promise<void>;
}

type GatheredJournal = Pick<TurnJournal, "take" | "flushResults">;

/** What may be spent. */
export interface Budgets {
  /**
   * Reserves for one call, durably, together with what `journal` has gathered; `"unlimited"`: no
   * limit applies, nothing was written. `"stop"`: a stop of the turn was requested, nothing is
   * reserved. Throws `BUDGET_EXCEEDED`, and then no call may be made.
   */
  reserve(
    facts: BudgetFacts,
    request: ModelRequest,
    model: ModelCall,
    journal: GatheredJournal,
  ): Promise<"reserved" | "unlimited" | "stop">;
  /** The usage of these calls is stored: what they did not need is free again. */
  settled(turn: string, calls: readonly StoredModelCall[]): void;
  /** The turn's `DONE` is stored: what it had still reserved is settled by estimate. */
  ended(turn: string): void;
  /**
   * Charges a call outside of turns with what it may use, before it is made. Throws
   * `BUDGET_EXCEEDED`, or `SESSION_BUSY` for a conversation in which a turn has begun, and then no
   * call may be made.
   */
  charge(facts: OutsideFacts, request: ModelRequest, model: ModelCall): Promise<Charged>;
}

export interface BudgetKeeperOptions {
  readonly limits: BudgetLimits;
  readonly priceOf: (llm: LlmRef) => Price | undefined;
  /** IANA name; days begin and end there. */
  readonly timeZone: string;
  readonly database: Database;
  readonly notifications: Pick<Notifications, "publish">;
  /** Decides which day it is. */
  readonly clock: Clock;
  readonly logger: Logger;
  /** This process start; blocks are lent to it. */
  readonly processId: string;
  readonly lease: AbortSignal;
}

/**
 * How often settled reservations are added up and idle blocks given back, milliseconds. What an
 * idle process holds is missing elsewhere only near the limit.
 */
const TIDY_EVERY_MS = 10_000;
/** Most rows of one fold; see `dure.fold_budget`. */
const MAX_FOLD = 5_000;

/** What one call outside of turns is charged with. */
interface ChargedOutside {
  /** Whether any limit applies. */
  readonly isLimited: boolean;
  /** Of limits that all share. */
  readonly shares: readonly Share[];
  /** Of the session's own limits and the agent's. */
  readonly own: readonly OwnBound[];
  readonly pools: readonly Pick<Share, "key" | "most" | "amount">[];
  /** Of the caller's paths. */
  readonly bounds: readonly (NonNullable<OutsideFacts["bounds"]>[number] & { amount: number })[];
  readonly conversation: ConversationCharge | undefined;
}

/**
 * Keeps model calls under the limits: `decide → take → reserve → (the call) → settle`.
 *
 * - *decide*: which limits apply and what the call may use, input estimate + `maxOutputTokens`.
 *   Pure.
 * - *take*: limits that all share, from this process's blocks, in memory. Seldom a statement.
 * - *reserve*: the row, in one statement with the journal so far, so that a turn that goes on after
 *   a crash finds it again and pays once. Limits of the turn and of the session are checked there,
 *   against their own rows.
 * - *settle*: by the statement that stores the call's usage. A call without a record (the turn was
 *   over first) counts as what was reserved for it.
 *
 * Near a shared limit: the sum of what is used and lent never exceeds it, so calls are refused
 * while a part is still lent: what running calls have reserved and not used, and the block (1 %; 2
 * % when many waited) that another process holds and does not need now; it comes back when that
 * process has been idle for 10–20 s, stops or dies. What a call uses beyond its reservation (an
 * input estimate that was too low) is counted and may pass the limit by that much.
 */
export class BudgetKeeper implements Budgets {
  readonly #options: BudgetKeeperOptions;
  readonly #store: BudgetStore;
  readonly #dayOf: (at: number) => string;
  readonly #pools = new Map<string, BudgetPool>();
  /** Reservations that are charged here, by turn and place. */
  readonly #open = new Map<string, Map<string, readonly TakenShare[]>>();
  readonly #tidying: Poller;

  constructor(options: BudgetKeeperOptions) {
    const { database, notifications, clock, processId, lease, timeZone } = options;
    this.#options = options;
    this.#store = new BudgetStore({ database, notifications, clock, process: processId, lease });
    this.#dayOf = calendar(timeZone);
    this.#tidying = new Poller({
      what: "budgets to tidy",
      poll: () => this.#tidy(),
      everyMs: TIDY_EVERY_MS,
      clock,
      logger: options.logger,
      signal: lease,
    });
  }

  start(): void {
    this.#tidying.start({ inMs: TIDY_EVERY_MS });
  }

  /** Gives everything back. Call it when no turn runs here any more. */
  async stop(): Promise<void> {
    await this.#tidying.stop();
    await this.releaseBlocks(this.#options.processId);
  }

  /**
   * The blocks of a dead process: what was really used stays used, the rest is free. To be
   * registered behind the release of its turns; safe to repeat.
   */
  async releaseBlocks(processId: string): Promise<void> {
    const blocks = await this.#store.release(processId);
    if (blocks > 0) {
      this.#options.logger.info(
        { process: processId, blocks },
        `budget blocks of ${processId} are taken back`,
      );
    }
  }

  /** How far the team's own limits are used. `lent`: what processes hold for calls to come. */
  async standing(): Promise<
    readonly {
      scope: "day" | "total";
      unit: BudgetUnit;
      most: number;
      used: number;
      lent: number;
    }[]
  > {
    const { limits, clock } = this.#options;
    const shares = sharesOf(
      { day: limits.day, total: limits.total },
      null,
      this.#dayOf(clock.now()),
    );
    const pools = new Map(
      (await this.#store.pools(shares.map((share) => share.key))).map((pool) => [pool.key, pool]),
    );
    return shares.map(({ key, scope, unit, most }) => ({
      scope,
      unit,
      most,
      used: pools.get(key)?.used ?? 0,
      lent: pools.get(key)?.lent ?? 0,
    }));
  }

  async reserve(
    facts: BudgetFacts,
    request: ModelRequest,
    model: ModelCall,
    journal: GatheredJournal,
  ): Promise<"reserved" | "unlimited" | "stop"> {
    const day = this.#dayOf(this.#options.clock.now());
    const estimate = estimateOf(request, model, this.#options.priceOf(model));
    const { shares, bounds } = decideCharges(this.#options.limits, facts.agent, estimate, day);
    if (shares.length === 0 && bounds.length === 0) return "unlimited";

    for (;;) {
      const taken = (await this.#isReserved(facts)) ? [] : await this.#take(facts, shares, journal);
      const answer = await this.#write(
        facts,
        { ...estimate, pools: shares.map((share) => share.key), bounds },
        journal,
      ).catch((error: unknown) => {
        // A lost answer is only accepted from a process that is over; any other error wrote
        // nothing.
        if (!this.#options.lease.aborted) giveUp(taken);
        throw error;
      });
      switch (answer.outcome) {
        case "reserved":
          if (taken.length > 0) this.#remember(facts, taken);
          return "reserved";
        case "found":
          // This process's own, after a lost answer; that of another process is already charged.
          if (answer.process === this.#options.processId && taken.length > 0) {
            this.#remember(facts, taken);
          } else giveUp(taken);
          return "reserved";
        case "stop":
          giveUp(taken);
          return "stop";
        case "blocks_gone":
          for (const { share } of taken) this.#pools.delete(share.key);
          this.#open.get(facts.turn)?.delete(facts.place);
          continue;
        case "exceeded": {
          giveUp(taken);
          const bound = boundOf(bounds, answer);
          throw exceeded(bound, answer.left, facts, this.#options.timeZone);
        }
        default:
          answer satisfies never;
      }
    }
  }

  /**
   * What the call used takes the place of the estimate afterwards; a process that dies between
   * leaves it charged. Bounds below a path count the calls that have ended.
   */
  charge(facts: OutsideFacts, request: ModelRequest, model: ModelCall): Promise<Charged> {
    return this.#charge(facts, estimateOf(request, model, this.#options.priceOf(model)));
  }

  /** A call of another program: what it may use is not known before. It needs something to be left. */
  chargeUnknown(facts: OutsideFacts): Promise<Charged> {
    return this.#charge(facts, { tokens: 1, microUsd: 1 });
  }

  async #charge(facts: OutsideFacts, estimate: Estimate): Promise<Charged> {
    const charge = this.#chargeOf(facts, estimate);
    if (charge.isLimited) {
      const { session } = facts;
      const { pools, bounds, conversation } = charge;
      const answer = await this.#store.charge({ session, pools, bounds, conversation });
      const refusal = this.#refusalOf(answer, facts, charge);
      if (refusal) throw refusal;
    }
    return { settle: (record) => this.#settleCharge(facts, charge, record) };
  }

  /** What one call outside of turns may use, and of what. */
  #chargeOf(facts: OutsideFacts, estimate: Estimate): ChargedOutside {
    const { clock, limits } = this.#options;
    const { tokens, microUsd } = estimate;
    const { agent, isConversation } = facts;
    const who = { name: agent, card: {} };
    const { shares, bounds: own } = decideCharges(limits, who, estimate, this.#dayOf(clock.now()));

    const pools = shares.map(({ key, most, amount }) => ({ key, most, amount }));
    const given = microUsd === 0 ? [] : (facts.bounds ?? []);
    const bounds = given.map((bound) => ({ ...bound, amount: microUsd }));
    const ofSession = isConversation ? own.filter(({ scope }) => scope === "session") : [];
    const isLimited = pools.length + bounds.length + ofSession.length > 0;
    const conversation =
      isLimited && isConversation
        ? { agent, tokens, micro_usd: microUsd, bounds: ofSession }
        : undefined;
    return { isLimited, shares, own, pools, bounds, conversation };
  }

  #refusalOf(
    answer: Awaited<ReturnType<BudgetStore["charge"]>>,
    { session, path }: OutsideFacts,
    { shares, own, bounds }: ChargedOutside,
  ): DureError | undefined {
    const { timeZone } = this.#options;
    if (answer.outcome === "busy") {
      return new DureError("SESSION_BUSY", `The session ${session} is answering another message.`, {
        class: "conflict",
        hint: "Try again between its turns.",
      });
    }
    if (answer.outcome !== "exceeded") return undefined;
    const where = { session, turn: path };
    if ("scope" in answer) return exceeded(boundOf(own, answer), answer.left, where, timeZone);

    const share = shares.find(({ key }) => key === answer.key);
    if (share) return exceeded(share, answer.left, where, timeZone);
    return boundExceeded(
      bounds.find(({ scope }) => scope === answer.key)!,
      answer.left,
    );
  }

  async #settleCharge(
    { session, path, service, agent }: OutsideFacts,
    { pools, conversation }: ChargedOutside,
    record: StoredCallRecord,
  ): Promise<void> {
    const call = storedCall(agent, record);
    try {
      await this.#store.recordCall({ session, path, service, call, pools, conversation });
    } catch (error) {
      this.#options.logger.warn(
        { session, code: codeOf(error), error: messageOf(error) },
        `what a call of ${path} used could not be written; it stays charged by its estimate`,
      );
    }
  }

  settled(turn: string, calls: readonly StoredModelCall[]): void {
    const open = this.#open.get(turn);
    if (!open) return;
    for (const call of calls) {
      const taken = call.place === undefined ? undefined : open.get(call.place);
      if (!taken) continue;
      open.delete(call.place!);
      for (const { pool, share } of taken) {
        pool.settle(
          share.amount,
          share.unit === "tokens" ? call.tokens_in + call.tokens_out : (call.cost_micro_usd ?? 0),
        );
      }
    }
    if (open.size === 0) this.#open.delete(turn);
  }

  ended(turn: string): void {
    for (const taken of this.#open.get(turn)?.values() ?? []) {
      for (const { pool, share } of taken) pool.settle(share.amount, share.amount);
    }
    this.#open.delete(turn);
  }

  /** Adds up what is settled and gives back what lies idle or belongs to a day that is over. */
  tidy(): Promise<void> {
    return this.#tidying.poll();
  }

  async #tidy(): Promise<PollResult> {
    if (this.#pools.size === 0) return "idle";
    while ((await this.#store.fold()) === MAX_FOLD);
    for (const [key, pool] of this.#pools) {
      const isReturned = (await pool.tidy()) === "returned" && this.#pools.get(key) === pool;
      if (isReturned && !key.endsWith("total")) this.#forgetIfOld(key);
    }
    return "idle";
  }

  /** A pool that is empty and of another day is not asked for again. */
  #forgetIfOld(key: string): void {
    if (key.includes("/day/") && !key.includes(`/day/${this.#dayOf(this.#options.clock.now())}/`)) {
      this.#pools.delete(key);
    }
  }

  async #isReserved({ turn, epoch, place }: BudgetFacts): Promise<boolean> {
    if (this.#open.get(turn)?.has(place)) return true;
    return epoch > 1 && (await this.#store.isReserved(turn, place));
  }

  /** Where there is no room, what the turn's finished calls did not use is settled first. */
  async #take(
    facts: BudgetFacts,
    shares: readonly Share[],
    journal: GatheredJournal,
  ): Promise<readonly TakenShare[]> {
    // Looked at before: while the pool is asked, the turn's own journal may settle them.
    const hasOpen = this.#open.has(facts.turn);
    try {
      return await this.#takeAll(facts, shares);
    } catch (error) {
      if (codeOf(error) !== "BUDGET_EXCEEDED" || !hasOpen) throw error;
      await journal.flushResults();
      return this.#takeAll(facts, shares);
    }
  }

  /** From every pool or from none. */
  async #takeAll(facts: BudgetFacts, shares: readonly Share[]): Promise<readonly TakenShare[]> {
    const taken: TakenShare[] = [];
    for (const share of shares) {
      let pool = this.#pools.get(share.key);
      if (!pool) {
        this.#pools.set(
          share.key,
          (pool = new BudgetPool({
            key: share.key,
            store: this.#store,
            clock: this.#options.clock,
          })),
        );
      }
      const answer = await pool.take(share.amount, share.most);
      if (answer !== "over" && answer.ok) {
        taken.push({ pool, share });
        continue;
      }
      giveUp(taken);
      throw answer === "over"
        ? new FencedError(facts.turn)
        : exceeded(share, answer.left, facts, this.#options.timeZone);
    }
    return taken;
  }

  async #write(
    facts: BudgetFacts,
    charge: {
      tokens: number;
      microUsd: number;
      pools: readonly string[];
      bounds: readonly OwnBound[];
    },
    journal: GatheredJournal,
  ): Promise<ReserveAnswer> {
    const { turn, epoch, place, agent } = facts;
    const { tokens, microUsd, pools, bounds } = charge;
    const gathered = await journal.take();
    try {
      const answer = await this.#store.reserve({
        turn,
        epoch,
        place,
        agent: agent.name,
        tokens,
        micro_usd: microUsd,
        pools,
        bounds,
        rows: gathered.rows,
        calls: gathered.calls,
      });
      gathered.committed();
      return answer;
    } catch (error) {
      gathered.refused();
      throw error;
    }
  }

  #remember({ turn, place }: BudgetFacts, taken: readonly TakenShare[]): void {
    const open = this.#open.get(turn) ?? new Map<string, readonly TakenShare[]>();
    this.#open.set(turn, open.set(place, taken));
  }
}

/** A part of a limit that all share. */
interface Share {
  readonly key: string;
  readonly scope: "day" | "total";
  /** null: the team. */
  readonly agent: string | null;
  readonly unit: BudgetUnit;
  readonly most: number;
  readonly amount: number;
  /** Of a day's limit. */
  readonly day: string;
}

interface TakenShare {
  readonly pool: BudgetPool;
  readonly share: Share;
}

interface Estimate {
  readonly tokens: number;
  /** 0 for a model without a price. */
  readonly microUsd: number;
}

/**
 * The most that a call may use, as far as can be told before: input estimate + `maxOutputTokens`.
 * Source: docs/spec/conversation §4.
 */
function estimateOf(
  request: ModelRequest,
  model: Pick<ModelCall, "maxOutputTokens">,
  price: Price | undefined,
): Estimate {
  const tokensIn = estimateRequestTokens(request);
  const tokensOut = request.maxOutputTokens ?? model.maxOutputTokens;
  return {
    tokens: tokensIn + tokensOut,
    microUsd: price ? costMicroUsd(price, { tokensIn, tokensOut }) : 0,
  };
}

/**
 * What a call is charged to: shares of pools, in a fixed order, and bounds of its turn and session.
 * Pure. Money is only charged for models that cost some, so a limit in USD says nothing about a
 * model without a price.
 */
function decideCharges(
  limits: BudgetLimits,
  agent: { readonly name: string; readonly card: { readonly budget?: Budget | undefined } },
  estimate: Estimate,
  day: string,
): { shares: readonly Share[]; bounds: readonly OwnBound[] } {
  const own = strictest([limits.agent, limits.agents?.[agent.name], agent.card.budget]);
  const charged = { tokens: estimate.tokens, usd: estimate.microUsd };
  const fill = <Part extends { unit: BudgetUnit }>(
    parts: readonly Part[],
  ): (Part & { amount: number })[] =>
    parts
      .map((part) => ({ ...part, amount: charged[part.unit] }))
      .filter((part) => part.amount > 0);
  return {
    shares: fill([
      ...sharesOf({ day: limits.day, total: limits.total }, null, day),
      ...sharesOf({ day: own.day }, agent.name, day),
    ]),
    bounds: fill([...boundsOf(limits, null), ...boundsOf(own, agent.name)]),
  };
}

function sharesOf(
  limits: { readonly day?: BudgetLimit | undefined; readonly total?: BudgetLimit | undefined },
  agent: string | null,
  day: string,
): Omit<Share, "amount">[] {
  const whose = agent === null ? "team" : `agent/${agent}`;
  return (["day", "total"] as const).flatMap((scope) =>
    unitsOf(limits[scope]).map(({ unit, most }) => ({
      key: scope === "day" ? `${whose}/day/${day}/${unit}` : `${whose}/total/${unit}`,
      scope,
      agent,
      unit,
      most,
      day,
    })),
  );
}

function boundsOf(
  limits: { readonly turn?: BudgetLimit | undefined; readonly session?: BudgetLimit | undefined },
  agent: string | null,
): Omit<OwnBound, "amount">[] {
  return (["turn", "session"] as const).flatMap((scope) =>
    unitsOf(limits[scope]).map(({ unit, most }) => ({ scope, agent, unit, most })),
  );
}

function unitsOf(limit: BudgetLimit | undefined): { unit: BudgetUnit; most: number }[] {
  return [
    ...(limit?.tokens === undefined ? [] : [{ unit: "tokens" as const, most: limit.tokens }]),
    ...(limit?.microUsd === undefined ? [] : [{ unit: "usd" as const, most: limit.microUsd }]),
  ];
}

function strictest(budgets: readonly (Budget | undefined)[]): Budget {
  const least = (scope: keyof Budget, unit: keyof BudgetLimit): number | undefined => {
    const numbers = budgets.flatMap((budget) => budget?.[scope]?.[unit] ?? []);
    return numbers.length === 0 ? undefined : Math.min(...numbers);
  };
  const limitOf = (scope: keyof Budget): BudgetLimit => {
    const [tokens, microUsd] = [least(scope, "tokens"), least(scope, "microUsd")];
    const ofTokens = tokens === undefined ? {} : { tokens };
    return microUsd === undefined ? ofTokens : { ...ofTokens, microUsd };
  };
  return { turn: limitOf("turn"), session: limitOf("session"), day: limitOf("day") };
}

/** The bound that an answer names. */
function boundOf(
  bounds: readonly OwnBound[],
  { scope, agent, unit }: Pick<OwnBound, "scope" | "agent" | "unit">,
): OwnBound {
  return bounds.find(
    (bound) => bound.scope === scope && bound.agent === agent && bound.unit === unit,
  )!;
}

function giveUp(taken: readonly TakenShare[]): void {
  for (const { pool, share } of taken) pool.settle(share.amount, 0);
}

/** Which day an instant falls on in a time zone, `2026-11-22`. Throws `TIME_ZONE_UNKNOWN`. */
function calendar(timeZone: string): (at: number) => string {
  try {
    const format = new Intl.DateTimeFormat("en-CA", {
      timeZone,
      year: "numeric",
      month: "2-digit",
      day: "2-digit",
    });
    return (at) => format.format(at);
  } catch (error) {
    throw new DureError("TIME_ZONE_UNKNOWN", `The time zone "${timeZone}" is not known.`, {
      class: "input",
      hint: "Use an IANA name such as Asia/Seoul.",
      cause: error,
    });
  }
}

const HINTS = {
  turn: "Raise the turn's budget, or let the turn do less.",
  session: "Start another session, or raise the session's budget.",
  day: "It starts anew at midnight; or raise the day's budget. Near a limit running calls hold what they may need.",
  total: "Raise the team's total budget.",
} as const;

function exceeded(
  limit: Share | OwnBound,
  left: number,
  facts: Pick<BudgetFacts, "session" | "turn">,
  timeZone: string,
): DureError {
  const { scope, agent, unit, most, amount } = limit;
  const whose =
    agent === null
      ? scope === "day" || scope === "total"
        ? "the team"
        : `all agents`
      : `the agent ${agent}`;
  const when = {
    turn: `in the turn ${facts.turn}`,
    session: `in the session ${facts.session}`,
    day: "day" in limit ? `on ${limit.day} (${timeZone})` : "",
    total: "in total",
  }[scope];
  return new DureError(
    "BUDGET_EXCEEDED",
    `The budget of ${whose} ${when} is ${amountText(unit, most)}; ${amountText(unit, left)} are left, and this call may need ${amountText(unit, amount)}.`,
    {
      class: "limit",
      hint: HINTS[scope],
      details: {
        limit: scope,
        agent,
        unit: unit === "usd" ? "micro_usd" : unit,
        most,
        left,
        needed: amount,
      },
    },
  );
}

function boundExceeded(
  { scope, path, most, amount }: { scope: string; path: string; most: number; amount: number },
  left: number,
): DureError {
  return new DureError(
    "BUDGET_EXCEEDED",
    `The budget of the ${scope} ${path} is ${amountText("usd", most)}; ${amountText("usd", left)} are left, and this call may need ${amountText("usd", amount)}.`,
    {
      class: "limit",
      hint: `Raise the budget of the ${scope} in the plan, or make it smaller.`,
      details: { limit: scope, agent: null, unit: "micro_usd", most, left, needed: amount },
    },
  );
}

function amountText(unit: BudgetUnit, amount: number): string {
  return unit === "tokens" ? `${amount} tokens` : `${amount / 1_000_000} USD`;
}
