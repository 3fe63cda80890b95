// @module-tag slow
import { access, readFile, symlink } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import { FULL, sampled } from "../../kernel/test-tiers.ts";
import { systemClock } from "../../kernel/clock.ts";
import { boundMs } from "../../kernel/test-bounds.ts";
import { makeScope } from "../scope.ts";
import { askedTool, decidePermission, optionFor, type PermissionScope } from "./acp-permission.ts";
import { AcpWorker, type AcpOptions } from "./acp.ts";
import { ScopedFiles } from "./scoped-files.ts";
import { aPlace, isAlive, workOn, type TestPlace } from "./test-worker.ts";

const AGENT = fileURLToPath(new URL("../../../test/plans/acp-agent/agent.ts", import.meta.url));

const agent = (mode?: string) =>
  new AcpWorker({
    command: [process.execPath, AGENT, ...(mode === undefined ? [] : [mode])],
    clock: systemClock,
  });
const order = (value: object): string => `Mend the login.\nAGENT ${JSON.stringify(value)}\nReport.`;
const violations = ({ events }: Awaited<ReturnType<typeof workOn>>) =>
  events
    .filter((event) => event.type === "violation")
    .map(({ path, wanted, because }) => [path, wanted, because]);
const isThere = (place: TestPlace, path: string) =>
  access(join(place.tree, path)).then(
    () => true,
    () => false,
  );

test("a good agent edits what it owns by its client, directly and after asking; its last words sum it up", async () => {
  await using place = await aPlace({ "src/a.ts": "old" });
  const edits = [
    { path: "src/a.ts", content: "by client" },
    { path: "src/b/b.ts", content: "by self", by: "self" },
    { path: "src/c.ts", content: "by permission", by: "asked" },
  ];

  const done = await workOn(agent(), {
    ...place.assignment,
    prompt: order({ edits, say: "All three are done." }),
  });

  expect(done.result).toEqual({
    status: "ready",
    summary: "All three are done.",
    claimedFiles: ["src/a.ts", "src/b/b.ts", "src/c.ts"],
    // It tells none.
    tokens: {
      input: expect.any(Number) as number,
      output: expect.any(Number) as number,
      isEstimate: true,
    },
    calls: expect.any(Number) as number,
  });
  expect(
    await Promise.all(edits.map(({ path }) => readFile(join(place.tree, path), "utf8"))),
  ).toEqual(["by client", "by self", "by permission"]);
  expect(violations(done)).toEqual([]);
  expect(place.started).toHaveLength(1);
  expect(isAlive(place.started[0]!.pid)).toBe(false);
});

test("what it asks for outside of its scope is refused and recorded, and the second time ends it", async () => {
  await using place = await aPlace({ "README.md": "theirs", "src/ports/api.ts": "contract" });
  await symlink("../README.md", join(place.tree, "src-link"));
  const edits = [
    { path: "README.md", content: "mine" },
    { path: "src/a.ts", content: "kept" },
    { path: "src/ports/api.ts", content: "mine", by: "asked" },
    { path: "src/b.ts", content: "never" },
  ];

  const done = await workOn(agent(), { ...place.assignment, prompt: order({ edits }) });

  expect(violations(done)).toEqual([
    ["README.md", "write", "not-owned"],
    ["src/ports/api.ts", "write", "contract"],
  ]);
  expect(done.result).toMatchObject({
    status: "failed",
    error: { code: "WORKER_STOPPED_VIOLATIONS" },
  });
  expect([
    await readFile(join(place.tree, "README.md"), "utf8"),
    await readFile(join(place.tree, "src/ports/api.ts"), "utf8"),
  ]).toEqual(["theirs", "contract"]);
  expect([await isThere(place, "src/a.ts"), await isThere(place, "src/b.ts")]).toEqual([
    true,
    false,
  ]);
});

