import { randomBytes } from "node:crypto";
import { constants } from "node:fs";
import { open, rename, unlink } from "node:fs/promises";
import path from "node:path";
import { z } from "zod";
import { makeFolder } from "../durable/make-folder.ts";

/** Where the server of a team listens, for the commands of the same folder. */
export interface RunningServer {
  /** Of the server, without a slash at its end. */
  readonly url: string;
  /** As `/healthz` says it: another server at the same address has another one. */
  readonly processId: string;
}

/** Read of the file at most, bytes. */
const MAX_BYTES = 4096;

const fileForm = z.object({
  url: z.url({ protocol: /^https?$/ }),
  processId: z.string().min(1),
});

function fileOf(home: string): string {
  return path.join(home, "server.json");
}

/** The server that was started last with this data folder, if its end was not noticed. */
export async function readRunningServer(home: string): Promise<RunningServer | undefined> {
  try {
    await using handle = await open(fileOf(home), constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0));
    const facts = await handle.stat();
    if (!facts.isFile() || facts.size > MAX_BYTES) return undefined;
    return fileForm.safeParse(JSON.parse(await handle.readFile("utf8"))).data;
  } catch {
    return undefined; // none, or not ours
  }
}

/** Takes the place of what an earlier server wrote. */
export async function writeRunningServer(home: string, server: RunningServer): Promise<void> {
  await makeFolder(home);
  const draft = `${fileOf(home)}.${randomBytes(8).toString("hex")}`;

  try {
    await using handle = await open(draft, "wx", 0o600);
    await handle.writeFile(`${JSON.stringify(server)}\n`);
    await rename(draft, fileOf(home));
  } catch (error) {
    await unlink(draft).catch(() => {}); // it may never have been there
    throw error;
  }
}

/** Removes it, unless another server has written its own since. */
export async function removeRunningServer(home: string, processId: string): Promise<void> {
  const known = await readRunningServer(home);
  if (known?.processId === processId) await unlink(fileOf(home));
}
