import {
  agent,
  methods,
  ndJsonStream,
  PROTOCOL_VERSION,
  RequestError,
  type AgentContext,
  type McpServer,
} from "@agentclientprotocol/sdk";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { Readable, Writable } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";

/*
 * A coding agent without a model, on the official SDK of the Agent Client Protocol. A line in its
 * prompt says what it does:
 *
 *     AGENT {"mode": "good", "edits": [{"path": "src/a.ts", "content": "…", "by": "self"}]}
 *
 * or, try by try, AGENT [{…}, {…}]. It also misbehaves, by the mode that stands there or in its
 * first argument.
 */

export interface AgentOrder {
  readonly mode?: AgentMode;
  readonly edits?: readonly AgentEdit[];
  /** Files that it reads through its client before it edits; it says what they hold. */
  readonly reads?: readonly {
    readonly path: string;
    readonly line?: number;
    readonly limit?: number;
  }[];
  readonly say?: string;
  /** What the answer to its prompt says it used. */
  readonly usage?: Readonly<Record<string, number>>;
  /** What stands in its window after each of its calls, one after the other. */
  readonly windows?: readonly number[];
  /** What a tool of its own prints. */
  readonly prints?: string;
  /** A command that it has run in a terminal of the client, and whose output it says. */
  readonly run?: string;
  /** What its conversation has cost so far. */
  readonly cost?: { readonly amount: number; readonly currency: string };
  /** It ends its turn when this file is there, in its tree. */
  readonly until?: string;
  /** The member whose order this is. Default: both. */
  readonly member?: string;
}

export interface AgentEdit {
  readonly path: string;
  readonly content: string;
  /**
   * `client`: by fs/write_text_file; `self`: with its own hands; `asked`: with its own hands after
   * asking for permission. Default `client`.
   */
  readonly by?: "client" | "self" | "asked";
}

const MODES = [
  "good",
  "hangs",
  "hangs-once",
  "dies",
  "dies-at-start",
  "floods",
  "floods-errors",
  "nonsense",
  "asks-for-ever",
  "ignores-cancel",
  "refuses",
  "silent-at-start",
  "answers-with-error",
  "wants-login",
  "is-limited",
  "leaves-limited",
  "does-nothing",
  "local-servers",
] as const;
export type AgentMode = (typeof MODES)[number];

const argument = process.argv[2] as AgentMode | undefined;
if (argument === "dies-at-start") {
  console.error("cannot find my key");
  process.exit(3);
}
if (argument === "leaves-limited") {
  console.error("You've hit your usage limit. Try again in 2 hours.");
  process.exit(1);
}
if (argument === "nonsense") {
  for (let line = 0; line < 100; line++) console.log(`Hello, I am no agent (${line}).`);
}

let cwd = "";
/** What it was told in this conversation; kept in its home. */
let past: readonly string[] = [];
/** MCP servers that it was told to start. */
let servers = "";
/** What it starts in asks its client for nothing. */
let sessionMode = "auto";
const cancelled = Promise.withResolvers<void>();
const { promise: never } = Promise.withResolvers<never>();
// A promise that never settles keeps no process alive.
setInterval(() => {}, 60_000);
if (argument === "ignores-cancel") process.on("SIGTERM", () => {});

agent({ name: "test-agent" })
  .onRequest(methods.agent.initialize, async () => {
    if (argument === "silent-at-start") await never;
    return {
      protocolVersion: PROTOCOL_VERSION,
      agentCapabilities: {
        loadSession: true,
        mcpCapabilities: { http: argument !== "local-servers", sse: false },
      },
      agentInfo: { name: "test-agent", version: "1" },
    };
  })
  .onRequest(methods.agent.session.new, ({ params }) => {
    cwd = params.cwd;
    servers = shownServers(params.mcpServers);
    if (argument === "answers-with-error") throw new Error("the disk of the agent is full");
    if (argument === "wants-login") throw RequestError.authRequired();
    const availableModes = ["auto", "default"].map((id) => ({ id, name: id }));
    return { sessionId: "session_1", modes: { currentModeId: sessionMode, availableModes } };
  })
  .onRequest(methods.agent.session.load, async ({ params, client }) => {
    cwd = params.cwd;
    servers = shownServers(params.mcpServers);
    past = await pastPrompts();
    const { sessionId } = params;
    if (sessionId !== "session_1") throw RequestError.resourceNotFound(sessionId);
    const content = { type: "text", text: "Words of the last try." } as const;
    const update = { sessionUpdate: "agent_message_chunk", content } as const;
    await client.notify(methods.client.session.update, { sessionId, update });
    const availableModes = ["auto", "default"].map((id) => ({ id, name: id }));
    return { modes: { currentModeId: sessionMode, availableModes } };
  })
  .onRequest(methods.agent.session.setMode, ({ params }) => {
    sessionMode = params.modeId;
    return {};
  })
  .onRequest(methods.agent.session.prompt, async ({ params, client }) => {
    const text = params.prompt.map((part) => (part.type === "text" ? part.text : "")).join("\n");
    const order = orderIn(text);
    past = [...past, text];
    await keepPast();
    if (argument === "is-limited") throw new Error("429 Too Many Requests, retry-after: 90");
    return {
      ...(order.usage && { usage: order.usage }),
      stopReason: await work(
        { ...order, mode: argument ?? order.mode ?? "good" },
        client,
        params.sessionId,
      ),
    };
  })
  .onNotification(methods.agent.session.cancel, () => cancelled.resolve())
  .connect(
    ndJsonStream(
      Writable.toWeb(process.stdout) as WritableStream<Uint8Array>,
      Readable.toWeb(process.stdin) as ReadableStream<Uint8Array>,
    ),
  );

