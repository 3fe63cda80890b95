// @module-tag slow
import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readdir, readFile, realpath, rm, symlink, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import { json, text as readAll } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, expect, test } from "vitest";
import { FULL } from "../kernel/test-tiers.ts";
import { stopTestServer, testDatabaseUrl } from "../durable/test-database.ts";

const PROGRAM = fileURLToPath(new URL("./main.ts", import.meta.url));
const PACKAGES = fileURLToPath(new URL("../../../../node_modules", import.meta.url));

let folder: string;
let team: string;
let database: { url: string } & AsyncDisposable;
const running: ChildProcess[] = [];
beforeEach(async () => {
  database = await testDatabaseUrl();
  folder = await mkdtemp(path.join(await realpath(tmpdir()), "dure-run-"));
  await symlink(PACKAGES, path.join(folder, "node_modules"));
  await finished(dure(["init", "demo"], folder));
  team = path.join(folder, "demo");
});
afterEach(async () => {
  for (const child of running.splice(0)) {
    if (child.exitCode === null && child.signalCode === null) {
      child.kill("SIGKILL");
      await once(child, "exit");
    }
  }
  await rm(folder, { recursive: true, force: true });
  await database[Symbol.asyncDispose]();
  await stopTestServer();
});

/** What of OTLP's JSON is looked at. */
interface OtlpTraces {
  readonly resourceSpans: readonly {
    readonly resource: { readonly attributes: readonly object[] };
    readonly scopeSpans: readonly {
      readonly scope: { readonly name: string };
      readonly spans: readonly {
        readonly name: string;
        readonly traceId: string;
        readonly spanId: string;
        readonly parentSpanId?: string;
        readonly attributes: readonly { readonly key: string; readonly value: object }[];
      }[];
    }[];
  }[];
}

interface Running {
  readonly child: ChildProcess;
  readonly output: { stdout: string; stderr: string };
}

function dure(args: readonly string[], cwd: string, env: Record<string, string> = {}): Running {
  const { PATH = "", HOME = "", NODE_COMPILE_CACHE } = process.env;
  const child = spawn(process.execPath, ["--conditions=dure-source", PROGRAM, ...args], {
    cwd,
    env: { PATH, HOME, NODE_COMPILE_CACHE, DATABASE_URL: database.url, PORT: "0", ...env },
    stdio: ["ignore", "pipe", "pipe"],
  });
  running.push(child);
  const output = { stdout: "", stderr: "" };
  child.stdout.setEncoding("utf8").on("data", (text: string) => (output.stdout += text));
  child.stderr.setEncoding("utf8").on("data", (text: string) => (output.stderr += text));
  return { child, output };
}

async function finished({
  child,
  output,
}: Running): Promise<{ exitCode: number | null; stdout: string; stderr: string }> {
  if (child.exitCode === null && child.signalCode === null) await once(child, "close");
  return { exitCode: child.exitCode, ...output };
}

/**
 * Waits until the process has said something that fits, for the `count`-th time; fails with all it
 * said when it ends before.
 */
async function said(
  { child, output }: Running,
  pattern: RegExp,
  count = 1,
): Promise<RegExpMatchArray> {
  for (;;) {
    const match = [...output.stdout.matchAll(new RegExp(pattern, "g"))][count - 1];
    if (match) return match;
    if (child.exitCode !== null) {
      throw new Error(`ended with ${child.exitCode}:\n${output.stdout}\n${output.stderr}`);
    }
    await Promise.race([once(child.stdout!, "data"), once(child, "exit")]);
  }
}

test("a new team starts, answers, tells its events, and ends with 0 on SIGTERM", async () => {
  const started = dure(["start"], team, { LOG_LEVEL: "warn" });
  const [, url] = await said(started, /demo answers at (http\S+)/);

  const chat = await finished(dure(["chat", "--session", "mina", "hello there"], team));
  const events = await finished(
    dure(["events", "--url", url!, "--session", "mina", "--types", "turn.*", "--json"], team),
  );
  started.child.kill("SIGTERM");

  expect(chat).toMatchObject({ exitCode: 0, stderr: "" });
  expect(chat.stdout).toMatch(/^I have no model yet.*ANTHROPIC_API_KEY.*npx dure doctor/);
  const types = events.stdout
    .trim()
    .split("\n")
    .map((line) => (JSON.parse(line) as { type: string }).type);
  expect(types).toContain("turn.done");
  expect((await finished(started)).exitCode).toBe(0);
  expect(await finished(dure(["chat", "hello"], team))).toMatchObject({
    exitCode: 1,
    stderr: expect.stringContaining("TEAM_NOT_RUNNING") as string,
  });
}, 60_000);

