// @module-tag slow
/**
 * The checks bite: each kind of rule of the house is broken once in a small tree, and the check
 * must say so.
 */

import { cp, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { describe, expect, test } from "vitest";
import { FULL, sampled } from "../packages/dure/src/kernel/test-tiers.ts";
import { COUNTS_FILE } from "./count-reporter.ts";
import { checkLayers } from "./layers.ts";
import { root, runTool } from "./processes.ts";

/** A tree that breaks no rule; each test adds the one file that does. */
const SOUND = {
  "packages/dure/src/kernel/clock.ts":
    "export const systemClock = { now: (): number => Date.now() };\n",
  "packages/dure/src/engine/turn.ts":
    'import { systemClock } from "../kernel/clock.ts";\nexport const at = systemClock.now();\n',
  "packages/dure/src/client/index.ts": 'export type { Turn } from "../kernel/turn.ts";\n',
  "packages/dure/src/kernel/turn.ts": "export interface Turn {\n  readonly id: string;\n}\n",
  "packages/dure/package.json": JSON.stringify({
    name: "dure",
    type: "module",
    exports: {
      ".": { "dure-source": "./src/engine/turn.ts" },
      "./client": { "dure-source": "./src/client/index.ts" },
    },
  }),
  "packages/testing/src/index.ts":
    'import type { Turn } from "../../dure/src/client/index.ts";\nexport type Fake = Turn;\n',
  "packages/dashboard/src/main.ts": "export const title = document.title;\n",
};

type Tree = Readonly<Record<string, string>>;

async function makeTree(files: Tree): Promise<AsyncDisposable & { readonly folder: string }> {
  const folder = await mkdtemp(path.join(tmpdir(), "dure-checks-"));
  for (const [name, content] of Object.entries(files)) {
    await mkdir(path.dirname(path.join(folder, name)), { recursive: true });
    await writeFile(path.join(folder, name), content);
  }
  await symlink(path.join(root, "node_modules"), path.join(folder, "node_modules"));
  for (const name of [".oxlintrc.json", "tsconfig.base.json", "tsconfig.json"]) {
    await cp(path.join(root, name), path.join(folder, name));
  }
  return { folder, [Symbol.asyncDispose]: () => rm(folder, { recursive: true, force: true }) };
}

async function layersOf(more: Tree): Promise<string> {
  await using tree = await makeTree({ ...SOUND, ...more });
  const result = await checkLayers(tree.folder);
  return result.ok ? `ok: ${result.note}` : result.output;
}

async function lintOf(
  file: string,
  content: string,
  { signal }: { signal: AbortSignal },
): Promise<{ exitCode: number; output: string }> {
  await using tree = await makeTree({ ...SOUND, [file]: content });
  return await runTool("oxlint", ["--type-aware", "--deny-warnings", "packages"], {
    cwd: tree.folder,
    signal,
  });
}

describe("layers", () => {
  test("a sound tree passes, and every source file was seen", async () => {
    expect(await layersOf({})).toBe("ok: 6 modules");
  });

  test("a layer that imports from above fails, also by a type alone", async () => {
    const output = await layersOf({
      "packages/dure/src/kernel/peek.ts":
        'import { at } from "../engine/turn.ts";\nexport const peek = at;\n',
      "packages/dure/src/models/peek.ts":
        'import type { at } from "../engine/turn.ts";\nexport type Peek = typeof at;\n',
    });

    expect(output).toContain(
      "layer-kernel: packages/dure/src/kernel/peek.ts → packages/dure/src/engine/turn.ts",
    );
    expect(output).toContain(
      "layer-models: packages/dure/src/models/peek.ts → packages/dure/src/engine/turn.ts",
    );
  });

  test(
    "two modules that need each other at run time fail; by types alone they may",
    FULL,
    async () => {
      const cycle = await layersOf({
        "packages/dure/src/engine/a.ts":
          'import { b } from "./b.ts";\nexport const a = (): unknown => b;\n',
        "packages/dure/src/engine/b.ts":
          'import { a } from "./a.ts";\nexport const b = (): unknown => a;\n',
      });
      const types = await layersOf({
        "packages/dure/src/engine/a.ts":
          'import { b } from "./b.ts";\nexport interface A {\n  b: typeof b;\n}\n',
        "packages/dure/src/engine/b.ts":
          'import type { A } from "./a.ts";\nexport const b = (a: A): unknown => a;\n',
      });

      expect(cycle).toContain("no-runtime-cycle: packages/dure/src/engine/a.ts");
      expect(types).toBe("ok: 8 modules");
    },
  );

  test("a platform's client outside its folder, and a Node module in the client, fail", async () => {
    const output = await layersOf({
      "packages/dure/src/engine/flow.ts":
        'import { Client } from "discord.js";\nexport const flow = Client;\n',
      "packages/dure/src/client/files.ts":
        'import { readFile } from "node:fs/promises";\nexport const files = readFile;\n',
    });

    expect(output).toContain(
      "platform-clients-only-in-platforms: packages/dure/src/engine/flow.ts",
    );
    expect(output).toContain("browser-safe: packages/dure/src/client/files.ts → fs/promises");
  });

  test("the dashboard reaches dure through its client alone", async () => {
    const output = await layersOf({
      "packages/dashboard/src/good.ts":
        'import type { Turn } from "../../dure/src/client/index.ts";\nexport type Good = Turn;\n',
      "packages/dashboard/src/bad.ts":
        'import { at } from "../../dure/src/engine/turn.ts";\nexport const bad = at;\n',
    });

    expect(output).toContain("dashboard-through-client: packages/dashboard/src/bad.ts");
    expect(output).not.toContain("good.ts");
  });

  test("the product has no test doubles, and they know its doors alone", async () => {
    const output = await layersOf({
      "packages/dure/src/engine/fake.ts":
        'export type { Fake } from "../../../testing/src/index.ts";\n',
      "packages/testing/src/inside.ts": 'export { at } from "../../dure/src/engine/turn.ts";\n',
    });

    expect(output).toContain("no-doubles-in-the-product: packages/dure/src/engine/fake.ts");
    expect(output).toContain("testing-through-doors: packages/testing/src/inside.ts");
    expect(output).not.toContain("packages/testing/src/index.ts → ");
  });

  test("a tree without sources is no success", async () => {
    await using tree = await makeTree({
      "packages/dure/src/README.md": "",
      "packages/testing/src/README.md": "",
      "packages/dashboard/src/README.md": "",
    });

    const result = await checkLayers(tree.folder);

    expect(result.ok).toBe(false);
  });
});

describe("lint", () => {
  const faults = sampled(
    [
      [
        "the clock",
        "engine/late.ts",
        "export const late = Date.now();\n",
        "no-restricted-properties",
      ],
      [
        "a timer",
        "engine/late.ts",
        "export const late = setTimeout(() => {}, 1);\n",
        "no-restricted-globals",
      ],
      [
        "a timer by import",
        "engine/late.ts",
        'export { setTimeout } from "node:timers/promises";\n',
        "no-restricted-imports",
      ],
      [
        "the environment",
        "engine/late.ts",
        'export const late = process.env["HOME"];\n',
        "no-restricted-properties",
      ],
      [
        "the clock in team/",
        "team/late.ts",
        "export const late = Date.now();\n",
        "no-restricted-properties",
      ],
      [
        "a floating promise",
        "engine/late.ts",
        "async function late(): Promise<void> {}\nlate();\nexport const x = 1;\n",
        "no-floating-promises",
      ],
      [
        "any",
        "engine/late.ts",
        "export const late = (value: any): unknown => value;\n",
        "no-explicit-any",
      ],
      [
        "a default export",
        "engine/late.ts",
        "const late = 1;\nexport default late;\n",
        "no-default-export",
      ],
    ] as const,
    2,
  );

  test.for(faults.rows)("finds %s", faults.options, async ([, file, content, rule], { signal }) => {
    const { exitCode, output } = await lintOf(`packages/dure/src/${file}`, content, { signal });

    expect(output).toContain(rule);
    expect(exitCode).not.toBe(0);
  });

  test("lets team/ read the environment, and a test the clock", async ({ signal }) => {
    const team = await lintOf(
      "packages/dure/src/team/config.ts",
      'export const home = process.env["HOME"];\n',
      { signal },
    );
    const inTest = await lintOf(
      "packages/dure/src/engine/late.test.ts",
      "export const late = Date.now();\n",
      { signal },
    );

    expect(team).toMatchObject({ exitCode: 0 });
    expect(inTest).toMatchObject({ exitCode: 0 });
  });
});

describe("the last line", () => {
  test("counts a broken file as a failure, beside the tests that passed and failed", async ({
    signal,
  }) => {
    await using tree = await makeTree({
      "good.test.ts":
        'import { expect, test } from "vitest";\ntest("yes", () => {});\ntest("no", () => ' +
        "expect(1).toBe(2));\n",
      "broken.test.ts": 'throw new Error("not even loaded");\n',
    });
    const counts = path.join(tree.folder, "counts.json");
    const reporter = path.join(root, "scripts/count-reporter.ts");

    const { exitCode } = await runTool(
      "vitest",
      ["run", "--root", tree.folder, `--reporter=${reporter}`],
      {
        cwd: tree.folder,
        signal,
        env: { ...process.env, [COUNTS_FILE]: counts },
      },
    );

    expect(exitCode).not.toBe(0);
    expect(JSON.parse(await readFile(counts, "utf8"))).toEqual({
      passed: 1,
      failed: 2,
      skipped: 0,
    });
  });
});
