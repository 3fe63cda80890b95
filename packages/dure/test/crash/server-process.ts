import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { createInterface } from "node:readline";
import { systemClock } from "../../src/kernel/clock.ts";

const MAIN = fileURLToPath(new URL("../../src/cli/main.ts", import.meta.url));
const TEAM = fileURLToPath(new URL("team", import.meta.url));
/** Longest wait for a start or an exit on a busy machine, milliseconds. */
const PATIENCE_MS = 60_000;

/** The real server, `dure start`, in a process of its own that a test can kill, freeze and thaw. */
export class ServerProcess implements AsyncDisposable {
  /** When it was started, wall clock, milliseconds; its log speaks the same time. */
  readonly startedAt = systemClock.now();
  /** Lines of its log, as they came. */
  readonly log: string[] = [];
  readonly #child: ChildProcess;
  readonly #exit: Promise<number | null>;
  #url: Promise<string>;

  private constructor(child: ChildProcess) {
    this.#child = child;
    this.#exit = once(child, "exit").then(([code]) => code as number | null);
    createInterface(child.stderr!).on("line", (line) => void this.log.push(line));
    this.#url = (async () => {
      for await (const line of createInterface(child.stdout!)) {
        return (JSON.parse(line) as { url: string }).url;
      }
      throw new Error(`the server ended before it was ready:\n${this.log.join("\n")}`);
    })();
    this.#url.catch(() => {});
  }

  /** Does not wait until it is ready. `team`: its folder. */
  static spawn(environment: Readonly<Record<string, string>>, team = TEAM): ServerProcess {
    const child = spawn(
      process.execPath,
      ["--conditions=dure-source", MAIN, "start", "--dir", team, "--json"],
      {
        env: {
          ...process.env,
          HOST: "127.0.0.1",
          PORT: "0",
          OPENAI_API_KEY: "test",
          LOG_LEVEL: "info",
          DEV_MODE: "true",
          ...environment,
        },
        stdio: ["ignore", "pipe", "pipe"],
      },
    );
    return new ServerProcess(child);
  }

  get pid(): number {
    return this.#child.pid!;
  }

  /** Its address, when it is ready. */
  get url(): Promise<string> {
    return within(this.#url, "the server was not ready", () => this.log);
  }

  /** The exit code; null after a signal. */
  get exit(): Promise<number | null> {
    return within(this.#exit, "the server did not exit", () => this.log);
  }

  get isOver(): boolean {
    return this.#child.exitCode !== null || this.#child.signalCode !== null;
  }

  signal(name: NodeJS.Signals): void {
    this.#child.kill(name);
  }

  async kill(): Promise<void> {
    this.signal("SIGKILL");
    await this.exit;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (!this.isOver) await this.kill();
  }
}

/** Waits for `work`, and says what did not happen, with the log, when it takes too long. */
export async function within<T>(
  work: Promise<T>,
  what: string,
  log: () => readonly string[] = () => [],
): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(
      () => reject(new Error(`${what} within ${PATIENCE_MS} ms\n${log().slice(-30).join("\n")}`)),
      PATIENCE_MS,
    );
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}
