import { tool } from "dure";
import { z } from "zod";

/** agent.md에 tools: [TOOL_NAME]라고 적은 에이전트가 쓸 수 있어요. */
export const TOOL_NAME = tool({
  // 모델이 읽는 글이에요. 무엇을 하는지, 언제 쓰는지 적어 주세요.
  description: "이름을 부르며 인사해요.",
  inputSchema: z.object({ name: z.string().min(1).max(100) }),
  // 바깥의 무언가를 바꾸는 도구라면 effect: "once"를 적어 주세요.
  execute: ({ name }) => ({ greeting: `${name} 님, 안녕하세요!` }),
});
