/** The reference of the events of `/v1/events`, made from their schemas. */

import { z } from "zod";
import { EVENTS } from "../../packages/dure/src/wire/events.ts";
import { codeOf, MADE, tableOf } from "./markdown.ts";

/** What is read of a JSON schema. */
export interface JsonSchema {
  readonly type?: string | readonly string[];
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly anyOf?: readonly JsonSchema[];
  readonly oneOf?: readonly JsonSchema[];
  readonly allOf?: readonly JsonSchema[];
  readonly items?: JsonSchema;
  readonly properties?: Readonly<Record<string, JsonSchema>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: JsonSchema | boolean;
  readonly description?: string;
  readonly $ref?: string;
}

/** The page `events.md`. */
export function eventsPage(): string {
  const sections = Object.entries(EVENTS).flatMap(([type, { role, data }]) => [
    `## ${type}`,
    `Role: ${codeOf(role)}.`,
    membersTable(z.toJSONSchema(data) as JsonSchema),
  ]);
  return `${[
    "# Events",
    MADE,
    "What `GET /v1/events` tells, and the pages and webhooks with it. The envelope of each is " +
      "`{ id, type, at, role, data }` with the ids of its subjects. The events of one answer are in " +
      "[dure](dure.md).",
    ...sections,
  ].join("\n\n")}\n`;
}

/** The members of an object, one a line. Pure. */
export function membersTable(schema: JsonSchema): string {
  const rows = Object.entries(schema.properties ?? {}).map(([name, member]) => {
    const isNeeded = schema.required?.includes(name) === true;
    return [codeOf(isNeeded ? name : `${name}?`), codeOf(typeOf(member)), member.description ?? ""];
  });
  if (rows.length === 0) return "No members.";
  const isTold = rows.some(([, , told]) => told !== "");
  return isTold
    ? tableOf(["member", "is", ""], rows)
    : tableOf(
        ["member", "is"],
        rows.map((cells) => cells.slice(0, 2)),
      );
}

/** A type as TypeScript writes it. Pure. */
export function typeOf(schema: JsonSchema): string {
  if (schema.$ref !== undefined) return schema.$ref.split("/").at(-1)!;
  if (schema.const !== undefined) return JSON.stringify(schema.const);
  if (schema.enum !== undefined) return schema.enum.map((one) => JSON.stringify(one)).join(" | ");
  const choices = schema.anyOf ?? schema.oneOf;
  if (choices !== undefined) return [...new Set(choices.map(typeOf))].join(" | ");
  if (schema.allOf !== undefined) return schema.allOf.map(typeOf).join(" & ");
  if (schema.type === "array") return `${wrapped(typeOf(schema.items ?? {}))}[]`;
  if (schema.type === "object") return objectOf(schema);
  if (schema.type === undefined) return "unknown";
  return [schema.type].flat().join(" | ");
}

function objectOf({ properties, required = [], additionalProperties }: JsonSchema): string {
  if (properties === undefined) {
    if (typeof additionalProperties !== "object") return "object";
    return `Record<string, ${typeOf(additionalProperties)}>`;
  }
  const members = Object.entries(properties).map(
    ([name, member]) => `${name}${required.includes(name) ? "" : "?"}: ${typeOf(member)}`,
  );
  return `{ ${members.join("; ")} }`;
}

function wrapped(type: string): string {
  return type.includes(" | ") ? `(${type})` : type;
}
