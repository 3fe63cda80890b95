import { z } from "zod";
import { count, entry, money, shown, words, type Printed, type Tokens } from "./printed.ts";

/*
 * `claude -p --output-format stream-json --verbose`, and Qwen Code, which prints the same. Seen with
 * Claude Code 2.1.330 and Qwen Code 0.24.4. A message comes in several lines, one for each part,
 * with the same `id` and the same usage.
 */

const usage = z.object({
  input_tokens: count,
  output_tokens: count,
  cache_creation_input_tokens: count,
  cache_read_input_tokens: count,
});
const part = z.discriminatedUnion("type", [
  z.object({ type: z.literal("text"), text: words }),
  z.object({ type: z.literal("thinking"), thinking: words }),
  z.object({ type: z.literal("tool_use"), name: words, input: z.unknown().optional() }),
  z.object({
    type: z.literal("tool_result"),
    content: z.unknown().optional(),
    is_error: z.boolean().catch(false).default(false),
  }),
]);
type PrintedPart = z.infer<typeof part>;
const parts = z
  .union([z.string(), z.array(z.unknown())])
  .transform((content) =>
    typeof content === "string"
      ? [{ type: "text" as const, text: content }]
      : content.flatMap((one) => part.safeParse(one).data ?? []),
  );
const line = z.discriminatedUnion("type", [
  z.object({ type: z.literal("system") }),
  z.object({ type: z.literal("stream_event") }),
  z.object({ type: z.literal("rate_limit_event") }),
  z.object({
    type: z.literal("assistant"),
    message: z.object({
      id: z.string().optional().catch(undefined),
      content: parts,
      usage: usage.optional().catch(undefined),
    }),
  }),
  z.object({ type: z.literal("user"), message: z.object({ content: parts }) }),
  z.object({
    type: z.literal("result"),
    is_error: z.boolean().catch(false).default(false),
    result: words,
    usage: usage.optional().catch(undefined),
    total_cost_usd: money,
  }),
]);

export function readClaude(given: unknown): readonly Printed[] | undefined {
  // The last line of some versions has no type.
  const last = z.object({ total_cost_usd: z.number() }).safeParse(given).success;
  const read = line.safeParse(last ? { ...(given as object), type: "result" } : given);
  if (!read.success) return undefined;
  const said = read.data;
  switch (said.type) {
    case "assistant":
      return [...said.message.content.flatMap(entryOf), ...callOf(said.message)];
    case "user":
      // Words of the person are the prompt, which the transcript has.
      return said.message.content.filter(({ type }) => type === "tool_result").flatMap(entryOf);
    case "result":
      return endOf(said);
    default:
      return [];
  }
}

function entryOf(one: PrintedPart): readonly Printed[] {
  switch (one.type) {
    case "text":
      return [entry("message", one.text)];
    case "thinking":
      return [entry("thought", one.thinking)];
    case "tool_use":
      return [entry("tool", shown(one.input), { title: one.name })];
    case "tool_result":
      return [
        entry("result", textOf(one.content), { status: one.is_error ? "failed" : "completed" }),
      ];
  }
}

function callOf(message: {
  readonly id?: string | undefined;
  readonly usage?: z.infer<typeof usage> | undefined;
}): readonly Printed[] {
  if (message.usage === undefined) return [];
  return [{ kind: "call", id: message.id, tokens: tokensOf(message.usage) }];
}

function endOf(said: {
  readonly is_error: boolean;
  readonly result: string;
  readonly usage?: z.infer<typeof usage> | undefined;
  readonly total_cost_usd?: number | undefined;
}): readonly Printed[] {
  const trouble: Printed[] = said.is_error ? [{ kind: "trouble", text: said.result }] : [];
  if (said.usage === undefined) return trouble;

  return [...trouble, { kind: "sum", tokens: tokensOf(said.usage), usd: said.total_cost_usd }];
}

function tokensOf(used: z.infer<typeof usage>): Tokens {
  const cached = used.cache_creation_input_tokens + used.cache_read_input_tokens;
  return { input: used.input_tokens + cached, output: used.output_tokens };
}

/** A tool answers with text, or with parts that may be text. */
function textOf(content: unknown): string {
  if (!Array.isArray(content)) return shown(content);
  return content
    .map((one) => z.object({ text: z.string() }).safeParse(one).data?.text ?? shown(one))
    .join("\n");
}
