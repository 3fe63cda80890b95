import type { Command } from "commander";
import { DureError } from "../kernel/errors.ts";

const SHELLS = ["bash", "zsh", "fish"] as const;

/**
 * A script for the shell that completes commands and options; made from the commands themselves.
 */
export function completionScript(program: Command, shell: string): string {
  const known = SHELLS.find((name) => name === shell);
  if (!known) {
    throw new DureError("SHELL_UNKNOWN", `There is no completion for "${shell}".`, {
      class: "input",
      hint: `Use ${SHELLS.join(", ")}.`,
    });
  }

  const words = wordsOf(program);

  return known === "fish" ? fish(words) : bash(words, known === "zsh");
}

/** What may follow each path of commands: `db` → `migrate stats … --json`. */
function wordsOf(command: Command, path: readonly string[] = []): Map<string, string[]> {
  const subcommands = command.commands.filter((sub) => sub.name() !== "help");
  const words = new Map([
    [
      path.join(" "),
      [
        ...subcommands.map((sub) => sub.name()),
        ...command.options.flatMap((option) => option.long ?? []),
        "--help",
      ],
    ],
  ]);

  for (const sub of subcommands) {
    for (const [key, value] of wordsOf(sub, [...path, sub.name()])) words.set(key, value);
  }

  return words;
}

function bash(words: ReadonlyMap<string, readonly string[]>, isZsh: boolean): string {
  const cases = [...words].map(([path, next]) => `    "${path}") words="${next.join(" ")}" ;;`);
  return [
    ...(isZsh ? ["autoload -U +X bashcompinit && bashcompinit"] : []),
    "_dure() {",
    '  local path="" word words=""',
    '  for word in "${COMP_WORDS[@]:1:COMP_CWORD-1}"; do',
    '    case "$word" in -*) ;; *) path="${path:+$path }$word" ;; esac',
    "  done",
    '  case "$path" in',
    ...cases,
    "  esac",
    '  COMPREPLY=($(compgen -W "$words" -- "${COMP_WORDS[COMP_CWORD]}"))',
    "}",
    "complete -o default -F _dure dure",
    "",
  ].join("\n");
}

function fish(words: ReadonlyMap<string, readonly string[]>): string {
  const lines = [...words].flatMap(([path, next]) => {
    const seen =
      path === ""
        ? "__fish_use_subcommand"
        : `__fish_seen_subcommand_from ${path.split(" ").at(-1)}`;
    return next.map((word) =>
      word.startsWith("--")
        ? `complete -c dure -n "${seen}" -l ${word.slice(2)}`
        : `complete -c dure -f -n "${seen}" -a ${word}`,
    );
  });
  return `${lines.join("\n")}\n`;
}
