import { spawn } from "node:child_process";
import { mkdir, mkdtemp, realpath, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { PassThrough, type Readable } from "node:stream";
import { finished as finishedReading } from "node:stream/promises";
import { systemClock } from "../../kernel/clock.ts";
import type {
  Confinement,
  WorkerIdentity,
  Sandbox,
  SandboxCommand,
  SandboxEnd,
  SandboxProcess,
  SpawnOptions,
} from "../sandbox/sandbox.ts";
import { UNPROVEN } from "../sandbox/proof.ts";
import { makeScope, type ScopeInput } from "../scope.ts";
import type { Assignment, Worker, WorkerEvent, WorkerResult } from "./worker.ts";

// What the tests of workers share: a tree, an assignment for it, and a sandbox that ends processes
// but holds none back.

/**
 * Runs commands in their own process group, without any protection: what workers do by themselves
 * is not what these tests are about.
 */
const openDoor: Sandbox = {
  kind: "audit",
  promises: UNPROVEN,
  async spawn(confinement, command, options = {}) {
    const child = start(confinement, command, options);
    await options.onStart?.(child.identity);

    return child;
  },
  async run(confinement, command, options = {}) {
    const child = start(confinement, command, options);
    await options.onStart?.(child.identity);
    let output = "";
    for (const stream of [child.stdout, child.stderr]) {
      stream.on("data", (chunk: Buffer) => {
        output += chunk.toString();
        options.onOutput?.(chunk.toString());
      });
    }
    const end = await child.ended;
    await Promise.all([child.stdout, child.stderr].map((stream) => finishedReading(stream)));

    return { ...end, output };
  },
};

function start(
  confinement: Confinement,
  { command, env, input, limits }: SandboxCommand,
  { signal }: SpawnOptions,
): SandboxProcess {
  const argv = typeof command === "string" ? ["/bin/sh", "-c", command] : command;
  const child = spawn(argv[0]!, argv.slice(1), {
    cwd: confinement.cwd,
    env,
    detached: true,
    stdio: "pipe",
  });
  let because: SandboxEnd["because"] = "exited";
  const endGroup = (why?: SandboxEnd["because"]): void => {
    if (why && because === "exited") because = why;
    killGroup(child.pid!);
  };
  const stopTimer = systemClock.after(limits.timeMs, () => endGroup("time"));
  let bytes = 0;
  const counted = (stream: Readable): PassThrough => {
    stream.on("data", (chunk: Buffer) => {
      bytes += chunk.length;
      if (bytes > limits.outputBytes) endGroup("output");
    });

    return stream.pipe(new PassThrough());
  };
  const [stdout, stderr] = [counted(child.stdout), counted(child.stderr)];
  signal?.addEventListener("abort", () => endGroup("aborted"), { once: true });
  if (signal?.aborted) endGroup("aborted");
  const ended = new Promise<SandboxEnd>((resolve) => {
    const settle = (exitCode: number | null, name: string | null): void => {
      stopTimer();
      endGroup();
      resolve({ exitCode, signal: name, because, outputTruncated: because === "output" });
    };
    child.once("error", () => settle(127, null));
    child.once("close", settle);
  });
  if (input !== undefined) child.stdin.on("error", () => {}).end(input);

  return {
    identity: identityOf(child.pid ?? 0),
    stdin: child.stdin,
    stdout,
    stderr,
    ended,
    async kill() {
      endGroup();
      await ended;
    },
  };
}

function killGroup(group: number): void {
  try {
    process.kill(-group, "SIGKILL");
  } catch {
    // It is gone.
  }
}

function identityOf(pid: number): WorkerIdentity {
  return { host: "test", bootId: "test", pid, groupId: pid, startedTicks: "0" };
}

export interface TestPlace extends AsyncDisposable {
  readonly tree: string;
  readonly scratch: string;
  /** Every process that was started, in order. */
  readonly started: WorkerIdentity[];
  readonly assignment: Assignment;
}

const OWN: ScopeInput = {
  writes: ["src/**"],
  exceptions: ["test/**"],
  reads: ["docs/**"],
  forbidden: ["secret/**"],
  contracts: ["src/ports/api.ts"],
};

/** A tree with these files and an assignment for it. */
export async function aPlace(
  files: Readonly<Record<string, string>> = {},
  more: Partial<Assignment> & { scopeInput?: ScopeInput } = {},
): Promise<TestPlace> {
  const folder = await realpath(await mkdtemp(join(tmpdir(), "dure-worker-")));
  const [tree, scratch] = [join(folder, "tree"), join(folder, "scratch")];
  await mkdir(tree);
  await mkdir(scratch);
  for (const [path, text] of Object.entries(files)) {
    await mkdir(dirname(join(tree, path)), { recursive: true });
    await writeFile(join(tree, path), text);
  }
  const started: WorkerIdentity[] = [];
  const { scopeInput = OWN, ...given } = more;
  const assignment: Assignment = {
    id: "run1.api.1.1.implementer",
    run: "run1",
    plan: "login",
    port: "api",
    member: "implementer",
    try: 1,
    prompt: "Mend the login.",
    scope: makeScope(scopeInput),
    tree,
    scratch,
    sandbox: openDoor,
    confinement: { cwd: tree, writable: [tree, scratch], readOnly: [], hidden: [], disposable: [] },
    env: { PATH: process.env["PATH"] ?? "/usr/bin:/bin", LC_ALL: "C.UTF-8" },
    limits: { timeMs: 20_000, outputBytes: 1_000_000, fileBytes: 10_000_000, processes: 100 },
    onStart: (identity) => Promise.resolve(void started.push(identity)),
    channel: { query: async (text) => `about ${text}: yes`, letters: async () => [] },
    requestAccess: () => Promise.resolve({ granted: false, note: "not now" }),
    stopAtViolation: 2,
    ...given,
  };

  return {
    tree,
    scratch,
    started,
    assignment,
    [Symbol.asyncDispose]: () => rm(folder, { recursive: true, force: true }),
  };
}

/** Everything that a worker told, and its result. */
export async function workOn(
  worker: Worker,
  assignment: Assignment,
  signal: AbortSignal = new AbortController().signal,
): Promise<{ events: WorkerEvent[]; result: WorkerResult }> {
  const events: WorkerEvent[] = [];
  for await (const event of worker.run(assignment, { signal })) events.push(event);
  const last = events.at(-1);
  if (last?.type !== "result" || events.filter(({ type }) => type === "result").length !== 1) {
    throw new Error(
      `A worker ends with one result; it told ${events.map(({ type }) => type).join(", ")}.`,
    );
  }

  return { events, result: last.result };
}

/** Whether a process is there. */
export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