/** As JSON, with each variable and header as a pair. */
function shownServers(all: readonly McpServer[]): string {
  const pairs = (given: readonly { name: string; value: string }[]) =>
    given.map(({ name, value }) => [name, value]);
  const shown = all.map((server) => {
    if (!("type" in server)) return { ...server, env: pairs(server.env) };
    return { ...server, headers: "headers" in server ? pairs(server.headers) : [] };
  });
  return JSON.stringify(shown);
}

/** Empty where it has no home, or knows no such conversation. */
async function pastPrompts(): Promise<readonly string[]> {
  const home = process.env["HOME"];
  if (home === undefined) return [];
  const text = await readFile(join(home, ".test-agent.json"), "utf8").catch(() => "[]");
  return JSON.parse(text) as readonly string[];
}

async function keepPast(): Promise<void> {
  const home = process.env["HOME"];
  if (home !== undefined) await writeFile(join(home, ".test-agent.json"), JSON.stringify(past));
}

/** The words after REMEMBER in all that it was told. */
function remembered(): string {
  return past.flatMap((text) => /REMEMBER (\w+)/.exec(text)?.[1] ?? []).join(" ");
}

async function work(
  {
    mode = "good",
    reads = [],
    edits = [],
    windows = [],
    say,
    run,
    prints,
    cost,
    until,
  }: AgentOrder,
  client: AgentContext,
  sessionId: string,
): Promise<"end_turn" | "cancelled" | "refusal"> {
  if (mode === "does-nothing") return "end_turn";
  const tell = (text: string) =>
    client.notify(methods.client.session.update, {
      sessionId,
      update: { sessionUpdate: "agent_message_chunk", content: { type: "text", text } },
    });
  await tell("I am looking at it.");
  for (const used of windows) {
    await tell("A call of my model. ");
    const update = { sessionUpdate: "usage_update", used, size: 200_000 } as const;
    await client.notify(methods.client.session.update, { sessionId, update });
    await client.notify(methods.client.session.update, { sessionId, update });
  }
  if (cost !== undefined) {
    const update = { sessionUpdate: "usage_update", used: 10, size: 200_000, cost } as const;
    await client.notify(methods.client.session.update, { sessionId, update });
  }
  if (prints !== undefined) {
    const content = [{ type: "content", content: { type: "text", text: prints } }] as const;
    const call = { toolCallId: "print", title: "Bash", kind: "execute", status: "failed" } as const;
    const update = { sessionUpdate: "tool_call", ...call, content: [...content] } as const;
    await client.notify(methods.client.session.update, { sessionId, update });
  }
  for (const { path, ...part } of reads) {
    const file = client.request(methods.client.fs.readTextFile, {
      sessionId,
      path: join(cwd, path),
      ...part,
    });
    await tell(
      `${path} holds: ${await file.then(
        ({ content }) => content,
        (error: Error) => error.message,
      )}. `,
    );
  }
  for (const [index, edit] of edits.entries()) {
    await change(edit, `call_${index + 1}`, client, sessionId);
  }
  if (run !== undefined) {
    await tell(`The command said: ${await runInTerminal(run, client, sessionId)}`);
  }
  while (until !== undefined && !(await isThere(join(cwd, until)))) await sleep(50);
  switch (mode) {
    case "hangs-once": // but not when it is told the same again
      if (past.slice(0, -1).includes(past.at(-1)!)) break;
      await cancelled.promise;
      return "cancelled";
    case "hangs":
      await cancelled.promise;
      return "cancelled";
    case "ignores-cancel":
      return never;
    case "dies":
      console.error("out of memory");
      return process.exit(9);
    case "floods":
      for (;;) if (!process.stdout.write("x".repeat(1_000_000))) await sleep(1);
    case "floods-errors":
      for (;;) if (!process.stderr.write(`${"x".repeat(100_000)}\n`)) await sleep(1);
    case "nonsense":
      return never;
    case "asks-for-ever":
      for (;;) {
        await mayEdit(join(cwd, edits[0]?.path ?? "src/a.ts"), "call_again", client, sessionId);
      }
    case "refuses":
      return "refusal";
    default:
  }
  await tell(
    say
      ?.replace("$MODE", sessionMode)
      .replace("$SERVERS", servers)
      .replace("$PAST", remembered()) ?? `Done: ${edits.map(({ path }) => path).join(", ")}.`,
  );
  return "end_turn";
}

