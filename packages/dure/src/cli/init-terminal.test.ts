import { mkdir, mkdtemp, readdir, realpath, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { atTerminal as terminalWith } from "./test-terminal.ts";

/** `dure init` before a person at a terminal. */

const before = process.cwd();
let folder: string;

beforeEach(async () => {
  folder = await mkdtemp(path.join(await realpath(tmpdir()), "dure-init-"));
  process.chdir(folder);
});

afterEach(async () => {
  process.chdir(before);
  await rm(folder, { recursive: true, force: true });
});

/** `dure init` on a terminal. */
const atTerminal = (args: readonly string[], presses: readonly (readonly [string, string])[]) =>
  terminalWith(["init", ...args], presses);

const CTRL_C = "\u0003";

test("a name that is taken is refused before anything is asked", async () => {
  await mkdir("shop");
  await writeFile("shop/mine.txt", "mine");

  const { exitCode, shown } = await atTerminal(["shop"], []);

  expect(exitCode).toBe(2);
  expect(shown).toContain("is not empty; nothing was written");
  expect(shown).not.toContain("언어를 골라");
  expect(await readdir(folder)).toEqual(["shop"]);
});

test("in a Korean team a refused name is told in Korean", async () => {
  const bad = await atTerminal(["_shop", "--locale", "ko"], []);

  expect(bad.exitCode).toBe(2);
  expect(bad.shown).toContain("팀의 이름으로 쓸 수 없어요");
  expect(bad.shown).toContain("64자까지");
});

test("ctrl-C at a question leaves nothing behind, and says so", async () => {
  const { exitCode, shown } = await atTerminal(
    ["shop"],
    [
      ["English", "ko\r"],
      ["무엇으로 시작할까요?", CTRL_C],
    ],
  );

  expect(exitCode).toBe(1);
  expect(shown).toContain("아무것도 만들지 않았어요.");
  expect(await readdir(folder)).toEqual([]);
});

test("a team that begins with plans is told of the repository that they need", async () => {
  const outside = await atTerminal(["--yes", "shop"], []);
  const options = ["--locale", "en", "--begin", "plans", "--provider", "openai"];
  const lines = await atTerminal(["shelf", ...options], [["Paste", "\r"]]);

  expect(outside.shown).not.toContain("repositories:");
  expect(lines.shown).toContain('repositories: { app: { path: "../my-project" } }');
});
