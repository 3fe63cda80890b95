// @module-tag slow
import { chmod, mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, onTestFinished, test, vi } from "vitest";
import { FULL } from "../../src/kernel/test-tiers.ts";
import { testDatabase } from "../../src/durable/test-database.ts";
import { systemClock } from "../../src/kernel/clock.ts";
import type { WorkerSpec } from "../../src/plans/plan.ts";
import type { TestRuns } from "../../src/plans/runs/test-runs.ts";
import { UNPROVEN } from "../../src/plans/sandbox/proof.ts";
import { openSandbox, type OpenSandboxOptions } from "../../src/plans/sandbox/sandbox.ts";
import { realPlan, startRealRuns, testRepository, type TestRepository } from "./real-runs.ts";

const ATTACK = fileURLToPath(new URL("attack.mjs", import.meta.url));
/**
 * More than a port may change at once. 10,000 in the long run; one more than the bound does for the
 * ordinary one.
 */
const MANY = process.env["DURE_TEST_LONG"] === "1" ? 10_000 : 5_001;
const FILES = {
  ".gitignore": "node_modules/\n.env\n",
  "src/price/price.mjs": "export const price = (cents) => cents;\n",
  "src/stock/stock.mjs": "// not-for-price\nexport const left = (have, sold) => have - sold;\n",
  "src/contracts/amount.mjs": "export const DIGITS = 2;\n",
  // A plan of fewer than five files is worked on in one context, in which nothing is hidden from a
  // port.
  "src/stock/more/a.mjs": "",
  "src/stock/more/b.mjs": "",
};
const UNCOMMITTED = { ".env": "KEY=not-for-price\n" };

/** How workers are kept apart; `undefined`: as this machine does it. */
type Kind = "other-user" | undefined;

async function open({
  homeInside = false,
  kind,
  prove,
}: {
  homeInside?: boolean;
  kind?: Kind;
  prove?: OpenSandboxOptions["prove"];
} = {}): Promise<{
  runs: TestRuns;
  repository: TestRepository;
  home: string;
}> {
  const stack = new AsyncDisposableStack();
  onTestFinished(() => stack.disposeAsync());
  const { url } = stack.use(await testDatabase());
  const repository = stack.use(await testRepository(FILES));
  const home = await mkdtemp(
    homeInside ? join(repository.folder, ".dure-") : join(tmpdir(), "dure-home-"),
  );
  stack.defer(() => rm(home, { recursive: true, force: true }));
  const sandbox =
    kind &&
    (await openSandbox({
      wanted: "enforced",
      kinds: [kind],
      folder: join(home, "sandbox"),
      clock: systemClock,
    }));
  return {
    runs: stack.use(
      await startRealRuns({
        url,
        home,
        ...(sandbox && { sandbox }),
        ...(prove && { prove }),
      }),
    ),
    repository,
    home,
  };
}

const planWith = (command: readonly string[], more = ""): string => `
plan: attack
roles: modules
workers: { default: { kind: command, command: ["true"] }, price: { kind: command, command: ${JSON.stringify(command)} } }
contracts: [{ path: src/contracts/amount.mjs, by: orchestrator }]
${more}
ports:
  - { id: stock, role: stock, goal: Leave the stock as it is., owns: [src/stock/**], acceptance: "true", no_change: allowed }
  - { id: price, role: price, goal: Write prices., owns: [src/price/**], acceptance: "node -e \\"import('./src/price/price.mjs').then((m) => process.exit(m.price(1250) === '12.50' ? 0 : 1))\\"" }
`;

async function ended(runs: TestRuns, id: string): Promise<void> {
  await expect
    .poll(async () => (await runs.runs.get(id)).finishedAt !== null, {
      timeout: 60_000,
      interval: 50,
    })
    .toBe(true);
}

