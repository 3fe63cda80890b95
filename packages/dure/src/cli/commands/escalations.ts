import { Option } from "commander";
import type { EscalationsFilter } from "../../client/index.ts";
import {
  ESCALATION_SEVERITIES,
  ESCALATION_STATUSES,
  ESCALATION_TYPES,
} from "../../kernel/escalation.ts";
import type { CommandGroup, CommandSpec, CommonOptions } from "./command.ts";
import { clientCommand } from "./command-input.ts";
import { jsonObject, optional } from "./values.ts";

const list: CommandSpec = {
  name: "list",
  about: "what waits for a decision, the most severe first",
  examples: [
    "dure escalations list",
    "dure escalations list --severity critical",
    "dure escalations list --status resolved --json",
  ],
  worksOn: "server",
  declare: (command) =>
    command
      .addOption(
        new Option("--status <status>", "only in this status")
          .choices(ESCALATION_STATUSES)
          .default("open"),
      )
      .addOption(
        new Option("--severity <severity>", "only of this severity").choices(ESCALATION_SEVERITIES),
      )
      .addOption(new Option("--type <type>", "only of this type").choices(ESCALATION_TYPES))
      .option("--run <id>", "only of this plan run")
      .option("--port <id>", "only of this port of a plan")
      .option("--job <id>", "only of this job")
      .option("--room <id>", "only of this room")
      .option("--session <id>", "only of this conversation")
      .option("--cursor <cursor>", "go on where the list before ended"),
  run: (context) => async (options: CommonOptions & EscalationsFilter) => {
    const { status, severity, type, run, port, job, room, session, cursor } = options;
    const { listEscalations } = await import("../escalations.ts");
    const command = await clientCommand(context, options);

    return listEscalations(
      { status, severity, type, run, port, job, room, session, cursor },
      command,
    );
  },
};

const show: CommandSpec = {
  name: "show",
  about: "one escalation with all that is known of it",
  examples: ["dure escalations show escalation_01K…"],
  worksOn: "server",
  declare: (command) => command.argument("<id>"),
  run: (context) => async (id: string, options: CommonOptions) => {
    const { showEscalation } = await import("../escalations.ts");
    const command = await clientCommand(context, options);
    return showEscalation(id, command);
  },
};

interface EscalationOptions {
  readonly note?: string;
  readonly input?: string;
}

const answer: CommandSpec = {
  name: "answer",
  about: "decide with one of the suggested values",
  examples: [
    "dure escalations answer escalation_01K… approve",
    "dure escalations answer escalation_01K… retry --note 'The clock is mocked in the tests.'",
    `dure escalations answer escalation_01K… approve --input '{"to":"Hong","amount":30000}'`,
  ],
  worksOn: "server",
  declare: (command) =>
    command
      .argument("<id>")
      .argument("<value>")
      .option("--note <text>", "a hint or a reason that goes with it")
      .option("--input <json>", "other arguments for the call that it allows"),
  run: (context) => async (id: string, value: string, given: CommonOptions & EscalationOptions) => {
    const { note, input, ...options } = given;
    const { answerEscalation } = await import("../escalations.ts");
    const command = await clientCommand(context, options);
    return answerEscalation(id, { value, note, input: optional(input, jsonObject) }, command);
  },
};

const dismiss: CommandSpec = {
  name: "dismiss",
  about: "close one that needs no decision",
  examples: ["dure escalations dismiss escalation_01K…"],
  worksOn: "server",
  declare: (command) => command.argument("<id>").option("--note <text>", "the reason"),
  run:
    (context) =>
    async (id: string, { note, ...options }: CommonOptions & { note?: string }) => {
      const { dismissEscalation } = await import("../escalations.ts");
      const command = await clientCommand(context, options);
      return dismissEscalation(id, note, command);
    },
};

const watch: CommandSpec = {
  name: "watch",
  about: "what waits, then what comes and how it is decided",
  examples: ["dure escalations watch", "dure escalations watch --json"],
  worksOn: "server",
  run: (context) => async (options: CommonOptions) => {
    const { watchEscalations } = await import("../escalations.ts");
    const command = await clientCommand(context, options);
    return watchEscalations(command);
  },
};

export const ESCALATIONS: CommandGroup = {
  name: "escalations",
  about: "see what waits for a decision, and decide it",
  examples: ["dure escalations list", "dure escalations answer escalation_01K… approve"],
  commands: [list, show, answer, dismiss, watch],
};
