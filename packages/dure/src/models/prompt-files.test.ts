import { LOCALES } from "../kernel/locales.ts";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { expect, onTestFinished, test } from "vitest";
import {
  builtInPrompt,
  languageOf,
  PROMPT_NAMES,
  promptText,
  readPromptOverrides,
} from "./prompt-files.ts";
import { estimateTokens } from "./prices.ts";

/** Upper bounds by `estimateTokens`, which counts a Hangul syllable as one token. */
const MAX_TOKENS = {
  slots: { ko: 540, en: 380 },
  memory: { ko: 125, en: 100 },
  "memory-first": { ko: 100, en: 80 },
  router: { ko: 120, en: 90 },
} as const satisfies Record<
  (typeof PROMPT_NAMES)[number],
  Record<(typeof LOCALES)[number], number>
>;

const EACH = PROMPT_NAMES.flatMap((name) =>
  LOCALES.map((language) => ({ name, language, most: MAX_TOKENS[name][language] })),
);

test.each(EACH)("the prompt $name.$language stays below $most tokens", (row) => {
  const text = builtInPrompt(row.name, row.language);

  expect(estimateTokens(text)).toBeLessThan(row.most);
  expect(languageOf(text)).toBe(row.language);
});

async function folderWith(files: Readonly<Record<string, string>>): Promise<string> {
  const folder = await mkdtemp(path.join(tmpdir(), "prompts-"));
  onTestFinished(() => rm(folder, { recursive: true }));
  await mkdir(folder, { recursive: true });

  for (const [file, text] of Object.entries(files)) {
    await writeFile(path.join(folder, file), text);
  }
  return folder;
}

test("a file of the team goes before ours, in its language alone", async () => {
  const folder = await folderWith({ "memory.ko.md": "짧게 적어요. {dialog}\n", "clerk.md": "x" });
  const overrides = readPromptOverrides(folder);

  expect(promptText(overrides, "memory", "ko")).toBe("짧게 적어요. {dialog}");
  expect(promptText(overrides, "memory", "en")).toBe(builtInPrompt("memory", "en"));
});

test("a team's prompt of the fold begins a summary too, unless the team has one for that", () => {
  const fold = { "memory.ko": "접어요. {dialog}" };
  const both = { ...fold, "memory-first.ko": "요약해요. {dialog}" };

  expect(promptText(fold, "memory-first", "ko")).toBe("접어요. {dialog}");
  expect(promptText(both, "memory-first", "ko")).toBe("요약해요. {dialog}");
  expect(promptText(both, "memory", "ko")).toBe("접어요. {dialog}");
  expect(promptText(fold, "memory-first", "en")).toBe(builtInPrompt("memory-first", "en"));
});

test("a folder that is not there has no prompts", () => {
  expect(readPromptOverrides(path.join(tmpdir(), "no-such-folder"))).toEqual({});
});

test.each([
  ["slotz.ko.md", "x", "is no prompt of dure"],
  ["slots.en.md", " \n", "is empty or too long"],
])("%s is refused by name", async (file, text, because) => {
  const folder = await folderWith({ [file]: text });

  expect(() => readPromptOverrides(folder)).toThrow(`${path.join(folder, file)} ${because}`);
});

test.each([
  ["안녕 hello", "ko"],
  ["hello", "en"],
  ["50000", undefined],
  ["👍", undefined],
])("the language of %j is %s", (text, language) => {
  expect(languageOf(text)).toBe(language);
});
