import { chatAgent, defineService, flow, offlineModel } from "dure";
import { defineTeam } from "dure/team";

/** Says which sources it was given, as a model that keeps the rule does. */
const reader = offlineModel("reader", ({ system = "" }) => {
  const sources = [...system.matchAll(/^Source: (.+)$/gmu)].map(([, source]) => `[${source}]`);
  const isAskedToCite = system.includes("name its source in square brackets");
  return isAskedToCite ? `It is there: ${sources.join(" ")}` : "I was given nothing.";
});

const desk = defineService({
  name: "desk",
  agents: {
    reader: chatAgent({
      name: "reader",
      prompt: "You know the handbook.",
      card: { llm: "offline:reader", knowledge: ["handbook"] },
    }),
  },
  flows: {
    DEFAULT: flow(async (turn) => {
      const { text } = await turn.agent("reader", "…");
      return turn.done({ message: text });
    }),
  },
});

export default defineTeam({
  name: "desk",
  locale: "en",
  model: "offline:echo",
  offlineModels: [reader],
  services: { desk },
  knowledge: { handbook: {} },
});
