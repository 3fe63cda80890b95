import { Writable } from "node:stream";
import { expect, test } from "vitest";
import type { EventData, PlatformEvent } from "../client/index.ts";
import { Output } from "./output.ts";
import { watching } from "./plan-watch.ts";

/** What a watch in a pipe says of an orchestrator that has ended. */
const said = (data: Partial<EventData<"worker.complete">>): string =>
  saidOf("worker.complete", { member: "orchestrator", tokens: 7, ...data });

/** What a watch in a pipe says of an event of the first try. */
function saidOf(type: PlatformEvent["type"], data: object): string {
  let text = "";
  const stdout = new Writable({
    write(chunk, _encoding, done) {
      text += String(chunk);
      done();
    },
  }) as NodeJS.WriteStream;
  const streams = { stdin: process.stdin, stdout, stderr: stdout };
  const watch = watching(new Output({ streams, json: false, noColor: true }));
  const run = { id: "run_1", plan: "shop", status: "running", phase: "work", ports: [] };
  watch.begin(run as unknown as Parameters<typeof watch.begin>[0]);
  text = "";
  const event = { id: "1", at: 0, type, data: { port: "api", try: 1, ...data } };
  watch.event(event as unknown as PlatformEvent);
  return text.trim();
}

test("a watch says how a worker ended and what it changed", () => {
  expect(said({ status: "ready", changed: 1 })).toContain(
    "orchestrator ready, 1 file changed, 7 tokens",
  );
});

test("a watch says nothing of what an event does not tell", () => {
  expect(said({})).toMatch(/try 1: orchestrator ended, 7 tokens$/);
});

test("a watch counts no tests and no tokens where there are none", () => {
  expect(said({ status: "ready", changed: 2, tokens: 0 })).toMatch(/2 files changed$/);
  const feedback = { success: true, passed: 0, total: 0 };
  expect(saidOf("worker.feedback", feedback)).toMatch(/try 1: passed$/);
  expect(saidOf("worker.feedback", { ...feedback, passed: 2, total: 2 })).toMatch(/2 of 2 tests$/);
});
