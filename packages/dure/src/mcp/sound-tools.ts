import type { Tool as Definition, Transport } from "@modelcontextprotocol/client";
import { isObject, onlyDefined } from "../kernel/json.ts";
import { readToolSchema } from "../models/tool-schema.ts";

/** Member of a definition's `_meta` that says why it is no tool. */
const FAULT = "dure/fault";
/** Characters of a name. As of other names of a server: see `offer-tools.ts`. */
const MAX_NAME = 2_000;
const NAMELESS = "(nameless)";

/**
 * From now on each definition that the server lists is one that can be read, so that a faulty one
 * does not cost the whole list: it has a fault instead (`faultOf`). Call it once the transport is
 * connected.
 */
export function isolateTools(transport: Transport): void {
  const deliver = transport.onmessage;
  const onmessage: Transport["onmessage"] = (message, extra) =>
    deliver?.(withSoundTools(message), extra);
  Object.assign(transport, { onmessage });
}

/** A result with `tools`; no other one that is asked for has them. */
function withSoundTools<Message extends object>(message: Message): Message {
  const { result } = message as { readonly result?: unknown };
  if (!isObject(result) || !Array.isArray(result["tools"])) return message;

  return { ...message, result: { ...result, tools: result["tools"].map(soundTool) } };
}

/**
 * A definition with what dure reads of it. Its `outputSchema` is none of that: a result that does
 * not fit it is the result of a call that was made. Pure.
 */
function soundTool(given: unknown): Definition {
  const { name, title, description, inputSchema, annotations } = isObject(given) ? given : {};
  if (typeof name !== "string" || name === "") return faulty(NAMELESS, "it has no name");
  if (name.length > MAX_NAME) {
    return faulty(name.slice(0, 100), `its name has more than ${MAX_NAME} characters`);
  }
  const read = readToolSchema(inputSchema);
  if (!read.ok) return faulty(name, read.because);
  const isReadOnly = isObject(annotations) && annotations["readOnlyHint"] === true;

  return {
    name,
    inputSchema: read.schema as Definition["inputSchema"],
    ...onlyDefined({
      title: textOf(title),
      description: textOf(description),
      annotations: isReadOnly ? { readOnlyHint: true } : undefined,
    }),
  };
}

/** Why a definition is no tool; undefined: it is one. */
export function faultOf({ _meta }: Definition): string | undefined {
  const fault = _meta?.[FAULT];
  return typeof fault === "string" ? fault : undefined;
}

function faulty(name: string, because: string): Definition {
  return { name, inputSchema: { type: "object" }, _meta: { [FAULT]: because } };
}

function textOf(value: unknown): string | undefined {
  return typeof value === "string" && value !== "" ? value.toWellFormed() : undefined;
}