test(
  "the test that a new team brings along passes, without a key and with a database of its own",
  { ...FULL, timeout: 90_000 },
  async () => {
    const child = spawn(process.execPath, ["--conditions=dure-source", "--test"], {
      cwd: team,
      env: { PATH: process.env["PATH"] ?? "", HOME: process.env["HOME"] ?? "" },
      stdio: ["ignore", "pipe", "inherit"],
    });
    running.push(child);
    const [told, [exitCode]] = await Promise.all([readAll(child.stdout), once(child, "exit")]);

    expect(exitCode, told).toBe(0);
    expect(told).toMatch(/pass 1\b/);
  },
);

test(
  "what a start has compiled is there for the next one, also when it was killed",
  { ...FULL, timeout: 60_000 },
  async () => {
    const compiled = path.join(folder, "compiled");
    const started = dure(["start"], team, { LOG_LEVEL: "warn", NODE_COMPILE_CACHE: compiled });
    await said(started, /demo answers at (http\S+)/);

    await expect
      .poll(async () => (await readdir(compiled, { recursive: true })).length, { timeout: 20_000 })
      .toBeGreaterThan(100);
    started.child.kill("SIGKILL");
  },
);

test(
  "dev answers with what a file says after it was saved; after a broken save it answers as before",
  { ...FULL, timeout: 90_000 },
  async () => {
    const file = path.join(team, "services", "minimal", "service.ts");
    const source = await readFile(file, "utf8");
    const dev = dure(["dev"], team, { LOG_LEVEL: "warn" });
    const [, url] = await said(dev, /demo answers at (http\S+)/);
    const noted = async (words: RegExp): Promise<void> => {
      while (!words.test(dev.output.stderr)) await once(dev.child.stderr!, "data");
    };
    const answer = async (): Promise<string> =>
      (await finished(dure(["chat", "--url", url!, "hello"], team))).stdout;
    const mistake = async (): Promise<unknown> => {
      const { checks } = (await (await fetch(`${url}/readyz`)).json()) as ReadyJson;
      return checks["files"]?.detail;
    };

    await writeFile(file, source.replace("answer.text", '"new words"'));
    await noted(/service\.ts changed; it counts from the next answer on/);
    expect(await answer()).toContain("new words");
    await writeFile(file, `${source}\nmissing.call();\n`);
    await noted(/the team answers as before: .*service\.ts:\d+: missing is not defined/);
    expect(await answer()).toContain("new words");
    expect(await mistake()).toMatch(/minimal\/service\.ts:\d+: missing is not defined/);
    await writeFile(file, source.replace("answer.text", '"newest words"'));
    await expect.poll(answer).toContain("newest words");
    expect(await mistake()).toBeUndefined();

    dev.child.kill("SIGTERM");
    expect((await finished(dev)).exitCode).toBe(0);
  },
);

test(
  "dev restarts for a file that a process reads at its start, and waits while none starts",
  { ...FULL, timeout: 90_000 },
  async () => {
    const dev = dure(["dev"], team, { LOG_LEVEL: "warn" });
    const waiting = (count: number): Promise<unknown> =>
      said(dev, /demo answers at (http\S+)/, count);
    await waiting(1);

    await writeFile(path.join(team, ".env"), "HOST=0.0.0.0\n");
    while (!/Waiting for a change/.test(dev.output.stderr)) await once(dev.child.stderr!, "data");
    await writeFile(path.join(team, ".env"), "");
    await waiting(2);

    dev.child.kill("SIGTERM");
    expect((await finished(dev)).exitCode).toBe(0);
  },
);