test("it reads what it may, in parts too; its client does not overwrite what has changed since", async () => {
  await using place = await aPlace({ "src/a.ts": "one\ntwo\nthree", "test/t.ts": "theirs" });
  const reads = [{ path: "src/a.ts", line: 2, limit: 1 }, { path: "test/t.ts" }];
  const edits = [
    { path: "src/a.ts", content: "by self", by: "self" },
    { path: "src/a.ts", content: "by client" },
  ];

  const done = await workOn(agent(), {
    ...place.assignment,
    prompt: order({ reads, edits, say: "End." }),
  });

  const said = done.events
    .flatMap((event) => (event.type === "said" ? [event.text] : []))
    .join("\n");
  expect(said).toContain("src/a.ts holds: two.");
  expect(said).not.toContain("theirs");
  expect(violations(done)).toEqual([["test/t.ts", "read", "not-readable"]]);
  expect(await readFile(join(place.tree, "src/a.ts"), "utf8")).toBe("by self");
});

test.each([
  ["/etc/dure-test", "absolute"],
  ["src/../README.md", "not-owned"],
  [".git/hooks/pre-commit", "git-internals"],
  ["out/file", "absolute"],
])("a write to %s through its client does not happen", async (path, because) => {
  await using place = await aPlace(
    { "src/a.ts": "a", "README.md": "theirs" },
    { scopeInput: { writes: ["src/**", "out/**"], reads: [], contracts: [] } },
  );
  await symlink("/tmp", join(place.tree, "out"));

  const done = await workOn(agent(), {
    ...place.assignment,
    prompt: order({ edits: [{ path, content: "mine" }] }),
  });

  expect(violations(done).map(([, , reason]) => reason)).toEqual([because]);
  expect(done.result.status).toBe("ready");
  expect(await readFile(join(place.tree, "README.md"), "utf8")).toBe("theirs");
});

const FAILURES = sampled(
  [
    ["dies", "WORKER_DIED", /exit code 9.*out of memory/],
    ["dies-at-start", "WORKER_DIED", /exit code 3.*cannot find my key/],
    ["floods", "WORKER_FLOODED", /./],
    ["floods-errors", "WORKER_FLOODED", /./],
    ["nonsense", "WORKER_PROTOCOL", /no message of the protocol/],
    ["hangs", "WORKER_TIMEOUT", /./],
    ["silent-at-start", "WORKER_TIMEOUT", /./],
    ["refuses", "WORKER_REFUSED", /refusal/],
    ["asks-for-ever", "WORKER_ASKED_TOO_MUCH", /more than 500 times/],
    ["answers-with-error", "WORKER_PROTOCOL", /the disk of the agent is full/],
    ["wants-login", "WORKER_LOGIN", /[Aa]uthentication required/],
    ["is-limited", "WORKER_RATE_LIMITED", /429 Too Many Requests/],
    ["leaves-limited", "WORKER_RATE_LIMITED", /hit your usage limit/],
    ["does-nothing", "WORKER_IDLE", /without a call of its model/],
  ] as const,
  6,
);
test.each(FAILURES.rows)(
  "an agent that %s is a failed result, and gone",
  FAILURES.options,
  async (mode, code, words) => {
    await using place = await aPlace();
    const timeMs = code === "WORKER_TIMEOUT" ? 2_000 : 20_000;

    const { result } = await workOn(agent(mode), {
      ...place.assignment,
      limits: { ...place.assignment.limits, timeMs },
    });

    expect(result).toMatchObject({
      status: "failed",
      error: { code, message: expect.stringMatching(words) as string },
    });
    expect(isAlive(place.started[0]!.pid)).toBe(false);
  },
);

