#!/usr/bin/env node
// `npm create dure my-team`: gets the dure of the same version and runs its `dure init`. Plain
// JavaScript that every Node can read, so that an old one gets a sentence, not a syntax error.

import { spawn } from "node:child_process";
import {
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { constants } from "node:os";
import path from "node:path";

const NEEDED = [22, 12];
const USUAL_NAME = "my-team";
const GIVEN = process.argv.slice(2);
const { LC_ALL, LC_MESSAGES, LANG } = process.env;
/** As the commands of dure decide it: docs/spec/platform §4. */
const terminal = LC_ALL || LC_MESSAGES || LANG || "";
const [asked = terminal] = GIVEN.flatMap((one, at) =>
  one === "--locale" ? [GIVEN[at + 1]] : one.startsWith("--locale=") ? [one.slice(9)] : [],
);
/** In the language of the team that is made, else in that of the terminal. */
const isKorean = /^ko(?![a-z])/i.test(asked);

/** The options of `dure init`; a value that is none of its choices is refused before the install. */
const CHOICES = {
  "--locale": ["ko", "en"],
  "--begin": ["chat", "rooms", "plans"],
  "--provider": ["anthropic", "openai"],
};
const FLAGS = ["--yes", "-y", "--json"];

const WORDS = {
  old: isKorean
    ? `dure에는 Node ${NEEDED.join(".")} 이상이 필요해요. 지금은 Node ${process.versions.node}예요.`
    : `dure needs Node ${NEEDED.join(".")} or newer; this is Node ${process.versions.node}.`,
  getting: (version) =>
    isKorean ? `dure ${version}을 내려받고 있어요…` : `Getting dure ${version} …`,
  failed: isKorean
    ? "dure를 설치하지 못했어요. 이유는 위에 npm이 적은 글에 있어요."
    : "dure could not be installed; npm's own lines above say why.",
  usage: `npm create dure my-team -- ${Object.entries(CHOICES)
    .map(([name, choices]) => `[${name} ${choices.join("|")}]`)
    .join(" ")} [--yes]`,
  unknown: (one) => (isKorean ? `모르는 옵션이에요: ${one}` : `There is no option ${one}.`),
  value: (name, value = "") => {
    const choices = CHOICES[name].join(", ");
    return isKorean
      ? `${name} 값은 ${choices} 가운데 하나여야 해요. 적은 값: "${value}"`
      : `${name} is one of ${choices}, not "${value}".`;
  },
  names: (all) =>
    isKorean
      ? `이름은 하나만 적어 주세요. 적은 것: ${all.join(", ")}`
      : `One name makes one team; these are ${all.length}: ${all.join(", ")}.`,
  name: (written) =>
    isKorean
      ? `"${written}"은(는) 팀의 이름으로 쓸 수 없어요. 글자나 숫자로 시작하고 글자, 숫자, 빈칸, _, -로 64자까지 쓸 수 있어요.`
      : `"${written}" cannot be the name of a team: 1 to 64 letters, digits, spaces, _ or -, with a letter or digit first.`,
  taken: (folder) =>
    isKorean
      ? `${folder}에 이미 파일이 있어서 아무것도 만들지 않았어요. 다른 이름을 적거나 폴더를 비워 주세요.`
      : `${folder} exists and is not empty; nothing was written. Choose another name, or empty it.`,
};

process.exitCode = await create(GIVEN);

/** Leaves nothing but the team's folder, however it ends. */
async function create(given) {
  const [major = 0, minor = 0] = process.versions.node.split(".").map(Number);
  if (major < NEEDED[0] || (major === NEEDED[0] && minor < NEEDED[1])) {
    console.error(WORDS.old);
    return 1;
  }

  if (given.includes("--help") || given.includes("-h")) {
    console.log(WORDS.usage);
    return 0;
  }
  const { name, options, fault } = readGiven(given);
  if (fault !== undefined) {
    console.error(fault);
    console.error(WORDS.usage);
    return 2;
  }

  // In this folder, so that the packages can be moved into the team's instead of copied.
  const place = mkdtempSync(path.join(process.cwd(), ".create-dure-"));
  const clear = () => rmSync(place, { recursive: true, force: true });
  process.once("exit", clear);
  try {
    return await createFrom(place, [name, ...options]);
  } finally {
    clear();
  }
}

/** The name, the options, and what is wrong with them; as `dure init` will read them. */
function readGiven(given) {
  const names = [];
  const options = [];
  for (let at = 0; at < given.length; at++) {
    const one = given[at];
    if (!one.startsWith("-")) {
      names.push(one);
      continue;
    }
    const [option, joined] = one.includes("=") ? one.split(/=(.*)/s) : [one];
    if (!Object.hasOwn(CHOICES, option)) {
      if (!FLAGS.includes(one)) return { fault: WORDS.unknown(one) };
      options.push(one);
      continue;
    }
    const value = joined ?? given[++at];
    if (!CHOICES[option].includes(value)) return { fault: WORDS.value(option, value) };
    options.push(option, value);
  }
  if (names.length > 1) return { fault: WORDS.names(names) };

  const [name = USUAL_NAME] = names;
  return { name, options, fault: faultOfName(name) };
}

function faultOfName(written) {
  const folder = written.normalize("NFC").trim().replace(/\s+/g, "-");
  if (!/^[\p{L}\p{N}][\p{L}\p{N}_-]{0,63}$/u.test(folder)) return WORDS.name(written);
  const place = path.resolve(folder);
  if (!existsSync(place)) return undefined;
  const isFree = statSync(place).isDirectory() && readdirSync(place).length === 0;
  return isFree ? undefined : WORDS.taken(place);
}

async function createFrom(place, args) {
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
