import { readdirSync, realpathSync } from "node:fs";
import { homedir } from "node:os";
import path from "node:path";
import type { Database } from "../durable/database.ts";
import type { Clock } from "../kernel/clock.ts";
import type { Logger } from "../kernel/logger.ts";
import { targetOfUrl, type NetworkTarget } from "../plans/sandbox/network.ts";
import { openSandbox, type OpenSandboxOptions, type Sandbox } from "../plans/sandbox/sandbox.ts";

/** What the processes of one worker may take and see of the machine; undefined: the default. */
export type WorkerBounds = Pick<
  OpenSandboxOptions,
  "memoryBytes" | "cpus" | "diskBytes" | "filesByModes"
>;

interface SandboxParts {
  readonly database: Database;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Folder of dure's data. */
  readonly home: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly bounds: WorkerBounds;
  /** Address of this process's server; undefined before it listens. */
  readonly url: () => string | undefined;
}

/** The sandboxes of a team's workers, one of each kind. */
export class PlanSandboxes {
  readonly #team: string;
  readonly #parts: SandboxParts;
  readonly #opened = new Map<string, Promise<Sandbox>>();

  constructor(team: string, parts: SandboxParts) {
    this.#team = team;
    this.#parts = parts;
  }

  open(
    wanted: "enforced" | "audit",
    { allowSecrets, signal }: { allowSecrets: readonly string[]; signal: AbortSignal },
  ): Promise<Sandbox> {
    const key = [wanted, ...allowSecrets].join("\n");
    const opened = this.#opened.get(key) ?? this.#open(wanted, allowSecrets, signal);
    this.#opened.set(key, opened);
    opened.catch(() => this.#opened.delete(key));

    return opened;
  }

  /**
   * Namespaces of our own go before bubblewrap: the same protection, and
   * several times faster. docs/decisions/0007
   */
  async #open(
    wanted: "enforced" | "audit",
    allowSecrets: readonly string[],
    signal: AbortSignal,
  ): Promise<Sandbox> {
    const { clock, logger, home, env, bounds } = this.#parts;
    return openSandbox({
      wanted,
      prefer: "namespaces",
      folder: path.join(home, "sandbox"),
      home: homedir(),
      allowSecrets,
      hidden: environmentFiles(this.#team),
      programs: (env["PATH"] ?? "").split(path.delimiter).filter(Boolean),
      network: { never: await neverReached(this.#parts) },
      ...bounds,
      clock,
      logger,
      signal,
    });
  }
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
 * What no worker reaches, whatever its policy: this server, and the database at
 * the address that dure was given and at the one where it is.
 */
async function neverReached({
  database,
  env,
  url,
}: Pick<SandboxParts, "database" | "env" | "url">): Promise<() => readonly NetworkTarget[]> {
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
