#!/usr/bin/env node
// The `dure` command. Plain JavaScript that every Node can read, so that an old one gets a
// sentence, not a syntax error.

const NEEDED = [22, 12];

const [major = 0, minor = 0] = process.versions.node.split(".").map(Number);
const isNewEnough = major > NEEDED[0] || (major === NEEDED[0] && minor >= NEEDED[1]);

// In the language of the terminal, as all commands: docs/spec/platform §4.
const { LC_ALL, LC_MESSAGES, LANG } = process.env;
const isKorean = /^ko(?![a-z])/i.test(LC_ALL || LC_MESSAGES || LANG || "");
const here = process.versions.node;
const TOO_OLD = isKorean
  ? `dure에는 Node ${NEEDED.join(".")} 이상이 필요해요. 지금은 Node ${here}예요.\n` +
    "https://nodejs.org 에서 Node 24를 설치한 뒤 다시 실행해 주세요."
  : `dure needs Node ${NEEDED.join(".")} or newer; this is Node ${here}.\n` +
    "Install Node 24 from https://nodejs.org, then run the command again.";

if (!isNewEnough) {
  console.error(TOO_OLD);
  process.exitCode = 1;
} else {
  // What was compiled once is not compiled again: a restart after a crash is at work sooner.
  (await import("node:module")).enableCompileCache?.();
  await import(await findMain(major));
}

/** The compiled command line; in a checkout of the repository that is not built yet, its source. */
async function findMain(nodeMajor) {
  const { existsSync } = await import("node:fs");
  const compiled = new URL("../dist/cli/main.js", import.meta.url);
  if (existsSync(compiled)) return compiled.href;

  const source = new URL("../src/cli/main.ts", import.meta.url);
  if (existsSync(source) && nodeMajor >= 24) return source.href;

  console.error("dure is not built: dist/cli/main.js is missing from the package.");
  console.error(
    existsSync(source)
      ? "Run `npm run build` in the checkout, or use Node 24, which runs the sources."
      : "Install the package again: npm install dure",
  );
  process.exit(1);
}
