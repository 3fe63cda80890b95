// @module-tag slow
/**
 * The script that breaks guards, on a toy tree with a real test runner; and whether its list still
 * fits the sources.
 */

import { mkdir, mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { describe, expect, test } from "vitest";
import { FULL } from "../packages/dure/src/kernel/test-tiers.ts";
import { readGuards } from "./guards.ts";
import { isNoticed, locate, mutate, testsOf, type Guard, type Verdict } from "./mutate.ts";
import { root } from "./processes.ts";

const DOOR = `export function mayEnter(age: number): boolean {
  if (age < 18) return false;
  if (age > 120) return false;
  return true;
}

export function knock(times: number): number {
  let knocks = 0;
  while (knocks < times) knocks += 1;
  return knocks;
}
`;

const DOOR_TEST = `import { expect, test } from "vitest";
import { knock, mayEnter } from "./door.ts";
test("children stay outside", () => expect(mayEnter(17)).toBe(false));
test("grown-ups come in", () => expect(mayEnter(18)).toBe(true));
test("it is knocked as often as was asked", () => expect(knock(3)).toBe(3));
test("a test that is red anyway", () => expect(mayEnter(18)).toBe(false));
`;

const CONFIG = `export default { test: { include: ["*.test.ts"], pool: "forks", maxWorkers: 1 } };`;

interface Toy extends AsyncDisposable {
  readonly folder: string;
  try(guards: readonly Partial<Guard>[], timeoutMs?: number): Promise<readonly Verdict[]>;
}

function aGuard(given: Partial<Guard>): Guard {
  return {
    id: "door",
    at: { file: "door.ts" },
    find: "if (age < 18) return false;",
    replace: "",
    tests: ["door.test.ts > children stay outside"],
    why: "children come in",
    ...given,
  };
}

async function openToy(): Promise<Toy> {
  const folder = await mkdtemp(path.join(tmpdir(), "dure-toy-"));
  await mkdir(path.join(folder, "node_modules"));
  await symlink(path.join(root, "node_modules/vitest"), path.join(folder, "node_modules/vitest"));
  const files = {
    "package.json": '{ "type": "module" }',
    "vitest.config.ts": CONFIG,
    "door.ts": DOOR,
    "door.test.ts": DOOR_TEST,
  };
  for (const [name, text] of Object.entries(files)) await writeFile(path.join(folder, name), text);
  return {
    folder,
    try: (guards, timeoutMs = 120_000) =>
      mutate({ root: folder, guards: guards.map(aGuard), jobs: 2, timeoutMs }),
    [Symbol.asyncDispose]: () => rm(folder, { recursive: true, force: true }),
  };
}

function outcomesOf(verdicts: readonly Verdict[]): Record<string, string> {
  return Object.fromEntries(verdicts.map(({ guard, outcome }) => [guard.id, outcome]));
}

describe("on a toy tree", { timeout: 240_000 }, () => {
  test(
    "what a test notices is killed, what none notices survives, and what is gone is said",
    FULL,
    async () => {
      await using toy = await openToy();

      const verdicts = await toy.try([
        { id: "noticed" },
        { id: "unnoticed", find: "if (age > 120) return false;", tests: ["door.test.ts"] },
        { id: "gone", find: "if (age < 21) return false;" },
        { id: "twice", find: "return false;" },
        { id: "no file", at: { file: "window.ts" } },
        { id: "no test", tests: ["door.test.ts > dogs stay outside"] },
        {
          id: "red anyway",
          find: "if (age > 120) return false;",
          tests: ["door.test.ts > a test that is red anyway"],
        },
        { id: "no code", replace: "if (" },
      ]);

      expect(outcomesOf(verdicts)).toEqual({
        noticed: "killed",
        unnoticed: "SURVIVED",
        gone: "GONE",
        twice: "GONE",
        "no file": "GONE",
        "no test": "BROKEN",
        "red anyway": "BROKEN",
        "no code": "BROKEN",
      });
      expect(verdicts.filter(isNoticed).map(({ guard }) => guard.id)).toEqual(["noticed"]);
      expect(verdicts[0]!.detail).toBe("children stay outside");
      expect(await readFile(path.join(toy.folder, "door.ts"), "utf8")).toBe(DOOR);
    },
  );

  test("a time-out is its own outcome, and counts only where the guard says so", FULL, async () => {
    await using toy = await openToy();
    const hanging = {
      find: "knocks += 1;",
      replace: "knocks += 0;",
      tests: ["door.test.ts > it is knocked as often"],
    };

    const verdicts = await toy.try(
      [
        { id: "unsaid", ...hanging },
        { id: "said", ...hanging, hangs: true },
      ],
      10_000,
    );

    expect(outcomesOf(verdicts)).toEqual({ unsaid: "TIMED OUT", said: "TIMED OUT" });
    expect(verdicts.filter(isNoticed).map(({ guard }) => guard.id)).toEqual(["said"]);
  });
});

test("a function of the database is broken in its own file, and nothing of its neighbours", async () => {
  await using toy = await openToy();
  const sources = path.join(toy.folder, "packages/dure/src");
  await mkdir(path.join(sources, "durable"), { recursive: true });
  await writeFile(
    path.join(sources, "durable/doors.sql.ts"),
    "export const sql = `\n" +
      "create or replace function dure.enter(age integer) returns boolean language sql as $$\n" +
      "  select age >= 21\n$$;\n" +
      "create or replace function dure.other() returns text language sql as $$\n" +
      "  select 'age >= 20'\n$$;\n`;\n",
  );
  const guard = aGuard({ at: { sql: "enter" }, find: "age >= 21", replace: "true" });

  expect(locate(toy.folder, guard)).toMatchObject({
    ok: true,
    file: "packages/dure/src/durable/doors.sql.ts",
  });
  expect(locate(toy.folder, { ...guard, find: "age >= 20" })).toEqual({
    ok: false,
    because:
      "the text is not in dure.enter (packages/dure/src/durable/doors.sql.ts); move the guard along",
  });
});

describe("the lists of guards", () => {
  const guards = readGuards(root);

  test("name each guard once", () => {
    const ids = guards.map(({ id }) => id);

    expect(ids.filter((id, index) => ids.indexOf(id) !== index)).toEqual([]);
  });

  test("find each guard exactly once; a change of the sources moves its guards along", () => {
    const problems = guards.flatMap((guard) => {
      const place = locate(root, guard);
      return place.ok ? [] : [`${guard.id}: ${place.because}`];
    });

    expect(problems).toEqual([]);
  });

  test("name tests that their files have", async () => {
    const problems: string[] = [];
    for (const guard of guards) {
      for (const { file, name } of testsOf(guard)) {
        const text = await readFile(path.join(root, file), "utf8").catch(() => "");
        if (!hasTest(text, name)) problems.push(`${guard.id}: ${file} > ${name}`);
      }
    }

    expect(problems).toEqual([]);
  });
});

/** Where a table of tests puts a value into a title. */
const GAP = /%[a-z%]|\$\{[^}]*\}|\$[\w.]+/;

