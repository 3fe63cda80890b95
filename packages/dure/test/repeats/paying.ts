import { chatAgent, defineService, flow, offlineModel, tool, type OfflineModel } from "dure";
import { z } from "zod";

/** Where the turn fails, seen from its payment. */
export type FailPoint = "before" | "in" | "after";

export interface Paying {
  /** Books one payment. */
  readonly book: (payee: string) => Promise<void> | void;
  /** How this call of the model or of the tool fails; undefined: it does not. */
  readonly failure: (
    point: FailPoint,
    payee: string,
  ) => Promise<number | undefined> | number | undefined;
}

/** A model that pays once per message, with a tool that is _once_. */
export function payingModel(paying: Paying): OfflineModel {
  return offlineModel("payer", async ({ messages }) => {
    const last = messages.at(-1)!;
    const isPaid = last.role === "tool";
    const said = messages.findLast(({ role }) => role === "user");
    const text = said?.role === "user" ? said.text : "";
    const status = await paying.failure(isPaid ? "after" : "before", text);
    if (status !== undefined) return { error: { status, message: "no" } };
    if (isPaid) {
      return { text: last.isError ? `Not paid: ${JSON.stringify(last.result)}` : "Paid." };
    }
    return text.startsWith("pay") ? { toolCalls: [{ name: "pay", args: { payee: text } }] } : text;
  });
}

/**
 * The service `till`. Its model is tried once per turn: what tries again is the client. With
 * `asks` the one who talks is asked for a yes to each payment.
 */
export function tillOf(paying: Paying, asks = false): ReturnType<typeof defineService> {
  const pay = tool({
    description: "Pays.",
    inputSchema: z.object({ payee: z.string() }),
    effect: "once",
    recover: "ask",
    approval: asks ? { by: "person", question: ({ payee }) => `Shall I ${payee}?` } : false,
    execute: async ({ payee }) => {
      await paying.book(payee);
      if ((await paying.failure("in", payee)) !== undefined) throw new Error("the line was cut");
      return { paid: true };
    },
  });
  const clerk = chatAgent({
    name: "clerk",
    tools: { pay },
    card: { policy: { maxAttempts: 1, backoffSec: 0 } },
  });
  return defineService({
    name: "till",
    agents: { clerk },
    flows: {
      DEFAULT: flow(async (turn) => turn.done({ message: (await turn.agent("clerk", "…")).text })),
    },
  });
}
