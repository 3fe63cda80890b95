import { codeOf, type DureError, messageOf } from "../../kernel/errors.ts";
import type { CallPay, SeenCall } from "../calls/model-desk.ts";
import type {
  Assignment,
  Worker,
  WorkerEvent,
  WorkerResult,
  WorkerTokens,
} from "../workers/worker.ts";
import { beginCosts, takeCost, type CostCount, type CostScope } from "./agent-costs.ts";

/** Which calls of an agent are paid. */
export interface AgentCalls {
  readonly run: string;
  readonly port: string;
  /** Of the try. */
  readonly worker: string;
}

/** What calls of an agent came to. */
export interface AgentSpent {
  /** The conversation; the worker's id where its agent names none. */
  readonly conversation: string;
  readonly tokens: { readonly input: number; readonly output: number };
  readonly isEstimate: boolean;
  /** As the agent tells it, millionths of a US dollar. Undefined: it does not. */
  readonly microUsd: number | undefined;
}

/** Where the calls of agents are paid from. */
export interface AgentPay {
  /**
   * Throws `BUDGET_EXCEEDED`: then the next call may not be made. `settle` writes what calls came
   * to, and never rejects.
   */
  require(calls: AgentCalls): Promise<{ settle(spent: AgentSpent): Promise<void> }>;
  /** What a conversation has cost so far, millionths of a US dollar. */
  recorded(run: string, conversation: string): Promise<number>;
  /** What a call costs by the price list, millionths of a US dollar; undefined: it has no price. */
  priceOf(call: SeenCall): number | undefined;
}

interface PaidOptions {
  readonly pay: AgentPay;
  /** What its sums stand for. */
  readonly scope: CostScope;
}

/**
 * An agent that calls its model by itself. A call that passes dure's door is written down when it
 * has ended, by the price list, and none goes out when nothing is left. Of all others, and of those
 * without a price, what it tells of its money is written as it is told, each part once, and it is
 * ended when nothing is left for another call. What it says at last of its tokens is written with
 * it.
 */
export function paidAgent(worker: Worker, options: PaidOptions): Worker {
  return {
    kind: worker.kind,
    run: (assignment, { signal }) => runPaid(worker, assignment, options, signal),
  };
}

async function* runPaid(
  worker: Worker,
  assignment: Assignment,
  options: PaidOptions,
  signal: AbortSignal,
): AsyncGenerator<WorkerEvent> {
  const spending = new Spending(assignment, options);
  const broke = new AbortController();
  const pay: CallPay = {
    before: async () => {
      await spending.require().catch((error: unknown) => {
        broke.abort(error);
        throw error;
      });
    },
    after: (call) => spending.pass(call),
  };
  const paid = { ...assignment, pay };
  const events = worker.run(paid, { signal: AbortSignal.any([signal, broke.signal]) });
  try {
    await spending.require();
    for await (const event of events) {
      await spending.take(event).catch((error: unknown) => broke.abort(error));
      yield event;
    }
  } catch (error) {
    signal.throwIfAborted();
    if (codeOf(error) !== "BUDGET_EXCEEDED") throw error;
    yield { type: "result", result: brokeResult(error as DureError, spending) };
  } finally {
    await spending.end();
  }
}

function brokeResult(error: DureError, { tokens, cost }: Spending): WorkerResult {
  const message = messageOf(error);
  return {
    status: "failed",
    summary: message,
    claimedFiles: [],
    tokens,
    cost,
    error: { code: "WORKER_BUDGET", message, hint: error.hint },
  };
}

type SpentTokens = AgentSpent["tokens"];

/** What one process of an agent has used, and what of it is written down. */
class Spending {
  readonly #options: PaidOptions;
  readonly #assignment: Assignment;
  #charge: Awaited<ReturnType<AgentPay["require"]>> | undefined;
  #conversation: string;
  #count: CostCount = { told: 0 };
  tokens: WorkerTokens = { input: 0, output: 0 };
  cost: WorkerResult["cost"];
  #isEstimate = false;
  #written: SpentTokens = { input: 0, output: 0 };
  #hasCost = false;
  /** A call that has passed the door was paid by the price list. */
  #isPriced = false;

  constructor(assignment: Assignment, options: PaidOptions) {
    this.#assignment = assignment;
    this.#options = options;
    this.#conversation = assignment.id;
  }

  /** Throws `BUDGET_EXCEEDED`. */
  async require(): Promise<void> {
    const { run, port, id } = this.#assignment;
    this.#charge = await this.#options.pay.require({ run, port, worker: id });
  }

  /** Throws `BUDGET_EXCEEDED` when nothing is left for another call. */
  async take(event: WorkerEvent): Promise<void> {
    if (event.type === "session") await this.#talkIn(event.id);
    if (event.type === "progress" && event.tokensUsed > this.tokens.input + this.tokens.output) {
      const { output } = this.tokens;
      this.tokens = event.tokens ?? { input: event.tokensUsed - output, output };
    }
    if (event.type === "cost") await this.#hear(event.cost, event.tokens);
    if (event.type !== "result") return;
    const { isEstimate = false, ...tokens } = event.result.tokens;
    this.tokens = tokens;
    this.#isEstimate = isEstimate;
  }

  /** A call has passed the door. Never rejects. */
  async pass(call: SeenCall): Promise<void> {
    const { input, output } = call.tokens;
    const microUsd = this.#options.pay.priceOf(call);
    this.#isPriced ||= microUsd !== undefined;
    this.#isEstimate ||= call.isEstimate;
    this.#written = {
      input: this.#written.input + input,
      output: this.#written.output + output,
    };
    await this.#write({ input, output }, microUsd);
  }

  /** Writes what was not written with a cost. Never rejects. */
  async end(): Promise<void> {
    const rest = lessOf(this.tokens, this.#written);
    if (rest.input + rest.output === 0) return;
    await this.#write(rest, this.#hasCost ? 0 : undefined);
  }

  async #talkIn(conversation: string): Promise<void> {
    const { pay, scope } = this.#options;
    this.#conversation = conversation;
    const recorded = await pay.recorded(this.#assignment.run, conversation);
    this.#count = beginCosts(scope, recorded);
  }

  async #hear(cost: NonNullable<WorkerResult["cost"]>, tokens: SpentTokens): Promise<void> {
    this.cost = cost;
    // It tells one sum for all of its calls.
    if (cost.currency !== "USD" || this.#isPriced) return;
    const { more, told } = takeCost(this.#count, Math.round(cost.amount * 1_000_000));
    this.#count = { told };
    this.#hasCost = true;
    if (more === 0) return;
    const rest = lessOf(tokens, this.#written);
    this.#written = {
      input: this.#written.input + rest.input,
      output: this.#written.output + rest.output,
    };
    await this.#write(rest, more);
    await this.require();
  }

  async #write(tokens: SpentTokens, microUsd: number | undefined): Promise<void> {
    const [conversation, isEstimate] = [this.#conversation, this.#isEstimate];
    await this.#charge?.settle({ conversation, tokens, isEstimate, microUsd });
  }
}

/** Never below zero: the sum at the end may be less than what was counted. Pure. */
function lessOf(one: SpentTokens, other: SpentTokens): SpentTokens {
  return {
    input: Math.max(0, one.input - other.input),
    output: Math.max(0, one.output - other.output),
  };
}
