import { expect, test } from "vitest";
import { translatorOf } from "./sentence-forms.ts";

const inKorean = translatorOf([
  ["port {0} owns nothing", "{0} 포트에 맡은 파일이 없어요"],
  ["{0} and {1} differ.", "{1}와 {0}가 달라요."],
]);

test("a sentence that fits a form is said in its words, with the names in it", () => {
  expect(inKorean("port $& owns nothing.")).toBe("$& 포트에 맡은 파일이 없어요");
  expect(inKorean("a (b) and c differ")).toBe("c와 a (b)가 달라요.");
});

test("no form fits half a sentence, another one, or one of more than 1,000 characters", () => {
  expect(inKorean("port a owns nothing at all")).toBeUndefined();
  expect(inKorean("owns nothing")).toBeUndefined();
  expect(inKorean(`port ${"a".repeat(1_000)} owns nothing`)).toBeUndefined();
});
