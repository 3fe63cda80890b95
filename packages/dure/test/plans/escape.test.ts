// @module-tag slow
import { createSocket, type Socket as UdpSocket } from "node:dgram";
import {
  chmod,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  realpath,
  rm,
  writeFile,
} from "node:fs/promises";
import { createServer as createHttp } from "node:http";
import { createServer, type AddressInfo, type ListenOptions, type Server } from "node:net";
import { networkInterfaces, tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, expect, onTestFinished, test } from "vitest";
import { FULL, sampled } from "../../src/kernel/test-tiers.ts";
import { testDatabase } from "../../src/durable/test-database.ts";
import { systemClock } from "../../src/kernel/clock.ts";
import { silentLogger } from "../../src/kernel/logger.ts";
import { Models } from "../../src/models/models.ts";
import type { WorkerSpec } from "../../src/plans/plan.ts";
import type { NetworkPolicy } from "../../src/plans/sandbox/network.ts";
import { openSandbox, type IsolationKind, type Sandbox } from "../../src/plans/sandbox/sandbox.ts";
import { AcpWorker } from "../../src/plans/workers/acp.ts";
import { CommandWorker } from "../../src/plans/workers/command.ts";
import { ModelWorker } from "../../src/plans/workers/model.ts";
import type { Worker } from "../../src/plans/workers/worker.ts";
import { ScriptedModel } from "@dure/testing";
import { realPlan, startRealRuns, testRepository } from "./real-runs.ts";

// A worker is a stranger: what it must not reach, tried from every place where its code runs, on
// servers that count who came.

const PROBE = fileURLToPath(new URL("escape-probe.mjs", import.meta.url));
const AGENT = fileURLToPath(new URL("acp-agent/agent.ts", import.meta.url));

/**
 * What stands around a worker on the machine. Each server counts who connects; `visits` are theirs
 * together.
 */
interface Outside extends AsyncDisposable {
  readonly folder: string;
  /** Port of a server that listens on all addresses, as dure's API or PostgreSQL would. */
  readonly port: number;
  readonly visits: () => number;
  /** What the probe tries. */
  readonly order: object;
}

async function listening(server: Server, where: ListenOptions): Promise<Server> {
  await new Promise<void>(
    (resolve, reject) => void server.once("error", reject).listen(where, resolve),
  );
  return server;
}

/** @param byModes for a kind that leaves what is open to every user open: here nothing is. */
async function openOutside({ byModes = false } = {}): Promise<Outside> {
  await using stack = new AsyncDisposableStack();
  const folder = await realpath(await mkdtemp(join(tmpdir(), "dure-outside-")));
  stack.defer(() => rm(folder, { recursive: true, force: true }));
  await chmod(folder, 0o755);
  let visits = 0;
  const listen = async (server: Server, where: ListenOptions): Promise<Server> => {
    await listening(server, where);
    server.on("connection", () => (visits += 1));
    stack.defer(() => void server.close());
    return server;
  };
  const api = await listen(
    createHttp((_request, response) => response.end("dure")),
    { port: 0, host: "::" },
  );
  const { port } = api.address() as AddressInfo;
  await mkdir(join(folder, "service"), { mode: 0o777 });
  const socket = join(folder, "service", ".s.PGSQL.5432");
  await listen(createServer(), { path: socket, readableAll: true, writableAll: true });
  const abstract = `\0dure-outside-${process.pid}-${port}`;
  await listen(createServer(), { path: abstract });
  const dns: UdpSocket = createSocket("udp4").on("message", () => (visits += 1));
  await new Promise<void>((resolve) => dns.bind(0, "127.0.0.1", resolve));
  stack.defer(() => void dns.close());
  await writeFile(join(folder, ".env"), "DURE_TOKEN=of-the-team\n");
  const machine = Object.values(networkInterfaces())
    .flatMap((all) => all ?? [])
    .find(({ family, internal }) => family === "IPv4" && !internal)?.address;
  if (byModes) {
    await Promise.all([chmod(join(folder, ".env"), 0o600), chmod(join(folder, "service"), 0o700)]);
  }
  const kept = stack.move();
  return {
    folder,
    port,
    visits: () => visits,
    order: {
      tcp: [
        ["IPv4 loopback", "127.0.0.1", port],
        ["IPv6 loopback", "::1", port],
        ["any address", "0.0.0.0", port],
        ...(machine === undefined ? [] : [["the machine's address", machine, port]]),
        ["metadata", "169.254.169.254", 80],
      ],
      sockets: [
        ["a database's socket", socket],
        ["an abstract socket", abstract],
      ],
      files: [
        ["the team's .env", join(folder, ".env")],
        ["/etc/shadow", "/etc/shadow"],
      ],
      udp: dns.address().port,
      proxied: [
        `http://127.0.0.1:${port}/`,
        `http://[::1]:${port}/`,
        `http://[::ffff:127.0.0.1]:${port}/`,
        `http://localhost:${port}/`,
        `http://dure.test:${port}/`,
        `http://2130706433:${port}/`,
        ...(machine === undefined ? [] : [`http://${machine}:${port}/`]),
        "http://169.254.169.254/",
        "http://10.255.255.1:9/",
      ],
    },
    [Symbol.asyncDispose]: () => kept.disposeAsync(),
  };
}

