import { once } from "node:events";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { systemClock } from "dure/client";
import {
  fits,
  inMood,
  MOODS,
  type Mood,
  type ProviderAnswer,
  type ProviderAsked,
  type ProviderWire,
  type Random,
  type SpokenAnswer,
} from "./moods.ts";
import { isWire, type Refusal, type Wire } from "./refusal.ts";
import { messageIn } from "./strict-fetch.ts";
import type { WireCall, KeptBlock } from "./wire-format.ts";
import { formatOf, NOT_FOUND, type ProviderAbilities, type SomeWire, wireOf } from "./wires.ts";
import { createHash } from "node:crypto";

/** What an unfriendly provider answers, and how rude it is. */
export interface UnfriendlyProviderOptions {
  /** The same seed gives the same moods for the same requests. Print it in your test. */
  readonly seed: number;
  /** What a good model would say. */
  readonly answer: (asked: ProviderAsked) => ProviderAnswer | Promise<ProviderAnswer>;
  /** Moods that it may be in. Default all. */
  readonly moods?: readonly Mood[] | undefined;
  /** How often it is in a mood, 0–1. Default 0.5. */
  readonly often?: number | undefined;
  readonly abilities?: ProviderAbilities | undefined;
  /** How long `slow` takes, milliseconds. Default 50. */
  readonly slowMs?: number | undefined;
}

/** One request and what became of it. */
export interface ProviderRequest {
  readonly wire: ProviderWire | undefined;
  readonly body: Wire;
  readonly status: number;
  readonly mood: Mood | undefined;
  /** What it said, when it refused. */
  readonly refusal: string | undefined;
}

/** Requests that are remembered. */
const MAX_REQUESTS = 10_000;

/**
 * A provider that speaks OpenAI's chat completions (`/v1/chat/completions`) and responses
 * (`/v1/responses`), Anthropic's messages (`/v1/messages`), and Gemini's `generateContent`
 * (`/v1beta/models/…`), streamed or whole. It refuses what the providers refuse, and by seed it does
 * what real models do: nulls, code fences, apologies, half answers, wrong tools, claims, 429, cuts.
 *
 * ```ts
 * await using provider = await UnfriendlyProvider.start({ seed: 7, answer: () => ({ text: "hi" }) });
 * // OPENAI_BASE_URL=`${provider.url}/v1`
 * ```
 */
export class UnfriendlyProvider implements AsyncDisposable {
  /** Without a path. */
  readonly url: string;
  /** The last ones, oldest first. */
  readonly requests: ProviderRequest[] = [];
  readonly #options: UnfriendlyProviderOptions;
  readonly #server: Server;
  readonly #cache = new PromptCache();
  /** How often each request was made: a retry meets another mood. */
  readonly #seen = new Map<string, number>();

  private constructor(server: Server, options: UnfriendlyProviderOptions) {
    this.#server = server;
    this.#options = options;
    this.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    server.on("request", (request: IncomingMessage, response: ServerResponse) => {
      this.#serve(request, response).catch(() => response.destroy());
    });
  }

  static async start(options: UnfriendlyProviderOptions): Promise<UnfriendlyProvider> {
    const server = createServer();
    server.listen(0, "127.0.0.1");
    await once(server, "listening");

    return new UnfriendlyProvider(server, options);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, "close");
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const written = await text(request);
    const call = callOf(request);
    const wire = wireOf(call);
    const body = parsedBody(written);
    const format = wire && formatOf(wire);
    if (body === undefined || !format) {
      const refused = body ? NOT_FOUND : { status: 400, body: { error: { message: "no JSON" } } };
      this.#note({ wire, body: body ?? {}, status: refused.status, mood: undefined, refused });

      return sendJson(response, refused);
    }

    const refused = format.refusal(body, call, this.#options.abilities ?? {});
    if (refused) {
      this.#note({ wire, body, status: refused.status, mood: undefined, refused });

      return sendJson(response, refused);
    }

    const asked = { ...format.asked(body, call), cached: this.#cache.take(format.kept(body)) };
    const random = this.#randomFor(written);

    const answer = await this.#options.answer(asked);
    const mood = this.#moodFor(asked, answer, random);
    const spoken = inMood(answer, mood, asked, random);
    const status = (mood && format.statuses[mood as keyof SomeWire["statuses"]]) ?? 200;
    const isStream = format.isStream(body, call);
    this.#note({ wire, body, status, mood, refused: undefined });
    await this.#send(response, { format, asked, spoken, mood, status, isStream });
  }

  #moodFor(asked: ProviderAsked, answer: ProviderAnswer, random: Random): Mood | undefined {
    const { moods = MOODS, often = 0.5 } = this.#options;
    const possible = moods.filter((mood) => fits(mood, asked, answer));

    if (random() >= often || possible.length === 0) return undefined;

    return possible[Math.floor(random() * possible.length)];
  }

  #randomFor(written: string): Random {
    const times = this.#seen.get(written) ?? 0;

