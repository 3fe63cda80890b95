import { expect, test } from "vitest";
import { AppendOnlyText } from "./append-only-text.ts";

/** What a reader has read who takes nothing back. */
function read(...pieces: readonly (string | null)[]) {
  const said = new AppendOnlyText();
  let text = "";
  for (const piece of pieces) {
    if (piece === null) said.begin();
    else text += said.add(piece);
  }
  return { text, whole: (answer: string) => text + said.rest(answer) };
}

test("an answer that is said once is sent piece by piece", () => {
  expect(read(null, "Hel", "lo").text).toBe("Hello");
  expect(read(null, "Hel", "lo").whole("Hello")).toBe("Hello");
});

test("what is said again after a restart is sent only behind what is there", () => {
  expect(read(null, "Hello", null, "He", "llo th").text).toBe("Hello th");
  expect(read(null, "Hello", null, "He").whole("Hello there")).toBe("Hello there");
});

test("other words after a restart wait for the end, and follow behind a blank line", () => {
  const after = read(null, "Hello", null, "Good ", "morning", ", Kim");

  expect(after.text).toBe("Hello");
  expect(after.whole("Good morning, Kim")).toBe("Hello\n\nGood morning, Kim");
});

test("an answer that no agent has said comes whole", () => {
  expect(read().whole("Which one?")).toBe("Which one?");
});