const PROTECTING = [
  "namespaces",
  "bubblewrap",
  "other-user",
] as const satisfies readonly IsolationKind[];
const POLICIES: Readonly<Record<string, (port: number) => NetworkPolicy>> = {
  none: () => ({ kind: "none", hosts: [] }),
  provider: () => ({ kind: "provider", hosts: ["api.example.org", "localhost", "*.test"] }),
  open: () => ({ kind: "open", hosts: [] }),
  "provider that names dure's own port": (port) => ({
    kind: "provider",
    hosts: [`127.0.0.1:${port}`, `localhost:${port}`, "169.254.169.254:80"],
  }),
};

const root = await realpath(await mkdtemp(join(tmpdir(), "dure-escape-")));
await chmod(root, 0o755);
afterAll(() => rm(root, { recursive: true, force: true }));

/** The kind, if this machine has it: sandbox.test.ts says which it must have. */
async function sandboxOf(
  kind: (typeof PROTECTING)[number],
  outside: Outside,
  never: readonly number[] = [],
): Promise<Sandbox | undefined> {
  const network = {
    never: () => never.map((port) => ({ host: "127.0.0.1", port })),
    resolve: async (name: string) =>
      name === "dure.test" ? ["127.0.0.1"] : name === "localhost" ? ["::1", "127.0.0.1"] : [],
  };
  const opening = openSandbox({
    wanted: "enforced",
    kinds: [kind],
    folder: join(root, kind),
    hidden: [join(outside.folder, ".env")],
    network,
    clock: systemClock,
  });
  return opening.catch(() => undefined);
}

async function placeFor(name: string): Promise<{
  cwd: string;
  confinement: (network: NetworkPolicy) => Parameters<Sandbox["run"]>[0];
}> {
  const cwd = join(root, name.replaceAll(/\W+/g, "-"));
  await mkdir(join(cwd, "own"), { recursive: true });
  return {
    cwd,
    confinement: (network) => ({
      cwd,
      writable: [join(cwd, "own")],
      readOnly: [],
      hidden: [],
      disposable: [],
      network,
    }),
  };
}

const LIMITS = { timeMs: 60_000, outputBytes: 100_000, fileBytes: 1_000_000, processes: 200 };
const ENV = { PATH: process.env["PATH"]! };

test("the probe reaches all of it where nothing holds it, so the next tests show what does", async () => {
  await using outside = await openOutside();
  const sandbox = await openSandbox({
    wanted: "audit",
    folder: join(root, "audit"),
    clock: systemClock,
  });
  const { confinement } = await placeFor("control");

  const { output } = await sandbox.run(confinement({ kind: "none", hosts: [] }), {
    command: [process.execPath, PROBE, JSON.stringify(outside.order), "control"],
    env: ENV,
    limits: LIMITS,
  });

  expect(output).toContain("IPv4 loopback, IPv6 loopback, any address");
  expect(output).toContain("a database's socket, an abstract socket, the team's .env");
  expect(outside.visits()).toBeGreaterThanOrEqual(6);
});

