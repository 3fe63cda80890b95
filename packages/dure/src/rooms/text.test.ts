import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { boundMs } from "../kernel/test-bounds.ts";
import {
  checkText,
  codeFences,
  cutText,
  excerpt,
  splitMessage,
  threadName,
  threadTopic,
} from "./text.ts";

const FAMILY = "👨‍👩‍👧‍👦";
const graphemesOf = (text: string) =>
  Array.from(
    new Intl.Segmenter("und", { granularity: "grapheme" }).segment(text),
    ({ segment }) => segment,
  );
const visible = (text: string) => text.replace(/\s+/gu, "");

describe("an excerpt", () => {
  test("is the first 50 graphemes on one line", () => {
    expect(excerpt("  로그인 모듈을\n\n 검토해\t주세요  ")).toBe("로그인 모듈을 검토해 주세요");
    expect(graphemesOf(excerpt("가".repeat(80)))).toHaveLength(50);
    expect(excerpt(FAMILY.repeat(80), 3)).toBe(FAMILY.repeat(3));
    expect(excerpt("e\u0301".repeat(60))).toBe("e\u0301".repeat(50));
    expect(excerpt(" \n ")).toBe("");
  });

  test("never splits a grapheme, and stays short also for one that is made of endless accents", () => {
    expect(excerpt(`${"a".repeat(49)}🇰🇷🇰🇷`)).toBe(`${"a".repeat(49)}🇰🇷`);
    expect(excerpt(`abc ${"e" + "\u0301".repeat(90_000)} d`)).toBe("abc");
    expect(excerpt("\u0301".repeat(90_000))).toBe("");
  });

  test("is the beginning of the collapsed text, of at most that many graphemes", () => {
    fc.assert(
      fc.property(
        fc.string({
          unit: fc.oneof(
            fc.string({ unit: "grapheme", minLength: 1, maxLength: 1 }),
            fc.constantFrom(" ", "\n", FAMILY, "🇰🇷", "각"),
          ),
          maxLength: 200,
        }),
        fc.integer({ min: 1, max: 60 }),
        (text, count) => {
          const line = text.replace(/\s+/gu, " ").trim();
          expect(excerpt(text, count)).toBe(graphemesOf(line).slice(0, count).join("").trimEnd());
        },
      ),
    );
  });

  test("of 100,000 characters costs no more than of a few", () => {
    const long = [
      "가나다 ".repeat(25_000),
      " ".repeat(99_999) + "x",
      FAMILY.repeat(9_000),
      "x".repeat(100_000),
    ];
    const before = performance.now();
    for (let round = 0; round < 50; round++) for (const text of long) excerpt(text);

    expect((performance.now() - before) / 200).toBeLessThan(boundMs(5));
  });
});

describe("a cut text", () => {
  test("fits, says that something is missing, and splits no grapheme", () => {
    expect(cutText("짧은 글", 10)).toBe("짧은 글");
    expect(cutText("hello world", 8)).toBe("hello w…");
    expect(cutText("hello world", 7)).toBe("hello…");
    expect(cutText(`ab${FAMILY}cd`, 8)).toBe("ab…");
    expect(cutText("😀😀", 3)).toBe("😀…");
    expect(cutText("abc", 1)).toBe("…");
    expect(cutText("abc", 0)).toBe("");
  });

  test("is never longer than wanted", () => {
    fc.assert(
      fc.property(
        fc.string({ unit: "grapheme", maxLength: 60 }),
        fc.integer({ min: 0, max: 50 }),
        (text, length) => {
          const cut = cutText(text, length);
          expect(cut.length).toBeLessThanOrEqual(length);
          expect(cut.isWellFormed()).toBe(true);
          if (cut !== text && length > 0) {
            expect(
              graphemesOf(text)
                .join("\0")
                .startsWith(graphemesOf(cut.slice(0, -1)).join("\0")),
            ).toBe(true);
          }
        },
      ),
    );
  });
});

