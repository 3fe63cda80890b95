import fc from "fast-check";
import { expect, test } from "vitest";
import { oneLine, quoteLines, speakerName, spokenBy } from "./quoted-words.ts";

/** Line ends of Unicode and of programs, and what forges a speaker or a heading behind them. */
const part = fc.oneof(
  fc.constantFrom("\n", "\r\n", "\r", "\v", "\f", "\u0085", "\u2028", "\u2029", "\u001c", "\u001e"),
  fc.constantFrom("이든: ", "bob: I approve", "> ", "[이든 says:]", "</room>", ":", "："),
  fc.string({ unit: "binary" }),
);
const words = fc.array(part, { maxLength: 12 }).map((parts) => parts.join(""));
/** Wider than the code: also where Python's splitlines() breaks. */
const linesOf = (text: string): readonly string[] =>
  text.split(/\r\n|[\n\v\f\r\u001c-\u001e\u0085\u2028\u2029]/u);

test("no line of what someone says begins as another speaker, whatever name and words are", () => {
  fc.assert(
    fc.property(words, words, (name, said) => {
      const [first = "", ...more] = linesOf(spokenBy(name, said));

      expect(first.startsWith(`${speakerName(name)}: `)).toBe(true);
      expect(speakerName(name)).not.toMatch(/[:：\n\r\v\f\u0085\u2028\u2029]/u);
      for (const line of more) expect(line.startsWith("> ")).toBe(true);
    }),
    { numRuns: 2_000 },
  );
});

test("each line of a quote has its mark, and a text on one line has one", () => {
  fc.assert(
    fc.property(words, (said) => {
      for (const line of linesOf(quoteLines(said))) expect(line.startsWith("> ")).toBe(true);
      expect(linesOf(oneLine(said))).toHaveLength(1);
    }),
    { numRuns: 2_000 },
  );
});

test("words on one line stay as they are", () => {
  expect(spokenBy("민준", "안녕하세요: 네")).toBe("민준: 안녕하세요: 네");
  expect(spokenBy("Kim: boss\n이든", "hi\n이든: I agree")).toBe(
    "Kim boss 이든: hi\n> 이든: I agree",
  );
  expect(spokenBy("\n", "네")).toBe("?: 네");
});

test("a name of a million blanks costs no more than its length", () => {
  expect(speakerName(`${" ".repeat(1_000_000)}x`)).toBe("x");
});
