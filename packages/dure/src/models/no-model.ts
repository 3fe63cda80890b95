import { exampleOf, offlineModel, type OfflineModel, type OfflineReply } from "./offline.ts";
import type { LlmRef, ModelRequest } from "./model.ts";

/** The offline model of a team that has no model: it says how to connect one. */
export const NO_MODEL = "none";

/** It says one sentence of its own: no token is read or written. Pure. */
export function isNoModel({ provider, model }: Pick<LlmRef, "provider" | "model">): boolean {
  return provider === "offline" && model === NO_MODEL;
}

const HOW = {
  en:
    "I have no model yet, so I cannot answer. Put a key into the file `.env` of the team's " +
    "folder, such as `ANTHROPIC_API_KEY=…` or `OPENAI_API_KEY=…`. `dure dev` then starts again " +
    "by itself; after `dure start`, start it again. `npx dure doctor` tries the key.",
  ko:
    "아직 연결된 모델이 없어서 답할 수 없어요. 팀 폴더의 `.env` 파일에 `ANTHROPIC_API_KEY=…`나 " +
    "`OPENAI_API_KEY=…`처럼 키를 적어 주세요. `dure dev`는 알아서 다시 시작하고, `dure start`로 켠 " +
    "팀은 다시 시작해야 해요. `npx dure doctor`로 키를 확인할 수 있어요.",
} as const;
type HintLanguage = keyof typeof HOW;

/** Answers in the language in which it is spoken to, else in that of the team. */
export function noModel(locale: string): OfflineModel {
  const own: HintLanguage = locale.startsWith("ko") ? "ko" : "en";

  return offlineModel(NO_MODEL, (request) => answerOf(request, own));
}

function answerOf({ messages, tools, output }: ModelRequest, own: HintLanguage): OfflineReply {
  const said = messages.findLast((message) => message.role === "user")?.text ?? "";
  const words = HOW[languageOf(said) ?? own];
  if (output) return { object: exampleOf(output.schema, words) };

  // Two agents without a model have nothing more to say to each other.
  const isToldBack = Object.values(HOW).some((how) => said.includes(how));
  const ends = tools?.some(({ name }) => name === "end_conversation") ?? false;

  return isToldBack && ends && messages.at(-1)?.role === "user"
    ? { toolCalls: [{ name: "end_conversation", args: {} }] }
    : words;
}

/** Of what is said, without the name of the one who says it in a room. Pure. */
function languageOf(said: string): HintLanguage | undefined {
  const words = said.replace(/^[^:\n]{1,60}: /u, "");
  if (/\p{Script=Hangul}/u.test(words)) return "ko";

  return /\p{Script=Latin}/u.test(words) ? "en" : undefined;
}
