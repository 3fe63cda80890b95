import { LOCALES, type Locale } from "../../kernel/locales.ts";
import path from "node:path";
import { Option } from "commander";
import { terminalLocale } from "../../team/terminal.ts";
import { languageOf } from "../language.ts";
import { EXIT } from "../output.ts";
import type { CommandGroup, CommandSpec, CommonOptions } from "./command.ts";

const service: CommandSpec = {
  name: "service",
  about: "make a new service in services/",
  examples: ["dure new service faq"],
  worksOn: "folder",
  declare: (command) => command.argument("<name>", "letters (한글 too), digits, spaces, _ and -"),
  run:
    ({ output }) =>
    async (name: string, { dir }: CommonOptions) => {
      const { newService } = await import("../scaffold.ts");
      const { folder, names } = await newService(name, { folder: dir });
      const relative = path.relative(path.resolve(dir), folder);
      const { made: words } = output.words.admin;
      output.line(words.stands(names.title, `${relative}/`));
      const entry = `${JSON.stringify(names.name)}: "./${relative.split(path.sep).join("/")}"`;
      output.line(words.service(entry));
      output.result({ folder, name: names.name, title: names.title });

      return EXIT.ok;
    },
};

interface PartOptions extends CommonOptions {
  readonly locale?: Locale;
}

/** A part that is one file with words for people: in their language, with its next step. */
function partSpec(
  kind: "agent" | "tool" | "skill",
  { about, example, letters }: { about: string; example: string; letters: string },
): CommandSpec {
  return {
    name: kind,
    about,
    examples: [`dure new ${kind} ${example}`],
    worksOn: "folder",
    declare: (command) =>
      command
        .argument("<name>", letters)
        .addOption(new Option("--locale <language>", "its language").choices(LOCALES)),
    run:
      ({ output }) =>
      async (written: string, { dir, locale = languageOf(terminalLocale()) }: PartOptions) => {
        const { newAgent, newTool, newSkill } = await import("../scaffold.ts");
        const make = { agent: newAgent, tool: newTool, skill: newSkill }[kind];
        const { file, names } = await make(written, { folder: dir, locale });
        const shown = path.relative(path.resolve(dir), file).split(path.sep).join("/");
        const { made: words } = output.words.admin;
        output.line(words.stands(names.title, shown));
        output.line(words[kind](names.name));
        output.result({ file, name: names.name, title: names.title });

        return EXIT.ok;
      },
  };
}

const agent = partSpec("agent", {
  about: "make a new agent in agents/",
  example: "mina",
  letters: "Latin letters, digits, _ and -",
});

const tool = partSpec("tool", {
  about: "make a new tool in tools/",
  example: "open_ticket",
  letters: "Latin letters, digits and _",
});

const skill = partSpec("skill", {
  about: "make a new skill in skills/",
  example: "refunds",
  letters: "lower-case letters, digits and -",
});

const plan: CommandSpec = {
  name: "plan",
  about: "make a new plan in plans/",
  examples: ["dure new plan login"],
  worksOn: "folder",
  declare: (command) => command.argument("<name>", "Latin letters, digits, _ and -"),
  run:
    ({ output }) =>
    async (name: string, { dir }: CommonOptions) => {
      const { newPlan } = await import("../scaffold.ts");
      const made = await newPlan(name, { folder: dir });
      const { made: words } = output.words.admin;
      output.line(words.stands(made.name, path.relative(process.cwd(), made.file)));
      output.line(words.plan(made.name));
      output.result(made);

      return EXIT.ok;
    },
};

export const NEW: CommandGroup = {
  name: "new",
  about: "make a part of a team",
  examples: ["dure new service faq"],
  commands: [service, agent, tool, skill, plan],
};
