import type { Command } from "commander";
import type { CliWords } from "../words/words.ts";
import type { CommandContext, CommandGroup, CommandSpec } from "./command.ts";

/** What every added command is given. */
export interface BuildOptions {
  readonly context: CommandContext;
  readonly finish: (exitCode: number) => void;
}

/** Adds a command, or a group with its commands, to the program. */
export function addToProgram(spec: CommandSpec | CommandGroup, options: BuildOptions): void {
  const { program, output } = options.context;
  const { words } = output;
  if ("run" in spec) {
    addCommand(program, spec, options);
    return;
  }

  const group = program
    .command(spec.name)
    .description(spec.about)
    .addHelpText("after", examplesText(spec.examples, words))
    .copyInheritedSettings(program);

  for (const command of spec.commands) addCommand(group, command, options);
}

function addCommand(parent: Command, spec: CommandSpec, options: BuildOptions): void {
  const { context, finish } = options;
  const command = parent
    .command(spec.name)
    .description(spec.about)
    .option("--json", "print JSON in the spelling of the API")
    .addHelpText("after", examplesText(spec.examples, context.output.words))
    .copyInheritedSettings(context.program);

  addSharedOptions(command, spec.worksOn);
  spec.declare?.(command);

  const act = spec.run(context);

  command.action(async (...values: unknown[]) => {
    // A command above this one takes an option that both have, wherever it stands.
    const given = [...values.slice(0, -2), command.optsWithGlobals()] as never[];
    finish(await act(...given));
  });
  for (const under of spec.commands ?? []) addCommand(command, under, options);
}

/** The options that a command has because of what it works on. */
function addSharedOptions(command: Command, worksOn: CommandSpec["worksOn"]): void {
  if (worksOn === undefined) return;

  command.option("-C, --dir <folder>", "the team's folder", ".");

  if (worksOn === "folder") return;

  command.option("--url <address>", "the server (default: DURE_URL, else this machine's PORT)");

  if (worksOn === "server") return;

  command.option("--as <name>", "your name, on a server without tokens");
}

/** Examples under the help of a command. Pure. */
export function examplesText(examples: readonly string[], { help }: CliWords): string {
  const title = help.examples(examples.length);
  const lines = examples.map((example) => `  $ ${example}`);
  return `\n${title}:\n${lines.join("\n")}`;
}
