#!/usr/bin/env node
// `npm create dure my-team`: gets the dure of the same version and runs its `dure init`. Plain
// JavaScript that every Node can read, so that an old one gets a sentence, not a syntax error.

import { spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { constants } from "node:os";
import path from "node:path";

const NEEDED = [22, 12];
const USUAL_NAME = "my-team";
const GIVEN = process.argv.slice(2);
const [asked = new Intl.DateTimeFormat().resolvedOptions().locale] = GIVEN.flatMap((one, at) =>
  one === "--locale" ? [GIVEN[at + 1]] : one.startsWith("--locale=") ? [one.slice(9)] : [],
);
/** In the language of the team that is made, else in that of the machine. */
const isKorean = asked.startsWith("ko");

const WORDS = {
  old: isKorean
    ? `dure에는 Node ${NEEDED.join(".")} 이상이 필요해요. 지금은 Node ${process.versions.node}예요.`
    : `dure needs Node ${NEEDED.join(".")} or newer; this is Node ${process.versions.node}.`,
  getting: (version) =>
    isKorean ? `dure ${version}을 내려받고 있어요…` : `Getting dure ${version} …`,
  failed: isKorean
    ? "dure를 설치하지 못했어요. 이유는 위에 npm이 적은 글에 있어요."
    : "dure could not be installed; npm's own lines above say why.",
};

process.exitCode = await create(GIVEN);

/** Leaves nothing but the team's folder, however it ends. */
async function create(given) {
  const [major = 0, minor = 0] = process.versions.node.split(".").map(Number);
  if (major < NEEDED[0] || (major === NEEDED[0] && minor < NEEDED[1])) {
    console.error(WORDS.old);
    return 1;
  }

  // In this folder, so that the packages can be moved into the team's instead of copied.
  const place = mkdtempSync(path.join(process.cwd(), ".create-dure-"));
  const clear = () => rmSync(place, { recursive: true, force: true });
  process.once("exit", clear);
  try {
    return await createFrom(place, given);
  } finally {
    clear();
  }
}

async function createFrom(place, given) {
  const { version } = JSON.parse(readFileSync(new URL("./package.json", import.meta.url), "utf8"));
  writeFileSync(path.join(place, "package.json"), JSON.stringify({ private: true }));
  console.log(WORDS.getting(version));

  const wanted = process.env.CREATE_DURE_PACKAGE || `dure@${version}`;
  const install = ["install", "--no-audit", "--no-fund", "--loglevel=error", wanted];
  if ((await runNpm(install, place)) !== 0) {
    console.error(WORDS.failed);
    return 1;
  }

  const modules = path.join(place, "node_modules");
  const dure = path.join(modules, "dure", "bin", "dure.mjs");
  const isNamed = given.length > 0 && !given[0].startsWith("-");
  const args = isNamed ? given : [USUAL_NAME, ...given];

  return run(process.execPath, [dure, "init", ...args, "--packages", modules], process.cwd());
}

/** npm by its own program where npm has started us, because `npm` on Windows is a shell script. */
function runNpm(args, cwd) {
  const program = process.env.npm_execpath ?? "";
  return program.endsWith(".js")
    ? run(process.execPath, [program, ...args], cwd)
    : run("npm", args, cwd);
}

/** The exit code. The program ends first, so that we can clear up after it. */
function run(program, args, cwd) {
  // What the npm that started us says of its own project would send this one there.
  const own = /^npm_(package_|lifecycle_|config_local_prefix|command)|^INIT_CWD$/;
  const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !own.test(name)));
  const child = spawn(program, args, { cwd, env, stdio: "inherit" });
  const signals = { SIGINT: () => {} }; // the terminal has told the program, too
  for (const name of ["SIGTERM", "SIGHUP"]) signals[name] = () => child.kill(name);
  for (const [name, hear] of Object.entries(signals)) process.on(name, hear);

  return new Promise((resolve) => {
    const end = (code) => {
      for (const [name, hear] of Object.entries(signals)) process.off(name, hear);
      resolve(code);
    };
    child.once("error", (error) => {
      console.error(error.message);
      end(1);
    });
    child.once("exit", (code, signal) => end(code ?? 128 + (constants.signals[signal] ?? 0)));
  });
}
