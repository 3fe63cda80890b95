import { LLMock } from "@copilotkit/aimock";
import { once } from "node:events";
import { createServer, type IncomingMessage, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { text as textOf } from "node:stream/consumers";
import { setTimeout as sleep } from "node:timers/promises";

/** A provider of models on the wire formats of the real ones. It says what the order in a goal asks for. */
export interface Provider {
  readonly url: string;
  readonly port: number;
  /** Calls that had tools to offer. */
  readonly calls: number;
  /** What it has served since this was asked last: what it would send a bill for. */
  takeBill(): Billed;
  /** Orders in whose conversation the MCP server's answer stands. */
  readonly echoed: ReadonlySet<string>;
  /** Resolves when a call with this order has come. */
  until(order: string, ms: number): Promise<void>;
  stop(): Promise<void>;
}

/** What calls have used, as their provider counts them. */
export interface Billed {
  readonly calls: number;
  readonly input: number;
  readonly output: number;
}

interface Call {
  readonly messages?: readonly { readonly role: string; readonly content?: unknown }[];
  readonly tools?: readonly {
    readonly name?: string;
    readonly function?: { readonly name: string };
  }[];
}

export async function startProvider(): Promise<Provider> {
  const mock = new LLMock({ port: 0 });
  const orders = new Set<string>();
  const echoed = new Set<string>();
  const bill = { sum: NO_BILL };
  let calls = 0;
  mock.on({ predicate: () => true }, (request: unknown) => {
    const call = request as Call;
    const text = JSON.stringify(call.messages ?? []);
    const order = /ORDER (\w+ \w+):/.exec(text)?.[1];
    const names = (call.tools ?? []).map((tool) => tool.function?.name ?? tool.name ?? "");
    if (names.length === 0) return { content: "ok" };
    calls += 1;
    if (text.includes("Your partner asks")) return { content: "Yes, in cents." };
    if (order !== undefined) orders.add(order);
    if (order !== undefined && text.includes(`Echo: ${WORD}`)) echoed.add(order);
    return answerTo(order?.split(" ")[0] ?? "work", { call, text, names });
  });
  await mock.start();
  const front = await startFront(mock.url, bill);
  const { port } = front.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    port,
    takeBill: () => {
      const sum = bill.sum;
      bill.sum = NO_BILL;
      return sum;
    },
    echoed,
    get calls() {
      return calls;
    },
    async until(order, ms) {
      for (let left = ms; left > 0; left -= 100) {
        if (orders.has(order)) return;
        await sleep(100);
      }
      throw new Error(`no call with the order ${order} came within ${ms} ms`);
    },
    stop: async () => {
      front.closeAllConnections();
      front.close();
      await mock.stop();
    },
  };
}

/** Stands before the double, which does not know that Codex keeps a server's tools in a namespace. */
async function startFront(mock: string, bill: { sum: Billed }): Promise<Server> {
  const front = createServer((request, response) => {
    void forwarded(mock, request).then(
      ({ answer, body }) => {
        if (answer.ok && isPaid(request)) bill.sum = charged(bill.sum, body);
        const type = answer.headers.get("content-type") ?? "application/json";
        response.writeHead(answer.status, { "content-type": type });
        response.end(body);
      },
      (error: unknown) => response.writeHead(502).end(String(error)),
    );
  });
  await once(front.listen(0, "127.0.0.1"), "listening");

  return front;
}

function isPaid({ method, url = "" }: IncomingMessage): boolean {
  return method === "POST" && !/count_?tokens/i.test(url);
}

async function forwarded(mock: string, request: IncomingMessage) {
  const { method = "GET", url = "/", headers } = request;
  const answer = await fetch(`${mock}${url}`, {
    method,
    headers: { "content-type": headers["content-type"] ?? "application/json" },
    body: method === "GET" ? null : await textOf(request),
  });
  const body = await answer.text();
  const isCodex = url.includes("/responses");
  return { answer, body: isCodex ? body.replaceAll(`"name":"${ECHO}"`, ECHO_OF_CODEX) : body };
}

const NO_BILL: Billed = { calls: 0, input: 0, output: 0 };

