import { execFile, spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readFile, realpath, rm, stat, symlink } from "node:fs/promises";
import { createServer, request } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { FULL } from "../kernel/test-tiers.ts";
import { boundMs } from "../kernel/test-bounds.ts";
import { stopTestServer, testDatabaseUrl } from "../durable/test-database.ts";

/** Who comes in at the machine: the real command line, the real server, curl as other users. */
const PROGRAM = fileURLToPath(new URL("./main.ts", import.meta.url));
const PACKAGES = fileURLToPath(new URL("../../../../node_modules", import.meta.url));
const isLinuxRoot = process.platform === "linux" && process.getuid?.() === 0;
/** Debian's `nobody`: not the user of these tests. */
const AS_NOBODY = ["--reuid=65534", "--regid=65534", "--clear-groups"];

let folder: string;
let team: string;
let database: { url: string } & AsyncDisposable;
const running: ChildProcess[] = [];
beforeEach(async () => {
  database = await testDatabaseUrl();
  folder = await mkdtemp(path.join(await realpath(tmpdir()), "dure-access-"));
  await symlink(PACKAGES, path.join(folder, "node_modules"));
  await dure(["init", "demo"], { cwd: folder });
  team = path.join(folder, "demo");
}, 60_000);
afterEach(async () => {
  for (const child of running.splice(0)) {
    if (child.exitCode !== null || child.signalCode !== null) continue;
    child.kill("SIGKILL");
    await once(child, "exit");
  }
  await rm(folder, { recursive: true, force: true });
  await database[Symbol.asyncDispose]();
  await stopTestServer();
});

interface Result {
  readonly exitCode: number;
  readonly stdout: string;
  readonly stderr: string;
}

function environment(more: Record<string, string>): Record<string, string> {
  const { PATH = "", HOME = "", NODE_COMPILE_CACHE = "" } = process.env;
  return {
    PATH,
    HOME,
    NODE_COMPILE_CACHE,
    DATABASE_URL: database.url,
    PORT: "0",
    LOG_LEVEL: "warn",
    ...more,
  };
}

function run(
  file: string,
  args: readonly string[],
  options: { cwd?: string; env?: Record<string, string> } = {},
): Promise<Result> {
  return new Promise((resolve) => {
    execFile(file, [...args], options, (error, stdout, stderr) =>
      resolve({ exitCode: error === null ? 0 : Number(error.code), stdout, stderr }),
    );
  });
}

function dure(
  args: readonly string[],
  { cwd = team, env = {} }: { cwd?: string; env?: Record<string, string> } = {},
): Promise<Result> {
  return run(process.execPath, ["--conditions=dure-source", PROGRAM, ...args], {
    cwd,
    env: environment(env),
  });
}

/** `dure start`; resolves with what it said until it was ready. */
async function start(
  env: Record<string, string> = {},
): Promise<{ url: string; said: string; child: ChildProcess }> {
  const child = spawn(process.execPath, ["--conditions=dure-source", PROGRAM, "start"], {
    cwd: team,
    env: environment(env),
    stdio: ["ignore", "pipe", "inherit"],
  });
  running.push(child);
  let said = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => (said += text));
  for (;;) {
    const url = /answers at (http\S+)\n.*\n(?:.*\n)?$/.exec(said)?.[1];
    if (url !== undefined) return { url, said, child };
    if (child.exitCode !== null) throw new Error(`ended with ${child.exitCode}: ${said}`);
    await Promise.race([once(child.stdout, "data"), once(child, "exit")]);
  }
}

interface Answer {
  readonly status: number;
  readonly code: string | undefined;
  readonly because: string | undefined;
  readonly body: string;
}

/** A real curl; `as` puts another user's name before it. */
async function curl(
  url: string,
  args: readonly string[] = [],
  as: readonly string[] = [],
): Promise<Answer> {
  const [file, ...rest] = [
    ...(as.length > 0 ? ["setpriv", ...as] : []),
    "curl",
    "--silent",
    "--show-error",
    "--max-time",
    "20",
    "--write-out",
    "\n%{http_code}",
    ...args,
    url,
  ];
  const { stdout, stderr } = await run(file, rest, {});
  const [, body = "", status] = /^([^]*)\n(\d{3})$/.exec(stdout) ?? [];
  if (status === undefined) throw new Error(`curl: ${stdout}${stderr}`);
  const { code, because } = (body.startsWith("{") ? JSON.parse(body) : {}) as {
    code?: string;
    because?: string;
  };
  return { status: Number(status), code, because, body };
}

const SAY = [
  "--header",
  "content-type: application/json",
  "--data",
  '{"session_id": "me", "message": "hello there"}',
];
const refused = (because: string): object => ({ status: 401, code: "TOKEN_NEEDED", because });