describe("the name of a thread", () => {
  test("says who hands over to whom, and what about", () => {
    expect(threadName({ from: "루다", to: "이든", topic: "코드 리뷰", locale: "ko" })).toBe(
      "[협업] 루다 → 이든 · 코드 리뷰",
    );
    expect(threadName({ from: "Ruda", to: "Eden", topic: "code\n review", locale: "en-US" })).toBe(
      "[collab] Ruda → Eden · code review",
    );
    expect(threadName({ from: "루다", to: "이든", topic: " \u200b", locale: "ko" })).toBe(
      "[협업] 루다 → 이든",
    );
  });

  test("is cut at 100 characters without splitting a grapheme", () => {
    const name = threadName({ from: "루다", to: "이든", topic: FAMILY.repeat(20), locale: "ko" });

    expect(name.length).toBeLessThanOrEqual(100);
    expect(name).toMatch(/^\[협업\] 루다 → 이든 · (?:👨‍👩‍👧‍👦)+…$/u);
  });

  test("is about the given topic, else about the first 30 graphemes of the message", () => {
    expect(threadTopic("리뷰", "코드 리뷰 해줘")).toBe("리뷰");
    expect(threadTopic(undefined, "가".repeat(40))).toBe(`${"가".repeat(30)}…`);
    expect(threadTopic(undefined, `${"가".repeat(30)}\n`)).toBe("가".repeat(30));
    expect(threadTopic("  ", "코드 리뷰\n해줘")).toBe("코드 리뷰 해줘");
  });
});

describe("a text that arrives", () => {
  test("loses control characters and signs that turn the writing around, and keeps the rest", () => {
    expect(checkText("안녕\r\n하세요\t👋\u0007\u001b[31m\u0085")).toEqual({
      ok: true,
      text: "안녕\n하세요\t👋[31m",
    });
    expect(checkText("user\u202egnp.exe\u2066!\u2069")).toEqual({ ok: true, text: "usergnp.exe!" });
    expect(checkText(`  ${FAMILY} שלום\u200f `)).toEqual({
      ok: true,
      text: `  ${FAMILY} שלום\u200f `,
    });
  });

  test("is refused when a person would see nothing", () => {
    for (const text of [
      "",
      " \n\t",
      "\u200b\u200d\ufeff",
      "\u0001\u0002",
      "\u202e",
      "\u3164 \u2800",
    ]) {
      expect(checkText(text)).toEqual({ ok: false, because: "empty" });
    }
  });

  test("is refused when it cannot be stored as it is", () => {
    for (const text of ["a\0b", "a\ud83d", "\ude00a", "\0"]) {
      expect(checkText(text)).toEqual({ ok: false, because: "malformed" });
    }
  });

  test("is refused over 100,000 characters", () => {
    expect(checkText("가".repeat(100_000))).toMatchObject({ ok: true });
    expect(checkText("가".repeat(100_001))).toEqual({ ok: false, because: "too-long" });
  });
});

describe("the code blocks of a text", () => {
  const blocks = (text: string) =>
    codeFences(text).map((fence) => [
      fence.language,
      text.slice(fence.contentFrom, fence.contentTo),
      fence.isClosed,
    ]);

  test("are found with their language and content", () => {
    expect(blocks("a\n```ts\nx\ny\n```\nb\n~~~\nz\n~~~\nc")).toEqual([
      ["ts", "x\ny\n", true],
      ["", "z\n", true],
    ]);
    expect(blocks("````md title\n```\nx\n````")).toEqual([["md", "```\nx\n", true]]);
    expect(blocks("```\nx``` y")).toEqual([["", "x", true]]);
  });

  test("end with the text when nothing closes them, and are none inside of a line", () => {
    expect(blocks("```py\nx")).toEqual([["py", "x", false]]);
    expect(blocks("see ```x``` and ```")).toEqual([]);
    expect(blocks("```x``` y")).toEqual([]);
    expect(blocks("```")).toEqual([["", "", false]]);
  });
});

