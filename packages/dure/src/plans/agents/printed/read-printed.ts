import { readClaude } from "./claude.ts";
import { readCodex } from "./codex.ts";
import { readGemini } from "./gemini.ts";
import { readOpencode } from "./opencode.ts";
import type { AgentPrints, Printed, ReadPrinted } from "./printed.ts";

const READERS: Readonly<Record<AgentPrints, ReadPrinted>> = {
  claude: readClaude,
  codex: readCodex,
  opencode: readOpencode,
  gemini: readGemini,
};

/**
 * What a line of an agent's standard output tells. Pure.
 *
 * @returns undefined for a line that is not of the form: the agent runs with other switches, or
 *   wrote it beside.
 */
export function readPrinted(prints: AgentPrints, line: string): readonly Printed[] | undefined {
  if (!line.startsWith("{")) return undefined;
  try {
    return READERS[prints](JSON.parse(line));
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}
