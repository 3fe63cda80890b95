import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { eventually } from "../until.ts";
import type { Kind, MemberSettings } from "./member-settings.ts";

const PROGRAM = fileURLToPath(new URL("member-process.ts", import.meta.url));

interface Line {
  readonly say: string;
  readonly kind?: Kind;
  readonly n?: string;
  readonly because?: string;
}

/** A real process under a supervisor: whenever it ends it is started again, until the end of the block. */
export class Member implements AsyncDisposable {
  readonly #settings: MemberSettings;
  #child: ChildProcess;
  #lines: Line[] = [];
  #errors = "";
  #isStopping = false;
  /** How often others have taken it over. */
  fencings = 0;

  constructor(settings: MemberSettings) {
    this.#settings = settings;
    this.#child = this.#start();
  }

  /** What it wrote last to its log. */
  get log(): string {
    return this.#errors.slice(-4_000);
  }

  async ready(): Promise<void> {
    await this.#said(({ say }) => say === "ready");
  }

  /** Resolves when the work is stored. Where its process ends meanwhile, the next one is given it. */
  async give(kind: Kind, n: number): Promise<void> {
    let given: ChildProcess | undefined;
    await eventually(
      async () => {
        await this.ready();
        if (given !== this.#child) this.#child.stdin!.write(`${kind} ${n}\n`);
        given = this.#child;
        this.#find((line) => line.kind === kind && line.n === String(n));
      },
      { patienceMs: 60_000, also: () => this.log },
    );
  }

  get refusals(): readonly Line[] {
    return this.#lines.filter(({ say }) => say === "refused");
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isStopping = true;
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    const exit = once(this.#child, "exit");
    this.#child.kill("SIGKILL");
    await exit;
  }

  #said(test: (line: Line) => boolean): Promise<Line> {
    return eventually(() => this.#find(test), { patienceMs: 60_000, also: () => this.log });
  }

  #find(test: (line: Line) => boolean): Line {
    const line = this.#lines.find(test);
    if (!line) throw new Error(`the process said ${JSON.stringify(this.#lines.slice(-5))}`);
    return line;
  }

  #start(): ChildProcess {
    this.#lines = this.#lines.filter(({ say }) => say !== "ready");
    const options = ["--conditions=dure-source", "--no-warnings"];
    const child = spawn(process.execPath, [...options, PROGRAM, JSON.stringify(this.#settings)], {
      stdio: ["pipe", "pipe", "pipe"],
    });
    child.stderr.on("data", (chunk: Buffer) => (this.#errors += chunk.toString()));
    child.stdin.on("error", () => {});
    createInterface({ input: child.stdout }).on("line", (line) => {
      if (line.startsWith("{")) this.#lines.push(JSON.parse(line) as Line);
    });
    child.once("close", () => {
      if (this.#lines.some(({ say }) => say === "fenced")) this.fencings += 1;
      this.#lines = this.#lines.filter(({ say }) => say !== "fenced");
      if (!this.#isStopping) this.#child = this.#start();
    });
    return child;
  }
}
