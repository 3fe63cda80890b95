import type { Done } from "../../kernel/turn-events.ts";
import { fileResult, type GivenFile } from "../agent/file-result.ts";
import { logFailure } from "../log-failure.ts";
import { fileThere, filesThere } from "../remote/files-there.ts";
import type { RemoteService } from "../remote/remote-service.ts";
import type { TurnParts } from "./turn-parts.ts";

/**
 * Brings what a service on another server has made into the session here: its references mean
 * nothing here. A file that does not come is told in the log; the answer does not wait for it.
 */
export async function bringFiles(
  remote: RemoteService,
  done: Done,
  { files, held, environment, stop }: TurnParts,
): Promise<void> {
  const { clock, logger } = environment;
  const { signal } = stop;
  const maxBytes = environment.files.bounds.fileBytes;
  for (const there of remote.protocol === "dure" ? filesThere(done.files) : []) {
    const given: GivenFile[] = [];
    try {
      given.push(await fileThere(remote, there, { clock, signal, maxBytes }));
    } catch (error) {
      signal.throwIfAborted();
      const facts = { turn: held.turn, session: held.session, service: remote.name };
      logFailure(logger, "a file of a service on another server did not come", { error, facts });
    }
    const made = await files.keep(remote.name, fileResult(null, given), { signal });
    files.note({ status: "done", result: null, files: made });
  }
}
