import { createHash } from "node:crypto";
import type { CallToolResult, Tool as Definition } from "@modelcontextprotocol/client";
import { z } from "zod";
import { fileResult } from "../engine/agent/file-result.ts";
import {
  NotSentError,
  tool,
  withApproval,
  type AnyTool,
  type EffectKind,
} from "../engine/agent/tool.ts";
import { DureError } from "../kernel/errors.ts";
import type { JsonObject } from "../kernel/json.ts";
import { schemaOfJson } from "../models/json-schema.ts";
import { readResult } from "./mcp-result.ts";
import { fits, type ToolRules } from "./server-spec.ts";

/** Calls a tool of a server. Throws what `McpConnection.call` throws. */
export type CallMcpTool = (
  name: string,
  input: JsonObject,
  options: { signal: AbortSignal },
) => Promise<CallToolResult>;

export const DEFAULT_TIMEOUT_MS = 60_000;
/** Characters of a description that a model reads. */
const MAX_DESCRIPTION = 2_000;
/** Source: what every provider takes as a name, see `assertToolNames`. */
const MAX_NAME = 64;

/** The name under which a model calls a tool: `server__tool`. Pure. */
export function modelNameOf(server: string, name: string): string {
  const whole = `${server}__${name.replaceAll(/[^a-zA-Z0-9_-]/g, "_")}`;
  if (whole.length <= MAX_NAME) return whole;
  const mark = createHash("sha256").update(name).digest("hex").slice(0, 8);
  return `${whole.slice(0, MAX_NAME - 9)}_${mark}`;
}

/** A tool of a server as one of dure's. */
export function toolOfServer(
  server: string,
  definition: Definition,
  rules: ToolRules,
  call: CallMcpTool,
): AnyTool {
  const { name, inputSchema } = definition;
  const [, by] = Object.entries(rules.approval ?? {}).find(([one]) => fits(name, one)) ?? [];
  const effect = by === undefined ? effectOf(definition, rules) : "once";
  const called = tool({
    description: descriptionOf(definition),
    inputSchema: schemaOfJson(inputSchema as JsonObject),
    effect,
    recover: "ask",
    timeout: rules.timeoutMs ?? DEFAULT_TIMEOUT_MS,
    execute: async (input, _context, { signal }) => {
      const { isError, value, files } = readResult(await call(name, input, { signal }));
      if (!isError) return files.length > 0 ? fileResult(value, files) : value;
      // The server has answered: what came of a once call is known, and the model reads it.
      if (effect === "once") return { failed: value };
      throw new DureError("MCP_TOOL_FAILED", failureOf(server, name, value), { class: "input" });
    },
  });
  return by === undefined ? called : withApproval(name, called, by);
}

/**
 * Stands in for a tool that the server does not have now. A call is refused; one that an earlier
 * life of the turn has made and not recorded is in the ledger, and a person is asked what came of it.
 */
export function toolThatIsNotThere(server: string, called: string): AnyTool {
  return tool({
    description: `${called} is not there now`,
    inputSchema: z.looseObject({}),
    effect: "once",
    recover: "ask",
    execute: () => {
      throw new NotSentError("MCP_TOOL_UNKNOWN", `${server} has no tool ${called} now.`);
    },
  });
}

function failureOf(server: string, name: string, value: unknown): string {
  const why = typeof value === "string" ? value : JSON.stringify(value);
  return why === "" ? `${name} of ${server} failed and did not say why.` : why;
}

/** What a call does to the outside: the team's rule, else what the tool says of itself. Pure. */
export function effectOf(definition: Definition, rules: ToolRules): EffectKind {
  const rule = Object.entries(rules.effects ?? {}).find(([pattern]) =>
    fits(definition.name, pattern),
  );
  if (rule) return rule[1];
  return definition.annotations?.readOnlyHint === true ? "none" : "once";
}

function descriptionOf({ name, title, description }: Definition): string {
  const text = description ?? title ?? name;
  return text.length <= MAX_DESCRIPTION
    ? text
    : `${text.slice(0, MAX_DESCRIPTION).toWellFormed()} …`;
}
