import { chatAgent, defineService, flow, offlineModel, type ModelRequest } from "dure";
import { defineTeam } from "dure/team";

function textsOf({ messages }: ModelRequest): readonly string[] {
  return messages.flatMap((message) => (message.role === "user" ? [message.text] : []));
}

/** Decides what it is asked, unless it is about money; what a person says decides nothing. */
const ruda = offlineModel("ruda", (request) => {
  const asked = textsOf(request).join("\n");
  if (request.messages.at(-1)?.role === "tool") return "정했어요";
  if (asked.includes("돈")) return "돈이 걸린 일은 사람이 정해야 해요";
  return {
    toolCalls: [
      { name: "resolve_escalation", args: { value: "retry", note: "시계를 흉내 내세요" } },
    ],
  };
});

const helper = chatAgent({ name: "helper", prompt: "", card: { llm: "offline:echo" } });

export default defineTeam({
  name: "escalations",
  locale: "ko",
  model: "offline:echo",
  offlineModels: [ruda],
  agents: { ruda: { displayName: "루다", leads: true, card: { llm: "offline:ruda" } } },
  rooms: { channels: { ops: { name: "운영" } } },
  escalations: {
    operator: "ruda",
    room: "ops",
    webhook: process.env["TEST_WEBHOOK"]!,
    after: { critical: "10s" },
  },
  services: {
    minimal: defineService({
      name: "minimal",
      agents: { helper },
      flows: {
        DEFAULT: flow(async (turn) =>
          turn.done({ message: (await turn.agent("helper", "…")).text }),
        ),
      },
    }),
  },
});
