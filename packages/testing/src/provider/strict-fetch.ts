import type { ProviderWire } from "./moods.ts";
import { isWire, type Refusal, type Wire, wordOf } from "./refusal.ts";
import { formatOf, NOT_FOUND, type ProviderAbilities, wireOf } from "./wires.ts";

/** One request that a strict `fetch` has seen. */
export interface StrictRequest {
  readonly wire: ProviderWire | undefined;
  readonly body: Wire;
  /** What it said, when it refused. */
  readonly refusal: string | undefined;
}

/** How a strict `fetch` answers. */
export interface StrictFetchOptions {
  /** Words of each answer. Default `"Taken."`, which is also JSON. */
  readonly text?: string | undefined;
  readonly abilities?: ProviderAbilities | undefined;
  /** Called with each request. */
  readonly onRequest?: ((request: StrictRequest) => void) | undefined;
}

/**
 * The rules of `UnfriendlyProvider` without a server, for requests by the thousand: a `fetch` for the
 * packages of the AI SDK. It takes or refuses each request as its provider does, and always answers
 * the same words.
 *
 * ```ts
 * const google = createGoogle({ apiKey: "k", fetch: strictFetch() });
 * ```
 */
export function strictFetch(options: StrictFetchOptions = {}): typeof globalThis.fetch {
  return async (input, init) => {
    const request = new Request(input, init);
    const body: unknown = JSON.parse(await request.text());
    const wire = wireOf({ path: pathOf(request) });
    const asked = isWire(body) ? body : {};
    const { response, refusal } = answerTo(request, asked, wire, options);
    options.onRequest?.({ wire, body: asked, refusal });

    return response;
  };
}

function answerTo(
  request: Request,
  body: Wire,
  wire: ProviderWire | undefined,
  { text = '"Taken."', abilities = {} }: StrictFetchOptions,
): { readonly response: Response; readonly refusal: string | undefined } {
  const call = {
    path: pathOf(request),
    header: (name: string) => request.headers.get(name) ?? undefined,
  };
  const format = wire && formatOf(wire);
  const refused = format ? format.refusal(body, call, abilities) : NOT_FOUND;
  if (!format || refused) return { response: jsonOf(refused!), refusal: messageIn(refused!.body) };

  const asked = format.asked(body, call);
  const spoken = { text, toolCalls: [] };
  const headers = { "content-type": "text/event-stream" };
  const response = format.isStream(body, call)
    ? new Response(format.frames(spoken, asked).join(""), { headers })
    : jsonOf({ status: 200, body: format.whole(spoken, asked) });

  return { response, refusal: undefined };
}

function pathOf({ url }: Request): string {
  const { pathname, search } = new URL(url);

  return `${pathname}${search}`;
}

function jsonOf({ status, body, headers }: Refusal): Response {
  return Response.json(body, { status, headers: headers ?? {} });
}

/** What a refusal says. */
export function messageIn(body: object): string {
  const error = isWire(body) ? body["error"] : undefined;

  return isWire(error) ? wordOf(error["message"]) : "";
}
