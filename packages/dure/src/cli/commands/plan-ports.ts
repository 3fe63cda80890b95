/** Commands of `dure plan` that steer one port of a run. */
import { Option } from "commander";
import { durationMs } from "../../kernel/duration.ts";
import { MEMBERS, type Member } from "../../kernel/plans.ts";
import type { CommandSpec, CommonOptions } from "./command.ts";
import { clientCommand } from "./command-input.ts";
import { optional, wholeNumber } from "./values.ts";

interface RetryPortOptions extends CommonOptions {
  readonly hint?: string;
  readonly tries?: string;
  readonly by?: "pair" | "orchestrator";
  readonly tokens?: string;
  readonly calls?: string;
  readonly time?: string;
}

export const retry: CommandSpec = {
  name: "retry",
  about:
    "give a failed port another try; what needs it goes on then. " +
    "Without a port: merge an ended run again, or give a run more tokens or calls",
  examples: [
    "dure plan retry run_01K… api --hint 'The clock is mocked in the tests.'",
    "dure plan retry run_01K… api --tokens 50000 --time 20m",
    "dure plan retry run_01K… api --by orchestrator",
    "dure plan retry run_01K…",
    "dure plan retry run_01K… --tokens 200000",
    "dure plan retry run_01K… --calls 500",
  ],
  worksOn: "server",
  declare: (command) =>
    command
      .argument("<run>")
      .argument("[port]")
      .option("--hint <text>", "told to the next try")
      .option("--tries <number>", "so many tries more (default 1)")
      .addOption(
        new Option("--by <who>", "who tries (default: its pair)").choices(["pair", "orchestrator"]),
      )
      .option("--tokens <number>", "so many tokens more")
      .option("--calls <number>", "so many calls of models more, for the whole run")
      .option("--time <duration>", "so much time more, such as 20m"),
  run: (context) => async (id: string, port: string | undefined, options: RetryPortOptions) => {
    const { hint, by, time } = options;
    const { retryPort, retryRun } = await import("../plan-orders.ts");
    const command = await clientCommand(context, options);
    const tokens = optional(options.tokens, wholeNumber);
    const calls = optional(options.calls, wholeNumber);
    if (port === undefined) {
      return retryRun(id, { hint, tries: options.tries, by, time, tokens, calls }, command);
    }

    const tries = optional(options.tries, wholeNumber);
    const timeMs = optional(time, durationMs);

    return retryPort(id, port, { hint, tries, by, tokens, calls, timeMs }, command);
  },
};

export const skip: CommandSpec = {
  name: "skip",
  about: "go on without a port; one that works is stopped",
  examples: ["dure plan skip run_01K… api"],
  worksOn: "server",
  declare: (command) => command.argument("<run>").argument("<port>"),
  run: (context) => async (id: string, port: string, options: CommonOptions) => {
    const { skipPort } = await import("../plan-orders.ts");
    const command = await clientCommand(context, options);

    return skipPort(id, port, command);
  },
};

interface PortLogOptions extends CommonOptions {
  readonly member?: Member;
  readonly search?: string;
}

export const log: CommandSpec = {
  name: "log",
  about: "what the workers of a port thought, said and did",
  examples: [
    "dure plan log run_01K… api",
    "dure plan log run_01K… api --member tester --search 429",
    "dure plan log run_01K… orchestrator --json",
  ],
  worksOn: "server",
  declare: (command) =>
    command
      .argument("<run>")
      .argument("<port>")
      .addOption(new Option("--member <member>", "one member alone").choices(MEMBERS))
      .option("--search <text>", "lines that hold these words"),
  run: (context) => async (id: string, port: string, options: PortLogOptions) => {
    const { member, search } = options;
    const { showTranscript } = await import("../plan-log.ts");
    const command = await clientCommand(context, options);

    return showTranscript(id, port, { member, search }, command);
  },
};

interface ReviewOptions extends CommonOptions {
  readonly at?: string;
  readonly say?: string;
  readonly send?: boolean | string;
}

export const review: CommandSpec = {
  name: "review",
  about: "look at what a port changed, comment on it, and send it back for another try",
  examples: [
    "dure plan review run_01K…",
    "dure plan review run_01K… api",
    "dure plan review run_01K… api --at src/api/login.ts:12 --say 'Name the number.'",
    "dure plan review run_01K… api --send 'Fine but for these.'",
  ],
  worksOn: "server",
  declare: (command) =>
    command
      .argument("<run>")
      .argument("[port]")
      .option("--at <place>", "comment on FILE or FILE:LINE; it waits until it is sent")
      .option("--say <text>", "the comment")
      .option("--send [text]", "send what waits: the port has another try, which is told it"),
  run: (context) => async (id: string, port: string | undefined, options: ReviewOptions) => {
    const { at, say: text, send } = options;
    const { reviewPort, reviewRun } = await import("../plan-review.ts");
    const command = await clientCommand(context, options);
    if (port === undefined) return reviewRun(id, command);

    return reviewPort(id, port, { at, say: text, send }, command);
  },
};

export const approve: CommandSpec = {
  name: "approve",
  about:
    "approve the work of a port that waits for you (gate: person). Without a port: the result of a run, before it is merged",
  examples: ["dure plan approve run_01K… api", "dure plan approve run_01K…"],
  worksOn: "server",
  declare: (command) =>
    command
      .argument("<run>")
      .argument("[port]")
      .option("--commit <id>", "the result that you looked at (default: as it is now)"),
  run:
    (context) =>
    async (id: string, port: string | undefined, { commit, ...options }: ApproveOptions) => {
      const { approvePort, approveRun } = await import("../plan-review.ts");
      const command = await clientCommand(context, options);

      return port === undefined ? approveRun(id, commit, command) : approvePort(id, port, command);
    },
};

interface ApproveOptions extends CommonOptions {
  readonly commit?: string;
}

interface SayOptions extends CommonOptions {
  readonly to: Member;
  readonly wait?: boolean;
}

export const say: CommandSpec = {
  name: "say",
  about: "tell a member of a port something; `plan status RUN PORT` shows whether it was read",
  examples: [
    "dure plan say run_01K… api 'Leave the old route alone.'",
    "dure plan say run_01K… api 'Test 429 too.' --to tester --wait",
  ],
  worksOn: "server",
  declare: (command) =>
    command
      .argument("<run>")
      .argument("<port>")
      .argument("<text>")
      .addOption(
        new Option("--to <member>", "who reads it").choices(MEMBERS).default("implementer"),
      )
      .option("--wait", "until it was read, or can be no more"),
  run:
    (context) =>
    async (id: string, port: string, text: string, { to, wait, ...options }: SayOptions) => {
      const { sayToPort } = await import("../plan-say.ts");
      const command = await clientCommand(context, options);

      return sayToPort({ run: id, port }, { to, text }, { ...command, wait });
    },
};
