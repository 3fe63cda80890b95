import type { ModelMessage } from "../../models/model.ts";
import { lastTurns, type Memory, type MemoryEntry } from "./memory.ts";
import { callLines, doneNote } from "./work.ts";

/** What an agent remembers, as its model reads it. */
export interface History {
  readonly messages: readonly ModelMessage[];
  /** What was called before the oldest of them, a line each. */
  readonly before: readonly string[];
}

/**
 * The last exchanges with what the agent did in them, and what others did, as notes. `agent`:
 * `service/agent`. Pure.
 */
export function historyOf(memory: Memory, agent: string, turns: number): History {
  const { rawHistory, deeds = [] } = memory;
  const recent = lastTurns(rawHistory, turns);
  if (recent.length === 0) return { messages: [], before: [] };
  const older = rawHistory.slice(0, rawHistory.length - recent.length);
  return {
    messages: recent.flatMap((entry) => messagesOf(entry, agent)),
    // Folded, or still to be folded: then the summary does not tell what came of its calls.
    before: [...deeds, ...older.flatMap(({ work = [] }) => work.flatMap(callLines))],
  };
}

/** What was changed outside in these exchanges. Pure. */
export function deedsOf(entries: readonly MemoryEntry[]): readonly string[] {
  return entries.flatMap(({ work = [] }) => work.flatMap(({ deeds = [] }) => deeds));
}

function messagesOf(
  { role, content, files, work = [] }: MemoryEntry,
  agent: string,
): readonly ModelMessage[] {
  const done = work.flatMap((one) => {
    const isOwn = one.agent === agent;
    if (isOwn && one.messages.length > 0) return one.messages;
    return doneNote(one.deeds ?? [], isOwn ? undefined : one.agent);
  });
  if (role === "user") return [...done, { role, text: content, files }];
  return [...done, { role, text: withoutSaid(content, done) }];
}

/** An answer holds again what was said with the calls before it. */
function withoutSaid(content: string, done: readonly ModelMessage[]): string {
  const texts = done.flatMap((message) => (message.role === "assistant" ? [message.text] : []));
  const said = texts.filter(Boolean).join("\n");
  return said !== "" && content.startsWith(said) ? content.slice(said.length).trimStart() : content;
}
