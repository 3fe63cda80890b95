import path from "node:path";
import { Argument, Command, CommanderError, Option } from "commander";
import {
  ESCALATION_SEVERITIES,
  ESCALATION_STATUSES,
  ESCALATION_TYPES,
} from "../kernel/escalation.ts";
import type { DureClient, EscalationsFilter, JobStatus, PlanRunStatus } from "../client/index.ts";
import { systemClock } from "../kernel/clock.ts";
import { durationMs } from "../kernel/duration.ts";
import { DureError, messageOf } from "../kernel/errors.ts";
import { ulid } from "../kernel/ids.ts";
import type { EventRole } from "../kernel/platform-events.ts";
import { isSet, loadEnvFile, readEnvironment, type Environment } from "../team/environment.ts";
import { SETTINGS } from "../team/limits.ts";
import { DURE_VERSION } from "../team/version.ts";
import { completionScript } from "./completion.ts";
import { EXIT, Output, type ExitCode, type Streams } from "./output.ts";

/**
 * The command line of dure. Commands hold no logic: they call the server, or, where there is none
 * to call (start, set-up, checks, the database itself), the part that does it. Returns the exit
 * code: 0 done, 1 failed, 2 asked or configured wrongly.
 */
export async function main(argv: readonly string[], streams: Streams = process): Promise<number> {
  const json = argv.includes("--json");
  const output = new Output({ streams, json, noColor: isSet("NO_COLOR") });
  let exitCode: number = EXIT.ok;
  const program = createProgram({ output, finish: (code) => (exitCode = code) });
  try {
    await program.parseAsync([...argv], { from: "user" });
    return exitCode;
  } catch (error) {
    if (error instanceof CommanderError) return settleCommander(error, output);
    return output.error(error);
  }
}

interface ProgramParts {
  readonly output: Output;
  readonly finish: (exitCode: number) => void;
}

/** Options that a command may have besides `--json`. */
interface Common {
  readonly dir: string;
  readonly url?: string;
}

