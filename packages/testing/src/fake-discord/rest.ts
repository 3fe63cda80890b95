import type { IncomingMessage, ServerResponse } from "node:http";
import type { Clock } from "dure/client";
import type { Bots } from "./bots.ts";
import type { FakeFault, Faults } from "./faults.ts";
import type { InvalidRequests } from "./invalid-requests.ts";
import type { RateLimiter } from "./rate-limits.ts";
import { Refusal, REFUSALS } from "./refusal.ts";
import { findRoute, type RouteAnswer, type RouteContext } from "./routes.ts";
import type { FileFact } from "./world-facts.ts";

/** One request as the platform saw it. */
export interface LoggedRequest {
  readonly method: string;
  /** `/channels/{channel}/messages`; of an unknown route the path. */
  readonly route: string;
  readonly path: string;
  /** 0: it got no answer. */
  readonly status: number;
  /** The bot's name; absent when the token was none. */
  readonly bot: string | undefined;
  readonly body: unknown;
  readonly at: number;
}

export interface RestOptions {
  readonly clock: Clock;
  readonly bots: Bots;
  readonly faults: Faults;
  readonly limiter: RateLimiter;
  readonly invalid: InvalidRequests;
  readonly context: RouteContext;
  readonly log: (request: LoggedRequest) => void;
}

/**
 * A request whose answer is known; `undefined`: none is given, and the connection waits or is cut.
 */
type RouteOutcome =
  | { readonly answer: RouteAnswer; readonly headers: Readonly<Record<string, string>> }
  | "timeout"
  | "cut";

type Headers = Readonly<Record<string, string>>;
type Bot = NonNullable<ReturnType<Bots["byToken"]>>;
type FoundRoute = NonNullable<ReturnType<typeof findRoute>>;
type TakenRateVerdict = ReturnType<RateLimiter["take"]>;

interface GivenRequest {
  readonly url: URL;
  readonly method: string;
  readonly path: string;
  readonly found: FoundRoute | undefined;
  readonly bot: Bot | undefined;
  readonly body: ParsedBody;
}

/** Biggest body that is read, bytes. */
const LARGEST_BODY = 25 * 1024 * 1024;

/**
 * The HTTP side, version 10: read → find the route → who → fault → rate limit → do → fault → answer.
 * Source: "API Reference".
 */
export class Rest {
  readonly #options: RestOptions;

  constructor(options: RestOptions) {
    this.#options = options;
  }

  async handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { clock, bots, log } = this.#options;
    const url = new URL(request.url ?? "/", "http://fake.invalid");
    const method = request.method ?? "GET";
    const path = decodeURIComponent(url.pathname.replace(/^\/api\/v\d+/u, ""));
    const bot = bots.byToken(tokenOf(request.headers.authorization));
    const found = findRoute(method, path);
    const route = found?.route.template ?? path;
    const body = await readBody(request);
    const bannedForMs = this.#options.invalid.bannedForMs();

    if (bannedForMs !== undefined) {
      log({
        method,
        route,
        path,
        status: 429,
        bot: bot?.user.name,
        body: body.json,
        at: clock.now(),
      });
      return showBan(response, bannedForMs);
    }

    const outcome = this.#decide({ url, method, path, found, bot, body });
    if (typeof outcome !== "string") {
      this.#options.invalid.count(outcome.answer.status, outcome.headers["x-ratelimit-scope"]);
    }
    const status = typeof outcome === "string" ? 0 : outcome.answer.status;
    log({ method, route, path, status, bot: bot?.user.name, body: body.json, at: clock.now() });

    if (outcome === "timeout") return;

    if (outcome === "cut") {
      request.socket.destroy();
      return;
    }

    const payload =
      outcome.answer.body === undefined ? undefined : JSON.stringify(outcome.answer.body);

    response.writeHead(outcome.answer.status, {
      // Node refuses a header that is undefined.
      ...(payload === undefined ? {} : { "content-type": "application/json" }),
      via: "1.1 fake",
      ...outcome.headers,
    });

    response.end(payload);
  }

  #decide(given: GivenRequest): RouteOutcome {
    const { url, method, path, found, bot } = given;
    // Source: "API Reference: API Versioning".
    if (!url.pathname.startsWith("/api/v10/")) {
      return refused(new Refusal(400, 50041, "Invalid API version provided."));
    }

    const route = found?.route.template ?? path;
    const fault = this.#options.faults.take({ method, route, path, bot: bot?.user.name });
    if (fault !== undefined && (!("after" in fault) || fault.after !== "doing it")) {
      return outcomeOf(fault);
    }
    if (found === undefined) return refused(REFUSALS.unknownRoute());
    if (bot === undefined && !found.route.open) return refused(REFUSALS.unauthorized());

    const verdict = this.#rateOf(found, bot);
    if (verdict.refused !== undefined) return tooOften(verdict.refused, verdict.headers);

    const done = this.#do(found, given, verdict.headers);

    return fault === undefined || done.isRefused ? done.outcome : outcomeOf(fault);
  }

  #rateOf({ route, parameters }: FoundRoute, bot: Bot | undefined): TakenRateVerdict {
    const major = route.major === undefined ? "" : (parameters[route.major] ?? "");
    return this.#options.limiter.take(bot?.user.id ?? "interactions", route.name, major);
  }

  #do(
    { route, parameters }: FoundRoute,
    { url, bot, body }: GivenRequest,
    headers: Headers,
  ): { outcome: RouteOutcome; isRefused: boolean } {
    try {
      if (body.broken) throw REFUSALS.invalidJson();
      const answer = route.handle(this.#options.context, {
        // Open routes never look at the bot.
        bot: bot as Bot,
        parameters,
        query: Object.fromEntries(url.searchParams),
        body: body.json ?? {},
        files: body.files,
      });
      return { outcome: { answer, headers }, isRefused: false };
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      return { outcome: refused(error, headers), isRefused: true };
    }
  }
}

