import path from "node:path";
import { DURE_VERSION } from "../../team/version.ts";
import { EXIT } from "../output.ts";
import type { CommandGroup, CommandSpec, CommonOptions } from "./command.ts";

export const INIT: CommandSpec = {
  name: "init",
  about: "make a new team in a folder of its name",
  examples: ["dure init my-team && cd my-team && npx dure dev", "dure init 우리-팀"],
  declare: (command) => command.argument("<name>", "letters (한글 too), digits, spaces, _ and -"),
  run:
    ({ output }) =>
    async (name: string) => {
      const { findsDure, initTeam } = await import("../scaffold.ts");
      const { folder, names } = await initTeam(name, { folder: ".", version: DURE_VERSION });
      const relative = path.relative(process.cwd(), folder);
      output.line(`${names.title} stands in ${relative}/`);
      const install = findsDure(folder) ? "" : "npm install && ";
      output.line(`Next: cd ${relative} && ${install}npx dure dev`);
      output.result({ folder, name: names.name, title: names.title });

      return EXIT.ok;
    },
};

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
      output.line(`${names.title} stands in ${relative}/`);
      const entry = `${JSON.stringify(names.name)}: "./${relative.split(path.sep).join("/")}"`;
      output.line(`Next: add it to the team, services: { ${entry} }`);
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
      output.line(`${names.title} stands in ${relative}/`);
      const persona = `${relative}/SOUL.md`;
      const entry = `${JSON.stringify(names.name)}: { displayName: "…" }`;
      output.line(
        `Next: say who it is in ${persona}, and add it to the team, agents: { ${entry} }`,
      );
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
      output.line(`${made.name} stands in ${path.relative(process.cwd(), made.file)}`);
      output.line(
        `Next: say there what is to be done and who works, then: dure plan check ${made.name}`,
      );
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