test(
  "its session is set to the mode that the plan names, and a mode that is none is told",
  FULL,
  async () => {
    await using place = await aPlace();
    const command = [process.execPath, AGENT];
    const inMode = (mode: string | undefined) =>
      workOn(new AcpWorker({ command, mode, clock: systemClock }), {
        ...place.assignment,
        prompt: order({ say: "In $MODE." }),
      });

    expect((await inMode(undefined)).result.summary).toContain("In auto.");
    expect((await inMode("default")).result.summary).toContain("In default.");
    expect((await inMode("yolo")).result.error).toMatchObject({
      code: "WORKER_PROTOCOL",
      hint: "Name one of these as mode in the plan: auto, default.",
    });
  },
);

test("an agent that is served no files works with its own hands alone", async () => {
  await using place = await aPlace({ "src/a.ts": "old" });
  const edits = [
    { path: "src/a.ts", content: "by client" },
    { path: "src/b.ts", content: "by self", by: "self" },
  ];

  const done = await workOn(
    new AcpWorker({ command: [process.execPath, AGENT], clientFiles: false, clock: systemClock }),
    { ...place.assignment, prompt: order({ edits }) },
  );

  expect(done.result.claimedFiles).toEqual(["src/b.ts"]);
  expect(await readFile(join(place.tree, "src/a.ts"), "utf8")).toBe("old");
});

test("its tokens are what its answer says, else what each of its calls had in its window", async () => {
  await using place = await aPlace();
  const windows = Array.from({ length: 30 }, () => 1_280);
  const usage = { inputTokens: 900, outputTokens: 70, cachedReadTokens: 400, totalTokens: 1_370 };
  const used = async (more: object) =>
    (await workOn(agent(), { ...place.assignment, prompt: order({ windows, ...more }) })).result
      .tokens;

  expect(await used({})).toEqual({ input: 30 * 1_280, cached: 0, output: 0 });
  expect(await used({ usage })).toEqual({ input: 1_300, cached: 400, output: 70 });
});

test("calls of an agent that tells no tokens are reckoned by what was said, and bound by it", async () => {
  await using place = await aPlace({ "src/a.ts": "old" });
  const edits = ["b", "c", "d"].map((name) => ({ path: `src/${name}.ts`, content: name }));
  const prompt = `${"word ".repeat(800)}\n${order({ edits })}`;

  const done = await workOn(agent(), { ...place.assignment, prompt });
  const limits = { ...place.assignment.limits, tokens: 2_500 };
  const bound = await workOn(agent(), { ...place.assignment, prompt, limits });

  // Its words, then each edit and its last words after a tool: each call reads the prompt again.
  expect(done.result.tokens).toMatchObject({ isEstimate: true });
  expect(done.result.tokens.input).toBeGreaterThan(4 * 1_000);
  expect(done.result.tokens.input).toBeLessThan(5 * 1_300);
  expect(done.result.tokens.output).toBeGreaterThan(0);
  expect(bound.result.error?.code).toBe("WORKER_TOKENS");
});

test("an edit that failed is no claim, and a write that the sandbox held is recorded", async () => {
  await using place = await aPlace({ "README.md": "theirs" });
  const edits = [{ path: "README.md", content: "mine", by: "asked" }];
  const prints = "sh: 1: cannot create lib/x.ts: Read-only file system\nsh: lib/y.ts: EROFS";

  const done = await workOn(agent(), { ...place.assignment, prompt: order({ edits, prints }) });

  expect(done.result).toMatchObject({ status: "ready", claimedFiles: [] });
  expect(violations(done)).toEqual([
    ["lib/x.ts", "write", "not-owned"],
    ["lib/y.ts", "write", "not-owned"],
    ["README.md", "write", "not-owned"],
  ]);
});

test("reads that are refused are recorded, and end nothing", async () => {
  await using place = await aPlace({ "test/t.ts": "theirs" });
  const reads = ["test/t.ts", "../x", "/etc/passwd", "secret/s"].map((path) => ({ path }));

  const done = await workOn(agent(), {
    ...place.assignment,
    prompt: order({ reads, say: "End." }),
  });

  expect(done.result.status).toBe("ready");
  expect(violations(done).map(([, wanted]) => wanted)).toEqual(["read", "read", "read", "read"]);
});

