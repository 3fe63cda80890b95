// @module-tag slow
/**
 * The first script of a clone and the command of the package, on every Node that a machine may
 * have.
 */

import { spawn } from "node:child_process";
import { once } from "node:events";
import { chmod, cp, mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { describe, expect, test } from "vitest";
import { root, run, type Finished } from "./processes.ts";

/** Makes a program believe that it runs on this Node. */
function pretending(version: string): string[] {
  return [
    "--import",
    `data:text/javascript,${encodeURIComponent(`Object.defineProperty(process, "versions", { value: { ...process.versions, node: ${JSON.stringify(version)} } });`)}`,
  ];
}

interface CloneOptions {
  /**
   * What `node_modules/node` answers to `--version`; undefined: its program is not there. Default
   * `v24.21.0`.
   */
  readonly packaged?: string | undefined;
  /** What its installer puts there; undefined: it can do nothing. */
  readonly installs?: string;
  /** Whether `node_modules` holds what the lock file names. Default true. */
  readonly installed?: boolean;
}

interface Clone extends AsyncDisposable {
  readonly folder: string;
  start(
    version: string,
    options?: { args?: readonly string[]; env?: Record<string, string> },
  ): Promise<Finished>;
}

/** Tells who runs it, with what, and what stands first on its PATH; ends as it is told. */
const START = `
console.log(JSON.stringify({ by: process.env.RUN_BY ?? "the machine's", args: process.argv.slice(2), path: process.env.PATH.split(":")[0] }));
if (process.argv[2] === "exit") process.exitCode = Number(process.argv[3]);
if (process.argv[2] === "wait") { process.on("SIGTERM", () => process.exit(9)); setInterval(() => {}, 1_000); console.log("waiting"); }
`;
const LOCK = JSON.stringify({ packages: { "": {}, "node_modules/node": { version: "24.21.0" } } });

/** A folder with the real bootstrap, and doubles of all that it finds around it. */
async function makeClone({
  installs,
  installed = true,
  ...rest
}: CloneOptions = {}): Promise<Clone> {
  const packaged = "packaged" in rest ? rest.packaged : "v24.21.0";
  const folder = await mkdtemp(path.join(tmpdir(), "dure-bootstrap-"));
  const write = async (name: string, content: string): Promise<void> => {
    await mkdir(path.dirname(path.join(folder, name)), { recursive: true });
    await writeFile(path.join(folder, name), content);
    await chmod(path.join(folder, name), 0o755);
  };
  const nodeOf = (version: string): string =>
    `#!/bin/sh\nif [ "$1" = --version ]; then echo ${version}; else RUN_BY=package exec ` +
    `"${process.execPath}" "$@"; fi\n`;
  await mkdir(path.join(folder, "scripts"));
  await cp(path.join(root, "scripts/bootstrap.mjs"), path.join(folder, "scripts/bootstrap.mjs"));
  await write("scripts/start.ts", START);
  await write("package-lock.json", LOCK);
  if (installed) await write("node_modules/.package-lock.json", LOCK);
  if (packaged !== undefined) await write("node_modules/node/bin/node", nodeOf(packaged));
  const installer =
    installs === undefined
      ? ""
      : `import("node:fs").then(({ mkdirSync, writeFileSync }) => { mkdirSync("bin", { recursive: ` +
        `true }); writeFileSync("bin/node", ${JSON.stringify(nodeOf(installs))}, { mode: 0o755 }); ` +
        "});";
  await write("node_modules/node/installArchSpecificPackage.js", installer);
  return {
    folder,
    start: (version, { args = [], env = {} } = {}) =>
      run(
        process.execPath,
        [...pretending(version), path.join(folder, "scripts/bootstrap.mjs"), "start", ...args],
        { cwd: folder, env: { ...process.env, ...env } },
      ),
    [Symbol.asyncDispose]: () => rm(folder, { recursive: true, force: true }),
  };
}

function said({ stdout }: Finished): unknown {
  return JSON.parse(stdout.trim().split("\n").at(-1)!);
}

describe("in a clone", () => {
  test.for(["20.20.2", "22.11.0", "22.12.0"])(
    "Node %s hands over to the node package",
    async (version) => {
      await using clone = await makeClone();

      const finished = await clone.start(version, { args: ["--port", "1"] });

      expect(finished.exitCode).toBe(0);
      expect(said(finished)).toEqual({
        by: "package",
        args: ["--port", "1"],
        path: path.join(clone.folder, "node_modules/node/bin"),
      });
    },
  );

  test.for(["24.0.0", "100.0.0"])("Node %s does it itself", async (version) => {
    await using clone = await makeClone({ packaged: undefined });

    const finished = await clone.start(version, { args: ["--port", "1"] });

    expect(finished.exitCode).toBe(0);
    expect(said(finished)).toEqual({
      by: "the machine's",
      args: ["--port", "1"],
      path: path.dirname(process.execPath),
    });
  });

  test.for([undefined, "v22.12.0"])(
    "where install scripts were switched off the installer of the node package is run (%s there)",
    async (packaged) => {
      await using clone = await makeClone({ packaged, installs: "v24.21.0" });

      const finished = await clone.start("20.20.2");

      expect(finished.output).toContain("install scripts were switched off");
      expect(said(finished)).toMatchObject({ by: "package" });
    },
  );

  test.for([undefined, "v22.12.0", ""])(
    "where none can be had it says which one is needed, which one is there and what to do (%j there)",
    async (packaged) => {
      await using clone = await makeClone({ packaged });

      const { exitCode, output } = await clone.start("22.12.0");

      expect(exitCode).toBe(1);
      expect(output).toContain("Node ≥ 24 is needed to work on dure; this is 22.12.0");
      expect(output).toContain("Install Node 24 from https://nodejs.org");
      expect(output).not.toContain('"args"');
    },
  );

  test.for(["20.20.2", "24.0.0"])(
    "the exit code of what was run is that of the command, on Node %s",
    async (version) => {
      await using clone = await makeClone();

      expect((await clone.start(version, { args: ["exit", "7"] })).exitCode).toBe(7);
    },
  );

  test("a request to end goes on to what was handed over to", async () => {
    await using clone = await makeClone();
    const child = spawn(
      process.execPath,
      [...pretending("20.20.2"), path.join(clone.folder, "scripts/bootstrap.mjs"), "start", "wait"],
      { cwd: clone.folder, stdio: ["ignore", "pipe", "inherit"] },
    );
    let output = "";
    for await (const chunk of child.stdout) {
      if ((output += String(chunk)).includes("waiting")) break;
    }

    child.kill("SIGTERM");

    expect(await once(child, "exit")).toEqual([9, null]);
  });

  /** An npm that writes down how it was called, and installs what `NPM_INSTALLS` says. */
  const NPM = `#!/bin/sh
echo "$*" > npm-arguments
echo "$PATH" > npm-path
[ -n "$NPM_INSTALLS" ] && printf %s "$NPM_INSTALLS" > node_modules/.package-lock.json
exit \${NPM_ENDS:-0}
`;

  async function startWithNpm(clone: Clone, env: Record<string, string>): Promise<Finished> {
    const bin = path.join(clone.folder, "bin");
    await mkdir(bin);
    await writeFile(path.join(bin, "npm"), NPM, { mode: 0o755 });
    return clone.start("20.20.2", {
      env: {
        ...env,
        PATH: [path.join(clone.folder, "node_modules/.bin"), bin, process.env["PATH"]].join(":"),
      },
    });
  }

  test("a fresh one is installed first, not by the node of its own packages", async () => {
    await using clone = await makeClone({ installed: false });

    const finished = await startWithNpm(clone, { NPM_INSTALLS: LOCK });

    expect(finished.output).toContain("installing, because node_modules is missing or unfinished");
    expect(said(finished)).toMatchObject({ by: "package" });
    expect(await readFile(path.join(clone.folder, "npm-arguments"), "utf8")).toMatch(
      /^install --no-save /,
    );
    expect(await readFile(path.join(clone.folder, "npm-path"), "utf8")).not.toContain(
      path.join(clone.folder, "node_modules/.bin"),
    );
  });

  test("one that holds what the lock file names is not installed again", async () => {
    await using clone = await makeClone();

    const finished = await startWithNpm(clone, {});

    expect(said(finished)).toMatchObject({ by: "package" });
    await expect(readFile(path.join(clone.folder, "npm-arguments"))).rejects.toThrow("ENOENT");
  });

  test.for([
    [{ NPM_ENDS: "3" }, "npm ended with 3"],
    [
      { NPM_INSTALLS: JSON.stringify({ packages: {} }) },
      "npm has installed, yet node_modules/node is missing",
    ],
    [
      { NPM_INSTALLS: LOCK.replace("24.21.0", "24.20.0") },
      "npm has installed, yet node_modules/node is 24.20.0, not 24.21.0",
    ],
  ] as const)(
    "an npm that does not bring it is said, and nothing is started: %j",
    async ([env, sentence]) => {
      await using clone = await makeClone({ installed: false });

      const { exitCode, output } = await startWithNpm(clone, env);

      expect(exitCode).toBe(1);
      expect(output).toContain(sentence);
      expect(output).not.toContain('"args"');
    },
  );

  test("an unknown command names the known ones and is an error", async () => {
    const { exitCode, output } = await run(process.execPath, [
      path.join(root, "scripts/bootstrap.mjs"),
      "strat",
    ]);

    expect(exitCode).toBe(1);
    expect(output).toContain('unknown command "strat"; use one of: start, test');
  });
});

describe("the command of the package", () => {
  async function dureOn(version: string): Promise<Finished> {
    const folder = await mkdtemp(path.join(tmpdir(), "dure-bin-"));
    try {
      await mkdir(path.join(folder, "dist/cli"), { recursive: true });
      await writeFile(path.join(folder, "package.json"), '{"type":"module"}');
      await writeFile(
        path.join(folder, "dist/cli/main.js"),
        "console.log('runs', process.argv[2]);",
      );
      await cp(path.join(root, "packages/dure/bin"), path.join(folder, "bin"), { recursive: true });
      return await run(process.execPath, [
        ...pretending(version),
        path.join(folder, "bin/dure.mjs"),
        "start",
      ]);
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  }

  test.for(["22.12.0", "23.0.0", "24.0.0"])("runs on Node %s", async (version) => {
    expect(await dureOn(version)).toMatchObject({ exitCode: 0, stdout: "runs start\n" });
  });

  test.for(["20.20.2", "22.11.9"])(
    "says on Node %s which one it needs, and does nothing",
    async (version) => {
      const { exitCode, output } = await dureOn(version);

      expect(exitCode).toBe(1);
      expect(output).toContain(`dure needs Node 22.12 or newer; this is Node ${version}.`);
      expect(output).not.toContain("runs");
    },
  );
});
