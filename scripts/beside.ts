/** The installed package beside what an application brings itself: its zod, its tracing, its package manager. */

import { mkdir, readFile, writeFile } from "node:fs/promises";
import path from "node:path";
import { pathToFileURL } from "node:url";
import { run, root, type Finished } from "./processes.ts";
import { startAt, talkOnce, type Circumstance, type Installed } from "./set-up.ts";

/** OpenTelemetry as people set it up: https://opentelemetry.io/docs/languages/js/, ECMAScript modules. */
const TRACING = [
  "@opentelemetry/sdk-node",
  "@opentelemetry/auto-instrumentations-node",
  "@fastify/otel",
];
const PNPM = "pnpm@10";

export const BESIDE: readonly Circumstance[] = [
  {
    name: "the oldest zod that the package takes",

    run: async (there) => besideZod(there, (await zodRange()).replace(/^\^/, "")),
  },
  { name: "the newest zod", run: async (there) => besideZod(there, "latest") },
  { name: "spans of pg, fastify and dure", run: besideTracing },
  { name: "pnpm", run: withPnpm },
];

async function zodRange(): Promise<string> {
  const text = await readFile(path.join(root, "packages/dure/package.json"), "utf8");

  return (JSON.parse(text) as { peerDependencies: { zod: string } }).peerDependencies.zod;
}

/**
 * One copy of zod, a tool whose schema is the application's own, by TypeScript and at run time, from
 * a module and from CommonJS, and a team that talks.
 */
async function besideZod({ project, team, env }: Installed, version: string): Promise<void> {
  await succeed("npm", ["install", "--no-audit", "--no-fund", `zod@${version}`], project, env);
  const { stdout } = await run("npm", ["ls", "zod", "--parseable"], { cwd: project, env });
  const copies = new Set(stdout.split("\n").filter((line) => line.endsWith("/zod")));
  if (copies.size !== 1) throw new Error(`${copies.size} copies of zod: ${[...copies].join(", ")}`);

  const use = `export const size = dure.tool({
  description: "How long a word is",
  inputSchema: z.object({ word: z.string() }),
  execute: async ({ word }) => word.length,
});
if (typeof size !== "object") throw new Error("no tool");
`;
  await writeFile(
    path.join(project, "beside.mts"),
    `import * as dure from "dure";\nimport { z } from "zod";\n${use}`,
  );
  await writeFile(
    path.join(project, "beside.cts"),
    `import dure = require("dure");\nimport { z } from "zod";\n${use}`,
  );
  const compilerOptions = { target: "ES2023", module: "NodeNext", strict: true, types: ["node"] };
  const config = { compilerOptions, files: ["beside.mts", "beside.cts"] };
  await writeFile(path.join(project, "beside.json"), JSON.stringify(config));
  await succeed("npm", ["exec", "--no", "--", "tsc", "-p", "beside.json"], project, env);
  for (const file of ["beside.mjs", "beside.cjs"]) {
    await succeed(process.execPath, [file], project, env);
  }
  await talkOnce(await startAt(team, { project, env }));
}

/** The spans of the libraries reach the exporter of the application, in traces with each other. */
async function besideTracing({ project, team, env }: Installed): Promise<void> {
  await succeed("npm", ["install", "--no-audit", "--no-fund", ...TRACING], project, env);
  const spans = path.join(project, "spans.txt");
  const preload = path.join(project, "tracing.mjs");
  await writeFile(preload, TRACING_FILE);
  const traced = { ...env, NODE_OPTIONS: `--import=${pathToFileURL(preload).href}` };
  await talkOnce(await startAt(team, { project, env: { ...traced, SPANS: spans } }));

  const written = await readFile(spans, "utf8").catch(() => "");
  for (const scope of ["@opentelemetry/instrumentation-pg", "@fastify/otel", "dure"]) {
    if (written.includes(`${scope}\t`)) continue;
    throw new Error(`no span of ${scope}:\n${written.slice(0, 2_000)}`);
  }
}

/** Appends a line per span: who wrote it, and its name. */
const TRACING_FILE = `
import { appendFileSync } from "node:fs";
import { register } from "node:module";
import { FastifyOtelInstrumentation } from "@fastify/otel";
import { getNodeAutoInstrumentations } from "@opentelemetry/auto-instrumentations-node";
import { NodeSDK } from "@opentelemetry/sdk-node";

register("@opentelemetry/instrumentation/hook.mjs", import.meta.url);
const writer = {
  onStart() {},
  onEnd: ({ instrumentationScope, name }) =>
    appendFileSync(process.env.SPANS, instrumentationScope.name + "\\t" + name + "\\n"),
  forceFlush: async () => {},
  shutdown: async () => {},
};
new NodeSDK({
  spanProcessors: [writer],
  instrumentations: [
    getNodeAutoInstrumentations(),
    new FastifyOtelInstrumentation({ registerOnInitialization: true }),
  ],
}).start();
`;

/** pnpm links a package what it declares and nothing else: an undeclared import does not resolve. */
async function withPnpm({ project, tarball, env }: Installed): Promise<void> {
  const place = path.join(path.dirname(project), "with-pnpm");
  const home = path.join(place, "home");
  await mkdir(home, { recursive: true });
  await writeFile(
    path.join(place, "package.json"),
    JSON.stringify({ name: "with-pnpm", private: true, dependencies: { dure: `file:${tarball}` } }),
  );
  const pnpm = ["exec", "--yes", `--package=${PNPM}`, "--", "pnpm"];
  await succeed("npm", [...pnpm, "install", "--store-dir", home], place, env);
  await succeed("npm", [...pnpm, "exec", "dure", "init", "my-team", "--yes"], place, env);
  await talkOnce(await startAt(path.join(place, "my-team"), { project: place, env }));
}

async function succeed(
  program: string,
  args: readonly string[],
  cwd: string,
  env: NodeJS.ProcessEnv,
): Promise<Finished> {
  const finished = await run(program, args, { cwd, env });
  if (finished.exitCode !== 0) {
    throw new Error(
      `${program} ${args.join(" ")} ended with ${finished.exitCode}:\n${finished.output}`,
    );
  }
  return finished;
}
