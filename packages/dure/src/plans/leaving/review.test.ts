// @module-tag slow
import { symlinkSync } from "node:fs";
import { expect, onTestFinished, test } from "vitest";
import { systemClock } from "../../kernel/clock.ts";
import type { DureError } from "../../kernel/errors.ts";
import type { ReviewNeeded } from "../../wire/runs.ts";
import type { MayLeave, Plan } from "../plan.ts";
import { parsePlan } from "../plan-file.ts";
import { assertStaysInside } from "../plan-reach.ts";
import { Concealer } from "../workers/concealer.ts";
import { Repository } from "../workspace/repository.ts";
import { testGit, TestRepository, writeFiles } from "../workspace/test-repository.ts";
import { reviewBeforeLeaving } from "./review.ts";

/** Has the form of a token and opens nothing. No scanner of others finds it in this file. */
const GITHUB = ["gh", "p_", "Zk3mQ8vT1rY6wP0sL4nB7xC2dF5gH9jK0aSe"].join("");
const KEY = [
  "-----BEGIN OPENSSH ",
  "PRIVATE KEY-----\nb3BlbnNzaC1rZXktdjEAAAAABG5vbmUAAAAEbm9uZQAAAAAAAAABAAAAMwAAAAtzc2gtZW\n",
].join("");

/** What workers of the run were given. It has no form that a rule knows. */
const GIVEN = new Concealer([["SHOP_TOKEN", "shopshopshopshop"]]);

function open(files: Readonly<Record<string, string>> = { "a.txt": "base\n" }): TestRepository {
  const repository = new TestRepository(files);
  onTestFinished(() => repository[Symbol.dispose]());

  return repository;
}

interface Asked {
  readonly known?: string;
  readonly confirmed?: string;
  readonly mayLeave?: readonly MayLeave[];
}

/** Undefined: it may leave. */
async function refusal(
  { folder, home }: TestRepository,
  { known = "main", confirmed, mayLeave = [] }: Asked = {},
): Promise<(ReviewNeeded & { readonly message: string }) | undefined> {
  const { signal } = new AbortController();
  const repository = await Repository.open(folder, { git: testGit(), signal });
  const [commit, base] = [await repository.resolve("work"), await repository.resolve(known)];
  const result = { run: "run_1", commit, known: [base], mayLeave, confirmed, signal };
  try {
    await reviewBeforeLeaving(repository, {
      ...result,
      clock: systemClock,
      env: { HOME: home },
      given: GIVEN,
    });
    return undefined;
  } catch (error) {
    const { code, details, message, hint } = error as DureError;
    expect(code).toBe("RESULT_NEEDS_REVIEW");
    return { ...(details as unknown as ReviewNeeded), message: `${message} ${hint}` };
  }
}

const found = (review: ReviewNeeded | undefined): readonly string[] =>
  (review?.findings ?? []).map(({ rule, path, line }) => `${rule} ${path}:${line}`);

function work(repository: TestRepository, files: Readonly<Record<string, string>>): void {
  repository.git("checkout", "-q", "-B", "work");
  repository.commit("work", files);
}

test("a result of source code and documents leaves without a question", async () => {
  const repository = open();
  work(repository, {
    "src/a.ts": 'export const key = process.env["API_KEY"];\n',
    "readme.md": "Put `ghp_…` into `.env`, see postgres://user:password@localhost/db.\n",
    ".env.example": "API_KEY=your-key-goes-here\nTOKEN=xxxxxxxxxxxxxxxx\n",
    "package.json": '{ "scripts": { "test": "vitest", "build": "tsc" } }',
    Makefile: "all:\n\techo hello\n",
  });

  expect(await refusal(repository)).toBeUndefined();
});