/** The attack as its worker's command, which knows where dure keeps what. */
const attack = (
  repository: TestRepository,
  home: string,
  mark: string,
  ...more: string[]
): readonly string[] => [
  "sh",
  "-c",
  `exec node ${ATTACK} ${repository.folder} "${home}/plans/$DURE_RUN/store.git" ${[mark, ...more].join(" ")}`,
];
/** Only root becomes another user. */
const KINDS: readonly Kind[] = process.getuid?.() === 0 ? [undefined, "other-user"] : [undefined];

test(
  "every attack succeeds where nothing keeps workers apart, so the next test shows what does",
  { ...FULL, timeout: 300_000 },
  async () => {
    const { runs, repository, home } = await open();
    await repository.write(UNCOMMITTED);

    const { id } = await runs.runs.run({
      plan: realPlan(planWith(attack(repository, home, "control", "control"), "isolation: audit")),
      repository: repository.folder,
      by: "me",
    });
    await ended(runs, id);
    const port = await runs.runs.port(id, "price");

    const said = port.steps.find(({ kind }) => kind === "implement")!.log;
    // The repository in its tree never held another's file, whatever keeps workers apart.
    expect(said.match(/held:(.*)/)?.[1], said).toMatch(
      /^ read another port's file from git \([^()]*\)$/,
    );
    expect(said.match(/done:(.*)/)?.[1]?.split(", ").length).toBeGreaterThan(20);
    expect(
      (await runs.runs.get(id)).report?.missing.map(({ port: name }) => name) ?? ["price"],
    ).toContain("price");
  },
);

test.for(KINDS)(
  "a worker that ignores all rules reads and changes only its own files, and leaves no process (%s)",
  { ...FULL, timeout: 300_000 },
  async (kind) => {
    const { runs, repository, home } = await open({ kind });
    const before = await repository.fingerprint();
    const config = await readFile(join(repository.folder, ".git", "config"), "utf8");
    const mark = `mark-${process.pid}`;
    await repository.write(UNCOMMITTED);

    const { id } = await runs.runs.run({
      plan: realPlan(planWith(attack(repository, home, mark))),
      repository: repository.folder,
      by: "me",
    });
    await ended(runs, id);
    const run = await runs.runs.get(id);
    const port = await runs.runs.port(id, "price");

    const said = port.steps.find(({ kind }) => kind === "implement")!.log;
    expect(said.match(/done:(.*)/)?.[1]?.trim(), `these attacks were not held: ${said}`).toBe("");
    // Links that lead out are no work of its own: they are recorded, and the port asks.
    expect(port.violations.map(({ path, found }) => `${path} ${found}`)).toEqual(
      expect.arrayContaining(["src/price/passwd commit"]),
    );
    expect(run.report!.missing).toMatchObject([
      { port: "price", because: { code: "OWNERSHIP_VIOLATED" } },
    ]);
    const { items } = await runs.inbox.list({
      tenant: "",
      run: id,
      status: "open",
      type: "ownership",
    });
    expect(items).toMatchObject([{ severity: "high" }]);

    expect(await repository.fingerprint()).toBe(before);
    expect(await readFile(join(repository.folder, ".git", "config"), "utf8")).toBe(config);
    const kept = (
      await repository.git("for-each-ref", "--format=%(refname:lstrip=3)", `refs/dure/${id}/ports`)
    )
      .split("\n")
      .filter(Boolean);
    for (const name of kept) {
      const files = (
        await repository.git(
          "diff",
          "--name-only",
          `refs/dure/${id}/base`,
          `refs/dure/${id}/${name}`,
        )
      )
        .split("\n")
        .filter(Boolean);
      expect(files.filter((file) => !file.startsWith("src/price/"))).toEqual([]);
      expect(files).not.toContain("src/price/passwd");
    }
    expect(await processesWith(mark)).toEqual([]);
    expect(await readdir(join(home, "plans"))).toEqual([id]);
  },
);

