import { execFile } from "node:child_process";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { silentLogger, type Logger } from "../../src/kernel/logger.ts";
import { systemClock } from "../../src/kernel/clock.ts";
import { parsePlan } from "../../src/plans/plan-file.ts";
import type { Plan, WorkerSpec } from "../../src/plans/plan.ts";
import { elsewhere } from "../../src/plans/lead/elsewhere.ts";
import { startTestRuns, type TestRuns } from "../../src/plans/runs/test-runs.ts";
import type { WorkParts } from "../../src/plans/runs/run-site.ts";
import { runWork } from "../../src/plans/runs/work.ts";
import {
  openSandbox,
  type OpenSandboxOptions,
  type Sandbox,
} from "../../src/plans/sandbox/sandbox.ts";
import type { NetworkPolicies } from "../../src/plans/network-needs.ts";
import { settleSetup } from "../../src/plans/project/settle-setup.ts";
import { PlanThreads } from "../../src/plans/threads/plan-threads.ts";
import { Git } from "../../src/plans/workspace/git.ts";
import { Repository } from "../../src/plans/workspace/repository.ts";
import { OfflineWorker } from "../../src/plans/workers/offline.ts";
import { readOfflineScript, type OfflineScript } from "../../src/plans/workers/offline-script.ts";
import { AcpWorker } from "../../src/plans/workers/acp.ts";
import { CommandWorker } from "../../src/plans/workers/command.ts";
import type { Worker } from "../../src/plans/workers/worker.ts";

const run = promisify(execFile);
/** Ends by itself when it has nothing to do. */
const threads = new PlanThreads();

/** A repository of a person, made for one test. */
export interface TestRepository extends AsyncDisposable {
  readonly folder: string;
  git(...args: string[]): Promise<string>;
  write(files: Readonly<Record<string, string>>): Promise<void>;
  /**
   * Makes a branch off main with one commit more, which it gives back; the working tree stays where
   * it is.
   */
  branch(name: string, files: Readonly<Record<string, string>>): Promise<string>;
  /**
   * Everything that dure may not change: HEAD, branches that are the person's, the index, files.
   */
  fingerprint(): Promise<string>;
}

export async function testRepository(
  files: Readonly<Record<string, string>>,
): Promise<TestRepository> {
  const folder = await mkdtemp(join(tmpdir(), "dure-repository-"));
  const git = async (...args: string[]): Promise<string> =>
    (
      await run(
        "git",
        [
          "-c",
          "user.name=민준",
          "-c",
          "user.email=minjun@example.com",
          "-c",
          "commit.gpgSign=false",
          ...args,
        ],
        { cwd: folder },
      )
    ).stdout.trim();
  const write = async (texts: Readonly<Record<string, string>>): Promise<void> => {
    for (const [path, text] of Object.entries(texts)) {
      await mkdir(dirname(join(folder, path)), { recursive: true });
      await writeFile(join(folder, path), text);
    }
  };
  await git("init", "--quiet", "--initial-branch=main");
  await write(files);
  await git("add", "--all");
  await git("commit", "--quiet", "--allow-empty", "-m", "Begin");
  return {
    folder,
    git,
    write,
    branch: async (name, texts) => {
      await git("checkout", "--quiet", "-b", name, "main");
      await write(texts);
      await git("add", "--all");
      await git("commit", "--quiet", "-m", name);
      await git("checkout", "--quiet", "main");
      return git("rev-parse", name);
    },
    fingerprint: async () =>
      [
        await git("rev-parse", "HEAD"),
        await git("symbolic-ref", "HEAD"),
        await git("for-each-ref", "--format=%(refname) %(objectname)", "refs/heads/main"),
        await git("status", "--porcelain=v2", "--untracked-files=all"),
        await git("ls-files", "--stage"),
      ].join("\n"),
    [Symbol.asyncDispose]: () => rm(folder, { recursive: true, force: true }),
  };
}

const loud = (fields: object | string, message?: string): void =>
  console.error(message ?? fields, typeof fields === "string" ? "" : JSON.stringify(fields));
/** For a person who looks for what went wrong: DURE_TEST_LOG=1. */
const loudLogger: Logger = { ...silentLogger, info: loud, warn: loud, error: loud };