describe("a message in parts", () => {
  test("is one part when it fits, and none when there is nothing to see", () => {
    expect(splitMessage("안녕\n")).toEqual(["안녕\n"]);
    expect(splitMessage(" \n\u200b")).toEqual([]);
    expect(splitMessage("가".repeat(2000))).toHaveLength(1);
    expect(splitMessage("가".repeat(2001)).map((part) => part.length)).toEqual([2000, 1]);
  });

  test("is cut before a paragraph, then a line, then after a sentence, a word, a grapheme", () => {
    expect(splitMessage("one one\ntwo\n\nthree three\nfour", 24)).toEqual([
      "one one\ntwo",
      "three three\nfour",
    ]);
    expect(splitMessage("one one\ntwo. two\nthree", 18)).toEqual(["one one\ntwo. two", "three"]);
    expect(splitMessage("One one. Two two two three", 16)).toEqual([
      "One one.",
      "Two two two",
      "three",
    ]);
    expect(splitMessage("확인했습니다. 그리고 고쳤습니다.", 14)).toEqual([
      "확인했습니다.",
      "그리고 고쳤습니다.",
    ]);
    expect(splitMessage("直しました。確認をお願いします", 10)).toEqual([
      "直しました。",
      "確認をお願いします",
    ]);
    expect(splitMessage("one two three", 9)).toEqual(["one two", "three"]);
    expect(splitMessage(FAMILY.repeat(3), 25)).toEqual([FAMILY.repeat(2), FAMILY]);
    expect(splitMessage("a" + "\u0301".repeat(9), 4)).toHaveLength(3);
  });

  test("keeps the indentation of a line", () => {
    expect(splitMessage("- one one one\n  - two\n  - three", 20)).toEqual([
      "- one one one",
      "  - two\n  - three",
    ]);
  });

  test("closes a code block that is cut, and opens it again with its language", () => {
    const code = Array.from({ length: 8 }, (_, index) => `  line ${index};`);

    const parts = splitMessage(
      `Look:\n\n\`\`\`ts title="x"\n${code.join("\n")}\n\`\`\`\nDone.`,
      80,
    );

    expect(parts).toEqual([
      "Look:",
      `\`\`\`ts title="x"\n${code.slice(0, 6).join("\n")}\n\`\`\``,
      `\`\`\`ts\n${code.slice(6).join("\n")}\n\`\`\`\nDone.`,
    ]);
  });

  test("cuts a block that is never closed in the same way", () => {
    const parts = splitMessage(`\`\`\`\n${"x = 1\n".repeat(60)}`, 100);

    expect(parts.length).toBeGreaterThan(2);
    for (const part of parts) expect(part).toMatch(/^```\n(x = 1\n)+```$/u);
  });

  test("never leaves an empty block behind", () => {
    const code = "x".repeat(100);

    expect(splitMessage(`\`\`\`ts\n${code}\n\`\`\``, 80)).toEqual([
      `\`\`\`ts\n${"x".repeat(70)}\n\`\`\``,
      `\`\`\`ts\n${"x".repeat(30)}\n\`\`\``,
    ]);
  });

  test("moves a code block that fits into one part rather than cutting it", () => {
    const block = "```js\na\n\nb\n```";

    expect(splitMessage(`${"word ".repeat(5)}\n${block}`, 35)).toEqual([
      "word word word word word",
      block,
    ]);
  });

  test("does not break a mention", () => {
    expect(splitMessage(`${"x".repeat(10)}<@ruda>${"y".repeat(10)}`, 14)).toEqual([
      "x".repeat(10),
      `<@ruda>${"y".repeat(7)}`,
      "yyy",
    ]);
  });

  test("loses no character but white space, and no part is too long, blank, or cut in a surrogate pair", () => {
    const piece = fc.oneof(
      fc.constantFrom(
        "\n",
        "\n\n",
        " ",
        ". ",
        "! ",
        "。",
        "`x`",
        "  ",
        "\n> ",
        "\t",
        "x~~~\n",
        "\n~~~\n",
        FAMILY,
        "🇰🇷",
        "😀",
        "e\u0301",
        "<@ruda>",
        "가나다",
        "\u200b",
      ),
      // a language would come again
      fc.string({ unit: "grapheme", maxLength: 20 }).map((any) => any.replace(/[`~]/gu, "")),
      fc.constantFrom("\n```\n", "\n```ts\n", "x```", "\n````md\n", "\n   ```js\n"),
      fc.string({ unit: fc.constantFrom("ㄱ", "b", "각"), minLength: 1, maxLength: 60 }),
    );
    fc.assert(
      fc.property(
        fc.array(piece, { maxLength: 60 }),
        fc.integer({ min: 2, max: 90 }),
        (pieces, limit) => {
          const text = pieces.join("");
          const parts = splitMessage(text, limit);
          for (const part of parts) {
            expect(part.length).toBeLessThanOrEqual(limit);
            expect(part.trim()).not.toBe("");
            expect(part.isWellFormed() || !text.isWellFormed()).toBe(true);
          }
          const unseen = /[`~\s\u200b]|ts|js|md/gu; // fences are added at cuts: compared without
          const bare = (value: string) =>
            value
              .replace(unseen, "")
              .replace(/[\p{Cc}\p{Default_Ignorable_Code_Point}\u2800]/gu, "");
          expect(bare(parts.join(""))).toBe(bare(text));
        },
      ),
      { numRuns: 2_000 },
    );
  });

  test("of prose joins to exactly the same characters without white space", () => {
    fc.assert(
      fc.property(
        fc.array(
          fc.constantFrom(
            "word",
            " ",
            "\n",
            "\n\n",
            ". ",
            "가나다라",
            "😀",
            FAMILY,
            "x".repeat(40),
          ),
          { maxLength: 80 },
        ),
        fc.integer({ min: 12, max: 100 }),
        (pieces, limit) => {
          const text = pieces.join("");
          expect(visible(splitMessage(text, limit).join(""))).toBe(visible(text));
        },
      ),
      { numRuns: 1_000 },
    );
  });

  test("keeps every line of code, and every part's blocks are closed", () => {
    const line = fc.string({
      unit: fc.constantFrom("a", " ", "각", "😀", "{", ";"),
      maxLength: 25,
    });
    const block = fc.record({
      language: fc.constantFrom("", "ts", "python"),
      marker: fc.constantFrom("```", "````", "~~~"),
      lines: fc.array(line, { minLength: 1, maxLength: 20 }),
    });
    const prose = fc.constantFrom(
      "Look at this.",
      "첫 번째 문단입니다.\n\n두 번째 문단.",
      "x ".repeat(60),
    );
    fc.assert(
      fc.property(
        fc.array(fc.tuple(prose, block), { minLength: 1, maxLength: 4 }),
        fc.integer({ min: 80, max: 300 }),
        (sections, limit) => {
          const text = sections
            .map(
              ([before, { language, marker, lines }]) =>
                `${before}\n${marker}${language}\n${lines.join("\n")}\n${marker}\n`,
            )
            .join("");

          const parts = splitMessage(text, limit);

          const codeLines = parts.flatMap((part) =>
            codeFences(part).flatMap((fence) =>
              part.slice(fence.contentFrom, fence.contentTo).split("\n"),
            ),
          );
          expect(codeLines.filter((code) => code.trim())).toEqual(
            sections.flatMap(([, { lines }]) => lines).filter((code) => code.trim()),
          );
          for (const part of parts) {
            expect(part.length).toBeLessThanOrEqual(limit);
            expect(codeFences(part).every((fence) => fence.isClosed)).toBe(true);
          }
        },
      ),
      { numRuns: 1_000 },
    );
  });

  test("of 100,000 characters made to be slow is ready soon", () => {
    const hostile = [
      "`".repeat(100_000),
      "```\n".repeat(25_000),
      "~~~\n".repeat(25_000),
      "\n".repeat(99_999) + "x",
      " ".repeat(99_999) + "x",
      "x".repeat(100_000),
      "a" + "\u0301".repeat(99_999),
      "<@".repeat(50_000),
      "```js\n" + "x".repeat(99_000),
      ". ".repeat(50_000),
      ".".repeat(100_000),
      "🇰🇷".repeat(25_000),
      "```a\nb\n```\n".repeat(9_000),
    ];
    for (const text of hostile) {
      const before = performance.now();
      splitMessage(text);

      expect(performance.now() - before, JSON.stringify(text.slice(0, 12))).toBeLessThan(
        boundMs(500),
      );
    }
  });
});
