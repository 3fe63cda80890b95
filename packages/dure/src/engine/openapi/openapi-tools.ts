import type { Duration } from "../../kernel/duration.ts";
import { DureError } from "../../kernel/errors.ts";
import { isObject, type JsonObject } from "../../kernel/json.ts";
import { tool, type AnyTool, type ToolOptions } from "../agent/tool.ts";
import { unknownOption } from "../../kernel/known-options.ts";
import { readDocument, type OpenApiDocument } from "./document.ts";
import { inputOf } from "./input.ts";
import { operationsOf, Unfit, type LeftOutOperation, type Operation } from "./operations.ts";
import { send, type RequestSite } from "./request.ts";
import { textOf } from "./text-of.ts";

/** Which operations become tools, and how they are called. */
export interface OpenApiOptions {
  /** Ids of operations; `*` stands for any letters. Default: all. */
  readonly only?: readonly string[] | undefined;
  readonly auth?: OpenApiAuth | undefined;
  /** The operations of which each call needs a person's yes: all that write, or by their ids. */
  readonly approvals?: boolean | readonly string[] | Approvals | undefined;
  /** Default: the first server of the document; it must be at the document's own origin. */
  readonly baseUrl?: string | undefined;
  /** How long one call may take. Default 30 s. */
  readonly timeout?: Duration | undefined;
  /** Gets the operations that cannot be tools. Default: they are an error. */
  readonly onLeftOut?: ((operation: LeftOutOperation) => void) | undefined;
}

/** Give values of the environment: `{ bearer: process.env.SHOP_TOKEN }`. */
export type OpenApiAuth =
  | { readonly bearer: string | undefined }
  | { readonly header: string; readonly value: string | undefined }
  | { readonly basic: { readonly user: string; readonly password: string | undefined } };

/** By pattern of operations; the first that fits counts. */
export type Approvals = Readonly<Record<string, OperationApproval>>;
type OperationApproval = NonNullable<ToolOptions<JsonObject, unknown>["approval"]>;

const OPTIONS = {
  only: true,
  auth: true,
  approvals: true,
  baseUrl: true,
  timeout: true,
  onLeftOut: true,
} satisfies Record<keyof OpenApiOptions, true>;

/**
 * The operations of an OpenAPI document (3.0, 3.1) as tools, by their names. GET and HEAD only read;
 * every other is a `once` effect. It carries the effect's key where the operation declares a header
 * `Idempotency-Key`, and is then repeated after a crash; without one, a person is asked what came of
 * it. Throws `OPENAPI_INVALID`, `OPENAPI_AUTH_MISSING`.
 *
 *     const tools = await openapiTools("https://shop.example/openapi.json", {
 *       only: ["getOrder", "refund*"],
 *       auth: { bearer: process.env.SHOP_TOKEN },
 *       approvals: ["refund*"],
 *     });
 */
export async function openapiTools(
  source: string | URL | object,
  options: OpenApiOptions = {},
): Promise<Record<string, AnyTool>> {
  const wrong = unknownOption(options, OPTIONS);
  if (wrong) {
    throw new DureError("OPENAPI_INVALID", wrong.message, { class: "input", hint: wrong.hint });
  }
  const headers = headersOf(options.auth);
  const document = await readDocument(source);
  const { only } = options;
  const isWanted = (id: string): boolean => only?.some((pattern) => fits(id, pattern)) ?? true;
  const { operations, leftOut } = operationsOf(document, isWanted);
  const tools: Record<string, AnyTool> = {};
  const unfit = [...leftOut];

  for (const operation of operations) {
    try {
      tools[operation.name] = toolOf(operation, document, { options, headers });
    } catch (error) {
      if (!(error instanceof Unfit)) throw error;
      unfit.push({ operation: operation.id, because: error.message });
    }
  }
  tell(unfit, options);
  assertFound(only, [...operations.map(({ id }) => id), ...leftOut.map((one) => one.operation)]);

  return tools;
}

interface Making {
  readonly options: OpenApiOptions;
  readonly headers: Readonly<Record<string, string>>;
}

function toolOf(
  operation: Operation,
  document: OpenApiDocument,
  { options, headers }: Making,
): AnyTool {
  const { approvals, timeout } = options;
  const input = inputOf(document, operation);
  const isReading = operation.method === "get" || operation.method === "head";
  const approval = approvalOf(operation.id, approvals, isReading);
  const base = baseOf(operation, document, options.baseUrl);
  const site: RequestSite = { base, headers, secrets: secretsOf(options.auth) };
  return tool({
    description: operation.description,
    jsonSchema: input.schema,
    effect: isReading && !approval ? "none" : "once",
    recover: input.keyHeader || isReading ? "replay" : "ask",
    approval,
    timeout,
    execute: (args, { key }, { signal }) => send(site, { operation, input }, { args, key, signal }),
  });
}

