/**
 * An MCP server that does what it must not, by the name of its first argument; over standard input
 * and output, without an SDK, since no SDK lets a server do this. Protocol of 2025-06-18.
 */
import { spawn } from "node:child_process";
import { appendFileSync } from "node:fs";
import { createInterface } from "node:readline";

const [manner = "polite", file = ""] = process.argv.slice(2);

interface Request {
  readonly id?: number | string;
  readonly method: string;
  /** Of an answer to a question of its own. */
  readonly result?: object;
  readonly error?: { readonly code: number };
  readonly params?: {
    readonly name?: string;
    readonly arguments?: unknown;
    readonly cursor?: string;
  };
}

const send = (message: object): boolean =>
  process.stdout.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
const note = (line: string): void => {
  if (file !== "") appendFileSync(file, `${line}\n`);
};
note(`start ${process.pid}`);

const tool = (name: string, rest: object = {}): object => ({
  name,
  description: `Does ${name}.`,
  inputSchema: { type: "object", properties: { text: { type: "string" } } },
  ...rest,
});

let tools: unknown[] = [tool("echo", { annotations: { readOnlyHint: true } }), tool("write")];

function nested(levels: number): object {
  let schema: object = { type: "string" };
  for (let level = 0; level < levels; level += 1) schema = { type: "array", items: schema };
  return { type: "object", properties: { deep: schema } };
}

const circle = { a: { $ref: "#/$defs/b" }, b: { allOf: [{ $ref: "#/$defs/a" }] } };
const list = { type: "object", properties: { next: { $ref: "#" } } };
const either = [{ required: ["a"] }, { required: ["b"] }];
const properties = { a: { type: "string" }, b: { type: "string" } };

/** Good ones between others. */
const FAULTY: readonly unknown[] = [
  tool("good"),
  null,
  "text",
  { nonsense: true },
  tool(""),
  { name: "no_schema" },
  tool("null_schema", { inputSchema: null }),
  tool("text_schema", { inputSchema: "object" }),
  tool("list_schema", { inputSchema: [] }),
  tool("null_type", { inputSchema: { type: null, properties: {} } }),
  tool("takes_text", { inputSchema: { type: "string" } }),
  tool("takes_lists", { inputSchema: { anyOf: [{ type: "array" }, { type: "string" }] } }),
  tool("unknown_type", { inputSchema: { properties: { a: { type: "strng" } } } }),
  tool("required_yes", { inputSchema: { properties, required: true } }),
  tool("deep", { inputSchema: nested(1_000) }),
  tool("huge", { inputSchema: { type: "object", description: "x".repeat(40_000) } }),
  tool("circle", { inputSchema: { properties: { a: { $ref: "#/$defs/a" } }, $defs: circle } }),
  tool("elsewhere", { inputSchema: { properties: { a: { $ref: "https://a.example/b" } } } }),
  tool("twice"),
  tool("twice", { description: "Another one." }),
  tool("pay it"),
  tool("pay_it"),
  tool("empty", { inputSchema: {} }),
  tool("no_type", { inputSchema: { properties } }),
  tool("either", { inputSchema: { properties, anyOf: either } }),
  tool("recursive", { inputSchema: list }),
  tool("odd_rest", { title: 5, description: null, annotations: "none", icons: 7, outputSchema: 1 }),
  tool("long", { description: "가".repeat(300_000) }),
];

/** Before the first tool is listed, by manner. */
const PREPARE: Readonly<Record<string, () => void>> = {
  "odd-tools": () => {
    const huge = { type: "object", description: "x".repeat(40_000) };
    tools = [tool("echo"), tool("huge", { inputSchema: huge }), tool("이름 with spaces!")];
  },
  "too-many": () => {
    tools = Array.from({ length: 1_200 }, (_, index) => tool(`tool_${index}`));
  },
  "many-pages": () => {
    tools = Array.from({ length: 883 }, (_, index) => tool(`tool_${index}`));
    tools[7] = { name: "tool_7" };
  },
  "other-output": () => {
    const outputSchema = { type: "object", properties: { paid: { type: "boolean" } } };
    tools = [tool("pay", { outputSchema })];
  },
  "only-reads": () => {
    const annotations = { readOnlyHint: true };
    tools = [tool("echo", { annotations }), tool("write", { annotations })];
  },
  "no-list": () => {
    tools = "none" as unknown as unknown[];
  },
  "faulty-tools": () => {
    tools = [...FAULTY];
  },
  "turns-bad": () => {
    tools = [tool("echo"), tool("pay")];
  },
  family: () => {
    const child = spawn(process.execPath, ["-e", "setInterval(() => {}, 1000)"], {
      detached: true,
      stdio: "ignore",
    });
    child.unref();
    note(`child ${child.pid}`);
  },
};
PREPARE[manner]?.();