/** Whether a title in the file holds the name; what stands in a gap of one is in the file, too. */
function hasTest(text: string, name: string): boolean {
  const titles = text.match(/"(?:[^"\\\n]|\\.)+"|`[^`]+`/g) ?? [];
  return (
    (name === "" && text !== "") ||
    titles.some((title) => holds(title.slice(1, -1).split(GAP), name, text))
  );
}

function holds(parts: readonly string[], name: string, text: string): boolean {
  return parts.some((part, index) => {
    if (part.includes(name)) return true;
    const starts = Array.from({ length: part.length + 1 }, (_, start) => part.slice(start));
    const after = parts.slice(index + 1);
    const begins = starts.filter((end) => after.length > 0 && name.startsWith(end));
    return begins.some((end) => goesOn(name.slice(end.length), after, text));
  });
}

/** `rest` begins in a gap. */
function goesOn(rest: string, [next = "", ...after]: readonly string[], text: string): boolean {
  return Array.from(rest, (_, at) => at).some((at) => {
    if (!text.includes(rest.slice(0, at))) return false;
    const behind = rest.slice(at);
    if (next.startsWith(behind) || text.includes(rest)) return true;
    return next !== "" && behind.startsWith(next) && goesOn(behind.slice(next.length), after, text);
  });
}
