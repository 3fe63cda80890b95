import { z } from "zod";
import { count, entry, shown, words, type Printed } from "./printed.ts";

/* `codex exec --json`, seen with Codex 0.169.0. Tokens are told at the end of the turn alone. */

const item = z.discriminatedUnion("type", [
  z.object({ type: z.literal("agent_message"), text: words }),
  z.object({ type: z.literal("reasoning"), text: words }),
  z.object({ type: z.literal("error"), message: words }),
  z.object({
    type: z.literal("command_execution"),
    command: words,
    aggregated_output: words,
    exit_code: z.number().nullable().catch(null).default(null),
  }),
  z.object({ type: z.literal("file_change"), changes: z.array(z.unknown()).catch([]).default([]) }),
]);
const usage = z.object({
  input_tokens: count,
  cached_input_tokens: count,
  output_tokens: count,
});
const line = z.discriminatedUnion("type", [
  z.object({ type: z.literal("thread.started") }),
  z.object({ type: z.literal("turn.started") }),
  z.object({ type: z.literal("item.started"), item: z.unknown().optional() }),
  z.object({ type: z.literal("item.updated"), item: z.unknown().optional() }),
  z.object({ type: z.literal("item.completed"), item: z.unknown().optional() }),
  z.object({ type: z.literal("turn.completed"), usage: usage.optional().catch(undefined) }),
  z.object({ type: z.literal("turn.failed"), error: z.object({ message: words }) }),
  z.object({ type: z.literal("error"), message: words }),
]);

export function readCodex(given: unknown): readonly Printed[] | undefined {
  const read = line.safeParse(given);
  if (!read.success) return undefined;
  const said = read.data;
  switch (said.type) {
    case "item.started":
      return begunOf(said.item);
    case "item.completed":
      return doneOf(said.item);
    case "turn.completed":
      return said.usage === undefined ? [] : [sumOf(said.usage)];
    case "turn.failed":
      return [{ kind: "trouble", text: said.error.message }];
    case "error":
      return [{ kind: "trouble", text: said.message }];
    default:
      return [];
  }
}

function begunOf(given: unknown): readonly Printed[] {
  const read = item.safeParse(given);
  if (read.data?.type !== "command_execution") return [];

  return [entry("tool", read.data.command, { title: "command" })];
}

function doneOf(given: unknown): readonly Printed[] {
  const read = item.safeParse(given);
  // Kinds that are not known here are shown as they are.
  if (!read.success) return [entry("result", shown(given))];
  const done = read.data;
  switch (done.type) {
    case "agent_message":
      return [entry("message", done.text)];
    case "reasoning":
      return [entry("thought", done.text)];
    case "error":
      // A remark on the way; what ends the turn comes as `turn.failed`.
      return [entry("stderr", `${done.message}\n`)];
    case "command_execution": {
      const status = done.exit_code === 0 ? "completed" : "failed";
      return [
        entry("result", done.aggregated_output, { title: done.command.slice(0, 200), status }),
      ];
    }
    case "file_change":
      return done.changes.map((change) => entry("tool", shown(change), { title: "file change" }));
  }
}

/** Its input holds what was cached, its output what was thought. */
function sumOf(used: z.infer<typeof usage>): Printed {
  const { input_tokens: input, cached_input_tokens: cached, output_tokens: output } = used;
  return { kind: "sum", tokens: { input, cached, output } };
}
