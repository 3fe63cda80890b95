#!/usr/bin/env node
// The first thing that runs on a fresh clone. Plain JavaScript, Node ≥ 20, no dependency.
//
//   install   what package-lock.json names, unless node_modules already holds exactly that
//   runtime   a Node that strips types by itself (≥ 24): this one, or the `node` package from npm
//   hand over to the command's own script (COMMANDS below); arguments, signals and exit code are passed on

import { spawn, spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { constants } from "node:os";
import path from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

/**
 * Sources run without a build step, by type stripping; Node does that without a flag and without a
 * warning from 24 on.
 */
const NODE_NEEDED = 24;

const COMMANDS = {
  start: "start.ts",
  test: "run-tests.ts",
  build: "run-build.ts",
  "try-package": "run-package.ts",
  mutate: "run-mutate.ts",
  run: "run-source.ts",
};

const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), "..");
const isWindows = process.platform === "win32";

async function main() {
  const [command, ...rest] = process.argv.slice(2);
  const script = command === undefined ? undefined : COMMANDS[command];
  if (!script) {
    stop(
      `unknown command ${JSON.stringify(command ?? "")}; use one of: ${Object.keys(COMMANDS).join(", ")}`,
    );
  }

  endWithParent();
  installWhenStale();
  const node = findNode();
  await handOver(node, path.join(root, "scripts", script), rest);
}

/**
 * npm runs us in a shell that does not pass SIGTERM on: it dies and leaves us behind. What we have
 * started gets the signal from us.
 */
function endWithParent() {
  const parent = process.ppid;
  const look = setInterval(() => {
    if (process.ppid === parent) return;
    clearInterval(look);
    process.kill(process.pid, "SIGTERM");
  }, 500);
  look.unref();
}

// --- install
// ---------------------------------------------------------------------------------------------------------

function installWhenStale() {
  const reason = whyStale();
  if (reason === undefined) return;

  say(`installing, because ${reason} (npm ${INSTALL[0]}, on Node ${process.versions.node})`);
  const result = spawnSync("npm", INSTALL, {
    cwd: root,
    env: environmentOfNpm(),
    shell: isWindows,
    stdio: ["ignore", "inherit", "inherit"],
  });
  if (result.error) {
    stop(`npm could not be started: ${result.error.message}`, "Install npm, it comes with Node.");
  }
  if (result.status !== 0) {
    stop(`npm ended with ${result.status ?? result.signal}`, "Its own lines above say why.");
  }

  const stillStale = whyStale();
  if (stillStale !== undefined) {
    stop(`npm has installed, yet ${stillStale}`, "Delete node_modules and start again.");
  }
}

/**
 * `npm install` that saves nothing, and our own comparison with the lock file after it, instead of
 * `npm ci`: that one
 * refuses a lock file that lacks another platform's optional binaries, which a registry that does
 * not carry them makes. Warnings are left out: on Node 20 there is one for each package that wants
 * the Node which is only being installed.
 */
const INSTALL = ["install", "--no-save", "--no-audit", "--no-fund", "--loglevel=error"];

/**
 * Why node_modules is not what the lock file asks for, or undefined when it is. Contents are
 * compared, not times: a fresh checkout, a copied folder and a restored cache all have times that
 * mean nothing.
 */
function whyStale() {
  const wanted = readJson("package-lock.json");
  const installed = readJson("node_modules/.package-lock.json");
  if (!wanted) return "package-lock.json cannot be read";
  if (!installed) return "node_modules is missing or unfinished";

  for (const [place, lock] of Object.entries(wanted.packages)) {
    if (place === "") continue;
    const found = installed.packages[place];
    // Another platform's binaries, for instance.
    const leftOut = lock.optional || lock.devOptional || lock.peer;
    if (!found && !leftOut) return `${place} is missing`;
    if (found && found.version !== lock.version) {
      return `${place} is ${found.version}, not ${lock.version}`;
    }
  }
  return undefined;
}

/**
 * npm must not run on the Node that it is about to replace: our own node_modules/.bin leaves the
 * PATH.
 */
function environmentOfNpm() {
  const own = path.join(root, "node_modules", ".bin");
  const key = Object.keys(process.env).find((name) => name.toUpperCase() === "PATH") ?? "PATH";
  const folders = (process.env[key] ?? "")
    .split(path.delimiter)
    .filter((folder) => path.resolve(folder) !== own);
  return { ...process.env, [key]: folders.join(path.delimiter) };
}

// --- runtime
// ---------------------------------------------------------------------------------------------------------

function findNode() {
  if (majorOf(process.versions.node) >= NODE_NEEDED) return process.execPath;

  const packaged = path.join(root, "node_modules", "node", "bin", isWindows ? "node.exe" : "node");
  if (majorOf(versionOf(packaged)) >= NODE_NEEDED) return packaged;

  say(
    "the node package has no program yet, because install scripts were switched off; running its installer",
  );
  spawnSync(process.execPath, ["installArchSpecificPackage.js"], {
    cwd: path.join(root, "node_modules", "node"),
    env: environmentOfNpm(),
    stdio: ["ignore", "inherit", "inherit"],
  });
  if (majorOf(versionOf(packaged)) >= NODE_NEEDED) return packaged;

  return stop(
    `Node ≥ ${NODE_NEEDED} is needed to work on dure; this is ${process.versions.node}, and the ` +
      "node package from npm does not run here",
    `Install Node ${NODE_NEEDED} from https://nodejs.org and start again, or try: npm rebuild ` +
      "node --ignore-scripts=false",
  );
}

function versionOf(program) {
  if (!existsSync(program)) return undefined;
  const result = spawnSync(program, ["--version"], { encoding: "utf8", timeout: 20_000 });
  return result.status === 0 ? result.stdout.trim() : undefined;
}

/** 24 for "v24.21.0" and for "24.21.0"; 0 when there is no version. */
function majorOf(version) {
  return Number.parseInt((version ?? "0").replace(/^v/, ""), 10) || 0;
}

// --- hand over
// -------------------------------------------------------------------------------------------------------

/** Everything below finds the same Node as `node` on its PATH, whatever the system has. */
async function handOver(node, script, rest) {
  const key = Object.keys(process.env).find((name) => name.toUpperCase() === "PATH") ?? "PATH";
  process.env[key] = [path.dirname(node), process.env[key] ?? ""].join(path.delimiter);

  if (node === process.execPath) {
    process.argv = [node, script, ...rest];
    await import(pathToFileURL(script).href);
    return;
  }

  const child = spawn(node, [script, ...rest], { stdio: "inherit" });
  // A terminal sends ctrl-C to the whole group, the child has it already; twice would mean "now!"
  // to it.
  process.on("SIGINT", () => process.stdin.isTTY || child.kill("SIGINT"));
  for (const signal of ["SIGTERM", "SIGHUP"]) process.on(signal, () => child.kill(signal));
  child.on("error", (error) => stop(`${node} could not be started: ${error.message}`));
  child.on("exit", (code, signal) => process.exit(code ?? 128 + (constants.signals[signal] ?? 0)));
}

// --- small things
// ----------------------------------------------------------------------------------------------------

function readJson(name) {
  try {
    return JSON.parse(readFileSync(path.join(root, name), "utf8"));
  } catch {
    return undefined;
  }
}

function say(text) {
  console.log(`[bootstrap] ${text}`);
}

function stop(text, hint) {
  console.error(`[bootstrap] ${text}`);
  if (hint) console.error(`            ${hint}`);
  process.exit(1);
}

await main();
