import { expect, test } from "vitest";
import type { Finding } from "./doctor/finding.ts";
import { askInit, chosenOf, type Asked } from "./init-answers.ts";

/** A person who says these lines, one for each question, and then leaves. */
function personWho(lines: readonly string[], finding: Partial<Finding> = {}) {
  const left = [...lines];
  const told: string[] = [];
  const tried: string[] = [];
  const asked: Asked = {
    ask: async (question) => (told.push(question), left.shift()),
    askSecret: async (question) => (told.push(question), left.shift()),
    tell: (text) => void told.push(text),
    tryKey: async (provider, key) => {
      tried.push(`${provider} ${key}`);
      return { name: "model", status: "ok", detail: "", ...finding };
    },
    locale: "en",
  };
  return { asked, told, tried };
}

test("empty lines choose what a team has that no question was asked for", async () => {
  const { asked } = personWho(["", "", "later"]);

  expect(await askInit(asked, {})).toEqual({ locale: "en", begin: "rooms" });
});

test("a word or a number chooses, and a key is tried before it is taken", async () => {
  const { asked, tried } = personWho(["1", "PLANS", "anthropic", " sk-1 "]);

  expect(await askInit(asked, {})).toEqual({
    locale: "ko",
    begin: "plans",
    provider: "anthropic",
    key: "sk-1",
  });
  expect(tried).toEqual(["anthropic sk-1"]);
  expect(chosenOf("4", ["a", "b"], "a")).toBeUndefined();
});

test("a key that is refused is told and asked again, three times at most", async () => {
  const refused = { status: "fail", detail: "MODEL_KEY_INVALID", hint: "Look." } as const;
  const { asked, told, tried } = personWho(["k1", "k2", "k3", "k4"], refused);

  const answers = await askInit(asked, { locale: "en", begin: "chat", provider: "openai" });

  expect(answers).toEqual({ locale: "en", begin: "chat" });
  expect(tried).toHaveLength(3);
  expect(told).toContain("No answer with this key. MODEL_KEY_INVALID Look.");
});

test.each([[[]], [["ko"]], [["ko", "chat"]], [["ko", "chat", "openai"]]])(
  "a person who leaves after %j gets no team",
  async (lines) => {
    expect(await askInit(personWho(lines).asked, {})).toBeUndefined();
  },
);

test("what the options say is not asked, and the language of the answers is kept", async () => {
  const { asked, told } = personWho(["later"]);

  await askInit(asked, { locale: "ko", begin: "plans" });

  expect(told).toHaveLength(1);
  expect(told[0]).toContain("어느 회사의 모델");
});
