import path from "node:path";
import { systemClock, withTimeout } from "../kernel/clock.ts";
import { DureError } from "../kernel/errors.ts";
import { SETTINGS } from "../team/limits.ts";
import { connect, environmentOf } from "./connect.ts";

/** What saved agents' files led to. */
export type TakenIn =
  | { readonly outcome: "in-force" }
  /** The team answers as before. */
  | { readonly outcome: "refused"; readonly message: string }
  /** No server that could take them in, or more has changed. */
  | { readonly outcome: "restart" };

/** Longest wait for the server, milliseconds; then the team is started anew. */
const PATIENCE_MS = 10_000;

/** Whether it is an agent's own file, of a skill, or the one that all agents read. Pure. */
export function isOfAgents(file: string): boolean {
  const name = file.split(path.sep).join("/");
  return /^(?:agents\/[^/]+\/(?:agent\.(?:yaml|md)|(?:SOUL|AGENTS|MEMORY)\.md)|skills\/.+|AGENTS\.md)$/.test(
    name,
  );
}

/**
 * Lets the server of this folder read its agents anew, as `dure reload` does: turns that run end
 * with what they began with. A mistake changes nothing.
 */
export async function takeIn(folder: string): Promise<TakenIn> {
  try {
    return await withTimeout(systemClock, PATIENCE_MS, tooLong, (signal) => reload(folder, signal));
  } catch (error) {
    if (!(error instanceof DureError) || error.class !== "input") return { outcome: "restart" };
    const message = [error.message, error.hint].filter(Boolean).join(" ");
    return { outcome: "refused", message };
  }
}

async function reload(folder: string, signal: AbortSignal): Promise<TakenIn> {
  const url = await ownServer(folder, signal);
  if (url === undefined) return { outcome: "restart" };
  const client = await connect({ dir: folder, url });
  const { restart } = await client.reload({ signal });

  return { outcome: restart.length === 0 ? "in-force" : "restart" };
}

function tooLong(): Error {
  return new Error("The server did not read its agents in time.");
}

/** The one that was started with this data folder, and not another one that `DURE_URL` names. */
async function ownServer(folder: string, signal: AbortSignal): Promise<string | undefined> {
  const home = path.resolve(folder, environmentOf(folder).home ?? SETTINGS.home.fallback);
  const [{ readRunningServer }, { DureClient }] = await Promise.all([
    import("../server/running-server.ts"),
    import("../client/index.ts"),
  ]);
  const known = await readRunningServer(home);
  if (known === undefined) return undefined;

  const { processId } = await new DureClient({ baseUrl: known.url }).health({ signal });
  return processId === known.processId ? known.url : undefined;
}
