import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import path from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath, pathToFileURL } from "node:url";

const require = createRequire(import.meta.url);
const PRISM = require.resolve("@stoplight/prism-cli");
const LOOPBACK_ONLY = pathToFileURL(
  fileURLToPath(new URL("loopback-only.mjs", import.meta.url)),
).href;

/** What of an OpenAPI document these tests read. */
export interface OpenApiDocument {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
}

interface Operation {
  readonly security?: readonly object[];
  readonly responses: Readonly<Record<string, { content?: Record<string, { schema: object }> }>>;
}

/** A difference between what the document says and what was sent, as Prism reports it. */
export interface Violation {
  /** Begins with `request` or `response`. */
  readonly location: readonly string[];
  readonly message: string;
}

export interface CheckedAnswer {
  readonly status: number;
  readonly headers: Headers;
  /** Parsed where it is JSON. */
  readonly body: unknown;
  readonly violations: readonly Violation[];
}

/** `GET /v1/agent/sessions/{session_id}` of everything that the document lists. */
export function operationsOf(document: OpenApiDocument): string[] {
  return Object.entries(document.paths).flatMap(([template, operations]) =>
    Object.keys(operations).map((method) => `${method.toUpperCase()} ${template}`),
  );
}

/**
 * Prism between a client and a running server, in a process of its own: it hands everything on and
 * notes in each answer where request or answer differ from the document. It reads an answer to its
 * end before it hands it on, also a stream.
 */
export class ContractProxy implements AsyncDisposable {
  readonly url: string;
  /** Operations that were called through it. */
  readonly called = new Set<string>();
  /** Everything it has written. */
  readonly log: readonly string[];
  readonly #templates: readonly {
    readonly operation: string;
    readonly method: string;
    readonly pattern: RegExp;
  }[];
  readonly #stack: AsyncDisposableStack;

  private constructor(
    url: string,
    document: OpenApiDocument,
    log: readonly string[],
    stack: AsyncDisposableStack,
  ) {
    this.url = url;
    this.log = log;
    this.#stack = stack;
    this.#templates = operationsOf(document).map((operation) => {
      const [method = "", template = ""] = operation.split(" ");
      return {
        operation,
        method,
        pattern: new RegExp(
          `^${template.replaceAll(/\{[^}]+\}/g, "[^/]+").replaceAll(".", "\\.")}$`,
        ),
      };
    });
  }

  static async start({
    document,
    upstream,
  }: {
    document: OpenApiDocument;
    upstream: string;
  }): Promise<ContractProxy> {
    await using stack = new AsyncDisposableStack();
    const folder = await mkdtemp(path.join(tmpdir(), "dure-contract-"));
    stack.defer(() => rm(folder, { recursive: true, force: true }));
    const file = path.join(folder, "openapi.json");
    await writeFile(file, JSON.stringify(document));

    const child = spawn(
      process.execPath,
      ["--import", LOOPBACK_ONLY, PRISM, "proxy", file, upstream, "--port", "0", "--cors", "false"],
      { stdio: ["ignore", "pipe", "pipe"] },
    );
    stack.defer(() => end(child));
    const log: string[] = [];
    createInterface(child.stderr).on("line", (line) => void log.push(line));
    const url = await listening(child, log);
    return new ContractProxy(url, document, log, stack.move());
  }

  /** Calls an address of the server through the proxy. */
  async call(
    method: string,
    address: string,
    { headers = {}, body }: { headers?: Readonly<Record<string, string>>; body?: unknown } = {},
  ): Promise<CheckedAnswer> {
    const [pathname = ""] = address.split("?");
    const known = this.#templates.find(
      (template) => template.method === method && template.pattern.test(pathname),
    );
    if (known) this.called.add(known.operation);
    const answer = await fetch(this.url + address, {
      method,
      headers: {
        "accept-encoding": "identity",
        ...(body !== undefined && !isForm(body) && { "content-type": "application/json" }),
        ...headers,
      },
      ...(body !== undefined && { body: sentAs(body) }),
    });
    const text = await answer.text();
    const isJson = /[/+]json\b/.test(answer.headers.get("content-type") ?? "") && text !== "";
    return {
      status: answer.status,
      headers: answer.headers,
      body: isJson ? JSON.parse(text) : text,
      violations: violationsOf(answer),
    };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#stack.disposeAsync();
  }
}

function isForm(body: unknown): body is FormData {
  return body instanceof FormData;
}

function sentAs(body: unknown): string | FormData {
  return typeof body === "string" || isForm(body) ? body : JSON.stringify(body);
}

function violationsOf(answer: Response): readonly Violation[] {
  const told = answer.headers.get("sl-violations");
  if (told === null) return [];
  try {
    return JSON.parse(told) as readonly Violation[];
  } catch {
    return [{ location: ["response"], message: told }]; // too many for one header: Prism cuts the list
  }
}

/** Resolves with the address that Prism prints; fails with all it said when it ends before. */
async function listening(child: ChildProcess, log: string[]): Promise<string> {
  const lines = createInterface(child.stdout!);
  const found = Promise.withResolvers<string>();
  lines.on("line", (line) => {
    log.push(line);
    const [url] = /http:\/\/127\.0\.0\.1:\d+$/.exec(line.trim()) ?? [];
    if (url !== undefined && line.includes("listening")) found.resolve(url);
  });
  child.once("exit", (code) =>
    found.reject(new Error(`Prism ended with ${code}:\n${log.join("\n")}`)),
  );
  return found.promise;
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  child.kill("SIGKILL");
  await once(child, "exit");
}
