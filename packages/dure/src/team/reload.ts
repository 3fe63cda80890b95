import { withOfflineModels } from "./offline-models.ts";
import path from "node:path";
import { isDeepStrictEqual } from "node:util";
import type { EngineDefinitions } from "../engine/engine.ts";
import { DureError, messageOf } from "../kernel/errors.ts";
import type { Logger } from "../kernel/logger.ts";
import type { Directory } from "../rooms/directory.ts";
import type { Rooms } from "../rooms/rooms.ts";
import { withAgentFile, type UnsavedFile } from "./agent-file.ts";
import { checkTeam, knownNames, loadTeam, type LoadedTeam, type TeamConfig } from "./config.ts";
import type { Environment } from "./environment.ts";
import { withFreshModules } from "./fresh-modules.ts";
import { kindOf } from "../channels/kinds.ts";
import { toolsOfAgents } from "./own-tools.ts";
import { directoryOf } from "./rooms.ts";

/** What a reload has done. */
export interface ReloadReport {
  /** Names of the services and ids of the agents that answer from now on. */
  readonly services: readonly string[];
  readonly agents: readonly string[];
  /** Keys of the configuration that have changed and stay as they were until a restart. */
  readonly restart: readonly string[];
}

/**
 * Keys that parts of a running team hold on to: connections, listening sockets, limits that rows
 * are counted against. All others are taken up by a reload.
 */
const RESTART_KEYS = [
  "locale",
  "timeZone",
  "rooms.adapters",
  "rooms.allowBots",
  "rooms.approvers",
  "rooms.roles",
  "rooms.stream",
  "rooms.sink",
  "jobs",
  "mcp",
  "knowledge",
  "hooks",
  "schedules",
  "repositories",
  "plans",
  "escalations",
  "limits",
  "budgets",
  "server",
  "database",
  "files",
  "retention",
] as const;

/**
 * Reads the configuration, agents, personas and services of a running team anew. Everything is
 * loaded and checked first; a mistake changes nothing. Turns that run finish on the definitions
 * with which they began; turns that begin afterwards have the new ones.
 */
export class Reloader {
  readonly #parts: ReloaderParts;
  #team: LoadedTeam;
  #last: Promise<unknown> = Promise.resolve();
  #mistake: string | undefined;

  constructor(parts: ReloaderParts) {
    this.#parts = parts;
    this.#team = parts.team;
  }

