import { expect, test } from "vitest";
import { DureError } from "../kernel/errors.ts";
import { LOCALES } from "../kernel/locales.ts";
import { FAILURES } from "../models/failures.ts";
import { buttonsFor, developerText, openMessage, troubleText } from "./texts.ts";

const refused = Object.assign(new TypeError("fetch failed"), {
  cause: Object.assign(new Error("connect"), { code: "ECONNREFUSED" }),
});

/**
 * Source: docs/spec/conversation §3: a text for the person by class of error, and a fixed sentence
 * in `error.message`.
 */
test.each([
  [
    "a timeout of a model",
    new DureError("MODEL_TIMEOUT", "my words"),
    "너무 오래 걸렸어요",
    "took too long",
    "Something did not answer in time.",
  ],
  [
    "a timeout of another server",
    new DureError("REMOTE_TIMEOUT", "my words"),
    "너무 오래 걸렸어요",
    "took too long",
    "Something did not answer in time.",
  ],
  [
    "a wrong format",
    new DureError("MODEL_FORMAT", "my words"),
    "제대로 만들지 못했어요",
    "could not put the answer together",
    "The model's answer could not be used.",
  ],
  [
    "a model that is away",
    new DureError("MODEL_UNREACHABLE", "my words"),
    "연결이 원활하지 않아요",
    "connection is not working",
    "Another system could not be reached.",
  ],
  [
    "a connection of a handler's own",
    refused,
    "연결이 원활하지 않아요",
    "connection is not working",
    "Another system could not be reached.",
  ],
  [
    "a model that refuses the key",
    new DureError("MODEL_UNAUTHORIZED", "my words"),
    "AI 모델 설정에 문제가",
    "my model is not set up correctly",
    "The model refuses every call.",
  ],
  [
    "a content filter",
    new DureError("MODEL_REFUSED", "my words"),
    "안전 필터가 답변을 막았어요",
    "A content filter stopped the answer",
    "A content filter stopped the answer.",
  ],
  [
    "a conversation that is too long",
    new DureError("MODEL_CONTEXT_EXCEEDED", "my words"),
    "새 대화를 시작하거나",
    "Please begin a new one",
    "The conversation is longer than the model can read.",
  ],
  [
    "a budget that is used up",
    new DureError("BUDGET_EXCEEDED", "my words"),
    "사용 한도에 도달",
    "usage limit is reached",
    "A budget is used up.",
  ],
  [
    "a fault of ours",
    new Error("my words"),
    "문제가 생겼어요",
    "Something went wrong",
    "The turn failed.",
  ],
  [
    "something that is no error",
    "my words",
    "문제가 생겼어요",
    "Something went wrong",
    "The turn failed.",
  ],
])(
  "%s is told to a person in the session's language, and to clients in one sentence",
  (_, error, korean, english, sentence) => {
    expect(troubleText(error, "ko")).toContain(korean);
    expect(troubleText(error, "en")).toContain(english);
    expect(openMessage(error)).toBe(sentence);
  },
);

test("what is asked next has its buttons", () => {
  expect([
    buttonsFor("CONFIRM", "ko"),
    buttonsFor("ASK_CONTINUE", "ko"),
    buttonsFor("ASK", "ko"),
    buttonsFor("DONE", "ko"),
  ]).toEqual([["확인", "취소"], ["계속 진행", "취소"], undefined, undefined]);
  expect(buttonsFor("CONFIRM", "en")).toEqual(["Confirm", "Cancel"]);
});

const details = {
  title: "OpenAI",
  model: "gpt-x",
  keyVariable: "OPENAI_API_KEY",
  addressVariable: "OPENAI_BASE_URL",
};

test.each([
  [
    "a refused key",
    "MODEL_UNAUTHORIZED",
    "OpenAI rejected the API key. Check OPENAI_API_KEY, then try again.",
    "OpenAI에서 API 키를 거절했어요. OPENAI_API_KEY 값을 확인하고 다시 시도해 주세요.",
  ],
  [
    "a model's name that the provider does not know",
    "MODEL_UNKNOWN",
    "OpenAI has no model “gpt-x”. Check the model's name and address, then try again.",
    "OpenAI에 ‘gpt-x’ 모델이 없어요. 모델 이름과 주소를 확인하고 다시 시도해 주세요.",
  ],
  [
    "a used-up quota",
    "MODEL_QUOTA_EXHAUSTED",
    "The quota at OpenAI is used up. Check plan and billing, then try again.",
    "OpenAI의 사용 한도를 다 썼어요. 요금제와 결제 상태를 확인하고 다시 시도해 주세요.",
  ],
  [
    "an address or a proxy that leads nowhere",
    "MODEL_UNREACHABLE",
    "OpenAI could not be reached. Check the connection and OPENAI_BASE_URL. Behind a proxy, set NODE_USE_ENV_PROXY=1 and HTTPS_PROXY.",
    "OpenAI에 연결하지 못했어요. 인터넷 연결과 OPENAI_BASE_URL 값을 확인해 주세요. 프록시가 필요하면 NODE_USE_ENV_PROXY=1과 HTTPS_PROXY를 설정해 주세요.",
  ],
  [
    "a conversation that is too long",
    "MODEL_CONTEXT_EXCEEDED",
    "The conversation is longer than “gpt-x” can read. Begin a new one, or choose a model with a longer context.",
    "대화가 ‘gpt-x’ 모델이 읽을 수 있는 길이를 넘었어요. 새 대화를 시작하거나 더 긴 글을 읽는 모델을 골라 주세요.",
  ],
])("a developer reads the next step after %s", (_what, code, english, korean) => {
  const error = new DureError(code, "openai:gpt-x failed (HTTP 4xx): sk-secret", { details });

  expect(developerText(error, "en")).toBe(english);
  expect(developerText(error, "ko")).toBe(korean);
});

test.each(Object.values(FAILURES).map(({ code }) => code))(
  "a developer reads what to do about %s, and never the provider's words",
  (code) => {
    const error = new DureError(code, "openai:gpt-x failed: sk-secret", { details });
    const isOurs = code === "MODEL_ABORTED" || code === "MODEL_FAILED";

    for (const locale of LOCALES) {
      const text = developerText(error, locale);
      expect(text).not.toContain("sk-secret");
      expect(text !== troubleText(error, locale)).toBe(!isOurs);
    }
  },
);

test("a developer reads the text for people where no model refused", () => {
  const error = new DureError("MODEL_UNREACHABLE", "x");

  expect(developerText(error, "en")).toBe(troubleText(error, "en"));
  expect(developerText(new DureError("MODEL_UNKNOWN", "x"), "ko")).toBe(
    troubleText(new DureError("MODEL_UNKNOWN", "x"), "ko"),
  );
});