/**
 * Not the platform answers but what stands before it: a page, without `via`. Source: "Rate Limits:
 * Exceeding A Rate Limit" ("via": "the header is not there when it is a Cloudflare ban").
 */
function showBan(response: ServerResponse, bannedForMs: number): void {
  response.writeHead(429, {
    "content-type": "text/html",
    "retry-after": String(Math.ceil(bannedForMs / 1000)),
  });
  response.end("<!doctype html><title>Access denied</title><p>error code: 1015</p>");
}

/** Source: "Rate Limits". */
function tooOften(
  { retryAfter, global }: NonNullable<TakenRateVerdict["refused"]>,
  headers: Headers,
): RouteOutcome {
  const body = { message: "You are being rate limited.", retry_after: retryAfter, global };
  return { answer: { status: 429, body }, headers };
}

function outcomeOf(fault: FakeFault): RouteOutcome {
  switch (fault.kind) {
    case "400":
      return refused(new Refusal(400, fault.code, "The request cannot be done."));
    case "401":
      return refused(REFUSALS.unauthorized());
    case "403": {
      const message = fault.code === 50001 ? "Missing Access" : "Missing Permissions";
      return refused(new Refusal(403, fault.code ?? 50013, message));
    }
    case "404": {
      const message = fault.code === 10008 ? "Unknown Message" : "Unknown Channel";
      return refused(new Refusal(404, fault.code ?? 10003, message));
    }
    case "429":
      return limitedBy(fault);
    case "5xx":
      return {
        answer: { status: fault.status ?? 502, body: { message: "502: Bad Gateway", code: 0 } },
        headers: {},
      };
    case "timeout":
      return "timeout";
    case "cut":
      return "cut";
    default:
      fault satisfies never;
      throw new Error("A fault without an outcome.");
  }
}

/** Source: "Rate Limits: Exceeding A Rate Limit". */
function limitedBy(fault: Extract<FakeFault, { kind: "429" }>): RouteOutcome {
  const seconds = fault.retryAfterMs / 1000;
  const global = fault.global ?? false;

  return tooOften(
    { retryAfter: seconds, global },
    {
      "retry-after": String(seconds),
      "x-ratelimit-scope": global ? "global" : "user",
      // Node refuses a header that is undefined.
      ...(global ? { "x-ratelimit-global": "true" } : {}),
    },
  );
}

function refused(refusal: Refusal, headers: Readonly<Record<string, string>> = {}): RouteOutcome {
  return { answer: { status: refusal.status, body: refusal.body }, headers };
}

/** Source: "API Reference: Authentication": `Authorization: Bot TOKEN`. */
function tokenOf(header: string | undefined): string | undefined {
  return header?.startsWith("Bot ") === true ? header.slice("Bot ".length) : undefined;
}

let lastFile = 0;

async function fileOf(file: File): Promise<FileFact> {
  return {
    id: String(900_000_000_000_000_000n + BigInt((lastFile += 1))),
    filename: file.name,
    size: file.size,
    contentType: file.type || undefined,
    bytes: new Uint8Array(await file.arrayBuffer()),
  };
}

interface ParsedBody {
  readonly json: unknown;
  readonly files: readonly FileFact[];
  readonly broken: boolean;
}

/** JSON, or a form with `payload_json` and files. Source: "API Reference: Uploading Files". */
async function readBody(request: IncomingMessage): Promise<ParsedBody> {
  const chunks: Buffer[] = [];
  let length = 0;

  for await (const chunk of request) {
    length += (chunk as Buffer).length;
    if (length <= LARGEST_BODY) chunks.push(chunk as Buffer);
  }

  const bytes = Buffer.concat(chunks);
  const type = request.headers["content-type"] ?? "";

  try {
    if (bytes.length === 0) return { json: undefined, files: [], broken: false };
    if (type.startsWith("application/json")) {
      return { json: JSON.parse(bytes.toString()) as unknown, files: [], broken: false };
    }
    if (!type.startsWith("multipart/form-data")) {
      return { json: undefined, files: [], broken: true };
    }
    const form = await new Response(bytes, { headers: { "content-type": type } }).formData();
    const payload = form.get("payload_json");
    const files = await Promise.all(
      [...form].flatMap(([key, value]) => {
        if (typeof value === "string" || !key.startsWith("files[")) return [];
        return [fileOf(value)];
      }),
    );
    return {
      json: typeof payload === "string" ? (JSON.parse(payload) as unknown) : {},
      files,
      broken: false,
    };
  } catch {
    return { json: undefined, files: [], broken: true };
  }
}
