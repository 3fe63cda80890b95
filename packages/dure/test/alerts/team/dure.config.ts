import { chatAgent, defineService, flow, offlineModel, tool } from "dure";
import { defineTeam } from "dure/team";
import { z } from "zod";

const { ALERTS_PUSH_TO = "127.0.0.1:9", ALERTS_WEBHOOK, ALERTS_TEXT = "true" } = process.env;

const eden = offlineModel("eden", (request) => {
  const said = request.messages.findLast((message) => message.role === "user")?.text ?? "";
  if (said.includes("불러 줘")) return "@서연 님이 궁금해해요";
  return "**다 했어요**: [보기](https://example.com) 비밀번호 1234";
});
/** Pays when its person says yes. */
const teller = offlineModel("teller", (request) => {
  const last = request.messages.at(-1);
  if (last?.role === "tool") return "보냈어요.";
  return { toolCalls: [{ name: "pay", args: { to: "홍길동" } }] };
});
const pay = tool({
  description: "Pays.",
  inputSchema: z.object({ to: z.string() }),
  effect: "once",
  recover: "replay",
  approval: { by: "person", question: ({ to }) => `${to} 님에게 보낼까요?` },
  execute: () => "tx_1",
});

/** Web rooms whose people are told: 이든 answers, 가람 asks before it pays. */
export default defineTeam({
  name: "alerts",
  locale: "ko",
  model: "offline:echo",
  offlineModels: [eden, teller],
  agents: {
    eden: { displayName: "이든", leads: true, card: { llm: "offline:eden" } },
    teller: { displayName: "가람", service: "counter" },
  },
  rooms: {
    adapters: ["web"],
    channels: { general: {}, quiet: {} },
    gather: { policy: "queue" },
  },
  services: {
    counter: defineService({
      name: "counter",
      agents: {
        teller: chatAgent({
          name: "teller",
          prompt: "Pay.",
          card: { llm: "offline:teller" },
          tools: { pay },
        }),
      },
      flows: {
        DEFAULT: flow(async (turn) =>
          turn.done({ message: (await turn.agent("teller", "…")).text }),
        ),
      },
    }),
  },
  notify: {
    after: "1s",
    perHour: 8,
    text: ALERTS_TEXT === "true",
    contact: "mailto:ops@example.com",
    pushTo: [ALERTS_PUSH_TO],
    webhook: ALERTS_WEBHOOK,
  },
});
