import type { z } from "zod";
import type { DureClient } from "../client/index.ts";
import type { RoomsClient } from "../client/rooms.ts";
import { DureError } from "../kernel/errors.ts";
import type { McpTaskState } from "./task-state.ts";

/** What an MCP client may do with a team, by what it is about. */
export const TOOL_GROUPS = [
  "agents",
  "rooms",
  "posts",
  "jobs",
  "plans",
  "services",
  "decisions",
] as const;
export type ToolGroup = (typeof TOOL_GROUPS)[number];

/**
 * What is offered where nothing else was said. A model that talks with a service, or writes in a
 * room where one answers, could say yes for a person, and one that decides needs no person at all:
 * these are asked for by name.
 */
export const DEFAULT_GROUPS: readonly ToolGroup[] = ["agents", "rooms", "jobs", "plans"];

/** Reads `agents,jobs`. Throws `TOOLS_UNKNOWN`. @param where Such as `--tools`. */
export function readGroups(text: string, where: string): readonly ToolGroup[] {
  const names = text.split(",").map((name) => name.trim());
  const unknown = names.find((name) => !(TOOL_GROUPS as readonly string[]).includes(name));
  if (unknown === undefined) return names as ToolGroup[];

  throw new DureError("TOOLS_UNKNOWN", `There are no tools "${unknown}".`, {
    class: "input",
    hint: `${where} takes ${TOOL_GROUPS.join(", ")}, with commas between them.`,
  });
}

/** What a tool works with. */
export interface TeamCall {
  readonly client: DureClient;
  /** Rooms in the name of the person whose MCP client it is. */
  readonly rooms: RoomsClient;
  readonly signal: AbortSignal;
  /** Says how far it is; undefined where the MCP client did not ask for it. */
  readonly tell: ((what: string) => void) | undefined;
}

/** What a call of a tool is made from. */
export type TeamConnection = Pick<TeamCall, "client" | "rooms">;

/** A tool that a team offers over MCP. */
export interface TeamTool<Input = never> {
  readonly name: string;
  readonly group: ToolGroup;
  readonly description: string;
  readonly inputSchema: z.ZodType<Input>;
  /** It changes nothing. */
  readonly readsOnly: boolean;
  /** Gives what is told as JSON. */
  readonly run: (input: Input, call: TeamCall) => Promise<unknown>;
  /** Begins the same work without waiting, for a client that follows it as a task. */
  readonly begin?: (input: Input, call: TeamCall) => Promise<McpTaskState>;
}

/** Types its input by its schema. */
export function teamTool<Input>(tool: TeamTool<Input>): TeamTool {
  return tool as unknown as TeamTool;
}
