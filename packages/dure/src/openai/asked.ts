import { fieldError } from "../server/problem.ts";
import type { DureError } from "../kernel/errors.ts";
import { isObject } from "../kernel/json.ts";
import type { OpenAiChatBody, OpenAiResponseBody } from "../wire/openai.ts";

/** A request of OpenAI's API in dure's words. */
export interface AskedTurn {
  readonly service: string;
  readonly message: string;
  /** Told to the agents as quoted data of this turn alone. */
  readonly background: string | undefined;
  /** The session that the caller named; undefined: a new one. */
  readonly session: string | undefined;
  /** The answer that it goes on from, where no session is named. */
  readonly previous: string | undefined;
  readonly stream: boolean;
  readonly includeUsage: boolean;
}

interface Words {
  readonly role: string;
  readonly text: string;
}

/** Pure. Throws what cannot be asked in this way. Source: docs/spec/interop §3. */
export function chatAsked(body: OpenAiChatBody): AskedTurn {
  assertSpoken(body);
  const words = body.messages.map(({ role, content }, index) => ({
    role,
    text: textOf(content ?? "", `messages.${index}.content`),
  }));
  const session = body.user ?? undefined;

  return {
    ...lastWords(words, "messages", session !== undefined),
    service: body.model,
    session,
    previous: undefined,
    stream: body.stream === true,
    includeUsage: body.stream_options?.include_usage === true,
  };
}

/** Pure. Throws what cannot be asked in this way. Source: docs/spec/interop §3. */
export function responseAsked(body: OpenAiResponseBody): AskedTurn {
  assertSpoken(body);
  const { conversation, previous_response_id: previous, user } = body;
  const named = typeof conversation === "string" ? conversation : conversation?.id;
  const session = named ?? (previous ? undefined : (user ?? undefined));
  const told: Words[] = body.instructions ? [{ role: "system", text: body.instructions }] : [];
  const goesOn = session !== undefined || Boolean(previous);

  return {
    ...lastWords([...told, ...inputWords(body.input)], "input", goesOn),
    service: body.model,
    session,
    previous: previous ?? undefined,
    stream: body.stream === true,
    includeUsage: true,
  };
}

function inputWords(input: OpenAiResponseBody["input"]): readonly Words[] {
  if (typeof input === "string") return [{ role: "user", text: input }];

  return input.map(({ type = "message", role = "", content = "" }, index) => {
    if (type !== "message") throw notSpoken(`input.${index}.type`, `"${type}" is not taken`);
    return { role, text: textOf(content, `input.${index}.content`) };
  });
}

/**
 * The last message is what is said. Those before it are told as background: of a session that goes
 * on the caller's instructions alone, for it remembers the rest.
 */
function lastWords(
  words: readonly Words[],
  field: string,
  goesOn: boolean,
): Pick<AskedTurn, "message" | "background"> {
  const last = words.at(-1);
  if (last?.role !== "user") {
    throw fieldError("REQUEST_INVALID", field, "does not end with a message of the user");
  }

  const before = words.slice(0, -1).filter(({ role }) => !goesOn || isInstruction(role));
  const told = before.map(({ role, text }) => `${role}: ${text}`).join("\n\n");

  return { message: last.text, background: told === "" ? undefined : told };
}

function isInstruction(role: string): boolean {
  return role === "system" || role === "developer";
}

type Content = NonNullable<OpenAiChatBody["messages"][number]["content"]>;

function textOf(content: Content, field: string): string {
  if (typeof content === "string") return content;

  const pieces = content.map(({ type, text }) => {
    if (TEXT_PARTS.has(type) && text !== undefined) return text;
    throw notSpoken(field, `a part of the type "${type}" is not taken; only text is`);
  });

  return pieces.join("\n");
}

const TEXT_PARTS: ReadonlySet<string> = new Set(["text", "input_text", "output_text"]);

type IsWanted = (value: unknown) => boolean;

const isFilled: IsWanted = (value) => Array.isArray(value) && value.length > 0;
const isOtherFormat: IsWanted = (value) => isObject(value) && value["type"] !== "text";

/** What the service behind a model does not do for its caller. */
const NOT_SPOKEN: Readonly<Record<string, IsWanted>> = {
  tools: isFilled,
  functions: isFilled,
  n: (value) => value !== 1,
  response_format: isOtherFormat,
  text: (value) => isObject(value) && isOtherFormat(value["format"]),
  modalities: (value) => Array.isArray(value) && value.includes("audio"),
  logprobs: (value) => value === true,
  background: (value) => value === true,
};

/** Refused rather than passed over: the answer would not be what was asked for. */
function assertSpoken(body: Readonly<Record<string, unknown>>): void {
  for (const [member, isWanted] of Object.entries(NOT_SPOKEN)) {
    const value = body[member];
    if (value === undefined || value === null || !isWanted(value)) continue;
    throw notSpoken(member, "is not done here");
  }
}

function notSpoken(field: string, why: string): DureError {
  return fieldError(
    "NOT_SPOKEN",
    field,
    why,
    "The service decides its tools and the form of its answers; send text alone.",
  );
}
