import {
  chatAgent,
  defineService,
  flow,
  offlineModel,
  type ModelRequest,
  type OfflineReply,
} from "dure";
import { defineTeam } from "dure/team";

/** On Slack alone: 루다 hands over what it is asked to hand over; 이든 answers it. */
const silent: OfflineReply = { toolCalls: [{ name: "stay_silent", args: {} }] };

function said(request: ModelRequest): { text: string; called: boolean } {
  const lastUser = request.messages.findLastIndex((message) => message.role === "user");
  const message = request.messages[lastUser];
  return {
    text: message?.role === "user" ? message.text : "",
    called: request.messages.slice(lastUser + 1).some((entry) => entry.role === "tool"),
  };
}

const ruda = offlineModel("ruda", (request) => {
  const { text, called } = said(request);
  if (called) return text.includes("받아 줘") ? "이든에게 맡겼어요" : ".";
  if (!text.includes("받아 줘")) return silent;
  return {
    toolCalls: [
      { name: "collaborate", args: { targetAgent: "eden", message: "로그인 코드 리뷰" } },
    ],
  };
});
const eden = offlineModel("eden", (request) => {
  const { text, called } = said(request);
  if (called) return ".";
  return text.includes("리뷰") ? "리뷰를 마쳤어요" : silent;
});

const helper = chatAgent({ name: "helper", prompt: "", card: { llm: "offline:echo" } });

export default defineTeam({
  name: "rooms",
  locale: "ko",
  timeZone: "Asia/Seoul",
  model: "offline:echo",
  offlineModels: [ruda, eden],
  agents: {
    ruda: { displayName: "루다", leads: true, card: { llm: "offline:ruda" } },
    eden: { displayName: "이든", card: { llm: "offline:eden" } },
  },
  rooms: {
    adapters: ["slack"],
    channels: { general: { ids: { slack: process.env["TEST_SLACK_CHANNEL"]! } } },
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