test("a command that is not there is told as such", async () => {
  await using place = await aPlace();

  const { result } = await workOn(
    new AcpWorker({ command: ["no-such-agent-here"], clock: systemClock }),
    place.assignment,
  );

  expect(result.error?.code).toBe("WORKER_NOT_STARTED");
});

const ABORTED = sampled(["hangs", "ignores-cancel"], 1);
test.each(ABORTED.rows)("an abort ends one that %s within 2 s", ABORTED.options, async (mode) => {
  await using place = await aPlace();
  const controller = new AbortController();
  const reason = new Error("cancelled by the operator");

  const work = (async () => {
    for await (const event of agent(mode).run(place.assignment, { signal: controller.signal })) {
      if (event.type === "progress" && event.currentTask === "working") break;
    }
  })();
  await work; // it is in its prompt; leaving the loop would end it too, so the same again with a signal
  const second = (async () => {
    for await (const event of agent(mode).run(place.assignment, { signal: controller.signal })) {
      if (event.type === "progress" && event.currentTask === "working") controller.abort(reason);
    }
  })();
  const startedAt = systemClock.monotonic();

  await expect(second).rejects.toBe(reason);
  expect(systemClock.monotonic() - startedAt).toBeLessThan(boundMs(2_000));
  expect(place.started.map(({ pid }) => isAlive(pid))).toEqual([false, false]);
});

test("commands that it asks for run in the sandbox, and end with it", async () => {
  await using place = await aPlace();

  const done = await workOn(agent(), {
    ...place.assignment,
    prompt: order({ run: "echo $DURE_PORT_ID in $(pwd)", say: "." }),
  });

  expect(done.result.summary).toContain(`The command said: api in ${place.tree} (0)`);
  expect(place.started).toHaveLength(2);
});

