import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { systemClock } from "../../kernel/clock.ts";
import { silentLogger } from "../../kernel/logger.ts";
import { KeptSetups } from "./kept-setup.ts";

const PACKAGES = { "package.json": "{}", "package-lock.json": "1", "src/a.ts": "1" };

/** A folder for what is kept, and trees. */
function stage() {
  const home = realpathSync(mkdtempSync(path.join(tmpdir(), "dure-kept-")));
  onTestFinished(() => rmSync(home, { recursive: true }));
  const folder = path.join(home, "setups");
  const of = (repository = "/shop") =>
    new KeptSetups({ folder, repository, clock: systemClock, logger: silentLogger });
  const tree = (name: string, files: Readonly<Record<string, string>> = {}): string => {
    for (const [file, text] of Object.entries({ "package.json": "{}", ...files })) {
      mkdirSync(path.join(home, name, path.dirname(file)), { recursive: true });
      writeFileSync(path.join(home, name, file), text);
    }
    return path.join(home, name);
  };

  return { folder, of, tree };
}

const placeOf = (kept: KeptSetups, files: Readonly<Record<string, string>>, setup = "npm ci") => {
  const listed = Object.entries(files).map(([file, id]) => ({ path: file, id }));
  return kept.placeOf(setup, listed, async (file) => files[file]);
};

test("what a setup has made is brought into another tree as a copy", async () => {
  const { of, tree } = stage();
  const place = (await placeOf(of(), PACKAGES))!;
  const one = tree("one", { "node_modules/x/i.js": "x", "packages/a/node_modules/y.js": "y" });
  const other = tree("other", { "packages/a/package.json": "{}", "node_modules/old.js": "old" });
  symlinkSync("../x/i.js", path.join(one, "node_modules/x/link"));

  await of().keep(place, one);
  const isBrought = await of().bring(place, other);
  writeFileSync(path.join(other, "node_modules/x/i.js"), "changed by a worker");
  const third = tree("third", { "packages/a/package.json": "{}" });
  await of().bring(place, third);

  expect([isBrought, existsSync(path.join(other, "node_modules/old.js"))]).toEqual([true, false]);
  expect(readFileSync(path.join(third, "node_modules/x/i.js"), "utf8")).toBe("x");
  expect(readFileSync(path.join(third, "packages/a/node_modules/y.js"), "utf8")).toBe("y");
  expect(statSync(path.join(third, "node_modules/x/i.js")).nlink).toBe(1);
});

test("a setup is known by its command, its manifests and its repository", async () => {
  const { of } = stage();
  const same = await placeOf(of(), { ...PACKAGES, "src/a.ts": "2" });

  const others = [
    await placeOf(of(), { ...PACKAGES, "package-lock.json": "2" }),
    await placeOf(of(), { ...PACKAGES, ".npmrc": "x" }),
    await placeOf(of(), PACKAGES, "export npm_config_registry='https://x.example/'; npm ci"),
    await placeOf(of("/other"), PACKAGES),
  ];

  expect(same).toBe(await placeOf(of(), PACKAGES));
  expect(new Set([same, ...others]).size).toBe(5);
});

test("every file decides where packages of the repository run scripts at an install", async () => {
  const { of } = stage();
  const scripts = { ...PACKAGES, "package.json": '{ "scripts": { "prepare": "tsc" } }' };

  expect(await placeOf(of(), scripts)).not.toBe(
    await placeOf(of(), { ...scripts, "src/a.ts": "2" }),
  );
});

test.each([
  ["a setup of one's own", PACKAGES, "npm ci && ./prepare"],
  ["a virtual environment", PACKAGES, "python3 -m venv .venv"],
  ["packages that are committed", { ...PACKAGES, "node_modules/x/i.js": "1" }, "npm ci"],
])("nothing is kept of %s", async (_what, files, setup) => {
  expect(await placeOf(stage().of(), files, setup)).toBeUndefined();
});

test("a half that a dead process has left is never brought, and is removed later", async () => {
  const { folder, of, tree } = stage();
  const place = (await placeOf(of(), PACKAGES))!;
  mkdirSync(path.join(folder, "new-dead/node_modules"), { recursive: true });
  const longAgo = new Date(Date.now() - 7_200_000);
  utimesSync(path.join(folder, "new-dead"), longAgo, longAgo);

  const before = await of().bring(place, tree("one"));
  await of().keep(place, tree("one", { "node_modules/x.js": "x" }));

  expect([before, readdirSync(folder)]).toEqual([false, [path.basename(place)]]);
});

test("a folder that leads out of the tree is not written", async () => {
  const { of, tree } = stage();
  const place = (await placeOf(of(), PACKAGES))!;
  const outside = tree("outside");
  await of().keep(place, tree("one", { "packages/a/node_modules/y.js": "y" }));
  const other = tree("other", { "packages/b": "" });
  symlinkSync(outside, path.join(other, "packages/a"));

  expect(await of().bring(place, other)).toBe(false);
  expect(existsSync(path.join(outside, "node_modules"))).toBe(false);
});

test("of many setups the ones used lately stay", async () => {
  const { folder, of, tree } = stage();
  const made = tree("one", { "node_modules/x.js": "x" });

  for (let index = 0; index < 12; index++) {
    const place = (await placeOf(of(), { ...PACKAGES, "package-lock.json": String(index) }))!;
    await of().keep(place, made);
    const at = new Date(1_700_000_000_000 + index * 1_000);
    utimesSync(place, at, at);
  }

  const newest = (await placeOf(of(), { ...PACKAGES, "package-lock.json": "11" }))!;
  expect(readdirSync(folder)).toHaveLength(8);
  expect(existsSync(newest)).toBe(true);
});
