import { mkdirSync, readdirSync, readFileSync, realpathSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import path from "node:path";
import type { Database } from "../durable/database.ts";
import type { EventLog } from "../durable/event-log.ts";
import type { Leases } from "../durable/leases.ts";
import type { Notifications } from "../durable/notify.ts";
import type { ProcessLease } from "../durable/processes.ts";
import type { BudgetKeeper } from "../engine/budgets.ts";
import { importModule } from "../engine/load-service.ts";
import type { Inbox } from "../escalations/inbox.ts";
import type { Clock } from "../kernel/clock.ts";
import { codeOf, DureError } from "../kernel/errors.ts";
import { ulid } from "../kernel/ids.ts";
import type { Logger } from "../kernel/logger.ts";
import { parseModelName, type Llm } from "../models/card.ts";
import type { Models } from "../models/models.ts";
import { paidModels, type Pay } from "../models/paid.ts";
import { draftPlan } from "../plans/draft.ts";
import { HookRequests } from "../plans/run/hook-requests.ts";
import { elsewhere } from "../plans/run/elsewhere.ts";
import { PlanDesk } from "../plans/run/plan-desk.ts";
import { Plans } from "../plans/run/plans.ts";
import type { PlanRun } from "../plans/run/run.ts";
import { runWork } from "../plans/run/work.ts";
import type { NetworkFacts } from "../plans/network-needs.ts";
import { targetOfUrl, type Target } from "../plans/sandbox/network.ts";
import { openSandbox, type Sandbox } from "../plans/sandbox/sandbox.ts";
import { openWorker } from "../plans/workers/open-worker.ts";
import { readOfflineScript, type OfflineScript } from "../plans/workers/offline-script.ts";
import { PlanThreads } from "../plans/threads/plan-threads.ts";
import { Git } from "../plans/workspace/git.ts";
import { Repository } from "../plans/workspace/repository.ts";
import { DURE_VERSION } from "./version.ts";
import type { LoadedTeam } from "./config.ts";

/** Plans of a team: the files in its folder `plans`, and their runs on this machine. */
export function openPlans(
  team: LoadedTeam,
  parts: {
    readonly database: Database;
    readonly notifications: Notifications;
    readonly events: EventLog;
    readonly lease: ProcessLease;
    readonly leases: Leases;
    readonly inbox: Inbox;
    readonly models: () => Models;
    /** `plans.remote` of the configuration. */
    readonly remote: string | undefined;
    /** `server.limits.planTime` of the configuration. */
    readonly planMs: number;
    /** The team's; what workers and drafts use counts. */
    readonly budgets: Pick<BudgetKeeper, "charge">;
    /** The team's model; it proposes plans, unless it is the one that only echoes. */
    readonly llm: Llm;
    readonly clock: Clock;
    readonly logger: Logger;
    /** Folder of dure's data. */
    readonly home: string;
    /** Everything that dure was started with; plans name what of it their workers get. */
    readonly env: Readonly<Record<string, string | undefined>>;
    /** Address of this process's server; undefined before it listens. */
    readonly url: () => string | undefined;
  },
): { desk: PlanDesk; plans: Plans; threads: PlanThreads } {
  const { clock, logger, home, env, database, notifications, events, lease, leases, inbox } = parts;
  const git = new Git({ env });
  const folder = path.join(team.folder, "plans");
  const sandboxes = new Map<string, Promise<Sandbox>>();
  // Namespaces of our own go before bubblewrap: the same protection, and several times faster.
  // docs/decisions/0007
  const sandbox = (
    wanted: "enforced" | "audit",
    { allowSecrets, signal }: { allowSecrets: readonly string[]; signal: AbortSignal },
  ): Promise<Sandbox> => {
    const key = [wanted, ...allowSecrets].join("\n");
    const open = async (): Promise<Sandbox> =>
      openSandbox({
        wanted,
        prefer: "namespaces",
        folder: path.join(home, "sandbox"),
        home: homedir(),
        allowSecrets,
        hidden: environmentFiles(team.folder),
        programs: (env["PATH"] ?? "").split(path.delimiter).filter(Boolean),
        network: { never: await neverReached(parts) },
        clock,
        logger,
        signal,
      });
    const known = sandboxes.get(key) ?? open();
    sandboxes.set(key, known);
    known.catch(() => sandboxes.delete(key));
    return known;
  };
  const host = hostOf(home, clock);
  const network: NetworkFacts = { team: team.config.plans?.network ?? {}, env };
  const plans: Plans = new Plans({
    database,
    notifications,
    events,
    lease,
    leases,
    inbox,
    clock,
    logger,
    home,
    host,
    elsewhere:
      parts.remote === undefined
        ? undefined
        : elsewhere({
            git,
            repository: team.folder,
            remote: parts.remote,
            env,
            home,
            host,
            plans: folder,
          }),
    resolveBase: async (repositoryFolder, base, { signal }) => {
      const repository = await Repository.open(repositoryFolder, { git, signal });
      return { commit: await repository.resolve(base, { signal }), repository: repository.root };
    },
    work: (about) =>
      runWork(
        {
          database,
          notifications,
          inbox,
          announce: () => events.announce(),
          clock,
          logger,
          git,
          home,
          processId: lease.id,
          sandbox,
          worker: (spec, run) =>
            openWorker(spec, {
              clock,
              model: {
                models: paidModels(
                  parts.models(),
                  payFor(run, parts.budgets, () => leases.confirm(`run:${run.id}`)),
                ),
              },
              script: (script) => scriptOf(run, script),
              version: DURE_VERSION,
            }),
          teamNetwork: network.team,
          userHome: homedir(),
          env,
          remote: parts.remote,
          hookUrl: () =>
            parts.url() === undefined ? undefined : `${parts.url()}/v1/hooks/test-feedback`,
        },
        about,
      ),
  });
  const { llm } = parts;
  const isEcho = llm.provider === "offline" && llm.model === parseModelName("offline").model;
  const threads = new PlanThreads({
    clock,
    limits: { taskMs: parts.planMs, waitMs: 2 * parts.planMs },
  });
  const desk = new PlanDesk({
    plans,
    threads,
    requests: new HookRequests({ database, notifications, inbox, clock }),
    git,
    folder,
    repository: team.folder,
    network,
    clock,
    importModule,
    draft: !isEcho
      ? (goal, files, { signal }) =>
          draftPlan(
            {
              models: paidModels(parts.models(), (request, model) =>
                parts.budgets.charge(
                  {
                    session: "plan.draft",
                    path: "plan.draft",
                    service: "plan.draft",
                    agent: "plan.draft",
                  },
                  request,
                  model,
                ),
              ),
              llm,
              clock,
              threads,
            },
            goal,
            files,
            { signal },
          )
      : undefined,
  });
  return { desk, plans, threads };
}

/**
 * Who works on a plan is one agent to the team's budgets; the plan's own bounds of money are the
 * run's and the port's.
 */
function payFor(
  run: PlanRun,
  budgets: Pick<BudgetKeeper, "charge">,
  confirm: () => Promise<void>,
): Pay {
  const agent = `plan:${run.plan.name}`;
  return async (request, model, { port = "", worker = run.id }) => {
    const ofPort = run.plan.ports.find(({ id }) => id === port)?.budget?.microUsd;
    const ofRun = run.plan.limits.budget?.microUsd;
    const bounds = [
      ...(ofPort === undefined ? [] : [{ scope: "port", path: `${run.id}/${port}`, most: ofPort }]),
      ...(ofRun === undefined ? [] : [{ scope: "run", path: run.id, most: ofRun }]),
    ];
    const charged = await budgets.charge(
      { session: run.id, path: worker, service: agent, agent, bounds },
      request,
      model,
    );
    // Directly before the call. What a process that has lost its run has reserved is given back
    // with its blocks.
    await confirm();
    return charged;
  };
}

/** Scripts stand beside the plan that names them. */
function scriptOf(run: PlanRun, script: string): OfflineScript {
  const file = path.resolve(path.dirname(run.file ?? "."), script);
  let text: string;
  try {
    text = readFileSync(file, "utf8");
  } catch (error) {
    throw new DureError(
      "OFFLINE_SCRIPT_MISSING",
      `The script ${file} of the offline worker cannot be read.`,
      { class: "input", hint: "Its path begins at the folder of the plan.", cause: error },
    );
  }
  return readOfflineScript(script, text);
}

/** Files from which dure itself takes its secrets; those are for dure alone. */
function environmentFiles(folder: string): readonly string[] {
  return readdirSync(folder)
    .filter((name) => /^\.env(?:\..*)?$/.test(name))
    .flatMap((name) => {
      try {
        return [realpathSync(path.join(folder, name))];
      } catch {
        return []; // a link to nothing
      }
    });
}

const DATABASE_ADDRESS = {
  name: "plan.database_address",
  text: "select host(inet_server_addr()) as host, inet_server_port() as port",
};

/**
 * What no worker reaches, whatever its policy: this server, and the database at the address that
 * dure was given and at the one where it is.
 */
async function neverReached({
  database,
  env,
  url,
}: Pick<Parameters<typeof openPlans>[1], "database" | "env" | "url">): Promise<
  () => readonly Target[]
> {
  const [found] = await database.query<{ host: string | null; port: number | null }>(
    DATABASE_ADDRESS,
  );
  const there =
    found && found.host !== null && found.port !== null
      ? [{ host: found.host, port: found.port }]
      : [];
  return () => [
    ...there,
    ...[env["DATABASE_URL"], url()].flatMap((address) => targetOfUrl(address ?? "") ?? []),
  ];
}

/** Names the folder of data, for every process that shares it; made when there is none. */
function hostOf(home: string, clock: Clock): string {
  mkdirSync(home, { recursive: true });
  const file = path.join(home, "host-id");
  try {
    writeFileSync(file, `host_${ulid(clock.now())}\n`, { flag: "wx" });
  } catch (error) {
    if (codeOf(error) !== "EEXIST") throw error;
  }
  return readFileSync(file, "utf8").trim();
}
