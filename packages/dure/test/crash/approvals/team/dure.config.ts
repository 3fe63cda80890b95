import { defineService, flow, tool } from "dure";
import { defineTeam } from "dure/team";
import { z } from "zod";
import { bankClient } from "../../../../../../examples/transfer/bank/client.ts";

/** `2`: the next release, with another order of steps. `2-changed`: it asks for another sum. */
const { APPROVAL_BANK_URL = "", APPROVAL_RELEASE = "1" } = process.env;
const isNext = APPROVAL_RELEASE !== "1";

const Order = z.object({ to: z.string(), amount: z.int().min(1) });

const pay = tool({
  description: "Pays.",
  inputSchema: Order,
  effect: "once",
  timeout: "5s",
  settle: "500ms",
  approval: { expires: "30d", question: ({ to, amount }) => `${to}: ${amount}` },
  execute: async (order, { key }, { signal }) => {
    const answer = await bankClient(APPROVAL_BANK_URL).transfer(order, { key, signal });
    return answer.status;
  },
  probe: async ({ key }, { signal }) => {
    const { outcome } = await bankClient(APPROVAL_BANK_URL).find(key, { signal });
    return outcome;
  },
});

/** Pays after the yes of two people. */
const payByTwo = tool({
  description: "Pays.",
  inputSchema: Order,
  effect: "once",
  settle: "500ms",
  approval: { expires: "30d", by: { role: "treasury" }, two: true },
  execute: pay.execute,
  probe: pay.probe,
});

/** `lee 7000`: pays that, once people have said yes; above 90,000 two of the treasury. */
const payments = defineService({
  name: "payments",
  version: isNext ? "2" : "1",
  agents: {},
  flows: {
    DEFAULT: flow(async (turn) => {
      if (isNext) await turn.step("look at the limits", () => true);
      const approved = turn.escalation?.context["input"];
      const order = approved === undefined ? orderIn(turn.message) : Order.parse(approved);
      if (!order) return turn.done({ message: `release ${APPROVAL_RELEASE} listens` });

      const amount = APPROVAL_RELEASE === "2-changed" ? order.amount + 1 : order.amount;
      const payment = { ...order, amount };
      const by = amount > 90_000 ? payByTwo : pay;
      const { status } = await turn.call("pay", by, payment, { key: [order.to] });
      return turn.done({ message: `release ${APPROVAL_RELEASE}: ${status}` });
    }),
  },
});

function orderIn(message: string): z.infer<typeof Order> | undefined {
  const [to, amount] = message.split(" ");
  return Order.safeParse({ to, amount: Number(amount) }).data;
}

export default defineTeam({
  name: "approvals",
  locale: "ko",
  model: "offline:echo",
  services: { payments },
});
