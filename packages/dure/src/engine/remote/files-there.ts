import { z } from "zod";
import { withTimeout, type Clock } from "../../kernel/clock.ts";
import { DureError } from "../../kernel/errors.ts";
import { fetchAtOrigin } from "../../kernel/fetch-at-origin.ts";
import { MAX_MESSAGE_FILES } from "../../kernel/files.ts";
import type { GivenFile } from "../agent/file-result.ts";
import { readBounded } from "../openapi/read-bounded.ts";
import type { RemoteService } from "./remote-service.ts";

/** Milliseconds for the bytes of one file. */
const WITHIN_MS = 60_000;

/** What another server says of a file. Its id becomes a part of an address. */
const FileThere = z.object({
  id: z.string().regex(/^file_[0-9A-Za-z]{1,60}$/u),
  name: z.string().max(500),
});

export type FileThere = z.output<typeof FileThere>;

/** The files that the `DONE` of another server names. What cannot be read is left out. Pure. */
export function filesThere(given: unknown): readonly FileThere[] {
  if (!Array.isArray(given)) return [];
  return given.slice(0, MAX_MESSAGE_FILES).flatMap((one): readonly FileThere[] => {
    const read = FileThere.safeParse(one);
    return read.success ? [read.data] : [];
  });
}

/** The bytes of a file there. Throws `REMOTE_FILE_FAILED`. */
export async function fileThere(
  remote: RemoteService,
  { id, name }: FileThere,
  options: { readonly clock: Clock; readonly signal: AbortSignal; readonly maxBytes: number },
): Promise<GivenFile> {
  const { clock, signal, maxBytes } = options;
  const failed = (why: string): DureError => notBrought(remote, name, why);
  const late = (): DureError => failed(`nothing came within ${WITHIN_MS} ms`);
  return withTimeout(clock, { ms: WITHIN_MS, signal }, late, async (within) => {
    const answer = await fetchAtOrigin(`${remote.url}/v1/agent/files/${id}`, {
      headers: remote.headers(),
      signal: within,
    });
    if (!answer.ok) {
      await answer.body?.cancel();
      throw failed(`it answered ${answer.status}`);
    }
    const { bytes, isCut } = await readBounded(answer, maxBytes);
    if (isCut) throw failed(`it has more than ${maxBytes} bytes`);
    return { name, bytes };
  });
}

function notBrought({ name: remote }: RemoteService, file: string, why: string): DureError {
  return new DureError("REMOTE_FILE_FAILED", `${remote} did not give ${file}: ${why}.`, {
    class: "unavailable",
    hint: "Look whether its token has the scope chat, and whether files.store there has it.",
  });
}
