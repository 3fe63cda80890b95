import { Command, CommanderError, type Argument, type Option } from "commander";
import { DureError } from "../kernel/errors.ts";
import { isSet, terminalLocale } from "../team/terminal.ts";
import { DURE_VERSION } from "../team/version.ts";
import { PAUSE, RESUME, STOP } from "./commands/brake.ts";
import { addToProgram, examplesText } from "./commands/build.ts";
import type { CommandGroup, CommandSpec } from "./commands/command.ts";
import { COMPLETION } from "./commands/completion.ts";
import { CHAT, LOGIN, RELOAD } from "./commands/conversation.ts";
import { DB } from "./commands/db.ts";
import { ESCALATIONS } from "./commands/escalations.ts";
import { EVAL } from "./commands/eval.ts";
import { HOOK } from "./commands/hook.ts";
import { INIT } from "./commands/init.ts";
import { JOBS } from "./commands/jobs.ts";
import { AUDIT, EVENTS } from "./commands/log.ts";
import { KNOWLEDGE } from "./commands/knowledge.ts";
import { MCP } from "./commands/mcp.ts";
import { ACP } from "./commands/acp.ts";
import { PLAN } from "./commands/plan.ts";
import { ROOMS } from "./commands/rooms.ts";
import { NEW } from "./commands/scaffold.ts";
import { SCHEDULES } from "./commands/schedules.ts";
import { TASK } from "./commands/task.ts";
import { CHECK, DEV, DOCTOR, START } from "./commands/team.ts";
import { TOKEN } from "./commands/token.ts";
import { languageOf } from "./language.ts";
import { EXIT, Output, type ExitCode, type Streams, displayWidth } from "./output.ts";
import { wordsOf, type CliWords } from "./words/words.ts";

/** All commands, in the order of the help. */
export const COMMANDS: readonly (CommandSpec | CommandGroup)[] = [
  DEV,
  START,
  INIT,
  NEW,
  CHECK,
  DOCTOR,
  EVAL,
  CHAT,
  LOGIN,
  RELOAD,
  EVENTS,
  ROOMS,
  JOBS,
  SCHEDULES,
  PAUSE,
  RESUME,
  STOP,
  PLAN,
  TASK,
  KNOWLEDGE,
  HOOK,
  MCP,
  ACP,
  ESCALATIONS,
  AUDIT,
  TOKEN,
  DB,
  COMPLETION,
];

/**
 * The command line of dure. Commands hold no logic: they call the server, or, where there is none
 * to call (start, set-up, checks, the database itself), the part that does it. Returns the exit
 * code: 0 done, 1 failed, 2 asked or configured wrongly.
 */
export async function main(argv: readonly string[], streams: Streams = process): Promise<number> {
  const json = argv.includes("--json");
  const words = await wordsOf(json ? "en" : languageOf(terminalLocale()));
  const output = new Output({ streams, json, noColor: isSet("NO_COLOR"), words });
  let exitCode: number = EXIT.ok;
  const program = createProgram({ output, finish: (code) => (exitCode = code) });

  try {
    await program.parseAsync([...argv], { from: "user" });
    return exitCode;
  } catch (error) {
    if (error instanceof CommanderError) return settleCommander(error, output);
    return output.error(error);
  }
}

/** The program without a place to write to, for a page that describes it. */
export function describeProgram(): Command {
  const output = new Output({ streams: process, json: true, noColor: true });
  return createProgram({ output, finish: () => {} });
}

interface ProgramParts {
  readonly output: Output;
  readonly finish: (exitCode: number) => void;
}

function createProgram({ output, finish }: ProgramParts): Command {
  const program = new Command("dure")
    .description("Runs durable teams of AI agents.")
    .version(DURE_VERSION, "-V, --version", "print the version")
    .helpCommand("help [command]", "show the help of a command")
    .showSuggestionAfterError(true)
    .addHelpText(
      "after",
      examplesText(["dure init my-team", "dure dev", "dure chat"], output.words),
    )
    .exitOverride()
    .configureOutput({
      writeOut: (text) => void output.streams.stdout.write(text),
      outputError: (text, write) => write(output.words.usage(text)),
      writeErr: (text) => void (output.json || output.streams.stderr.write(text)),
      getOutHasColors: () => output.colors.isColorSupported,
      getErrHasColors: () => output.colors.isColorSupported,
    });

  const context = { output, program };
  for (const command of COMMANDS) addToProgram(command, { context, finish });
  localizeHelp(program, output.words);

  return program;
}

/** Help and version are no errors; everything else is a wrong usage. */
function settleCommander(error: CommanderError, output: Output): ExitCode {
  if (error.exitCode === 0) return EXIT.ok;
  if (output.json) {
    const hint = "dure help shows the commands, dure help COMMAND its options.";
    output.error(new DureError("USAGE", usageMessage(error), { class: "input", hint }));
  }

  return EXIT.usage;
}

/** Commander's message as one sentence. Pure. */
function usageMessage({ message }: CommanderError): string {
  return message
    .replace(/^error: /, "")
    .replace(/\s*\n\s*/g, " ")
    .replace(/\.?$/, ".");
}

// --- localized help

/** Lets a program say its help in the language of its reader. In English it stays as it is. */
function localizeHelp(program: Command, { language, help }: CliWords): void {
  if (language === "en") return;

  localize(program, help.sentence);
  for (const command of allOf(program)) {
    command.configureHelp({
      displayWidth,
      styleTitle: help.sentence,
      optionDescription: (option) => described(option, help),
      argumentDescription: (argument) => described(argument, help),
    });
  }
}

/** A command and all below it. */
function allOf(command: Command): readonly Command[] {
  return [command, ...command.commands.flatMap(allOf)];
}

function localize(program: Command, sentence: (english: string) => string): void {
  for (const command of allOf(program)) {
    if (command.commands.length > 0) {
      command.helpCommand("help [command]", sentence("show the help of a command"));
    }
    command.description(sentence(command.description()));
    command.helpOption("-h, --help", sentence("display help for command"));
    for (const option of command.options) option.description = sentence(option.description);
    for (const argument of command.registeredArguments) {
      argument.description = sentence(argument.description);
    }
  }
}

/** With what may be chosen, and what holds when nothing is. */
function described(
  { description, argChoices, defaultValue }: Option | Argument,
  { choices, fallback }: CliWords["help"],
): string {
  const isTold = defaultValue !== undefined && typeof defaultValue !== "boolean";
  const more = [
    argChoices && choices(argChoices.join(", ")),
    isTold && fallback(String(defaultValue)),
  ].filter(Boolean);

  return [description, more.join(", ")].filter(Boolean).join(". ");
}
