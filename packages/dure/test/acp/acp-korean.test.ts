import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { testDatabaseUrl } from "../../src/durable/test-database.ts";
import { FULL } from "../../src/kernel/test-tiers.ts";
import { ServerProcess } from "../crash/server-process.ts";
import { testRepository, type TestRepository } from "../plans/real-runs.ts";
import { Editor } from "./editor.ts";

/** What a person of a Korean team reads in an editor, with the official client of ACP. */

const TEAM = fileURLToPath(new URL("task-team", import.meta.url));
const TASKS = ["--own", "src/**", "--accept", "test -f src/hello.txt", "--tries", "1"];
const stack = new AsyncDisposableStack();
let editor: Editor;
let repository: TestRepository;

beforeAll(async () => {
  const databaseUrl = stack.use(await testDatabaseUrl()).url;
  const home = await mkdtemp(path.join(tmpdir(), "dure-acp-korean-"));
  stack.defer(() => rm(home, { recursive: true, force: true }));
  const environment = { DATABASE_URL: databaseUrl, DURE_HOME: home, ACP_LOCALE: "ko" };
  const server = stack.use(ServerProcess.spawn(environment, TEAM));
  await server.url;
  repository = stack.use(await testRepository({ "README.md": "저장소" }));
  const worker = "cat >/dev/null; echo 아무것도 > src/none.txt";
  editor = stack.use(await Editor.open(TEAM, environment, [...TASKS, "--worker", worker]));
}, 120_000);

afterAll(() => stack.disposeAsync(), 60_000);

/** Three words of English behind each other. What stands between backquotes is a command. */
function englishIn(text: string): readonly string[] {
  return text.replaceAll(/`[^`]*`/g, "").match(/[a-z']+ [a-z']+ [a-z']+/gi) ?? [];
}

async function refusalOf(asked: Promise<unknown>): Promise<string> {
  const error = await asked.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  const { message, data } = error as { message: string; data?: { hint?: string } };
  return `${message} ${data?.hint ?? ""}`;
}

describe("an editor of a Korean team", { ...FULL, timeout: 120_000 }, () => {
  test("asks in Korean what is to become of work that failed, and says why in Korean", async () => {
    const { session } = await editor.begin("dure:task", repository.folder);

    await editor.prompt(session, "인사 파일을 써 주세요.");

    const { toolCall, options } = editor.asked[0]!;
    const texts = [toolCall.title!, JSON.stringify(toolCall.content), editor.said];
    expect(toolCall.title).toContain("1번 시도했지만 통과 조건을 맞추지 못했어요.");
    expect(options.map(({ name }) => name)).toContain("다시 시도");
    expect(editor.said).toContain("맡긴 일이 끝났어요(실패)");
    expect(texts.map(englishIn)).toEqual([[], [], []]);
  });

  test("is refused in Korean: what cannot be said, a folder without a repository, a mode", async () => {
    const { session } = await editor.begin("dure:task", "/nowhere");
    const image = { type: "image" as const, data: "", mimeType: "image/png" };

    const refusals = [
      await refusalOf(editor.prompt(session, [image])),
      await refusalOf(editor.prompt(session, "인사 파일을 써 주세요.")),
      await refusalOf(editor.setMode(session, "none")),
      await refusalOf(editor.prompt("acp-none", "안녕")),
    ];

    expect(refusals.map((said) => /[가-힣]/.test(said))).toEqual([true, true, true, true]);
    expect(refusals.map(englishIn)).toEqual([[], [], [], []]);
  });
});
