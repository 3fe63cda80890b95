import { chatAgent, defineService, flow } from "dure";

export const MINIMAL_PROMPT =
  "You are a friendly helper. Answer in the person's language, in at most three sentences.";

const helper = chatAgent({ name: "helper", prompt: MINIMAL_PROMPT });

/** The smallest service: one agent that answers. Its turns are durable like everybody's. */
export default defineService({
  name: "minimal",
  title: "대화",
  description: "에이전트 하나가 답해요.",
  examples: ["안녕하세요"],
  translations: {
    en: {
      title: "Small talk",
      description: "One agent that answers.",
      examples: ["Hello, who are you?"],
    },
  },
  agents: { helper },
  flows: {
    DEFAULT: flow(async (turn) => {
      const answer = await turn.agent(
        "helper",
        turn.locale.startsWith("en") ? "Answering" : "답변 작성 중",
      );

      return turn.done({ message: answer.text, nextAction: "ASK" });
    }),
  },
});