interface ReadyJson {
  readonly checks: Readonly<Record<string, { readonly detail?: string }>>;
}

test(
  "dev takes in an agent's file without a restart; a mistake in it changes nothing",
  { ...FULL, timeout: 90_000 },
  async () => {
    const dev = dure(["dev"], team, { LOG_LEVEL: "warn" });
    const [, url] = await said(dev, /demo answers at (http\S+)/);
    const noted = async (words: RegExp): Promise<void> => {
      while (!words.test(dev.output.stderr)) await once(dev.child.stderr!, "data");
    };
    const process = async (): Promise<unknown> =>
      ((await (await fetch(`${url}/healthz`)).json()) as { process_id: string }).process_id;
    const nameOf = async (): Promise<string | undefined> => {
      const { items } = (await (await fetch(`${url}/v1/agents`)).json()) as {
        items: { id: string; display_name: string }[];
      };
      return items.find(({ id }) => id === "theo")?.display_name;
    };
    const first = await process();
    const card = path.join(team, "agents", "theo", "agent.yaml");

    await writeFile(card, "card: { temperature: 0 }\n");
    await noted(/agent\.yaml changed; it counts from the next answer on/);
    await writeFile(card, "card: { temprature: 0 }\n");
    await noted(/the team answers as before: .*temprature/);

    expect([await nameOf(), await process()]).toEqual(["Theo", first]);
    await writeFile(path.join(team, ".env"), "");
    await noted(/\.env changed; restarting/);
    dev.child.kill("SIGTERM");
    expect((await finished(dev)).exitCode).toBe(0);
  },
);

test(
  "reload takes up agents, services and imports; a running turn and a mistake change nothing",
  { ...FULL, timeout: 120_000 },
  async () => {
    const gate = path.join(folder, "go");
    const config = path.join(team, "dure.config.ts");
    const words = path.join(team, "services", "minimal", "words.ts");
    await writeFile(words, 'export const WORD = "old";\n');
    await writeFile(
      path.join(team, "services", "minimal", "service.ts"),
      `
    import { existsSync } from "node:fs";
    import { setTimeout } from "node:timers/promises";
    import { defineService, flow } from "dure";
    import { WORD } from "./words.ts";
    export default defineService({ name: "minimal", agents: {}, flows: { DEFAULT: flow(async (turn) => {
      while (turn.message === "wait" && !existsSync(${JSON.stringify(gate)})) await setTimeout(20);
      return turn.done({ message: WORD });
    }) } });`,
    );
    const started = dure(["start"], team, { LOG_LEVEL: "warn" });
    const [, url] = await said(started, /demo answers at (http\S+)/);
    const say = async (text: string): Promise<string> =>
      (
        await finished(dure(["chat", "--url", url!, "--service", "minimal", text], team))
      ).stdout.trim();
    const agentIds = async (): Promise<string[]> =>
      (
        (await (await fetch(`${url}/v1/agents`)).json()) as {
          items: { id: string; accounts: { state: string }[] }[];
        }
      ).items.map(({ id, accounts }) => `${id} ${accounts[0]?.state}`);

    const waiting = say("wait");
    expect(await say("hello")).toBe("old");
    await writeFile(words, 'export const WORD = "new";\n');
    const source = await readFile(config, "utf8");
    await writeFile(
      config,
      source.replace(
        "agents: {",
        'limits: { chainDepth: 3 },\n  agents: {\n    juno: { displayName: "Juno" },',
      ),
    );
    const reloaded = await finished(dure(["reload", "--url", url!], team));

    expect(reloaded).toMatchObject({
      exitCode: 0,
      stdout: "services minimal, juno, mina, theo\nagents juno, mina, theo\n",
      stderr: "Changed, and as before until a restart: limits\n",
    });
    expect([await say("hello"), await agentIds()]).toEqual([
      "new",
      ["juno ready", "mina ready", "theo ready"],
    ]);
    await writeFile(gate, "");
    expect(await waiting).toBe("old");

    await writeFile(
      config,
      source.replace("agents: {", 'agents: {\n    ghost: { servce: "minimal" },'),
    );
    const refused = await finished(dure(["reload", "--url", url!], team));
    expect(refused).toMatchObject({
      exitCode: 2,
      stderr: expect.stringContaining("servce") as string,
    });
    expect([await say("hello"), await agentIds()]).toEqual([
      "new",
      ["juno ready", "mina ready", "theo ready"],
    ]);
    started.child.kill("SIGTERM");
    expect((await finished(started)).exitCode).toBe(0);
  },
);

