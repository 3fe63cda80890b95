import { DureError, messageOf } from "../../kernel/errors.ts";
import type { AgentTrouble } from "../agents/trouble.ts";
import { absentWords } from "../sandbox/absent.ts";
import { bytesWords } from "../sandbox/memory-watch.ts";
import type { SandboxEnd, SandboxProcess } from "../sandbox/sandbox.ts";
import { headOf, tailOf } from "./bounded-text.ts";
import { workerError } from "./worker-error.ts";
import type { Assignment } from "./worker.ts";

/**
 * Variables that every process of a worker has beside the assignment's. `DURE_LISTEN`, a range of
 * TCP ports, is among those.
 */
export function workerEnv(
  assignment: Pick<Assignment, "id" | "port" | "member" | "try" | "scratch" | "env">,
): Readonly<Record<string, string>> {
  return {
    HOME: assignment.scratch,
    TMPDIR: assignment.scratch,
    ...assignment.env,
    DURE_SCRATCH: assignment.scratch,
    DURE_WORKER: assignment.id,
    DURE_PORT_ID: assignment.port,
    DURE_MEMBER: assignment.member,
    DURE_TRY: String(assignment.try),
  };
}

/**
 * Starts a process of the worker, told to the assignment before it does anything. The caller ends
 * it with `finished`.
 */
export async function startProcess(
  assignment: Assignment,
  {
    command,
    env = {},
    cwd,
  }: {
    readonly command: readonly string[] | string;
    readonly env?: Readonly<Record<string, string>>;
    readonly cwd?: string | undefined;
  },
  options: { signal: AbortSignal },
): Promise<SandboxProcess> {
  const { sandbox, confinement, limits } = assignment;
  const { timeMs, outputBytes, fileBytes, processes } = limits;
  const where = cwd === undefined ? confinement : { ...confinement, cwd };
  const what = {
    command,
    env: { ...workerEnv(assignment), ...env },
    limits: { timeMs, outputBytes, fileBytes, processes },
  };
  try {
    const process = await sandbox.spawn(where, what, {
      onStart: assignment.onStart,
      signal: options.signal,
    });
    // A process that has gone takes no more; that is told by its end, not by its pipe.
    process.stdin.on("error", () => {});
    return process;
  } catch (error) {
    options.signal.throwIfAborted();
    throw notStarted(command, error);
  }
}

/** Ends a process, if it has not ended, and waits until all of its tree is gone. */
export async function finished(process: SandboxProcess): Promise<SandboxEnd> {
  process.stdin.destroy();
  process.stdout.resume();
  process.stderr.resume();
  await process.kill();
  return process.ended;
}

/** What unshare of util-linux says when its child was killed; it is no word of the worker. */
const ENCLOSURE_NOISE = /^unshare: sigprocmask [a-z]+ failed: .*$/gm;

/** What a process's own end means for the try. */
export function died(end: SandboxEnd, output: string): DureError {
  const own = output.replace(ENCLOSURE_NOISE, "").trim();
  const last = own === "" ? "" : ` It wrote last: ${tailOf(own, 500)}`;
  switch (end.because) {
    case "time":
      return workerError("WORKER_TIMEOUT", `The worker did not end in its time.${last}`);
    case "output":
      return workerError("WORKER_FLOODED", `The worker wrote more than it may.${last}`);
    case "memory": {
      const most = bytesWords(end);
      return workerError("WORKER_MEMORY", `The worker took more memory than ${most}.${last}`);
    }
    case "disk": {
      const most = bytesWords(end);
      return workerError("WORKER_DISK", `The worker wrote more than ${most} to the disk.${last}`);
    }
    case "refused":
    case "aborted":
      return workerError("WORKER_DIED", `The worker was stopped.${last}`);
    case "exited": {
      const how =
        end.signal === null
          ? `with exit code ${end.exitCode ?? "unknown"}`
          : `by signal ${end.signal}`;
      // Both are what a shell and an exec say about a program that is not there or may not be run.
      const isMissing = end.exitCode === 127 || end.exitCode === 126;
      return workerError(
        isMissing ? "WORKER_NOT_STARTED" : "WORKER_DIED",
        `The worker's process ended ${how}.${last}${absentWords(end)}`,
      );
    }
  }
}

/** An agent that does not get to its model. The moment it names stands in the error's details. */
export function troubleError({ kind, line, until }: AgentTrouble): DureError {
  if (kind === "login") {
    return workerError("WORKER_LOGIN", `The agent is not signed in: ${line}`);
  }
  const message = `The provider of the agent takes no more calls now: ${line}`;
  return workerError("WORKER_RATE_LIMITED", message, { until });
}

export function notStarted(command: readonly string[] | string, cause: unknown): DureError {
  const name = typeof command === "string" ? command : command[0]!;
  return workerError(
    "WORKER_NOT_STARTED",
    `${headOf(name, 200)} could not be started: ${messageOf(cause)}`,
    { cause, hint: cause instanceof DureError ? cause.hint : undefined },
  );
}
