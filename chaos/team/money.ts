import {
  chatAgent,
  defineService,
  defineState,
  flow,
  NotSentError,
  tool,
  type Service,
} from "dure";
import { z } from "zod";
import { bankClient, BankError } from "../../examples/transfer/bank/client.ts";

/**
 * A call of the bank, and how long its request may still travel after that. Source of the latter:
 * docs/spec/conversation §4.
 */
const BANK_TIMEOUT_MS = 1_000;
const SETTLE_MS = 2_000;

const stateSchema = z.object({
  stage: z.enum(["INIT", "READY", "EXECUTED", "FAILED", "CANCELLED"]),
  payment: z.string(),
  amount: z.int(),
});
type State = z.output<typeof stateSchema>;

const orderSchema = z.object({ to: z.string(), amount: z.int(), memo: z.string() });

/**
 * Reads `pay p7 700 [[p7]]`, asks, books once after `yes`, and words a receipt. Its bank answers a
 * probe.
 */
export function moneyService(bankUrl: string): Service {
  const bank = bankClient(bankUrl, { timeoutMs: BANK_TIMEOUT_MS });

  const book = tool({
    description: "Books a payment.",
    inputSchema: orderSchema,
    effect: "once",
    timeout: BANK_TIMEOUT_MS,
    settle: SETTLE_MS,
    async execute(order, { key }, { signal }) {
      const answer = await bank.transfer(order, { key, signal }).catch((error: unknown) => {
        throw error instanceof BankError && error.outcome === "not_sent"
          ? new NotSentError(error.code, error.message)
          : error;
      });
      if (answer.status === "refused") throw new NotSentError(answer.code, answer.message);
      return { transactionId: answer.transactionId };
    },
    async probe({ key }, { signal }) {
      const found = await bank.find(key, { signal });
      return found.outcome === "happened"
        ? { status: "happened", result: { transactionId: found.transactionId } }
        : found.outcome;
    },
  });

  return defineService({
    name: "money",
    state: defineState({
      schema: stateSchema,
      initial: () => ({ stage: "INIT", payment: "", amount: 0 }),
      stages: {
        initial: "INIT",
        terminal: ["EXECUTED", "FAILED", "CANCELLED"],
        transitions: {
          INIT: ["READY"],
          READY: ["EXECUTED", "FAILED", "CANCELLED"],
          EXECUTED: ["INIT"],
          FAILED: ["INIT"],
          CANCELLED: ["INIT"],
        },
      },
    }),
    agents: {
      reader: chatAgent({ name: "reader", prompt: "agent:reader" }),
      receipt: chatAgent({ name: "receipt", prompt: "agent:receipt" }),
    },
    flows: {
      DEFAULT: flow(async (turn) => {
        const { stage, payment, amount } = turn.state.value as State;
        if (stage === "INIT") {
          const [, name = "", sum = "0"] = /pay (p\d+) (\d+)/.exec(turn.message) ?? [];
          if (name === "") return turn.done({ message: "[[>none]] There is nothing to pay." });
          const read = await turn.agent("reader", "reading");
          turn.state.update({ stage: "READY", payment: name, amount: Number(sum) });
          return turn.done({ message: `${read.text} Shall I pay ${name}?`, nextAction: "CONFIRM" });
        }
        if (stage !== "READY") return turn.done({ message: `[[>done]] ${payment} is over.` });
        if (turn.message.startsWith("no")) {
          turn.state.transition("CANCELLED");
          return turn.done({ message: `[[>no-${payment}]] Not paid.`, nextAction: "DONE" });
        }
        if (!turn.message.startsWith("yes") || !turn.sawPrevious) {
          return turn.done({
            message: `[[>asked]] Shall I pay ${payment}?`,
            nextAction: "CONFIRM",
          });
        }
        const outcome = await turn.call(
          "pay",
          book,
          { to: "shop", amount, memo: payment },
          {
            key: [payment],
            onSettled: (settled) =>
              turn.state.transition(settled.status === "done" ? "EXECUTED" : "FAILED"),
          },
        );
        if (outcome.status !== "done") {
          return turn.done({
            message: `[[>failed-${payment}]] The bank did not take it.`,
            nextAction: "DONE",
          });
        }
        const transaction =
          (outcome.result as { transactionId?: string } | undefined)?.transactionId ?? "unknown";
        const receipt = await turn.agent("receipt", "writing the receipt", {
          input: `receipt [[y-${payment}]]`,
        });
        return turn.done({
          message: receipt.text,
          nextAction: "DONE",
          receipt: { payment, transaction },
        });
      }),
    },
  });
}
