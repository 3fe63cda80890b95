// @module-tag slow
import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readFile, realpath, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { stopTestServer, testDatabaseUrl } from "../../src/durable/test-database.ts";
import { FULL } from "../../src/kernel/test-tiers.ts";
import { eventually } from "../until.ts";
import { korean, notKorean } from "./mixed-lines.ts";

const PROGRAM = fileURLToPath(new URL("../../src/cli/main.ts", import.meta.url));
const PACKAGES = fileURLToPath(new URL("../../../../node_modules", import.meta.url));
/** Names of the team that `dure init` makes, and what git says. */
const GIVEN = ["demo", "minimal", "mina", "theo", "git version"];
/** Commands with nothing to show, with tables, and refused ones. */
const ASKED = [
  ...["jobs list", "jobs audit", "schedules list", "escalations list", "plan list", "plan runs"],
  ...["audit", "token list", "token sessions", "knowledge list", "reload", "db stats"],
  ...["pause mina", "resume mina", "stop room nowhere", "plan status run_1", "plan check nowhere"],
  ...["schedules run nowhere", "escalations show escalation_1", "jobs show job_1"],
  ...["token create mina --scopes chat", "mcp logout nowhere", "chat hi --service nowhere"],
];

/** Names in what these say. */
const SERVED = [
  ...["demo", "minimal", "mina", "theo", "nowhere", "ask_agent", "dure.", "handbook", "knowledge"],
  ...["AGENT TARGET MESSAGE", "dure jobs ask", "dure new plan", "dure plan run", "dure login"],
  ...["dure token create", "127.0.0.1", "id ", "chat", "local-token", "agent", "admin", "rooms"],
];

/** Names of commands and values in help. */
const HELP_GIVEN = [
  ...["dev", "start", "init", "new", "check", "doctor", "chat", "login", "reload", "events"],
  ...["rooms", "jobs", "schedules", "pause", "resume", "stop", "plan", "task", "knowledge", "hook"],
  ...["acp", "escalations", "audit", "token", "completion", "help", "dure", "retry", "words"],
  ...["claude", "codex", "opencode", "gemini", "qwen", "pair", "orchestrator", "list", "show"],
  ...["watch", "ask", "cancel", "speak", "purge", "mcp", "undo", "eval"],
];
const KOREAN = { LANG: "ko_KR.UTF-8" };

let folder: string;
let team: string;
const running: ChildProcess[] = [];

beforeAll(async () => {
  folder = await mkdtemp(path.join(await realpath(tmpdir()), "dure-ko-"));
  await symlink(PACKAGES, path.join(folder, "node_modules"));
  await dure(["init", "demo", "--yes", "--locale", "ko"], folder, KOREAN).ended;
  team = path.join(folder, "demo");
});

afterEach(async () => {
  for (const child of running.splice(0)) {
    if (child.exitCode !== null || child.signalCode !== null) continue;
    child.kill("SIGKILL");
    await once(child, "exit");
  }
});

afterAll(async () => {
  await rm(folder, { recursive: true, force: true });
  await stopTestServer();
});

test("a start at a Korean terminal says in Korean where it answers, and who may come in", async () => {
  await using database = await testDatabaseUrl();
  const started = dure(["start"], team, { ...KOREAN, DATABASE_URL: database.url, PORT: "0" });

  await eventually(() => expect(started.text()).toContain("준비됐어요: http://127.0.0.1:"));
  started.child.kill("SIGTERM");
  const { text } = await started.ended;

  expect(text).toContain("토큰 없이는 서버를 켠 사용자만");
  expect(notKorean(text, GIVEN)).toEqual([]);
});

const EACH = { ...FULL, timeout: 120_000 }; // some twenty processes, one after the other

test("commands that talk to a server, or to the database, speak Korean", EACH, async () => {
  await using database = await testDatabaseUrl();
  const env = { ...KOREAN, DATABASE_URL: database.url };
  const started = dure(["start"], team, { ...env, PORT: "0" });
  await eventually(() => expect(started.text()).toContain("준비됐어요"));
  const said: string[] = [];
  for (const line of ASKED) {
    const { text } = await dure(line.split(" "), team, env).ended;
    said.push(text);
  }

  expect(said.every((text) => korean(text).length > 0)).toBe(true);
  expect(said.flatMap((text) => notKorean(text, SERVED))).toEqual([]);
});

test("doctor in an empty folder says in Korean what is missing", async () => {
  const empty = await mkdtemp(path.join(folder, "empty-"));

  const { text, exitCode } = await dure(["doctor"], empty, KOREAN).ended;

  expect(exitCode).toBe(1);
  expect(text).toContain("문제 1개: 설정. 먼저 볼 것: CONFIG_MISSING");
  expect(notKorean(text, GIVEN)).toEqual([]);
});

