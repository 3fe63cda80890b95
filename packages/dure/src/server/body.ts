import { Socket } from "node:net";
import type { FastifyInstance, FastifyRequest } from "fastify";
import { DureError, messageOf } from "../kernel/errors.ts";
import { isObject } from "../kernel/json.ts";
import type { ServerBounds } from "./bounds.ts";
import { fieldError } from "./problem.ts";

const utf8 = new TextDecoder("utf-8", { fatal: true });

/** Bounds of the JSON in a body. */
export type JsonBounds = Pick<ServerBounds, "jsonDepth" | "jsonValues">;

/**
 * JSON from the bytes of a body. Throws `BODY_INVALID` for broken UTF-8, broken JSON, text that
 * cannot be stored; `BODY_TOO_COMPLEX`.
 */
export function parseJsonBody(bytes: Uint8Array, bounds: JsonBounds): unknown {
  assertSimple(bytes, bounds);
  const value = parse(decode(bytes));
  assertStorable(value, "");

  return value;
}

const [QUOTE, BACKSLASH, COMMA, OPEN_LIST, CLOSE_LIST, OPEN_OBJECT, CLOSE_OBJECT] =
  Buffer.from('"\\,[]{}');

/**
 * Counts levels and members before anything is made of them. Throws `BODY_TOO_COMPLEX`. Whether it
 * is JSON is for the parser to say.
 */
function assertSimple(bytes: Uint8Array, { jsonDepth, jsonValues }: JsonBounds): void {
  let depth = 0;
  let values = 0;

  for (let index = 0; index < bytes.length; index++) {
    const byte = bytes[index];
    if (byte === QUOTE) index = endOfString(bytes, index);
    else if (byte === COMMA) values += 1;
    else if (byte === CLOSE_LIST || byte === CLOSE_OBJECT) depth -= 1;
    else if (byte === OPEN_LIST || byte === OPEN_OBJECT) {
      depth += 1;
      values += 1;
    } else continue;
    if (depth > jsonDepth) throw tooComplex(`is nested deeper than ${jsonDepth} levels`);
    if (values > jsonValues) throw tooComplex(`has more than ${jsonValues} values`);
  }
}

/** Where the quote stands that ends the string; the end of the bytes when there is none. */
function endOfString(bytes: Uint8Array, start: number): number {
  for (let end = bytes.indexOf(QUOTE!, start + 1); end >= 0; end = bytes.indexOf(QUOTE!, end + 1)) {
    let backslashes = 0;
    while (bytes[end - 1 - backslashes] === BACKSLASH) backslashes += 1;
    if (backslashes % 2 === 0) return end;
  }

  return bytes.length;
}

function tooComplex(what: string): DureError {
  return new DureError("BODY_TOO_COMPLEX", `The body ${what}.`, {
    class: "input",
    hint: "Send it in parts.",
  });
}

/**
 * Refuses a body of which nothing comes for `ms` milliseconds. How long it may take in all is
 * `requestMs`, which Node looks after. The refusal reaches the reader of the body as its error, so
 * it is answered like every other.
 */
export function boundBody({ raw }: FastifyRequest, ms: number): void {
  if (
    raw.headers["content-length"] === undefined &&
    raw.headers["transfer-encoding"] === undefined
  ) {
    return;
  }

  const { socket } = raw;
  // A request without a connection of its own (`RunningTeam.request`) has all of its body already;
  // `WebHandler` bounds the body of the others.
  if (!(socket instanceof Socket)) return;

  const onTimeout = (): void => void raw.emit("error", bodyTooSlow(ms));

  const over = (): void => {
    socket.setTimeout(0);
    raw.off("timeout", onTimeout);
  };

  raw.on("timeout", onTimeout);
  raw.once("end", over);
  raw.once("close", over);
  socket.setTimeout(ms);
}

/** Nothing of a body came for so long. */
export function bodyTooSlow(ms: number): DureError {
  return new DureError("REQUEST_TOO_SLOW", `Nothing of the body came for ${ms / 1_000} s.`, {
    class: "input",
    hint: "Send it again, in one go.",
  });
}

/** Makes `parseJsonBody` the only way a body comes in. */
export function useStrictJson(app: FastifyInstance, bounds: JsonBounds): void {
  app.removeAllContentTypeParsers();
  app.addContentTypeParser(
    "application/json",
    { parseAs: "buffer" },
    async (request: FastifyRequest, bytes: Buffer) => {
      if (request.headers["content-encoding"] !== undefined) {
        throw new DureError(
          "CONTENT_TYPE_UNSUPPORTED",
          `Content-Encoding ${request.headers["content-encoding"]} is not accepted.`,
          {
            class: "input",
            hint: "Send the body uncompressed.",
          },
        );
      }

      return parseJsonBody(bytes, bounds);
    },
  );
}

/**
 * Throws `QUERY_INVALID` when the query holds broken percent-encoding, broken UTF-8 or U+0000: a
 * lenient parser would hand on other text than was sent. Throws `URL_INVALID` for U+0000 before it.
 */
export function assertUrlDecodes(url: string): void {
  const query = url.indexOf("?");
  const path = query < 0 ? url : url.slice(0, query);
  if (path.includes("%00")) {
    throw new DureError("URL_INVALID", "The address holds U+0000.", { class: "input" });
  }
  if (query < 0) return;

  let decoded: string;

  try {
    decoded = decodeURIComponent(url.slice(query + 1).replaceAll("+", " "));
  } catch (cause) {
    throw new DureError("QUERY_INVALID", "The query is not percent-encoded UTF-8.", {
      class: "input",
      hint: "Encode it with encodeURIComponent.",
      cause,
    });
  }

  if (decoded.includes("\u0000")) {
    throw new DureError("QUERY_INVALID", "The query holds U+0000.", { class: "input" });
  }
}

function decode(bytes: Uint8Array): string {
  try {
    return utf8.decode(bytes);
  } catch (cause) {
    throw new DureError("BODY_INVALID", "The body is not valid UTF-8.", {
      class: "input",
      hint: "Encode the JSON as UTF-8.",
      cause,
    });
  }
}

function parse(text: string): unknown {
  if (text.trim() === "") {
    throw new DureError("BODY_INVALID", "The body is empty.", {
      class: "input",
      hint: "Send a JSON object.",
    });
  }
  try {
    return JSON.parse(text);
  } catch (cause) {
    // V8 quotes the text around the mistake; a person's words do not belong into logs, so only the
    // position is told.
    const position = /position \d+/.exec(messageOf(cause))?.[0];
    throw new DureError(
      "BODY_INVALID",
      `The body is not valid JSON${position ? ` (${position})` : ""}.`,
      { class: "input" },
    );
  }
}

function assertStorable(value: unknown, path: string): void {
  if (typeof value === "string") {
    if (isUnstorable(value)) {
      throw fieldError("BODY_INVALID", path, "holds U+0000 or half of a surrogate pair");
    }

    return;
  }

  if (!Array.isArray(value) && !isObject(value)) return;

  for (const [key, member] of Object.entries(value)) {
    if (key === "__proto__" || isUnstorable(key)) {
      throw fieldError("BODY_INVALID", path, "holds a key that cannot be stored");
    }
    assertStorable(member, path === "" ? key : `${path}.${key}`);
  }
}

function isUnstorable(text: string): boolean {
  return text.includes("\u0000") || !text.isWellFormed();
}