/** What it asks in the middle of a call, by manner. */
const QUESTIONS: Readonly<Record<string, object>> = {
  asks: {
    message: "Which form?",
    requestedSchema: { type: "object", properties: { form: { type: "string", default: "md" } } },
  },
  "asks-elsewhere": {
    mode: "url",
    message: "Say it there.",
    url: "https://elsewhere.example/",
    elicitationId: "e1",
  },
};
let asking: Request["id"];
let isSoundNow = true;

/** What each call does to the list of tools, by manner. */
const CHANGES: Readonly<Record<string, () => void>> = {
  changes: () => {
    tools = [tool("other")];
  },
  "turns-bad": () => {
    isSoundNow = !isSoundNow;
    tools = [tool("echo"), tool("pay", isSoundNow ? {} : { inputSchema: null })];
  },
};

/** The call's result is what was answered. */
function tellAnswer(answer: object): void {
  send({ id: asking, result: { content: [{ type: "text", text: JSON.stringify(answer) }] } });
}

/** In pages of ten, where there are more. */
function answerList({ id, params }: Request): void {
  const from = Number(params?.cursor ?? 0);
  const isPaged = manner === "many-pages";
  const nextCursor = isPaged && from + 10 < tools.length ? { nextCursor: `${from + 10}` } : {};
  send({ id, result: { tools: isPaged ? tools.slice(from, from + 10) : tools, ...nextCursor } });
}

function answerCall({ id, params }: Request): void {
  note(`call ${params?.name}`);
  const question = QUESTIONS[manner];
  if (question !== undefined) {
    asking = id;
    return void send({ id: "q1", method: "elicitation/create", params: question });
  }
  const result = { content: [{ type: "text", text: `${params?.name} was done` }] };
  if (manner === "hang") return;
  if (manner === "exit") process.exit(3);
  if (manner === "flood") {
    const noise = {
      method: "notifications/message",
      params: { level: "info", data: "x".repeat(99) },
    };
    for (let index = 0; index < 20_000; index += 1) send(noise);
  }
  if (manner === "endless-line") return void process.stdout.write("x".repeat(8_000_000));
  if (manner === "garbage") process.stdout.write("{not json\n[]\nnull\n42\n");
  if (manner === "wrong-result") return void send({ id, result: { content: "no list" } });
  if (manner === "refuse") return void send({ id, error: { code: -32602, message: "No." } });
  if (manner === "fails") return void send({ id, result: { ...result, isError: true } });
  const more = manner === "other-output" ? { structuredContent: { paid: "yes" } } : {};
  send({ id, result: { ...result, ...more } });
  const change = CHANGES[manner];
  if (change === undefined) return;
  change();
  send({ method: "notifications/tools/list_changed" });
}

createInterface({ input: process.stdin }).on("line", (line) => {
  const request = JSON.parse(line) as Request;
  const { id, method, result, error } = request;
  if (id === "q1") return tellAnswer(result ?? { code: error?.code });
  if (manner === "mute") return note(method);
  if (method === "initialize") {
    send({
      id,
      result: {
        protocolVersion: "2025-06-18",
        capabilities: { tools: { listChanged: true } },
        serverInfo: { name: "hostile", version: "1.2.3" },
      },
    });
  } else if (method === "tools/list") answerList(request);
  else if (method === "tools/call") answerCall(request);
  else if (method === "ping" && manner === "hang") return;
  else if (id !== undefined) {
    if (method === "ping") send({ id, result: {} });
    else send({ id, error: { code: -32601, message: `There is no ${method}.` } });
  }
});
