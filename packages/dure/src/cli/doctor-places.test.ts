/** Lines that doctor names are those of Node itself, so it runs as people run it: in the team's folder. */

import { execFile } from "node:child_process";
import { appendFile, mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, expect, test } from "vitest";
import { FULL } from "../kernel/test-tiers.ts";
import { initTeam } from "./init-team.ts";

const MAIN = fileURLToPath(new URL("main.ts", import.meta.url));
const PACKAGES = fileURLToPath(new URL("../../../../node_modules", import.meta.url));
const SERVICE = "services/minimal/service.ts";

let folder: string;
let team: string;

beforeEach(async () => {
  folder = await mkdtemp(path.join(tmpdir(), "dure-place-"));
  await symlink(PACKAGES, path.join(folder, "node_modules"));
  team = (await initTeam("demo", { folder, version: "0.1.0" })).folder;
});

afterEach(() => rm(folder, { recursive: true }));

/** What is planted, and the lines that are told. */
const CASES: readonly (readonly [string, () => Promise<unknown>, readonly string[]])[] = [
  [
    "a configuration that is no TypeScript",
    () => change("dure.config.ts", 'locale: "en",', 'locale: "en"'),
    ["fail config: CONFIG_UNREADABLE dure.config.ts:7 cannot be loaded: "],
  ],
  [
    "a service that is no TypeScript",
    () => change(SERVICE, "agents: { helper },", "agents: {"),
    [
      `fail service: ${SERVICE}:22 cannot be loaded: `,
      `dure.config.ts cannot be loaded: ${SERVICE}:22: `,
    ],
  ],
  [
    "a service that throws",
    () => appendFile(path.join(team, SERVICE), "throw new Error('no bank');\n"),
    [`fail service: ${SERVICE}:23 cannot be loaded: no bank`],
  ],
  [
    "a file that is not there",
    () => rm(path.join(team, SERVICE)),
    ["fail config: CONFIG_UNREADABLE dure.config.ts:2 cannot be loaded: Cannot find module"],
  ],
  [
    "an import that is not there",
    () => appendFile(path.join(team, SERVICE), 'import "left-pad-9";\n'),
    [`fail service: ${SERVICE}:23 cannot be loaded: Cannot find package 'left-pad-9'`],
  ],
];

test.each(CASES)(
  "doctor names where there is %s",
  { ...FULL, timeout: 120_000 },
  async (_name, plant, told) => {
    await plant();

    const text = await doctor();

    for (const words of told) expect(text).toContain(words);
  },
);

async function change(file: string, from: string, to: string): Promise<void> {
  const text = await readFile(path.join(team, file), "utf8");
  expect(text).toContain(from);
  await writeFile(path.join(team, file), text.replace(from, to));
}

function doctor(): Promise<string> {
  const args = ["--conditions=dure-source", MAIN, "doctor"];
  const env = { PATH: process.env["PATH"], HOME: folder };
  return new Promise((resolve) => {
    execFile(process.execPath, args, { cwd: team, env }, (_error, stdout, stderr) =>
      resolve(stdout + stderr),
    );
  });
}
