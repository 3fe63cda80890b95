import { LOCALES } from "../kernel/locales.ts";
import { execFile } from "node:child_process";
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, expect, test } from "vitest";
import { BEGINNINGS, FIRST_MODELS } from "./init-answers.ts";

/** `npm create dure` says what is wrong before it installs anything. */

const CREATE = fileURLToPath(new URL("../../../create-dure/create.mjs", import.meta.url));
let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), "dure-create-"));
  await mkdir(path.join(folder, "taken"));
  await writeFile(path.join(folder, "taken", "mine.txt"), "mine");
});

afterAll(() => rm(folder, { recursive: true, force: true }));

interface Ended {
  readonly code: number;
  readonly said: string;
}

/** An install would fail, and say so: there is no such package. */
function create(...args: readonly string[]): Promise<Ended> {
  const env = { ...process.env, CREATE_DURE_PACKAGE: path.join(folder, "no-such.tgz") };
  return new Promise((resolve) => {
    execFile(process.execPath, [CREATE, ...args], { cwd: folder, env }, (error, out, err) =>
      resolve({ code: typeof error?.code === "number" ? error.code : 0, said: out + err }),
    );
  });
}

test.each([
  [["shop", "--begin", "room"], 'not "room"'],
  [["shop", "--begin=room", "--locale", "ko"], "가운데 하나여야 해요"],
  [["shop", "--provider"], "--provider is one of anthropic, openai"],
  [["--locale", "kr", "shop"], "--locale"],
  [["shop", "--begn", "rooms"], "--begn"],
  [["shop", "shelf"], "shop, shelf"],
  [["-", "--locale", "en"], "There is no option -."],
  [["_shop", "--locale", "en"], "cannot be the name of a team"],
  [["taken", "--locale", "en"], "is not empty; nothing was written"],
  [["taken", "--locale", "ko"], "아무것도 만들지 않았어요"],
])("%j is refused before anything is installed", async (args, words) => {
  const { code, said } = await create(...args);

  expect(code).toBe(2);
  expect(said).toContain(words);
  expect(said).not.toContain("npm's own lines");
  expect(await readdir(folder)).toEqual(["taken"]);
});

test("it knows the choices of dure init", async () => {
  const text = await readFile(CREATE, "utf8");
  const choicesOf = (option: string): unknown =>
    JSON.parse(new RegExp(`"${option}": (\\[[^\\]]*\\])`).exec(text)?.[1] ?? "null");

  expect(choicesOf("--locale")).toEqual(LOCALES);
  expect(choicesOf("--begin")).toEqual(BEGINNINGS);
  expect(choicesOf("--provider")).toEqual(Object.keys(FIRST_MODELS));
});
