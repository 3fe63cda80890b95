import { expect, test } from "vitest";
import type { TranscriptEntry } from "../workers/worker.ts";
import { BEGUN, paceAfter, shareDone, type StepPace } from "./milestones.ts";

const after = (...entries: readonly TranscriptEntry[]): StepPace =>
  entries.reduce((pace, entry) => paceAfter(pace, entry, "make accept-api"), BEGUN);
const tool = (title: string, text = ""): TranscriptEntry => ({ kind: "tool", title, text });
const result = (status: string): TranscriptEntry => ({ kind: "result", text: "", status });

test("a worker looks, writes, tests and passes, whatever its agent calls its tools", () => {
  const steps: readonly (readonly [TranscriptEntry, string])[] = [
    [{ kind: "message", text: "I write and test." }, "begun"],
    [tool("Read src/a.ts"), "looked"],
    [tool("write_file", '{"file_path":"src/a.ts"}'), "wrote"],
    [result("completed"), "wrote"],
    [tool("Bash", '{"command":"npx vitest run test/a"}'), "tested"],
    [result("failed"), "tested"],
    [tool("Edit src/a.ts"), "tested"],
    [result("completed"), "tested"],
    [tool("command", "make accept-api"), "tested"],
    [result("completed"), "passed"],
    [tool("Read src/b.ts"), "passed"],
  ];

  let pace = BEGUN;
  const reached = steps.map(([entry]) => {
    pace = paceAfter(pace, entry, "make accept-api");
    return pace.milestone;
  });

  expect(reached).toEqual(steps.map(([, milestone]) => milestone));
});

test.each(["npm test", "pnpm run check", "python -m pytest -q", "go test ./...", "node --test"])(
  "%s runs tests",
  (command) => {
    expect(after(tool("Bash", command)).isTesting).toBe(true);
  },
);

test.each(["npm install", "cat test/a.test.ts", "git status", "echo attest"])(
  "%s runs none",
  (command) => {
    expect(after(tool("Bash", command)).milestone).toBe("looked");
  },
);

test("a tool is at work until it gives its result", () => {
  expect(after(tool("npm ci")).tool).toBe("npm ci");
  expect(after(tool("npm ci"), result("in_progress")).tool).toBe("npm ci");
  expect(after(tool("npm ci"), result("failed")).tool).toBeUndefined();
});

test("a share stands at its milestone, and goes on by the time of such steps, never beyond the next", () => {
  const at = (spentMs: number, typicalMs?: number) => shareDone("looked", { spentMs, typicalMs });

  expect(at(1_000_000)).toBe(0.15);
  expect(at(0, 100_000)).toBe(0.15);
  expect(at(30_000, 100_000)).toBeCloseTo(0.291);
  expect(at(90_000, 100_000)).toBeCloseTo(0.39);
  expect(shareDone("passed", { spentMs: 9e9, typicalMs: 1 })).toBeCloseTo(0.96);
});
