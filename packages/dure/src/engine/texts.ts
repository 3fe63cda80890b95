import type { Locale } from "../kernel/locales.ts";
import { codeOf, DureError } from "../kernel/errors.ts";
import { isNetworkError } from "../models/failures.ts";

/** What the engine itself says to a person. Services may say it in their own words with `onError`. */

/** Why a turn failed, for the person. Source: docs/spec/conversation §3. */
export type TroubleClass =
  | "timeout"
  | "format"
  | "connection"
  | "model"
  | "refused"
  | "context"
  | "budget"
  | "loop"
  | "stopped"
  | "diverged"
  | "approval"
  | "effect"
  | "internal";

const TROUBLE = {
  timeout: {
    ko: "답변을 준비하는 데 시간이 너무 오래 걸렸어요. 잠시 후 다시 시도해 주세요.",
    en: "That took too long. Please try again in a moment.",
  },
  format: {
    ko: "답변을 제대로 만들지 못했어요. 다시 한번 말씀해 주세요.",
    en: "I could not put the answer together. Please try again.",
  },
  connection: {
    ko: "지금 연결이 원활하지 않아요. 잠시 후 다시 시도해 주세요.",
    en: "The connection is not working right now. Please try again in a moment.",
  },
  model: {
    ko: "AI 모델 설정에 문제가 있어서 지금은 답할 수 없어요. 운영자가 고치면 다시 말씀해 주세요.",
    en: "I cannot answer: my model is not set up correctly. Please try again once an operator has fixed it.",
  },
  refused: {
    ko: "AI 제공자의 안전 필터가 답변을 막았어요. 표현을 바꿔서 다시 말씀해 주세요.",
    en: "A content filter stopped the answer. Please word your message differently.",
  },
  context: {
    ko: "대화가 너무 길어져서 더 읽을 수 없어요. 새 대화를 시작하거나 더 짧게 나눠서 말씀해 주세요.",
    en: "This conversation has become too long to read. Please begin a new one, or send less at once.",
  },
  budget: {
    ko: "사용 한도에 도달해서 지금은 답변할 수 없어요.",
    en: "The usage limit is reached, so I cannot answer right now.",
  },
  loop: {
    ko: "도구를 여러 번 불렀지만 답을 마치지 못했어요. 나눠서 다시 부탁해 주세요.",
    en: "I called my tools again and again without coming to an answer. Please ask for less at once.",
  },
  stopped: { ko: "요청하신 대로 중단했어요.", en: "Stopped, as you asked." },
  diverged: {
    ko: "처리하던 중에 서비스가 바뀌어서 끝내지 못했어요. 다시 말씀해 주세요.",
    en: "The service changed while I was working on this. Please say it again.",
  },
  approval: {
    ko: "이 작업은 담당자의 승인이 필요해요. 승인되면 이어서 진행할게요.",
    en: "This needs a person's approval. I will go on as soon as it is given.",
  },
  effect: {
    ko: "처리 결과를 아직 확인하지 못했어요. 담당자가 확인하는 대로 알려 드릴게요.",
    en: "I could not confirm the outcome yet. I will tell you as soon as it is checked.",
  },
  internal: {
    ko: "처리하는 중에 문제가 생겼어요. 잠시 후 다시 시도해 주세요.",
    en: "Something went wrong on our side. Please try again in a moment.",
  },
} as const satisfies Record<TroubleClass, Record<Locale, string>>;

/** Codes of the model layer and of the engine, by what the person should be told. */
const TROUBLE_OF_CODE: Readonly<Record<string, TroubleClass>> = {
  MODEL_TIMEOUT: "timeout",
  TOOL_TIMEOUT: "timeout",
  MODEL_FORMAT: "format",
  MODEL_EMPTY: "format",
  MODEL_REFUSED: "refused",
  MODEL_CONTEXT_EXCEEDED: "context",
  MODEL_REQUEST_INVALID: "model",
  MODEL_UNREACHABLE: "connection",
  MODEL_SERVER_ERROR: "connection",
  MODEL_RATE_LIMITED: "connection",
  MODEL_UNAUTHORIZED: "model",
  MODEL_UNKNOWN: "model",
  MODEL_QUOTA_EXHAUSTED: "model",
  REMOTE_UNAVAILABLE: "connection",
  REMOTE_TIMEOUT: "timeout",
  BUDGET_EXCEEDED: "budget",
  AGENT_LOOPS: "loop",
  TURN_STOPPED: "stopped",
  TURN_DIVERGED: "diverged",
  APPROVAL_PENDING: "approval",
  EFFECT_UNKNOWN: "effect",
};