const isThere = (path: string): Promise<boolean> =>
  readFile(path).then(
    () => true,
    () => false,
  );

/** A refusal is no reason to stop: it goes on with what is left. */
async function change(
  { path, content, by = "client" }: AgentEdit,
  toolCallId: string,
  client: AgentContext,
  sessionId: string,
): Promise<void> {
  const absolute = path.startsWith("/") ? path : join(cwd, path);
  await client.notify(methods.client.session.update, {
    sessionId,
    update: {
      sessionUpdate: "tool_call",
      toolCallId,
      title: `Edit ${path}`,
      kind: "edit",
      locations: [{ path: absolute }],
    },
  });
  let status: "completed" | "failed" = "completed";
  try {
    if (by === "client") {
      await client.request(methods.client.fs.writeTextFile, { sessionId, path: absolute, content });
    } else if (by === "self" || (await mayEdit(absolute, toolCallId, client, sessionId))) {
      await mkdir(dirname(absolute), { recursive: true });
      await writeFile(absolute, content);
    } else status = "failed";
  } catch (error) {
    console.error(`${path}: ${error instanceof Error ? error.message : String(error)}`);
    status = "failed";
  }
  await client.notify(methods.client.session.update, {
    sessionId,
    update: { sessionUpdate: "tool_call_update", toolCallId, status },
  });
}

async function mayEdit(
  path: string,
  toolCallId: string,
  client: AgentContext,
  sessionId: string,
): Promise<boolean> {
  const { outcome } = await client.request(methods.client.session.requestPermission, {
    sessionId,
    toolCall: { toolCallId, kind: "edit", title: `Edit ${path}`, rawInput: { file_path: path } },
    options: [
      { optionId: "always", kind: "allow_always", name: "Always" },
      { optionId: "yes", kind: "allow_once", name: "Yes" },
      { optionId: "no", kind: "reject_once", name: "No" },
    ],
  });
  return outcome.outcome === "selected" && outcome.optionId !== "no";
}

async function runInTerminal(
  command: string,
  client: AgentContext,
  sessionId: string,
): Promise<string> {
  const { terminalId } = await client.request(methods.client.terminal.create, {
    sessionId,
    command,
  });
  const { exitCode } = await client.request(methods.client.terminal.waitForExit, {
    sessionId,
    terminalId,
  });
  const { output } = await client.request(methods.client.terminal.output, {
    sessionId,
    terminalId,
  });
  await client.request(methods.client.terminal.release, { sessionId, terminalId });
  return `${output.trim()} (${exitCode})`;
}

function orderIn(prompt: string): AgentOrder {
  const lines = [...prompt.matchAll(/^\s*AGENT ([{[].*)$/gm)].map(([, line]) => line!);
  const orders = lines.map((line) => JSON.parse(line) as AgentOrder | readonly AgentOrder[]);
  const order = orders.find((one) => isMine(([one].flat() as readonly AgentOrder[])[0]));
  if (order === undefined) return {};
  if (!Array.isArray(order)) return order as AgentOrder;
  const number = Number(process.env["DURE_TRY"] ?? 1);
  return (order as readonly AgentOrder[])[Math.min(number, order.length) - 1] ?? {};
}

function isMine(order: AgentOrder | undefined): boolean {
  const { member = process.env["DURE_MEMBER"] } = order ?? {};
  return member === process.env["DURE_MEMBER"];
}
