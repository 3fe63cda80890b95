import { execFile, spawn } from "node:child_process";
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";
import { FULL } from "../../src/kernel/test-tiers.ts";
import { startPlanServer, type PlanServer } from "./plan-server.ts";

const PROGRAM = fileURLToPath(new URL("../../src/cli/main.ts", import.meta.url));

let at: PlanServer;
/** Where a person stands who has no server. */
let folder: string;

beforeAll(async () => {
  at = await startPlanServer();
  folder = await mkdtemp(join(tmpdir(), "dure-cli-"));
  await Promise.all([underGit(at.folder), underGit(folder)]);
}, 60_000);
afterAll(async () => {
  await at?.[Symbol.asyncDispose]();
  await rm(folder, { recursive: true, force: true });
}, 60_000);

/** A folder under git, with a first commit. */
async function underGit(place: string): Promise<void> {
  const person = ["-c", "user.name=A", "-c", "user.email=a@example.org"];
  await promisify(execFile)("git", ["init", "-q"], { cwd: place });
  const first = [...person, "commit", "-q", "--allow-empty", "-m", "First"];
  await promisify(execFile)("git", first, { cwd: place });
}

interface Result {
  readonly exitCode: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs the command line as a person does: another process. */
function dure(
  args: readonly string[],
  {
    url = at.server.url,
    cwd = folder,
    input = "",
    env = {},
  }: { url?: string; cwd?: string; input?: string; env?: Readonly<Record<string, string>> } = {},
): Promise<Result> {
  return new Promise((resolve, reject) => {
    const { PATH = "", HOME = "", NODE_COMPILE_CACHE } = process.env;
    const child = spawn(process.execPath, ["--conditions=dure-source", PROGRAM, ...args], {
      cwd,
      env: { PATH, HOME, NODE_COMPILE_CACHE, DURE_URL: url, ...env },
      stdio: ["pipe", "pipe", "pipe"],
    });
    const result = { stdout: "", stderr: "" };
    child.stdout.setEncoding("utf8").on("data", (text: string) => (result.stdout += text));
    child.stderr.setEncoding("utf8").on("data", (text: string) => (result.stderr += text));
    child.stdin.on("error", () => undefined).end(input);
    child.on("error", reject);
    child.on("close", (exitCode) => resolve({ exitCode, ...result }));
  });
}

test(
  "a new plan passes its check without a server, and a second one of its name is refused",
  { ...FULL, timeout: 180_000 },
  async () => {
    const url = "http://127.0.0.1:9";
    const made = await dure(["new", "plan", "login"], { url });
    const [checked, again, bad, json] = await Promise.all([
      dure(["plan", "check", "login"], { url }),
      dure(["new", "plan", "login"], { url }),
      dure(["new", "plan", "로그인"], { url }),
      dure(["plan", "check", "plans/login.yaml", "--json"], { url }),
    ]);

    expect(made).toMatchObject({
      exitCode: 0,
      stdout: expect.stringContaining("plans/login.yaml") as string,
    });
    expect(await readFile(join(folder, "plans", "login.yaml"), "utf8")).toContain("plan: login\n");
    expect(checked).toMatchObject({
      exitCode: 0,
      stdout: "ok   login (plans/login.yaml): 1 port\n",
    });
    expect(JSON.parse(json.stdout)).toMatchObject({
      ok: true,
      plans: [
        {
          file: "plans/login.yaml",
          plan: "login",
          ports: 1,
          problems: [],
          base: { unowned_count: 0 },
        },
      ],
    });
    expect([again.exitCode, again.stderr]).toEqual([2, expect.stringContaining("FILE_EXISTS")]);
    expect([bad.exitCode, bad.stderr]).toEqual([2, expect.stringContaining("Latin letters")]);
  },
);

test(
  "check names file, line and column of what is wrong, and exits with 1",
  { ...FULL, timeout: 180_000 },
  async () => {
    await writeFile(
      join(folder, "wrong.yaml"),
      "plan: wrong\nroles: modules\nworkers: { default: { kind: offlin } }\nports:\n  - { id: a, " +
        "role: a, goal: x, owns: [a/**], acceptance: 'true', no_change: allowed }\n",
    );
    const [wrong, all, missing] = await Promise.all([
      dure(["plan", "check", "wrong.yaml"]),
      dure(["plan", "check", "--dir", at.folder]),
      dure(["plan", "check", "nothing"]),
    ]);

    expect(wrong.exitCode).toBe(1);
    expect(wrong.stdout).toMatch(/^wrong\.yaml:3:\d+ workers\.default\.kind: .* — /);
    expect(all.exitCode).toBe(1);
    expect(
      all.stdout
        .trim()
        .split("\n")
        .map((line) => line.split(" ")[0]),
    ).toEqual(["ok", expect.stringMatching(/broken\.yaml:5:\d+$/), "ok", "ok", "ok"]);
    expect(missing).toMatchObject({
      exitCode: 2,
      stderr: expect.stringContaining("PLAN_UNKNOWN") as string,
    });
  },
);

test(
  "check looks at the repository too: files without an owner, shared files, missing contracts",
  { ...FULL, timeout: 180_000 },
  async () => {
    const plan = (more: string): string =>
      `plan: based\nrepository: ${at.repository.folder}\nroles: modules\nworkers: { default: { ` +
      `kind: offline } }\n${more}ports:\n  - { id: a, role: a, goal: x, owns: [src/price/**, ` +
      `package.json], acceptance: 'true' }\n`;
    await writeFile(join(folder, "based.yaml"), plan(""));
    await writeFile(
      join(folder, "open.yaml"),
      plan(
        "contracts: [{ path: src/types.mjs, by: orchestrator }, { path: src/price/price.mjs, by: " +
          "orchestrator }]\n",
      ),
    );
    const [based, json, open] = await Promise.all([
      dure(["plan", "check", "based.yaml"]),
      dure(["plan", "check", "based.yaml", "--json"]),
      dure(["plan", "check", "open.yaml"]),
    ]);

    expect(based).toMatchObject({
      exitCode: 0,
      stdout: expect.stringMatching(
        /^ok {3}based .*\nlook Port a owns package\.json: .*\n {5}without an owner, so that no port can change them: README\.md, src\/stock\/stock\.mjs, test\/price\/price\.test\.mjs, test\/stock\/stock\.test\.mjs\n$/,
      ) as string,
    });
    expect(JSON.parse(json.stdout)).toMatchObject({
      ok: true,
      plans: [
        { plan: "based", base: { unowned_count: 4, warnings: [{ code: "SHARED_FILES_OWNED" }] } },
      ],
    });
    expect(open).toMatchObject({
      exitCode: 1,
      stdout: expect.stringMatching(
        /^open\.yaml contracts: src\/types\.mjs is a contract that is not in the base, and there is no workers\.orchestrator/,
      ) as string,
    });
  },
);

test(
  "a plan that cannot run does not pass: no git repository, or no such base",
  { ...FULL, timeout: 180_000 },
  async () => {
    const bare = await mkdtemp(join(tmpdir(), "dure-no-git-"));
    const rest =
      "roles: modules\nworkers: { default: { kind: offline } }\nports:\n" +
      "  - { id: a, role: a, goal: x, owns: [src/**], acceptance: 'true' }\n";
    const { folder: shop } = at.repository;
    await mkdir(join(bare, "plans"));
    await writeFile(join(bare, "plans", "first.yaml"), `plan: first\n${rest}`);
    const gone = `plan: gone\nrepository: ${shop}\nbase: nowhere\n${rest}`;
    await writeFile(join(bare, "plans", "gone.yaml"), gone);
    const [first, based] = await Promise.all([
      dure(["plan", "check", "first", "--dir", bare]),
      dure(["plan", "check", "gone", "--dir", bare]),
    ]);
    await rm(bare, { recursive: true });

    expect(first.exitCode).toBe(1);
    expect(first.stdout).toContain("repository: ");
    expect(first.stdout).toContain("is not in a git repository — Name the repository in the plan");
    expect(based.exitCode).toBe(1);
    expect(based.stdout).toMatch(/base: "nowhere" is no branch, tag or commit of .* — Its newest/);
  },
);

test(
  "plan check refuses the team's own folder, and knows the repositories of the configuration",
  { ...FULL, timeout: 180_000 },
  async () => {
    const team = await mkdtemp(join(tmpdir(), "dure-own-"));
    await underGit(team);
    const rest =
      "roles: modules\nworkers: { default: { kind: offline } }\nports:\n" +
      "  - { id: a, role: a, goal: x, owns: [src/**], acceptance: 'true' }\n";
    const { folder: shop } = at.repository;
    await mkdir(join(team, "plans"));
    await writeFile(
      join(team, "dure.yaml"),
      `name: own\nagents: { ruda: {} }\nrepositories: { shop: { path: ${shop} } }\n`,
    );
    await writeFile(join(team, "plans", "own.yaml"), `plan: own\nrepository: ..\n${rest}`);
    await writeFile(join(team, "plans", "named.yaml"), `plan: named\nrepository: shop\n${rest}`);
    const check = (name: string): Promise<Result> =>
      dure(["plan", "check", name, "--dir", team, "--no-agents"]);
    const [own, named] = await Promise.all([check("own"), check("named")]);
    await rm(team, { recursive: true });

    expect(own.exitCode).toBe(1);
    expect(own.stdout).toContain("is the team's own folder; no plan works on it");
    expect([named.exitCode, named.stdout]).toEqual([0, expect.stringContaining("README.md")]);
  },
);

test(
  "plans are listed and shown, a run is followed line by line to its end, looked at and merged",
  { ...FULL, timeout: 300_000 },
  async () => {
    const [list, show, dry] = await Promise.all([
      dure(["plan", "list"]),
      dure(["plan", "show", "shop"]),
      dure(["plan", "run", "shop", "--dry-run", "--only", "price", "--json"]),
    ]);
    expect(list).toMatchObject({
      exitCode: 0,
      stdout: expect.stringMatching(
        /broken +0 +broken\.yaml +– +1 problem: dure plan check broken/,
      ) as string,
    });
    expect(show.stdout.split("\n").slice(1, 6)).toEqual([
      "  level 1: price",
      "  level 2: stock",
      "critical path: price → stock",
      "side by side: 1",
      "mode: in-order, because 4 files are fewer than 5",
    ]);
    expect(JSON.parse(dry.stdout)).toMatchObject({
      plan: "shop",
      ports: [{ id: "price" }],
      critical_path: ["price"],
    });

    const run = await dure(["plan", "run", "shop", "--follow"]);
    const id = /run_\w+/.exec(run.stderr)![0];
    expect({ code: run.exitCode, stderr: run.stderr }).toMatchObject({ code: 0 });
    const lines = run.stdout.trim().split("\n");
    expect(run.stdout).not.toContain("\u001b");
    expect(lines[0]).toMatch(new RegExp(`^${id} +shop +running`));
    for (const said of [
      /price {2}starts$/,
      /price {2}try 1: implementer \(offline\) works$/,
      /price {2}try 1: implementer ready, 1 file changed$/,
      /price {2}try 1: did not pass, 0 of 1 tests$/,
      /price {2}succeeded$/,
      /merged into dure\/shop$/,
      /ended: success$/,
    ]) {
      expect(lines).toContainEqual(expect.stringMatching(said));
    }
    expect(lines.slice(-3)).toEqual([
      "shop success: every port succeeded",
      "integration: passed",
      "branch: dure/shop",
    ]);

    const price = await dure(["plan", "status", id, "price"]);
    expect(price).toMatchObject({
      exitCode: 0,
      stdout: expect.stringMatching(
        /^✓ price {2}succeeded, 2\/3 tries.*\n {2}try 1 {2}implement {2}implementer \(offline\) {2}ready, .*\n {6}Divide by a hundred\.\n {6}changed: src\/price\/price\.mjs\n {6}said to be changed, and not: README\.md\n/,
      ) as string,
    });
    const [runs, status, diff, json] = await Promise.all([
      dure(["plan", "runs", "--status", "success"]),
      dure(["plan", "status", id]),
      dure(["plan", "diff", id, "stock"]),
      dure(["plan", "watch", id, "--json"]),
    ]);
    expect(runs.stdout).toMatch(new RegExp(`${id} .* shop +success +2/2 +dure/shop`));
    expect(status).toMatchObject({
      exitCode: 0,
      stdout: expect.stringMatching(/✓ price +succeeded +2\/3 tries/) as string,
    });
    expect(diff).toMatchObject({
      exitCode: 0,
      stdout: expect.stringContaining(
        "+export const left = (have, sold) => have - sold;",
      ) as string,
    });
    expect(JSON.parse(json.stdout.split("\n")[0]!)).toMatchObject({ type: "run" });
    const merged = await dure(["plan", "merge", id]);
    expect(merged).toMatchObject({
      exitCode: 0,
      stdout: expect.stringMatching(
        / is merged \(fast-forward\) in main, which is now at [0-9a-f]{12}; the files in .* came along\n$/,
      ) as string,
    });
    const [plans, stood] = [await dure(["plan", "list"]), await dure(["plan", "status", id])];
    expect(plans.stdout).toMatch(/shop +2 +shop\.yaml +success, merged/);
    expect(stood.stdout).toMatch(/\nmerged into main: [0-9a-f]{12}, /);
    expect(stood.stderr).toContain(`dure plan undo ${id}`);
    const undone = await dure(["plan", "undo", id]);
    expect(undone).toMatchObject({
      exitCode: 0,
      stdout: expect.stringMatching(
        / is out of main, by [0-9a-f]{12}; the files in .* came along\n$/,
      ) as string,
    });
    expect((await dure(["plan", "undo", id])).stdout).toContain("was already out of main");
    expect((await dure(["plan", "runs"])).stdout).toMatch(new RegExp(`${id} .* undone`));

    const [young, preview] = [
      await dure(["plan", "clean"]),
      await dure(["plan", "clean", "--older-than", "0s", "--dry-run"]),
    ];
    const cleaned = await dure(["plan", "clean", id]);
    const again = await dure(["plan", "retry", id, "price"]);
    expect(young).toMatchObject({
      exitCode: 0,
      stderr: expect.stringContaining("no run that ended so long ago") as string,
    });
    expect(preview.stdout).toMatch(new RegExp(`${id} +shop +would be cleaned`));
    expect(cleaned).toMatchObject({
      exitCode: 0,
      stdout: expect.stringMatching(new RegExp(`${id} +shop +cleaned`)) as string,
    });
    expect(again).toMatchObject({
      exitCode: 1,
      stderr: expect.stringContaining("RUN_CLEANED") as string,
    });
  },
);

test("a task is a run of one port without a plan file", { ...FULL, timeout: 180_000 }, async () => {
  const words = ["Write prices.", "--own", "src/price/**", "--accept", "true", "--worker", "true"];
  const [dry, unowned] = await Promise.all([
    dure(["task", ...words, "--tries", "1", "--dry-run", "--json"]),
    dure(["task", "Write prices.", "--accept", "true"]),
  ]);

  expect([dry.exitCode, JSON.parse(dry.stdout)]).toMatchObject([
    0,
    {
      plan: "task-write-prices",
      ports: [{ id: "task", goal: "Write prices.", owns: ["src/price/**"], acceptance: "true" }],
    },
  ]);
  expect([unowned.exitCode, unowned.stderr]).toEqual([2, expect.stringContaining("--own")]);
});

test(
  "run takes a plan from a foreign file or a pipe and another branch, and tells errors by line",
  { ...FULL, timeout: 180_000 },
  async () => {
    const text =
      "plan: mine\nroles: modules\nworkers: { default: { kind: offline } }\nports:\n  - { id: " +
      "price, role: price, goal: Write prices., owns: [src/price/**], acceptance: 'true', no_change: allowed }\n";
    await writeFile(join(folder, "mine.yaml"), text);
    const develop = await at.repository.branch("develop", { "DEVELOP.md": "Here it goes on.\n" });
    const dry = ["--dry-run", "--json"];
    const [file, piped, wrong, missing, both, neither] = await Promise.all([
      dure(["plan", "run", "--file", "mine.yaml", "--base", "develop", ...dry]),
      dure(["plan", "run", "--file", "-", ...dry], { input: text }),
      dure(["plan", "run", "--file", "-"], {
        input: text.replace("role: price,", "role: price, dependsOn: [nobody],"),
      }),
      dure(["plan", "run", "--file", "nothing.yaml"]),
      dure(["plan", "run", "shop", "--file", "mine.yaml"]),
      dure(["plan", "run"]),
    ]);

    expect([file.exitCode, JSON.parse(file.stdout)]).toMatchObject([
      0,
      { plan: "mine", file: "mine.yaml", base: "develop", base_commit: develop },
    ]);
    expect([piped.exitCode, JSON.parse(piped.stdout)]).toMatchObject([
      0,
      { plan: "mine", file: "plan.yaml", base: "HEAD" },
    ]);
    expect(wrong).toMatchObject({
      exitCode: 2,
      stderr: expect.stringMatching(
        /^plan\.yaml:5:\d+ ports\.0\.dependsOn.*nobody[^]*PLAN_INVALID/,
      ) as string,
    });
    expect(missing).toMatchObject({
      exitCode: 2,
      stderr: expect.stringContaining("FILE_UNREADABLE") as string,
    });
    for (const result of [both, neither]) {
      expect(result).toMatchObject({
        exitCode: 2,
        stderr: expect.stringContaining("not both") as string,
      });
    }
  },
);

test(
  "a run is steered from the command line, and ends with 1 when it does not end in success",
  { ...FULL, timeout: 300_000 },
  async () => {
    const begun = await dure(["plan", "run", "steer"]);
    const id = begun.stdout.trim();
    const watching = dure(["plan", "watch", id]);
    await expect
      .poll(async () => (await dure(["plan", "status", id])).stdout, { timeout: 60_000 })
      .toMatch(/✗ bad +failed/);
    const said = await dure(["plan", "say", id, "told", "The colour is teal."]);
    const paused = await dure(["plan", "pause", id]);
    const again = await dure(["plan", "pause", id]);
    const resumed = await dure(["plan", "resume", id]);
    const retried = await dure(["plan", "retry", id, "bad", "--hint", "Try harder."]);
    await expect
      .poll(async () => (await dure(["plan", "status", id])).stdout, { timeout: 60_000 })
      .toMatch(/✓ told +succeeded/);
    const cancelled = await dure(["plan", "cancel", id, "--json"]);
    const watched = await watching;
    const unknown = await dure(["plan", "status", "run_0"]);

    expect(
      [begun, said, paused, resumed, retried, cancelled].map(({ exitCode }) => exitCode),
    ).toEqual([0, 0, 0, 0, 0, 0]);
    expect(again).toMatchObject({
      exitCode: 1,
      stderr: expect.stringContaining("paused already") as string,
    });
    expect(JSON.parse(cancelled.stdout)).toMatchObject({ carried_out: true, run: { id } });
    expect(watched.exitCode).toBe(1);
    for (const line of [
      /bad {2}failed: 1 of 1 tries did not pass/,
      /told {2}(?:is blocked by bad$|blocked: It needs bad)/,
      / {2}paused: /,
      /told {2}succeeded$/,
      /ended: cancelled$/,
      /^ *missing: hold: /m,
    ]) {
      expect(watched.stdout.split("\n")).toContainEqual(expect.stringMatching(line));
    }
    // A late reader sees how it stands, not what was said before.
    expect(watched.stdout).toMatch(
      /! steer › bad: .*\(dure escalations show escalation_\w+\)|told {2}blocked: It needs bad/,
    );
    expect((await dure(["plan", "status", id])).exitCode).toBe(1);
    expect(unknown).toMatchObject({
      exitCode: 1,
      stderr: expect.stringContaining("RUN_UNKNOWN") as string,
    });
  },
);

test(
  "a hook outside of a worker, a draft without a model and a wrong status are told so",
  { ...FULL, timeout: 180_000 },
  async () => {
    const [outside, stranger, draft, status] = await Promise.all([
      dure(["hook", "test-feedback"], { input: '{"success": true}' }),
      dure(["hook", "test-feedback"], {
        input: '{"success": true}',
        env: {
          DURE_HOOK_URL: `${at.server.url}/v1/hooks/test-feedback`,
          DURE_HOOK_TOKEN: "hook_of_nobody",
        },
      }),
      dure(["plan", "draft", "Sessions expire"]),
      dure(["plan", "runs", "--status", "lost"]),
    ]);

    expect(outside).toMatchObject({
      exitCode: 2,
      stderr: expect.stringContaining("HOOK_OUTSIDE") as string,
    });
    expect(stranger).toMatchObject({
      exitCode: 1,
      stderr: expect.stringContaining("No running step has this token") as string,
    });
    expect(draft).toMatchObject({
      exitCode: 1,
      stderr: expect.stringContaining("MODEL_MISSING") as string,
    });
    expect(status.exitCode).toBe(2);
  },
);

test("the newest merged task of a checkout is undone", { ...FULL, timeout: 180_000 }, async () => {
  const here = { cwd: at.repository.folder };
  const none = await dure(["task", "undo", "--dir", folder], here);
  const work = ["--worker", "echo task > src/price/task.txt", "--accept", "true", "--tries", "1"];
  const words = ["Write a note.", "--own", "src/price/**", ...work, "--dir", folder, "--follow"];
  const began = await dure(["task", ...words], here);
  const id = /run_\w+/.exec(began.stderr + began.stdout)![0];
  await dure(["plan", "merge", id, "--into", "main"]);
  const merged = await at.repository.git("ls-tree", "-r", "--name-only", "main");

  const undone = await dure(["task", "undo", "--dir", folder], here);

  expect([none.exitCode, none.stderr]).toEqual([1, expect.stringContaining("TASK_NOT_MERGED")]);
  expect(merged).toContain("src/price/task.txt");
  expect(undone).toMatchObject({ exitCode: 0, stdout: expect.stringContaining(id) as string });
  expect(await at.repository.git("ls-tree", "-r", "--name-only", "main")).not.toContain("task.txt");
});
