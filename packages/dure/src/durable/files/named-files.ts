import { DureError } from "../../kernel/errors.ts";
import { harmlessWords, type FileRef } from "../../kernel/files.ts";

/** Files of a session, the newest first: a model knows them by their names. */
export const SESSION_FILES = {
  name: "files.of_session",
  text: `
    select f.id, f.name, f.type, b.bytes
    from dure.files f
    join dure.file_bytes b on b.tenant = f.tenant and b.sha256 = f.sha256
    where f.session_id = $1
    order by f.touched_at desc
    limit 1000`,
} as const;

/** Names that the refusal of another one tells. */
const TOLD = 20;

/** Those with these names, of one name the first. Throws `FILE_UNKNOWN`. Pure. */
export function filesNamed(
  names: readonly string[],
  known: readonly FileRef[],
): readonly FileRef[] {
  return [...new Set(names)].map((name) => {
    const found = known.find((file) => file.name === name);
    if (found) return found;

    const has = [...new Set(known.map((file) => file.name))].slice(0, TOLD);
    throw new DureError("FILE_UNKNOWN", `There is no file ${harmlessWords(name)}.`, {
      class: "not-found",
      hint: `This conversation has: ${has.join(", ") || "no files"}.`,
    });
  });
}