test("a secret is named by rule, path and line, and never said", async () => {
  const repository = open();
  work(repository, {
    "src/client.ts": `// one\n// two\nconst token = "${GITHUB}";\n`,
    "keys/deploy": KEY,
    ".env": `NODE_ENV=production\nSTRIPE_SECRET=${GITHUB.slice(4, 34)}\n`,
    ".env.production": "export DB_PASSWORD='correct-horse-9'\n",
    "src/db.ts": 'open("postgres://shop:hunter2real@db.shop.kr/x");\n',
  });

  const review = await refusal(repository);

  expect(found(review).toSorted()).toEqual([
    "address-password src/db.ts:1",
    "env-secret .env.production:1",
    "env-secret .env:2",
    "github-token src/client.ts:3",
    "private-key keys/deploy:1",
  ]);
  const said = JSON.stringify(review);
  const secrets = [GITHUB.slice(6), "b3BlbnNz", GITHUB.slice(4, 20), "correct-horse", "hunter2"];
  for (const secret of secrets) expect(said).not.toContain(secret);
  expect(review?.findings.find(({ rule }) => rule === "github-token")).toMatchObject({
    excerpt: "ghp_… (+36)",
  });
});

test("a file that runs where it arrives is named, wherever it lies and however it is spelled", async () => {
  const repository = open({ "a.txt": "base\n", "package.json": '{ "scripts": {} }' });
  work(repository, {
    ".github/workflows/ci.yml": "on: push\n",
    ".husky/pre-commit": "true\n",
    // A clone acts on it by include.path: aliases, hooks and filters that are commands.
    "tools/.gitconfig": "[core]\n\thooksPath = tools/on-commit\n",
    "web/package.json": '{\n  "scripts": { "postinstall": "node x.js" }\n}',
    "package.json": '{ "scripts": { "test": "vitest", "prepare": "true" } }',
    "web/.npmrc": "script-shell=/tmp/x\n",
    "Claude.md": "Obey.\n",
    "sub/.VSCODE/tasks.json": "{}",
    ".envrc": "true\n",
    id_rsa: "a key\n",
  });

  expect(found(await refusal(repository)).toSorted()).toEqual([
    "agent-instructions Claude.md:null",
    "ci .github/workflows/ci.yml:null",
    "editor-settings sub/.VSCODE/tasks.json:null",
    "git-hook .husky/pre-commit:null",
    "git-hook tools/.gitconfig:null",
    "install-script package.json:null",
    "install-script web/.npmrc:null",
    "install-script web/package.json:null",
    "secret-file id_rsa:null",
    "shell-settings .envrc:null",
  ]);
});

test("what the repository's own settings run or include is named as a hook of git", async () => {
  const repository = open();
  repository.git("config", "core.hooksPath", "tools/on-commit");
  repository.git("config", "include.path", "../team.gitsettings");
  work(repository, {
    "tools/on-commit/pre-push": "true\n",
    "tools/on-commits.txt": "no hook\n",
    "team.gitsettings": "[alias]\n\tst = !true\n",
  });

  expect(found(await refusal(repository)).toSorted()).toEqual([
    "git-hook team.gitsettings:null",
    "git-hook tools/on-commit/pre-push:null",
  ]);
});

test("a command in git's settings names the files that it runs, in the repository's and the person's", async () => {
  const repository = open();
  const { home } = repository;
  for (const [key, command] of [
    ["filter.tidy.clean", "node 'tools/tidy up.js' %f"],
    ["diff.sheet.textconv", "./tools/sheet.sh"],
    ["merge.lock.driver", "sh tools/lock.sh %O %A %B"],
    ["core.fsmonitor", "tools/watch"],
    ["alias.ship", "!tools/ship.sh | cat"],
  ] as const) {
    repository.git("config", key, command);
  }
  writeFiles(home, {
    ".gitconfig": [
      "[core]\n\tsshCommand = ~/repo/ssh.sh",
      '[includeIf "onbranch:work"]\n\tpath = repo/for-work\n',
    ].join("\n"),
    "repo/.git/more": '[credential]\n\thelper = "!bin/login --key=bin/key"\n',
  });
  repository.git("config", "include.path", "more");
  const run = {
    "tools/tidy up.js": "",
    "tools/sheet.sh": "",
    "tools/lock.sh": "",
    "tools/watch": "",
    "tools/ship.sh": "",
    "bin/login": "",
    "ssh.sh": "",
    "for-work": "",
  };
  work(repository, { ...run, "tools/other.sh": "", "tools/watch.md": "", "src/for-work": "" });

  expect(found(await refusal(repository)).toSorted()).toEqual(
    Object.keys(run)
      .map((path) => `git-hook ${path}:null`)
      .toSorted(),
  );
});

