/** The guards that `npm run mutate` breaks: each `guards.yaml` stands in the folder of its sources. */

import { globSync, readFileSync } from "node:fs";
import path from "node:path";
import { parse } from "yaml";
import { z } from "zod";
import type { Guard } from "./mutate.ts";

const guardSchema = z.strictObject({
  id: z.string(),
  /** What goes wrong without it. */
  why: z.string(),
  /** From the folder of the list. */
  file: z.string().optional(),
  sql: z.string().optional(),
  find: z.string(),
  replace: z.string(),
  hangs: z.literal(true).optional(),
  tests: z.array(z.string()).min(1),
});

/** By folder, in the order in which they are written. Throws what is wrong with a list, and where. */
export function readGuards(root: string): readonly Guard[] {
  const lists = globSync("packages/*/src/*/guards.yaml", { cwd: root }).toSorted();
  return lists.flatMap((list) => {
    const parsed = z
      .array(guardSchema)
      .safeParse(parse(readFileSync(path.join(root, list), "utf8")));
    if (!parsed.success) throw new Error(`${list}: ${z.prettifyError(parsed.error)}`);
    return parsed.data.map(({ file, sql, ...guard }) => ({
      ...guard,
      at: placeOf({ file, sql, list, id: guard.id }),
    }));
  });
}

function placeOf(given: {
  readonly file: string | undefined;
  readonly sql: string | undefined;
  readonly list: string;
  readonly id: string;
}): Guard["at"] {
  const { file, sql, list, id } = given;
  if (file !== undefined && sql === undefined) return { file: path.join(path.dirname(list), file) };
  if (sql !== undefined && file === undefined) return { sql };
  throw new Error(`${list}: ${id} needs either a file or an SQL function`);
}