const POLICED = sampled(
  PROTECTING.flatMap((kind) => Object.keys(POLICIES).map((policy) => [kind, policy] as const)),
  5,
);
test.each(POLICED.rows)(
  "%s with the policy %s: nothing of the machine is reached",
  POLICED.options,
  async (kind, policy) => {
    await using outside = await openOutside({ byModes: kind === "other-user" });
    // What is dure's own is only told where the policy would let it through else.
    const sandbox = await sandboxOf(
      kind,
      outside,
      policy.includes("dure's own") ? [outside.port] : [],
    );
    if (!sandbox) return;
    const { confinement } = await placeFor(`${kind} ${policy}`);
    expect(sandbox.promises.files).toBe(kind === "other-user" ? "by-modes" : "enforced");

    const { output } = await sandbox.run(confinement(POLICIES[policy]!(outside.port)), {
      command: [process.execPath, PROBE, JSON.stringify(outside.order), kind],
      env: ENV,
      limits: LIMITS,
    });

    expect(output.trim()).toBe(`probe ${kind}: nothing`);
    expect(outside.visits()).toBe(0);
  },
);

test.each(PROTECTING)(
  "%s: a worker reaches the provider that its policy names, by proxy and by its port, and no other",
  async (kind) => {
    await using outside = await openOutside({ byModes: kind === "other-user" });
    await using other = await openOutside();
    const sandbox = await sandboxOf(kind, outside);
    if (!sandbox) return;
    const { confinement } = await placeFor(`${kind} provider`);
    const script = `const ask = (url) => fetch(url).then((answer) => answer.text(), (error) => error.cause?.code ?? error.message).then((said) => console.log(url.split(":")[2], said.trim()));
    ask("http://127.0.0.1:${outside.port}/").then(() => ask("http://127.0.0.1:${other.port}/")).then(() => new Promise((done) => require("node:http").request(process.env.HTTP_PROXY, { method: "CONNECT", path: "127.0.0.1:${outside.port}" }).on("connect", (answer, socket) => { console.log("tunnel", answer.statusCode); socket.end("GET / HTTP/1.0\\r\\n\\r\\n"); socket.on("data", (chunk) => console.log(String(chunk).split("\\r\\n\\r\\n")[1])).on("close", done); }).end()));`;

    const { output } = await sandbox.run(
      confinement({ kind: "provider", hosts: [`127.0.0.1:${outside.port}`] }),
      { command: [process.execPath, "-e", script], env: ENV, limits: LIMITS },
    );

    expect(output).toBe(`${outside.port}/ dure\n${other.port}/ ECONNREFUSED\ntunnel 200\ndure\n`);
    expect(other.visits()).toBe(0);
  },
);

test.each(PROTECTING)(
  "%s: a hook is reached with the step's own token and no other, also without any network",
  async (kind) => {
    await using outside = await openOutside({ byModes: kind === "other-user" });
    const told: string[] = [];
    const hooks = createHttp((message, response) => {
      told.push(`${message.method} ${message.url} ${message.headers.authorization}`);
      response.setHeader("content-type", "application/json").end('{"answer":"blue"}');
    });
    await listening(hooks, { port: 0, host: "127.0.0.1" });
    onTestFinished(() => void hooks.close());
    const sandbox = await sandboxOf(kind, outside);
    if (!sandbox) return;
    const { confinement } = await placeFor(`${kind} hook`);
    const env = {
      ...ENV,
      DURE_HOOK_URL: `http://127.0.0.1:${(hooks.address() as AddressInfo).port}/v1/hooks/test-feedback`,
      DURE_HOOK_TOKEN: "hook_right",
    };
    const script = `const { request } = require("node:http");
    const ask = (token, path, method = "POST") => new Promise((done) => request({ socketPath: process.env.DURE_HOOK_SOCKET, method, path, headers: { host: "dure.hook", authorization: "Bearer " + token } }, (answer) => answer.resume().on("end", () => done(console.log(path, answer.statusCode)))).end());
    (async () => { await ask("hook_right", "/v1/hooks/ask"); await ask("hook_other", "/v1/hooks/ask"); await ask("hook_right", "/v1/runs"); await ask("hook_right", "/v1/hooks/ask", "GET"); await ask("hook_right", "/v1/hooks/../runs"); })();`;

    const { output } = await sandbox.run(confinement({ kind: "none", hosts: [] }), {
      command: [process.execPath, "-e", script],
      env,
      limits: LIMITS,
    });

    expect(output).toBe(
      "/v1/hooks/ask 200\n/v1/hooks/ask 401\n/v1/runs 404\n/v1/hooks/ask 404\n/v1/hooks/../runs 404\n",
    );
    expect(told).toEqual(["POST /v1/hooks/ask Bearer hook_right"]);
  },
);

