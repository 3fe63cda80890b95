import { LLMock } from "@copilotkit/aimock";
import { setTimeout as sleep } from "node:timers/promises";

/** A provider of models on the wire formats of the real ones. It says what the order in a goal asks for. */
export interface Provider {
  readonly url: string;
  readonly port: number;
  /** Calls that had tools to offer. */
  readonly calls: number;
  /** Resolves when a call with this order has come. */
  until(order: string, ms: number): Promise<void>;
  stop(): Promise<void>;
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
    return answerTo(order?.split(" ")[0] ?? "work", { call, text, names });
  });
  await mock.start();
  const url = mock.url;
  return {
    url,
    port: Number(new URL(url).port),
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
      await mock.stop();
    },
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
    slow: [() => shell(asked, "sleep 10"), () => write(asked, "src/a.txt")],
  }[order] ?? [() => write(asked, "src/a.txt")];
  const next = steps[done];
  const answer = next ? { toolCalls: [next()] } : { content: "Done: src/a.txt is made." };
  return { ...answer, usage: USAGE };
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
