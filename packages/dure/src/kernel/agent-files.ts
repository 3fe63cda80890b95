/** Files of an agent's folder that can be changed on its page, in the order in which they are read. */
export const EDITABLE_FILES = [
  "agent.md",
  "SOUL.md",
  "AGENTS.md",
  "MEMORY.md",
  "agent.yaml",
] as const;
export type EditableFile = (typeof EDITABLE_FILES)[number];
