import { randomBytes } from "node:crypto";
import { createColors } from "picocolors";
import { DureError, messageOf } from "../kernel/errors.ts";
import { toWire } from "../kernel/wire.ts";
import { harmless, harmlessJson } from "./harmless.ts";
import { WORDS_EN } from "./words/words.en.ts";
import type { CliWords } from "./words/words.ts";

/**
 * Done, failed, or asked wrongly (usage, configuration, environment). Source: docs/spec/platform
 * §4.
 */
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

interface OutputOptions {
  readonly streams: Streams;
  readonly json: boolean;
  readonly noColor: boolean;
  /** Default: English. */
  readonly words?: CliWords | undefined;
}

/** Where a command says things: results to stdout, everything about the way there to stderr. */
export class Output {
  readonly streams: Streams;
  /** One JSON value per result on stdout, problem JSON on stderr. */
  readonly json: boolean;
  /**
   * Styles of this program. Only they reach the terminal as control sequences: all other text is
   * made harmless.
   */
  readonly colors: Colors;
  /** In the language of the person; English with `--json`. */
  readonly words: CliWords;
  readonly #styles = new Styles();

  constructor(options: OutputOptions) {
    this.streams = options.streams;
    this.json = options.json;
    this.words = options.words ?? WORDS_EN;
    this.colors = this.#styles.marked(
      createColors(!options.noColor && !options.json && isTerminal(options.streams.stdout)),
    );
  }

  /** Whether a person looks at it. */
  get isTerminal(): boolean {
    return isTerminal(this.streams.stdout) && !this.json;
  }

  /** A line for people; nothing with `--json`. */
  line(text = ""): void {
    if (!this.json) this.streams.stdout.write(`${this.#styles.rendered(text)}\n`);
  }

  /**
   * Text as it comes, without a line's end. A file or a pipe gets every byte of it; a terminal gets
   * no control sequences.
   */
  write(text: string): void {
    if (!this.json) {
      this.streams.stdout.write(
        isTerminal(this.streams.stdout) ? this.#styles.rendered(text) : text,
      );
    }
  }

  /** Removes the last lines of the terminal and stands at the beginning of the first of them. */
  erase(lines: number): void {
    if (this.isTerminal) this.streams.stdout.write(`\r${"\u001b[1A".repeat(lines - 1)}\u001b[J`);
  }

  /** A remark that is no result: stderr, so that a pipe gets results alone. */
  note(text: string): void {
    if (!this.json) this.streams.stderr.write(`${this.#styles.rendered(this.colors.dim(text))}\n`);
  }

  /** The result for machines, one line, in the spelling of the wire; nothing without `--json`. */
  result(value: unknown): void {
    if (this.json) this.streams.stdout.write(`${harmlessJson(toWire(value))}\n`);
  }

  /** Code, message and hint; with `--json` as RFC 9457 problem. Returns the exit code that fits. */
  error(error: unknown): ExitCode {
    const problem = asProblem(error);
    const text = this.json
      ? harmlessJson(problemJson(problem))
      : this.#styles.rendered(this.#refusal(problem));
    this.streams.stderr.write(`${text}\n`);

    return exitCodeOf(error);
  }

  #refusal(problem: ProblemFacts): string {
    const { message, original, label, hint } = this.words.refusal(problem);
    const lines = [
      `${this.colors.red(problem.code)} ${message}`,
      original && `  ${original}`,
      hint && `${this.colors.dim(label)} ${hint}`,
    ];

    return lines.filter(Boolean).join("\n");
  }

  /** Columns as wide as their widest cell; Korean counts two columns per syllable. */
  table(rows: readonly (readonly string[])[]): void {
    const widths = (rows[0] ?? []).map((_, column) =>
      Math.max(...rows.map((row) => displayWidth(row[column] ?? ""))),
    );
    for (const row of rows) {
      this.line(
        row
          .map((cell, column) =>
            column === row.length - 1
              ? cell
              : cell + " ".repeat(widths[column]! - displayWidth(cell)),
          )
          .join("  "),
      );
    }
  }
}

type Colors = Pick<
  ReturnType<typeof createColors>,
  (typeof STYLE_NAMES)[number] | "isColorSupported"
>;
const STYLE_NAMES = ["bold", "dim", "red", "green", "yellow"] as const;

/**
 * Tells this program's own styles from those in foreign text: a mark that no text can know stands
 * before each of them.
 */
class Styles {
  readonly #mark = `\u001b${randomBytes(16).toString("hex")}`;

  marked(colors: ReturnType<typeof createColors>): Colors {
    const marking = (style: (text: string) => string) => (text: string) => {
      const [before, after] = style("\u0000").split("\u0000") as [string, string];
      return before === ""
        ? text
        : `${this.#mark}${before.slice(1)}${text}${this.#mark}${after.slice(1)}`;
    };

    const styles = Object.fromEntries(
      STYLE_NAMES.map((name) => [name, marking(colors[name])]),
    ) as Omit<Colors, "isColorSupported">;
    return { ...styles, isColorSupported: colors.isColorSupported };
  }

  /** Text for a terminal: its own styles as they are, everything else harmless. */
  rendered(text: string): string {
    return text.split(this.#mark).map(harmless).join("\u001b");
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
  return { code: "INTERNAL", message: messageOf(error), hint: WORDS_EN.general.defect };
}

function problemJson({ code, message, hint, details }: ProblemFacts): object {
  return {
    type: "about:blank",
    title: message.split("\n")[0],
    code,
    detail: message,
    hint: hint || undefined,
    ...(toWire(details ?? {}) as object),
  };
}

/** `2026-11-30T09:15:00Z`: a moment that says where its clock stands. Pure. */
export function momentOf(at: number): string {
  return `${new Date(at).toISOString().slice(0, 19)}Z`;
}

/** Columns on a terminal: wide characters (Hangul, Chinese, full-width forms, emoji) take two. */
export function displayWidth(text: string): number {
  let width = 0;
  for (const char of text) {
    width +=
      /[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe4f\uff00-\uff60\uffe0-\uffe6]|\p{Emoji_Presentation}/u.test(
        char,
      )
        ? 2
        : /\p{Mn}/u.test(char)
          ? 0
          : 1;
  }

  return width;
}