  /**
   * One after the other. Throws what `loadTeam` throws, and `RELOAD_IMPOSSIBLE` for a team that was
   * given in code.
   */
  reload(): Promise<ReloadReport> {
    return this.#inLine(async () => {
      try {
        const report = await this.#reload();
        this.#mistake = undefined;
        return report;
      } catch (error) {
        this.#mistake = messageOf(error);
        throw error;
      }
    });
  }

  /** Why the files as they were read last are not in force: with file and line. */
  get mistake(): string | undefined {
    return this.#mistake;
  }

  /**
   * Takes in one agent anew, from its files; nothing else is read. With `unsaved` that text goes
   * before the disk: it is checked, then `write` is called, then the agent has it. A mistake, or
   * what `write` throws, changes nothing.
   */
  takeIn(
    agent: string,
    { unsaved, write }: { unsaved?: UnsavedFile; write?: () => Promise<void> },
  ): Promise<void> {
    return this.#inLine(() => this.#takeIn(agent, unsaved, write));
  }

  /** What is in force, from a configuration file; undefined for a team that was given in code. */
  get configured(): TeamConfig | undefined {
    const { document, folder } = this.#team;
    return document && checkTeam(document, folder);
  }

  #inLine<Result>(work: () => Promise<Result>): Promise<Result> {
    const mine = this.#last.then(work);
    this.#last = mine.catch(() => {});

    return mine;
  }

  async #takeIn(
    id: string,
    unsaved: UnsavedFile | undefined,
    write: (() => Promise<void>) | undefined,
  ): Promise<void> {
    const { environment, directory, rooms, define, apply } = this.#parts;
    const given = this.configured?.agents?.[id];
    if (given === undefined || !directory) return;

    const { config, folder } = this.#team;
    const known = knownNames(this.#team);
    const own = path.join(folder, "agents", id);
    const agent = await withAgentFile(id, given, { folder: own, known, unsaved });
    const next = { ...config, agents: { ...config.agents, [id]: agent } };
    const tools = await toolsOfAgents(folder, next, this.#team.tools);
    const team = { ...this.#team, config: next, tools };
    const definitions = await define({ ...team, unsaved });
    const nextDirectory = directoryOf(team.config, environment);

    await write?.();
    if (nextDirectory) await rooms?.enrol(nextDirectory);
    apply(definitions);
    if (nextDirectory) directory.replace(nextDirectory);
    this.#team = team;
  }

  async #reload(): Promise<ReloadReport> {
    const { environment, directory, rooms, logger, define, apply } = this.#parts;
    const before = this.#team;

    if (!before.document) {
      throw new DureError(
        "RELOAD_IMPOSSIBLE",
        "This team was given in code; there are no files to read again.",
        { class: "conflict", hint: "Start it anew." },
      );
    }

    const team = await withFreshModules(before.folder, async () =>
      withOfflineModels(await loadTeam(before.folder), environment),
    );
    const next = directoryOf(team.config, environment);
    const isWithAgents = directory !== undefined && next !== undefined;

    // Agents come with rooms and jobs, which are there or not since the start.
    const inForce =
      (directory === undefined) === (next === undefined)
        ? team
        : { ...team, config: { ...team.config, agents: before.config.agents } };

    const definitions = await define(inForce);

    if (isWithAgents) await rooms?.enrol(next);
    apply(definitions);
    if (isWithAgents) directory.replace(next);
    rooms?.channelsChanged();
    this.#team = inForce;

    // What was named once and not restarted is named again: the running parts still are those of
    // the start.
    const report: ReloadReport = {
      services: definitions.services.map(({ name }) => name),
      agents: (isWithAgents ? next : directory)?.agents.map(({ id }) => id) ?? [],
      restart: needsRestart(this.#parts.team.config, team.config),
    };

    const { services, agents, restart } = report;
    const after = restart.length === 0 ? "" : `; a restart is needed for ${restart.join(", ")}`;

    logger.info(
      { ...report },
      `the team was read anew: ${services.length} services, ${agents.length} agents${after}`,
    );

    return report;
  }
}

export interface ReloaderParts {
  /** As it was started. */
  readonly team: LoadedTeam;
  readonly environment: Environment;
  /** Undefined: it was started without agents. */
  readonly directory: Directory | undefined;
  readonly rooms: Rooms | undefined;
  readonly logger: Logger;
  /** Checks and builds what conversations need; changes nothing. */
  readonly define: (team: LoadedTeam) => Promise<EngineDefinitions>;
  /** Cannot fail. */
  readonly apply: (definitions: EngineDefinitions) => void;
}

/** Keys that differ and are not taken up by a reload. Pure. */
export function needsRestart(started: TeamConfig, now: TeamConfig): readonly string[] {
  const keys = RESTART_KEYS.filter(
    (key) => !isDeepStrictEqual(valueAt(started, key), valueAt(now, key)),
  ) as string[];
  for (const name of adaptersOf(started)) {
    if (kindOf(name)?.isLocal) continue;
    if (isDeepStrictEqual(accountsOf(started, name), accountsOf(now, name))) continue;
    keys.push(`agents.*.accounts.${name}`);
  }

  // Rooms and jobs are there with the first agent.
  if (
    (Object.keys(started.agents ?? {}).length === 0) !==
    (Object.keys(now.agents ?? {}).length === 0)
  ) {
    keys.push("agents");
  }

  return keys;
}

/** By name: a kind of the team's own is another object after each reading. */
function adaptersOf({ rooms }: TeamConfig): readonly string[] {
  return (rooms?.adapters ?? []).map((choice) =>
    typeof choice === "string" ? choice : choice.name,
  );
}

function accountsOf({ agents = {} }: TeamConfig, adapter: string): unknown {
  return Object.entries(agents).map(([id, agent]) => [id, agent.accounts?.[adapter] ?? id]);
}

function valueAt(config: TeamConfig, key: string): unknown {
  if (key === "plans") {
    return config.plans && { ...config.plans, workers: Object.keys(config.plans.workers ?? {}) };
  }
  if (key === "rooms.adapters") return config.rooms?.adapters && adaptersOf(config);

  return key
    .split(".")
    .reduce<unknown>(
      (value, part) => (value as Record<string, unknown> | undefined)?.[part],
      config,
    );
}