describe.runIf(isLinuxRoot)("at the machine of a server without tokens", () => {
  test(
    "its own user needs nothing but curl; another user, and proxies, get 401",
    { ...FULL, timeout: 120_000 },
    async () => {
      const { url, said } = await start();
      await using relay = await relayAsNobody(url);
      await using forwarding = createServer((incoming, outgoing) => {
        const headers = {
          ...incoming.headers,
          host: new URL(url).host,
          "x-forwarded-for": "203.0.113.9",
        };
        request(url + incoming.url!, { headers }, (answer) =>
          answer.pipe(outgoing.writeHead(answer.statusCode!, answer.headers)),
        ).end();
      }).listen(0, "127.0.0.1");
      await once(forwarding, "listening");

      const own = await curl(`${url}/v1/agent/chat/stream`, ["--no-buffer", ...SAY]);
      const otherUser = await curl(`${url}/v1/agent/chat/stream`, SAY, AS_NOBODY);
      const through = await curl(
        `http://127.0.0.1:${(forwarding.address() as AddressInfo).port}/v1/services`,
      );
      const relayed = await curl(`${relay.url}/v1/services`);

      expect(said).toContain("Without a token: only you, the user who runs the server");
      expect([own.status, own.body]).toEqual([200, expect.stringContaining("event: DONE")]);
      expect(otherUser).toMatchObject(refused("other-user"));
      expect(through).toMatchObject(refused("forwarded"));
      expect(relayed).toMatchObject(refused("other-user"));
      expect(await curl(`${url}/v1/services`, ["--http1.0"])).toMatchObject(refused("http-1.0"));
      expect(
        await curl(`${url}/v1/services`, ["--header", "authorization: Bearer wrong"]),
      ).toMatchObject({ status: 401, code: "TOKEN_INVALID" });
      expect(await curl(`${url}/v1/agent/chat/stream?session_id=me&message=hi`)).toMatchObject({
        status: 403,
        code: "ORIGIN_NOT_ALLOWED",
      });
      expect((await curl(`${url}/healthz`, [], AS_NOBODY)).status).toBe(200);
    },
  );

  test(
    "the first token closes it for all processes within 2 s, and the command line goes on",
    { ...FULL, timeout: 180_000 },
    async () => {
      const [first, second] = [await start(), await start()];
      expect([
        (await curl(`${first.url}/v1/me`)).status,
        (await curl(`${second.url}/v1/me`)).status,
      ]).toEqual([200, 200]);

      const made = await dure(["token", "create", "mina", "--scopes", "chat"]);
      const madeAt = performance.now();
      await expect
        .poll(async () =>
          (await Promise.all([first, second].map(({ url }) => curl(`${url}/v1/me`)))).map(
            ({ because }) => because,
          ),
        )
        .toEqual(["token-exists", "token-exists"]);
      const tookMs = performance.now() - madeAt;

      expect(tookMs).toBeLessThan(boundMs(2_000));
      const file = path.join(team, ".dure", "local-token");
      expect(made.stderr).toContain(`dure goes on with ${file}; dure login opens the page`);
      expect(made.stderr).toContain("An agent is called mina: a person cannot speak in rooms");
      expect((await stat(file)).mode & 0o777).toBe(0o600);
      const mina = ["--header", `authorization: Bearer ${made.stdout.trim()}`];
      expect((await curl(`${second.url}/v1/services`, mina, AS_NOBODY)).status).toBe(200);
      const chat = await dure(["chat", "--url", second.url, "hello there"]);
      expect(chat).toMatchObject({ exitCode: 0, stderr: "" });
      expect(chat.stdout).toContain("no model");

      const link = await dure(["login", "--url", first.url, "--json"]);
      const { url: page } = JSON.parse(link.stdout) as { url: string };
      const once = JSON.stringify({ once: new URL(page).searchParams.get("once") });
      const jar = path.join(folder, "cookies");
      const logIn = (...more: string[]): Promise<Answer> =>
        curl(`${second.url}/v1/login`, [
          ...more,
          "--header",
          "content-type: application/json",
          "--data",
          once,
        ]);
      expect([(await logIn("--cookie-jar", jar)).status, (await logIn()).code]).toEqual([
        204,
        "LOGIN_LINK_INVALID",
      ]);
      expect(await readFile(jar, "utf8")).toContain("#HttpOnly_127.0.0.1");

      const { items } = JSON.parse((await dure(["token", "sessions", "--json"])).stdout) as {
        items: { id: string; token_id: string }[];
      };
      expect(items).toMatchObject([{ token_id: "token_local" }]);
      expect((await dure(["token", "sessions", "--end", items[0]!.id])).stdout).toContain(
        "has ended",
      );
      expect((await dure(["token", "sessions"])).stderr).toContain("No browser is logged in.");
      const elsewhere = await dure(["chat", "--url", second.url, "hello"], { cwd: folder });
      expect([elsewhere.exitCode, elsewhere.stderr]).toEqual([
        1,
        expect.stringMatching(/TOKEN_NEEDED[^]*dure login/),
      ]);
    },
  );

  test(
    "where it is asked for, a link printed at the start opens the page once",
    { ...FULL, timeout: 180_000 },
    async () => {
      const { url, said } = await start({ DURE_LOGIN_ALWAYS: "true" });
      const [, link = ""] = /(http\S+\/login\?once=\S+)/.exec(said) ?? [];
      const once = JSON.stringify({ once: new URL(link).searchParams.get("once") });
      const logIn = (): Promise<Answer> =>
        curl(`${url}/v1/login`, ["--header", "content-type: application/json", "--data", once]);

      expect(await curl(`${url}/v1/me`)).toMatchObject(refused("login-always"));
      expect(await dure(["chat", "--url", url, "hello there"])).toMatchObject({
        exitCode: 0,
        stdout: expect.stringContaining("no model") as string,
      });
      expect([(await logIn()).status, (await logIn()).status]).toEqual([204, 401]);
      const doctor = JSON.parse(
        (await dure(["doctor", "--json"], { env: { DURE_LOGIN_ALWAYS: "true" } })).stdout,
      ) as { checks: { name: string; detail: string }[] };
      expect(doctor.checks.find(({ name }) => name === "access")?.detail).toBe(
        "Every caller needs a token or a login (`server.loginAlways` is set).",
      );
      const usual = JSON.parse((await dure(["doctor", "--json"])).stdout) as {
        checks: { name: string; detail: string }[];
      };
      expect(usual.checks.find(({ name }) => name === "access")?.detail).toMatch(
        /^Without a token: only you/,
      );
    },
  );

  test(
    "the command line gives its token to no program of another user",
    { ...FULL, timeout: 120_000 },
    async () => {
      await dure(["token", "create", "mina"]);
      await using thief = await relayAsNobody("http://127.0.0.1:1", "thief");

      const chat = await dure(["chat", "--url", thief.url, "hello"]);

      expect(chat.exitCode).toBe(1);
      expect(thief.heard()).toContain("GET /v1/me");
      expect(thief.heard()).not.toContain("dure_local_");
    },
  );
});

