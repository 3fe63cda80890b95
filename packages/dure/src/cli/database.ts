import { realpath } from "node:fs/promises";
import path from "node:path";
import { Database } from "../durable/database.ts";
import { connectionOf, readSettings } from "../durable/embedded/settings.ts";
import { silentLogger, type Logger } from "../kernel/logger.ts";
import { SETTINGS } from "../team/limits.ts";
import type { Environment } from "../team/environment.ts";

/** The team's database for a command, without starting the team. */
export interface CommandDatabase extends AsyncDisposable {
  readonly database: Database;
  /** Without the password. */
  readonly where: string;
}

/**
 * Opens DATABASE_URL, else the private PostgreSQL under DURE_HOME (joins a running one, starts it
 * otherwise).
 */
export async function openDatabase(options: {
  folder: string;
  environment: Environment;
  logger?: Logger;
}): Promise<CommandDatabase> {
  const { folder, environment, logger = silentLogger } = options;
  if (environment.databaseUrl !== undefined) return openGiven(environment.databaseUrl, logger);
  const { EmbeddedPostgres } = await import("../durable/embedded/embedded-postgres.ts");
  const home = path.resolve(folder, environment.home ?? SETTINGS.home.fallback);
  const server = await EmbeddedPostgres.start({ home, logger });
  try {
    const database = await Database.open({ ...commonOf(logger), connection: server.connection });
    return {
      database,
      where: `private PostgreSQL in ${home}`,
      async [Symbol.asyncDispose]() {
        await database.close();
        await server.stop();
      },
    };
  } catch (error) {
    await server.stop();
    throw error;
  }
}

/**
 * The same without a change on the disk: a private PostgreSQL that does not run stays as it is.
 * Then the answer says how things are with it.
 */
export async function lookAtDatabase({
  folder,
  environment,
}: {
  readonly folder: string;
  readonly environment: Environment;
}): Promise<CommandDatabase | { readonly database: undefined; readonly where: string }> {
  if (environment.databaseUrl !== undefined) {
    return openGiven(environment.databaseUrl, silentLogger);
  }
  const home = path.resolve(folder, environment.home ?? SETTINGS.home.fallback);
  const settings = await realpath(home)
    .then(readSettings)
    .catch(() => undefined);
  if (settings?.provisioned !== true) {
    return { database: undefined, where: `none yet; the first start makes one in ${home}` };
  }
  try {
    const connection = connectionOf(settings);
    const database = await Database.open({ ...commonOf(silentLogger), connection });
    return {
      database,
      where: `private PostgreSQL in ${home}`,
      [Symbol.asyncDispose]: () => database.close(),
    };
  } catch {
    return {
      database: undefined,
      where: `private PostgreSQL in ${home}, not running; a start brings it up`,
    };
  }
}

async function openGiven(url: string, logger: Logger): Promise<CommandDatabase> {
  const database = await Database.open({ ...commonOf(logger), url });
  const { hostname, port, pathname } = new URL(url);
  return {
    database,
    where: `${hostname}:${port || 5432}${pathname}`,
    [Symbol.asyncDispose]: () => database.close(),
  };
}

function commonOf(logger: Logger) {
  return { applicationName: `dure:cli-${process.pid}`, max: 4, logger };
}