    if (this.#seen.size < MAX_REQUESTS) this.#seen.set(written, times + 1);
    return randomFrom(`${this.#options.seed} ${times} ${written}`);
  }

  #note({
    refused,
    ...request
  }: Omit<ProviderRequest, "refusal"> & { readonly refused: Refusal | undefined }): void {
    this.requests.push({ ...request, refusal: refused && messageIn(refused.body) });

    if (this.requests.length > MAX_REQUESTS) this.requests.shift();
  }

  async #send(response: ServerResponse, answer: Outgoing): Promise<void> {
    const { format, asked, spoken, mood, status, isStream } = answer;
    if (mood === "slow") await systemClock.sleep(this.#options.slowMs ?? 50);

    if (status !== 200) return sendJson(response, format.error(status, "Try again later."));

    if (!isStream) {
      if (mood === "cut") return void response.destroy();
      return sendJson(response, { status, body: format.whole(spoken, asked) });
    }

    const frames = format.frames(spoken, asked);
    const sent = mood === "cut" ? frames.slice(0, Math.ceil(frames.length / 2)) : frames;
    response.writeHead(200, { "content-type": "text/event-stream" });

    for (const frame of sent) response.write(frame);

    if (mood !== "cut") return void response.end();

    // What was written has to leave before the connection breaks.
    await new Promise<void>((resolve) => response.write(": cut\n\n", () => resolve()));
    response.destroy();
  }
}

interface Outgoing {
  readonly format: SomeWire;
  readonly asked: ProviderAsked;
  readonly spoken: SpokenAnswer;
  readonly mood: Mood | undefined;
  readonly status: number;
  readonly isStream: boolean;
}

function callOf({ url = "", headers }: IncomingMessage): WireCall {
  return { path: url, header: (name) => headers[name]?.toString() };
}

function sendJson(response: ServerResponse, { status, body, headers }: Refusal): void {
  response.writeHead(status, { "content-type": "application/json", ...headers });
  response.end(JSON.stringify(body));
}

function parsedBody(written: string): Wire | undefined {
  try {
    const body: unknown = JSON.parse(written);

    return isWire(body) ? body : undefined;
  } catch {
    return undefined;
  }
}

/** FNV-1a as the seed of mulberry32. */
function randomFrom(seed: string): Random {
  let state = 0x811c9dc5;

  for (let index = 0; index < seed.length; index++) {
    state = Math.imul(state ^ seed.charCodeAt(index), 0x01000193);
  }

  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);

    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

// --- prompt cache

/** How much of a request was read from the cache, and how much was written to it, in tokens. */
interface CachedTokens {
  readonly read: number;
  readonly written: number;
}

/** Beginnings that are kept. */
const MAX_KEPT = 1_000;
/**
 * A shorter beginning is not kept, in tokens. Sources: Anthropic and OpenAI, guides "Prompt caching";
 * ai.google.dev, "Context caching", "Implicit caching".
 */
const LEAST = 1_024;
/** So many blocks before a mark are looked at for what is kept. Source: Anthropic's page. */
const LOOKS_BACK = 20;
/** Bytes of a token, about. */
const TOKEN_BYTES = 4;

/**
 * What a provider keeps of the beginnings of requests: Anthropic's up to each block with
 * `cache_control`, others by themselves. A request reads the longest one that it begins with.
 */
class PromptCache {
  /** Tokens by the hash of the beginning. */
  readonly #kept = new Map<string, number>();

  /** Undefined: the request marks nothing. */
  take(blocks: readonly KeptBlock[]): CachedTokens | undefined {
    const beginnings = beginningsOf(blocks);
    const marks = beginnings.flatMap(({ isMarked }, index) => (isMarked ? [index] : []));
    const last = marks.at(-1);
    if (last === undefined) return undefined;

    const near = beginnings.filter((_, index) =>
      marks.some((mark) => index <= mark && mark - index < LOOKS_BACK),
    );
    const read = Math.max(0, ...near.map(({ hash }) => this.#kept.get(hash) ?? 0));
    for (const mark of marks) this.#keep(beginnings[mark]!);
    const most = beginnings[last]!.tokens;
    return { read, written: most >= LEAST ? most - read : 0 };
  }

  #keep({ hash, tokens }: AnswerBeginning): void {
    if (tokens < LEAST) return;
    this.#kept.set(hash, tokens);
    if (this.#kept.size > MAX_KEPT) this.#kept.delete(this.#kept.keys().next().value!);
  }
}

interface AnswerBeginning {
  readonly hash: string;
  readonly tokens: number;
  readonly isMarked: boolean;
}

/** The request up to each of its blocks; a mark is no part of what is compared. */
function beginningsOf(blocks: readonly KeptBlock[]): readonly AnswerBeginning[] {
  const hash = createHash("sha256");
  let bytes = 0;
  return blocks.map(({ block, isMarked }) => {
    const text = JSON.stringify(block);
    bytes += Buffer.byteLength(text);
    hash.update(text);
    const tokens = Math.ceil(bytes / TOKEN_BYTES);
    return { hash: hash.copy().digest("hex"), tokens, isMarked };
  });
}
