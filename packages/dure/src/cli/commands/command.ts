import type { Command } from "commander";
import type { Output } from "../output.ts";

/** One command of `dure`. */
export interface CommandSpec {
  readonly name: string;
  /** One line of help. */
  readonly about: string;
  readonly examples: readonly string[];
  /** What it works on; each value adds its options: `--dir`, `--url`, `--as`. */
  readonly worksOn?: "folder" | "server" | "server-as-person";
  /** Adds its arguments and its own options. */
  readonly declare?: (command: Command) => Command;
  /** Commands under its name, beside what it does itself. */
  readonly commands?: readonly CommandSpec[];
  /** Makes the action. It receives the arguments, then the options, and returns the exit code. */
  readonly run: (context: CommandContext) => (...values: never[]) => Promise<number>;
}

/** A command that only holds others. */
export interface CommandGroup {
  readonly name: string;
  readonly about: string;
  readonly examples: readonly string[];
  readonly commands: readonly CommandSpec[];
}

export interface CommandContext {
  readonly output: Output;
  /** The whole program, for a command that describes it. */
  readonly program: Command;
}

/** Options that a command may have besides `--json`. */
export interface CommonOptions {
  readonly dir: string;
  readonly url?: string;
}

/** Options of a command that acts in the name of a person. */
export interface AsPersonOptions extends CommonOptions {
  readonly as?: string;
}

/** Options of a command that prints a list page by page. */
export interface PageOptions {
  readonly limit?: string;
  readonly cursor?: string;
}
