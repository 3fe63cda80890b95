import { createColors } from "picocolors";
import { DureError, messageOf } from "../kernel/errors.ts";
import { toWire } from "../kernel/wire.ts";

/** Done, failed, or asked wrongly (usage, configuration, environment). Source: docs/spec/platform §4. */
export const EXIT = { ok: 0, failed: 1, usage: 2, fenced: 75 } as const;
export type ExitCode = (typeof EXIT)[keyof typeof EXIT];

export interface Streams {
  readonly stdin: NodeJS.ReadStream;
  readonly stdout: NodeJS.WriteStream;
  readonly stderr: NodeJS.WriteStream;
}

/** Whether a person is at the other end; Node leaves the mark out where it does not hold. */
export function isTerminal(stream: { readonly isTTY?: boolean }): boolean {
  return stream.isTTY === true;
}

/** Where a command says things: results to stdout, everything about the way there to stderr. */
export class Output {
  readonly streams: Streams;
  /** One JSON value per result on stdout, problem JSON on stderr. */
  readonly json: boolean;
  readonly colors: ReturnType<typeof createColors>;

  constructor(options: { streams: Streams; json: boolean; noColor: boolean }) {
    this.streams = options.streams;
    this.json = options.json;
    this.colors = createColors(!options.noColor && !options.json && isTerminal(options.streams.stdout));
  }

  /** Whether a person looks at it. */
  get isTerminal(): boolean {
    return isTerminal(this.streams.stdout) && !this.json;
  }

  /** A line for people; nothing with `--json`. */
  line(text = ""): void {
    if (!this.json) this.streams.stdout.write(`${text}\n`);
  }

  /** Text as it comes. */
  write(text: string): void {
    if (!this.json) this.streams.stdout.write(text);
  }

  /** A remark that is no result: stderr, so that a pipe gets results alone. */
  note(text: string): void {
    if (!this.json) this.streams.stderr.write(`${this.colors.dim(text)}\n`);
  }

  /** The result for machines, one line, in the spelling of the wire; nothing without `--json`. */
  result(value: unknown): void {
    if (this.json) this.streams.stdout.write(`${JSON.stringify(toWire(value))}\n`);
  }

  /** Code, message and hint; with `--json` as RFC 9457 problem. Returns the exit code that fits. */
  error(error: unknown): ExitCode {
    const { code, message, hint, details } = asProblem(error);
    if (this.json) {
      const problem = { type: "about:blank", title: message.split("\n")[0], code, detail: message, ...(hint && { hint }), ...(toWire(details ?? {}) as object) };
      this.streams.stderr.write(`${JSON.stringify(problem)}\n`);
    } else {
      this.streams.stderr.write(`${this.colors.red(code)} ${message}\n`);
      if (hint) this.streams.stderr.write(`${this.colors.dim("Hint:")} ${hint}\n`);
    }
    return exitCodeOf(error);
  }

  /** Columns as wide as their widest cell; Korean counts two columns per syllable. */
  table(rows: readonly (readonly string[])[]): void {
    const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => displayWidth(row[column] ?? ""))));
    for (const row of rows) {
      this.line(row.map((cell, column) => (column === row.length - 1 ? cell : cell + " ".repeat(widths[column]! - displayWidth(cell)))).join("  "));
    }
  }
}

/** 2 when the caller can put it right by asking or configuring differently, else 1. */
function exitCodeOf(error: unknown): ExitCode {
  if (!(error instanceof DureError) || error.class !== "input") return EXIT.failed;
  return EXIT.usage;
}

interface ProblemFacts {
  readonly code: string;
  readonly message: string;
  readonly hint?: string | undefined;
  readonly details?: Readonly<Record<string, unknown>> | undefined;
}

function asProblem(error: unknown): ProblemFacts {
  if (error instanceof DureError) return error;
  return { code: "INTERNAL", message: messageOf(error), hint: "This is a defect of dure, or of a module that it loads; LOG_LEVEL=debug says more." };
}

/** Columns on a terminal: wide characters (Hangul, Chinese, full-width forms, emoji) take two. */
export function displayWidth(text: string): number {
  let width = 0;
  for (const char of text) width += /[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe4f\uff00-\uff60\uffe0-\uffe6]|\p{Emoji_Presentation}/u.test(char) ? 2 : /\p{Mn}/u.test(char) ? 0 : 1;
  return width;
}
