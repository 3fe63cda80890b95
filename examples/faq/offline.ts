import { offlineModel, type ModelRequest, type OfflineAnswer } from "dure";
import { FAQ_PROMPTS } from "./prompts.ts";

const ASKS =
  /(?:한도|수수료|영업|시간|비밀번호|잘못|착오|돌려|\?|？)|\b(?:limit|fee|hours?|password|mistake)\b/iu;

/** What the agents of the FAQ say without a model: the best passage, word for word. */
export function answerFaq(request: ModelRequest): OfflineAnswer | undefined {
  const { system = "" } = request;
  const said = request.messages.findLast((message) => message.role === "user")?.text ?? "";
  const korean = /\p{Script=Hangul}/u.test(said);
  if (system.startsWith(FAQ_PROMPTS.intent)) {
    return { object: { scenario: ASKS.test(said) ? "FAQ" : "GENERAL" } };
  }
  if (system.startsWith(FAQ_PROMPTS.faq)) {
    const passage = /<passage number="1">\n[^\n]*\n([\s\S]*?)\n<\/passage>/.exec(system)?.[1];
    return {
      text:
        passage ??
        (korean ? "그 질문의 답은 찾지 못했어요." : "I could not find an answer to that."),
    };
  }
  if (system.startsWith(FAQ_PROMPTS.general)) {
    return {
      text: korean
        ? "안녕하세요! 이체 한도, 수수료, 영업시간 같은 것을 물어보세요."
        : "Hello! Ask me about limits, fees or opening hours.",
    };
  }
  return undefined;
}

export const faqModel = offlineModel("faq", (request) => answerFaq(request) ?? "");