describe("a permission", () => {
  const files = new ScopedFiles({
    tree: "/tree",
    scope: makeScope({ writes: ["src/**"], reads: ["docs/**"], contracts: ["src/ports/api.ts"] }),
  });
  const scope = (isConfined = true): PermissionScope => ({
    relativePath: (path) => files.relativePath(path),
    decideRead: (path) => files.decideRead(path),
    decideWrite: (path) => files.decideWrite(path),
    isScratch: (path) => path.startsWith("/scratch/"),
    isConfined,
    servers: ["tickets"],
  });
  const decide = (toolCall: object, isConfined?: boolean) => {
    const decision = decidePermission(
      askedTool({ toolCallId: "1", ...toolCall }),
      scope(isConfined),
    );
    return `${decision.allowed ? "yes" : "no"}: ${decision.because === "violation" ? decision.reason : decision.because}`;
  };

  test.each<[string, object, string]>([
    ["to edit its own", { kind: "edit", rawInput: { file_path: "/tree/src/a.ts" } }, "yes: owned"],
    [
      "to edit by a relative path",
      { kind: "edit", rawInput: { path: "./src/a.ts" } },
      "yes: owned",
    ],
    [
      "to edit a contract",
      { kind: "edit", locations: [{ path: "/tree/src/ports/api.ts" }] },
      "no: contract",
    ],
    [
      "to edit two, of which one is not its own",
      {
        kind: "edit",
        locations: [{ path: "/tree/src/a.ts" }],
        content: [{ type: "diff", path: "/tree/b.ts", newText: "" }],
      },
      "no: not-owned",
    ],
    [
      "to read what it may",
      { kind: "read", rawInput: { path: "/tree/docs/a.md" } },
      "yes: readable",
    ],
    [
      "to read what it may not",
      { kind: "read", rawInput: { path: "/tree/secret" } },
      "no: not-readable",
    ],
    [
      "to read, with a diff",
      { kind: "read", content: [{ type: "diff", path: "/tree/docs/a.md", newText: "" }] },
      "no: not-owned",
    ],
    [
      "to move its own elsewhere",
      { kind: "move", rawInput: { old_path: "/tree/src/a.ts", new_path: "/tree/lib/a.ts" } },
      "no: not-owned",
    ],
    ["to write outside", { kind: "edit", rawInput: { path: "/etc/passwd" } }, "no: absolute"],
    [
      "to climb out",
      { kind: "edit", rawInput: { path: "/tree/src/../../etc/passwd" } },
      "no: dot-segment",
    ],
    [
      "to write its scratch folder",
      { kind: "edit", rawInput: { path: "/scratch/x" } },
      "yes: scratch",
    ],
    [
      "for something unknown with its own path",
      { rawInput: { path: "/tree/src/a.ts" } },
      "yes: owned",
    ],
    ["for something unknown", { rawInput: { anything: 1 } }, "no: names-no-path"],
    [
      "by a tool of no kind to look outside",
      { kind: "other", rawInput: { path: "/etc" } },
      "no: absolute",
    ],
    [
      "for a tool of the plan's MCP server",
      { kind: "other", title: "mcp__tickets__find", rawInput: { path: "/tickets/1" } },
      "yes: confined",
    ],
    ["for one as another agent names it", { title: "find (tickets MCP Server)" }, "yes: confined"],
    ["for a tool of another server", { title: "mcp__wiki__find" }, "no: names-no-path"],
    [
      "to edit under such a name",
      { kind: "edit", title: "mcp__tickets__x", rawInput: { path: "/tree/b.ts" } },
      "no: not-owned",
    ],
    ["to edit without a path", { kind: "edit" }, "no: names-no-path"],
    ["to run a command", { kind: "execute", rawInput: { command: "npm test" } }, "yes: confined"],
    ["to change its mode", { kind: "switch_mode" }, "no: not-allowed-kind"],
  ])("%s", (_name, toolCall, decision) => {
    expect(decide(toolCall)).toBe(decision);
  });

  test("to run a command is refused where no sandbox holds it", () => {
    expect(decide({ kind: "execute" }, false)).toBe("no: not-confined");
  });

  test("is given once, never for ever, and refused in any way there is", () => {
    const always = { optionId: "a", kind: "allow_always" as const, name: "" };
    const once = { optionId: "o", kind: "allow_once" as const, name: "" };
    const never = { optionId: "n", kind: "reject_always" as const, name: "" };

    expect(optionFor([always, once, never], true)).toBe("o");
    expect(optionFor([always, never], true)).toBe("n");
    expect(optionFor([always], true)).toBeUndefined();
    expect(optionFor([always, once, never], false)).toBe("n");
  });
});

test(
  "a conversation of the last try is gone on with, and what it repeats is no news",
  FULL,
  async () => {
    await using place = await aPlace({ "src/a.ts": "old" });
    const prompt = order({ say: "Done again." });
    const sessionIn = ({ events }: Awaited<ReturnType<typeof workOn>>) =>
      events.filter((event) => event.type === "session");

    const first = await workOn(agent(), { ...place.assignment, prompt });
    const next = await workOn(agent(), { ...place.assignment, prompt, session: "session_1" });
    const lost = await workOn(agent(), { ...place.assignment, prompt, session: "session_gone" });

    expect(sessionIn(first)).toEqual([{ type: "session", id: "session_1", isResumed: false }]);
    expect(sessionIn(next)).toEqual([{ type: "session", id: "session_1", isResumed: true }]);
    expect(sessionIn(lost)).toEqual([{ type: "session", id: "session_1", isResumed: false }]);
    for (const { events, result } of [first, next, lost]) {
      expect(result).toMatchObject({
        status: "ready",
        summary: expect.stringContaining("Done again."),
      });
      expect(JSON.stringify(events)).not.toContain("Words of the last try.");
    }
  },
);

