import path from "node:path";
import type { ExitCode } from "../output.ts";
import type { CommandGroup, CommandSpec, CommonOptions } from "./command.ts";
import { clientCommand } from "./command-input.ts";
import { repositoryFrom } from "./values.ts";
import { approve, log, retry, review, say, skip } from "./plan-ports.ts";
import {
  cancel,
  clean,
  diff,
  merge,
  pause,
  publish,
  resume,
  runs,
  status,
  undo,
  watch,
} from "./plan-runs.ts";

const list: CommandSpec = {
  name: "list",
  about: "plans in the team's folder plans",
  examples: ["dure plan list"],
  worksOn: "server",
  run: (context) => async (options: CommonOptions) => {
    const { listPlans } = await import("../plans.ts");
    const command = await clientCommand(context, options);

    return listPlans(command);
  },
};

const check: CommandSpec = {
  name: "check",
  about: "find problems of plans, without a server; exit code 1 when there are some",
  examples: ["dure plan check", "dure plan check login", "dure plan check plans/login.yaml --json"],
  worksOn: "folder",
  declare: (command) =>
    command
      .argument("[plan]", "a name or a file (default: all of plans/)")
      .option("--no-agents", "ask no agent whether it works here"),
  run:
    ({ output }) =>
    async (
      what: string | undefined,
      { dir, agents }: CommonOptions & { readonly agents: boolean },
    ) => {
      const { checkPlans } = await import("../plan-check.ts");
      return checkPlans(what, { folder: path.resolve(dir), output, agents });
    },
};

const show: CommandSpec = {
  name: "show",
  about:
    "a plan against its repository: levels, critical path, mode and why, files without an owner",
  examples: ["dure plan show login"],
  worksOn: "server",
  declare: (command) => command.argument("<name>"),
  run: (context) => async (name: string, options: CommonOptions) => {
    const { showPlan } = await import("../plans.ts");
    const command = await clientCommand(context, options);

    return showPlan(name, command);
  },
};

const draft: CommandSpec = {
  name: "draft",
  about: "let a model propose a plan; prints it, stores nothing",
  examples: ['dure plan draft "Sessions expire after 30 minutes" > plans/sessions.yaml'],
  worksOn: "server",
  declare: (command) =>
    command
      .argument("<goal>")
      .option(
        "--repo <path>",
        "the repository, by name or path (default: the team's)",
        repositoryFrom,
      ),
  run:
    (context) =>
    async (goal: string, { repo, ...options }: CommonOptions & { repo?: string }) => {
      const { draftPlan } = await import("../plans.ts");
      const command = await clientCommand(context, options);

      return draftPlan(goal, repo, command);
    },
};

interface FromOptions extends CommonOptions {
  readonly repo?: string;
  readonly out?: string;
  readonly ask: boolean;
}

const from: CommandSpec = {
  name: "from",
  about: "from words to a plan: a model drafts it, its file is written, you edit and start it",
  examples: [
    'dure plan from "Sessions expire after 30 minutes"',
    'dure plan from "Answer 429 after five failures" --out plans/limit.yaml --no-ask',
  ],
  worksOn: "server",
  declare: (command) =>
    command
      .argument("<words>", "what is to be there in the end")
      .option(
        "--repo <path>",
        "the repository, by name or path (default: the team's)",
        repositoryFrom,
      )
      .option("--out <file>", "where the plan goes (default: plans/, by its name)")
      .option("--no-ask", "ask nothing; take what the draft assumes"),
  run: (context) => async (goal: string, options: FromOptions) => {
    const { personAt } = await import("../person-at.ts");
    const { planFrom } = await import("../plan-from.ts");
    const { runPlan } = await import("../plans.ts");
    const command = await clientCommand(context, options);
    const { repo: repository, out } = options;
    const person = options.ask ? personAt(context.output) : undefined;
    const start = (file: string, text: string): Promise<ExitCode> => {
      person?.close();
      const how = { dryRun: false, follow: true, key: undefined };

      return runPlan({ file, text, repository }, how, command);
    };
    try {
      const wanted = { goal, repository, out, folder: path.resolve(options.dir) };
      return await planFrom(wanted, { ...command, ask: person?.ask, start });
    } finally {
      person?.close();
    }
  },
};

interface RunPlanOptions extends CommonOptions {
  readonly file?: string;
  readonly base?: string;
  readonly dryRun?: true;
  readonly only?: string[];
  readonly from?: string[];
  readonly repo?: string;
  readonly key?: string;
  readonly follow?: true;
}

const run: CommandSpec = {
  name: "run",
  about: "begin a run and print its id; with --follow exit code 1 unless it ends in success",
  examples: [
    "dure plan run login --dry-run",
    "dure plan run login --follow",
    "dure plan run login --only domain api",
    "dure plan run --file draft.yaml --base develop --follow",
  ],
  worksOn: "server",
  declare: (command) =>
    command
      .argument("[name]")
      .option(
        "--file <path>",
        "a plan that is no file of the team: its text is sent (-: what comes on standard input)",
      )
      .option("--base <ref>", "a branch, tag or commit to begin from (default: as the plan says)")
      .option("--dry-run", "begin nothing; say what would be done")
      .option("--only <ids...>", "only these ports and what they need")
      .option("--from <ids...>", "these ports and what needs them")
      .option(
        "--repo <path>",
        "the repository, by name or path (default: as the plan says, else the team's)",
        repositoryFrom,
      )
      .option("--key <key>", "the same key and request are the same run")
      .option("-f, --follow", "watch it to its end"),
  run: (context) => async (name: string | undefined, options: RunPlanOptions) => {
    const { file, base, dryRun, only, from, repo, key, follow } = options;
    const { planSource, runPlan } = await import("../plans.ts");
    const command = await clientCommand(context, options);

    return runPlan(
      { ...(await planSource(name, file)), base, only, from, repository: repo },
      { dryRun: dryRun ?? false, follow: follow ?? false, key },
      command,
    );
  },
};

export const PLAN: CommandGroup = {
  name: "plan",
  about: "check plans, run them, watch and steer their runs, take their results over",
  examples: ["dure plan check", "dure plan run login --follow", "dure plan merge run_01K…"],
  commands: [
    list,
    check,
    show,
    draft,
    from,
    run,
    runs,
    status,
    watch,
    pause,
    resume,
    cancel,
    retry,
    skip,
    log,
    clean,
    say,
    diff,
    review,
    approve,
    merge,
    undo,
    publish,
  ],
};