test("what is left of a door after kill -9 is removed by the next start", async () => {
  await using outside = await openOutside();
  const folder = join(root, "left");
  await mkdir(join(folder, "p-4194305-abc", "door"), { recursive: true }); // a number that no process has
  await writeFile(join(folder, "p-4194305-abc", "door", "door"), "");

  const sandbox = await openSandbox({
    wanted: "enforced",
    folder,
    hidden: [join(outside.folder, ".env")],
    clock: systemClock,
  });
  const { confinement } = await placeFor("left");
  const end = await sandbox.run(confinement({ kind: "open", hosts: [] }), {
    command: ["true"],
    env: ENV,
    limits: LIMITS,
  });

  expect(end.exitCode).toBe(0);
  expect((await readdir(folder)).filter((name) => name.startsWith("p-"))).toEqual([]);
});

const NPM_FILES = {
  ".gitignore": "node_modules/\n",
  "package.json": JSON.stringify({
    name: "shop",
    version: "1.0.0",
    dependencies: { guest: "file:guest" },
  }),
  "guest/package.json": JSON.stringify({
    name: "guest",
    version: "1.0.0",
    scripts: { postinstall: `node ${PROBE} "$DURE_TEST_ORDER" npm-script >> ../npm-script.txt` },
  }),
  "package-lock.json": JSON.stringify({
    name: "shop",
    version: "1.0.0",
    lockfileVersion: 3,
    requires: true,
    packages: {
      "": { name: "shop", version: "1.0.0", dependencies: { guest: "file:guest" } },
      guest: { version: "1.0.0", hasInstallScript: true },
      "node_modules/guest": { resolved: "guest", link: true },
    },
  }),
};

interface Neighbour extends AsyncDisposable {
  readonly socket: string;
  readonly work: string;
}

/** What another run of the same data folder has there, open to every user of the machine. */
async function openNeighbour(home: string): Promise<Neighbour> {
  await chmod(home, 0o755);
  const folder = join(home, "plans", "run_other");
  await mkdir(folder, { recursive: true, mode: 0o755 });
  const work = join(folder, "work.txt");
  await writeFile(work, "of another run\n", { mode: 0o644 });
  const socket = join(folder, "door");
  const server = await listening(createServer(), {
    path: socket,
    readableAll: true,
    writableAll: true,
  });
  return {
    socket,
    work,
    async [Symbol.asyncDispose]() {
      server.close();
    },
  };
}

