import { readFileSync } from "node:fs";
import { chatAgent, conversationalAgent, defineService, flow, type TurnContext } from "dure";
import { z } from "zod";
import { FAQ_PROMPTS } from "./prompts.ts";
import { faqRetriever, readFaq } from "./retriever.ts";

const entries = readFaq(readFileSync(new URL("./faq.md", import.meta.url), "utf8"));

/**
 * An intent agent sends questions to an agent that answers from faq.md, and everything else to
 * small talk.
 */
export default defineService({
  name: "faq",
  title: "자주 묻는 질문",
  description: "한도, 수수료, 영업시간에 답해요.",
  examples: ["이체 한도는 얼마인가요?", "수수료가 있어?", "영업시간이 어떻게 되나요?"],
  translations: {
    en: {
      title: "Questions",
      description: "Answers on limits, fees and opening hours.",
      examples: ["What is the transfer limit?", "Is there a fee?", "What are the opening hours?"],
    },
  },
  agents: {
    intent: conversationalAgent({
      name: "intent",
      prompt: FAQ_PROMPTS.intent,
      schema: z.object({ scenario: z.enum(["FAQ", "GENERAL"]) }),
    }),
    faq: chatAgent({ name: "faq", prompt: FAQ_PROMPTS.faq, retriever: faqRetriever(entries) }),
    general: chatAgent({ name: "general", prompt: FAQ_PROMPTS.general }),
  },
  flows: {
    GENERAL: flow((turn) => answer(turn, "general")),
    FAQ: flow((turn) => answer(turn, "faq")),
  },
});

async function answer(turn: TurnContext, agent: "faq" | "general") {
  const { text } = await turn.agent(
    agent,
    turn.locale.startsWith("en") ? "Answering" : "답변 작성 중",
  );

  return turn.done({ message: text, nextAction: "ASK" });
}
