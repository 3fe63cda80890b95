import type { IncomingMessage, ServerResponse } from "node:http";
import type { Clock } from "dure/client";
import { SlackRefusal, type SlackApp } from "./facts.ts";
import type { SlackFault, SlackFaults } from "./faults.ts";
import { SLACK_METHODS, type SlackMethod } from "./methods.ts";
import type { SlackRateLimiter } from "./rate-limits.ts";
import type { SlackWorld } from "./world.ts";

/** One request as the platform saw it. */
export interface SlackRequest {
  readonly method: string;
  /** The app's name; absent when the token was none. */
  readonly app: string | undefined;
  readonly args: Readonly<Record<string, string>>;
  /** `ok`, the word of the refusal, or the status; empty: it got no answer. */
  readonly outcome: string;
  readonly at: number;
}

export interface WebApiParts {
  readonly clock: Clock;
  readonly world: SlackWorld;
  readonly faults: SlackFaults;
  readonly limiter: SlackRateLimiter;
  /** Gives the address of a new Socket Mode connection. */
  readonly openConnection: (app: SlackApp) => string;
  readonly log: (request: SlackRequest) => void;
}

interface ApiAnswer {
  readonly status: number;
  readonly body: Record<string, unknown>;
  readonly headers?: Readonly<Record<string, string>>;
}

type ApiCall = { method: string; args: Record<string, string>; app: SlackApp | undefined };

const LARGEST_BODY = 1024 * 1024;

/**
 * The HTTP side: who → fault → rate limit → scopes → arguments → do. Source:
 * docs.slack.dev/apis/web-api: 200 and `ok` for all but rate limits.
 */
export class SlackWebApi {
  readonly #parts: WebApiParts;

  constructor(parts: WebApiParts) {
    this.#parts = parts;
  }

  async handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const method = (request.url ?? "").replace(/^\/api\//, "").replace(/\?.*$/, "");
    const args = Object.fromEntries(new URLSearchParams(await bodyOf(request)));
    const token = request.headers.authorization?.replace(/^Bearer /, "") ?? args["token"];
    const { token: _token, ...others } = args;
    const app = this.#parts.world.apps.find(
      ({ botToken, appToken }) => token === botToken || token === appToken,
    );
    const given = { method, args: others, app };
    const answer = this.#answer(given, token ?? "");
    this.#log(given, answer);
    if (answer === undefined) return; // no answer ever

    response.writeHead(answer.status, {
      "content-type": "application/json",
      "x-oauth-scopes": [...(app?.scopes ?? [])].join(","),
      ...answer.headers,
    });

    response.end(JSON.stringify(answer.body));
  }

  #log({ method, args, app }: ApiCall, answer: ApiAnswer | undefined): void {
    const word = answer?.body["ok"] === true ? "ok" : answer?.body["error"];
    const status = answer === undefined ? "" : `${answer.status}`;
    const outcome = typeof word === "string" ? word : status;
    this.#parts.log({ method, args, app: app?.name, outcome, at: this.#parts.clock.now() });
  }

  #answer(given: ApiCall, token: string): ApiAnswer | undefined {
    const { faults } = this.#parts;
    const fault = faults.take(given.method, given.app?.name, eventTypeOf(given.args));
    const done = (): ApiAnswer => this.#do(given, token);
    if (fault === undefined) return done();

    if ((fault.kind === "hang" || fault.kind === "5xx") && fault.afterDoing === true) {
      const answer = done();
      if (answer.body["ok"] !== true) return answer;
    }

    return fault.kind === "hang" ? undefined : failed(fault);
  }

  #do({ method, args, app }: ApiCall, token: string): ApiAnswer {
    if (app === undefined) return refused("invalid_auth");

    if (method === "apps.connections.open") {
      if (token !== app.appToken) return refused("not_allowed_token_type");
      return { status: 200, body: { ok: true, url: this.#parts.openConnection(app) } };
    }

    const known = SLACK_METHODS[method];
    if (!known) return refused("unknown_method", { req_method: method });
    if (token !== app.botToken) return refused("not_allowed_token_type");

    const waitS = this.#parts.limiter.take(app.appId, method, known.tier, args["channel"] ?? "");
    if (waitS > 0) return limited(waitS);

    return this.#run(known, app, args);
  }

  #run(method: SlackMethod, app: SlackApp, args: Record<string, string>): ApiAnswer {
    const { scopes, input, run } = method;
    if (scopes.length > 0 && !scopes.some((scope) => app.scopes.has(scope))) {
      return refused("missing_scope", {
        needed: scopes.join(","),
        provided: [...app.scopes].join(","),
      });
    }

    const parsed = input.safeParse(args);
    if (!parsed.success) return badArguments(parsed.error.issues);

    try {
      const body = run({ world: this.#parts.world, app, args: parsed.data });
      return { status: 200, body: { ok: true, ...body } };
    } catch (error) {
      if (error instanceof SlackRefusal) return refused(error.error, error.facts);
      throw error;
    }
  }
}

/** Source: docs.slack.dev/apis/web-api, errors that each method has. */
function badArguments(
  issues: readonly { code: string; path: readonly PropertyKey[]; message: string }[],
): ApiAnswer {
  const unknown = issues.some(({ code }) => code === "unrecognized_keys");
  const inBlocks = issues.some(({ path }) => path[0] === "blocks");
  const word = unknown ? "invalid_arg_name" : inBlocks ? "invalid_blocks" : "invalid_arguments";

  return refused(word, { response_metadata: { messages: issues.map(({ message }) => message) } });
}

function refused(error: string, facts: Readonly<Record<string, unknown>> = {}): ApiAnswer {
  return { status: 200, body: { ok: false, error, ...facts } };
}

/** Source: docs.slack.dev/apis/web-api/rate-limits. */
function limited(seconds: number): ApiAnswer {
  return {
    status: 429,
    body: { ok: false, error: "ratelimited" },
    headers: { "retry-after": String(seconds) },
  };
}

function failed(fault: Exclude<SlackFault, { kind: "hang" }>): ApiAnswer {
  if (fault.kind === "error") {
    return refused(fault.error, fault.needed === undefined ? {} : { needed: fault.needed });
  }
  if (fault.kind === "429") return limited(Math.ceil(fault.retryAfterMs / 1000));
  return { status: 503, body: { ok: false, error: "service_unavailable" } };
}

function eventTypeOf(args: Readonly<Record<string, string>>): string {
  try {
    const { event_type: type } = JSON.parse(args["metadata"] ?? "{}") as { event_type?: string };
    return type ?? "";
  } catch {
    return "";
  }
}

async function bodyOf(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let size = 0;

  for await (const chunk of request as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > LARGEST_BODY) throw new Error("The body of a request is too big.");
    chunks.push(chunk);
  }

  return Buffer.concat(chunks).toString("utf8");
}
