import fc from "fast-check";
import { expect, test } from "vitest";
import { chunksOf, MAX_CHUNK, titleOf } from "./chunks.ts";

test("a chunk carries the headings above it", () => {
  const text = "before\n# Refunds\nfirst\n## Time\nthree days\n# Shipping\nfree";

  expect(chunksOf(text)).toEqual([
    { headings: [], text: "before" },
    { headings: ["Refunds"], text: "first" },
    { headings: ["Refunds", "Time"], text: "three days" },
    { headings: ["Shipping"], text: "free" },
  ]);
});

test("a # in a code block is no heading, and the block stays whole", () => {
  const code = "```sh\n# install\n\nnpm install\n```";

  expect(chunksOf(`# Set-up\n${code}`)).toEqual([{ headings: ["Set-up"], text: code }]);
});

test("paragraphs are packed up to 1,200 characters, and none is cut that fits", () => {
  const paragraph = "가".repeat(500);
  const chunks = chunksOf([paragraph, paragraph, paragraph].join("\n\n"));

  expect(chunks.map(({ text }) => text.length)).toEqual([1_002, 500]);
});

test("no chunk is too long or empty, and no letter is lost, of any text", () => {
  fc.assert(
    fc.property(fc.string({ unit: "grapheme", maxLength: 8_000 }), (text) => {
      const chunks = chunksOf(text);

      for (const chunk of chunks) {
        expect(chunk.text.length).toBeGreaterThan(0);
        expect(chunk.text.length).toBeLessThanOrEqual(MAX_CHUNK);
      }
      if (!text.includes("#")) {
        const kept = chunks.map((chunk) => chunk.text).join("");
        expect(kept.replaceAll(/\s/gu, "")).toBe(text.replaceAll(/\s/gu, ""));
      }
    }),
  );
});

test.each([
  ["---\n# Refunds #\ntext", "Refunds"],
  ["\n\nno heading\nat all", "no heading"],
  ["", ""],
])("the title of %j is %j", (text, title) => {
  expect(titleOf(text)).toBe(title);
});
