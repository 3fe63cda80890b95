// @module-tag slow
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import {
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  realpath,
  rm,
  symlink,
  writeFile,
} from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { Writable } from "node:stream";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { messageFor } from "./chat.ts";
import { matters } from "./dev.ts";
import { displayWidth } from "./output.ts";
import { main } from "./program.ts";
import { packageName } from "./init-team.ts";
import { namesOf } from "./scaffold.ts";
import { FULL } from "../kernel/test-tiers.ts";

const PROGRAM = fileURLToPath(new URL("./main.ts", import.meta.url));
const PACKAGES = fileURLToPath(new URL("../../../../node_modules", import.meta.url));

/** The folder of a person who has the package `dure` installed. */
let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(path.join(await realpath(tmpdir()), "dure-cli-"));
  await symlink(PACKAGES, path.join(folder, "node_modules"));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

interface Result {
  readonly exitCode: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs the command line as a person does: another process. */
function dure(
  args: readonly string[],
  options: { env?: Record<string, string>; input?: string; cwd?: string } = {},
): Promise<Result> {
  return new Promise((resolve, reject) => {
    const { PATH = "", HOME = "", NODE_COMPILE_CACHE } = process.env;
    const child = spawn(process.execPath, ["--conditions=dure-source", PROGRAM, ...args], {
      cwd: options.cwd ?? folder,
      env: { PATH, HOME, NODE_COMPILE_CACHE, ...options.env },
    });
    let stdout = "";
    let stderr = "";
    child.stdout.setEncoding("utf8").on("data", (text: string) => (stdout += text));
    child.stderr.setEncoding("utf8").on("data", (text: string) => (stderr += text));
    child.on("error", reject);
    child.on("close", (exitCode) => resolve({ exitCode, stdout, stderr }));
    child.stdin.end(options.input ?? "");
  });
}

/** Runs it in this process, before streams that say whether they are a terminal. */
async function said(
  args: readonly string[],
  { isTTY = false }: { isTTY?: boolean } = {},
): Promise<Result> {
  const written = { stdout: "", stderr: "" };
  const stream = (name: keyof typeof written): NodeJS.WriteStream =>
    Object.assign(
      new Writable({
        write: (part: Buffer, _, done) => ((written[name] += part.toString()), done()),
      }),
      { isTTY },
    ) as unknown as NodeJS.WriteStream;
  const exitCode = await main(args, {
    stdin: process.stdin,
    stdout: stream("stdout"),
    stderr: stream("stderr"),
  });
  return { exitCode, ...written };
}

/** @param value absent: not set, whatever the machine of the test has. */
async function withNoColor<Value>(
  value: string | undefined,
  work: () => Promise<Value>,
): Promise<Value> {
  vi.stubEnv("NO_COLOR", value);
  try {
    return await work();
  } finally {
    vi.unstubAllEnvs();
  }
}

describe("usage", () => {
  test("every command has help with an example, and --json", async () => {
    const { stdout: completion } = await said(["completion", "bash"]);
    const known = [...completion.matchAll(/^ +"([^"]+)"\) words="([^"]*)"/gm)].map(
      ([, path = "", words = ""]) => ({ path: path.split(" "), isGroup: !words.startsWith("--") }),
    );
    const commands = known.filter(({ isGroup }) => !isGroup).map(({ path }) => path);

    for (const command of commands) {
      const { exitCode, stdout } = await said([...command, "--help"]);
      expect([command, exitCode]).toEqual([command, 0]);
      expect(stdout, command.join(" ")).toMatch(/Examples?:\n {2}\$ .*dure /);
      expect(stdout, command.join(" ")).toContain("--json");
    }
    const wanted = [
      "dev",
      "start",
      "init",
      "new service",
      "new agent",
      "new tool",
      "new skill",
      "new plan",
      "check",
      "doctor",
      "chat",
      "reload",
      "events",
      "rooms resume",
      "jobs list",
      "plan check",
      "escalations list",
      "token create",
      "db migrate",
      "db backup",
      "db restore",
      "db stats",
    ];
    expect(commands.map((command) => command.join(" "))).toEqual(expect.arrayContaining(wanted));
  });

  test.each([false, true])(
    "the log (for a person: %s) holds what a field that keeps a secret is called, and not the secret",
    async (isTerminal) => {
      const secret = "key-47110815";
      const fields = {
        token: secret,
        provider: { apiKey: secret, password: secret },
        request: { authorization: secret, databaseUrl: secret },
        turn: "turn_1",
      };
      const logger = new URL("./logger.ts", import.meta.url).href;
      const script =
        `(await import(${JSON.stringify(logger)})).createLogger({ level: "debug", isTerminal: ` +
        `${isTerminal} }).debug(${JSON.stringify(fields)}, "one line")`;
      const child = spawn(
        process.execPath,
        ["--conditions=dure-source", "--input-type=module", "--eval", script],
        { stdio: ["ignore", "ignore", "pipe"] },
      );
      let stderr = "";
      child.stderr.setEncoding("utf8").on("data", (text: string) => (stderr += text));
      await once(child, "close");

      expect(stderr).toContain("one line");
      expect(stderr).not.toContain(secret);
      if (!isTerminal) {
        expect(JSON.parse(stderr)).toMatchObject({
          token: "[secret]",
          turn: "turn_1",
          provider: { apiKey: "[secret]" },
        });
      }
    },
  );

  test("on a terminal that says no width a task stands on one line, as on one of 80 columns", async () => {
    const [output, tasks] = ["./output.ts", "./tasks.ts"].map((file) =>
      JSON.stringify(new URL(file, import.meta.url).href),
    );
    const script = `Object.assign(process.stdout, { isTTY: true, columns: 0, rows: 0 });
      const { Output } = await import(${output}); const { runTasks } = await import(${tasks});
      await runTasks(new Output({ streams: process, json: false, noColor: true }), [{ title: "Back up to a file with a name", run: async () => "12 rows" }]);`;
    const child = spawn(
      process.execPath,
      ["--conditions=dure-source", "--input-type=module", "--eval", script],
      { stdio: ["ignore", "pipe", "inherit"] },
    );
    let written = "";
    child.stdout.setEncoding("utf8").on("data", (text: string) => (written += text));
    await once(child, "close");

    expect(written).toContain("Back up to a file with a name: 12 rows");
  });

  test("colours are for a person at a terminal who has not turned them off", async () => {
    const refused = ["completion", "tcsh"];

    const usual = await withNoColor(undefined, async () => [
      await said(refused, { isTTY: true }),
      await said(refused),
      await said([...refused, "--json"], { isTTY: true }),
    ]);
    const off = await withNoColor("1", () => said(refused, { isTTY: true }));
    const coloured = [...usual, off].map(({ stderr }) => stderr.includes("\u001b["));

    expect(coloured).toEqual([true, false, false, false]);
  });

  test("an unknown command suggests the one that was meant, and exits with 2", async () => {
    expect(await dure(["chta"])).toMatchObject({
      exitCode: 2,
      stdout: "",
      stderr: expect.stringContaining("Did you mean chat?") as string,
    });

    const { exitCode, stderr } = await dure(["chta", "--json"]);
    expect(exitCode).toBe(2);
    expect(JSON.parse(stderr)).toMatchObject({
      code: "USAGE",
      detail: "unknown command 'chta' (Did you mean chat?).",
    });
  });

  test(
    "no command, an unknown option and a missing argument exit with 2; the version with 0",
    FULL,
    async () => {
      const [none, option, argument, version] = await Promise.all([
        dure([]),
        dure(["chat", "--sevice", "x"]),
        dure(["init"]),
        dure(["--version"]),
      ]);

      expect([none.exitCode, option.exitCode, argument.exitCode, version.exitCode]).toEqual([
        2, 2, 2, 0,
      ]);
      expect(option.stderr).toContain("Did you mean --service?");
      expect(version.stdout.trim()).toMatch(/^\d+\.\d+\.\d+$/);
    },
  );

  test("completion names the commands of the program", FULL, async () => {
    for (const shell of ["bash", "zsh", "fish"]) {
      expect((await dure(["completion", shell])).stdout).toMatch(/restore/);
    }
    expect(await dure(["completion", "tcsh"])).toMatchObject({
      exitCode: 2,
      stderr: expect.stringContaining("Use bash, zsh, fish.") as string,
    });
  });
});

describe("init, new, check", () => {
  test("a new team passes its own check, and so does a service added to it", FULL, async () => {
    const init = await dure(["init", "우리 팀"]);
    const team = path.join(folder, "우리-팀");
    expect(init).toMatchObject({
      exitCode: 0,
      stdout: expect.stringContaining("Next: cd 우리-팀 && npx dure dev") as string,
    });
    expect(await readFile(path.join(team, "dure.config.ts"), "utf8")).toContain('name: "우리 팀"');
    expect(JSON.parse(await readFile(path.join(team, "package.json"), "utf8"))).toMatchObject({
      name: "uri-tim",
      dependencies: { dure: expect.stringMatching(/^\^\d/) as string },
    });
    expect(await readFile(path.join(team, ".gitignore"), "utf8")).toContain(".dure/");

    const made = await dure(["new", "service", "faq", "--json"], { cwd: team });
    expect(JSON.parse(made.stdout)).toMatchObject({
      folder: path.join(team, "services", "faq"),
      name: "faq",
    });

    const check = await dure(["check", "--json"], { cwd: team });
    expect(check.stderr).toBe("");
    expect(JSON.parse(check.stdout)).toMatchObject({
      ok: true,
      services: [
        { name: "faq", problems: [] },
        { name: "minimal", problems: [] },
      ],
    });
  });

  test.each([
    ["ko", "plans", "anthropic"],
    ["en", "chat", "openai"],
  ])(
    "a team in %s that begins with %s passes its own check without a question",
    FULL,
    async (locale, begin, provider) => {
      const options = ["--locale", locale, "--begin", begin, "--provider", provider];
      expect(await dure(["init", "first", ...options])).toMatchObject({
        exitCode: 0,
        stdout: expect.stringMatching(
          locale === "ko"
            ? /first\/\.env에 .*_API_KEY를 넣어 주세요[^]*다음: cd first/
            : /_API_KEY into first\/\.env\.[^]*Next: cd first/,
        ) as string,
      });

      const team = path.join(folder, "first");
      const check = await dure(["check", "--json"], { cwd: team });
      const config = await readFile(path.join(team, "dure.config.ts"), "utf8");

      expect(check.stderr).toBe("");
      expect(JSON.parse(check.stdout)).toMatchObject({ ok: true });
      expect(config).toContain(`locale: "${locale}"`);
      expect(config).toMatch(new RegExp(`^  model: "${provider}:`, "m"));
      expect(config).not.toContain("{{");
      const parts = await readdir(team);
      expect(parts.includes("agents")).toBe(begin !== "chat");
      expect(parts.includes("plans")).toBe(begin === "plans");
    },
  );

  test(
    "a part of a team is made in a team alone, and elsewhere nothing is written",
    FULL,
    async () => {
      for (const part of ["service", "agent", "tool", "skill"]) {
        expect(await dure(["new", part, "faq"])).toMatchObject({
          exitCode: 2,
          stderr: expect.stringMatching(/^TEAM_NOT_FOUND .*\nHint: Make one: dure init/) as string,
        });
      }
      expect(await readdir(folder)).toEqual(["node_modules"]);
    },
  );

  test("a folder that is not empty is refused and left as it was", async () => {
    await mkdir(path.join(folder, "shop"));
    await writeFile(path.join(folder, "shop", "mine.txt"), "mine");

    const result = await dure(["init", "shop", "--json"]);

    expect(result.exitCode).toBe(2);
    expect(JSON.parse(result.stderr)).toMatchObject({
      code: "FOLDER_NOT_EMPTY",
      files: ["mine.txt"],
    });
  });

  test.each([["../out"], ["-x y/z"], ["a:b"], [" "]])(
    "the name %j is refused with what is allowed",
    async (name) => {
      expect(await dure(["init", "--", name])).toMatchObject({
        exitCode: 2,
        stderr: expect.stringContaining("Use 1 to 64 letters (한글 too)") as string,
      });
    },
  );

  test("check exits with 1 and names file, line and what to call instead", FULL, async () => {
    await writeFile(
      path.join(folder, "service.yaml"),
      "name: late\nagents: {}\nflows: { handlers: { DEFAULT: answer } }\n",
    );
    await writeFile(
      path.join(folder, "flows.ts"),
      "export async function* answer() {\n  return { message: String(Date.now()) };\n}\n",
    );

    const plain = await dure(["check"]);
    const json = await dure(["check", "--json"]);

    expect(plain).toMatchObject({
      exitCode: 1,
      stdout: expect.stringMatching(
        /^fail flows\.ts:2:28 answer: Date\.now\(\) gives another answer.*Call turn\.now\(\)\n1 problem\n$/,
      ) as string,
    });
    expect(JSON.parse(json.stdout)).toMatchObject({
      ok: false,
      services: [{ problems: [{ file: "flows.ts", line: 2, column: 28 }] }],
    });
  });

  test("check exits with 0 where it only warns", FULL, async () => {
    await writeFile(
      path.join(folder, "service.yaml"),
      "name: shop\nagents: {}\nflows: { handlers: { DEFAULT: answer } }\n",
    );
    await writeFile(
      path.join(folder, "flows.ts"),
      'export async function* answer() {\n  return { message: "다 팔렸어요." };\n}\n',
    );

    expect(await dure(["check"])).toMatchObject({
      exitCode: 0,
      stdout: expect.stringMatching(
        /^ok {3}shop \(.*\)\nwarn TEXT_IN_FLOW flows\.ts:2:12 answer: says a text .*\n1 warning\n$/,
      ) as string,
    });
  });

  test("a configuration with mistakes exits with 2 and lists them all", async () => {
    await writeFile(
      path.join(folder, "dure.yaml"),
      "locale: kr\nserver: { prot: 1 }\nservices: { a: ./a }\n",
    );

    const result = await dure(["start"]);

    expect(result.exitCode).toBe(2);
    expect(result.stderr).toContain("CONFIG_INVALID dure.yaml has 2 problems:");
    expect(result.stderr).toContain(
      'dure.yaml:1:1 locale: cannot be used; found "kr"; allowed: ko, en',
    );
    expect(result.stderr).toContain(
      'dure.yaml:2:11 server.prot: unknown key "prot"; did you mean "port"?',
    );
    expect(result.stderr).toContain("Hint:");
  });

  test("a wrong variable, also from .env, exits with 2", FULL, async () => {
    await writeFile(path.join(folder, ".env"), "PORT=many\n");

    expect(await dure(["start"])).toMatchObject({
      exitCode: 2,
      stderr: expect.stringContaining('PORT: found "many"; allowed: a whole number') as string,
    });
    expect(await dure(["start"], { env: { PORT: "-1" } })).toMatchObject({
      exitCode: 2,
      stderr: expect.stringContaining('PORT: found "-1"') as string,
    });
  });
});

describe("talking to a server", () => {
  /** The wire as the server of dure speaks it, with an answer that asks for a confirmation. */
  function answerTurn(
    requests: { path: string; body: string; authorization: string | undefined }[],
  ): Server {
    return createServer((request, response) => {
      let body = "";
      request.setEncoding("utf8").on("data", (text: string) => (body += text));
      request.on("end", () => {
        requests.push({
          path: request.url ?? "",
          body,
          authorization: request.headers.authorization,
        });
        if (request.url === "/healthz") return response.end("{}");
        if (request.url !== "/v1/agent/chat/stream") {
          response.writeHead(404, { "content-type": "application/problem+json" });
          return response.end(
            JSON.stringify({
              code: "ROUTE_UNKNOWN",
              detail: "No such route.",
              hint: "Look at /openapi.json.",
              status: 404,
            }),
          );
        }
        response.writeHead(200, { "content-type": "text/event-stream", "turn-id": "turn_1" });
        const frame = (seq: number | undefined, event: string, data: unknown): void =>
          void response.write(
            `${seq === undefined ? "" : `id: turn_1.${seq}\n`}event: ${event}\ndata: ` +
              `${JSON.stringify(data)}\n\n`,
          );
        frame(1, "AGENT_START", { agent: "helper", label: "답변 작성 중" });
        frame(undefined, "LLM_TOKEN", "보낼까");
        frame(undefined, "LLM_TOKEN", "요?");
        frame(2, "DONE", {
          message: "보낼까요?",
          next_action: "CONFIRM",
          ui_hint: { buttons: ["확인", "취소"], confirm_id: "c1" },
          state_snapshot: {},
          hooks: [],
          _trace: { turn_id: "turn_1", total_elapsed_ms: 1, agents: [] },
        });
        return response.end();
      });
    });
  }

  async function withServer<Value>(
    work: (
      url: string,
      requests: { path: string; body: string; authorization: string | undefined }[],
    ) => Promise<Value>,
  ): Promise<Value> {
    const requests: { path: string; body: string; authorization: string | undefined }[] = [];
    const server = answerTurn(requests);
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    try {
      return await work(`http://127.0.0.1:${(server.address() as AddressInfo).port}`, requests);
    } finally {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    }
  }

  test(
    "chat with a message prints the answer as text, or as JSON of the wire, and sends the token",
    FULL,
    async () => {
      await withServer(async (url, requests) => {
        const plain = await dure(["chat", "--session", "mina", "5만원 보내줘"], {
          env: { DURE_URL: url, DURE_TOKEN: "0123456789abcdef" },
        });
        const json = await dure([
          "chat",
          "--json",
          "--url",
          url,
          "--session",
          "mina",
          "5만원 보내줘",
        ]);

        expect(plain).toEqual({
          exitCode: 0,
          stdout: "보낼까요?\n  1) 확인\n  2) 취소\n",
          stderr: "",
        });
        expect(requests.find(({ path }) => path.endsWith("/stream"))).toMatchObject({
          body: JSON.stringify({ message: "5만원 보내줘", session_id: "mina" }),
          authorization: "Bearer 0123456789abcdef",
        });
        expect(JSON.parse(json.stdout)).toMatchObject({
          session_id: "mina",
          turn_id: "turn_1",
          interaction: { next_action: "CONFIRM", ui_hint: { confirm_id: "c1" } },
        });
      });
    },
  );

  test(
    "chat reads a pipe line by line, and a number chooses a button with what it was bound to",
    FULL,
    async () => {
      await withServer(async (url, requests) => {
        const { exitCode } = await dure(["chat", "--url", url, "--session", "mina"], {
          input: "5만원 보내줘\n1\n",
        });

        const sent = requests
          .filter(({ path }) => path.endsWith("/stream"))
          .map(({ body }) => JSON.parse(body) as object);
        expect(exitCode).toBe(0);
        expect(sent).toEqual([
          { message: "5만원 보내줘", session_id: "mina" },
          { message: "확인", confirm_id: "c1", session_id: "mina" },
        ]);
      });
    },
  );

  test("an answer of the server that is an error is code, message and hint", async () => {
    await withServer(async (url) => {
      const plain = await dure(["events", "--url", url]);
      expect(plain).toMatchObject({
        exitCode: 1,
        stderr: "ROUTE_UNKNOWN No such route.\nHint: Look at /openapi.json.\n",
      });
    });
  });

  test("without a server the hint says how to start one", async () => {
    const url = await withServer((address) => Promise.resolve(address)); // it is gone now

    const [plain, json] = await Promise.all([
      dure(["chat", "--url", url, "hi"]),
      dure(["events", "--json", "--url", url]),
    ]);

    expect(plain).toMatchObject({
      exitCode: 1,
      stderr: expect.stringMatching(
        /^SERVER_UNREACHABLE Nothing answers at http:\/\/127\.0\.0\.1:\d+: .*ECONNREFUSED.*\nHint: Start the team/,
      ) as string,
    });
    expect(JSON.parse(json.stderr)).toMatchObject({
      code: "SERVER_UNREACHABLE",
      hint: expect.any(String) as string,
    });
  });

  test("a session's id that no server accepts is a wrong usage", async () => {
    expect(await dure(["chat", "--session", "나", "hi"])).toMatchObject({
      exitCode: 2,
      stderr: expect.stringContaining("SESSION_INVALID") as string,
    });
  });
});

describe("small decisions", () => {
  test("each button carries the id of its question, and a number without a button is a message", () => {
    const done = {
      message: "?",
      nextAction: "CONFIRM",
      uiHint: { buttons: ["확인", "취소"], confirmId: "c" },
      stateSnapshot: {},
      hooks: [],
      trace: { turnId: "t", totalElapsedMs: 1, agents: [] },
    } as const;

    expect([
      messageFor("1", done),
      messageFor("2", done),
      messageFor("3", done),
      messageFor("1", undefined),
    ]).toEqual([
      { message: "확인", confirmId: "c" },
      { message: "취소", confirmId: "c" },
      { message: "3" },
      { message: "1" },
    ]);
  });

  test("dev restarts for sources, settings and prompts, not for data and packages", () => {
    const files = [
      "dure.config.ts",
      "services/faq/service.yaml",
      "services/faq/prompt.md",
      ".env",
      ".dure/data/x.json",
      "node_modules/a/index.js",
      "services/faq/faq.test.ts",
      "image.png",
    ];

    expect(files.filter((file) => matters(file.split("/").join(path.sep)))).toEqual(
      files.slice(0, 4),
    );
  });

  test("names keep 한글; packages get what npm allows", () => {
    expect(namesOf(" 우리  팀 ", "team")).toEqual({ title: "우리 팀", name: "우리-팀" });
    expect(["Shop", "환불팀", "결제-팀-2", "Café", "班"].map(packageName)).toEqual([
      ...["shop", "hwanbultim", "gyeolje-tim-2", "cafe", "my-team"],
    ]);
    expect(displayWidth("두레 ok")).toBe(7);
  });
});
