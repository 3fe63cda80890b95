import { join } from "node:path";
import { defineConfig } from "vitest/config";
import { wordModules } from "./packages/dashboard/catalogue.ts";
import { longerTimes } from "./scripts/longer-times.ts";

// Starts of processes are most of what many tests do: what one has compiled the next need not.
// Tests hand it on where they hand on little.
process.env["NODE_COMPILE_CACHE"] ??= join(import.meta.dirname, "node_modules/.cache/compiled");

// What commands say is tested in English, also at a terminal that is Korean.
for (const name of ["LC_ALL", "LC_MESSAGES", "LANG"]) {
  if (process.env[name]?.startsWith("ko")) delete process.env[name];
}

// Tests that look late (packages/dure/src/kernel/test-late.ts) wait longer.
const late = Number(process.env["DURE_TEST_LATE_MS"] ?? "0") > 0;

export default defineConfig({
  plugins: [wordModules(), ...(late ? [longerTimes] : [])],
  // Tests run the sources: `dure` means packages/dure/src, not what was last built.
  resolve: { conditions: ["dure-source"] },
  ssr: { resolve: { conditions: ["dure-source"], externalConditions: ["dure-source"] } },
  test: {
    include: [
      "packages/*/src/**/*.test.{ts,tsx}",
      "packages/*/test/**/*.test.{ts,tsx}",
      "examples/**/*.test.ts",
      "scripts/**/*.test.ts",
      "chaos/**/*.test.ts",
    ],
    exclude: [
      "**/node_modules/**",
      "**/dist/**",
      "**/.dure/**", // a team that was started here has repositories with tests of their own
      "packages/dure/templates/**",
      "examples/dev-team/shop/**",
    ],
    setupFiles: late ? ["scripts/late-waits.ts"] : [],
    globalSetup: ["scripts/test-database.ts"],
    tags: [
      { name: "full", description: "left out by npm test, run by npm run test:full" },
      { name: "slow", description: "files of which npm test runs a few, and test:full all" },
    ],
    pool: "forks",
    // V8 ends a process now and then when it frees code of WebAssembly (nodejs/node#64500).
    execArgv: ["--no-wasm-code-gc"],
    maxWorkers: 3, // on two cores: tests that wait for a death or a retry leave one free
    testTimeout: late ? 300_000 : 30_000,
    hookTimeout: 60_000, // the first start of an embedded PostgreSQL on a busy machine
    expect: { poll: { timeout: 20_000 } }, // as long as packages/dure/test/until.ts; the default is one second
    retry: 0, // a test that passes the second time has found something the first time
    passWithNoTests: false,
    allowOnly: false,
  },
});
