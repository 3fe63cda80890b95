import { DureError, messageOf, type ErrorClass } from "../kernel/errors.ts";
import { isObject, onlyDefined } from "../kernel/json.ts";

export interface Http {
  /** Sends one request; resolves with a successful response, throws a `DureError` for a problem. */
  request(path: string, init?: RequestInit): Promise<Response>;
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
  return {
    async request(path, init = {}) {
      const headers = new Headers(init.headers);
      if (token !== undefined) headers.set("authorization", `Bearer ${token}`);
      const response = await send(root + path, { ...init, headers, credentials: "same-origin" });
      if (!response.ok) throw await problemOf(response);

      return response;
    },
  };
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
