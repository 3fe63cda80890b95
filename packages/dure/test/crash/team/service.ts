import {
  conversationalAgent,
  chatAgent,
  defineService,
  defineState,
  flow,
  NotSentError,
  tool,
  type Service,
  type TurnContext,
} from "dure";
import { z } from "zod";
import { BankError, bankClient } from "../../../../../examples/transfer/bank/client.ts";

/** What a release may have changed in the handler since the turn began. */
export type Variant = "plain" | "one-more" | "one-less" | "exchanged" | "next-version";

/**
 * How long a call of the bank may take, and how long its request may still travel after that.
 * Source of the latter: docs/spec/conversation §4.
 */
export const BANK_TIMEOUT_MS = 1_000;
export const SETTLE_MS = 2_000;

/**
 * The smallest service that does all that a crash can hurt: it understands, fills slots, asks for a
 * yes, books once, words a receipt, and sends a hook. "바로" in the message skips the question, so
 * that one turn holds everything.
 */
export function crashService(options: {
  bankUrl: string;
  hookUrl: string;
  variant: Variant;
}): Service {
  const { bankUrl, hookUrl, variant } = options;
  const bank = bankClient(bankUrl, { timeoutMs: BANK_TIMEOUT_MS });

  const book = tool({
    description: "Books a transfer.",
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

  /** Everything that the turn does to the outside, in the order of `variant`. */
  async function execute(turn: TurnContext): Promise<string> {
    const { to, amount } = turn.state.value as State;
    const note = (): Promise<string> => turn.step("note", () => "noted");
    const transfer = () =>
      turn.call(
        "transfer",
        book,
        { to, amount },
        {
          key: [turn.state.value.flow as string],
          onSettled: (outcome) =>
            turn.state.transition(outcome.status === "done" ? "EXECUTED" : "FAILED"),
        },
      );

    if (variant === "one-more") await turn.step("check", () => "checked");
    if (variant === "exchanged") await transfer();
    if (variant !== "one-less") await note();
    if (variant !== "exchanged") await transfer();
    const receipt = await turn.agent("receipt", "영수증 작성 중", { input: `receipt for ${to}` });
    return receipt.text;
  }

  return defineService({
    name: "crash",
    version: variant === "next-version" ? "2" : "1",
    state: defineState({
      schema: stateSchema,
      initial: () => ({ stage: "INIT", flow: "", to: "", amount: 0 }),
      stages: {
        initial: "INIT",
        terminal: ["EXECUTED", "FAILED"],
        transitions: {
          INIT: ["READY"],
          READY: ["EXECUTED", "FAILED"],
          EXECUTED: ["INIT"],
          FAILED: ["INIT"],
        },
      },
    }),
    agents: {
      intent: conversationalAgent({
        name: "intent",
        prompt: "agent:intent",
        schema: z.object({ scenario: z.enum(["TRANSFER", "TALK"]) }),
      }),
      slots: conversationalAgent({
        name: "slots",
        prompt: "agent:slots",
        schema: orderSchema.extend({ now: z.boolean() }),
      }),
      receipt: chatAgent({ name: "receipt", prompt: "agent:receipt" }),
      talk: chatAgent({ name: "talk", prompt: "agent:talk" }),
    },
    flows: {
      TALK: flow(async (turn) =>
        turn.done({ message: (await turn.agent("talk", "답변 작성 중")).text }),
      ),
      TRANSFER: flow(async (turn) => {
        if (turn.state.stage === "INIT") {
          const { data } = await turn.agent<z.output<typeof orderSchema> & { now: boolean }>(
            "slots",
            "정보 확인 중",
            { show: false },
          );
          turn.state.update({
            stage: "READY",
            flow: turn.id("flow"),
            to: data.to,
            amount: data.amount,
          });
          if (!data.now) {
            return turn.done({
              message: `${data.to}에게 ${data.amount}원을 보낼까요?`,
              nextAction: "CONFIRM",
            });
          }
        } else if (turn.message !== "네" || !turn.sawPrevious) {
          return turn.done({ message: "보낼까요?", nextAction: "CONFIRM" });
        }
        const message = await execute(turn);
        return turn.done({
          message,
          nextAction: "DONE",
          hooks: [{ type: "receipt", data: { message } }],
        });
      }),
    },
    hooks: {
      receipt: async (data, { key, signal }) => {
        const response = await fetch(hookUrl, {
          method: "POST",
          headers: { "idempotency-key": key },
          body: JSON.stringify(data),
          signal,
        });
        if (!response.ok) throw new Error(`the hook answered ${response.status}`);
      },
    },
  });
}

const orderSchema = z.object({ to: z.string().min(1), amount: z.int().min(1) });
const stateSchema = z.object({
  stage: z.enum(["INIT", "READY", "EXECUTED", "FAILED"]),
  flow: z.string(),
  to: z.string(),
  amount: z.int(),
});
type State = z.output<typeof stateSchema>;
