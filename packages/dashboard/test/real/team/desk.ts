import { chatAgent, defineService, flow, offlineModel, tool, type OfflineReply } from "dure";
import { z } from "zod";

/**
 * Pause between two pieces of the slow answer, milliseconds: long enough to reload, to stop, or to
 * kill the server in its middle.
 */
const CHUNK_DELAY_MS = 90;

/**
 * A service for what the examples do not show offline: slow text, a tool that needs a yes, one
 * whose outcome is lost, a model that fails.
 */
export const desk = defineService({
  name: "desk",
  title: "창구",
  description: "천천히 답하고, 사람에게 묻기도 하는 창구.",
  examples: ["천천히 설명해줘", "환불해줘"],
  agents: {
    clerk: chatAgent({
      name: "clerk",
      prompt: "agent:clerk",
      card: {
        llm: { provider: "offline", model: "desk" },
        policy: { maxAttempts: 1 },
        tools: ["refund", "post"],
      },
      tools: {
        refund: tool({
          description: "Refunds an order.",
          inputSchema: z.object({ order: z.string(), amount: z.int() }),
          effect: "once",
          approval: {
            question: ({ order, amount }) =>
              `주문 ${order}의 ${amount.toLocaleString("ko")}원을 환불할까요?`,
          },
          execute: ({ order }) => ({ order, refunded: true }),
          recover: "ask",
        }),
        post: tool({
          description: "Posts a parcel.",
          inputSchema: z.object({ parcel: z.string() }),
          effect: "once",
          recover: "ask",
          execute: () => {
            throw new Error("the line went dead after the request had left");
          },
        }),
      },
    }),
  },
  flows: {
    DEFAULT: flow(async (turn) => {
      const answer = await turn.agent("clerk", "답변 작성 중");
      return turn.done({ message: answer.text, nextAction: "ASK" });
    }),
  },
});

export const SLOW_SENTENCES = 10;
const SLOW_END = "이것으로 설명을 마칩니다.";

export const deskModel = offlineModel("desk", (request): OfflineReply => {
  const last = request.messages.at(-1);
  const said = request.messages.findLast((message) => message.role === "user")?.text ?? "";
  if (last?.role === "tool") return { text: "말씀하신 대로 처리했어요." };
  if (said.includes("환불")) {
    return { toolCalls: [{ name: "refund", args: { order: "A-1024", amount: 38_000 } }] };
  }
  if (said.includes("소포")) return { toolCalls: [{ name: "post", args: { parcel: "책 두 권" } }] };
  if (said.includes("고장")) return { error: { status: 503 } };
  if (said.includes("천천히")) return { text: slowText(), chunkDelayMs: CHUNK_DELAY_MS };
  return { text: said === "" ? "처리 결과를 알려 드렸어요." : `“${said}”라고 하셨네요.` };
});

function slowText(): string {
  const sentences = Array.from(
    { length: SLOW_SENTENCES },
    (_, index) => `${index + 1}번째 문장은 천천히 이어지는 설명입니다.`,
  );
  return [...sentences, SLOW_END].join(" ");
}
