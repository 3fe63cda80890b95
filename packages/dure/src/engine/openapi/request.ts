import { DureError } from "../../kernel/errors.ts";
import { fetchAtOrigin } from "../../kernel/fetch-at-origin.ts";
import { isObject, type Json, type JsonObject } from "../../kernel/json.ts";
import { NotSentError } from "../agent/tool.ts";
import type { OperationInput } from "./input.ts";
import type { Operation } from "./operations.ts";
import { readBounded } from "./read-bounded.ts";

/** Where requests go and with which key. */
export interface RequestSite {
  /** With its path, without a slash at its end. */
  readonly base: URL;
  readonly headers: Readonly<Record<string, string>>;
  /** What no error may show. */
  readonly secrets: readonly string[];
}

/** Bytes of an answer that are read. */
const MAX_ANSWER = 1_048_576;
/** Characters of a refusal that a model reads. */
const MAX_REFUSAL = 2_000;
/** Refusals after which something may have been done, or may still be. Source: RFC 9110, §15.5. */
const UNCERTAIN: ReadonlySet<number> = new Set([408, 409, 425]);

/**
 * One request; never to another origin. A refusal is a `NotSentError`: nothing was done. Other
 * failures leave open what was done.
 */
export async function send(
  site: RequestSite,
  about: { readonly operation: Operation; readonly input: OperationInput },
  { args, key, signal }: { args: JsonObject; key: string; signal: AbortSignal },
): Promise<Json> {
  const { operation, input } = about;
  const url = urlOf(site.base, operation.path, input, args);
  const headers = new Headers({ accept: "application/json", ...headersOf(input, args) });
  if (input.keyHeader) headers.set(input.keyHeader, key);
  const body = bodyOf(operation, args["body"]);
  if (body) headers.set("content-type", operation.body!.type);
  for (const [name, value] of Object.entries(site.headers)) headers.set(name, value);

  const method = operation.method.toUpperCase();
  const response = await fetchAtOrigin(url, { method, headers, body: body ?? null, signal });
  const answer = await readAnswer(response);
  if (response.ok) return answer ?? { status: response.status };

  throw failureOf(site, `${method} ${operation.path}`, response.status, answer);
}

function failureOf({ secrets }: RequestSite, what: string, status: number, answer: Json): Error {
  const said = typeof answer === "string" ? answer : JSON.stringify(answer ?? "");
  const clean = secrets.reduce((text, secret) => text.replaceAll(secret, "[secret]"), said);
  const message = `${what} answered ${status}: ${clean.slice(0, MAX_REFUSAL).toWellFormed()}`;
  if (status >= 400 && status < 500 && !UNCERTAIN.has(status)) {
    return new NotSentError("OPENAPI_REFUSED", message);
  }
  return new DureError("OPENAPI_FAILED", message, { class: "unavailable" });
}

async function readAnswer(response: Response): Promise<Json> {
  const { bytes, isCut } = await readBounded(response, MAX_ANSWER);
  const text = bytes.toString("utf8");
  const isJson = /\bjson\b/i.test(response.headers.get("content-type") ?? "");
  if (text.trim() === "") return null;
  if (isCut) return `${text}\n[cut: the first ${MAX_ANSWER} bytes]`;
  return isJson ? jsonOr(text) : text;
}

function jsonOr(text: string): Json {
  try {
    return JSON.parse(text) as Json;
  } catch {
    return text;
  }
}

// --- arguments as parts of a request

function urlOf(base: URL, path: string, input: OperationInput, args: JsonObject): URL {
  const { parameters } = input;
  const filled = path.replaceAll(/\{([^{}]*)\}/g, (_, name: string) => {
    const found = parameters.find((one) => one.in === "path" && one.name === name);
    return segmentOf(name, found && args[found.argument]);
  });
  const query = new URLSearchParams(base.search);
  for (const one of parameters) {
    const value = args[one.argument];
    if (one.in !== "query" || value === undefined) continue;
    for (const [name, text] of queryOf(one, value)) query.append(name, text);
  }
  const url = new URL(base);
  url.pathname = `${base.pathname.replace(/\/+$/, "")}${filled}`;
  url.search = query.toString();
  return url;
}

/** One segment of a path: an argument does not lead out of it. */
function segmentOf(name: string, value: Json | undefined): string {
  const text = [value].flat().map(plain).join(",");
  if (text === "" || /^\.{1,2}$/.test(text)) {
    throw new NotSentError("OPENAPI_REFUSED", `"${text}" cannot stand for ${name} in the path.`);
  }
  return encodeURIComponent(text);
}

const SEPARATORS: Readonly<Record<string, string>> = { spaceDelimited: " ", pipeDelimited: "|" };

/** Source: OpenAPI 3.1.1, "Style Values". */
function queryOf(
  { name, style, explode, isJson }: OperationInput["parameters"][number],
  value: Json,
): readonly (readonly [string, string])[] {
  if (isJson) return [[name, JSON.stringify(value)]];
  if (style === "deepObject") return bracketed(name, value);
  if (Array.isArray(value)) {
    if (explode) return value.map((one) => [name, plain(one)] as const);
    return [[name, value.map(plain).join(SEPARATORS[style] ?? ",")]];
  }
  if (!isObject(value)) return [[name, plain(value)]];
  const members = Object.entries(value);
  if (explode) return members.map(([key, one]) => [key, plain(one)] as const);
  return [[name, members.flatMap(([key, one]) => [key, plain(one)]).join(",")]];
}

/** `a[b]=c`, at every depth. */
function bracketed(name: string, value: Json | undefined): readonly (readonly [string, string])[] {
  if (value === undefined) return [];
  if (Array.isArray(value)) return value.flatMap((one, at) => bracketed(`${name}[${at}]`, one));
  if (!isObject(value)) return [[name, plain(value)]];
  return Object.entries(value).flatMap(([key, one]) => bracketed(`${name}[${key}]`, one));
}

function plain(value: Json | undefined): string {
  if (value === undefined || value === null) return "";
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}

function headersOf({ parameters }: OperationInput, args: JsonObject): Record<string, string> {
  const given = parameters.filter((one) => one.in === "header" && args[one.argument] !== undefined);
  return Object.fromEntries(
    given.map((one) => [one.name, oneLine([args[one.argument]].flat().map(plain).join(","))]),
  );
}

/** A header ends at a line's end. */
function oneLine(text: string): string {
  return text.replaceAll(/[^\t\x20-\x7e\x80-\xff]/g, " ");
}

function bodyOf(operation: Operation, value: Json | undefined): string | undefined {
  if (operation.body === undefined || value === undefined) return undefined;
  if (!/urlencoded/i.test(operation.body.type)) return JSON.stringify(value);
  const members = isObject(value) ? Object.entries(value) : [];
  const pairs = members.flatMap(([name, one]) => bracketed(name, one));
  return new URLSearchParams(pairs.map(([name, text]) => [name, text])).toString();
}
