import { estimateTokens } from "../../models/prices.ts";
import type { PromptFile } from "./prompt.ts";

/** The first lines that are within the bound, in tokens. Pure. */
export function cutTo(file: PromptFile, most: number): PromptFile {
  if (estimateTokens(file.text) <= most) return file;
  const kept: string[] = [];
  let tokens = 0;
  for (const line of file.text.split("\n")) {
    tokens += estimateTokens(`${line}\n`);
    if (tokens > most) break;
    kept.push(line);
  }

  return { ...file, text: kept.join("\n"), form: "cut" };
}
