import { offlineModel, type ModelRequest, type OfflineAnswer } from "dure";
import { MINIMAL_PROMPT } from "./service.ts";

/** What the helper says without a model: it greets, and says back what it heard. */
export function answerMinimal(request: ModelRequest): OfflineAnswer | undefined {
  if (!request.system?.startsWith(MINIMAL_PROMPT)) return undefined;
  const said = request.messages.findLast((message) => message.role === "user")?.text.trim() ?? "";
  const turn = request.messages.filter((message) => message.role === "user").length;
  if (/\p{Script=Hangul}/u.test(said)) {
    return {
      text: `${turn === 1 ? "안녕하세요! " : ""}“${said}”라고 하셨네요. 모델을 연결하면 제대로 답할 수 있어요.`,
    };
  }
  return {
    text: `${turn === 1 ? "Hello! " : ""}You said “${said}”. Connect a model and I can answer properly.`,
  };
}

export const minimalModel = offlineModel("minimal", (request) => answerMinimal(request) ?? "");
