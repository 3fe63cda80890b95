import { z } from "zod";
import { count, entry, shown, words, type Printed } from "./printed.ts";

/*
 * `gemini --output-format stream-json`, seen with Gemini CLI 0.61.0. Tokens are told at the end
 * alone.
 */

const stats = z.object({ input_tokens: count, cached: count, output_tokens: count });
const problem = z.object({ message: words }).catch({ message: "" });
const line = z.discriminatedUnion("type", [
  z.object({ type: z.literal("init") }),
  z.object({ type: z.literal("message"), role: words, content: words }),
  z.object({ type: z.literal("tool_use"), tool_name: words, parameters: z.unknown().optional() }),
  z.object({
    type: z.literal("tool_result"),
    status: words,
    output: z.unknown().optional(),
    error: z.unknown().optional(),
  }),
  z.object({ type: z.literal("error"), message: words }),
  z.object({
    type: z.literal("result"),
    status: words,
    error: problem.optional(),
    stats: stats.optional().catch(undefined),
  }),
]);

export function readGemini(given: unknown): readonly Printed[] | undefined {
  const read = line.safeParse(given);
  if (!read.success) return undefined;
  const said = read.data;
  switch (said.type) {
    case "init":
      return [];
    case "message":
      return said.role === "assistant" ? [entry("message", said.content)] : [];
    case "tool_use":
      return [entry("tool", shown(said.parameters), { title: said.tool_name })];
    case "tool_result": {
      const text = [shown(said.output), shown(said.error)].filter(Boolean).join("\n");
      return [
        entry("result", text, { status: said.status === "success" ? "completed" : "failed" }),
      ];
    }
    case "error":
      return [{ kind: "trouble", text: said.message }];
    case "result":
      return endOf(said);
  }
}

function endOf(said: {
  readonly error?: z.infer<typeof problem> | undefined;
  readonly stats?: z.infer<typeof stats> | undefined;
}): readonly Printed[] {
  const { error, stats: used } = said;
  const printed: Printed[] = error === undefined ? [] : [{ kind: "trouble", text: error.message }];
  if (used === undefined) return printed;
  const tokens = { input: used.input_tokens, cached: used.cached, output: used.output_tokens };

  return [...printed, { kind: "sum", tokens }];
}
