import { existsSync, readdirSync } from "node:fs";
import path from "node:path";
import { readFrontMatter } from "../engine/files/front-matter.ts";
import {
  problemAt,
  problemsError,
  problemsOf,
  valueAt,
  type Problem,
  type SettingsDocument,
} from "../engine/files/load-service-document.ts";
import { settings, text, yesOrNo } from "../engine/files/load-service-schema.ts";
import { codeOf, DureError } from "../kernel/errors.ts";
import { compacted, isObject } from "../kernel/json.ts";
import { cardShape } from "../models/card.ts";
import { closest } from "../kernel/closest.ts";
import type { AgentFile, KnownNames } from "./agent-file.ts";

/** An agent as one file: settings at the top, instructions below them. */
export const AGENT_MARKDOWN = "agent.md";

const { llm, ...ofCard } = cardShape;

/** What may stand at the top of agent.md. Source: docs/spec/platform §2. */
const head = settings({
  name: text.max(100, { error: "must be a text of at most 100 characters" }).optional(),
  description: text.max(300, { error: "must be a text of at most 300 characters" }).optional(),
  leads: yesOrNo.optional(),
  model: llm,
  ...ofCard,
});

/** What agent.md says about its agent. Pure. Throws `AGENT_INVALID`. @param file for problems */
export function agentOf(file: string, content: string, known: KnownNames): AgentFile {
  const { document, problems } = readFrontMatter(file, content);
  const read = head.safeParse(document.value ?? {});
  const all = [
    ...problems,
    ...(problems.length > 0 || read.success ? [] : problemsOf(read.error, document)),
  ];
  if (all.length === 0) all.push(...nameProblems(document, known));
  if (all.length > 0) throw problemsError("AGENT_INVALID", file, all);

  const { name, description, leads, model, ...card } = document.value as Head;
  return { displayName: name, description, leads, card: compacted({ ...card, llm: model }) };
}

/** Its instructions: what stands below the settings. Pure. */
export function instructionsOf(content: string): string {
  return readFrontMatter(AGENT_MARKDOWN, content).body;
}

interface Head {
  readonly name?: string;
  readonly description?: string;
  readonly leads?: boolean;
  readonly model?: unknown;
}

/** Names of tools, servers, bases and skills that the team does not have. */
function nameProblems(document: SettingsDocument, known: KnownNames): readonly Problem[] {
  const tools = namesAt(document, "tools");
  const approvals = valueAt(document.value, ["approvals"]);
  const list = (key: string): readonly NamedSection[] =>
    namesAt(document, key).map((name, index) => ({ name, path: [key, index] }));
  const asked = isObject(approvals)
    ? Object.keys(approvals).map((name) => ({ name, path: ["approvals", name] }))
    : list("approvals");
  const servers = list("mcp").map(({ name, ...at }) => ({ name: name.split("/")[0]!, ...at }));

  return [
    ...unknownAmong(document, "tool", list("tools"), known.tools),
    ...unknownAmong(document, "MCP server", servers, known.mcp),
    ...unknownAmong(document, "knowledge base", list("knowledge"), known.knowledge),
    ...unknownAmong(document, "skill", list("skills"), known.skills),
    ...unknownAmong(document, "tool of this agent", asked, tools),
  ];
}

interface NamedSection {
  readonly name: string;
  readonly path: readonly (string | number)[];
}

function namesAt(document: SettingsDocument, key: string): readonly string[] {
  const value = valueAt(document.value, [key]);
  return Array.isArray(value) ? value.map(String) : [];
}

/** What makes a name known. */
const NEXT = {
  tool: "Write it with: npx dure new tool <name>",
  "MCP server": "Name it in the configuration: mcp: { <name>: { command: … } }",
  "knowledge base": "Name it in the configuration: knowledge: { <name>: {} }",
  skill: "Write it with: npx dure new skill <name>",
  "tool of this agent":
    "Name it in tools too; a tool of an MCP server has approval in mcp.<server>",
} as const;

function unknownAmong(
  document: SettingsDocument,
  what: keyof typeof NEXT,
  names: readonly NamedSection[],
  known: readonly string[],
): readonly Problem[] {
  return names
    .filter(({ name }) => !known.includes(name))
    .map(({ name, path: at }) => {
      const meant = closest(name, known);
      return problemAt(document, at, `names no ${what} of this team`, {
        allowed: known.join(", ") || "none yet",
        hint: meant ? `did you mean "${meant}"?` : NEXT[what].replace("<name>", name),
      });
    });
}

/**
 * Ids of the agents that the team's folder declares with an agent.md, in the order of their names.
 * Throws `AGENT_INVALID` for a folder whose name is no id.
 */
export function agentsInFolder(folder: string): readonly string[] {
  const found = namesIn(path.join(folder, "agents"))
    .filter((id) => existsSync(path.join(folder, "agents", id, AGENT_MARKDOWN)))
    .toSorted();
  const wrong = found.find((id) => !/^[A-Za-z0-9_-]{1,64}$/.test(id));
  if (wrong === undefined) return found;

  throw new DureError("AGENT_INVALID", `agents/${wrong}: "${wrong}" cannot be an agent's id.`, {
    class: "input",
    hint: "Name the folder with Latin letters, digits, _ or -; a name in any script is `name` in agent.md.",
  });
}

/** Names in a folder; none where there is no folder. */
export function namesIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder);
  } catch (error) {
    if (codeOf(error) === "ENOENT" || codeOf(error) === "ENOTDIR") return [];
    throw error;
  }
}
