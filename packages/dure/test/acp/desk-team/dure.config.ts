import { chatAgent, defineService, flow, offlineModel, tool } from "dure";
import { defineTeam } from "dure/team";
import { z } from "zod";
import { answerTransfer } from "../../../../../examples/transfer/offline.ts";
import { createTransferService } from "../../../../../examples/transfer/service.ts";

const { ACP_BANK_URL = "" } = process.env;

const order = tool({
  description: "Orders a thing.",
  inputSchema: z.object({ thing: z.string() }),
  effect: "once",
  recover: "ask",
  approval: true,
  execute: ({ thing }) => ({ ordered: thing }),
});

/** Orders what needs people's yes, or waits until it is stopped. */
const desk = defineService({
  name: "desk",
  agents: { helper: chatAgent({ name: "helper", prompt: "Help.", tools: { order } }) },
  flows: {
    DEFAULT: flow(async (turn) => {
      return turn.done({ message: (await turn.agent("helper", "Writing")).text });
    }),
  },
});

const model = offlineModel("editor", async (request, { signal }) => {
  const transfer = answerTransfer(request);
  if (transfer) return transfer;
  const said = request.messages.findLast(({ role }) => role === "user");
  const text = said?.role === "user" ? said.text : "";
  if (text.includes("hang")) {
    await new Promise((_, reject) => {
      signal.addEventListener("abort", () => reject(signal.reason as Error), { once: true });
    });
  }
  if (text.includes("order") && request.messages.at(-1)?.role !== "tool") {
    return { toolCalls: [{ name: "order", args: { thing: "chair" } }] };
  }

  return { text: `You said: ${text}` };
});

export default defineTeam({
  name: "editor",
  locale: "ko",
  timeZone: "Asia/Seoul",
  model: "offline:editor",
  offlineModels: [model],
  services: { desk, transfer: createTransferService({ bankUrl: ACP_BANK_URL }) },
});
