import { Option } from "commander";
import { EVENT_ROLES, type EventRole } from "../../kernel/platform-events.ts";
import { connect } from "../connect.ts";
import type { CommandSpec, CommonOptions, PageOptions } from "./command.ts";
import { optional, partsOfList, wholeNumber } from "./values.ts";

interface LogOptions extends CommonOptions {
  readonly follow?: true;
  readonly types?: string[];
  readonly session?: string;
  readonly job?: string;
  readonly role?: EventRole;
  readonly since?: string;
}

export const EVENTS: CommandSpec = {
  name: "events",
  about: "print the event log",
  examples: ["dure events --follow", "dure events --types 'turn.*' --session mina --json"],
  worksOn: "server",
  declare: (command) =>
    command
      .option("-f, --follow", "go on with what happens")
      .option("--types <list>", "types, or prefixes ending in .*, with commas between", partsOfList)
      .option("--session <id>", "only of this session")
      .option("--job <id>", "only of this job")
      .addOption(new Option("--role <role>", "only of this role").choices(EVENT_ROLES))
      .option("--since <position>", "continue behind this event's id"),
  run:
    ({ output }) =>
    async (options: LogOptions) => {
      const { follow, types, session, job, role, since } = options;
      const { showEvents } = await import("../events.ts");

      return showEvents({
        client: await connect(options),
        output,
        follow: follow ?? false,
        types,
        session,
        job,
        role,
        since,
      });
    },
};

interface AuditOptions extends CommonOptions, PageOptions {
  readonly what?: string;
  readonly name?: string;
  readonly subject?: string;
  readonly search?: string;
}

export const AUDIT: CommandSpec = {
  name: "audit",
  about: "who approved, cancelled, merged or changed what, newest first",
  examples: ["dure audit", "dure audit --what 'run.*' --name mina --json"],
  worksOn: "server",
  declare: (command) =>
    command
      .option("--what <deed>", "only this deed, or all of a kind: 'job.*'")
      .option("--name <name>", "only of this token, or of the person it was made for")
      .option("--subject <id>", "only what was done to this job, run, session …")
      .option("--search <text>", "only where this stands in one of them")
      .option("--limit <number>", "at most so many, 1 to 200 (default 50)")
      .option("--cursor <cursor>", "go on behind an earlier list"),
  run:
    ({ output }) =>
    async (options: AuditOptions) => {
      const { what, name, subject, search, limit, cursor } = options;
      const { listAudit } = await import("../audit.ts");
      const page = { limit: optional(limit, wholeNumber), cursor };
      const client = await connect(options);

      return listAudit({ what, name, subject, search, ...page }, { client, output });
    },
};
