import { existsSync } from "node:fs";
import path from "node:path";
import { DureError } from "../../kernel/errors.ts";
import { isObject, type JsonObject } from "../../kernel/json.ts";

/** The value of an option that may be absent. */
export function optional<Value>(
  text: string | undefined,
  read: (text: string) => Value,
): Value | undefined {
  return text === undefined ? undefined : read(text);
}

/** A whole number from the command line. Throws `NUMBER_INVALID`. */
export function wholeNumber(text: string): number {
  if (/^\d{1,6}$/.test(text)) return Number(text);
  throw new DureError("NUMBER_INVALID", `"${text}" is no whole number.`, {
    class: "input",
    hint: "Write digits alone.",
  });
}

/** A JSON object from the command line. Throws `JSON_INVALID`. */
export function jsonObject(text: string): JsonObject {
  try {
    const read: unknown = JSON.parse(text);
    if (isObject(read)) return read as JsonObject;
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
  }
  throw new DureError("JSON_INVALID", `"${text.slice(0, 200)}" is no JSON object.`, {
    class: "input",
    hint: `Write names and values, in quotes for the shell: '{"amount":30000}'.`,
  });
}

/** The parts of a list with commas. Pure. */
export function partsOfList(text: string): string[] {
  const parts = text.split(",").map((part) => part.trim());
  return parts.filter((part) => part !== "");
}

/**
 * A repository as a person at a terminal names it: a path from their own folder, as a whole path.
 * A word that is no folder here is handed on as it is; the server knows its repositories by name.
 */
export function repositoryFrom(text: string): string {
  const isPath = /[/\\]|^\.{1,2}$/.test(text);
  return isPath || existsSync(text) ? path.resolve(text) : text;
}
