import { setTimeout as sleep } from "node:timers/promises";
import type { Journal } from "./journal.ts";
import type { Random } from "./random.ts";
import type { Server } from "./servers.ts";
import type { Violation } from "./violations.ts";

/**
 * A request without an answer for so long is given up and made again: the server may stand still,
 * milliseconds.
 */
const PATIENCE_MS = 15_000;
const JSON_TYPE = { "content-type": "application/json" };
/** A client waits at most so long before it asks again, whatever Retry-After says, milliseconds. */
const MAX_WAIT_MS = 2_000;

/** The share of requests that go to any server, running or not. */
const STRAY = 0.15;

/** What a client knows of a server. */
type Asked = Pick<Server, "name" | "url" | "isReady">;

export interface ClientParts {
  readonly servers: readonly Asked[];
  readonly token: string;
  readonly journal: Pick<Journal, "note">;
  readonly random: Random;
  readonly onViolation: (violation: Violation) => void;
  /** The end of the run: nothing is asked any more. */
  readonly signal: AbortSignal;
}

export interface Request {
  readonly method: "GET" | "POST";
  readonly path: string;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** Names the request in the journal, and its story. */
  readonly about: string;
}

/** The clients of a run: they ask any server, and ask again until they are answered. */
export class Client {
  readonly counts: Record<string, number> = {};
  readonly #parts: ClientParts;
  readonly #open = new Set<AbortController>();
  #duplicates = 0;

  constructor(parts: ClientParts) {
    this.#parts = parts;
  }

  get signal(): AbortSignal {
    return this.#parts.signal;
  }

  get random(): Random {
    return this.#parts.random;
  }

  note(text: string): void {
    this.#parts.journal.note("client", text);
  }

  violate(violation: Violation): void {
    this.#parts.onViolation(violation);
  }

  /** Cuts a share of all requests and streams that are open, in the middle. Gives how many. */
  cut(share: number): number {
    const all = [...this.#open];
    const chosen = all.slice(0, Math.ceil(all.length * share));
    for (const controller of chosen) controller.abort(new Error("the client was cut"));
    return chosen.length;
  }

  /** The next requests that have a key are sent twice at the same time. */
  duplicate(count: number): void {
    this.#duplicates += count;
  }

  takesDuplicate(): boolean {
    if (this.#duplicates === 0) return false;
    this.#duplicates -= 1;
    return true;
  }

  count(what: string): void {
    this.counts[what] = (this.counts[what] ?? 0) + 1;
  }

  /**
   * One answer that counts, from whichever server gives it; `request` is asked before each
   * attempt. The body is read within `use`.
   */
  async ask<Result>(
    request: () => Request,
    use: (response: Response) => Promise<Result>,
  ): Promise<Result> {
    for (;;) {
      this.signal.throwIfAborted();
      const server = this.#choose();
      const outcome = await this.#attempt(server, request(), use);
      if ("result" in outcome) return outcome.result;
      await sleep(outcome.waitMs, undefined, { signal: this.signal });
    }
  }

  /** As behind a balancer: mostly one that answers, now and then one that it takes for alive. */
  #choose(): Asked {
    const { servers, random } = this.#parts;
    const ready = servers.filter(({ isReady }) => isReady);
    return random.pick(ready.length === 0 || random.isLucky(STRAY) ? servers : ready);
  }

  /**
   * One attempt. `waitMs`: it is to be asked again. Rejects when the answer is one that no reader
   * should get.
   */
  async #attempt<Result>(
    server: Asked,
    request: Request,
    use: (response: Response) => Promise<Result>,
  ): Promise<{ result: Result } | { waitMs: number }> {
    const { method, path, body, headers, about } = request;
    const cut = new AbortController();
    this.#open.add(cut);
    const signal = AbortSignal.any([this.signal, cut.signal]);
    let isAnswered = false;
    const timer = setTimeout(() => !isAnswered && cut.abort(new Error("no answer")), PATIENCE_MS);
    try {
      const response = await fetch(`${server.url}${path}`, {
        method,
        headers: {
          authorization: `Bearer ${this.#parts.token}`,
          ...(body === undefined ? {} : JSON_TYPE),
          ...headers,
        },
        body: body === undefined ? null : JSON.stringify(body),
        signal,
      });
      isAnswered = true;
      if (response.ok) return { result: await use(response) };
      return { waitMs: await this.#refused(server, request, response) };
    } catch (error) {
      if (error instanceof Refused) throw error;
      this.signal.throwIfAborted();
      this.count(cut.signal.aborted ? "cut" : "connection lost");
      this.note(`${about}: ${method} ${path} at ${server.name}: ${messageOf(error)}`);
      return { waitMs: 200 };
    } finally {
      clearTimeout(timer);
      this.#open.delete(cut);
    }
  }

  /** Milliseconds after which it is asked again. */
  async #refused(
    server: Asked,
    { method, path, about }: Request,
    response: Response,
  ): Promise<number> {
    const text = await response.text();
    const retryAfter = response.headers.get("retry-after");
    this.count(`status ${response.status}`);
    this.note(
      `${about}: ${method} ${path} at ${server.name}: ${response.status} retry-after ${retryAfter} ${text}`,
    );
    const mayBe = (response.status === 503 || response.status === 429) && retryAfter !== null;
    if (!mayBe) {
      this.violate({
        invariant: "http",
        text:
          `${method} ${path} was answered ${response.status} ` +
          `${codeIn(text)}${retryAfter === null ? " without Retry-After" : ""} by ${server.name}`,
        ids: [about],
      });
    }
    // What is wrong with the request stays wrong; what is wrong with the server may pass.
    if ([400, 401, 403, 404, 413, 422].includes(response.status)) {
      throw new Refused(`${about}: ${response.status} ${text}`);
    }
    return Math.min(Number(retryAfter ?? 1) * 1_000, MAX_WAIT_MS);
  }
}

/** The server will never take this request. */
class Refused extends Error {}

function codeIn(text: string): string {
  return /"code":"([A-Z_]+)"/.exec(text)?.[1] ?? "";
}

function messageOf(error: unknown): string {
  const { message, cause } = error as Error;
  return cause instanceof Error ? `${message} (${cause.message})` : message;
}