test("a command that leaves out an extension, a module or a folder names the files it runs", async () => {
  const repository = open();
  for (const [key, command] of [
    ["filter.tidy.clean", "python3 -m checks.tidy %f"],
    ["filter.tidy.smudge", "python tools/app"],
    ["diff.sheet.textconv", "node -e \"require('./tools/sheet')\""],
    ["diff.doc.textconv", "node tools/doc"],
    ["core.fsmonitor", "sh -c 'cd watch && ./run.sh'"],
    ["core.sshCommand", "$(git rev-parse --show-toplevel)/bin/ssh"],
    ["core.editor", "$PWD/bin/edit"],
    ["alias.ship", "!make ship"],
    ["alias.fmt", "!npm run fmt"],
  ] as const) {
    repository.git("config", key, command);
  }
  const run = {
    "checks/__init__.py": "",
    "checks/tidy.py": "",
    "tools/app/__main__.py": "",
    "tools/sheet.js": "",
    "tools/doc/index.cjs": "",
    "watch/run.sh": "",
    "bin/ssh": "",
    "bin/edit": "",
    Makefile: "",
    "package.json": "{}\n",
  };
  const rest = { "checks/other.py": "", "tools/sheet.md": "", "tools/sheet/other.js": "" };
  work(repository, { ...run, ...rest, "lib/Makefile": "", "tools.py": "" });

  expect(found(await refusal(repository)).toSorted()).toEqual(
    Object.keys(run)
      .map((path) => `git-hook ${path}:null`)
      .toSorted(),
  );
});

test("a link in place of a folder that holds a hook is named", async () => {
  const repository = open();
  repository.git("config", "filter.tidy.smudge", "tools/bin/tidy");
  repository.git("checkout", "-q", "-b", "work");
  symlinkSync("/tmp", `${repository.folder}/tools`);
  repository.commit("link");

  expect(found(await refusal(repository))).toEqual(["git-hook tools:null"]);
});

test("attributes that choose a filter or driver, behind which a command may stand, are named", async () => {
  const repository = open({ ".gitattributes": "*.png filter=lfs diff=lfs merge=lfs -text\n" });
  work(repository, {
    ".gitattributes":
      "* text=auto\n*.png filter=lfs diff=lfs merge=lfs -text\n*.jpg filter=lfs -text\nlog merge=union\n",
    "web/.gitattributes": "[attr]tidy filter=tidy\n*.ts\tmerge=lock\n",
  });

  const review = await refusal(repository);

  expect(review?.findings.map(({ rule, path, excerpt }) => [rule, path, excerpt])).toEqual([
    ["git-hook", "web/.gitattributes", "filter=tidy"],
    ["git-hook", "web/.gitattributes", "merge=lock"],
  ]);
});

test("a value that dure gave a worker is named, whatever its form, where it was not before", async () => {
  const repository = open({ "old.md": "shopshopshopshop\n" });
  work(repository, { "notes.md": "one\nx shopshopshopshop y\n", "old.md": "shopshopshopshop\n\n" });

  const review = await refusal(repository);

  expect(found(review)).toEqual(["given-secret notes.md:2"]);
  expect(JSON.stringify(review)).not.toContain("shopshop");
});

test("what one commit writes and a later one takes away leaves with the history, and is named", async () => {
  const repository = open();
  work(repository, { "notes.txt": `${GITHUB}\n` });
  const commit = repository.git("rev-parse", "HEAD");
  repository.git("rm", "-q", "notes.txt");
  repository.commit("clean");

  const review = await refusal(repository);

  expect(found(review)).toEqual(["github-token notes.txt:1"]);
  expect(review?.findings[0]!.commit).toBe(commit);
});

test("what a merge brings from its second parent is named, and what the target has is not", async () => {
  const repository = open();
  repository.git("checkout", "-q", "-b", "side");
  repository.commit("side", { "side/.npmrc": "a=b\n" });
  repository.git("checkout", "-q", "main");
  repository.commit("theirs", { "old.txt": `${GITHUB}\n`, ".travis.yml": "a\n" });
  repository.git("checkout", "-q", "-b", "work");
  repository.commit("mine", { "mine.txt": "mine\n" });
  repository.git("merge", "-q", "--no-edit", "side");
  repository.commit("more", { "old.txt": `${GITHUB}\nand more\n` });

  expect(found(await refusal(repository))).toEqual(["install-script side/.npmrc:null"]);
});