function approvalOf(
  id: string,
  approvals: OpenApiOptions["approvals"] = false,
  isReading: boolean,
): OperationApproval {
  if (typeof approvals === "boolean") return approvals && !isReading;
  if (isList(approvals)) return approvals.some((pattern) => fits(id, pattern));
  return Object.entries(approvals).find(([pattern]) => fits(id, pattern))?.[1] ?? false;
}

function isList(value: readonly string[] | Approvals): value is readonly string[] {
  return Array.isArray(value);
}

/** Whether an id fits a pattern in which `*` stands for any letters. */
function fits(id: string, pattern: string): boolean {
  const parts = pattern.split("*");
  if (parts.length === 1) return id === pattern;
  const [first, ...rest] = parts;
  const last = rest.pop()!;
  if (!id.startsWith(first!) || id.length < first!.length + last.length) return false;
  let at = first!.length;
  for (const part of rest) {
    const found = id.indexOf(part, at);
    if (found < 0) return false;
    at = found + part.length;
  }
  return id.endsWith(last) && id.length - last.length >= at;
}

/** What is named and not there is a mistake, not a wish for less. */
function assertFound(only: readonly string[] = [], ids: readonly string[]): void {
  const lost = only.find((pattern) => !ids.some((id) => fits(id, pattern)));
  if (lost === undefined) return;
  throw new DureError("OPENAPI_INVALID", `The document has no operation "${lost}".`, {
    class: "input",
    hint: `It has ${ids.slice(0, 20).join(", ") || "none that fits"}.`,
  });
}

function tell(unfit: readonly LeftOutOperation[], { onLeftOut }: OpenApiOptions): void {
  if (onLeftOut) return unfit.forEach(onLeftOut);
  if (unfit.length === 0) return;
  const lines = unfit.slice(0, 10).map(({ operation, because }) => `${operation}: ${because}`);
  throw new DureError(
    "OPENAPI_INVALID",
    `${unfit.length} of the operations cannot be tools: ${lines.join("; ")}.`,
    { class: "input", hint: "Name the others in only, or give onLeftOut, which gets each." },
  );
}

// --- where requests go, and with which key

/**
 * A document that was read from an address does not send a key, or what a model says, elsewhere: it
 * may be written by others.
 */
function baseOf(operation: Operation, document: OpenApiDocument, given: string | undefined): URL {
  const { url } = document;
  const written = given ?? serverUrl(operation.server) ?? url?.origin;
  const base = written === undefined ? null : URL.parse(written, url?.href);
  if (!base || !/^https?:$/.test(base.protocol)) {
    throw new DureError("OPENAPI_INVALID", "The document names no address of its server.", {
      class: "input",
      hint: 'Give baseUrl, such as "https://shop.example/v1".',
    });
  }
  if (given === undefined && url && base.origin !== url.origin) {
    throw new DureError(
      "OPENAPI_INVALID",
      `The document at ${url.origin} names a server at ${base.origin}.`,
      {
        class: "forbidden",
        hint: `If that is right, give baseUrl: "${base.origin}${base.pathname}".`,
      },
    );
  }
  return base;
}

/** With the usual values in the place of its variables. */
function serverUrl(server: Operation["server"]): string | undefined {
  const variables = server?.["variables"];
  return textOf(server?.["url"])?.replaceAll(/\{([^{}]*)\}/g, (whole, name: string) => {
    const variable = isObject(variables) ? variables[name] : undefined;
    return (isObject(variable) ? textOf(variable["default"]) : undefined) ?? whole;
  });
}

function headersOf(auth: OpenApiAuth | undefined): Readonly<Record<string, string>> {
  if (auth === undefined) return {};
  if ("bearer" in auth) return { authorization: `Bearer ${valueOf(auth.bearer, "bearer")}` };
  if ("header" in auth) return { [auth.header]: valueOf(auth.value, auth.header) };
  const { user, password } = auth.basic;
  const pair = Buffer.from(`${user}:${valueOf(password, "basic")}`).toString("base64");
  return { authorization: `Basic ${pair}` };
}

function secretsOf(auth: OpenApiAuth | undefined): readonly string[] {
  if (auth === undefined) return [];
  const value =
    "bearer" in auth ? auth.bearer : "header" in auth ? auth.value : auth.basic.password;
  const sent = Object.values(headersOf(auth)).map((text) => text.replace(/^\w+ /, ""));
  return [value, ...sent].filter((secret) => secret !== undefined && secret !== "") as string[];
}

function valueOf(value: string | undefined, what: string): string {
  if (value !== undefined && value !== "") return value;
  throw new DureError("OPENAPI_AUTH_MISSING", `The auth of openapiTools has no value: ${what}.`, {
    class: "unavailable",
    hint: "Set the variable of the environment that it is read from.",
  });
}
