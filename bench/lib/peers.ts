import { fork, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import type { ServerFigures } from "./http-peer.ts";

const PROGRAM = fileURLToPath(new URL("http-peer.ts", import.meta.url));

/** A server in a process of its own, so that its CPU is its own. */
export class PeerProcess implements AsyncDisposable {
  readonly url: string;
  readonly #child: ChildProcess;

  private constructor(child: ChildProcess, url: string) {
    this.#child = child;
    this.url = url;
  }

  static async start(role: "dure" | "bare" | "direct", databaseUrl = "", execArgv: readonly string[] = []): Promise<PeerProcess> {
    const child = fork(PROGRAM, [role, databaseUrl], { execArgv: ["--conditions=dure-source", ...execArgv] });
    const ended = once(child, "exit").then(([code]) => Promise.reject(new Error(`the server of ${role} ended with ${code}`)));
    ended.catch(() => {});
    const [{ url }] = (await Promise.race([once(child, "message"), ended])) as [{ url: string }];
    return new PeerProcess(child, url);
  }

  async figures(): Promise<ServerFigures> {
    this.#child.send("figures");
    const [figures] = (await once(this.#child, "message")) as [ServerFigures];
    return figures;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#child.exitCode !== null) return;
    this.#child.disconnect();
    await once(this.#child, "exit");
  }
}