test("a secret in a binary, a wide text or far down a long file is found", async () => {
  const repository = open();
  const long = `${"0123456789abcdef\n".repeat(120_000)}${GITHUB}\n`;
  work(repository, {
    "a.bin": `\u0000\u0001\u0002${GITHUB}\u0000`,
    "long.txt": long,
  });
  const wide = Buffer.concat([Buffer.from([0xff, 0xfe]), Buffer.from(GITHUB, "utf16le")]);
  repository.write({ "wide.txt": wide as unknown as string });
  repository.commit("wide");

  expect(found(await refusal(repository)).toSorted()).toEqual([
    "github-token a.bin:1",
    "github-token long.txt:120001",
    "github-token wide.txt:1",
  ]);
});

test("a file that is longer than what is looked at is a finding of its own", async () => {
  const repository = open();
  work(repository, { "large.txt": `${GITHUB}\n${"x\n".repeat(5_000_000)}` });

  expect(found(await refusal(repository)).toSorted()).toEqual([
    "github-token large.txt:1",
    "not-looked-at large.txt:null",
  ]);
});

test("a submodule, a link in place of a folder and a package file that is no JSON are named", async () => {
  const repository = open();
  repository.git("checkout", "-q", "-b", "work");
  const head = repository.git("rev-parse", "HEAD");
  repository.git("update-index", "--add", "--cacheinfo", `160000,${head},lib`);
  const link = repository.git("rev-parse", "HEAD:a.txt");
  repository.git("update-index", "--add", "--cacheinfo", `120000,${link},.vscode`);
  repository.git("update-index", "--add", "--cacheinfo", `100644,${link},package.json`);
  repository.git("commit", "-q", "-m", "odd");

  expect(found(await refusal(repository)).toSorted()).toEqual([
    "editor-settings .vscode:null",
    "install-script package.json:null",
    "submodule lib:null",
  ]);
});

test("a yes holds for exactly these findings at exactly this commit", async () => {
  const repository = open();
  work(repository, { ".github/workflows/ci.yml": "on: push\n" });
  const first = await refusal(repository);

  expect(await refusal(repository, { confirmed: first!.confirm })).toBeUndefined();
  expect(await refusal(repository, { confirmed: "0".repeat(32) })).toEqual(first);

  repository.commit("more", { ".github/workflows/ci.yml": "on: [push, pull_request]\n" });
  const later = await refusal(repository, { confirmed: first!.confirm });
  expect(found(later)).toEqual(found(first));
  expect(later!.confirm).not.toBe(first!.confirm);
});

test("what an operator has allowed leaves without a yes, and nothing beside it", async () => {
  const repository = open();
  work(repository, {
    ".github/workflows/ci.yml": "on: push\n",
    ".github/workflows/deploy.yml": "on: push\n",
    "test/token.txt": `${GITHUB}\n`,
  });
  const mayLeave = [
    { rule: "ci", path: ".github/workflows/ci.yml" },
    { rule: "ci", path: "test/**" },
    { rule: "npm-token", path: "**" },
  ];

  expect(found(await refusal(repository, { mayLeave })).toSorted()).toEqual([
    "ci .github/workflows/deploy.yml:null",
    "github-token test/token.txt:1",
  ]);
  const all = [...mayLeave, { rule: "ci", path: "**" }, { rule: "github-token", path: "test/**" }];
  expect(await refusal(repository, { mayLeave: all })).toBeUndefined();
});

test("a text that lets files leave by itself reaches beyond its tree", () => {
  const rest = "workers: { default: { kind: offline } }\nroles: modules\n";
  const port = "{ id: a, role: a, goal: A., owns: [src/**], acceptance: 'true' }";
  const plan = (more: string): Plan =>
    parsePlan("plan.yaml", `plan: a\n${rest}ports: [${port}]\n${more}`);

  expect(() => assertStaysInside(plan("may_leave: [{ rule: ci, path: '.github/**' }]"))).toThrow(
    "may_leave",
  );
  expect(() => assertStaysInside(plan(""))).not.toThrow();
  expect(() => plan("may_leave: [{ rule: everything, path: '**' }]")).toThrow(/one of private-key/);
});
