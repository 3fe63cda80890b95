import { readFile } from "node:fs/promises";
import path from "node:path";
import type { Clock } from "../kernel/clock.ts";
import { codeOf, DureError } from "../kernel/errors.ts";
import { ulid } from "../kernel/ids.ts";
import { makeFile } from "./make-file.ts";
import { makeFolder } from "./make-folder.ts";

const HOST_ID = /^host_[0-9A-HJKMNP-TV-Z]{26}$/;

/**
 * Names a folder of data, for every process that shares it: `host_` and an ULID, in its file
 * `host-id`, which is made when there is none. Throws `HOST_ID_BROKEN`.
 */
export async function hostOf(home: string, clock: Clock): Promise<string> {
  const file = path.join(home, "host-id");
  const known = await readIfThere(file);
  if (known !== undefined) return parse(known, file);

  await makeFolder(home);
  await makeFile(file, `host_${ulid(clock.now())}\n`);
  return parse(await readFile(file, "utf8"), file);
}

async function readIfThere(file: string): Promise<string | undefined> {
  try {
    return await readFile(file, "utf8");
  } catch (error) {
    if (codeOf(error) === "ENOENT") return undefined;
    throw error;
  }
}

function parse(text: string, file: string): string {
  const id = text.trim();
  if (HOST_ID.test(id)) return id;
  throw new DureError("HOST_ID_BROKEN", `The file ${file} holds no name of a host.`, {
    class: "input",
    hint: "Remove it and start again: a new one is made. Runs of plans that were begun under the old name wait for an answer in the inbox.",
  });
}
