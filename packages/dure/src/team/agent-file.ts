import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import path from "node:path";
import { problemsError, readYaml } from "../engine/files/load-service-document.ts";
import { DureError } from "../kernel/errors.ts";
import { compacted, isObject } from "../kernel/json.ts";
import { AGENT_MARKDOWN, agentOf } from "./agent-markdown.ts";
import { parseCard, type CardInput } from "../models/card.ts";
import { closest } from "../kernel/closest.ts";

const AGENT_KEYS = ["displayName", "card"] as const;
/** Characters of a name, as the configuration has it. */
const MAX_NAME = 100;

/** What the folder of an agent says about it. */
export interface AgentFile {
  readonly displayName?: string | undefined;
  readonly description?: string | undefined;
  readonly leads?: boolean | undefined;
  readonly card?: object | undefined;
}

/** A file of an agent's folder whose text is not on the disk yet. */
export interface UnsavedFile {
  readonly agent: string;
  /** Its name within the agent's folder. */
  readonly file: string;
  readonly text: string;
}

/** Names that an agent may give, by the key of its card. */
export interface KnownNames {
  readonly tools: readonly string[];
  readonly mcp: readonly string[];
  readonly knowledge: readonly string[];
  readonly skills: readonly string[];
}

/** What an agent of the configuration says that its folder may say too. */
interface ConfiguredAgent {
  displayName?: string | undefined;
  description?: string | undefined;
  leads?: boolean | undefined;
  card?: CardInput | undefined;
}

interface FolderOptions {
  /** Absolute. */
  readonly folder: string;
  readonly known: KnownNames;
  /** Goes before what is on the disk. */
  readonly unsaved?: UnsavedFile | undefined;
}

/**
 * An agent as its configuration and its folder say together. Throws `AGENT_INVALID` and
 * `CARD_INVALID`.
 */
export async function withAgentFile<Agent extends ConfiguredAgent>(
  id: string,
  agent: Agent,
  { folder, known, unsaved }: FolderOptions,
): Promise<Agent> {
  const textOf = async (file: string): Promise<string | undefined> => {
    if (unsaved?.agent === id && unsaved.file === file) return unsaved.text;
    const onDisk = path.join(folder, file);
    return existsSync(onDisk) ? readFile(onDisk, "utf8") : undefined;
  };
  const [yaml, markdown] = [await textOf("agent.yaml"), await textOf(AGENT_MARKDOWN)];
  const where = `agents/${id}/${markdown === undefined ? "agent.yaml" : AGENT_MARKDOWN}`;
  if (yaml !== undefined && markdown !== undefined) throw declaredTwice(id);

  const own =
    markdown !== undefined
      ? agentOf(where, markdown, known)
      : yaml === undefined
        ? {}
        : parseAgentFile(where, yaml);
  if (Object.values(own).every((value) => value === undefined)) return agent;
  const card: CardInput = { ...own.card, ...agent.card };
  parseCard(card, where);
  const { displayName, description, leads } = { ...compacted(own), ...compacted(agent) };
  return { ...agent, ...compacted({ displayName, description, leads }), card };
}

function declaredTwice(id: string): DureError {
  return invalid(
    `agents/${id} has agent.md and agent.yaml; an agent is declared once.`,
    "Move the settings of agent.yaml to the top of agent.md, and delete agent.yaml.",
  );
}

/**
 * `agent.yaml`: what the team's configuration may say about an agent too; the configuration goes
 * first. Pure. Throws `AGENT_INVALID`. @param file the name that problems carry
 */
function parseAgentFile(file: string, text: string): AgentFile {
  const { document, problems } = readYaml(file, text);
  if (problems.length > 0) throw problemsError("AGENT_INVALID", file, problems);
  const { value } = document;
  if (!isObject(value)) throw invalid(`${file} is no mapping.`, "Write displayName: … and card: …");
  const given = Object.fromEntries(
    Object.entries(value).map(([key, member]) => [
      key === "display_name" ? "displayName" : key,
      member,
    ]),
  );
  for (const key of Object.keys(given)) assertKnown(file, key);
  assertName(file, given["displayName"]);

  return given;
}

function assertKnown(file: string, key: string): void {
  if ((AGENT_KEYS as readonly string[]).includes(key)) return;
  const meant = closest(key, AGENT_KEYS);
  throw invalid(
    `${file}: the key "${key}" is not known.`,
    meant ? `Did you mean ${meant}?` : `Keys are: ${AGENT_KEYS.join(", ")}.`,
  );
}

function assertName(file: string, name: unknown): void {
  if (name === undefined) return;
  if (typeof name === "string" && name.trim() !== "" && name.length <= MAX_NAME) return;
  throw invalid(
    `${file}: displayName must be a text of 1 to ${MAX_NAME} characters.`,
    "Put it in quotes where it looks like a number.",
  );
}

function invalid(message: string, hint: string): DureError {
  return new DureError("AGENT_INVALID", message, { class: "input", hint });
}
