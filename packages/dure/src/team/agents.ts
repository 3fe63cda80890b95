import { existsSync } from "node:fs";
import { readFile, rename, writeFile } from "node:fs/promises";
import path from "node:path";
import { z } from "zod";
import { chatAgent } from "../engine/agent/agent.ts";
import {
  defineService,
  flow,
  type Service,
  type ServiceOptions,
} from "../engine/service/service.ts";
import { NotSentError, tool, type AnyTool } from "../engine/agent/tool.ts";
import { readReply } from "../jobs/endings.ts";
import { DureError } from "../kernel/errors.ts";

import { agentGuide } from "../rooms/handover/guide.ts";
import type { Skill } from "../engine/files/skill-files.ts";
import type { CardInput } from "../models/card.ts";
import type { UnsavedFile } from "./agent-file.ts";
import { AGENT_MARKDOWN, instructionsOf } from "./agent-markdown.ts";
import { ownToolsOf } from "./own-tools.ts";
import type { LoadedTeam } from "./config.ts";

/** Characters of one persona file. A persona is read with every call. */
export const MAX_PERSONA = 20_000;

/**
 * Files of an agent's folder that become its prompt, in this order. Source: docs/spec/platform §2.
 */
const PERSONA_FILES = [AGENT_MARKDOWN, "SOUL.md", "AGENTS.md", "MEMORY.md"] as const;

/** Of the team's folder: read by every agent, before its own. */
const TEAM_FILES = ["AGENTS.md"] as const;

/** What a team hands to each of its agents: `collaborate` and the like. */
export type ToolsOfAgent = (agent: string) => Readonly<Record<string, AnyTool>>;

/**
 * The agents of a team that answer for themselves: each is a chat with its persona from
 * `agents/<id>/`, under its own name as a service. An agent with `service` answers through that one
 * and needs none here.
 */
export async function agentServices(
  team: LoadedTeam,
  toolsOf: ToolsOfAgent = () => ({}),
): Promise<readonly Service[]> {
  const agents = Object.entries(team.config.agents ?? {}).filter(
    ([, agent]) => agent.service === undefined,
  );
  return Promise.all(agents.map(([id, agent]) => agentService(team, id, agent, toolsOf(id))));
}

interface OwnAgent {
  readonly displayName?: string | undefined;
  readonly description?: string | undefined;
  readonly leads?: boolean | undefined;
  readonly card?: CardInput | undefined;
}

async function agentService(
  team: Pick<LoadedTeam, "folder" | "unsaved" | "tools" | "skills">,
  id: string,
  agent: OwnAgent,
  tools: Readonly<Record<string, AnyTool>>,
): Promise<Service> {
  const { folder: teamFolder, unsaved } = team;
  const folder = path.join(teamFolder, "agents", id);
  const persona = [
    ...(await readPersona(teamFolder, TEAM_FILES)),
    ...(await readPersona(folder, PERSONA_FILES, unsaved?.agent === id ? unsaved : undefined)),
  ];
  const title = agent.displayName ?? id;
  const helper = chatAgent({
    name: id,
    prompt: [`You are ${title}.`, ...persona, agentGuide(tools)].filter(Boolean).join("\n\n"),
    card: withAllSkills(agent.card, team.skills),
    tools: { remember: memoryTool(folder), ...ownToolsOf(id, agent.card, team.tools), ...tools },
  });

  return defineService({
    name: id,
    title,
    ...aboutOf(agent),
    agents: { [id]: helper },
    callerTools: true,
    flows: {
      DEFAULT: flow(async (turn) => {
        // The result of background work: shown when it is known whether there is anything to show.
        // A room decides that by itself.
        const isNotice =
          turn.author === "system" &&
          turn.escalation === undefined &&
          !turn.session.startsWith("room:");

        const { text, handedCalls } = await turn.agent(
          id,
          turn.locale === "en" ? "Writing" : "답변 작성 중",
          isNotice ? { show: false } : { callerTools: true },
        );
        const message = isNotice && readReply(text).quiet ? "" : text;

        return turn.done({ message, handedCalls });
      }),
    },
  });
}

/** An agent that answers for itself may load each skill, where its card does not name some. */
function withAllSkills(
  card: CardInput | undefined,
  skills: readonly Skill[] = [],
): CardInput | undefined {
  return skills.length === 0 ? card : { skills: skills.map(({ name }) => name), ...card };
}

/** What its card in a chat says; what the persona says is for the model alone. */
function aboutOf({
  leads,
  description,
}: OwnAgent): Pick<ServiceOptions, "description" | "translations"> {
  if (description !== undefined) return { description };
  return leads === true
    ? {
        description: "Leads the team. Say what you need.",
        translations: {
          ko: { description: "팀을 이끄는 에이전트예요. 필요한 일을 말해 보세요." },
        },
      }
    : {
        description: "An agent of the team. Talk with it here.",
        translations: { ko: { description: "팀의 에이전트예요. 여기서 바로 이야기해요." } },
      };
}

async function readPersona(
  folder: string,
  names: readonly string[],
  unsaved?: UnsavedFile,
): Promise<readonly string[]> {
  const texts: string[] = [];
  for (const name of names) {
    const file = path.join(folder, name);
    const written = unsaved?.file === name ? unsaved.text.trim() : await readTrimmed(file);
    const text = name === AGENT_MARKDOWN && written !== "" ? instructionsOf(written) : written;
    assertPersonaFits(file, text);
    if (text !== "") texts.push(text);
  }

  return texts;
}

async function readTrimmed(file: string): Promise<string> {
  return existsSync(file) ? (await readFile(file, "utf8")).trim() : "";
}

function assertPersonaFits(file: string, text: string): void {
  if (text.length <= MAX_PERSONA) return;
  throw new DureError(
    "PERSONA_TOO_LONG",
    `${file} has ${text.length} characters; ${MAX_PERSONA} are allowed.`,
    { class: "input", hint: "It is read with every model call; keep what matters." },
  );
}

/**
 * Lets an agent propose a line for its MEMORY.md; a person decides. The file is replaced as a
 * whole, so a crash leaves the old or the new one.
 */
function memoryTool(folder: string): AnyTool {
  const file = path.join(folder, "MEMORY.md");
  const read = async (): Promise<string> => (existsSync(file) ? readFile(file, "utf8") : "");
  const lineOf = (text: string): string => `- ${text.trim().replaceAll(/\s+/g, " ")}`;

  return tool({
    description:
      "Proposes one sentence to keep for good in your MEMORY.md. A person decides about it.",
    inputSchema: z.object({ text: z.string().min(3).max(500) }),
    effect: "once",
    approval: { question: ({ text }) => `MEMORY.md: ${lineOf(text)}` },
    execute: async ({ text }) => {
      if (!existsSync(folder)) {
        const shown = path.join(path.basename(path.dirname(folder)), path.basename(folder));
        throw new NotSentError("AGENT_FOLDER_MISSING", `There is no folder ${shown}.`);
      }

      const before = await read();
      if (before.split("\n").includes(lineOf(text))) return { kept: true };

      const draft = `${file}.new`;
      await writeFile(draft, `${before.trimEnd()}\n${lineOf(text)}\n`.trimStart());
      await rename(draft, file);

      return { kept: true };
    },
    probe: async ({ input }) =>
      (await read()).split("\n").includes(lineOf(input.text)) ? "happened" : "not_happened",
    settle: 0,
  });
}
