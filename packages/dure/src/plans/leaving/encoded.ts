/** Base64 of a text, joined where it is broken into lines. */
interface Encoded {
  /** Where it begins. */
  readonly at: number;
  readonly decoded: string;
}

/** Characters of one line; shorter ones hold no secret of their own. */
const LINE = /[A-Za-z0-9+/_-]{40,}={0,2}/g;
/** Between lines of one value: the line end, an indent, a quote of another language. */
const BETWEEN = /^(?:\\n|[\s"'+,]){1,40}$/;
/** The last line of a value may be this short. */
const TAIL = /^(?:\\n|[\s"'+,]){1,40}([A-Za-z0-9+/_-]{1,80}={0,2})(?![A-Za-z0-9+/_=-])/;
/** Of a value that began before, each place in four may be where a character begins. */
const OFFSETS = [0, 1, 2, 3];
/** Characters by which a text is known. */
const HEAD = 24;

/**
 * Texts that stand in a text as base64. `isInside`: the text is a part of a longer one. Each
 * character is looked at a fixed number of times.
 */
export function encodedTexts(text: string, isInside: boolean): readonly Encoded[] {
  return joined(text).flatMap(({ at, value }) => {
    const offsets = isInside && at === 0 ? OFFSETS : [0];
    const texts = offsets.map((offset) => decodedText(value.slice(offset)));
    return texts.flatMap((decoded) => (decoded === undefined ? [] : [{ at, decoded }]));
  });
}

function joined(text: string): readonly { readonly at: number; readonly value: string }[] {
  const values: { at: number; parts: string[]; end: number }[] = [];
  for (const { 0: line, index } of text.matchAll(LINE)) {
    const last = values.at(-1);
    const end = index + line.length;
    if (last !== undefined && isNextLine(text, last.end, index)) {
      last.parts.push(line);
      last.end = end;
    } else values.push({ at: index, parts: [line], end });
  }

  return values.map(({ at, parts, end }) => {
    const [, tail = ""] = TAIL.exec(text.slice(end, end + 128)) ?? [];
    return { at, value: parts.join("") + tail };
  });
}

function isNextLine(text: string, end: number, next: number): boolean {
  return next - end <= 40 && BETWEEN.test(text.slice(end, next));
}

/** Undefined: it is no text. Node reads both alphabets of base64. */
function decodedText(value: string): string | undefined {
  const head = Buffer.from(value.slice(0, HEAD * 2), "base64").toString("latin1", 0, HEAD);
  if (!/^[\t\n\r\x20-\x7e]+$/.test(head)) return undefined;

  return Buffer.from(value, "base64").toString("latin1");
}
