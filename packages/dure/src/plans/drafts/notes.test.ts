import { expect, test } from "vitest";
import { notesIn } from "./notes.ts";

test("a draft asks three questions at most", () => {
  const text = ["a", "b", "c", "d"].map((one) => `# question: ${one}?\n`).join("");

  expect(notesIn(text).questions).toEqual(["a?", "b?", "c?"]);
});
