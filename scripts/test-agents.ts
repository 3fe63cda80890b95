import { execFile, spawn, type ChildProcess } from "node:child_process";
import { chmod, mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { existsSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { parseArgs, promisify } from "node:util";
import { AGENTS, PRESETS, type AgentName } from "../packages/dure/src/plans/agents/presets.ts";
import { startProvider, type Billed, type Provider } from "./agents-provider.ts";

/*
 * Runs a small plan with each real coding agent, offline, against a double of its provider:
 *
 *     npm run test:agents -- [--only claude,codex] [--via exec] [--agents FOLDER] [--keep]
 *
 * The agents come from the registry into a temporary folder (or are in FOLDER already). It is no part
 * of `npm test`. Prints a table, and exits with 1 where a column of a named agent says no.
 */

/** Versions that the presets were tried with. */
const VERSIONS: Readonly<Record<string, string>> = {
  "@agentclientprotocol/claude-agent-acp": "0.101.0",
  "@anthropic-ai/claude-code": "2.1.330",
  "@zed-industries/codex-acp": "0.16.0",
  "@openai/codex": "0.169.0",
  "opencode-ai": "1.18.33",
  "@google/gemini-cli": "0.61.0",
  "@qwen-code/qwen-code": "0.24.4",
};
/** Packages whose programs are put in place by a script after the installation. */
const AFTER_INSTALL: Readonly<Record<string, string>> = {
  "@anthropic-ai/claude-code": "install.cjs",
  "opencode-ai": "postinstall.mjs",
};

const ROOT = fileURLToPath(new URL("..", import.meta.url));
const PROGRAM = path.join(ROOT, "packages/dure/src/cli/main.ts");
const NODE = [process.execPath, "--conditions=dure-source", "--no-warnings"] as const;
/** An MCP server of others. */
const SERVER = [
  process.execPath,
  path.join(ROOT, "node_modules/@modelcontextprotocol/server-everything/dist/index.js"),
  "stdio",
];
const run = promisify(execFile);
/** The exit code with which a server asks to be started again: its machine stood still. */
const START_AGAIN = 75;
const MAX_STARTS = 5;

interface Row {
  readonly agent: string;
  version: string;
  started: string;
  wrote: string;
  "refused outside": string;
  "hook asked": string;
  "MCP tool used": string;
  cancelled: string;
  "resumed after kill -9": string;
  counted: string;
  billed: string;
  why: string;
}

const { values } = parseArgs({
  options: {
    only: { type: "string" },
    via: { type: "string", default: "acp" },
    agents: { type: "string" },
    keep: { type: "boolean", default: false },
  },
});
const wanted = AGENTS.filter((name) => values.only?.split(",").includes(name) ?? true);

async function install(into: string, agents: readonly AgentName[]): Promise<string> {
  const packages = agents.flatMap((name) => PRESETS[name].packages);
  await writeFile(path.join(into, "package.json"), '{"private":true}\n');
  const named = packages.map((name) => `${name}@${VERSIONS[name] ?? "latest"}`);
  await run("npm", ["install", "--no-audit", "--no-fund", ...named], { cwd: into });
  for (const name of packages) {
    const script = AFTER_INSTALL[name];
    const at = path.join(into, "node_modules", name);
    if (script !== undefined) await run(process.execPath, [script], { cwd: at });
  }

  return into;
}

/** One team whose plans are worked on by one agent. */
async function tryAgent(agent: AgentName): Promise<Row> {
  const row: Row = {
    agent,
    version: await versionOf(agent),
    started: "no",
    wrote: "no",
    "refused outside": "no",
    "hook asked": "no",
    "MCP tool used": "no",
    cancelled: "no",
    "resumed after kill -9": "no",
    counted: "no",
    billed: "no",
    why: "",
  };
  let stage: Stage | undefined;
  try {
    stage = await Stage.open(agent);
    await tryWork(stage, row);
    await tryTools(stage, row);
    await tryCancel(stage, row);
    await tryKill(stage, row);
  } catch (error) {
    row.why = `${row.why} ${error instanceof Error ? error.message : String(error)}`.trim();
    row.why += stage ? ` The server wrote last: ${stage.lastWords}` : "";
  } finally {
    await stage?.close();
  }

  return row;
}

async function versionOf(agent: AgentName): Promise<string> {
  const program = PRESETS[agent].exec.command[0]!;
  const at = path.join(installed, "node_modules/.bin", program);
  const said = await run(at, ["--version"], { env: { PATH: process.env["PATH"], HOME: folder } })
    .then(({ stdout }) => stdout.trim().split("\n").at(-1)!)
    .catch(() => "?");
  return /\d+\.\d+\.\d+/.exec(said)?.[0] ?? said;
}

async function tryWork(stage: Stage, row: Row): Promise<void> {
  const asked = provider.calls;
  provider.takeBill();
  const id = await stage.begin("work");
  await stage.ended(id, 120_000);
  const port = await stage.get<PortView>(`/v1/runs/${id}/ports/a`);
  const implement = port.steps.find(({ kind }) => kind === "implement");
  const run = await stage.get<RunView>(`/v1/runs/${id}`);
  const { status, report, because, calls, tokens_in, tokens_out } = run;
  row.started = provider.calls > asked ? "yes" : "no";
  row.wrote = status === "success" ? "yes" : `no (${status})`;
  const outside = port.violations.some(({ path: at }) => at.includes("lib/other"));
  const isThere = await stage.shows("lib/other.txt");
  row["refused outside"] = isThere ? "NO" : outside ? "yes, recorded" : "yes, not recorded";
  const question = port.messages.some(({ type }) => type === "query");
  const answer = port.messages.some(({ type }) => type === "ack");
  row["hook asked"] = answer ? "yes, answered" : question ? "yes, no answer" : "no";
  const billed = provider.takeBill();
  row.counted = countWords({ calls: calls - startsOf(port), input: tokens_in, output: tokens_out });
  row.billed = `${row.counted === countWords(billed) ? "" : "NO, "}${countWords(billed)}`;
  if (status !== "success") {
    const missing = report?.missing?.[0]?.because ?? because;
    row.why = `${missing?.code ?? status}: ${missing?.message ?? ""} ${implement?.log ?? ""}`;
  }
}

/** Each start of a worker counts as a call: those of its steps, and of answers to its questions. */
function startsOf({ steps, messages }: PortView): number {
  const answers = messages.filter(({ type }) => type === "ack");

  return steps.filter(({ worker }) => worker !== null).length + answers.length;
}

function countWords({ calls, input, output }: Billed): string {
  return `${calls} calls, ${input} in, ${output} out`;
}

/** Agents that are started as programs get no servers, but for two. */
const EXEC_WITH_SERVERS: readonly AgentName[] = ["claude", "codex"];

function hasServers(agent: AgentName): boolean {
  return values.via === "acp" || EXEC_WITH_SERVERS.includes(agent);
}

async function tryTools(stage: Stage, row: Row): Promise<void> {
  if (!hasServers(stage.agent)) {
    row["MCP tool used"] = "not as a program";
    return;
  }
  const id = await stage.begin("tools");
  await stage.ended(id, 120_000);
  const { status, report } = await stage.get<RunView>(`/v1/runs/${id}`);
  const isHeard = provider.echoed.has(`tools ${stage.agent}`);
  row["MCP tool used"] = isHeard && status === "success" ? "yes" : `no (${status})`;
  if (status !== "success") row.why += ` ${report?.missing?.[0]?.because.message ?? ""}`;
}

async function tryCancel(stage: Stage, row: Row): Promise<void> {
  provider.takeBill();
  const id = await stage.begin("hang");
  await provider.until(`hang ${stage.agent}`, 60_000);
  const began = Date.now();
  await stage.post(`/v1/runs/${id}/cancel`, {});
  await stage.ended(id, 20_000);
  const span = `${((Date.now() - began) / 1_000).toFixed(1)} s`;
  const port = await stage.get<PortView>(`/v1/runs/${id}/ports/a`);
  const {
    calls,
    tokens_in: input,
    tokens_out: output,
  } = await stage.get<RunView>(`/v1/runs/${id}`);
  const counted = countWords({ calls: calls - startsOf(port), input, output });
  const billed = countWords(provider.takeBill());
  row.cancelled = counted === billed ? `yes, ${span}; ${counted}` : `NO, ${counted} of ${billed}`;
}

async function tryKill(stage: Stage, row: Row): Promise<void> {
  const id = await stage.begin("slow");
  await provider.until(`slow ${stage.agent}`, 60_000);
  await stage.kill();
  await stage.start();
  await stage.ended(id, 120_000);
  const { status } = await stage.get<RunView>(`/v1/runs/${id}`);
  row["resumed after kill -9"] = status === "success" ? "yes" : `no (${status})`;
}

interface RunView {
  readonly status: string;
  readonly calls: number;
  readonly tokens_in: number;
  readonly tokens_out: number;
  readonly because?: { readonly code: string; readonly message: string } | null;
  readonly report?: {
    readonly missing?: readonly {
      readonly because: { readonly code: string; readonly message: string };
    }[];
  } | null;
}
interface PortView {
  readonly steps: readonly {
    readonly kind: string;
    readonly worker: string | null;
    readonly tokens_in: number;
    readonly tokens_out: number;
    readonly log?: string | null;
  }[];
  readonly violations: readonly { readonly path: string }[];
  readonly messages: readonly { readonly type: string }[];
}

/** A person with a home, a team, a repository and a server. */
class Stage {
  readonly agent: AgentName;
  readonly #at: string;
  #server: ChildProcess | undefined;
  #url = "";
  #output = "";
  /** The server is started once more meanwhile. */
  #again: Promise<void> | undefined;

  static async open(agent: AgentName): Promise<Stage> {
    const stage = new Stage(agent, path.join(folder, agent));
    await stage.#make();
    await stage.start();

    return stage;
  }

  private constructor(agent: AgentName, at: string) {
    this.agent = agent;
    this.#at = at;
  }

  get #env(): NodeJS.ProcessEnv {
    const bins = [path.join(this.#at, "bin"), path.join(installed, "node_modules/.bin")];
    return {
      PATH: [...bins, path.dirname(process.execPath), process.env["PATH"]].join(path.delimiter),
      HOME: path.join(this.#at, "home"),
      ...environmentOf(this.agent, provider),
    };
  }

  async #make(): Promise<void> {
    for (const name of ["home", "bin", "team", "repository"]) {
      await mkdir(path.join(this.#at, name), { recursive: true });
    }
    const shim = path.join(this.#at, "bin/dure");
    await writeFile(shim, `#!/bin/sh\nexec ${NODE.join(" ")} ${PROGRAM} "$@"\n`, { mode: 0o755 });
    await writeHome(this.agent, path.join(this.#at, "home"), provider);
    const repository = path.join(this.#at, "repository");
    const git = (...args: string[]) =>
      run("git", ["-c", "user.name=a", "-c", "user.email=a@example.org", ...args], {
        cwd: repository,
      });
    await git("init", "-q", "-b", "main");
    await mkdir(path.join(repository, "lib"));
    await writeFile(path.join(repository, "lib/index.txt"), "theirs\n");
    await git("add", "--all");
    await git("commit", "-qm", "Begin");
    await symlink(path.join(ROOT, "node_modules"), path.join(this.#at, "node_modules"));
    await this.#dure(["init", "demo"], path.join(this.#at, "team"));
    const plans = path.join(this.#at, "team/demo/plans");
    await mkdir(plans, { recursive: true });
    for (const name of ["work", "tools", "hang", "slow"]) {
      await writeFile(path.join(plans, `${name}.yaml`), planOf(this.agent, name, repository));
    }
  }

  async #dure(args: readonly string[], cwd: string): Promise<void> {
    await run(NODE[0], [...NODE.slice(1), PROGRAM, ...args], { cwd, env: this.#env });
  }

  /** Starts the server, and again after each end that asks for it, as a supervisor does. */
  async start(): Promise<void> {
    for (let more = MAX_STARTS; ; more--) {
      try {
        return await this.#startOnce();
      } catch (error) {
        if (more <= 1 || this.#server?.exitCode !== START_AGAIN) throw error;
      }
    }
  }

  async #startOnce(): Promise<void> {
    const there = Promise.withResolvers<string>();
    const server = spawn(NODE[0], [...NODE.slice(1), PROGRAM, "start"], {
      cwd: path.join(this.#at, "team/demo"),
      env: { ...this.#env, PORT: "0", LOG_LEVEL: "warn" },
      stdio: ["ignore", "pipe", "pipe"],
    });
    this.#server = server;
    this.#output = "";
    for (const stream of [server.stdout, server.stderr]) {
      stream.setEncoding("utf8").on("data", (text: string) => {
        this.#output = `${this.#output}${text}`.slice(-20_000);
        const url = /answers at (http\S+)/.exec(this.#output)?.[1];
        if (url !== undefined) there.resolve(url);
      });
    }
    server.once("exit", (code) => there.reject(new Error(`dure ended, ${code}: ${this.#output}`)));
    this.#url = await there.promise;
    server.once("exit", (code) => {
      if (code === START_AGAIN) this.#again = this.start();
      this.#again?.catch(() => {});
    });
  }

  get lastWords(): string {
    return this.#output.slice(-1_500);
  }

  async kill(): Promise<void> {
    const server = this.#server;
    if (server === undefined || server.exitCode !== null) return;
    const gone = new Promise((resolve) => server.once("exit", resolve));
    server.kill("SIGKILL");
    await gone;
  }

  async close(): Promise<void> {
    const server = this.#server;
    if (server !== undefined && server.exitCode === null) {
      const gone = new Promise((resolve) => server.once("exit", resolve));
      server.kill("SIGTERM");
      await Promise.race([gone, sleep(20_000).then(() => this.kill())]);
    }
  }

  async begin(plan: string): Promise<string> {
    const answer = await this.post("/v1/runs", { plan });
    return ((await answer.json()) as { id: string }).id;
  }

  async ended(id: string, ms: number): Promise<void> {
    for (let left = ms; left > 0; left -= 250) {
      const { status } = await this.get<RunView>(`/v1/runs/${id}`);
      if (["success", "partial", "failed", "cancelled"].includes(status)) return;
      await sleep(250);
    }
    throw new Error(`the run ${id} did not end within ${ms} ms`);
  }

  async get<Answer>(at: string): Promise<Answer> {
    const answer = await this.#fetch(at);
    if (!answer.ok) throw new Error(`${at}: ${await answer.text()}`);

    return (await answer.json()) as Answer;
  }

  /** Once more, where the server was started again meanwhile. */
  async #fetch(at: string, how?: RequestInit): Promise<Response> {
    await this.#again;
    return fetch(`${this.#url}${at}`, how).catch(async (error: unknown) => {
      await sleep(500);
      if (this.#again === undefined) throw error;
      await this.#again;
      return fetch(`${this.#url}${at}`, how);
    });
  }

  async post(at: string, body: object): Promise<Response> {
    const headers = { "content-type": "application/json" };
    const answer = await this.#fetch(at, { method: "POST", headers, body: JSON.stringify(body) });
    if (!answer.ok) throw new Error(`${at}: ${await answer.text()}`);

    return answer;
  }

  /** Whether a path is in the result, or in the person's own files. */
  async shows(at: string): Promise<boolean> {
    const repository = path.join(this.#at, "repository");
    const inBranch = await run("git", ["cat-file", "-e", `dure/work:${at}`], {
      cwd: repository,
    }).then(
      () => true,
      () => false,
    );

    return inBranch || existsSync(path.join(repository, at));
  }
}

function planOf(agent: AgentName, name: string, repository: string): string {
  const here = `127.0.0.1:${provider.port}`;
  const mcp =
    name === "tools" ? `, mcp: { everything: { command: ${JSON.stringify(SERVER)} } }` : "";
  return `plan: ${name}
repository: ${repository}
roles: modules
limits: { tries: 1 }
workers: { default: { agent: ${agent}, via: ${values.via}, network: [${here}]${mcp} } }
ports:
  - id: a
    role: a
    owns: [src/**]
    acceptance: grep -q made src/a.txt
    timeout: 3m
    goal: "ORDER ${name} ${agent}: make src/a.txt."
`;
}

/** How each agent is led to a provider that is no provider. */
function environmentOf(agent: AgentName, { url }: Provider): Record<string, string> {
  switch (agent) {
    case "claude":
      return { ANTHROPIC_API_KEY: "mock-key", ANTHROPIC_BASE_URL: url };
    case "codex":
      return { OPENAI_API_KEY: "mock-key" };
    case "opencode": {
      const anthropic = { options: { baseURL: `${url}/v1`, apiKey: "mock-key" } };
      const config = {
        provider: { anthropic },
        model: "anthropic/claude-sonnet-4-5",
        share: "disabled",
      };

      return { OPENCODE_CONFIG_CONTENT: JSON.stringify(config) };
    }
    case "gemini":
      // Without a named model it asks another one first which to take.
      return {
        GEMINI_API_KEY: "mock-key",
        GEMINI_MODEL: "gemini-2.5-flash",
        GOOGLE_GEMINI_BASE_URL: url,
      };
    case "qwen":
      return {
        OPENAI_API_KEY: "mock-key",
        OPENAI_BASE_URL: `${url}/v1`,
        OPENAI_MODEL: "qwen3-coder",
      };
  }
}

/** Settings that the agent has by a file of its person's. */
async function writeHome(agent: AgentName, home: string, { url }: Provider): Promise<void> {
  if (agent === "codex") {
    await mkdir(path.join(home, ".codex"), { recursive: true });
    const lines = [
      'model = "gpt-5-codex"',
      'model_provider = "mock"',
      "[model_providers.mock]",
      'name = "mock"',
      `base_url = "${url}/v1"`,
      'env_key = "OPENAI_API_KEY"',
      'wire_api = "responses"',
    ];
    await writeFile(path.join(home, ".codex/config.toml"), `${lines.join("\n")}\n`);
  }
  if (agent === "gemini" || agent === "qwen") {
    const selectedType = agent === "gemini" ? "gemini-api-key" : "openai";
    const settings = { security: { auth: { selectedType } } };
    await mkdir(path.join(home, `.${agent}`), { recursive: true });
    await writeFile(path.join(home, `.${agent}/settings.json`), JSON.stringify(settings));
  }
}

// --- the work itself, after all that it needs

const folder = await mkdtemp(path.join(tmpdir(), "dure-agents-"));
await chmod(folder, 0o755); // workers of root are another user
const installed = values.agents ?? (await install(folder, wanted));
const provider = await startProvider();
const rows: Row[] = [];
try {
  for (const agent of wanted) rows.push(await tryAgent(agent));
} finally {
  await provider.stop();
  if (!values.keep) await rm(folder, { recursive: true, force: true });
}
console.table(Object.fromEntries(rows.map(({ agent, why: _why, ...row }) => [agent, row])));
for (const { agent, why } of rows) if (why !== "") console.log(`${agent}: ${why}`);
/** Every column says yes, or what is no part of that way. */
const isGreen = ({ agent: _agent, version: _version, why: _why, ...columns }: Row): boolean =>
  Object.values(columns).every((said: string) => !/^no\b|no answer/i.test(said));
process.exitCode = rows.every(isGreen) ? 0 : 1;
