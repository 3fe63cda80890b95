import { Writable } from "node:stream";
import { expect, test } from "vitest";
import { Output } from "./output.ts";
import { showPort } from "./plan-status.ts";

/** What `dure plan status RUN PORT` says of a port with one step. */
async function said(feedback: object): Promise<string> {
  let text = "";
  const stdout = new Writable({
    write(chunk, _encoding, done) {
      text += String(chunk);
      done();
    },
  }) as NodeJS.WriteStream;
  const streams = { stdin: process.stdin, stdout, stderr: stdout };
  const output = new Output({ streams, json: false, noColor: true });
  const step = { try: 1, kind: "accept", member: null, worker: null, tokensIn: 0, tokensOut: 0 };
  const steps = [{ ...step, startedAt: 0, finishedAt: 9, output: { feedback } }];
  const port = { id: "api", status: "failed", because: null, violations: [], messages: [], steps };
  const client = { plans: { port: async () => port } } as unknown as Parameters<
    typeof showPort
  >[2]["client"];
  await showPort("run_1", "api", { client, output });

  return text;
}

test("a port says why its acceptance failed where no test is named", async () => {
  const suggestions = ["All 2 tests passed, but the command failed.", "The output ends with:\nx"];

  const failed = await said({ success: false, failedTests: [], suggestions });
  const named = await said({ success: false, failedTests: [{ name: "adds" }], suggestions });
  const passed = await said({ success: true, failedTests: [], suggestions });

  expect(failed).toContain("All 2 tests passed, but the command failed.");
  expect(failed).not.toContain("The output ends with");
  expect(named).toContain("fails: adds");
  expect(named + passed).not.toContain("All 2 tests passed");
});
