import path from "node:path";
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

const agent: CommandSpec = {
  name: "agent",
  about: "make a new agent in agents/",
  examples: ["dure new agent mina"],
  worksOn: "folder",
  declare: (command) => command.argument("<id>", "Latin letters, digits, _ and -"),
  run:
    ({ output }) =>
    async (name: string, { dir }: CommonOptions) => {
      const { newAgent } = await import("../scaffold.ts");
      const { folder, names } = await newAgent(name, { folder: dir });
      const relative = path.relative(path.resolve(dir), folder);
      const { made: words } = output.words.admin;
      output.line(words.stands(names.title, `${relative}/`));
      const persona = `${relative}/SOUL.md`;
      const entry = `${JSON.stringify(names.name)}: { displayName: "…" }`;
      output.line(words.agent(persona, entry));
      output.result({ folder, name: names.name, title: names.title });

      return EXIT.ok;
    },
};

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
  commands: [service, agent, plan],
};
