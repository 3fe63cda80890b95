import { LOCALES } from "../../kernel/locales.ts";
import { createHash } from "node:crypto";
import { DureError } from "../../kernel/errors.ts";
import { MAX_MESSAGE_FILES } from "../../kernel/files.ts";
import { canonicalJson } from "../../kernel/json.ts";
import { sessionIdOfKey } from "../../kernel/tenant.ts";
import { checkCallerTools } from "../caller/caller-tools.ts";
import type { TurnRequest } from "../api.ts";

/** Half of what a message may hold. */
const BACKGROUND_BYTES = 32_768;

/** Source: docs/spec/conversation §6. */
const SESSION_ID = /^[A-Za-z0-9._:@-]{1,200}$/;

/** Characters of a session's title. */
const MAX_TITLE = 60;

/** Throws what is wrong with a request. */
export function checkRequest(request: TurnRequest, bytesMost: number): void {
  checkSession(request.session);
  const { callerTools, files = [] } = request;
  if (callerTools) checkCallerTools(callerTools);
  const isMore = request.slots !== undefined || callerTools?.results !== undefined;
  if (request.message.trim() === "" && !isMore && files.length === 0) {
    throw new DureError("MESSAGE_INVALID", "The message is empty.", {
      class: "input",
      hint: "Say something, or send slots or files.",
    });
  }
  if (files.length > MAX_MESSAGE_FILES) throw tooManyFiles(files.length);
  checkText(request, bytesMost);
  checkPlace(request);
}

/** More than a message carries. */
export function tooManyFiles(count: number): DureError {
  return new DureError(
    "FILES_TOO_MANY",
    `The message has ${count} files; ${MAX_MESSAGE_FILES} are allowed.`,
    { class: "input", hint: "Send fewer at once." },
  );
}

function checkSession(session: string): void {
  if (SESSION_ID.test(session)) return;
  throw new DureError("SESSION_INVALID", `"${session.slice(0, 80)}" cannot be a session id.`, {
    class: "input",
    hint: "Use 1 to 200 characters of A-Z a-z 0-9 . _ : @ -",
  });
}

function checkText({ message, background = "" }: TurnRequest, bytesMost: number): void {
  const bytes = Buffer.byteLength(message);
  if (bytes > bytesMost) {
    throw new DureError(
      "MESSAGE_TOO_LONG",
      `The message has ${bytes} bytes; ${bytesMost} are allowed.`,
      { class: "input", hint: "Send less at once." },
    );
  }
  if (message.includes("\u0000") || !message.isWellFormed()) {
    throw new DureError(
      "MESSAGE_INVALID",
      "The message holds characters that cannot be stored (U+0000 or half of a surrogate pair).",
      { class: "input", hint: "Send plain text in UTF-8." },
    );
  }
  const before = Buffer.byteLength(background);
  if (before > BACKGROUND_BYTES) {
    throw new DureError(
      "MESSAGE_TOO_LONG",
      `The background has ${before} bytes; ${BACKGROUND_BYTES} are allowed.`,
      { class: "input", hint: "Tell less before the message." },
    );
  }
}

function checkPlace({ locale, timeZone }: TurnRequest): void {
  if (locale !== undefined && !(LOCALES as readonly string[]).includes(locale)) {
    throw new DureError("LOCALE_UNKNOWN", `The locale "${locale}" is not known.`, {
      class: "input",
      hint: `Locales are: ${LOCALES.join(", ")}.`,
    });
  }
  if (timeZone !== undefined && !isTimeZone(timeZone)) {
    throw new DureError("TIME_ZONE_UNKNOWN", `The time zone "${timeZone}" is not known.`, {
      class: "input",
      hint: "Use an IANA name such as Asia/Seoul.",
    });
  }
}

function isTimeZone(name: string): boolean {
  try {
    return new Intl.DateTimeFormat("en", { timeZone: name }).resolvedOptions().timeZone !== "";
  } catch {
    return false;
  }
}

/** The same request with the id of its session where the tenant's key was given. */
export function plainly(request: TurnRequest, tenant: string): TurnRequest {
  const isKey = tenant !== "" && request.session.startsWith(`${tenant}/`);
  return isKey ? { ...request, session: sessionIdOfKey(request.session) } : request;
}

/** The first words of a message. */
export function titleOf(message: string): string {
  const line = message.trim().split("\n")[0] ?? "";
  return line.length > MAX_TITLE ? `${line.slice(0, MAX_TITLE - 1).toWellFormed()}…` : line;
}

/** What an idempotency key stands for. */
export function hashOf(request: object): string {
  return createHash("sha256").update(canonicalJson(request)).digest("hex");
}
