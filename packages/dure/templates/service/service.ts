import { chatAgent, defineService, flow } from "dure";

const helper = chatAgent({
  name: "helper",
  prompt: "You help politely. Answer in the person's language, in at most three sentences.",
});

export default defineService({
  name: "{{SERVICE_NAME}}",
  title: "{{SERVICE_TITLE}}",
  description: "{{SERVICE_ABOUT}}",
  examples: ["{{SERVICE_EXAMPLE}}"],
  agents: { helper },
  flows: {
    // Runs for every message. After a crash it runs again from its top: what it did through `turn`
    // is not done twice.
    DEFAULT: flow(async (turn) => {
      const answer = await turn.agent("helper", "Answering");
      return turn.done({ message: answer.text, nextAction: "ASK" });
    }),
  },
});