export interface RealRunsOptions {
  readonly url: string;
  readonly home: string;
  readonly script?: OfflineScript | string;
  readonly worker?: (spec: WorkerSpec) => Worker;
  readonly sandbox?: Sandbox;
  /** Folders that workers see, as those of a PATH. */
  readonly programs?: readonly string[] | undefined;
  /** Home folder of the person. Default: none that workers could be lent. */
  readonly userHome?: string;
  /** Stands for what a trial process shows on another machine. */
  readonly prove?: OpenSandboxOptions["prove"];
  readonly logger?: Logger;
  /** `plans.network` of the team. */
  readonly network?: NetworkPolicies;
  /** Name of the machine. Default: host-1. */
  readonly host?: string;
  /**
   * Where commits are kept beside the machine, and the person's repository here, in which it goes
   * on with runs of other machines.
   */
  readonly remote?: { readonly address: string; readonly repository: string };
  readonly hostGoneMs?: number;
  /** Where tools of workers report tests. */
  readonly hookUrl?: () => string | undefined;
  readonly stalledMs?: number;
  /** Gets what the runs do every hour, to do it at once. */
  readonly onHourly?: (work: () => void) => void;
}

/**
 * One process that leads real runs: git, sandbox, processes, tests; workers do what the script
 * says.
 */
export async function startRealRuns(options: RealRunsOptions): Promise<TestRuns> {
  const git = new Git({ env: process.env });
  const script =
    typeof options.script === "string"
      ? readOfflineScript("script.yaml", options.script)
      : (options.script ?? { ports: {} });
  const clock = systemClock;
  const host = options.host ?? "host-1";
  const logger =
    options.logger ?? (process.env["DURE_TEST_LOG"] === "1" ? loudLogger : silentLogger);
  let opened: Promise<Sandbox> | undefined = options.sandbox && Promise.resolve(options.sandbox);
  const runs: { current?: TestRuns } = {};
  const started = await startTestRuns({
    url: options.url,
    host,
    build: async () => ({ status: "stopped" }),
    runsOptions: {
      home: options.home,
      logger,
      ...(options.onHourly && {
        clock: {
          ...clock,
          after: (ms: number, work: () => void) => (
            ms === 3_600_000 ? options.onHourly!(work) : undefined,
            clock.after(ms, work)
          ),
        },
      }),
      ...(options.hostGoneMs !== undefined && { hostGoneMs: options.hostGoneMs }),
      ...(options.remote && {
        elsewhere: elsewhere({
          git,
          repositories: () => ["/nowhere", options.remote!.repository],
          remote: options.remote.address,
          env: process.env,
          home: options.home,
          host,
          plans: options.home,
        }),
      }),
      resolveBase: async (folder, base, { signal }) => {
        const repository = await Repository.open(folder, { git, signal });
        return { commit: await repository.resolve(base, { signal }), repository: repository.root };
      },
      settle: settleSetup({
        git,
        network: { team: options.network ?? {}, env: process.env },
        npmrc: () => undefined,
      }),
      work: (about) => {
        const parts: WorkParts = {
          database: runs.current!.database,
          notifications: runs.current!.notifications,
          inbox: runs.current!.inbox,
          announce: () => runs.current!.events.announce(),
          clock,
          logger,
          git,
          threads,
          home: options.home,
          processId: runs.current!.lease.id,
          sandbox: (wanted) =>
            (opened ??= openSandbox({
              wanted,
              prefer: "namespaces",
              folder: join(options.home, "sandbox"),
              home: options.userHome,
              programs: options.programs ?? [],
              ...(options.prove && { prove: options.prove }),
              clock,
              logger,
            })),
          worker: (spec) =>
            options.worker?.(spec) ?? openedFor(spec) ?? new OfflineWorker({ script, clock }),
          env: process.env,
          teamNetwork: options.network,
          userHome: options.userHome,
          remote: options.remote?.address,
          ...(options.hookUrl && { hookUrl: options.hookUrl }),
          ...(options.stalledMs !== undefined && { stalledMs: options.stalledMs }),
        };
        return runWork(parts, about);
      },
    },
  });
  runs.current = started;
  return started;
}

/** Workers that are programs; undefined: another kind, for which the script stands in. */
function openedFor(spec: WorkerSpec): Worker | undefined {
  const clock = systemClock;
  if (spec.kind === "acp") return new AcpWorker({ command: spec.command, clock });
  if (spec.kind !== "command") return undefined;
  return new CommandWorker({ command: spec.command, prompt: spec.prompt, clock });
}

export function realPlan(text: string): Plan {
  return parsePlan("plan.yaml", text);
}