test.for(KINDS.filter((kind) => kind !== undefined))(
  "as %s nothing begins where that user could read what is to be hidden, and the run says what to close",
  { timeout: 120_000 },
  async (kind) => {
    const { runs, repository, home } = await open({ kind });
    await Promise.all([chmod(home, 0o755), chmod(repository.folder, 0o755)]);
    await repository.write(UNCOMMITTED);

    const { id } = await runs.runs.run({
      plan: realPlan(
        planWith(["sh", "-c", `cat ${repository.folder}/.env; touch src/price/begun`]),
      ),
      repository: repository.folder,
      by: "me",
    });
    await ended(runs, id);
    const run = await runs.runs.get(id);
    const { steps } = await runs.runs.port(id, "price");

    expect(run.status).toBe("failed");
    const [missing] = run.report!.missing.filter(({ port }) => port === "price");
    expect(missing!.because).toMatchObject({
      code: "WORKER_NOT_STARTED",
      message: expect.stringContaining("every user of the machine can read") as string,
      hint: expect.stringMatching(/^chmod go-rwx \//) as string,
    });
    expect(
      steps.map(({ kind: step, output }) => [step, (output as { changes: unknown[] }).changes]),
    ).toEqual([["implement", []]]);
    expect(JSON.stringify(steps)).not.toContain("not-for-price");
  },
);

test(
  "a worker sees no file of the person above its tree, but the software there, and no foreign variable",
  { ...FULL, timeout: 300_000 },
  async () => {
    for (const name of [
      "DURE_TOKEN",
      "DATABASE_URL",
      "OPENAI_API_KEY",
      "DISCORD_TOKEN_RUDA",
      "SSH_AUTH_SOCK",
      "OF_THE_PERSON",
    ]) {
      vi.stubEnv(name, "not-for-price");
    }
    onTestFinished(() => void vi.unstubAllEnvs());
    const { runs, repository } = await open({ homeInside: true });
    await repository.write({ ...UNCOMMITTED, "node_modules/.bin/tool": "#!/bin/sh\necho tool\n" });
    const look =
      `cat ${repository.folder}/.env ../../../../../../src/stock/stock.mjs; sh ` +
      `${repository.folder}/node_modules/.bin/tool > src/price/tool.txt; ls ${repository.folder} ` +
      `>> src/price/tool.txt; env > src/price/env.txt; echo "export const price = (cents) => ` +
      `(cents / 100).toFixed(2);" > src/price/price.mjs`;

    const { id } = await runs.runs.run({
      plan: realPlan(planWith(["sh", "-c", look])),
      repository: repository.folder,
      by: "me",
    });
    await ended(runs, id);
    const port = await runs.runs.port(id, "price");

    expect((await runs.runs.get(id)).status, JSON.stringify(port.steps.map(({ log }) => log))).toBe(
      "success",
    );
    expect(port.steps.map(({ log }) => log).join("")).not.toContain("not-for-price");
    expect(
      (await repository.git("show", `refs/dure/${id}/ports/price/result:src/price/tool.txt`))
        .split("\n")
        .map((name) => name.replace(/^\.dure-.*/, ".dure")),
    ).toEqual(["tool", "node_modules"]);
    const environment = await repository.git(
      "show",
      `refs/dure/${id}/ports/price/result:src/price/env.txt`,
    );
    expect(environment).not.toContain("not-for-price");
    const names = environment.split("\n").map((line) => line.split("=", 1)[0]!);
    const own =
      /^(DURE_(RUN|PORT_ID|WORKER|LISTEN|HOOK_URL|HOOK_TOKEN|MEMBER|TRY|PROMPT_FILE|SANDBOX|SCRATCH)|PATH|LANG|LC_ALL|TZ|HOME|TMPDIR|CI|NO_COLOR|TERM|GIT_OPTIONAL_LOCKS|PWD|OLDPWD|SHLVL|_)$/;
    expect(names.filter((name) => !own.test(name))).toEqual([]);
  },
);

test(
  "a stored plan that names a secret of dure's own ends before anything of it starts",
  { timeout: 120_000 },
  async () => {
    for (const name of ["DURE_TOKEN", "DATABASE_URL"]) vi.stubEnv(name, "not-for-price");
    onTestFinished(() => void vi.unstubAllEnvs());
    const { runs, repository } = await open();
    const plan = realPlan(planWith(["sh", "-c", "env > src/price/env.txt"]));
    const price: WorkerSpec = {
      ...plan.workers.byRole["price"]!,
      env: ["OF_THE_PERSON", "DURE_TOKEN", "DATABASE_URL"],
    };
    const stored = { ...plan, workers: { ...plan.workers, byRole: { price } } };

    const { id } = await runs.runs.run({ plan: stored, repository: repository.folder, by: "me" });
    await ended(runs, id);

    expect(await runs.runs.get(id)).toMatchObject({
      status: "failed",
      because: {
        code: "PLAN_TAKES_SECRET",
        message:
          "The plan attack gives workers what is dure's own: DURE_TOKEN (workers.price.env), DATABASE_URL (workers.price.env).",
        hint: expect.stringContaining("another name") as string,
      },
    });
    for (const port of plan.ports) expect((await runs.runs.port(id, port.id)).steps).toEqual([]);
  },
);

test(
  "on a machine that gives processes no network of their own a run ends before anything starts",
  { ...FULL, timeout: 300_000 },
  async () => {
    const prove = async () => ({ ...UNPROVEN, files: "enforced" }) as const;
    const { runs, repository } = await open({ prove });
    const plans = ["", "network: { workers: open, acceptance: open }"].map((more) =>
      realPlan(planWith(["touch", "src/price/begun"], more)),
    );

    for (const plan of plans) {
      const { id } = await runs.runs.run({ plan, repository: repository.folder, by: "me" });
      await ended(runs, id);

      expect(await runs.runs.get(id)).toMatchObject({
        status: "failed",
        isolation: null,
        because: {
          code: "ISOLATION_UNAVAILABLE",
          message: expect.stringContaining("the machine's own network") as string,
          hint: expect.stringContaining("plans:unconfined") as string,
        },
      });
      for (const port of plan.ports) expect((await runs.runs.port(id, port.id)).steps).toEqual([]);
    }
  },
);

test(
  "a worker that makes one file too many, or one huge one, is refused and nothing of it lands",
  { ...FULL, timeout: 300_000 },
  async () => {
    const { runs, repository } = await open();
    const many = realPlan(
      planWith([
        "sh",
        "-c",
        `mkdir -p src/price/many && cd src/price/many && seq ${MANY} | xargs touch`,
      ]),
    );
    const huge = realPlan(
      planWith(["sh", "-c", "head -c 50000000 /dev/zero > src/price/huge.bin"]),
    );

    const runIds = [];
    for (const plan of [many, huge]) {
      const { id } = await runs.runs.run({ plan, repository: repository.folder, by: "me" });
      await ended(runs, id);
      runIds.push(id);
    }

    for (const id of runIds) {
      expect((await runs.runs.get(id)).report!.missing[0]!.because.code).toBe("OWNERSHIP_VIOLATED");
      expect((await runs.runs.port(id, "price")).violations.length).toBeGreaterThan(0);
      expect(await repository.git("for-each-ref", `refs/dure/${id}/ports/price`)).toBe("");
    }
  },
);

async function processesWith(text: string): Promise<string[]> {
  const pids = (await readdir("/proc")).filter((name) => /^\d+$/.test(name));
  const lines = await Promise.all(
    pids.map((pid) => readFile(`/proc/${pid}/cmdline`, "utf8").catch(() => "")),
  );
  return lines
    .map((line) => line.replaceAll("\0", " ").trim())
    .filter((line) => line.includes(text) && line.includes("setTimeout"));
}
