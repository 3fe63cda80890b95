import type { ElicitResult } from "@modelcontextprotocol/client";

/** What a server asks in the middle of a call: a form of flat fields. */
export interface Question {
  readonly properties: Readonly<Record<string, object>>;
  readonly required?: readonly string[] | undefined;
}

type Content = NonNullable<ElicitResult["content"]>;

/**
 * Answers with the defaults that the server has given. Declines where a field that it requires has
 * none, and where it gives none at all: a bare yes is a person's. Pure.
 */
export function answerByDefaults({ properties, required = [] }: Question): ElicitResult {
  const given = Object.entries(properties).flatMap(([name, field]) =>
    "default" in field ? [[name, field.default]] : [],
  );
  const content = Object.fromEntries(given) as Content;
  const isWhole = required.every((name) => Object.hasOwn(content, name));

  return isWhole && given.length > 0 ? { action: "accept", content } : { action: "decline" };
}
