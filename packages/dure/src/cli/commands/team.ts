import path from "node:path";
import { environmentOf } from "../connect.ts";
import type { CommandSpec, CommonOptions } from "./command.ts";

export const DEV: CommandSpec = {
  name: "dev",
  about: "start the team in dev mode, and again after every change",
  examples: ["dure dev", "PORT=4700 dure dev"],
  worksOn: "folder",
  run:
    ({ output }) =>
    async ({ dir }: CommonOptions) => {
      await environmentOf(dir);
      const { dev } = await import("../dev.ts");
      const folder = path.resolve(dir);
      const program = [process.argv[1]!, "start", "--dir", folder];
      if (output.json) program.push("--json");

      return dev({ folder, output, program });
    },
};

export const START: CommandSpec = {
  name: "start",
  about: "start the team: database, server, dashboard",
  examples: ["dure start", "HOST=0.0.0.0 DURE_TOKEN=… dure start"],
  worksOn: "folder",
  run:
    ({ output }) =>
    async ({ dir }: CommonOptions) => {
      const { start } = await import("../start.ts");
      return start({ folder: path.resolve(dir), environment: await environmentOf(dir), output });
    },
};

export const CHECK: CommandSpec = {
  name: "check",
  about: "find problems of a service, or of a team with all its services, without calling a model",
  examples: ["dure check services/faq", "dure check --json"],
  declare: (command) => command.argument("[dir]", "folder of a service or of a team", "."),
  run:
    ({ output }) =>
    async (dir: string) => {
      const { check } = await import("../check.ts");
      return check({ folder: dir, output });
    },
};

export const DOCTOR: CommandSpec = {
  name: "doctor",
  about: "check everything that a start needs",
  examples: ["dure doctor", "dure doctor --settings", "dure doctor --json"],
  worksOn: "folder",
  declare: (command) =>
    command.option("--settings", "also each setting, its value and where it comes from"),
  run:
    ({ output }) =>
    async ({ dir, settings = false }: CommonOptions & { settings?: boolean }) => {
      const { doctor } = await import("../doctor/doctor.ts");
      const environment = await environmentOf(dir);
      return doctor({ folder: path.resolve(dir), environment, output, settings });
    },
};
