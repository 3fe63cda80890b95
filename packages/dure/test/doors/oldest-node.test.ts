import { execFile } from "node:child_process";
import path from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";

/**
 * The compiler looks at patterns that are written down, not at those that are put together. What
 * Node 22.12 refuses: a name that two groups have, and flags for a part.
 */
const COLLECT = `
const built = [];
const Given = RegExp;
globalThis.RegExp = new Proxy(Given, {
  construct(...given) {
    const pattern = Reflect.construct(...given);
    built.push(pattern.source);
    return pattern;
  },
});
for (const door of ["dure", "dure/slots", "dure/team", "dure/channels", "dure/korean"]) await import(door);
const isNewer = (source) => {
  const names = [...source.matchAll(/\\(\\?<([A-Za-z_]\\w*)>/g)].map(([, name]) => name);
  return new Set(names).size < names.length || /\\(\\?[ims]*-?[ims]+:/.test(source);
};
console.log(JSON.stringify({ count: built.length, newer: built.filter(isNewer) }));
`;

test("no pattern that dure puts together needs more than the oldest Node", async () => {
  const { stdout } = await promisify(execFile)(
    process.execPath,
    ["--conditions=dure-source", "--input-type=module", "--eval", COLLECT],
    { cwd: path.join(import.meta.dirname, "../..") },
  );
  const { count, newer } = JSON.parse(stdout) as { count: number; newer: readonly string[] };

  expect(count).toBeGreaterThan(100);
  expect(newer).toEqual([]);
});
