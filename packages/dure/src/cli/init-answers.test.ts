import { expect, test } from "vitest";
import type { Finding } from "./doctor/finding.ts";
import { askInit, chosenOf, type InitPrompter } from "./init-answers.ts";

/** A person who says these lines, one for each question, and then leaves. */
function personWho(lines: readonly string[], finding: Partial<Finding> = {}) {
  const left = [...lines];
  const told: string[] = [];
  const tried: string[] = [];
  const leaving = new AbortController();
  const asked: InitPrompter = {
    ask: async (question) => (told.push(question), left.shift()),
    askSecret: async (question) => (told.push(question), left.shift()),
    tell: (text) => void told.push(text),
    tryKey: async (provider, key) => {
      tried.push(`${provider} ${key}`);
      return { name: "model", status: "ok", detail: "", ...finding };
    },
    left: leaving.signal,
    locale: "en",
  };
  return { asked, told, tried, leave: () => leaving.abort() };
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
  expect(told.at(-1)).toBe("The team is made without a key. Put it into .env later.");
});

test("a key that the provider refuses is called wrong, in the language of the team", async () => {
  const refused = { status: "fail", detail: "x: MODEL_UNAUTHORIZED no" } as const;
  const { asked, told } = personWho(["ko", "chat", "openai", "k1", ""], refused);

  expect(await askInit(asked, {})).toEqual({ locale: "ko", begin: "chat" });
  expect(told).toContain("맞지 않는 키예요.");
});

test("a key that could not be tried is kept, and that is said", async () => {
  const finding = { status: "fail", detail: "x: MODEL_UNREACHABLE no address" } as const;
  const { asked, told } = personWho(["k1"], finding);

  const answers = await askInit(asked, { locale: "en", begin: "chat", provider: "openai" });

  expect(answers).toMatchObject({ provider: "openai", key: "k1" });
  expect(told.at(-1)).toContain("was not tried");
});

test("a person who leaves while the key is tried gets no team", async () => {
  const { asked, told, leave } = personWho(["k1"]);
  const slow: InitPrompter = {
    ...asked,
    tryKey: async () => (leave(), { name: "model", status: "ok", detail: "" }),
  };

  expect(await askInit(slow, { locale: "ko", begin: "chat", provider: "openai" })).toBeUndefined();
  expect(told.at(-1)).toBe("아무것도 만들지 않았어요.");
});

test("a word that is none of the choices is named, and asked again", async () => {
  const { asked, told } = personWho(["de", "en", "", ""]);

  await askInit(asked, {});

  expect(told[1]).toBe('"de" is none of them.');
  expect(told[2]).toBe(told[0]);
  expect(told[3]).toContain("  2 rooms  also two agents");
});

test.each([[[]], [["ko"]], [["ko", "chat"]], [["ko", "chat", "openai"]]])(
  "a person who leaves after %j gets no team",
  async (lines) => {
    const { asked, told } = personWho(lines);

    expect(await askInit(asked, {})).toBeUndefined();
    expect(told.at(-1)).toBe(
      lines.length === 0 ? "Nothing was written." : "아무것도 만들지 않았어요.",
    );
  },
);

test("what the options say is not asked, and the language of the answers is kept", async () => {
  const { asked, told } = personWho(["later"]);

  await askInit(asked, { locale: "ko", begin: "plans" });

  expect(told).toHaveLength(1);
  expect(told[0]).toContain("어느 회사의 모델");
});
