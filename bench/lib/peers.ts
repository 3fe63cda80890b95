import { fork, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import type { Answer, Role, ServerFigures } from "./http-peer.ts";

const PROGRAM = fileURLToPath(new URL("http-peer.ts", import.meta.url));

/** A server in a process of its own, so that its CPU is its own. */
export class PeerProcess implements AsyncDisposable {
  readonly url: string;
  readonly #child: ChildProcess;

  private constructor(child: ChildProcess, url: string) {
    this.#child = child;
    this.url = url;
  }

  /** Resolves when it listens. */
  static async start(
    role: Role,
    options: { answer?: Answer; databaseUrl?: string; nodeOptions?: readonly string[] } = {},
  ): Promise<PeerProcess> {
    const { answer = "long", databaseUrl = "", nodeOptions = [] } = options;
    const child = fork(PROGRAM, [role, answer, databaseUrl], {
      execArgv: ["--conditions=dure-source", ...nodeOptions],
    });
    const ended = once(child, "exit").then(([code]) =>
      Promise.reject(new Error(`the server of ${role} ended with ${code}`)),
    );
    ended.catch(() => {});
    const [{ url }] = (await Promise.race([once(child, "message"), ended])) as [{ url: string }];
    return new PeerProcess(child, url);
  }

  async figures(): Promise<ServerFigures> {
    this.#child.send("figures");
    const [figures] = (await once(this.#child, "message")) as [ServerFigures];
    return figures;
  }

  /** SIGKILL: it gets no chance to put anything in order. */
  async kill(): Promise<void> {
    const ended = once(this.#child, "exit");
    this.#child.kill("SIGKILL");
    await ended;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    this.#child.disconnect();
    await once(this.#child, "exit");
  }
}