/**
 * By its code; an error without a listed code is `connection` when it is a network error of Node.
 * Pure.
 */
function troubleOf(error: unknown): TroubleClass {
  return (
    TROUBLE_OF_CODE[codeOf(error) ?? ""] ?? (isNetworkError(error) ? "connection" : "internal")
  );
}

export function troubleText(error: unknown, locale: string): string {
  return TROUBLE[troubleOf(error)][localeOf(locale)];
}

/** Which model refused, as a developer reads it. */
interface RefusedModel {
  /** The provider, as people write it. */
  readonly title: string;
  readonly model: string;
  /** Environment variable of its key. Undefined: the configuration names one. */
  readonly keyVariable?: string | undefined;
  /** Environment variable of its address. */
  readonly addressVariable?: string | undefined;
}

/** What a developer does about a model that does not answer. */
const MODEL_NEXT_STEPS: Readonly<
  Record<string, Record<Locale, (refused: RefusedModel) => string>>
> = {
  MODEL_UNAUTHORIZED: {
    ko: ({ title, keyVariable = "api_key_env" }) =>
      `${title}에서 API 키를 거절했어요. ${keyVariable} 값을 확인하고 다시 시도해 주세요.`,
    en: ({ title, keyVariable = "api_key_env" }) =>
      `${title} rejected the API key. Check ${keyVariable}, then try again.`,
  },
  MODEL_UNKNOWN: {
    ko: ({ title, model }) =>
      `${title}에 ‘${model}’ 모델이 없어요. 모델 이름과 주소를 확인하고 다시 시도해 주세요.`,
    en: ({ title, model }) =>
      `${title} has no model “${model}”. Check the model's name and address, then try again.`,
  },
  MODEL_QUOTA_EXHAUSTED: {
    ko: ({ title }) =>
      `${title}의 사용 한도를 다 썼어요. 요금제와 결제 상태를 확인하고 다시 시도해 주세요.`,
    en: ({ title }) => `The quota at ${title} is used up. Check plan and billing, then try again.`,
  },
  MODEL_RATE_LIMITED: {
    ko: ({ title }) =>
      `${title}에서 호출 횟수를 제한했어요. 1분쯤 뒤에 다시 시도하거나 ${title}에서 한도를 올려 주세요.`,
    en: ({ title }) =>
      `${title} limits how often it is called. Try again in a minute, or raise the limit at ${title}.`,
  },
  MODEL_SERVER_ERROR: {
    ko: ({ title }) =>
      `${title}에 장애가 있거나 요청이 몰렸어요. 잠시 후 다시 시도하거나 DURE_MODEL에 쉼표로 두 번째 모델을 적어 주세요.`,
    en: ({ title }) =>
      `${title} is overloaded or in trouble. Try again later, or name a second model behind a comma in DURE_MODEL.`,
  },
  MODEL_UNREACHABLE: {
    ko: ({ title, addressVariable = "base_url" }) =>
      `${title}에 연결하지 못했어요. 인터넷 연결과 ${addressVariable} 값을 확인해 주세요. 프록시가 필요하면 NODE_USE_ENV_PROXY=1과 HTTPS_PROXY를 설정해 주세요.`,
    en: ({ title, addressVariable = "base_url" }) =>
      `${title} could not be reached. Check the connection and ${addressVariable}. Behind a proxy, set NODE_USE_ENV_PROXY=1 and HTTPS_PROXY.`,
  },
  MODEL_TIMEOUT: {
    ko: ({ title }) =>
      `${title}에서 제때 답이 오지 않았어요. 다시 시도하거나 policy.timeoutSec 값을 올려 주세요.`,
    en: ({ title }) => `${title} did not answer in time. Try again, or raise policy.timeoutSec.`,
  },
  MODEL_EMPTY: {
    ko: ({ model }) =>
      `‘${model}’ 모델이 빈 답을 보냈어요. 다시 시도하거나 llm.maxOutputTokens 값을 올려 주세요.`,
    en: ({ model }) => `“${model}” sent an empty answer. Try again, or raise llm.maxOutputTokens.`,
  },
  MODEL_FORMAT: {
    ko: ({ model }) =>
      `‘${model}’ 모델의 답이 정해진 형식과 달라요. 프롬프트에 형식을 더 분명히 적거나 다른 모델을 골라 주세요.`,
    en: ({ model }) =>
      `The answer of “${model}” has another form than asked for. Describe the form in the prompt, or choose another model.`,
  },
  MODEL_REFUSED: {
    ko: ({ title }) =>
      `${title}의 안전 필터가 답변을 막았어요. 메시지나 프롬프트의 표현을 바꿔 주세요.`,
    en: ({ title }) =>
      `The content filter of ${title} stopped the answer. Word the message or the prompt differently.`,
  },
  MODEL_CONTEXT_EXCEEDED: {
    ko: ({ model }) =>
      `대화가 ‘${model}’ 모델이 읽을 수 있는 길이를 넘었어요. 새 대화를 시작하거나 더 긴 글을 읽는 모델을 골라 주세요.`,
    en: ({ model }) =>
      `The conversation is longer than “${model}” can read. Begin a new one, or choose a model with a longer context.`,
  },
  MODEL_REQUEST_INVALID: {
    ko: ({ title }) =>
      `${title}에서 요청을 받아들이지 않았어요. 제공자가 보낸 글에 나온 설정을 고치고 다시 시도해 주세요.`,
    en: ({ title }) =>
      `${title} did not accept the request. Change the setting that its own words name, then try again.`,
  },
};

