import { spawn, type ChildProcess } from "node:child_process";
import { fileURLToPath } from "node:url";
import { killAtOnce } from "./leader-process.ts";

const PROGRAM = fileURLToPath(new URL("../../src/cli/main.ts", import.meta.url));

/** `dure start` as a person does it, killed as a machine does it. */
export class StartedTeam implements AsyncDisposable {
  readonly #child: ChildProcess;
  readonly url: Promise<string>;
  output = "";

  constructor(
    team: string,
    database: string,
    more: Readonly<Record<string, string | undefined>> = {},
  ) {
    const { PATH = "", HOME = "", NODE_COMPILE_CACHE } = process.env;
    const machine = { PATH, HOME, NODE_COMPILE_CACHE };
    this.#child = spawn(process.execPath, ["--conditions=dure-source", PROGRAM, "start"], {
      cwd: team,
      env: { ...machine, DATABASE_URL: database, PORT: "0", LOG_LEVEL: "warn", ...more },
      stdio: ["ignore", "pipe", "pipe"],
    });
    const there = Promise.withResolvers<string>();
    this.url = there.promise;
    for (const stream of [this.#child.stdout!, this.#child.stderr!]) {
      stream.setEncoding("utf8").on("data", (text: string) => {
        this.output += text;
        const url = /answers at (http\S+)/.exec(this.output)?.[1];
        if (url !== undefined) there.resolve(url);
      });
    }
    this.#child.once("exit", (code) =>
      there.reject(new Error(`ended with ${code}:\n${this.output}`)),
    );
  }

  kill(): Promise<void> {
    return killAtOnce(this.#child);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.kill();
  }
}
