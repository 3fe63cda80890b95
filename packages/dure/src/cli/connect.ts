import { readFileSync } from "node:fs";
import path from "node:path";
import type { DureClient, ReconnectOptions } from "../client/index.ts";
import { DureError, messageOf } from "../kernel/errors.ts";
import { isTeamFolder } from "../team/config-files.ts";
import type { Environment } from "../team/environment.ts";
import type { CommonOptions } from "./commands/command.ts";

/** The environment with what a `.env` file in the team's folder adds, and what is odd in it. */
export async function environmentOf(dir: string): Promise<Environment> {
  const { envFileWarnings, loadEnvFile, readEnvironment } = await import("../team/environment.ts");
  const file = loadEnvFile(path.resolve(dir));
  const environment = readEnvironment();
  const odd = file === undefined ? [] : envFileWarnings(readFileSync(file, "utf8"));
  return { ...environment, warnings: [...odd, ...environment.warnings] };
}

/** The data folder of the team in a folder. */
export async function homeOf(folder: string): Promise<string> {
  const { SETTINGS } = await import("../team/limits.ts");
  const { home = SETTINGS.home.fallback } = await environmentOf(folder);
  return path.resolve(folder, home);
}

interface ServerTarget {
  readonly baseUrl: string;
  readonly token: string | undefined;
  /** Set when the folder named the server: only this run of it will do. */
  readonly processId?: string | undefined;
}

/**
 * Where the server of these options answers: what `--url`, `DURE_URL` or `PORT` say, else the server
 * of the team in this folder. Throws `URL_INVALID`, `TEAM_NOT_FOUND`, `TEAM_NOT_RUNNING`.
 */
export async function serverOf(options: CommonOptions): Promise<ServerTarget> {
  const environment = await environmentOf(options.dir);
  const { token, port } = environment;
  const said = options.url ?? environment.serverUrl;
  if (said !== undefined) return { baseUrl: addressOf(said), token };
  if (port !== undefined && port !== 0) return { baseUrl: `http://127.0.0.1:${port}`, token };

  const folder = path.resolve(options.dir);
  const { readRunningServer } = await import("../server/running-server.ts");
  const running = await readRunningServer(await homeOf(folder));
  if (running !== undefined) {
    return { baseUrl: running.url, token, processId: running.processId };
  }

  throw isTeamFolder(folder)
    ? notRunning(folder, "no server of it has been started")
    : notFound(folder);
}

function addressOf(text: string): string {
  const baseUrl = text.replace(/\/+$/, "");
  if (/^https?:$/.test(URL.parse(baseUrl)?.protocol ?? "")) return baseUrl;

  throw new DureError("URL_INVALID", `"${text}" is no address of a server.`, {
    class: "input",
    hint: "Write it with its scheme, such as http://127.0.0.1:4600.",
  });
}

function notFound(folder: string): DureError {
  return new DureError("TEAM_NOT_FOUND", `There is no team in ${folder}.`, {
    class: "input",
    hint: "Go to its folder or name it with --dir, or say where a server runs: --url or DURE_URL.",
  });
}

function notRunning(folder: string, why: string): DureError {
  return new DureError("TEAM_NOT_RUNNING", `The team in ${folder} is not running: ${why}.`, {
    class: "unavailable",
    hint: "Start it with dure dev, or say where a server runs: --url or DURE_URL.",
  });
}

/**
 * A client for a server that answers. Throws as `serverOf` does, and `SERVER_UNREACHABLE` when
 * nothing answers at an address that was said.
 */
export async function connect(
  options: CommonOptions,
  reconnect?: ReconnectOptions,
): Promise<DureClient> {
  const { baseUrl, token, processId } = await serverOf(options);
  const { DureClient } = await import("../client/index.ts"); // a start needs none
  const client = new DureClient({ baseUrl, token, reconnect });

  try {
    const found = await client.health();
    if (processId !== undefined && found.processId !== processId) {
      throw notRunning(path.resolve(options.dir), `another server answers at ${baseUrl}`);
    }
    if (token !== undefined || !(await isLoginNeeded(client))) return client;
    return new DureClient({ baseUrl, token: await ownToken(baseUrl, options), reconnect });
  } catch (cause) {
    if (cause instanceof DureError) throw cause;
    if (processId !== undefined) {
      throw notRunning(path.resolve(options.dir), `nothing answers at ${baseUrl} any more`);
    }
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
async function ownToken(baseUrl: string, { dir }: CommonOptions): Promise<string | undefined> {
  const [{ isLoopbackName }, { readLocalToken }, { ownerOfListener }] = await Promise.all([
    import("../server/names.ts"),
    import("../server/local-token.ts"),
    import("../server/peer-owner.ts"),
  ]);

  const { hostname, port, protocol } = new URL(baseUrl);
  if (!isLoopbackName(hostname)) return undefined;

  const standardPort = protocol === "https:" ? 443 : 80;
  const owner = await ownerOfListener(Number(port || standardPort));
  if (owner === "other-user") return undefined;

  return readLocalToken(await homeOf(dir));
}

/** fetch says only "fetch failed"; the reason is in its cause. */
function reasonOf(error: unknown): string {
  const cause = error instanceof Error && error.cause !== undefined ? error.cause : error;
  return messageOf(cause) || ((cause as { code?: string }).code ?? "no reason given");
}
