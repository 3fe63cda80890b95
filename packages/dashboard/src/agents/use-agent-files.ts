import { useQueryClient } from "@tanstack/react-query";
import type { AgentFiles } from "dure/client";
import { ROOM_KEYS } from "../rooms/room-data.ts";

/** A file of an agent as the server has it. */
export type ListedAgentFile = AgentFiles["files"][number];

export const fileKeys = (agent: string) => ({
  files: ["agent files", agent] as const,
  edits: ["agent edits", agent] as const,
});

/** What was changed is read again, in every part of the page. */
export function useReadAgain(agent: string): () => Promise<void> {
  const queries = useQueryClient();
  const { files, edits } = fileKeys(agent);
  return async () => {
    const keys = [files, edits, [...ROOM_KEYS.agents]];
    await Promise.all(keys.map((queryKey) => queries.invalidateQueries({ queryKey })));
  };
}
