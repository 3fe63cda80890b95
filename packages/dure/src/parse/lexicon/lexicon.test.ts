import { describe, expect, test } from "vitest";
import { classifyContinue, classifyReply } from "../replies/reply.ts";
import { LEXICON, lexiconWith, type PhraseLists } from "./index.ts";
import { LONGEST_PHRASE } from "./grammar.ts";
import { spokenWords } from "./spoken.ts";

describe("the lexicon", () => {
  const lists = Object.entries(LEXICON).filter(
    (entry): entry is [keyof PhraseLists, ReadonlySet<string>] => entry[1] instanceof Set,
  );

  test.each(lists)("has %s in the spelling in which messages are compared", (_list, phrases) => {
    const misspelt = [...phrases].filter((phrase) => spokenWords(phrase).join(" ") !== phrase);
    const tooLong = [...phrases].filter((phrase) => phrase.split(" ").length > LONGEST_PHRASE);

    expect(misspelt).toEqual([]);
    expect(tooLong).toEqual([]);
  });

  test("has no phrase that says yes and refuses", () => {
    const { yes, no, putOff, undone, negators, cancel } = LEXICON;
    const refusals = no.union(putOff).union(undone).union(negators).union(cancel);

    expect([...yes.intersection(refusals)]).toEqual([]);
  });

  test.each(lists)("says nothing with an empty word in %s", (_list, phrases) => {
    expect(phrases.has("")).toBe(false);
  });
});

describe("a service's own words", () => {
  test("are heard beside those of the lexicon, however they are written", () => {
    const lexicon = lexiconWith({
      yes: ["예약 확정이요", "Let's roll now!"],
      no: ["땡"],
      cancel: ["판 깨자"],
      fillers: ["사장님"],
      continue: ["다음 판"],
    });
    const kindOf = (text: string): string => classifyReply(text, lexicon).kind;

    expect(kindOf("예약 확정이요!")).toBe("yes");
    expect(kindOf("사장님 네 예약 확정이요")).toBe("yes");
    expect(kindOf("let’s roll now")).toBe("yes");
    expect(kindOf("땡!")).toBe("no");
    expect(kindOf("사장님 판 깨자")).toBe("cancel-one");
    expect(kindOf("네 땡")).toBe("unsure");
    expect(kindOf("네")).toBe("yes");
    expect(classifyReply("예약 확정이요").kind).not.toBe("yes");
    expect(classifyContinue("다음 판", lexicon).choice).toBe("continue");
    expect(classifyContinue("다음 판").choice).toBe("none");
  });

  test.each([
    [{ yes: [""] }],
    [{ yes: ["!!!"] }],
    [{ yes: ["가".repeat(81)] }],
    [{ no: ["one two three four five six seven eight nine"] }],
    [{ fillers: Array.from({ length: 501 }, (_, index) => `word ${index}`) }],
    [{ yes: ["취소"] }],
    [{ yes: ["nope"] }],
    [{ yes: ["땡"], no: ["땡"] }],
  ])("are refused where they cannot be compared or mean two things: %j", (more) => {
    expect(() => lexiconWith(more)).toThrow(expect.objectContaining({ code: "LEXICON_INVALID" }));
  });
});