test("doctor of a new team is Korean from its first line to the table of limits", async () => {
  const { text } = await dure(["doctor", "--settings"], team, { ...KOREAN, PORT: "0" }).ended;

  expect(text).toContain("아직 모델을 정하지 않아서");
  expect(text).toContain("기본값(docs/spec/platform §6)");
  expect(notKorean(text, GIVEN)).toEqual([]);
});

test("the table of limits lines up with wide letters", async () => {
  const { text } = await dure(["doctor", "--settings"], team, { ...KOREAN, PORT: "0" }).ended;
  const rows = text.split("\n").filter((line) => / 기본값\(docs/.test(line));
  const columns = rows.map((line) => widthOf(line.slice(0, line.indexOf("기본값"))));

  expect(rows.length).toBeGreaterThan(30);
  expect(new Set(columns).size).toBe(1);
});

test("check names each mistake in Korean, at its line", async () => {
  const broken = path.join(team, "services", "minimal", "service.ts");
  const before = await readFile(broken, "utf8");
  await writeFile(broken, before.replace("turn.done(", "Date.now(); turn.done("));
  const { text, exitCode } = await dure(["check"], team, KOREAN).ended;
  await writeFile(broken, before);

  expect(exitCode).toBe(1);
  expect(text).toMatch(
    /문제 services\/minimal\/service\.ts:\d+:\d+ .*Date\.now\(\).*다른 답을 줘요/,
  );
  expect(text).toContain("고칠 곳 1군데");
  expect(notKorean(text, GIVEN)).toEqual([]);
});

test.each([
  { args: ["strat"], says: "`strat` 명령이 없어요. 혹시 `start`인가요?" },
  { args: ["start", "--porrt"], says: "`--porrt` 옵션이 없어요." },
  { args: ["task", "x"], says: "--accept 옵션이 필요해요. 저장소에도 없어요." },
  { args: ["rooms", "list"], says: "폴더에 팀이 없어요." },
  { args: ["new", "service", "a/b"], says: "서비스의 이름으로 쓸 수 없어요." },
])("a wrong command line is refused in Korean: $args", async ({ args, says }) => {
  const { text, exitCode } = await dure(args, folder, KOREAN).ended;

  expect(exitCode).toBe(2);
  expect(text).toContain(says);
  expect(notKorean(text, GIVEN)).toEqual([]);
});

test.each(["--help", "task --help", "plan retry --help", "help jobs"])(
  "help is Korean: %s",
  async (line) => {
    const { text, exitCode } = await dure(line.split(" "), folder, KOREAN).ended;
    const [words = ""] = text.split("\n예:");

    expect(exitCode).toBe(0);
    expect(words).toContain("옵션:");
    expect(notKorean(words, HELP_GIVEN)).toEqual([]);
  },
);

test.each([
  { rule: "LC_ALL goes first", env: { LC_ALL: "en_US.UTF-8", LANG: "ko_KR.UTF-8" } },
  { rule: "LC_MESSAGES goes before LANG", env: { LC_MESSAGES: "C", LANG: "ko_KR.UTF-8" } },
  { rule: "another language that begins so is none", env: { LANG: "kok_IN" } },
  { rule: "no language is English", env: {} },
])("a terminal is English where $rule", async ({ env }) => {
  const { text } = await dure(["rooms", "list"], folder, env).ended;

  expect(text).toContain("There is no team in");
  expect(korean(text)).toEqual([]);
});

test("an empty LC_ALL counts as none", async () => {
  const { text } = await dure(["rooms", "list"], folder, { LC_ALL: "", ...KOREAN }).ended;

  expect(text).toContain("폴더에 팀이 없어요.");
});

test("JSON is the same at a Korean terminal", async () => {
  const { text } = await dure(["rooms", "list", "--json"], folder, KOREAN).ended;

  expect(JSON.parse(text)).toMatchObject({
    code: "TEAM_NOT_FOUND",
    title: `There is no team in ${folder}.`,
  });
});

interface Ended {
  readonly exitCode: number | null;
  readonly text: string;
}

function dure(args: readonly string[], cwd: string, env: Readonly<Record<string, string>>) {
  const { PATH = "", HOME = "", NODE_COMPILE_CACHE } = process.env;
  const child = spawn(process.execPath, ["--conditions=dure-source", PROGRAM, ...args], {
    cwd,
    env: { PATH, HOME, NODE_COMPILE_CACHE, ...env },
    stdio: ["ignore", "pipe", "pipe"],
  });
  running.push(child);
  let text = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding("utf8").on("data", (part: string) => (text += part));
  }
  const ended = once(child, "close").then((): Ended => ({ exitCode: child.exitCode, text }));
  return { child, text: () => text, ended };
}

/** As a terminal shows it: a syllable takes two columns. */
function widthOf(text: string): number {
  return text.length + (text.match(/\p{Script=Hangul}/gu)?.length ?? 0);
}
