import { existsSync } from "node:fs";
import {
  chatAgent,
  defineService,
  flow,
  offlineModel,
  type ModelRequest,
  type OfflineReply,
} from "dure";
import { defineTeam, type TeamOptions } from "dure/team";

/** While this file is there, 루다's model is away. A wait for it is over after a second. */
const AWAY = process.env["TEST_AWAY"] ?? "/nowhere";

const REFUSED: OfflineReply = {
  text: "",
  error: { status: 503, headers: { "retry-after-ms": "1" } },
};
const silent: OfflineReply = { toolCalls: [{ name: "stay_silent", args: {} }] };

function said(request: ModelRequest): { text: string; called: boolean } {
  const lastUser = request.messages.findLastIndex((message) => message.role === "user");
  const message = request.messages[lastUser];
  return {
    text: message?.role === "user" ? message.text : "",
    called: request.messages.slice(lastUser + 1).some((entry) => entry.role === "tool"),
  };
}

/** Written for four and a half seconds. */
const STORY = Array.from(
  { length: 15 },
  (_none, index) => `${index === 0 ? "" : " "}${index + 1}번째 문장입니다.`,
);

const ruda = offlineModel("ruda", (request) => {
  const { text, called } = said(request);
  if (existsSync(AWAY)) return REFUSED;
  if (text.includes("이야기")) {
    return called
      ? "."
      : {
          chunks: STORY,
          chunkDelayMs: 300,
          ...(text.includes("아닌가") && { toolCalls: [{ name: "stay_silent", args: {} }] }),
        };
  }
  if (called) return text.includes("받아 줘") ? "이든에게 맡겼어요" : ".";
  if (text.includes("받아 줘")) {
    return {
      toolCalls: [
        { name: "collaborate", args: { targetAgent: "eden", message: "로그인 코드 리뷰" } },
      ],
    };
  }
  const [, question] = /물음 (\d+)/.exec(text) ?? [];
  return question === undefined ? silent : `답 ${question}`;
});
const eden = offlineModel("eden", (request) => {
  const { text, called } = said(request);
  if (called) return ".";
  return text.includes("리뷰") ? "리뷰를 마쳤어요" : silent;
});

const helper = chatAgent({ name: "helper", prompt: "", card: { llm: "offline:echo" } });

/**
 * A team on one platform. 루다 answers people, tells long stories, and hands over what it is asked to
 * hand over; 이든 answers it.
 */
export function crashTeam(rooms: NonNullable<TeamOptions["rooms"]>) {
  return defineTeam({
    name: "rooms",
    locale: "ko",
    timeZone: "Asia/Seoul",
    model: "offline:echo",
    offlineModels: [ruda, eden],
    agents: {
      ruda: { displayName: "루다", leads: true, card: { llm: "offline:ruda" } },
      eden: { displayName: "이든", card: { llm: "offline:eden" } },
    },
    ...(process.env["TEST_AWAY"] && { limits: { patience: { background: "1s" } } }),
    rooms: {
      ...rooms,
      stream: process.env["TEST_STREAM"] === "1",
      gather: { policy: "queue" }, // which message was answered is what is looked at
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
}
