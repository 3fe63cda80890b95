// @module-tag slow
import { spawn } from "node:child_process";
import { once } from "node:events";
import {
  appendFile,
  mkdir,
  mkdtemp,
  readFile,
  realpath,
  rm,
  symlink,
  writeFile,
} from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, expect, test } from "vitest";
import { eventually } from "../../test/until.ts";
import type { CaseResult } from "../team/evals/eval-record.ts";

const PROGRAM = fileURLToPath(new URL("./main.ts", import.meta.url));
const EXAMPLES = fileURLToPath(new URL("../../../../examples", import.meta.url));
/** A start of a database of its own, and the cases of three services. */
const PATIENCE = { timeout: 120_000 };

let folder: string;

beforeEach(async () => {
  folder = await mkdtemp(path.join(await realpath(tmpdir()), "dure-eval-"));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

/** How the command ended. */
interface Ended {
  readonly exitCode: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** `dure eval` as a person runs it. @param beside may kill it */
async function dure(
  args: readonly string[],
  beside?: (kill: () => void) => unknown,
): Promise<Ended> {
  const { PATH = "", HOME = "", NODE_COMPILE_CACHE } = process.env;
  const env = { PATH, HOME, NODE_COMPILE_CACHE, DURE_HOME: path.join(folder, "home"), LANG: "C" };
  const node = ["--conditions=dure-source", "--no-warnings", PROGRAM];
  const child = spawn(process.execPath, [...node, "eval", ...args, "--json"], { cwd: folder, env });
  const said = { stdout: "", stderr: "" };
  child.stdout.on("data", (chunk: Buffer) => (said.stdout += chunk.toString()));
  child.stderr.on("data", (chunk: Buffer) => (said.stderr += chunk.toString()));
  const closed = once(child, "close");
  await beside?.(() => child.kill("SIGKILL"));
  await closed;

  return { exitCode: child.exitCode, ...said };
}

function resultsIn({ stdout, stderr }: Ended): readonly CaseResult[] {
  if (stdout === "") throw new Error(stderr);
  return (JSON.parse(stdout) as { results: CaseResult[] }).results;
}

/** A team whose agent, judge and person answer by what they are asked. */
async function team(files: Readonly<Record<string, string>>): Promise<void> {
  const code = `
import { appendFileSync, existsSync, readFileSync } from "node:fs";
import { chatAgent, defineService, flow, offlineModel, tool } from "dure";
import { defineTeam } from "dure/team";
import { z } from "zod";

const pay = tool({
  description: "Pays.",
  inputSchema: z.object({ won: z.number() }),
  effect: "once",
  execute: ({ won }) => (appendFileSync("paid.txt", won + "\\n"), { paid: won }),
  probe: async ({ won }) =>
    existsSync("paid.txt") && readFileSync("paid.txt", "utf8").split("\\n").includes(String(won))
      ? "happened"
      : "not_happened",
});
const model = offlineModel("desk", ({ system = "", messages }) => {
  const last = messages.at(-1);
  if (system.startsWith("You judge")) {
    const { criterion } = JSON.parse(last.text);
    return criterion === "unclear" ? "It depends." : JSON.stringify({ pass: criterion === "polite", reason: "so" });
  }
  if (system.startsWith("You play")) {
    const { answered, seed } = JSON.parse(last.text);
    return answered === null ? "I want to pay " + seed : "[end]";
  }
  if (last.role === "tool") return "Paid, thank you.";
  const [won] = /\\d+/.exec(last.text) ?? [];
  return won ? { toolCalls: [{ name: "pay", args: { won: Number(won) } }] } : "How much, please?";
});
const clerk = chatAgent({ name: "clerk", prompt: "Pay what is asked.", tools: { pay } });
const desk = defineService({
  name: "desk",
  agents: { clerk },
  flows: { DEFAULT: flow(async (turn) => turn.done({ message: (await turn.agent("clerk", "…")).text })) },
});
export default defineTeam({ services: { desk }, offlineModels: [model] });
`;
  await writeFile(path.join(folder, "dure.config.ts"), code);
  await mkdir(path.join(folder, "evals"));
  const library = fileURLToPath(new URL("../../../../node_modules", import.meta.url));
  await symlink(library, path.join(folder, "node_modules"));
  for (const [name, text] of Object.entries(files)) {
    await writeFile(path.join(folder, "evals", name), text);
  }
}

test(
  "the example services are as their evaluations say, and JUnit has each case",
  PATIENCE,
  async () => {
    const junit = path.join(folder, "report.xml");
    const ended = await dure(["--dir", EXAMPLES, "--junit", junit]);

    expect(resultsIn(ended).flatMap(({ failures }) => failures)).toEqual([]);
    expect(ended.exitCode).toBe(0);
    const xml = await readFile(junit, "utf8");
    expect(xml.match(/<testcase /g)).toHaveLength(resultsIn(ended).length);
    expect(xml).not.toContain("<failure");
  },
);

test("what is wrong is told case by case, and the exit code is 1", PATIENCE, async () => {
  await team({
    "desk.eval.yaml": `
cases:
  - { name: asks, say: pay, expect: { says: how much, never_calls: [pay], judge: polite } }
  - { name: pays, say: pay 5, expect: { calls: [{ tool: pay, with: { won: 5 } }] } }
  - { name: wrong words, say: pay, expect: { says: thank you } }
  - { name: judged no, say: pay, expect: { judge: rude } }
  - { name: no verdict, say: pay, expect: { judge: unclear } }
  - { name: no button, turns: [{ say: pay }, { press: "Yes", expect: { says: a } }] }
  - { name: a person, user: { goal: pay }, expect: { calls: [pay], says: paid } }
`,
  });
  const ended = await dure(["--repeat", "2"]);
  const kinds = Object.fromEntries(
    resultsIn(ended).map((one) => [one.case, one.failures.map(({ kind }) => kind)]),
  );

  expect(kinds).toEqual({
    asks: [],
    pays: [],
    "wrong words": ["says"],
    "judged no": ["judge"],
    "no verdict": ["judge"],
    "no button": ["broken"],
    "a person": [],
  });
  expect(ended.exitCode).toBe(1);
  expect(await readFile(path.join(folder, "paid.txt"), "utf8")).toMatch(/^(?:[512]\n){4}$/);
});

test(
  "a run that is killed goes on where it was, and no tool is called twice",
  PATIENCE,
  async () => {
    const cases = Array.from(
      { length: 12 },
      (_, n) => `  - { name: c${n}, say: pay ${100 + n}, expect: { says: paid } }\n`,
    );
    await team({ "desk.eval.yaml": `cases:\n${cases.join("")}` });
    await appendFile(path.join(folder, "paid.txt"), "");
    const paid = async (): Promise<string[]> =>
      (await readFile(path.join(folder, "paid.txt"), "utf8")).trim().split("\n");
    const killed = await dure(["--parallel", "2"], async (kill) => {
      await eventually(async () => expect((await paid()).length).toBeGreaterThan(3), {
        patienceMs: 60_000,
      });
      kill();
    });
    const ended = await dure(["--resume"]);

    expect(killed.exitCode).toBeNull();
    expect(resultsIn(ended)).toHaveLength(12);
    expect(ended.exitCode).toBe(0);
    expect((await paid()).toSorted()).toEqual(
      Array.from({ length: 12 }, (_, n) => String(100 + n)),
    );
  },
);

test("two runs are compared by score, and by the cases that differ", PATIENCE, async () => {
  await team({ "desk.eval.yaml": "cases: [{ say: pay, expect: { says: how much } }]" });
  await dure(["--label", "before"]);
  await writeFile(
    path.join(folder, "evals", "desk.eval.yaml"),
    "cases: [{ say: pay, expect: { says: something else } }]",
  );
  await dure(["--label", "after"]);
  const { stdout, exitCode } = await dure(["compare", "before", "after"]);

  expect(exitCode).toBe(0);
  expect(JSON.parse(stdout)).toMatchObject({
    before: { name: "before", score: 1 },
    after: { name: "after", score: 0 },
    cases: [{ evaluation: "desk", case: "case 1", before: 1, after: 0 }],
  });
});
