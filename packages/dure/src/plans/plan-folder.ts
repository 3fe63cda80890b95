import { readdir, readFile, stat } from "node:fs/promises";
import { extname } from "node:path";
import { codeOf, messageOf } from "../kernel/errors.ts";
import { readPlan, readPlanInput, type PlanReading } from "./plan-file.ts";

const ENDINGS = [".yaml", ".yml", ".json", ".md", ".ts", ".mts", ".js", ".mjs"];
/** Files of a folder that are looked at. Source: our choice. */
const FILES_MOST = 500;

/** Names of the files in a folder that may be plans; scripts of offline workers (`*.offline.*`) are none. By name; empty where there is no folder. */
export async function planFilesIn(folder: string): Promise<readonly string[]> {
  const names = await readdir(folder).catch((error: unknown) => {
    if (codeOf(error) === "ENOENT") return [];
    throw error;
  });
  return names.filter((name) => ENDINGS.includes(extname(name)) && !name.startsWith(".") && !name.includes(".offline.")).sort().slice(0, FILES_MOST);
}

/**
 * Reads and checks a plan's file; what keeps it from being read is a problem as well.
 *
 * @param shown as the person wrote it; it stands in the problems
 * @param importModule imports a plan that is code
 */
export async function readPlanFile(file: string, shown: string, importModule: (file: string) => Promise<Record<string, unknown>>): Promise<PlanReading> {
  try {
    if ((await stat(file)).isDirectory()) return { problems: [{ file: shown, key: "", message: "is a folder" }] };
    const text = await readFile(file, "utf8");
    if (!/\.m?[jt]s$/.test(file)) return readPlan(shown, text);
    const exported = (await importModule(file))["default"];
    return readPlanInput(exported as Parameters<typeof readPlanInput>[0], shown, text);
  } catch (error) {
    return { problems: [{ file: shown, key: "", message: `cannot be read: ${messageOf(error)}` }] };
  }
}
