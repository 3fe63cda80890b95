import { createServer } from "node:net";
import path from "node:path";
import { DureClient } from "../../client/index.ts";
import { systemClock, withTimeout } from "../../kernel/clock.ts";
import { isLoopbackName } from "../../server/names.ts";
import { readRunningServer } from "../../server/running-server.ts";
import type { LoadedTeam } from "../../team/config.ts";
import type { Environment } from "../../team/environment.ts";
import { settingsOf } from "../../team/limits.ts";
import type { Finding } from "./finding.ts";

/** Longest wait for what has the port, milliseconds. */
const SERVER_WAIT = 2_000;

export async function checkServerAddress(
  team: LoadedTeam,
  environment: Environment,
): Promise<Finding[]> {
  const settings = settingsOf(team.config, environment);
  const { host, port } = settings;
  const error = await tryToListen(host, port);
  const home = path.resolve(team.folder, settings.home);
  return [await portFinding({ host, port, error, home })];
}

/**
 * Whether a start would be refused for want of a token.
 * @param hasToken whether the database holds one; undefined: it could not be asked
 */
export function checkExposure(
  { config }: LoadedTeam,
  environment: Environment,
  hasToken: boolean | undefined,
): readonly Finding[] {
  const { host } = settingsOf(config, environment);
  if (isLoopbackName(host) || environment.token !== undefined || hasToken === true) return [];
  return [
    {
      name: "token",
      status: hasToken === undefined ? "warn" : "fail",
      detail: `${host} can be reached from outside and DURE_TOKEN is not set`,
      hint: "Without a token in DURE_TOKEN or the database the start is refused.",
    },
  ];
}

async function portFinding({
  host,
  port,
  error,
  home,
}: {
  readonly host: string;
  readonly port: number;
  readonly error: string | undefined;
  readonly home: string;
}): Promise<Finding> {
  const at = `${host}:${port}`;
  if (error === undefined) return { name: "port", status: "ok", detail: `${at} is free` };
  const taken = error === "EADDRINUSE" ? await serverAt(host, port) : undefined;
  const own = taken && (await readRunningServer(home));
  if (taken?.processId !== undefined && own?.processId === taken.processId) {
    return { name: "port", status: "ok", detail: `this team answers at ${at} already` };
  }
  const detail = taken?.processId
    ? `${at} belongs to the server of another team`
    : `${at} cannot be used (${error})`;
  const hint =
    error === "EADDRINUSE"
      ? "Set PORT to another one, or stop what has it."
      : "Set HOST or PORT to an address of this machine.";
  return { name: "port", status: "fail", detail, hint };
}

function tryToListen(host: string, port: number): Promise<string | undefined> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once("error", (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message));
    server.listen({ host, port, exclusive: true }, () => server.close(() => resolve(undefined)));
  });
}

/** What answers like a server of dure at an address; without a `processId` it is none. */
async function serverAt(
  host: string,
  port: number,
): Promise<{ readonly processId?: string | undefined } | undefined> {
  const baseUrl = `http://${host.includes(":") ? `[${host}]` : host}:${port}`;
  const late = (): Error => new Error(`no answer within ${SERVER_WAIT / 1_000} s`);
  try {
    return await withTimeout(systemClock, SERVER_WAIT, late, (signal) =>
      new DureClient({ baseUrl }).health({ signal }),
    );
  } catch {
    return undefined; // another program
  }
}
