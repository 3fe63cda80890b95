import { mkdir, mkdtemp, rename, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { watchTeam, type TeamWatcher } from "./dev.ts";

let folder: string;
let watcher: TeamWatcher;
const changed: string[] = [];

beforeEach(async () => {
  changed.length = 0;
  folder = await mkdtemp(path.join(tmpdir(), "dure-watch-"));
  await mkdir(path.join(folder, "agents", "mina"), { recursive: true });
  await mkdir(path.join(folder, "node_modules"));
  await write("dure.config.ts", "1");
  await write("agents/mina/SOUL.md", "1");
  watcher = watchTeam(
    folder,
    (file) => changed.push(file),
    (error) => changed.push(error.message),
  );
  await watcher.ready;
});

afterEach(async () => {
  await watcher[Symbol.asyncDispose]();
  await rm(folder, { recursive: true });
});

function write(file: string, text: string): Promise<void> {
  return writeFile(path.join(folder, file), text);
}

/** As an editor saves: a new file beside the old one takes its name. */
async function replace(file: string, text: string): Promise<void> {
  await write(`${file}~`, text);
  await rename(path.join(folder, `${file}~`), path.join(folder, file));
}

/**
 * Saves until it is told: two saves within some 50 ms may be told as one, which is enough, because
 * the team is read again only after a rest.
 */
async function isHeard(file: string, save: typeof write): Promise<boolean> {
  let saves = 0;
  const savesAndListens = async (): Promise<readonly string[]> => {
    await save(file, `text ${++saves}`);
    return changed;
  };
  await expect.poll(savesAndListens, { interval: 100 }).toContain(path.normalize(file));
  changed.length = 0;
  return true;
}

async function isTold(file: string): Promise<boolean> {
  await expect.poll(() => changed).toContain(path.normalize(file));
  changed.length = 0;
  return true;
}

test("a file is heard again and again, however it is saved", async () => {
  for (let round = 1; round <= 3; round++) {
    expect(await isHeard("agents/mina/SOUL.md", replace)).toBe(true);
    expect(await isHeard("agents/mina/SOUL.md", write)).toBe(true);
  }
});

test("a file that is removed and made again is heard, also in a new folder", async () => {
  await rm(path.join(folder, "dure.config.ts"));
  expect(await isTold("dure.config.ts")).toBe(true);
  await write("dure.config.ts", "2");
  expect(await isTold("dure.config.ts")).toBe(true);

  await mkdir(path.join(folder, "agents", "theo"));
  await write("agents/theo/SOUL.md", "1");
  expect(await isTold("agents/theo/SOUL.md")).toBe(true);
});

test("packages, data and files of other kinds say nothing", async () => {
  await mkdir(path.join(folder, ".dure"));
  await write(".dure/state.json", "1");
  await write("node_modules/index.js", "1");
  await write("picture.png", "1");
  await write("dure.config.ts", "the last change");

  await expect.poll(() => changed).toEqual(["dure.config.ts"]);
});
