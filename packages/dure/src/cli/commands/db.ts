import type { CommandGroup, CommandSpec, CommonOptions } from "./command.ts";
import { folderCommand } from "./command-input.ts";

const migrate: CommandSpec = {
  name: "migrate",
  about: "bring the schema up to this version; a start does it too",
  examples: ["dure db migrate"],
  worksOn: "folder",
  run: (context) => async (options: CommonOptions) => {
    const { dbMigrate } = await import("../db.ts");
    const command = await folderCommand(context, options);
    return dbMigrate(command);
  },
};

const stats: CommandSpec = {
  name: "stats",
  about: "rows and size of each table",
  examples: ["dure db stats"],
  worksOn: "folder",
  run: (context) => async (options: CommonOptions) => {
    const { dbStats } = await import("../db.ts");
    const command = await folderCommand(context, options);
    return dbStats(command);
  },
};

const backup: CommandSpec = {
  name: "backup",
  about: "write everything into a file, also while the team runs",
  examples: ["dure db backup team.dure.gz"],
  worksOn: "folder",
  declare: (command) => command.argument("<file>"),
  run: (context) => async (file: string, options: CommonOptions) => {
    const { dbBackup } = await import("../db.ts");
    const command = await folderCommand(context, options);
    return dbBackup(file, command);
  },
};

const restore: CommandSpec = {
  name: "restore",
  about: "put a backup into the database of a stopped team",
  examples: ["dure db restore team.dure.gz"],
  worksOn: "folder",
  declare: (command) => command.argument("<file>").option("--replace", "replace what stands there"),
  run: (context) => async (file: string, options: CommonOptions & { replace?: true }) => {
    const { dbRestore } = await import("../db.ts");
    const command = await folderCommand(context, options);
    return dbRestore(file, { ...command, replace: options.replace ?? false });
  },
};

export const DB: CommandGroup = {
  name: "db",
  about: "migrate, measure, back up and restore the database",
  examples: ["dure db stats", "dure db backup team.dure.gz"],
  commands: [migrate, stats, backup, restore],
};