test(
  "no worker, npm ci, check, acceptance or integration reaches anything of the machine",
  { ...FULL, timeout: 180_000 },
  async () => {
    const stack = new AsyncDisposableStack();
    onTestFinished(() => stack.disposeAsync());
    const outside = stack.use(await openOutside());
    const { url } = stack.use(await testDatabase());
    const folder = await mkdtemp(join(tmpdir(), "dure-order-"));
    stack.defer(() => rm(folder, { recursive: true, force: true }));
    const order = join(folder, "order.json");
    await chmod(folder, 0o755);
    const database = new URL(url);
    const home = await mkdtemp(join(tmpdir(), "dure-home-"));
    stack.defer(() => rm(home, { recursive: true, force: true }));
    const neighbour = stack.use(await openNeighbour(home));
    const {
      tcp = [],
      sockets = [],
      files = [],
      ...rest
    } = outside.order as { tcp?: unknown[]; sockets?: unknown[]; files?: unknown[] };
    const whole = {
      ...rest,
      tcp: [...tcp, ["PostgreSQL", database.hostname, Number(database.port || 5432)]],
      sockets: [...sockets, ["another run's socket", neighbour.socket]],
      files: [...files, ["another run's work", neighbour.work]],
    };
    await writeFile(order, JSON.stringify(whole));
    const probe = (from: string): string => `node ${PROBE} ${order} ${from}`;
    const repository = stack.use(
      await testRepository({
        ...NPM_FILES,
        "guest/package.json": NPM_FILES["guest/package.json"]
          .replace("$DURE_TEST_ORDER", order)
          .replaceAll('\\"', ""),
      }),
    );
    const sandbox = await openSandbox({
      wanted: "enforced",
      prefer: "namespaces",
      folder: join(home, "sandbox"),
      programs: [folder],
      hidden: [join(outside.folder, ".env")],
      clock: systemClock,
    });
    const worker = (spec: WorkerSpec): Worker => {
      if (spec.kind === "acp") return new AcpWorker({ command: spec.command, clock: systemClock });
      if (spec.kind === "command") {
        return new CommandWorker({
          command: spec.command,
          prompt: spec.prompt,
          clock: systemClock,
        });
      }
      const steps = [
        {
          toolCalls: [
            { name: "run", args: { command: `${probe("model-shell")} > src/model/said.txt` } },
          ],
        },
        { toolCalls: [{ name: "report", args: { status: "ready", summary: "done" } }] },
      ];
      return new ModelWorker({
        models: new Models({
          clock: systemClock,
          logger: silentLogger,
          offline: [new ScriptedModel(steps)],
        }),
        llm: { provider: "offline", model: "scripted", fallbacks: [] },
        clock: systemClock,
      });
    };
    const runs = stack.use(
      await startRealRuns({
        url,
        home,
        sandbox,
        worker,
        hookUrl: () => `http://127.0.0.1:${outside.port}/v1/hooks/test-feedback`,
      }),
    );
    const port = (id: string, more: object): object => ({
      id,
      role: id,
      owns: [`src/${id}/**`],
      acceptance: `${probe("acceptance")}; cat src/${id}/said.txt "$TMPDIR/check.txt"`,
      // What a check that passes has said is not kept; the acceptance of its try says it.
      check: `${probe("check")} > "$TMPDIR/check.txt"`,
      goal: "Look around.",
      ...more,
    });
    const plan = {
      plan: "strangers",
      roles: "modules",
      setup: "npm ci --offline --no-audit --no-fund --foreground-scripts",
      integration: `${probe("integration")}; cat src/*/said.txt npm-script.txt`,
      workers: {
        program: {
          kind: "command",
          command: ["sh", "-c", `${probe("command")} > src/program/said.txt`],
        },
        opened: {
          kind: "command",
          command: ["sh", "-c", `${probe("open-command")} > src/opened/said.txt`],
          network: "open",
        },
        agent: { kind: "acp", command: [process.execPath, AGENT] },
        model: { kind: "model", model: "offline" },
      },
      ports: [
        port("program", {}),
        port("opened", {}),
        port("agent", {
          goal: `AGENT ${JSON.stringify([{ run: `${probe("acp-terminal")} > src/agent/said.txt` }])}`,
        }),
        port("model", {}),
      ],
    };

    const { id } = await runs.runs.run({
      plan: realPlan(JSON.stringify(plan)),
      repository: repository.folder,
      by: "me",
    });
    await expect
      .poll(async () => (await runs.runs.get(id)).finishedAt !== null, {
        timeout: 150_000,
        interval: 100,
      })
      .toBe(true);
    const run = await runs.runs.detail(id, { tenant: "" });
    const logs = [
      ...run.orchestrator,
      ...(
        await Promise.all(plan.ports.map((one) => runs.runs.port(id, (one as { id: string }).id)))
      ).flatMap(({ steps }) => steps),
    ]
      .map(({ log }) => log)
      .join("\n");

    const said = [...new Set(logs.match(/^probe .*$/gm) ?? [])].sort();
    expect(said, `${JSON.stringify(run.report)}\n${logs}`).toEqual(
      [
        "acceptance",
        "acp-terminal",
        "check",
        "command",
        "integration",
        "model-shell",
        "npm-script",
        "open-command",
      ].map((from) => `probe ${from}: nothing`),
    );
    expect(run.status).toBe("success");
    expect(outside.visits()).toBe(0);
    expect(await readFile(join(outside.folder, ".env"), "utf8")).toContain("of-the-team");
    expect(await readFile(neighbour.work, "utf8")).toContain("of another run");
  },
);