/** The largest counts that an answer names are its sum. */
function charged(before: Billed, body: string): Billed {
  const largest = (names: string): number => {
    const all = body.matchAll(new RegExp(`"(?:${names})":\\s*(\\d+)`, "g"));
    return Math.max(0, ...[...all].map(([, count]) => Number(count)));
  };

  return {
    calls: before.calls + 1,
    input: before.input + largest("input_tokens|prompt_tokens|promptTokenCount"),
    output: before.output + largest("output_tokens|completion_tokens|candidatesTokenCount"),
  };
}

interface Asked {
  readonly call: Call;
  readonly text: string;
  readonly names: readonly string[];
}

/** Of each call, in the words of all providers. */
const USAGE = {
  input_tokens: 1_000,
  output_tokens: 50,
  prompt_tokens: 1_000,
  completion_tokens: 50,
  total_tokens: 1_050,
  promptTokenCount: 1_000,
  candidatesTokenCount: 50,
  totalTokenCount: 1_050,
};

/** The next step of the order, by how many tools have answered. */
function answerTo(order: string, asked: Asked) {
  const done = (asked.call.messages ?? []).filter(({ role }) => role === "tool").length;
  const steps = {
    work: [
      () => write(asked, "src/a.txt"),
      () => write(asked, "lib/other.txt"),
      () => shell(asked, "echo made > lib/other2.txt; true"),
      () => shell(asked, 'dure hook ask "Is it in cents?"; echo code $?'),
    ],
    hang: [() => shell(asked, "sleep 300")],
    tools: [...echo(asked), () => write(asked, "src/a.txt")],
    slow: [() => shell(asked, "sleep 10"), () => write(asked, "src/a.txt")],
  }[order] ?? [() => write(asked, "src/a.txt")];
  const next = steps[done];
  const answer = next ? { toolCalls: [next()] } : { content: "Done: src/a.txt is made." };
  return { ...answer, usage: USAGE };
}

/** What the tool of the MCP server is asked to say. */
const WORD = "heard-by-the-server";

/** Its tool `echo`, as agents call it that do not offer it at once. */
const ECHO = "mcp__everything__echo";
const ECHO_OF_CODEX = '"namespace":"mcp__everything","name":"echo"';

/** Leads to the server's tool; some agents want it to be searched first. */
function echo({ names }: Asked) {
  const said = { message: WORD };
  const call = (name: string, given: object) => () => ({ name, arguments: JSON.stringify(given) });
  const search = { query: `select:${ECHO}`, max_results: 5 };
  if (names.includes("ToolSearch")) return [call("ToolSearch", search), call(ECHO, said)];
  if (names.includes("tool_call")) {
    const wanted = { name: ECHO, arguments: said };
    return [call("tool_search", search), call("tool_call", wanted)];
  }
  const offered = names.find((one) => /(?:^|_)echo$/.test(one));

  return [call(offered ?? ECHO, said)];
}

function write(asked: Asked, file: string) {
  const { names, text } = asked;
  const cwd = /[Ww]orking directory[^/]{0,40}(\/[^\s<>"`\\]+)/.exec(text)?.[1];
  const tool = names.find((name) => ["Write", "write", "write_file"].includes(name));
  if (tool === undefined || cwd === undefined) {
    return shell(asked, `mkdir -p ${file.split("/")[0]!}; echo made > ${file}`);
  }
  const at = `${cwd.replace(/\.$/, "")}/${file}`;
  const place = tool === "write" ? { filePath: at } : { file_path: at };
  return { name: tool, arguments: JSON.stringify({ ...place, content: "made\n" }) };
}

function shell({ names }: Asked, command: string) {
  const name =
    names.find((one) =>
      /^(?:bash|exec_command|shell|run_shell_command|shell_command)$/i.test(one),
    ) ?? "shell";
  const description = "A step of the order.";
  switch (name) {
    case "exec_command":
      return { name, arguments: JSON.stringify({ cmd: command, yield_time_ms: 30_000 }) };
    case "shell":
      return { name, arguments: JSON.stringify({ command: ["sh", "-c", command] }) };
    case "run_shell_command":
      return { name, arguments: JSON.stringify({ command, description, is_background: false }) };
    default:
      return { name, arguments: JSON.stringify({ command, description, timeout: 400_000 }) };
  }
}
