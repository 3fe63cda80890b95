import { execFileSync } from "node:child_process";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import { checkRun, makeRepository, type StoredRun } from "./plans.ts";

test("a run has ended with the work of its ports, no other file, and an untouched main", async () => {
  await using garden = await plantGarden();
  const whole = await garden.commit({ "src/soil/soil.txt": "dark soil\n" });
  const more = await garden.commit({
    "src/soil/soil.txt": "dark soil\n",
    "src/notes.txt": "Moles.\n",
  });
  const texts = async (run: Partial<StoredRun>): Promise<readonly string[]> => {
    const stored = { id: "run_1", status: "success", report: null, succeeded: ["soil"], ...run };
    const found = await checkRun(stored, garden.folder, garden.base);
    return found.map(({ text }) => text);
  };

  expect(await texts({ report: { commit: whole } })).toEqual([]);
  expect(await texts({ status: "failed" })).toEqual([]);
  expect(await texts({})).toEqual(["run_1 (success): it succeeded without a commit"]);
  expect(await texts({ report: { commit: more } })).toEqual([
    "run_1 (success): src/notes.txt was changed, which no port owns",
  ]);
  expect(await texts({ report: { commit: whole }, succeeded: ["soil", "seed"] })).toEqual([
    `run_1 (success): the work of seed is not in ${whole}`,
  ]);
  expect(await texts({ report: { commit: whole, branch: "main" } })).toEqual([
    `run_1 (success): the branch main does not stand at ${whole}`,
  ]);
  await writeFile(join(garden.folder, "README.md"), "A meadow.\n");
  expect(await texts({ report: { commit: whole } })).toEqual([
    "run_1 (success): the person's tree was changed:  M README.md",
  ]);
  garden.git("reset", "--hard", "--quiet", whole);
  expect(await texts({ report: { commit: whole } })).toEqual(["run_1 (success): main has moved"]);
});

interface Garden extends AsyncDisposable {
  readonly folder: string;
  readonly base: string;
  git(...args: readonly string[]): string;
  /** A commit with these files on top of main, which stays where it is. */
  commit(files: Readonly<Record<string, string>>): Promise<string>;
}

async function plantGarden(): Promise<Garden> {
  const folder = await mkdtemp(join(tmpdir(), "dure-garden-"));
  const base = await makeRepository(folder);
  const git = (...args: readonly string[]): string =>
    execFileSync("git", ["-c", "user.name=T", "-c", "user.email=t@example.com", ...args], {
      cwd: folder,
      encoding: "utf8",
    });

  return {
    folder,
    base,
    git,
    async commit(files) {
      git("checkout", "--quiet", "--detach", "main");
      for (const [path, text] of Object.entries(files)) {
        await mkdir(dirname(join(folder, path)), { recursive: true });
        await writeFile(join(folder, path), text);
      }
      git("add", "--all");
      git("commit", "--quiet", "-m", "Work");
      const commit = git("rev-parse", "HEAD").trim();
      git("checkout", "--quiet", "main");
      return commit;
    },
    [Symbol.asyncDispose]: () => rm(folder, { recursive: true, force: true }),
  };
}
