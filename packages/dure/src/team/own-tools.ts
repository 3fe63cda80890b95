import { existsSync } from "node:fs";
import path from "node:path";
import { importModule } from "../engine/files/import-module.ts";
import { isTool } from "../engine/files/folder-exports.ts";
import { READY_TOOLS } from "../engine/files/load-service.ts";
import { TEAM_TOOLS } from "../engine/agent/team-tools.ts";
import type { AnyTool } from "../engine/agent/tool.ts";
import { DureError, messageOf } from "../kernel/errors.ts";
import { parseCard, type CardInput } from "../models/card.ts";
import { namesIn } from "./agent-markdown.ts";
import type { TeamConfig } from "./config.ts";

/** Tools of the team's own: `tools/<name>.ts` exports the tool `name`. */
const FOLDER = "tools";
/** The name of an export that providers take as the name of a tool. */
const TOOL_FILE = /^([A-Za-z_][A-Za-z0-9_]{0,63})\.(?:ts|mts|js|mjs)$/;

/** Names of the tools that the team's folder has. No code runs. */
export function toolsInFolder(folder: string): readonly string[] {
  const names = namesIn(path.join(folder, FOLDER)).flatMap(
    (file) => TOOL_FILE.exec(file)?.[1] ?? [],
  );
  return [...new Set(names)].toSorted();
}

/**
 * The tools of `tools/` that cards of agents name. Only these modules are run: other files of the
 * folder may be scripts. Throws `TOOL_INVALID`. @param loaded before; not loaded again
 */
export async function toolsOfAgents(
  folder: string,
  { agents = {} }: Pick<TeamConfig, "agents">,
  loaded: Readonly<Record<string, AnyTool>> = {},
): Promise<Readonly<Record<string, AnyTool>>> {
  const own = new Set(toolsInFolder(folder));
  const named = Object.values(agents)
    .filter(({ service }) => service === undefined)
    .flatMap(({ card }) => parseCard(card).tools)
    .filter((name) => own.has(name) && !isGiven(name));
  const tools: Record<string, AnyTool> = {};
  for (const name of new Set(named)) tools[name] = loaded[name] ?? (await loadTool(folder, name));

  return tools;
}

/** The tools that the card of an agent names. Pure. Throws `AGENT_INVALID`. */
export function ownToolsOf(
  agent: string,
  card: CardInput | undefined,
  ofTeam: Readonly<Record<string, AnyTool>> = {},
): Readonly<Record<string, AnyTool>> {
  const known = { ...ofTeam, ...READY_TOOLS };
  const wanted = parseCard(card).tools.filter((name) => !isOfTeam(name));
  const unknown = wanted.find((name) => known[name] === undefined);
  if (unknown === undefined) return Object.fromEntries(wanted.map((name) => [name, known[name]!]));

  throw new DureError(
    "AGENT_INVALID",
    `The agent ${agent} names no tool of this team: "${unknown}".`,
    {
      class: "input",
      hint: `Known are ${Object.keys(known).join(", ")}. Write it with: npx dure new tool ${unknown}`,
    },
  );
}

/** Every agent that answers for itself has these. Pure. */
function isOfTeam(name: string): boolean {
  return (TEAM_TOOLS as readonly string[]).includes(name);
}

/** A file of this name would never be asked. Pure. */
function isGiven(name: string): boolean {
  return isOfTeam(name) || READY_TOOLS[name] !== undefined;
}

async function loadTool(folder: string, name: string): Promise<AnyTool> {
  const files = ["ts", "mts", "js", "mjs"]
    .map((ending) => `${FOLDER}/${name}.${ending}`)
    .filter((file) => existsSync(path.join(folder, file)));
  const [file, second] = files;
  if (second !== undefined) {
    throw invalid(`${files.join(" and ")} are one tool.`, `Delete ${second}.`);
  }

  const { [name]: found } = await importTool(path.join(folder, file!), file!);
  if (isTool(found)) return found;
  throw invalid(
    `${file} exports no tool "${name}".`,
    `Write there: export const ${name} = tool({ description, inputSchema, execute });`,
  );
}

async function importTool(at: string, file: string): Promise<Record<string, unknown>> {
  try {
    return await importModule(at);
  } catch (cause) {
    throw invalid(`${file} cannot be loaded: ${messageOf(cause)}`, "Change that file.", cause);
  }
}

function invalid(message: string, hint: string, cause?: unknown): DureError {
  return new DureError("TOOL_INVALID", message, { class: "input", hint, cause });
}
