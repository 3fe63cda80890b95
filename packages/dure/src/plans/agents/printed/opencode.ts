import { z } from "zod";
import { count, entry, money, shown, words, type Printed } from "./printed.ts";

/* `opencode run --format json`, seen with opencode 1.18.33. */

const tokens = z.object({
  input: count,
  output: count,
  reasoning: count,
  cache: z.object({ read: count, write: count }).catch({ read: 0, write: 0 }),
});
const state = z.object({
  status: words,
  input: z.unknown().optional(),
  output: z.unknown().optional(),
  error: z.unknown().optional(),
});
const line = z.discriminatedUnion("type", [
  z.object({ type: z.literal("step_start") }),
  z.object({ type: z.literal("text"), part: z.object({ text: words }) }),
  z.object({ type: z.literal("reasoning"), part: z.object({ text: words }) }),
  z.object({ type: z.literal("tool_use"), part: z.object({ tool: words, state }) }),
  z.object({ type: z.literal("step_finish"), part: z.object({ id: words, tokens, cost: money }) }),
  z.object({ type: z.literal("error"), error: z.unknown().optional() }),
]);

export function readOpencode(given: unknown): readonly Printed[] | undefined {
  const read = line.safeParse(given);
  if (!read.success) return undefined;
  const said = read.data;
  switch (said.type) {
    case "step_start":
      return [];
    case "text":
      return [entry("message", said.part.text)];
    case "reasoning":
      return [entry("thought", said.part.text)];
    case "tool_use":
      return toolOf(said.part);
    case "step_finish":
      return [callOf(said.part)];
    case "error":
      return [{ kind: "trouble", text: shown(said.error) }];
  }
}

/** A tool is told when it has ended. */
function toolOf(used: {
  readonly tool: string;
  readonly state: z.infer<typeof state>;
}): readonly Printed[] {
  const { status, input, output, error } = used.state;
  const text = [shown(output), shown(error)].filter(Boolean).join("\n");

  return [
    entry("tool", shown(input), { title: used.tool }),
    entry("result", text, { title: used.tool, status }),
  ];
}

function callOf(step: {
  readonly id: string;
  readonly tokens: z.infer<typeof tokens>;
  readonly cost?: number | undefined;
}): Printed {
  const { input, output, reasoning, cache } = step.tokens;
  return {
    kind: "call",
    id: step.id === "" ? undefined : step.id,
    tokens: {
      input: input + cache.read + cache.write,
      cached: cache.read,
      output: output + reasoning,
    },
    usd: step.cost,
  };
}
