import { Argument } from "commander";
import { completionScript } from "../completion.ts";
import { EXIT } from "../output.ts";
import type { CommandSpec } from "./command.ts";

export const COMPLETION: CommandSpec = {
  name: "completion",
  about: "print a script that completes commands in your shell",
  examples: [
    'eval "$(dure completion bash)"',
    "dure completion fish > ~/.config/fish/completions/dure.fish",
  ],
  declare: (command) => command.addArgument(new Argument("<shell>", "bash, zsh or fish")),
  run:
    ({ output, program }) =>
    async (shell: string) => {
      const script = completionScript(program, shell);
      output.write(script);
      output.result({ shell, script });

      return EXIT.ok;
    },
};
