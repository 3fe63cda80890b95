import { mkdir, readFile, rename, writeFile } from "node:fs/promises";
import path from "node:path";

/** Writes a file whole or not at all; one that is as wanted is left alone. */
export async function writeWhole(file: string, text: string): Promise<void> {
  if ((await readFile(file, "utf8").catch(() => undefined)) === text) return;
  await mkdir(path.dirname(file), { recursive: true });
  await writeFile(`${file}.${process.pid}`, text);
  await rename(`${file}.${process.pid}`, file);
}
