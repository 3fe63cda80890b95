import { readdir, readFile, stat } from "node:fs/promises";
import { extname } from "node:path";
import { codeOf, messageOf } from "../kernel/errors.ts";
import {
  PLAN_CHARACTERS,
  readPlan,
  readPlanInput,
  unreadable,
  type PlanReading,
} from "./plan-file.ts";

const ENDINGS = [".yaml", ".yml", ".json", ".md", ".ts", ".mts", ".js", ".mjs"];
/** Files of a folder that are looked at. */
const MAX_FILES = 500;

/**
 * Names of the files in a folder that may be plans; scripts of offline workers (`*.offline.*`) are
 * none. By name; empty where there is no folder.
 */
export async function planFilesIn(folder: string): Promise<readonly string[]> {
  const names = await readdir(folder).catch((error: unknown) => {
    if (codeOf(error) === "ENOENT") return [];
    throw error;
  });
  return names
    .filter(
      (name) =>
        ENDINGS.includes(extname(name)) && !name.startsWith(".") && !name.includes(".offline."),
    )
    .sort()
    .slice(0, MAX_FILES);
}

/** Bytes of a plan's file; looked at before it is read. A character takes four at most. */
const PLAN_BYTES = 4 * PLAN_CHARACTERS;

interface ReadPlanFile {
  readonly importModule: (file: string) => Promise<Record<string, unknown>>;
  readonly read?: ((file: string, text: string) => PlanReading | Promise<PlanReading>) | undefined;
}

/**
 * Reads and checks a plan's file; what keeps it from being read is a problem as well.
 *
 * @param shown as the person wrote it; it stands in the problems
 * @param how `importModule` imports a plan that is code; `read` reads the text of any other one, by
 * default on this thread
 */
export async function readPlanFile(
  file: string,
  shown: string,
  { importModule, read = readPlan }: ReadPlanFile,
): Promise<PlanReading> {
  try {
    const facts = await stat(file);
    if (facts.isDirectory()) return unreadable(shown, "is a folder");
    if (facts.size > PLAN_BYTES) return unreadable(shown, `is larger than ${PLAN_BYTES} bytes`);
    const text = await readFile(file, "utf8");
    if (!/\.m?[jt]s$/.test(file)) return await read(shown, text);
    const exported = (await importModule(file))["default"];
    return readPlanInput(exported as Parameters<typeof readPlanInput>[0], shown, text);
  } catch (error) {
    return unreadable(shown, `cannot be read: ${messageOf(error)}`);
  }
}
