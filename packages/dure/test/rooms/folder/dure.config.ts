import {
  chatAgent,
  defineService,
  flow,
  offlineModel,
  type ModelRequest,
  type OfflineReply,
} from "dure";
import { defineTeam } from "dure/team";

/**
 * 루다 hands over what it is asked to hand over; 이든 answers it. No agent goes on from there by itself.
 */
const silent: OfflineReply = { toolCalls: [{ name: "stay_silent", args: {} }] };

function said(request: ModelRequest): { text: string; called: boolean } {
  const lastUser = request.messages.findLastIndex((message) => message.role === "user");
  const message = request.messages[lastUser];
  return {
    text: message?.role === "user" ? message.text : "",
    // What could not be done because the database was away is tried again.
    called: request.messages
      .slice(lastUser + 1)
      .some((entry) => entry.role === "tool" && typeof entry.result !== "string"),
  };
}

/** Whether it knows what 이든 has answered. */
function isTold({ messages }: ModelRequest): boolean {
  return messages.some(
    (message) => message.role === "user" && message.text.includes("> 리뷰를 마"),
  );
}

const ruda = offlineModel("ruda", (request) => {
  const { text, called } = said(request);
  if (text.includes("뭐래")) return isTold(request) ? "마쳤대요" : "아직이에요";
  if (called) return "이든에게 맡겼어요";
  return text.includes("받아 줘")
    ? {
        toolCalls: [
          { name: "collaborate", args: { targetAgent: "eden", message: "로그인 코드 리뷰" } },
        ],
      }
    : silent;
});
const eden = offlineModel("eden", (request) =>
  said(request).text.includes("리뷰") ? "리뷰를 마쳤어요" : said(request).called ? "." : silent,
);

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
