import { expect, test } from "vitest";
import { PROMPTS } from "../../../../examples/transfer/prompts.ts";
import { estimateTokens } from "../../src/models/prices.ts";
import { languageOf } from "../../src/models/prompt-files.ts";

/** By `estimateTokens`, which counts a Hangul syllable as one token. */
const MOST_TOKENS = {
  intent: { ko: 200, en: 150 },
  interaction: { ko: 260, en: 190 },
} as const satisfies Record<keyof typeof PROMPTS, { ko: number; en: number }>;

const EACH = Object.entries(MOST_TOKENS).flatMap(([name, most]) =>
  Object.entries(most).map(([language, tokens]) => ({ name, language, tokens })),
);

test.each(EACH)(
  "the transfer's prompt $name speaks $language alone, in less than $tokens tokens",
  ({ name, language, tokens }) => {
    const text = PROMPTS[name as keyof typeof PROMPTS][language as "ko" | "en"];

    expect(estimateTokens(text)).toBeLessThan(tokens);
    expect(languageOf(text)).toBe(language);
  },
);
