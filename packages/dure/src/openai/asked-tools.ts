import type { CallerResult, CallerTools } from "../engine/caller/caller-tools.ts";
import type { JsonObject } from "../kernel/json.ts";
import type { ToolSpec } from "../models/model.ts";
import { fieldError } from "../server/problem.ts";
import type { OpenAiChatBody } from "../wire/openai.ts";
import { notSpoken } from "./not-spoken.ts";

type Tools = NonNullable<OpenAiChatBody["tools"]>;
type Choice = OpenAiChatBody["tool_choice"];

interface ToolsBody {
  readonly tools?: Tools | null | undefined;
  readonly tool_choice?: Choice;
  readonly parallel_tool_calls?: boolean | null | undefined;
}

/** The tools of a request and what it brings of earlier calls; undefined: neither. Pure. */
export function callerToolsOf(
  body: ToolsBody,
  results: readonly CallerResult[] | undefined,
): CallerTools | undefined {
  const tools = (body.tools ?? []).map(toolOf);
  if (tools.length === 0 && results === undefined) return undefined;
  const oneAtATime = body.parallel_tool_calls === false;
  const choice = choiceOf(body.tool_choice);
  if (typeof choice === "object") assertGiven(choice.tool, tools);
  return { tools, choice, oneAtATime, results };
}

function toolOf(tool: Tools[number], index: number): ToolSpec {
  const field = `tools.${index}`;
  if (tool.type !== "function") throw notSpoken(`${field}.type`, `"${tool.type}" is not taken`);
  const { name, description, parameters, strict } = tool.function ?? tool;
  if (name === undefined) throw fieldError("REQUEST_INVALID", `${field}.name`, "is missing");

  const schema = { type: "object", properties: {}, ...parameters } as JsonObject;
  return {
    name,
    description: description ?? "",
    inputSchema: schema,
    strict: strict === true || undefined,
  };
}

function assertGiven(name: string, tools: readonly ToolSpec[]): void {
  if (tools.some((tool) => tool.name === name)) return;
  throw fieldError("REQUEST_INVALID", "tool_choice", `names "${name}", which is no tool of these`);
}

function choiceOf(choice: Choice): CallerTools["choice"] {
  if (choice === undefined || choice === null) return undefined;
  if (choice === "auto" || choice === "none" || choice === "required") return choice;
  if (typeof choice === "object" && choice.type === "function") {
    const name = choice.function?.name ?? choice.name;
    if (name !== undefined) return { tool: name };
  }
  throw notSpoken("tool_choice", "is not taken in this form");
}