/**
 * What `nobody` runs: a relay that copies bytes and adds nothing, or a server that asks for a token
 * and writes down what it is sent.
 */
const RELAY = `
  const net = require("node:net");
  const [kind, port] = process.argv.slice(1);
  const server = net.createServer((client) => {
    client.on("error", () => {});
    if (kind === "thief") {
      client.on("data", (bytes) => {
        process.stdout.write(bytes);
        const isHealth = bytes.toString().startsWith("GET /healthz");
        const body = JSON.stringify(isHealth ? { status: "ok", version: "1" } : { code: "TOKEN_NEEDED", detail: "give" });
        client.write("HTTP/1.1 " + (isHealth ? "200 OK" : "401 Unauthorized") + "\\r\\ncontent-type: application/json\\r\\ncontent-length: " + body.length + "\\r\\n\\r\\n" + body);
      });
      return;
    }
    const there = net.connect(Number(port), "127.0.0.1");
    there.on("error", () => client.destroy());
    client.pipe(there).pipe(client);
  });
  server.listen(0, "127.0.0.1", () => console.log("PORT " + server.address().port));
`;

async function relayAsNobody(
  url: string,
  kind = "relay",
): Promise<{ url: string; heard: () => string } & AsyncDisposable> {
  const child = spawn(
    "setpriv",
    [...AS_NOBODY, process.execPath, "-e", RELAY, kind, new URL(url).port],
    { cwd: "/", env: {}, stdio: ["ignore", "pipe", "inherit"] },
  );
  running.push(child);
  let heard = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => (heard += text));
  while (!heard.includes("\n")) {
    await Promise.race([
      once(child.stdout, "data"),
      once(child, "exit").then(() => Promise.reject(new Error("the relay ended"))),
    ]);
  }
  const port = /PORT (\d+)/.exec(heard)![1]!;
  return {
    url: `http://127.0.0.1:${port}`,
    heard: () => heard,
    async [Symbol.asyncDispose]() {
      child.kill("SIGKILL");
      if (child.exitCode === null && child.signalCode === null) await once(child, "exit");
    },
  };
}
