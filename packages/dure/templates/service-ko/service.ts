import { chatAgent, defineService, flow } from "dure";

const helper = chatAgent({
  name: "helper",
  prompt: "친절하게 돕습니다. 상대가 쓰는 언어로, 세 문장 안에서 답합니다.",
});

export default defineService({
  name: "{{SERVICE_NAME}}",
  title: "{{SERVICE_TITLE}}",
  description: "{{SERVICE_ABOUT}}",
  examples: ["{{SERVICE_EXAMPLE}}"],
  agents: { helper },
  flows: {
    // 메시지마다 실행돼요. 중간에 꺼지면 처음부터 다시 실행되지만, `turn`으로 이미 한 일은 두 번
    // 하지 않아요.
    DEFAULT: flow(async (turn) => {
      const answer = await turn.agent("helper", "답하는 중");
      return turn.done({ message: answer.text, nextAction: "ASK" });
    }),
  },
});
