import { mkdir, realpath, writeFile } from "node:fs/promises";
import path from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { testRepository } from "../../test/plans/real-runs.ts";
import { groundOf, projectLines, scopeOf } from "./task-ground.ts";
import { WORDS_EN } from "./words/words.en.ts";

const NONE = { repo: undefined, base: undefined };
const NOTHING = { own: undefined, test: undefined, accept: undefined };

/** A checkout with these files, and a folder in it. */
async function checkout(files: Readonly<Record<string, string>>) {
  const repository = await testRepository(files);
  onTestFinished(() => repository[Symbol.asyncDispose]());
  const below = path.join(repository.folder, "packages");
  await mkdir(below);

  return { repository, root: await realpath(repository.folder), below };
}

test("a task works on the checkout in which a person stands, as its last commit says", async () => {
  const { root, below } = await checkout({ "package-lock.json": "{}" });
  await writeFile(path.join(root, "yarn.lock"), "");

  const ground = await groundOf(NONE, { here: below, team: "/nowhere" });

  expect(ground).toMatchObject({ repository: root, project: { setup: "npm ci" } });
  expect(projectLines(ground.project!, WORDS_EN.plans)).toEqual([
    "Set up by npm ci (package-lock.json), which may reach registry.npmjs.org:443",
  ]);
});

test("a task from the folder of a team is left to its server", async () => {
  const { below } = await checkout({});
  await writeFile(path.join(below, "dure.yaml"), "name: mine\n");

  const ground = await groundOf(NONE, { here: below, team: below });

  expect(ground).toEqual({ repository: undefined, project: undefined });
});

test("a path that is named is read from the base that is named, and a name is the server's", async () => {
  const { repository, root } = await checkout({});
  await repository.branch("next", { "go.mod": "module x\n" });
  const at = { here: "/", team: "/nowhere" };

  const [named, shop] = [
    await groundOf({ repo: root, base: "next" }, at),
    await groundOf({ repo: "shop", base: undefined }, at),
  ];

  expect(named).toMatchObject({ repository: root, project: { from: ["go.mod"] } });
  expect(shop).toEqual({ repository: "shop", project: undefined });
});

test("what a person says goes before what the repository says", () => {
  const project = {
    from: [],
    hosts: [],
    own: ["src/**"],
    tests: ["test/**"],
    acceptance: "npm test",
  };

  expect(scopeOf(NOTHING, project)).toEqual({
    owns: ["src/**"],
    tests: ["test/**"],
    acceptance: "npm test",
  });
  expect(scopeOf({ ...NOTHING, own: ["a"], accept: "make" }, project)).toEqual({
    owns: ["a"],
    tests: [],
    acceptance: "make",
  });
});

test.each([
  ["--own", { ...NOTHING, accept: "true" }],
  ["--accept", { ...NOTHING, own: ["a"] }],
])("a task that neither says %s is refused with the next step", (option, said) => {
  const refusal = expect.objectContaining({
    code: "USAGE",
    message: expect.stringContaining(option),
    hint: expect.stringContaining(".dure/project.yaml"),
  });

  expect(() => scopeOf(said, undefined)).toThrow(refusal);
});
