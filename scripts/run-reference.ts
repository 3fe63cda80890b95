/** `npm run reference`: writes the pages of docs/reference anew. */

import { mkdir, writeFile } from "node:fs/promises";
import path from "node:path";
import { makeReference } from "./reference.ts";
import { root } from "./processes.ts";

for (const [page, text] of await makeReference()) {
  await mkdir(path.dirname(page), { recursive: true });
  await writeFile(page, text);
  console.log(`[reference] ${path.relative(root, page)}: ${text.split("\n").length} lines`);
}
