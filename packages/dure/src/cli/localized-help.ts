import type { Argument, Command, Option } from "commander";
import { displayWidth } from "./output.ts";
import type { CliWords } from "./words/words.ts";

/** Lets a program say its help in the language of its reader. In English it stays as it is. */
export function localizeHelp(program: Command, { language, help }: CliWords): void {
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
