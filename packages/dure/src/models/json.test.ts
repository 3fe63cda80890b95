import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { classify } from "./failures.ts";
import { parseModelJson, parseModelObject, PartialJsonText } from "./json.ts";

/**
 * Text with everything that hurts: quotes, backslashes, controls, Korean, surrogate pairs and lone
 * halves.
 */
const anyText = fc.string({
  unit: fc.oneof(
    fc.constantFrom(
      '"',
      "\\",
      "{",
      "}",
      "[",
      "]",
      ",",
      ":",
      "\n",
      "\t",
      "\b",
      "/",
      "```",
      "가",
      "두레",
      "😀",
      "\ud83d",
      "\ude00",
      "\u2028",
      "u0041",
    ),
    fc.string({ unit: "binary", minLength: 1, maxLength: 1 }),
  ),
});
const anyMember = fc.jsonValue();
const others = fc.dictionary(
  fc.string().filter((key) => key !== "message" && key !== "__proto__"),
  anyMember,
  { maxKeys: 4 },
);
const wrapper = fc.constantFrom(
  ["", ""],
  ["```json\n", "\n```"],
  ["Sure, here it is:\n\n", "\n\nAnything else?"],
  ["  \n", ""],
  ["{see below} ", ""],
);

describe("the growing text of one member", () => {
  test("is the same for every way of cutting the stream, and at any time a prefix of the end", () => {
    const document = fc.record({
      before: others,
      message: anyText,
      after: others,
      space: fc.constantFrom(undefined, 1, "\t"),
      escapeAll: fc.boolean(),
      wrapper,
    });
    fc.assert(
      fc.property(
        document,
        fc.array(fc.nat({ max: 7 })),
        ({ before, message, after, space, escapeAll, wrapper: [head, tail] }, cuts) => {
          const written = JSON.stringify(
            Object.assign({}, before, { message }, after),
            undefined,
            space,
          );
          const text = head + (escapeAll ? escapeNonAscii(written) : written) + tail;
          const reader = new PartialJsonText();
          let shown = "";
          for (const chunk of cut(text, cuts)) {
            const grown = reader.push(chunk);
            shown += grown;
            expect(message.startsWith(shown)).toBe(true);
            expect(isWellFormed(grown) || !isWellFormed(message)).toBe(true); // no pair is cut in two
          }
          expect(shown).toBe(message);
          expect(reader.text).toBe(message);
          expect(reader.isComplete).toBe(true);
          expect(parseModelObject(text)).toMatchObject({ message });
        },
      ),
      { numRuns: 500 },
    );
  });

  test("grows while the JSON is still incomplete", () => {
    const reader = new PartialJsonText();

    const grown = [
      '{"action":"ask","mess',
      'age":"안',
      "녕\\",
      "n\\uD83",
      "D",
      "\\uDE00 ",
      'x"',
      ',"z":1}',
    ].map((chunk) => reader.push(chunk));

    expect(grown).toEqual(["", "안", "녕", "\n", "", "😀 ", "x", ""]);
  });

  test("is not taken from an inner object, nor from a value that is no text", () => {
    const reader = new PartialJsonText();

    expect(
      reader.push(
        '{"data":{"message":"inner"},"list":[{"message":"in a list"}],"message":null,"x":"message"}',
      ),
    ).toBe("");
    expect(reader.isComplete).toBe(false);
  });

  test("may have another name, written with escapes", () => {
    expect(new PartialJsonText("답").push('{"\\ub2f5":"네"}')).toBe("네");
  });

  test("survives anything that is no JSON", () => {
    fc.assert(
      fc.property(fc.array(anyText), (chunks) => {
        const reader = new PartialJsonText();
        const grown = chunks.map((chunk) => reader.push(chunk));
        expect(grown.join("")).toBe(reader.text);
      }),
    );
  });
});

describe("the JSON of a model's answer", () => {
  test.each([
    ['{"a":1}', { a: 1 }],
    ["[1,2]", [1, 2]],
    ['```json\n{"a":"```"}\n```', { a: "```" }],
    ['Here: {"a":{"b":"}"}} and more {', { a: { b: "}" } }],
    ['See {this}: {"a":1}', { a: 1 }],
    ['As in [1], {"a":1}', { a: 1 }],
    ["```\n[1]\n```", [1]],
    ['{"_meta":1,"__proto__":2}', JSON.parse('{"_meta":1,"__proto__":2}')],
  ])("%s is found", (text, value) => {
    expect(parseModelJson(text)).toEqual(value);
  });

  test.each([
    ['{"operations":[{"op":"set","slot":"target"},{"op":"se'],
    ['{"action":"ask","data":{"action":"send","message":"네"},"mess'],
    ['Here it is: [{"a":1},{"a":'],
  ])("half an answer, %s, gives none of the whole objects in it", (text) => {
    expect(catchError(() => parseModelJson(text))).toMatchObject({ code: "MODEL_FORMAT" });
  });

  test("a whole answer in front of a half one is found", () => {
    expect(parseModelJson('{"a":1}\n\nOr rather: {"a":{"b":2}, ')).toEqual({ a: 1 });
  });

  test.each(["", "no JSON", '{"a":', "{".repeat(5_000)])(
    "%.20s is a format error that may be retried",
    (text) => {
      const error = catchError(() => parseModelJson(text));

      expect(error).toMatchObject({ code: "MODEL_FORMAT" });
      expect(classify(error, 0)).toMatchObject({ class: "format", retryable: true });
    },
  );
});

function cut(text: string, lengths: readonly number[]): string[] {
  const chunks: string[] = [];
  let position = 0;
  for (const length of lengths) {
    chunks.push(text.slice(position, position + length));
    position += length;
  }
  return [...chunks, text.slice(position)];
}

function isWellFormed(text: string): boolean {
  return !/[\ud800-\udfff]/u.test(text);
}

function escapeNonAscii(json: string): string {
  return json.replace(
    /[^\x20-\x7e\s]/g,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}

function catchError(work: () => unknown): unknown {
  try {
    work();
    return undefined;
  } catch (error) {
    return error;
  }
}

describe("what models write although JSON forbids it", () => {
  test.each([
    ['{"a": 1,}', { a: 1 }],
    ['{"a": [1, 2, ], }', { a: [1, 2] }],
    ['```json\n{"a": "b",\n}\n```', { a: "b" }],
    ['{"a": "one\ntwo\tthree"}', { a: "one\ntwo\tthree" }],
    ['Sorry for the mix-up! Here it is:\n{"a": ",}",}', { a: ",}" }],
    ['{"a": "she said \\"no,\\"",}', { a: 'she said "no,"' }],
  ])("reads %j", (text, value) => {
    expect(parseModelJson(text)).toEqual(value);
  });

  test.each(['{"amount": 5', '{"tasks": [{"to": "A"}', '{"a": "b', '```json\n{"a": {"b": 1}\n```'])(
    "takes no half answer: %j",
    (text) => {
      expect(() => parseModelJson(text)).toThrow("no JSON");
    },
  );

  test("a comma before a bracket in a string is a comma", () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        expect(parseModelJson(JSON.stringify(value))).toEqual(JSON.parse(JSON.stringify(value)));
      }),
    );
  });
});
