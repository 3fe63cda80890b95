import { defineService, flow, tool } from "dure";
import { defineTeam } from "dure/team";
import { z } from "zod";
import { bankClient } from "../../../../../examples/transfer/bank/client.ts";

const { A2A_BANK_URL = "", A2A_PUSH_TO = "127.0.0.1:9" } = process.env;

const pay = tool({
  description: "Pays.",
  inputSchema: z.object({ to: z.string(), amount: z.int() }),
  effect: "once",
  timeout: "20s",
  settle: "500ms",
  execute: async (order, { key }, { signal }) => {
    const answer = await bankClient(A2A_BANK_URL).transfer(order, { key, signal });
    return answer.status;
  },
  probe: async ({ key }, { signal }) => {
    const { outcome } = await bankClient(A2A_BANK_URL).find(key, { signal });
    return outcome;
  },
});

/** `hong 5000` pays. It is asked for over A2A. */
const payments = defineService({
  name: "payments",
  agents: {},
  flows: {
    DEFAULT: flow(async (turn) => {
      const [to = "", amount] = turn.message.split(" ");
      const { status } = await turn.call("pay", pay, { to, amount: Number(amount) }, { key: [to] });
      return turn.done({ message: `${to}: ${status}` });
    }),
  },
});

export default defineTeam({
  name: "doing",
  locale: "ko",
  model: "offline:echo",
  services: { payments },
  a2a: { pushTo: [A2A_PUSH_TO] },
});