test("what is said to an agent at work it reads in a turn of its own, before its try is over", async () => {
  await using place = await aPlace();
  const read: string[] = [];
  const text = 'AGENT {"say": "I read it."}';
  const letter = { from: "operator", text, read: async () => void read.push(text) };
  const letters = async () => (read.length === 0 ? [letter] : []);
  const channel = { ...place.assignment.channel, letters };

  const { events, result } = await workOn(agent(), {
    ...place.assignment,
    channel,
    prompt: order({ say: "Done.", usage: { inputTokens: 5, outputTokens: 1 } }),
  });

  expect(read).toHaveLength(1);
  expect(result.summary).toContain("I read it.");
  // One of the two turns tells them.
  expect(result.tokens).toMatchObject({ isEstimate: true });
  const heard = events.filter((event) => event.type === "entry" && event.entry.kind === "heard");
  expect(heard).toMatchObject([{ entry: { title: "operator" } }]);
});

test(
  "a conversation that goes on is told what is new alone, and another one all of it",
  FULL,
  async () => {
    await using place = await aPlace();
    const told = { prompt: order({ say: "All." }), promptResumed: order({ say: "The news." }) };
    const last = async (session?: string) =>
      (await workOn(agent(), { ...place.assignment, ...told, session })).result.summary;

    expect(await last("session_1")).toContain("The news.");
    expect(await last("session_gone")).toContain("All.");
    expect(await last()).toContain("All.");
  },
);

test("what its conversation has cost is told with its end", async () => {
  await using place = await aPlace();
  const cost = { amount: 0.0421, currency: "USD" };

  const { result } = await workOn(agent(), { ...place.assignment, prompt: order({ cost }) });

  expect(result.cost).toEqual(cost);
});

describe("MCP servers", () => {
  const tickets = {
    name: "tickets",
    command: ["node", "tools/tickets.mjs"],
    env: { TOKEN: "of ${TICKETS}" },
  };
  const wiki = (transport: "http" | "sse") => ({
    name: "wiki",
    url: "https://wiki.example.org/mcp",
    transport,
    headers: { Authorization: "Bearer ${TICKETS}" },
  });
  const toldOf = async (
    mcpServers: AcpOptions["mcpServers"],
    more: { env?: Record<string, string>; session?: string; mode?: string } = {},
  ) => {
    await using place = await aPlace();
    const { env = { TICKETS: "t1" }, session, mode = "good" } = more;
    const command = [process.execPath, AGENT, mode];
    const worker = new AcpWorker({ command, clock: systemClock, mcpServers, env });
    const prompt = order({ say: "I have $SERVERS." });
    return (await workOn(worker, { ...place.assignment, prompt, session })).result;
  };

  test("an agent is told of them, with the variables that they are given, and no others", async () => {
    const told = [
      { name: "tickets", command: "node", args: ["tools/tickets.mjs"], env: [["TOKEN", "of t1"]] },
      {
        name: "wiki",
        url: "https://wiki.example.org/mcp",
        headers: [["Authorization", "Bearer t1"]],
        type: "http",
      },
    ];
    const shown = JSON.stringify(told);

    expect((await toldOf([tickets, wiki("http")])).summary).toContain(shown);
    const resumed = await toldOf([tickets, wiki("http")], { session: "session_1" });
    expect(resumed.summary).toContain(shown);
  });

  test(
    "one that the agent cannot reach, or whose variable is missing, ends the try at once",
    FULL,
    async () => {
      expect((await toldOf([wiki("sse")])).error).toMatchObject({
        code: "WORKER_PROTOCOL",
        message: "The agent reaches no MCP servers over sse: wiki.",
      });
      expect((await toldOf([wiki("http")], { mode: "local-servers" })).error).toMatchObject({
        message: "The agent reaches no MCP servers over http: wiki.",
      });
      expect((await toldOf([tickets], { env: {} })).error).toMatchObject({
        message: expect.stringContaining("The environment lacks TICKETS") as string,
      });
    },
  );
});
