import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { createServer, type AddressInfo } from "node:net";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";

const MAIN = fileURLToPath(new URL("../../../dure/src/cli/main.ts", import.meta.url));
const TEAM = fileURLToPath(new URL("team", import.meta.url));
/** Longest wait for a start or an exit on a busy machine, milliseconds. */
const PATIENCE_MS = 90_000;

/**
 * The real server, `dure start`, in a process of its own. It can be killed and started again on the
 * same port.
 */
export class ServerProcess implements AsyncDisposable {
  readonly url: string;
  readonly #environment: Readonly<Record<string, string>>;
  #child: ChildProcess | undefined;
  #log: string[] = [];

  private constructor(port: number, environment: Readonly<Record<string, string>>) {
    this.url = `http://127.0.0.1:${port}`;
    this.#environment = { ...environment, HOST: "127.0.0.1", PORT: String(port) };
  }

  /** Resolves when it is ready. `environment` names at least the database. */
  static async start(environment: Readonly<Record<string, string>>): Promise<ServerProcess> {
    const server = new ServerProcess(await freePort(), environment);
    await server.start();
    return server;
  }

  async start(): Promise<void> {
    this.#log = [];
    const child = spawn(
      process.execPath,
      ["--conditions=dure-source", MAIN, "start", "--dir", TEAM, "--json"],
      {
        env: { ...process.env, DEV_MODE: "true", LOG_LEVEL: "warn", ...this.#environment },
        stdio: ["ignore", "pipe", "pipe"],
      },
    );
    this.#child = child;
    createInterface(child.stderr).on("line", (line) => void this.#log.push(line));
    const ready = once(createInterface(child.stdout), "line");
    const ended = once(child, "exit").then(([code]) =>
      Promise.reject(new Error(`the server ended with ${String(code)}`)),
    );
    ended.catch(() => {});
    await this.#within(Promise.race([ready, ended]), "the server was not ready");
  }

  /** Of the process that runs now. */
  get pid(): number {
    return this.#child!.pid!;
  }

  /** SIGKILL, not a polite stop. */
  async kill(): Promise<void> {
    const child = this.#child;
    if (!child || child.exitCode !== null || child.signalCode !== null) return;
    const gone = once(child, "exit");
    child.kill("SIGKILL");
    await this.#within(gone, "the server did not die");
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.kill();
  }

  async #within(work: Promise<unknown>, what: string): Promise<void> {
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<never>((_, reject) => {
      timer = setTimeout(() => reject(new Error(`${what} within ${PATIENCE_MS} ms`)), PATIENCE_MS);
    });
    try {
      await Promise.race([work, late]);
    } catch (error) {
      throw new Error([String(error), ...this.#log.slice(-20)].join("\n"), { cause: error });
    } finally {
      clearTimeout(timer);
    }
  }
}

/** A page must find the server again after a kill, so the port is chosen before the first start. */
async function freePort(): Promise<number> {
  const listener = createServer().listen(0, "127.0.0.1");
  await once(listener, "listening");
  const { port } = listener.address() as AddressInfo;
  listener.close();
  await once(listener, "close");
  return port;
}
