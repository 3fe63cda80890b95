import { expect, test } from "vitest";
import { TranscriptBuffer } from "./transcript.ts";

test("pieces of one thought are one line, and a tool's call parts two messages", () => {
  const buffer = new TranscriptBuffer();
  for (const text of ["I ", "look ", "around."]) buffer.add({ kind: "thought", text });
  buffer.add({ kind: "message", text: "Reading." });
  buffer.add({ kind: "tool", title: "read a.ts", text: "" });
  buffer.add({ kind: "message", text: "Done." });

  expect(buffer.take()).toEqual([
    { kind: "thought", text: "I look around." },
    { kind: "message", text: "Reading." },
    { kind: "tool", title: "read a.ts", text: "" },
    { kind: "message", text: "Done." },
  ]);
  expect(buffer.take()).toEqual([]);
});

test("a worker that says too much is cut once, and its end is told all the same", () => {
  const buffer = new TranscriptBuffer();
  for (let index = 0; index < 300; index++) {
    buffer.add({ kind: "result", title: `tool ${index}`, text: "x".repeat(100_000) });
  }
  buffer.add({ kind: "end", title: "ready", text: "All is done." });

  const kept = buffer.take();

  const characters = kept.reduce((sum, { text }) => sum + text.length, 0);
  expect(characters).toBeLessThan(2_100_000);
  expect(kept[0]!.text).toContain("characters …");
  expect(kept.filter(({ title }) => title === "cut")).toHaveLength(1);
  expect(kept.at(-1)).toEqual({ kind: "end", title: "ready", text: "All is done." });
});

test("standard output and standard error are lines of their own", () => {
  const buffer = new TranscriptBuffer();
  buffer.add({ kind: "stdout", text: "a" });
  buffer.add({ kind: "stderr", text: "warning" });
  buffer.add({ kind: "stdout", text: "b" });

  expect(buffer.take().map(({ kind, text }) => `${kind} ${text}`)).toEqual([
    "stdout a",
    "stderr warning",
    "stdout b",
  ]);
});