/** All commands, for `main` and for whoever writes the reference. */
function createProgram({ output, finish }: ProgramParts): Command {
  const program = new Command("dure")
    .description("Runs durable teams of AI agents.")
    .version(DURE_VERSION, "-V, --version", "print the version")
    .helpCommand("help [command]", "show the help of a command")
    .showSuggestionAfterError(true)
    .addHelpText("after", examplesText(["dure init my-team", "dure dev", "dure chat"]))
    .exitOverride()
    .configureOutput({
      writeOut: (text) => void output.streams.stdout.write(text),
      writeErr: (text) => void (output.json || output.streams.stderr.write(text)),
      getOutHasColors: () => output.colors.isColorSupported,
      getErrHasColors: () => output.colors.isColorSupported,
    });

  /** A command that only holds others. */
  const group = (name: string, about: string, examples: readonly string[]): Command =>
    program
      .command(name)
      .description(about)
      .addHelpText("after", examplesText(examples))
      .copyInheritedSettings(program);
  const add = (
    parent: Command,
    name: string,
    about: string,
    examples: readonly string[],
  ): Command =>
    parent
      .command(name)
      .description(about)
      .option("--json", "print JSON in the spelling of the API")
      .addHelpText("after", examplesText(examples))
      .copyInheritedSettings(program);
  const inFolder = (command: Command): Command =>
    command.option("-C, --dir <folder>", "the team's folder", ".");
  const onServer = (command: Command): Command =>
    inFolder(command).option(
      "--url <address>",
      "the server (default: DURE_URL, else this machine's PORT)",
    );
  const run = (command: Command, action: (...values: never[]) => Promise<number>): Command =>
    command.action(async (...values: unknown[]) =>
      finish(await action(...(values.slice(0, -1) as never[]))),
    );

  // --- running a team

  run(
    inFolder(
      add(program, "dev", "start the team in dev mode, and again after every change", [
        "dure dev",
        "PORT=4700 dure dev",
      ]),
    ),
    async ({ dir }: Common) => {
      environmentOf(dir);
      const { dev } = await import("./dev.ts");
      return dev({
        folder: path.resolve(dir),
        output,
        program: [
          process.argv[1]!,
          "start",
          "--dir",
          path.resolve(dir),
          ...(output.json ? ["--json"] : []),
        ],
      });
    },
  );
  run(
    inFolder(
      add(program, "start", "start the team: database, server, dashboard", [
        "dure start",
        "HOST=0.0.0.0 DURE_TOKEN=… dure start",
      ]),
    ),
    async ({ dir }: Common) => {
      const { start } = await import("./start.ts");
      return start({ folder: path.resolve(dir), environment: environmentOf(dir), output });
    },
  );

  // --- set-up

  run(
    add(program, "init", "make a new team in a folder of its name", [
      "dure init my-team && cd my-team && npx dure dev",
      "dure init 우리-팀",
    ]).argument("<name>", "letters (한글 too), digits, spaces, _ and -"),
    async (name: string) => {
      const { findsDure, initTeam } = await import("./scaffold.ts");
      const { folder, names } = await initTeam(name, { folder: ".", version: DURE_VERSION });
      const relative = path.relative(process.cwd(), folder);
      output.line(`${names.title} stands in ${relative}/`);
      output.line(
        `Next: cd ${relative} && ${findsDure(folder) ? "" : "npm install && "}npx dure dev`,
      );
      output.result({ folder, name: names.name, title: names.title });
      return EXIT.ok;
    },
  );
  const create = group("new", "make a part of a team", ["dure new service faq"]);
  run(
    inFolder(
      add(create, "service", "make a new service in services/", ["dure new service faq"]),
    ).argument("<name>", "letters (한글 too), digits, spaces, _ and -"),
    async (name: string, { dir }: Common) => {
      const { newService } = await import("./scaffold.ts");
      const { folder, names } = await newService(name, { folder: dir });
      const relative = path.relative(path.resolve(dir), folder);
      output.line(`${names.title} stands in ${relative}/`);
      output.line(
        `Next: add it to the team, services: { ${JSON.stringify(names.name)}: "./${relative.split(path.sep).join("/")}" }`,
      );
      output.result({ folder, name: names.name, title: names.title });
      return EXIT.ok;
    },
  );
  run(
    inFolder(add(create, "agent", "make a new agent in agents/", ["dure new agent mina"])).argument(
      "<id>",
      "Latin letters, digits, _ and -",
    ),
    async (name: string, { dir }: Common) => {
      const { newAgent } = await import("./scaffold.ts");
      const { folder, names } = await newAgent(name, { folder: dir });
      const relative = path.relative(path.resolve(dir), folder);
      output.line(`${names.title} stands in ${relative}/`);
      output.line(
        `Next: say who it is in ${relative}/SOUL.md, and add it to the team, agents: { ${JSON.stringify(names.name)}: { displayName: "…" } }`,
      );
      output.result({ folder, name: names.name, title: names.title });
      return EXIT.ok;
    },
  );
  run(
    inFolder(add(create, "plan", "make a new plan in plans/", ["dure new plan login"])).argument(
      "<name>",
      "Latin letters, digits, _ and -",
    ),
    async (name: string, { dir }: Common) => {
      const { newPlan } = await import("./scaffold.ts");
      const made = await newPlan(name, { folder: dir });
      output.line(`${made.name} stands in ${path.relative(process.cwd(), made.file)}`);
      output.line(
        `Next: say there what is to be done and who works, then: dure plan check ${made.name}`,
      );
      output.result(made);
      return EXIT.ok;
    },
  );
  run(
    add(
      program,
      "check",
      "find problems of a service, or of a team with all its services, without calling a model",
      ["dure check services/faq", "dure check --json"],
    ).argument("[dir]", "folder of a service or of a team", "."),
    async (dir: string) => {
      const { check } = await import("./check.ts");
      return check({ folder: dir, output });
    },
  );
  run(
    inFolder(
      add(
        program,
        "doctor",
        "check everything that a start needs, and show where each limit comes from",
        ["dure doctor", "dure doctor --json"],
      ),
    ),
    async ({ dir }: Common) => {
      const { doctor } = await import("./doctor.ts");
      return doctor({ folder: path.resolve(dir), environment: environmentOf(dir), output });
    },
  );

  // --- talking to a running team

  run(
    onServer(
      add(program, "chat", "talk to a service", [
        "dure chat",
        'dure chat --service faq "How do I reset my password?"',
        'dure chat --json --session mina "안녕하세요"',
      ]),
    )
      .argument(
        "[message]",
        "send this, print the answer, leave; without it messages are read line by line",
      )
      .option("-s, --service <name>", "the service (default: the session's, else the team's first)")
      .option("--session <id>", "continue a session (default: a new one)"),
    async (
      message: string | undefined,
      options: Common & { service?: string; session?: string },
    ) => {
      const { assertSession, chatLoop, chatOnce } = await import("./chat.ts");
      const session = assertSession(options.session ?? `cli-${ulid()}`);
      const client = await connect(options);
      const chat = { client, output, session, service: options.service };
      return message === undefined ? chatLoop(chat) : chatOnce(message, chat);
    },
  );
  run(
    onServer(
      add(program, "login", "print a link that opens the page logged in, once, within 10 minutes", [
        "dure login",
        "dure login --json",
      ]),
    ),
    async (options: Common) => {
      const [{ baseUrl }, client] = [server(options), await connect(options)];
      const url = baseUrl + (await client.loginLink());
      output.line(url);
      output.result({ url });
      return EXIT.ok;
    },
  );
  run(
    onServer(
      add(
        program,
        "reload",
        "let the running server read configuration, agents, personas and services anew",
        ["dure reload", "dure reload --json"],
      ),
    ),
    async (options: Common) => {
      const { reload } = await import("./reload.ts");
      return reload({ client: await connect(options), output });
    },
  );
  run(
    onServer(
      add(program, "events", "print the event log", [
        "dure events --follow",
        "dure events --types 'turn.*' --session mina --json",
      ]),
    )
      .option("-f, --follow", "go on with what happens")
      .option("--types <list>", "types, or prefixes ending in .*, with commas between", list)
      .option("--session <id>", "only of this session")
      .option("--job <id>", "only of this job")
      .addOption(
        new Option("--role <role>", "only of this role").choices([
          "conversation",
          "delegation",
          "orchestration",
          "system",
        ]),
      )
      .option("--since <position>", "continue behind this event's id"),
    async ({
      follow,
      types,
      session,
      job,
      role,
      since,
      ...options
    }: Common & {
      follow?: true;
      types?: string[];
      session?: string;
      job?: string;
      role?: EventRole;
      since?: string;
    }) => {
      const { showEvents } = await import("./events.ts");
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
  );
  const rooms = group(
    "rooms",
    "see rooms and threads, speak in them, lift what a guard has stopped",
    ["dure rooms list", "dure rooms resume thread_01K…"],
  );
  const asPerson = (command: Command): Command =>
    onServer(command).option("--as <name>", "your name, on a server without tokens");
  const withRooms = async ({ as, ...options }: Common & { as?: string }) => ({
    ...(await import("./rooms.ts")),
    command: {
      client: await connect(options),
      output,
      person: server(options).token === undefined ? (as ?? "operator") : as,
    },
  });
  run(
    asPerson(
      add(rooms, "list", "channels, direct rooms and threads, with their state", [
        "dure rooms list",
        "dure rooms list --limit 200 --json",
      ]),
    )
      .option("--limit <number>", "at most so many, 1 to 200 (default 50)")
      .option("--cursor <cursor>", "go on behind an earlier list"),
    async ({
      limit,
      cursor,
      ...options
    }: Common & { as?: string; limit?: string; cursor?: string }) => {
      const { listRooms, command } = await withRooms(options);
      const { wholeNumber } = await import("./jobs.ts");
      return listRooms(
        { limit: limit === undefined ? undefined : wholeNumber(limit), cursor },
        command,
      );
    },
  );
  run(
    asPerson(
      add(rooms, "post", "say something in a room or thread", [
        'dure rooms post web:general "@루다 이것 확인해줘" --as 민준',
      ]),
    )
      .argument("<place>")
      .argument("<text>"),
    async (place: string, text: string, options: Common & { as?: string }) => {
      const { postMessage, command } = await withRooms(options);
      return postMessage(place, text, command);
    },
  );
  run(
    asPerson(
      add(rooms, "resume", "let agents speak again where a guard has stopped them", [
        "dure rooms resume thread_01K…",
      ]),
    ).argument("<place>"),
    async (place: string, options: Common & { as?: string }) => {
      const { resumePlace, command } = await withRooms(options);
      return resumePlace(place, command);
    },
  );
  const jobs = group("jobs", "see exchanges between agents, watch and steer them", [
    "dure jobs list --status RUNNING",
    "dure jobs watch job_01K…",
    'dure jobs ask ruda eden "When is the build done?"',
  ]);
  const withJobs = async (options: Common) => ({
    ...(await import("./jobs.ts")),
    command: { client: await connect(options), output },
  });
  run(
    onServer(
      add(jobs, "list", "jobs, newest first", [
        "dure jobs list",
        "dure jobs list --status FAILED --since 1h --json",
        "dure jobs list --root job_01K…",
      ]),
    )
      .addOption(
        new Option("--status <status>", "only in this status").choices([
          "PENDING",
          "RUNNING",
          "COMPLETED",
          "FAILED",
          "CANCELLED",
          "ABANDONED",
        ]),
      )
      .option("--agent <agent>", "only of this agent, as asking or as asked one")
      .option("--parent <id>", "only those that this job asked for")
      .option("--root <id>", "only those of the whole work that began with this job")
      .option("--since <duration>", "only those made within this time, such as 1h")
      .option("--limit <number>", "at most so many, 1 to 200 (default 50)")
      .option("--cursor <cursor>", "go on behind an earlier list"),
    async ({
      status,
      agent,
      parent,
      root,
      since,
      limit,
      cursor,
      ...options
    }: Common & {
      status?: JobStatus;
      agent?: string;
      parent?: string;
      root?: string;
      since?: string;
      limit?: string;
      cursor?: string;
    }) => {
      const { listJobs, wholeNumber, command } = await withJobs(options);
      return listJobs(
        {
          status,
          agent,
          parent,
          root,
          since,
          limit: limit === undefined ? undefined : wholeNumber(limit),
          cursor,
        },
        command,
      );
    },
  );
  run(
    onServer(
      add(jobs, "show", "one job: what was said, and how it ended", ["dure jobs show job_01K…"]),
    ).argument("<id>"),
    async (id: string, options: Common) => {
      const { showJob, command } = await withJobs(options);
      return showJob(id, command);
    },
  );
  run(
    onServer(
      add(jobs, "watch", "follow a job to its end; exit code 1 unless it completes", [
        "dure jobs watch job_01K…",
      ]),
    ).argument("<id>"),
    async (id: string, options: Common) => {
      const { watchJob, command } = await withJobs(options);
      return watchJob(id, command);
    },
  );
  run(
    onServer(
      add(jobs, "ask", "let one agent ask another, and print its answer", [
        'dure jobs ask ruda eden "When is the build done?"',
        'dure jobs ask ruda eden "Please review login.ts" --wait 0',
      ]),
    )
      .argument("<agent>", "in whose name")
      .argument("<target>", "who is asked")
      .argument("<message>")
      .option("--wait <seconds>", "wait so long for the answer, 0 to 300 (default 30)")
      .option("--max-turns <number>", "longest exchange")
      .option("--topic <topic>", "what it is about")
      .option("--conversation <id>", "go on with an earlier conversation")
      .option("--key <key>", "the same key and request are the same job"),
    async (
      agent: string,
      target: string,
      message: string,
      {
        wait,
        maxTurns,
        topic,
        conversation,
        key,
        ...options
      }: Common & {
        wait?: string;
        maxTurns?: string;
        topic?: string;
        conversation?: string;
        key?: string;
      },
    ) => {
      const { askJob, wholeNumber, command } = await withJobs(options);
      const [waitSec, most] = [wait, maxTurns].map((text) =>
        text === undefined ? undefined : wholeNumber(text),
      );
      return askJob(
        { agent, target, message, waitSec, maxTurns: most, topic, conversationId: conversation },
        key,
        command,
      );
    },
  );
  run(
    onServer(
      add(jobs, "cancel", "cancel a job and all that it asked for", ["dure jobs cancel job_01K…"]),
    ).argument("<id>"),
    async (id: string, options: Common) => {
      const { cancelJob, command } = await withJobs(options);
      return cancelJob(id, command);
    },
  );
  run(
    onServer(
      add(jobs, "retry", "start a job that did not succeed anew, behind its finished turns", [
        "dure jobs retry job_01K…",
      ]),
    ).argument("<id>"),
    async (id: string, options: Common) => {
      const { retryJob, command } = await withJobs(options);
      return retryJob(id, command);
    },
  );
  run(
    asPerson(
      add(jobs, "speak", "say something that the next turn hears, before what the agents say", [
        'dure jobs speak job_01K… "Not on Friday." --as 민준',
      ]),
    )
      .argument("<id>")
      .argument("<text>"),
    async (id: string, text: string, { as, ...options }: Common & { as?: string }) => {
      const { speakIntoJob, command } = await withJobs(options);
      return speakIntoJob(id, text, { ...command, person: as });
    },
  );
  run(
    onServer(
      add(jobs, "purge", "remove finished jobs that are older", [
        "dure jobs purge --older-than 7d",
      ]),
    ).requiredOption("--older-than <duration>", "such as 7d"),
    async ({ olderThan, ...options }: Common & { olderThan: string }) => {
      const { purgeJobs, command } = await withJobs(options);
      return purgeJobs(olderThan, command);
    },
  );
  run(
    onServer(
      add(jobs, "audit", "jobs that someone should look at; exit code 1 when there are some", [
        "dure jobs audit",
        "dure jobs audit --stuck 30m",
      ]),
    ).option("--stuck <duration>", "without progress for this long is stuck (default 10m)"),
    async ({ stuck, ...options }: Common & { stuck?: string }) => {
      const { auditJobs, command } = await withJobs(options);
      return auditJobs({ stuck }, command);
    },
  );

  const plan = group(
    "plan",
    "check plans, run them, watch and steer their runs, take their results over",
    ["dure plan check", "dure plan run login --follow", "dure plan merge run_01K…"],
  );
  const withPlans = async (options: Common) => ({
    ...(await import("./plans.ts")),
    command: { client: await connect(options), output },
  });
  run(
    onServer(add(plan, "list", "plans in the team's folder plans", ["dure plan list"])),
    async (options: Common) => {
      const { listPlans, command } = await withPlans(options);
      return listPlans(command);
    },
  );
  run(
    inFolder(
      add(
        plan,
        "check",
        "find problems of plans, without a server; exit code 1 when there are some",
        ["dure plan check", "dure plan check login", "dure plan check plans/login.yaml --json"],
      ),
    ).argument("[plan]", "a name or a file (default: all of plans/)"),
    async (what: string | undefined, { dir }: Common) => {
      const { checkPlans } = await import("./plan-check.ts");
      return checkPlans(what, { folder: path.resolve(dir), output });
    },
  );
  run(
    onServer(
      add(
        plan,
        "show",
        "a plan against its repository: levels, critical path, mode and why, files without an owner",
        ["dure plan show login"],
      ),
    ).argument("<name>"),
    async (name: string, options: Common) => {
      const { showPlan, command } = await withPlans(options);
      return showPlan(name, command);
    },
  );
  run(
    onServer(
      add(plan, "draft", "let a model propose a plan; prints it, stores nothing", [
        'dure plan draft "Sessions expire after 30 minutes" > plans/sessions.yaml',
      ]),
    )
      .argument("<goal>")
      .option("--repo <path>", "the repository (default: the team's folder)"),
    async (goal: string, { repo, ...options }: Common & { repo?: string }) => {
      const { draftPlan, command } = await withPlans(options);
      return draftPlan(goal, repo, command);
    },
  );
  run(
    onServer(
      add(
        plan,
        "run",
        "begin a run and print its id; with --follow exit code 1 unless it ends in success",
        [
          "dure plan run login --dry-run",
          "dure plan run login --follow",
          "dure plan run login --only domain api",
          "dure plan run --file draft.yaml --base develop --follow",
        ],
      ),
    )
      .argument("[name]")
      .option(
        "--file <path>",
        "a plan that is no file of the team: its text is sent (-: what comes on standard input)",
      )
      .option("--base <ref>", "a branch, tag or commit to begin from (default: as the plan says)")
      .option("--dry-run", "begin nothing; say what would be done")
      .option("--only <ids...>", "only these ports and what they need")
      .option("--from <ids...>", "these ports and what needs them")
      .option("--repo <path>", "the repository (default: as the plan says, else the team's folder)")
      .option("--key <key>", "the same key and request are the same run")
      .option("-f, --follow", "watch it to its end"),
    async (
      name: string | undefined,
      {
        file,
        base,
        dryRun,
        only,
        from,
        repo,
        key,
        follow,
        ...options
      }: Common & {
        file?: string;
        base?: string;
        dryRun?: true;
        only?: string[];
        from?: string[];
        repo?: string;
        key?: string;
        follow?: true;
      },
    ) => {
      const { planSource, runPlan, command } = await withPlans(options);
      return runPlan(
        { ...(await planSource(name, file)), base, only, from, repository: repo },
        { dryRun: dryRun ?? false, follow: follow ?? false, key },
        command,
      );
    },
  );
  run(
    onServer(
      add(plan, "runs", "runs, newest first", [
        "dure plan runs",
        "dure plan runs --plan login --status running",
      ]),
    )
      .option("--plan <name>", "only of this plan")
      .addOption(
        new Option("--status <status>", "only in this status").choices([
          "running",
          "paused",
          "cancelling",
          "waiting_host",
          "success",
          "partial",
          "failed",
          "cancelled",
        ]),
      )
      .option("--limit <number>", "at most so many, 1 to 200 (default 50)")
      .option("--cursor <cursor>", "go on behind an earlier list"),
    async ({
      plan: ofPlan,
      status,
      limit,
      cursor,
      ...options
    }: Common & { plan?: string; status?: PlanRunStatus; limit?: string; cursor?: string }) => {
      const { listRuns, command } = await withPlans(options);
      const { wholeNumber } = await import("./jobs.ts");
      return listRuns(
        {
          plan: ofPlan,
          status,
          limit: limit === undefined ? undefined : wholeNumber(limit),
          cursor,
        },
        command,
      );
    },
  );
  run(
    onServer(
      add(
        plan,
        "status",
        "how a run stands; exit code 1 when it has ended otherwise than in success",
        ["dure plan status run_01K…", "dure plan status run_01K… api"],
      ),
    )
      .argument("<run>")
      .argument("[port]", "one port, try by try"),
    async (id: string, port: string | undefined, options: Common) => {
      const { showPort, showRun, command } = await withPlans(options);
      return port === undefined ? showRun(id, command) : showPort(id, port, command);
    },
  );
  run(
    onServer(
      add(plan, "watch", "follow a run to its end; exit code 1 unless that is success", [
        "dure plan watch run_01K…",
      ]),
    ).argument("<run>"),
    async (id: string, options: Common) => {
      const { watchRun, command } = await withPlans(options);
      return watchRun(id, command);
    },
  );
  run(
    onServer(
      add(plan, "pause", "start no more ports; what works goes on", ["dure plan pause run_01K…"]),
    ).argument("<run>"),
    async (id: string, options: Common) => {
      const { pauseRun, command } = await withPlans(options);
      return pauseRun(id, command);
    },
  );
  run(
    onServer(
      add(plan, "resume", "go on with a paused run", ["dure plan resume run_01K…"]),
    ).argument("<run>"),
    async (id: string, options: Common) => {
      const { resumeRun, command } = await withPlans(options);
      return resumeRun(id, command);
    },
  );
  run(
    onServer(
      add(plan, "cancel", "end a run; its workers are stopped, what they made is kept", [
        "dure plan cancel run_01K…",
      ]),
    ).argument("<run>"),
    async (id: string, options: Common) => {
      const { cancelRun, command } = await withPlans(options);
      return cancelRun(id, command);
    },
  );
  run(
    onServer(
      add(
        plan,
        "retry",
        "give a failed port another try; what needs it goes on then. Without a port: merge an ended run again, or give a run more tokens",
        [
          "dure plan retry run_01K… api --hint 'The clock is mocked in the tests.'",
          "dure plan retry run_01K… api --tokens 50000 --time 20m",
          "dure plan retry run_01K… api --by orchestrator",
          "dure plan retry run_01K…",
          "dure plan retry run_01K… --tokens 200000",
        ],
      ),
    )
      .argument("<run>")
      .argument("[port]")
      .option("--hint <text>", "told to the next try")
      .option("--tries <number>", "so many tries more (default 1)")
      .addOption(
        new Option("--by <who>", "who tries (default: its pair)").choices(["pair", "orchestrator"]),
      )
      .option("--tokens <number>", "so many tokens more")
      .option("--time <duration>", "so much time more, such as 20m"),
    async (
      id: string,
      port: string | undefined,
      {
        hint,
        tries,
        by,
        tokens,
        time,
        ...options
      }: Common & {
        hint?: string;
        tries?: string;
        by?: "pair" | "orchestrator";
        tokens?: string;
        time?: string;
      },
    ) => {
      const { retryPort, retryRun, command } = await withPlans(options);
      const { wholeNumber } = await import("./jobs.ts");
      const number = (text: string | undefined): number | undefined =>
        text === undefined ? undefined : wholeNumber(text);
      if (port === undefined) {
        return retryRun(id, { hint, tries, by, time, tokens: number(tokens) }, command);
      }
      return retryPort(
        id,
        port,
        {
          hint,
          tries: number(tries),
          by,
          tokens: number(tokens),
          timeMs: time === undefined ? undefined : durationMs(time),
        },
        command,
      );
    },
  );
  run(
    onServer(
      add(plan, "skip", "go on without a port; one that works is stopped", [
        "dure plan skip run_01K… api",
      ]),
    )
      .argument("<run>")
      .argument("<port>"),
    async (id: string, port: string, options: Common) => {
      const { skipPort, command } = await withPlans(options);
      return skipPort(id, port, command);
    },
  );
  run(
    onServer(
      add(
        plan,
        "clean",
        "remove files and refs of ended runs; branches and history stay, and so does what is on no branch",
        [
          "dure plan clean --dry-run",
          "dure plan clean --older-than 30d",
          "dure plan clean run_01K… --force",
        ],
      ),
    )
      .argument("[run]", "this one alone, however old")
      .option("--older-than <duration>", "those that ended longer ago (default: 7d)")
      .option("--force", "what is on no branch, or in no commit, goes too")
      .option("--dry-run", "remove nothing; say what would be done"),
    async (
      id: string | undefined,
      {
        olderThan,
        force,
        dryRun,
        ...options
      }: Common & { olderThan?: string; force?: boolean; dryRun?: boolean },
    ) => {
      const { cleanRuns, command } = await withPlans(options);
      return cleanRuns(
        {
          run: id,
          olderThanMs: olderThan === undefined ? undefined : durationMs(olderThan),
          force,
          dryRun,
        },
        command,
      );
    },
  );
  run(
    onServer(
      add(plan, "say", "tell a member of a port's pair something", [
        "dure plan say run_01K… api 'Leave the old route alone.'",
        "dure plan say run_01K… api 'Test 429 too.' --to tester",
      ]),
    )
      .argument("<run>")
      .argument("<port>")
      .argument("<text>")
      .addOption(
        new Option("--to <member>", "who hears it")
          .choices(["implementer", "tester"])
          .default("implementer"),
      ),
    async (
      id: string,
      port: string,
      text: string,
      { to, ...options }: Common & { to: "implementer" | "tester" },
    ) => {
      const { sayToPort, command } = await withPlans(options);
      return sayToPort(id, port, { to, text }, command);
    },
  );
  run(
    onServer(
      add(plan, "diff", "what the result of a run changes, or one port so far, as a patch", [
        "dure plan diff run_01K…",
        "dure plan diff run_01K… api | less",
      ]),
    )
      .argument("<run>")
      .argument("[port]"),
    async (id: string, port: string | undefined, options: Common) => {
      const { showDiff, command } = await withPlans(options);
      return showDiff(id, port, command);
    },
  );
  run(
    onServer(
      add(plan, "merge", "take the result of a run over into a branch of your repository", [
        "dure plan merge run_01K…",
        "dure plan merge run_01K… --into develop",
      ]),
    )
      .argument("<run>")
      .option(
        "--into <branch>",
        "the branch (default: the plan's base, else the one you stand at)",
      ),
    async (id: string, { into, ...options }: Common & { into?: string }) => {
      const { mergeRun, command } = await withPlans(options);
      return mergeRun(id, into, command);
    },
  );
  const hook = group("hook", "what tools call from inside of a worker of a plan", [
    "my-tests --json | dure hook test-feedback",
  ]);
  run(
    add(
      hook,
      "test-feedback",
      "hand a report of tests (JSON on standard input) to the loop of the worker; prints {decision, notifications}",
      ["my-tests --json | dure hook test-feedback"],
    ),
    async () => {
      const { hookUrl, hookToken, hookSocket } = readEnvironment();
      const { sendTestFeedback } = await import("../plans/workers/hook-client.ts");
      await sendTestFeedback({
        url: hookUrl,
        token: hookToken,
        socket: hookSocket,
        stdin: output.streams.stdin,
        stdout: output.streams.stdout,
        clock: systemClock,
      });
      return EXIT.ok;
    },
  );
  run(
    add(hook, "ask", "ask the other member of the worker's pair, and print the answer", [
      'dure hook ask "Is the amount in cents?"',
    ]).argument("<question>"),
    async (question: string) => {
      const { hookUrl, hookToken, hookSocket } = readEnvironment();
      const { askPartner } = await import("../plans/workers/hook-client.ts");
      output.write(
        `${await askPartner({ url: hookUrl, token: hookToken, socket: hookSocket, question, clock: systemClock })}\n`,
      );
      return EXIT.ok;
    },
  );
  run(
    add(
      hook,
      "request-access",
      "ask the operator for a path that the worker may not use; prints {granted, note}",
      ['dure hook request-access src/types.ts --why "The amount is declared there."'],
    )
      .argument("<path>", "a file or folder, from the root of the repository")
      .option("--own", "to write it, not only to read it")
      .requiredOption("--why <reason>", "told to the operator"),
    async (wanted: string, { own, why }: Common & { own?: boolean; why: string }) => {
      const { hookUrl, hookToken, hookSocket } = readEnvironment();
      const { requestPath } = await import("../plans/workers/hook-client.ts");
      output.write(
        `${JSON.stringify(await requestPath({ url: hookUrl, token: hookToken, socket: hookSocket, request: { path: wanted, wants: own ? "own" : "read", why }, clock: systemClock }))}\n`,
      );
      return EXIT.ok;
    },
  );

  const escalations = group("escalations", "see what waits for a decision, and decide it", [
    "dure escalations list",
    "dure escalations answer escalation_01K… approve",
  ]);
  const withEscalations = async (options: Common) => ({
    ...(await import("./escalations.ts")),
    command: { client: await connect(options), output },
  });
  run(
    onServer(
      add(escalations, "list", "what waits for a decision, the most severe first", [
        "dure escalations list",
        "dure escalations list --severity critical",
        "dure escalations list --status resolved --json",
      ]),
    )
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
    async ({
      status,
      severity,
      type,
      run: ofRun,
      port,
      job,
      room,
      session,
      cursor,
      ...options
    }: Common & EscalationsFilter) => {
      const { listEscalations, command } = await withEscalations(options);
      return listEscalations(
        { status, severity, type, run: ofRun, port, job, room, session, cursor },
        command,
      );
    },
  );
  run(
    onServer(
      add(escalations, "show", "one escalation with all that is known of it", [
        "dure escalations show escalation_01K…",
      ]),
    ).argument("<id>"),
    async (id: string, options: Common) => {
      const { showEscalation, command } = await withEscalations(options);
      return showEscalation(id, command);
    },
  );
  run(
    onServer(
      add(escalations, "answer", "decide with one of the suggested values", [
        "dure escalations answer escalation_01K… approve",
        "dure escalations answer escalation_01K… retry --note 'The clock is mocked in the tests.'",
      ]),
    )
      .argument("<id>")
      .argument("<value>")
      .option("--note <text>", "a hint or a reason that goes with it"),
    async (id: string, value: string, { note, ...options }: Common & { note?: string }) => {
      const { answerEscalation, command } = await withEscalations(options);
      return answerEscalation(id, { value, note }, command);
    },
  );
  run(
    onServer(
      add(escalations, "dismiss", "close one that nobody will decide", [
        "dure escalations dismiss escalation_01K…",
      ]),
    )
      .argument("<id>")
      .option("--note <text>", "the reason"),
    async (id: string, { note, ...options }: Common & { note?: string }) => {
      const { dismissEscalation, command } = await withEscalations(options);
      return dismissEscalation(id, note, command);
    },
  );
  run(
    onServer(
      add(escalations, "watch", "what waits, then what comes and how it is decided", [
        "dure escalations watch",
        "dure escalations watch --json",
      ]),
    ),
    async (options: Common) => {
      const { watchEscalations, command } = await withEscalations(options);
      return watchEscalations(command);
    },
  );
  run(
    onServer(
      add(program, "audit", "who approved, cancelled, merged or changed what, newest first", [
        "dure audit",
        "dure audit --what 'run.*' --name mina --json",
      ]),
    )
      .option("--what <deed>", "only this deed, or all of a kind: 'job.*'")
      .option("--name <name>", "only of this token, or of the person it was made for")
      .option("--subject <id>", "only what was done to this job, run, session …")
      .option("--search <text>", "only where this stands in one of them")
      .option("--limit <number>", "at most so many, 1 to 200 (default 50)")
      .option("--cursor <cursor>", "go on behind an earlier list"),
    async ({
      what,
      name,
      subject,
      search,
      limit,
      cursor,
      ...options
    }: Common & {
      what?: string;
      name?: string;
      subject?: string;
      search?: string;
      limit?: string;
      cursor?: string;
    }) => {
      const [{ listAudit }, { wholeNumber }] = await Promise.all([
        import("./audit.ts"),
        import("./jobs.ts"),
      ]);
      return listAudit(
        {
          what,
          name,
          subject,
          search,
          limit: limit === undefined ? undefined : wholeNumber(limit),
          cursor,
        },
        { client: await connect(options), output },
      );
    },
  );
  const token = group("token", "create, list and revoke tokens", [
    "dure token create dashboard --scopes chat",
  ]);
  const withTokens = async ({ dir }: Common) => ({
    ...(await import("./tokens.ts")),
    command: { folder: path.resolve(dir), environment: environmentOf(dir), output },
  });
  run(
    inFolder(
      add(token, "create", "make a token; it is shown once", [
        "dure token create dashboard --scopes chat",
        "dure token create mina --scopes chat,rooms --tenant acme",
      ]),
    )
      .argument("<name>", "for people: whose token it is")
      .option(
        "--scopes <list>",
        "chat, rooms, jobs, plans (or plans:read, plans:run), admin, with commas between",
        list,
        ["chat"],
      )
      .option("--tenant <tenant>", "owner of what is created with it"),
    async (
      name: string,
      { scopes, tenant, ...options }: Common & { scopes: string[]; tenant?: string },
    ) => {
      const { createToken, command } = await withTokens(options);
      return createToken({ name, scopes, tenant }, command);
    },
  );
  run(
    inFolder(add(token, "list", "list tokens; never their text", ["dure token list"])),
    async (options: Common) => {
      const { listTokens, command } = await withTokens(options);
      return listTokens(command);
    },
  );
  run(
    inFolder(add(token, "revoke", "end a token", ["dure token revoke token_01K…"])).argument(
      "<id>",
      "from dure token list",
    ),
    async (id: string, options: Common) => {
      const { revokeToken, command } = await withTokens(options);
      return revokeToken(id, command);
    },
  );
  run(
    inFolder(
      add(token, "sessions", "list the browsers that are logged in, or end one", [
        "dure token sessions",
        "dure token sessions --end login_01K…",
      ]),
    ).option("--end <id>", "end this login"),
    async ({ end, ...options }: Common & { end?: string }) => {
      const { endSession, listSessions, command } = await withTokens(options);
      return end === undefined ? listSessions(command) : endSession(end, command);
    },
  );

  // --- the database

  const db = group("db", "migrate, measure, back up and restore the database", [
    "dure db stats",
    "dure db backup team.dure.gz",
  ]);
  const withDb = async ({ dir }: Common) => ({
    ...(await import("./db.ts")),
    command: { folder: path.resolve(dir), environment: environmentOf(dir), output },
  });
  run(
    inFolder(
      add(db, "migrate", "bring the schema up to this version; a start does it too", [
        "dure db migrate",
      ]),
    ),
    async (options: Common) => {
      const { dbMigrate, command } = await withDb(options);
      return dbMigrate(command);
    },
  );
  run(
    inFolder(add(db, "stats", "rows and size of each table", ["dure db stats"])),
    async (options: Common) => {
      const { dbStats, command } = await withDb(options);
      return dbStats(command);
    },
  );
  run(
    inFolder(
      add(db, "backup", "write everything into a file, also while the team runs", [
        "dure db backup team.dure.gz",
      ]),
    ).argument("<file>"),
    async (file: string, options: Common) => {
      const { dbBackup, command } = await withDb(options);
      return dbBackup(file, command);
    },
  );
  run(
    inFolder(
      add(db, "restore", "put a backup into the database of a stopped team", [
        "dure db restore team.dure.gz",
      ]),
    )
      .argument("<file>")
      .option("--replace", "replace what stands there"),
    async (file: string, options: Common & { replace?: true }) => {
      const { dbRestore, command } = await withDb(options);
      return dbRestore(file, { ...command, replace: options.replace ?? false });
    },
  );

  run(
    add(program, "completion", "print a script that completes commands in your shell", [
      'eval "$(dure completion bash)"',
      "dure completion fish > ~/.config/fish/completions/dure.fish",
    ]).addArgument(new Argument("<shell>", "bash, zsh or fish")),
    async (shell: string) => {
      const script = completionScript(program, shell);
      output.write(script);
      output.result({ shell, script });
      return EXIT.ok;
    },
  );
  return program;
}

function examplesText(examples: readonly string[]): string {
  return `\n${examples.length === 1 ? "Example" : "Examples"}:\n${examples.map((example) => `  $ ${example}`).join("\n")}`;
}

/** The environment with what a `.env` file in the team's folder adds. */
function environmentOf(dir: string): Environment {
  loadEnvFile(path.resolve(dir));
  return readEnvironment();
}

function server(options: Common): { baseUrl: string; token: string | undefined } {
  const environment = environmentOf(options.dir);
  const baseUrl = (
    options.url ??
    environment.serverUrl ??
    `http://127.0.0.1:${environment.port ?? SETTINGS.port.fallback}`
  ).replace(/\/+$/, "");
  if (!/^https?:$/.test(URL.parse(baseUrl)?.protocol ?? "")) {
    throw new DureError("URL_INVALID", `"${options.url}" is no address of a server.`, {
      class: "input",
      hint: "Write it with its scheme, such as http://127.0.0.1:4600.",
    });
  }
  return { baseUrl, token: environment.token };
}

/** A client for a server that answers. Throws `SERVER_UNREACHABLE`. */
async function connect(options: Common): Promise<DureClient> {
  const { baseUrl, token } = server(options);
  const { DureClient } = await import("../client/index.ts"); // a start needs none
  const client = new DureClient({ baseUrl, token });
  try {
    await client.health();
    if (token !== undefined || !(await isLoginNeeded(client))) return client;
    return new DureClient({ baseUrl, token: await ownToken(baseUrl, options) });
  } catch (cause) {
    if (cause instanceof DureError) throw cause;
    throw new DureError(
      "SERVER_UNREACHABLE",
      `Nothing answers at ${baseUrl}: ${reasonOf(cause)}.`,
      {
        class: "unavailable",
        hint: "Start the team (dure dev), or say where it runs: --url or DURE_URL.",
        cause,
      },
    );
  }
}

async function isLoginNeeded(client: DureClient): Promise<boolean> {
  try {
    await client.me();
    return false;
  } catch (error) {
    return error instanceof DureError && error.class === "unauthorized";
  }
}

/**
 * The token in the team's data folder, for a server at this machine that asks for one and is not
 * another user's program.
 */
async function ownToken(baseUrl: string, { dir }: Common): Promise<string | undefined> {
  const [{ isLoopbackName }, { readLocalToken }, { ownerOfListener }] = await Promise.all([
    import("../server/names.ts"),
    import("../server/local-token.ts"),
    import("../server/peer-owner.ts"),
  ]);
  const { hostname, port, protocol } = new URL(baseUrl);
  if (!isLoopbackName(hostname)) return undefined;
  if (
    (await ownerOfListener(Number(port || (protocol === "https:" ? 443 : 80)))) === "other-user"
  ) {
    return undefined;
  }
  return readLocalToken(path.resolve(dir, environmentOf(dir).home ?? SETTINGS.home.fallback));
}

/** fetch says only "fetch failed"; the reason is in its cause. */
function reasonOf(error: unknown): string {
  const cause = error instanceof Error && error.cause !== undefined ? error.cause : error;
  return messageOf(cause) || ((cause as { code?: string }).code ?? "no reason given");
}

function list(text: string): string[] {
  return text
    .split(",")
    .map((part) => part.trim())
    .filter((part) => part !== "");
}

/** Help and version are no errors; everything else is a wrong usage. */
function settleCommander(error: CommanderError, output: Output): ExitCode {
  if (error.exitCode === 0) return EXIT.ok;
  if (output.json) {
    output.error(
      new DureError(
        "USAGE",
        error.message
          .replace(/^error: /, "")
          .replace(/\s*\n\s*/g, " ")
          .replace(/\.?$/, "."),
        { class: "input", hint: "dure help shows the commands, dure help COMMAND its options." },
      ),
    );
  }
  return EXIT.usage;
}
