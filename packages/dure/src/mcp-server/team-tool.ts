import type { z } from "zod";
import type { DureClient } from "../client/index.ts";
import type { RoomsClient } from "../client/rooms.ts";

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

/** What a tool works with. */
export interface TeamCall {
  readonly client: DureClient;
  /** Rooms in the name of the person whose MCP client it is. */
  readonly rooms: RoomsClient;
  readonly signal: AbortSignal;
}

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
}

/** Types its input by its schema. */
export function teamTool<Input>(tool: TeamTool<Input>): TeamTool {
  return tool as unknown as TeamTool;
}