test(
  "with the file of the guide, a turn arrives at a collector as one trace of the GenAI conventions",
  { ...FULL, timeout: 60_000 },
  async () => {
    const guide = await readFile(
      new URL("../../../../docs/guides/observability.md", import.meta.url),
      "utf8",
    );
    await writeFile(path.join(team, "otel.mjs"), /```js\n(.*?)```/s.exec(guide)![1]!);
    const received: { path: string; body: OtlpTraces }[] = [];
    await using collector = createServer((request, response) => {
      void json(request).then((body) => {
        received.push({ path: request.url!, body: body as OtlpTraces });
        response.writeHead(200, { "content-type": "application/json" }).end("{}");
      });
    }).listen(0, "127.0.0.1");
    await once(collector, "listening");
    const started = dure(["start"], team, {
      LOG_LEVEL: "warn",
      NODE_OPTIONS: "--import ./otel.mjs",
      OTEL_SERVICE_NAME: "demo",
      OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${(collector.address() as AddressInfo).port}`,
    });
    const [, url] = await said(started, /demo answers at (http\S+)/);

    await finished(
      dure(
        ["chat", "--url", url!, "--service", "minimal", "--session", "mina", "hello there"],
        team,
      ),
    );
    started.child.kill("SIGTERM"); // what is in the batch leaves before the end
    expect((await finished(started)).exitCode).toBe(0);
    collector.closeAllConnections();

    expect(new Set(received.map((one) => one.path))).toEqual(new Set(["/v1/traces"]));
    const [resource] = received[0]!.body.resourceSpans;
    const spans = received.flatMap(({ body }) =>
      body.resourceSpans.flatMap(({ scopeSpans }) =>
        scopeSpans.flatMap((scoped) => (scoped.scope.name === "dure" ? scoped.spans : [])),
      ),
    );
    const span = spans.find(({ name }) => name === "chat none");
    const parentOf = (child = span): typeof span =>
      spans.find(({ spanId }) => spanId === child?.parentSpanId);
    expect(resource!.resource.attributes).toContainEqual({
      key: "service.name",
      value: { stringValue: "demo" },
    });
    expect([
      parentOf()?.name,
      parentOf(parentOf())?.name,
      parentOf(parentOf(parentOf()))?.name,
    ]).toEqual(["invoke_agent helper", "turn minimal", "accept minimal"]);
    expect(new Set(spans.map(({ traceId }) => traceId)).size).toBe(1);
    expect(
      Object.fromEntries(span!.attributes.map(({ key, value }) => [key, Object.values(value)[0]])),
    ).toMatchObject({
      "gen_ai.operation.name": "chat",
      "gen_ai.request.model": "none",
      "gen_ai.conversation.id": "mina",
    });
    expect(JSON.stringify(received)).not.toContain("hello there");
  },
);

test(
  "beyond this machine it starts only when there is a token, and says how to make one",
  { ...FULL, timeout: 60_000 },
  async () => {
    const alone = await finished(dure(["start"], team, { HOST: "0.0.0.0", LOG_LEVEL: "warn" }));
    const made = await finished(
      dure(["token", "create", "mina", "--scopes", "chat", "--json"], team),
    );
    const started = dure(["start"], team, { HOST: "0.0.0.0", LOG_LEVEL: "warn" });
    const [, url] = await said(started, /demo answers at (http\S+)/);
    const { token } = JSON.parse(made.stdout) as { token: string };
    const asked = async (headers: Record<string, string>): Promise<number> =>
      (await fetch(`${url}/v1/services`, { headers })).status;

    expect(alone).toMatchObject({
      exitCode: 2,
      stdout: "",
      stderr: expect.stringMatching(/BIND_NEEDS_TOKEN[\s\S]*dure token create/) as string,
    });
    expect([await asked({}), await asked({ authorization: `Bearer ${token}` })]).toEqual([
      401, 200,
    ]);
    started.child.kill("SIGTERM");
    expect((await finished(started)).exitCode).toBe(0);
  },
);

test(
  "doctor finds a whole team in order and shows where a limit comes from",
  { ...FULL, timeout: 60_000 },
  async () => {
    const { exitCode, stdout } = await finished(
      dure(["doctor", "--json"], team, { MAX_FILL_TURNS: "7" }),
    );

    const { ok, checks, limits } = JSON.parse(stdout) as {
      ok: boolean;
      checks: { name: string; status: string }[];
      limits: { key: string; value: unknown; origin: string }[];
    };
    expect([exitCode, ok]).toEqual([0, true]);
    expect(checks.map(({ name }) => name)).toEqual(
      expect.arrayContaining(["node", "config", "model", "port", "database", "git", "disk"]),
    );
    expect(limits).toContainEqual(
      expect.objectContaining({ key: "limits.maxFillTurns", value: 7, origin: "MAX_FILL_TURNS" }),
    );
    expect(limits).toContainEqual(
      expect.objectContaining({ key: "locale", value: "en", origin: "dure.config.ts:6" }),
    );
    expect(stdout).not.toContain(database.url);
  },
);

test(
  "doctor asks each model one short question: a wrong key or name shows there",
  { ...FULL, timeout: 120_000 },
  async () => {
    const asked: { model: string; max_tokens?: number; max_completion_tokens?: number }[] = [];
    await using provider = createServer((request, response) => {
      void json(request).then((body) => {
        const { model } = body as { model: string };
        asked.push(body as (typeof asked)[number]);
        if (request.headers.authorization !== "Bearer right") {
          return response
            .writeHead(401, { "content-type": "application/json" })
            .end('{"error":{"message":"no such key"}}');
        }
        if (model !== "gpt-4.1-mini") {
          return response
            .writeHead(404, { "content-type": "application/json" })
            .end('{"error":{"message":"no such model"}}');
        }
        const chunk = {
          id: "c",
          object: "chat.completion.chunk",
          created: 1,
          model,
          choices: [
            { index: 0, delta: { role: "assistant", content: "ok" }, finish_reason: "stop" },
          ],
        };
        return response
          .writeHead(200, { "content-type": "text/event-stream" })
          .end(`data: ${JSON.stringify(chunk)}\n\ndata: [DONE]\n\n`);
      });
    }).listen(0, "127.0.0.1");
    await once(provider, "listening");
    const address = `http://127.0.0.1:${(provider.address() as AddressInfo).port}`;
    const modelOf = async (model: string, key: string): Promise<unknown> => {
      const { stdout } = await finished(
        dure(["doctor", "--json"], team, {
          DURE_MODEL: `openai:${model}`,
          OPENAI_API_KEY: key,
          OPENAI_BASE_URL: address,
        }),
      );
      return (JSON.parse(stdout) as { checks: { name: string }[] }).checks.find(
        ({ name }) => name === "model",
      );
    };

    expect(await modelOf("gpt-4.1-mini", "right")).toMatchObject({
      status: "ok",
      detail: expect.stringMatching(
        /used by minimal\.helper, mina\.mina.*: answers \(JSON in strict mode\)$/,
      ) as string,
    });
    expect(asked).toHaveLength(1);
    expect(asked[0]!.max_completion_tokens ?? asked[0]!.max_tokens).toBeLessThan(100);
    expect(await modelOf("gpt-4.1-mini", "wrong")).toMatchObject({
      status: "fail",
      detail: expect.stringContaining("MODEL_UNAUTHORIZED") as string,
    });
    expect(await modelOf("gpt-nope", "right")).toMatchObject({
      status: "fail",
      detail: expect.stringContaining("MODEL_UNKNOWN") as string,
    });
    provider.closeAllConnections();
  },
);

test("doctor exits with 1 and says what is missing", async () => {
  const { exitCode, stdout } = await finished(
    dure(["doctor"], team, {
      DURE_MODEL: "openai:gpt-5-mini",
      DATABASE_URL: "postgres://nobody@127.0.0.1:1/none",
    }),
  );

  expect(exitCode).toBe(1);
  expect(stdout).toMatch(
    /fail model: openai:gpt-5-mini, used by minimal\.helper.*: MODEL_KEY_MISSING .*OPENAI_API_KEY is not set\.\n {5}Set OPENAI_API_KEY/,
  );
  expect(stdout).toMatch(/fail database: DATABASE_UNAVAILABLE/);
}, 60_000);

/** Calls the tool that it is given first, loads the skill, then says what came of both. */
const CALLING_MODEL = `
  offlineModels: [{ name: "caller", respond: ({ messages }) => {
    const results = messages.filter(({ role }) => role === "tool").map(({ result }) => JSON.stringify(result));
    const calls = [{ name: "greet", args: { name: "Seoyeon" } }, { name: "load_skill", args: { name: "refunds" } }];
    const next = calls[results.length];
    return next === undefined ? results.join(" ") : { toolCalls: [next] };
  } }],
`;

test(
  "dev answers with an agent, a tool and a skill that were just made, and doctor agrees",
  { ...FULL, timeout: 120_000 },
  async () => {
    const config = path.join(team, "dure.config.ts");
    const text = await readFile(config, "utf8");
    await writeFile(config, text.replace("defineTeam({", `defineTeam({${CALLING_MODEL}`));
    const make = (part: string, name: string): Promise<{ stdout: string }> =>
      finished(dure(["new", part, name], team));
    const words = expect.stringMatching(/stands in .*\nNext: /) as string;
    expect(await make("tool", "greet")).toMatchObject({ exitCode: 0, stdout: words });
    const dev = dure(["dev"], team, { LOG_LEVEL: "warn" });
    const [, url] = await said(dev, /demo answers at (http\S+)/);

    expect(await make("skill", "refunds")).toMatchObject({ exitCode: 0, stdout: words });
    expect(await make("agent", "noa")).toMatchObject({ exitCode: 0, stdout: words });
    const agent = path.join(team, "agents/noa/agent.md");
    const written = await readFile(agent, "utf8");
    const settings = "---\ntools: [greet]\nmodel: offline:caller\n";
    await writeFile(agent, written.replace("---\n", settings));
    const answers = async (): Promise<string> =>
      (await finished(dure(["chat", "--url", url!, "--service", "noa", "hello"], team))).stdout;
    let answer = await answers();
    while (!answer.includes("Hello, Seoyeon!")) answer = await answers();

    expect(answer).toContain("What to do, step by step.");
    const doctor = await finished(dure(["doctor", "--json"], team));
    const { checks } = JSON.parse(doctor.stdout) as { checks: { name: string; status: string }[] };
    expect(checks.filter(({ name }) => /^(?:config|agents|skills)$/.test(name))).toEqual(
      expect.arrayContaining([expect.objectContaining({ name: "skills", status: "ok" })]),
    );
    expect(checks.filter(({ status }) => status === "fail")).toEqual([]);
    const options =
      "--ignoreConfig --noEmit --strict --skipLibCheck --verbatimModuleSyntax --erasableSyntaxOnly";
    const modern = "--module nodenext --target esnext --customConditions dure-source --types node";
    // dure's own sources are checked elsewhere, with options of their own.
    await writeFile(path.join(folder, "wrong.ts"), "export const wrong: number = '';\n");
    const types = spawn(
      path.join(PACKAGES, ".bin/tsc"),
      [
        ...`${options} ${modern} --allowImportingTsExtensions`.split(" "),
        "tools/greet.ts",
        "tools/wrong.ts",
      ],
      { cwd: team, stdio: ["ignore", "pipe", "inherit"] },
    );
    const complaints = await readAll(types.stdout);
    expect(complaints).toContain("wrong.ts");
    expect(complaints).not.toContain("tools/greet.ts");
    dev.child.kill("SIGTERM");
    expect((await finished(dev)).exitCode).toBe(0);
  },
);
