import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import path from "node:path";
import { problemsError, readYaml } from "../engine/files/load-service-document.ts";
import { DureError } from "../kernel/errors.ts";
import { isObject } from "../kernel/json.ts";
import { parseCard, type CardInput } from "../models/card.ts";
import { closest } from "../models/spelling.ts";

const AGENT_KEYS = ["displayName", "card"] as const;

/** What the folder of an agent says about it. */
export interface AgentFile {
  readonly displayName?: string | undefined;
  readonly card?: object | undefined;
}

/**
 * An agent as its configuration and its folder say together. Throws `AGENT_INVALID` and
 * `CARD_INVALID`.
 */
export async function withAgentFile<
  Agent extends { displayName?: string | undefined; card?: CardInput | undefined },
>(id: string, agent: Agent, folder: string): Promise<Agent> {
  const own = await readAgentFile(folder);
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
  if (!existsSync(file)) return {};
  const { document, problems } = readYaml(file, await readFile(file, "utf8"));
  if (problems.length > 0) throw problemsError("AGENT_INVALID", file, problems);
  const { value } = document;
  if (!isObject(value)) {
    throw new DureError("AGENT_INVALID", `${file} is no mapping.`, {
      class: "input",
      hint: "Write displayName: … and card: …",
    });
  }
  const given = Object.fromEntries(
    Object.entries(value).map(([key, member]) => [
      key === "display_name" ? "displayName" : key,
      member,
    ]),
  );
  for (const key of Object.keys(given)) {
    if ((AGENT_KEYS as readonly string[]).includes(key)) continue;
    const meant = closest(key, AGENT_KEYS);
    throw new DureError("AGENT_INVALID", `${file}: the key "${key}" is not known.`, {
      class: "input",
      hint: meant ? `Did you mean ${meant}?` : `Keys are: ${AGENT_KEYS.join(", ")}.`,
    });
  }
  return given;
}
