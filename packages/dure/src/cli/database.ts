import path from "node:path";
import { Database } from "../durable/database.ts";
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
  const common = { applicationName: `dure:cli-${process.pid}`, max: 4, logger };

  if (environment.databaseUrl !== undefined) {
    const database = await Database.open({ ...common, url: environment.databaseUrl });
    const { hostname, port, pathname } = new URL(environment.databaseUrl);
    return {
      database,
      where: `${hostname}:${port || 5432}${pathname}`,
      [Symbol.asyncDispose]: () => database.close(),
    };
  }

  const { EmbeddedPostgres } = await import("../durable/embedded/embedded-postgres.ts");
  const home = path.resolve(folder, environment.home ?? SETTINGS.home.fallback);
  const server = await EmbeddedPostgres.start({ home, logger });

  try {
    const database = await Database.open({ ...common, connection: server.connection });
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
