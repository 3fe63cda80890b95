import { expect, test } from "vitest";
import { answeredIn, answerOf, isPassedOn, nonceOf, scriptOf } from "./words.ts";

test("a message is about its newest nonce, and an answer names it", () => {
  expect(nonceOf("kim: first [[r1-2]] and then [[r1-3]]")).toBe("r1-3");
  expect(answeredIn(answerOf("ara", "kim: hello [[r1-4]]"))).toEqual(["r1-4"]);
  expect(nonceOf(answerOf("ara", "kim: hello [[r1-4]]"))).toBe("");
});

test("every third message of a room goes on to the second agent under a nonce of its own", () => {
  expect(["r1-3", "r1-4", "p3"].map(isPassedOn)).toEqual([true, false, false]);
  expect(nonceOf(answerOf("ara", "kim: hello [[r1-3]]"))).toBe("r1-3b");
  expect(answerOf("bora", "아라: look [[r1-3b]]")).toBe(
    "[[>r1-3b]] Understood: 18 characters from you.",
  );
});

test("each turn of an exchange has a nonce of its own", () => {
  expect(nonceOf(answerOf("bora", "begin [[j5.0]]"))).toBe("j5.1");
});

test("every fourth job ends with a short answer to its first one, the others with their last turn", () => {
  expect(["j3", "j4"].map((job) => scriptOf(job).turns)).toEqual([8, 2]);
  expect(answerOf("ara", "what do you think? [[j400.1]]")).toBe("[[>j400.1]] Fine.");
  expect(nonceOf(answerOf("ara", "what do you think? [[j3.1]]"))).toBe("j3.2");
});
