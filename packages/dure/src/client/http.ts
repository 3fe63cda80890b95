import { DureError, messageOf, type ErrorClass } from "../kernel/errors.ts";
import { isObject, onlyDefined } from "../kernel/json.ts";
import { fromWire, toWire } from "../kernel/wire.ts";

/** An abort ends the call here; what the server has begun goes on. */
export interface CallOptions {
  readonly signal?: AbortSignal | undefined;
}

/** Requests and answers in TypeScript's spelling. A refusal is a `DureError`. */
export class Http {
  readonly #send: (path: string, init: RequestInit) => Promise<Response>;

  constructor(send: (path: string, init: RequestInit) => Promise<Response>) {
    this.#send = send;
  }

  /** One request as it is; resolves with a successful response. */
  request(path: string, init: RequestInit = {}): Promise<Response> {
    return this.#send(path, init);
  }

  async get<Answer>(path: string, options: CallOptions): Promise<Answer> {
    return fromWire(await readJson(await this.#send(path, passed(options)))) as Answer;
  }

  post<Answer>(
    path: string,
    body: object | undefined,
    options: CallOptions,
    headers: Readonly<Record<string, string>> = {},
  ): Promise<Answer> {
    return this.answer("POST", path, body, { ...options, headers });
  }

  /** The answer to a request with a body; without one for `undefined`. */
  async answer<Answer>(
    method: string,
    path: string,
    body: object | undefined,
    options: CallOptions & { readonly headers?: Readonly<Record<string, string>> },
  ): Promise<Answer> {
    return fromWire(await readJson(await this.write(method, path, body, options))) as Answer;
  }

  /** As `answer`, where nothing is read of it. */
  write(
    method: string,
    path: string,
    body: object | undefined,
    { headers = {}, ...options }: CallOptions & { headers?: Readonly<Record<string, string>> },
  ): Promise<Response> {
    const json = { "content-type": "application/json", ...headers };
    const sent =
      body === undefined ? { headers } : { headers: json, body: JSON.stringify(toWire(body)) };
    return this.#send(path, { method, ...sent, ...passed(options) });
  }
}

/** What of a call goes into its request. */
export function passed({ signal }: CallOptions): RequestInit {
  return signal === undefined ? {} : { signal };
}

/** What is set of a filter, as a query; "" where nothing is. */
export function queryOf(filter: object): string {
  const set = Object.entries(toWire(filter) as Record<string, string | number | undefined>).filter(
    (entry): entry is [string, string | number] => entry[1] !== undefined && entry[1] !== "",
  );
  const query = new URLSearchParams(set.map(([key, value]) => [key, String(value)]));
  return set.length === 0 ? "" : `?${query.toString()}`;
}

export interface HttpOptions {
  /** Address in front of `/v1`, without a slash at its end; `""` for the page's own origin. */
  readonly baseUrl: string;
  readonly token?: string | undefined;
  readonly fetch?: typeof fetch | undefined;
}

export function createHttp({
  baseUrl,
  token,
  fetch: send = (input, init) => fetch(input, init),
}: HttpOptions): Http {
  const root = baseUrl.replace(/\/+$/, "");
  return new Http(async (path, init) => {
    const headers = new Headers(init.headers);
    if (token !== undefined) headers.set("authorization", `Bearer ${token}`);
    const response = await send(root + path, { ...init, headers, credentials: "same-origin" });
    if (!response.ok) throw await problemOf(response);

    return response;
  });
}

const CLASS_OF_STATUS: Readonly<Record<number, ErrorClass>> = {
  400: "input",
  401: "unauthorized",
  403: "forbidden",
  404: "not-found",
  409: "conflict",
  413: "input",
  415: "input",
  422: "input",
  429: "limit",
  502: "unavailable",
  503: "unavailable",
  504: "unavailable",
};

/**
 * A refusal of the server as the error it was there: RFC 9457 problem JSON with `code` and `hint`.
 */
async function problemOf(response: Response): Promise<DureError> {
  const body = await readProblem(response);
  const {
    code,
    detail,
    title,
    hint,
    type: _type,
    status: _status,
    instance: _instance,
    ...rest
  } = body;

  const wait = retryAfterMs(response);

  return new DureError(
    typeof code === "string" ? code : `HTTP_${response.status}`,
    firstText(detail, title) ??
      `The server answered ${response.status} ${response.statusText}`.trim() + ".",
    {
      class: CLASS_OF_STATUS[response.status] ?? (response.status < 500 ? "input" : "internal"),
      ...onlyDefined({ hint: typeof hint === "string" ? hint : undefined }),
      details: {
        ...rest,
        status: response.status,
        ...onlyDefined({ retryAfterMs: wait }),
      },
    },
  );
}

/** The body as JSON with camelCase left to the caller. */
export async function readJson(response: Response): Promise<unknown> {
  try {
    return await response.json();
  } catch (cause) {
    throw new DureError(
      "ANSWER_UNREADABLE",
      `The answer of ${response.url} is not JSON: ${messageOf(cause)}.`,
      {
        hint: "Check that the address is dure's and that no proxy changes its answers.",
        cause,
      },
    );
  }
}

async function readProblem(response: Response): Promise<Record<string, unknown>> {
  try {
    const body: unknown = JSON.parse(await response.text());
    return isObject(body) ? body : {};
  } catch {
    return {}; // A proxy's HTML page, or a cut body: the status still says what happened.
  }
}

function firstText(...values: unknown[]): string | undefined {
  return values.find((value): value is string => typeof value === "string" && value !== "");
}

/** `Retry-After` in seconds, as milliseconds; its date form is not used by dure. */
function retryAfterMs(response: Response): number | undefined {
  const seconds = Number(response.headers.get("retry-after") ?? Number.NaN);
  return Number.isFinite(seconds) && seconds >= 0 ? seconds * 1000 : undefined;
}

/** Headers of a request for a stream that goes on behind the last event read. */
export function streamHeaders(lastEventId: string | undefined): Record<string, string> {
  const headers = { accept: "text/event-stream" };
  return lastEventId === undefined ? headers : { ...headers, "last-event-id": lastEventId };
}
