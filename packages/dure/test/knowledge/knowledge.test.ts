import { spawn } from "node:child_process";
import { mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { text as textOf } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { testDatabaseUrl } from "../../src/durable/test-database.ts";
import { FULL } from "../../src/kernel/test-tiers.ts";
import { ServerProcess } from "../crash/server-process.ts";

/** Documents by the command line, through the real server, to an agent's answer. */
const TEAM = fileURLToPath(new URL("team", import.meta.url));
const MAIN = fileURLToPath(new URL("../../src/cli/main.ts", import.meta.url));
const SLOW = { ...FULL, timeout: 120_000 };

const stack = new AsyncDisposableStack();
let environment: Readonly<Record<string, string>>;
let folder: string;
let server: ServerProcess;

beforeAll(async () => {
  const databaseUrl = stack.use(await testDatabaseUrl()).url;
  const home = await mkdtemp(path.join(tmpdir(), "dure-knowledge-"));
  stack.defer(() => rm(home, { recursive: true }));
  environment = { DATABASE_URL: databaseUrl, DURE_HOME: path.join(home, "home") };
  server = ServerProcess.spawn(environment, TEAM);
  await server.url;
}, 120_000);

beforeEach(async () => {
  folder = path.join(await mkdtemp(path.join(tmpdir(), "dure-documents-")), "guide");
  await mkdir(path.join(folder, "more"), { recursive: true });
});

afterAll(async () => {
  await server?.[Symbol.asyncDispose]();
  await stack.disposeAsync();
}, 60_000);

interface Ran {
  readonly exitCode: number | null;
  readonly out: string;
  readonly error: string;
}

/** A command of its own process; `heard` gets its words as they come. */
async function hear(args: readonly string[], heard: (out: string) => void): Promise<Ran> {
  const url = await server.url;
  const all = ["--conditions=dure-source", MAIN, ...args, "--url", url];
  const child = spawn(process.execPath, all, { stdio: ["ignore", "pipe", "pipe"] });
  const ended = new Promise<number | null>((resolve) => child.once("exit", resolve));
  let out = "";
  child.stdout.setEncoding("utf8").on("data", (part: string) => {
    out += part;
    heard(out);
  });
  const error = await textOf(child.stderr);

  return { exitCode: await ended, out, error };
}

const dure = (...args: readonly string[]): Promise<Ran> => hear(args, () => {});

async function ask(message: string): Promise<string> {
  const answer = await fetch(`${await server.url}/v1/agent/chat`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ session_id: crypto.randomUUID(), message }),
  });
  return ((await answer.json()) as { interaction: { message: string } }).interaction.message;
}

const write = (name: string, text: string | Uint8Array): Promise<void> =>
  writeFile(path.join(folder, name), text);

test(
  "a folder is added, asked about with its source, changed, and what is gone is removed",
  SLOW,
  async () => {
    await write("refunds.md", "# Refunds\nA refund takes three days.");
    await write(
      "more/hours.html",
      "<h1>Hours</h1><p>We open at nine.</p><script>hidden()</script>",
    );
    await write("picture.png", new Uint8Array([1, 2, 3]));
    await symlink("/etc/hostname", path.join(folder, "secret.md"));

    const first = await dure("knowledge", "add", folder);
    expect(first.out).toContain("handbook: 2 added, 0 as they were, 0 removed, 0 refused");
    expect(await ask("How long does a refund take?")).toBe(
      "It is there: [guide/refunds.md › Refunds]",
    );
    expect(await ask("Who won the world cup?")).toBe("I was given nothing.");

    await write("refunds.md", "# Refunds\nA refund takes five days.");
    await rm(path.join(folder, "more/hours.html"));
    const second = await dure("knowledge", "add", folder);
    expect(second.out).toContain("handbook: 1 added, 0 as they were, 1 removed, 0 refused");

    const found = await dure("knowledge", "search", "refund");
    expect(found.out).toContain("guide/refunds.md › Refunds");
    expect(found.out).toContain("five days");
  },
);

test("a file that is no text is refused by its name, and the others are added", SLOW, async () => {
  await write("latin.md", new Uint8Array([0xe9, 0x74, 0xe9]));
  await write("good.md", "Parking is free.");

  const ran = await dure("knowledge", "add", folder);

  expect(ran.exitCode).toBe(1);
  expect(ran.out).toContain("guide/latin.md is not UTF-8 text");
  expect(ran.out).toContain("handbook: 1 added, 0 as they were, 1 removed, 1 refused");
});

test(
  "after kill -9 in the middle the same command goes on, and nothing is half",
  SLOW,
  async () => {
    const count = 60;
    for (let nr = 0; nr < count; nr += 1) {
      const words = Array.from({ length: 2_000 }, (_, at) => `word${nr}x${at}`).join(" ");
      await write(`d${String(nr).padStart(2, "0")}.md`, `# Number ${nr}\n${words}`);
    }

    const cut = await hear(["knowledge", "add", folder], (out) => {
      if (out.includes("d10.md") && !server.isOver) server.signal("SIGKILL");
    });
    expect(cut.exitCode).toBe(1);
    await server.exit;

    server = ServerProcess.spawn(environment, TEAM);
    await server.url;
    const rest = await dure("knowledge", "add", folder, "--json");
    const { added, same } = JSON.parse(rest.out) as { added: number; same: number };
    expect(added + same).toBe(count);
    expect(same).toBeGreaterThanOrEqual(11);

    const list = await dure("knowledge", "list", "--base", "handbook", "--limit", "1000", "--json");
    const { items } = JSON.parse(list.out) as { items: { source: string; chunks: number }[] };
    expect(items.filter(({ chunks }) => chunks >= 15)).toHaveLength(count);
  },
);

test("mistakes are told by name", SLOW, async () => {
  expect((await dure("knowledge", "add", "/nowhere")).error).toContain("/nowhere cannot be read");
  expect((await dure("knowledge", "search", "x", "--base", "hanbook")).error).toContain(
    'The team has no knowledge base "hanbook".',
  );
  expect((await dure("knowledge", "remove", "nothing.md")).error).toContain(
    "no document nothing.md",
  );
});