/** As `troubleText`, with the next step where a model failed: in dev mode its reader can take it. */
export function developerText(error: unknown, locale: string): string {
  const nextStep = MODEL_NEXT_STEPS[codeOf(error) ?? ""]?.[localeOf(locale)];
  const refused = error instanceof DureError ? (error.details as Partial<RefusedModel>) : undefined;
  if (nextStep === undefined || refused?.title === undefined) return troubleText(error, locale);
  return nextStep({ model: "", ...refused, title: refused.title });
}

/**
 * What stands in `DONE.error.message` outside of dev mode: never text of a provider, a tool or a
 * handler, which may hold anything.
 */
const OPEN_MESSAGES = {
  timeout: "Something did not answer in time.",
  format: "The model's answer could not be used.",
  connection: "Another system could not be reached.",
  model: "The model refuses every call.",
  refused: "A content filter stopped the answer.",
  context: "The conversation is longer than the model can read.",
  budget: "A budget is used up.",
  loop: "The agent called tools and came to no answer.",
  stopped: "The turn was stopped.",
  diverged: "The service changed while the turn was under way.",
  approval: "A person's yes is needed first.",
  effect: "Whether an effect happened is not known.",
  internal: "The turn failed.",
} as const satisfies Record<TroubleClass, string>;

export function openMessage(error: unknown): string {
  return OPEN_MESSAGES[troubleOf(error)];
}

const WAITING_FOR_MODEL = {
  ko: "모델에 연결되지 않아요. 다시 연결되면 답할게요.",
  en: "The model is not reachable. I will answer when it is back.",
} as const satisfies Record<Locale, string>;

/** What a person reads while an agent waits for its model. */
export function waitingForModel(locale: string): string {
  return WAITING_FOR_MODEL[localeOf(locale)];
}

const BUTTONS = {
  CONFIRM: { ko: ["확인", "취소"], en: ["Confirm", "Cancel"] },
  ASK_CONTINUE: { ko: ["계속 진행", "취소"], en: ["Go on", "Cancel"] },
} as const;

/**
 * The buttons that belong to what is asked next; none for an open question. Source:
 * docs/spec/conversation §6.
 */
export function buttonsFor(nextAction: string, locale: string): readonly string[] | undefined {
  return nextAction === "CONFIRM" || nextAction === "ASK_CONTINUE"
    ? BUTTONS[nextAction][localeOf(locale)]
    : undefined;
}

export function localeOf(locale: string): Locale {
  return locale.toLowerCase().startsWith("en") ? "en" : "ko";
}
