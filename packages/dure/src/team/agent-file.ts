import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import path from "node:path";
import { problemsError, readYaml } from "../engine/files/load-service-document.ts";
import { DureError } from "../kernel/errors.ts";
import { isObject } from "../kernel/json.ts";
import { parseCard, type CardInput } from "../models/card.ts";
import { closest } from "../models/spelling.ts";

const AGENT_KEYS = ["displayName", "card"] as const;
/** Characters of a name, as the configuration has it. */
const MAX_NAME = 100;

/** What the folder of an agent says about it. */
export interface AgentFile {
  readonly displayName?: string | undefined;
  readonly card?: object | undefined;
}

/** A file of an agent's folder whose text is not on the disk yet. */
export interface UnsavedFile {
  readonly agent: string;
  /** Its name within the agent's folder. */
  readonly file: string;
  readonly text: string;
}

/**
 * An agent as its configuration and its folder say together. Throws `AGENT_INVALID` and
 * `CARD_INVALID`. @param unsaved goes before what is on the disk.
 */
export async function withAgentFile<
  Agent extends { displayName?: string | undefined; card?: CardInput | undefined },
>(id: string, agent: Agent, folder: string, unsaved?: UnsavedFile): Promise<Agent> {
  const own =
    unsaved?.agent === id && unsaved.file === "agent.yaml"
      ? parseAgentFile(`agents/${id}/agent.yaml`, unsaved.text)
      : await readAgentFile(folder);
  if (own.displayName === undefined && own.card === undefined) return agent;
  const card: CardInput = { ...own.card, ...agent.card };
  parseCard(card, `agents/${id}/agent.yaml`);
  return { ...agent, displayName: agent.displayName ?? own.displayName, card };
}

/**
 * `agent.yaml`: what the team's configuration may say about an agent too; the configuration goes
 * first.
 */
async function readAgentFile(folder: string): Promise<AgentFile> {
  const file = path.join(folder, "agent.yaml");
  return existsSync(file) ? parseAgentFile(file, await readFile(file, "utf8")) : {};
}

/** Pure. Throws `AGENT_INVALID`. @param file the name that problems carry */
export function parseAgentFile(file: string, text: string): AgentFile {
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
