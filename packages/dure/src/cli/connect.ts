import path from "node:path";
import type { DureClient } from "../client/index.ts";
import { DureError, messageOf } from "../kernel/errors.ts";
import { loadEnvFile, readEnvironment, type Environment } from "../team/environment.ts";
import { SETTINGS } from "../team/limits.ts";
import type { CommonOptions } from "./commands/command.ts";

/** The environment with what a `.env` file in the team's folder adds. */
export function environmentOf(dir: string): Environment {
  loadEnvFile(path.resolve(dir));
  return readEnvironment();
}

/** Where the server of these options answers. Throws `URL_INVALID`. */
export function serverOf(options: CommonOptions): { baseUrl: string; token: string | undefined } {
  const environment = environmentOf(options.dir);
  const ownUrl = `http://127.0.0.1:${environment.port ?? SETTINGS.port.fallback}`;
  const wanted = options.url ?? environment.serverUrl ?? ownUrl;
  const baseUrl = wanted.replace(/\/+$/, "");
  if (!/^https?:$/.test(URL.parse(baseUrl)?.protocol ?? "")) {
    throw new DureError("URL_INVALID", `"${options.url}" is no address of a server.`, {
      class: "input",
      hint: "Write it with its scheme, such as http://127.0.0.1:4600.",
    });
  }
  return { baseUrl, token: environment.token };
}

/** A client for a server that answers. Throws `SERVER_UNREACHABLE`. */
export async function connect(options: CommonOptions): Promise<DureClient> {
  const { baseUrl, token } = serverOf(options);
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

  const home = environmentOf(dir).home ?? SETTINGS.home.fallback;
  return readLocalToken(path.resolve(dir, home));
}

/** fetch says only "fetch failed"; the reason is in its cause. */
function reasonOf(error: unknown): string {
  const cause = error instanceof Error && error.cause !== undefined ? error.cause : error;
  return messageOf(cause) || ((cause as { code?: string }).code ?? "no reason given");
}
