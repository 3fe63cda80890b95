import { expect, test } from "vitest";
import { makeScope } from "../scope.ts";
import { RefusedWrites } from "./refused-writes.ts";

const scope = makeScope({ writes: ["src/**"], reads: [], contracts: ["src/ports/api.ts"] });
const found = (text: string): readonly string[] => {
  const writes = new RefusedWrites({ tree: "/run/tree", scope });
  return [...writes.push(text), ...writes.end()].map(({ path, because }) => `${path} ${because}`);
};

test.each([
  ["sh: 1: cannot create lib/other.ts: Read-only file system", "lib/other.ts not-owned"],
  ["bash: line 1: ./README.md: Read-only file system", "README.md not-owned"],
  ["touch: cannot touch 'lib/a b.ts': Read-only file system", "lib/a b.ts not-owned"],
  ["Error: EROFS: read-only file system, open '/run/tree/lib/x.ts'", "lib/x.ts not-owned"],
  [
    "OSError: [Errno 30] Read-only file system: '/run/tree/src/ports/api.ts'",
    "src/ports/api.ts contract",
  ],
  ["open go.mod: read-only file system", "go.mod not-owned"],
  ["rm: cannot remove `test/a.test.ts': Read-only file system", "test/a.test.ts not-owned"],
])("a program that prints %j has tried to write %s", (line, write) => {
  expect(found(`before\n${line}\nafter\n`)).toEqual([write]);
});

test.each([
  "The file system of /usr is a read-only file system.",
  "EROFS: read-only file system, open '/usr/lib/x'",
  "EROFS: read-only file system, mkdir '/run/tree/node_modules/.cache'",
  "cannot create src/mine.ts: Read-only file system",
  "lib/other.ts: Permission denied",
])("nothing of another is tried where a program prints %j", (line) => {
  expect(found(line)).toEqual([]);
});

test("each path is told once, and of many the first twenty", () => {
  const line = (at: number): string =>
    `touch: cannot touch 'lib/${at}.ts': Read-only file system\n`;
  const many = Array.from({ length: 50 }, (_, at) => line(at)).join("");

  expect(found(line(1) + line(1))).toEqual(["lib/1.ts not-owned"]);
  expect(found(many)).toHaveLength(20);
});
