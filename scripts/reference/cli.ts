/** The reference of the command line, made from the commands themselves. */

import type { CommandGroup, CommandSpec } from "../../packages/dure/src/cli/commands/command.ts";
import { COMMANDS, describeProgram } from "../../packages/dure/src/cli/program.ts";
import { codeOf, MADE, plain, tableOf } from "./markdown.ts";

type Spec = CommandSpec | CommandGroup;
type Command = ReturnType<typeof describeProgram>;

/** The page `cli.md`. */
export function cliPage(): string {
  const program = describeProgram();
  const parts = COMMANDS.flatMap((spec) => sectionsOf(spec, program));

  return `${[
    "# Command line",
    MADE,
    "Exit codes: 0 done, 1 failed, 2 asked or configured wrongly. Every command has `--json` and `--help`.",
    "Commands speak Korean at a Korean terminal (`LC_ALL`, else `LC_MESSAGES`, else `LANG` names `ko`), else English. `--json` is the same everywhere.",
    ...parts,
  ].join("\n\n")}\n`;
}

/** A command; of a group each of its commands. */
function sectionsOf(spec: Spec, parent: Command): readonly string[] {
  const command = parent.commands.find((one) => one.name() === spec.name)!;
  const inner = (spec.commands ?? []).flatMap((one) => {
    const sub = command.commands.find((each) => each.name() === one.name)!;
    return sectionOf(one, sub, "###");
  });
  if ("run" in spec) return [...sectionOf(spec, command, "##"), ...inner];
  return [`## dure ${spec.name}`, sentence(spec.about), ...inner];
}

function sectionOf(spec: CommandSpec, command: Command, mark: string): readonly string[] {
  const names = [command.parent?.name(), command.name()].filter((name) => name !== "dure");
  const usage = `dure ${names.join(" ")} ${command.usage()}`.trim();
  const options = command.options.filter(({ long }) => long !== "--json");
  const rows = options.map(({ flags, description }) => [codeOf(flags), plain(description)]);
  const args = command.registeredArguments
    .filter(({ description }) => description !== "")
    .map((one) => [codeOf(one.name()), plain(one.description)]);
  const examples = spec.examples.join("\n");

  return [
    `${mark} dure ${names.join(" ")}`,
    sentence(spec.about),
    ["```sh", usage, ...(examples === "" ? [] : ["", examples]), "```"].join("\n"),
    ...(args.length + rows.length === 0 ? [] : [tableOf(["option", "does"], [...args, ...rows])]),
  ];
}

/** As help says it, and with a capital and a full stop. Pure. */
function sentence(about: string): string {
  const text = plain(about);
  return `${text[0]!.toUpperCase()}${text.slice(1)}${/[.?!]$/.test(text) ? "" : "."}`;
}
