import { readFile } from "node:fs/promises";
import path from "node:path";
import { expect, test } from "vitest";
import { root } from "./processes.ts";

/** What an entry of the lock file asks for. */
interface LockEntry {
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly devDependencies?: Readonly<Record<string, string>>;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
  readonly resolved?: string;
  readonly link?: boolean;
}

type LockEntries = Readonly<Record<string, LockEntry>>;

const lock = JSON.parse(await readFile(path.join(root, "package-lock.json"), "utf8")) as {
  readonly packages: LockEntries;
};

test("the lock file has all that its packages ask for, binaries of other platforms too", () => {
  expect(missingIn(lock.packages)).toEqual([]);
});

test("a binary of another platform that npm has left out of the lock file is named", () => {
  const { "node_modules/@oxfmt/binding-darwin-arm64": _left, ...rest } = lock.packages;

  expect(missingIn(rest)).toEqual(["oxfmt: @oxfmt/binding-darwin-arm64"]);
});

test("the lock file names no address of a registry", () => {
  const addresses = Object.values(lock.packages).flatMap(({ resolved, link }) =>
    resolved === undefined || link === true ? [] : [resolved],
  );

  expect(addresses).toEqual([]);
});

/** What packages ask for and do not find. `npm ci` refuses such a file. Pure. */
function missingIn(entries: LockEntries): readonly string[] {
  return Object.entries(entries).flatMap(([place, entry]) => {
    const asked = {
      ...entry.dependencies,
      ...(isOurs(place) ? entry.devDependencies : {}),
      ...entry.optionalDependencies,
    };
    return Object.keys(asked)
      .filter((name) => !isFound(entries, place, name))
      .map((name) => `${place.replace(/^node_modules\//, "")}: ${name}`);
  });
}

/** The root and the workspaces, whose own tools are installed too. */
function isOurs(place: string): boolean {
  return !place.includes("node_modules/");
}

/** Whether Node finds `name` from a place: there, or in a folder above it. */
function isFound(entries: LockEntries, place: string, name: string): boolean {
  for (let folder = place; ; folder = path.posix.dirname(folder)) {
    const above = folder === "" || folder === "." ? "" : `${folder}/`;
    if (`${above}node_modules/${name}` in entries) return true;
    if (above === "") return false;
  }
}
