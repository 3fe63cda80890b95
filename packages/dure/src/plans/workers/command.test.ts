import { readFile, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { systemClock } from "../../kernel/clock.ts";
import { CommandWorker, ProgressLines } from "./command.ts";
import { aPlace, isAlive, workOn } from "./test-worker.ts";

const worker = (script: string, prompt: "stdin" | "file" = "stdin") =>
  new CommandWorker({
    command: ["/bin/sh", "-c", script, "sh", "{prompt_file}"],
    prompt,
    clock: systemClock,
  });

test("a program gets its prompt, its names and its folders, and its last words are the summary", async () => {
  await using place = await aPlace();
  const script = `
    echo "::dure progress 0.5 half way"
    { cat; echo; cat "$1"; echo; cat "$DURE_PROMPT_FILE"; } > prompts.txt
    echo "$DURE_WORKER $DURE_PORT_ID $DURE_MEMBER $DURE_TRY $DURE_LISTEN $TMPDIR $HOME $SECRET"
    echo done`;

  const { events, result } = await workOn(worker(script), {
    ...place.assignment,
    env: { ...place.assignment.env, DURE_LISTEN: "4100-4109" },
  });

  expect(result).toEqual({
    calls: 1,
    status: "ready",
    summary:
      `run1.api.1.1.implementer api implementer 1 4100-4109 ${place.scratch} ${place.scratch}\ndone`.replace(
        "\ndone",
        " \ndone",
      ),
    claimedFiles: [],
    tokens: { input: 0, cached: 0, output: 0 },
  });
  expect(await readFile(join(place.tree, "prompts.txt"), "utf8")).toBe(
    "Mend the login.\nMend the login.\nMend the login.",
  );
  expect(events).toContainEqual({
    type: "progress",
    progress: 0.5,
    currentTask: "half way",
    tokensUsed: 0,
    tokens: { input: 0, cached: 0, output: 0 },
    callsMade: expect.any(Number) as number,
  });
});

test("with its prompt in a file its standard input is empty", async () => {
  await using place = await aPlace();

  const { result } = await workOn(worker('echo "in: $(cat)"; cat "$1"', "file"), place.assignment);

  expect(result.summary).toBe("in: \nMend the login.");
});

test("what an earlier try left in the place of the prompt is not written through", async () => {
  await using place = await aPlace({ "README.md": "theirs" });
  await symlink(join(place.tree, "README.md"), join(place.scratch, "dure-prompt.md"));

  const { result } = await workOn(worker("true"), place.assignment);

  expect(result.status).toBe("ready");
  expect(await readFile(join(place.tree, "README.md"), "utf8")).toBe("theirs");
});

test.each([
  ["echo broken >&2; exit 4", "WORKER_DIED", /exit code 4.*broken/],
  ["no-such-program-here", "WORKER_NOT_STARTED", /127/],
  [
    "while :; do echo flood flood flood flood flood flood; done",
    "WORKER_FLOODED",
    /more than it may/,
  ],
  ["sleep 60", "WORKER_TIMEOUT", /in its time/],
])("%s is a failed result", async (script, code, words) => {
  await using place = await aPlace();
  const limits = {
    ...place.assignment.limits,
    outputBytes: 100_000,
    timeMs: code === "WORKER_TIMEOUT" ? 300 : 20_000,
  };

  const { result } = await workOn(worker(script), { ...place.assignment, limits });

  expect(result).toMatchObject({
    status: "failed",
    error: { code, message: expect.stringMatching(words) as string },
  });
});

test.each([
  ["echo 'Invalid API key · Please run /login'", "WORKER_LOGIN"],
  ["echo 'API Error: 429 rate_limit_error, retry-after: 60' >&2; exit 1", "WORKER_RATE_LIMITED"],
])("%s is no work, whatever its exit code", async (script, code) => {
  await using place = await aPlace();

  const { result } = await workOn(worker(script), place.assignment);

  expect(result).toMatchObject({ status: "failed", error: { code } });
  if (code === "WORKER_RATE_LIMITED") {
    expect(result.error!.until).toBeGreaterThan(systemClock.now());
  }
});

test("what it writes to its standard error is no summary, and a held write is recorded", async () => {
  await using place = await aPlace();
  const script =
    "cat >&2; echo >&2; echo \"touch: cannot touch 'lib/x.ts': Read-only file system\" >&2; echo Mended.";

  const { result, events } = await workOn(worker(script), place.assignment);

  expect(result).toMatchObject({ status: "ready", summary: "Mended." });
  expect(events.filter(({ type }) => type === "violation")).toEqual([
    {
      type: "violation",
      path: "lib/x.ts",
      wanted: "write",
      because: "not-owned",
      detail: "the sandbox refused it",
    },
  ]);
});

test("a program that is silent for long is alive as long as it is there", async () => {
  await using place = await aPlace();
  const beats: (() => void)[] = [];
  const clock = {
    ...systemClock,
    every: (_ms: number, beat: () => void) => (beats.push(beat), () => {}),
  };
  const silent = new CommandWorker({
    command: ["/bin/sh", "-c", `while [ ! -e '${place.scratch}/go' ]; do sleep 0.05; done`],
    prompt: "stdin",
    clock,
  });
  let told = 0;

  for await (const event of silent.run(place.assignment, {
    signal: new AbortController().signal,
  })) {
    if (event.type !== "progress" || place.started.length === 0) continue;
    if (++told === 4) await writeFile(join(place.scratch, "go"), "");
    else beats[0]!();
  }

  expect(told).toBeGreaterThanOrEqual(4);
});

test("an abort throws its reason, and the program is gone", async () => {
  await using place = await aPlace();
  const controller = new AbortController();

  const work = workOn(
    worker("trap '' TERM; sleep 60"),
    {
      ...place.assignment,
      onStart: (identity) => (
        place.started.push(identity),
        controller.abort(new Error("enough")),
        Promise.resolve()
      ),
    },
    controller.signal,
  );

  await expect(work).rejects.toThrow("enough");
  expect(isAlive(place.started[0]!.pid)).toBe(false);
});

test("lines of progress are found in pieces, and nothing else is one", () => {
  const told: object[] = [];
  const lines = new ProgressLines((now) => told.push(now));

  for (const piece of [
    "::dure prog",
    "ress 0.25\n::dure progress 2 too much\nsee ::dure progress 0.5\n",
    "::dure progress 1 all\r",
    "\n",
  ]) {
    lines.push(piece);
  }

  expect(told).toEqual([
    { progress: 0.25, currentTask: "working" },
    { progress: 1, currentTask: "all" },
  ]);
});

/** A program that prints what the real agent printed. */
async function printing(place: { readonly tree: string }, lines: readonly object[]) {
  await writeFile(
    join(place.tree, "said.jsonl"),
    lines.map((one) => JSON.stringify(one)).join("\n"),
  );
  return new CommandWorker({
    command: ["/bin/cat", join(place.tree, "said.jsonl")],
    prompt: "stdin",
    prints: "claude",
    clock: systemClock,
  });
}

const usage = { input_tokens: 900, cache_read_input_tokens: 100, output_tokens: 50 };
const toolUse = (id: string, name: string) => ({
  type: "assistant",
  message: { id, usage, content: [{ type: "tool_use", name, input: { command: "make" } }] },
});
const words = (id: string, text: string) => ({
  type: "assistant",
  message: { id, usage, content: [{ type: "text", text }] },
});

test("an agent that prints its turn has its words as summary, tools as entries, its tokens", async () => {
  await using place = await aPlace();
  const result = { type: "tool_result", content: "made it\n", is_error: false };
  const agent = await printing(place, [
    { type: "system", subtype: "init" },
    words("m1", "I begin."),
    // The same message, told in two lines.
    toolUse("m1", "Bash"),
    { type: "user", message: { content: [result] } },
    words("m2", "Done."),
    { type: "result", usage, total_cost_usd: 0.015 },
  ]);

  const { events, result: end } = await workOn(agent, place.assignment);

  expect(end).toEqual({
    calls: 3,
    status: "ready",
    summary: "Done.",
    claimedFiles: [],
    // The sum that it tells is less than its calls.
    tokens: { input: 2_000, cached: 0, output: 100 },
    cost: { amount: 0.015, currency: "USD" },
  });
  const entries = events.flatMap((event) => (event.type === "entry" ? [event.entry] : []));
  expect(entries.map(({ kind, text }) => [kind, text])).toEqual([
    ["message", "I begin."],
    ["tool", '{"command":"make"}'],
    ["result", "made it\n"],
    ["message", "Done."],
  ]);
});

test("an agent that prints its turn is stopped by the first call beyond its tokens", async () => {
  await using place = await aPlace();
  const said = [words("m1", "One."), words("m2", "Two."), words("m3", "Three.")];
  const lines = said.map((one) => `echo '${JSON.stringify(one)}'`).join("; ");
  const agent = new CommandWorker({
    command: ["/bin/sh", "-c", `${lines}; sleep 60`],
    prompt: "stdin",
    prints: "claude",
    clock: systemClock,
  });
  const limits = { ...place.assignment.limits, tokens: 1_500 };

  const { result } = await workOn(agent, { ...place.assignment, limits });

  expect(result.error?.code).toBe("WORKER_TOKENS");
});

test("a write that was held is found in what a tool of a printed turn answered", async () => {
  await using place = await aPlace();
  const content = [{ type: "text", text: "sh: lib/other.txt: Read-only file system" }];
  const result = { type: "tool_result", content, is_error: true };
  const agent = await printing(place, [
    toolUse("m1", "Bash"),
    { type: "user", message: { content: [result] } },
    words("m2", "It was refused."),
  ]);

  const { events } = await workOn(agent, place.assignment);

  const violation = { type: "violation", path: "lib/other.txt", wanted: "write" };
  expect(events).toContainEqual(expect.objectContaining(violation));
});

test("an agent that printed a turn without a call of its model is not ready", async () => {
  await using place = await aPlace();
  const agent = await printing(place, [{ type: "system", subtype: "init" }]);

  const { result } = await workOn(agent, place.assignment);

  expect(result.error?.code).toBe("WORKER_IDLE");
});

test("an agent that prints that it is not signed in is a login, not an answer", async () => {
  await using place = await aPlace();
  const text = "Invalid API key · Please run /login";
  const agent = await printing(place, [
    { type: "assistant", message: { content: [{ type: "text", text }] } },
    { type: "result", is_error: true, result: text },
  ]);

  const { result } = await workOn(agent, place.assignment);

  expect(result.error?.code).toBe("WORKER_LOGIN");
});
