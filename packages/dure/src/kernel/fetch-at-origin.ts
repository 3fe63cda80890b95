import { DureError } from "./errors.ts";

/** Redirects of one request that are followed. Source: docs/security.md. */
const MAX_REDIRECTS = 3;

/** Statuses after which the same request is sent again, with its method and body. */
const KEEPS_METHOD: ReadonlySet<number> = new Set([307, 308]);
/** Statuses after which a reading request is sent again; a writing one would become a GET. */
const READS_AGAIN: ReadonlySet<number> = new Set([301, 302, 303]);

/**
 * `fetch` for requests that carry a key, a token or a person's words: they never reach another
 * origin. Redirects within the origin are followed, at most three. Throws `REDIRECT_REFUSED`.
 */
export async function fetchAtOrigin(
  input: string | URL | Request,
  init: RequestInit = {},
): Promise<Response> {
  const first = new URL(input instanceof Request ? input.url : input);
  let target: string | URL | Request = input;
  for (let followed = 0; ; followed++) {
    const answer: Response = await fetch(target, { ...init, redirect: "manual" });
    const location = answer.headers.get("location");
    if (!isRedirect(answer.status) || location === null) return answer;

    await answer.body?.cancel();
    const next = URL.parse(location, first.href);
    const why = refusalOf({ first, next, followed, status: answer.status }, input, init);
    if (next === null || why !== undefined) throw refused(first, next, why);
    target = next;
  }
}

interface Redirect {
  readonly first: URL;
  readonly next: URL | null;
  readonly followed: number;
  readonly status: number;
}

/** Why a redirect is not followed. Pure. */
function refusalOf(
  { first, next, followed, status }: Redirect,
  input: string | URL | Request,
  { method = "GET", body }: RequestInit,
): string | undefined {
  if (next === null) return "no address";
  if (next.origin !== first.origin) return "another origin";
  if (followed >= MAX_REDIRECTS) return `more than ${MAX_REDIRECTS} times`;
  // A stream, or the body of a Request, was used up by the first try.
  if (input instanceof Request || body instanceof ReadableStream) return "with a body once read";
  if (READS_AGAIN.has(status) && !/^(GET|HEAD)$/i.test(method)) return `with ${status} a ${method}`;
  return undefined;
}

function isRedirect(status: number): boolean {
  return KEEPS_METHOD.has(status) || READS_AGAIN.has(status);
}

/** Origins alone: a path or a query of either may hold a secret. */
function refused(first: URL, next: URL | null, because = "no address"): DureError {
  const { origin } = first;
  const to = next?.origin ?? "no address";
  return new DureError("REDIRECT_REFUSED", `${origin} redirects to ${to}; that is not followed.`, {
    class: "unavailable",
    hint: "If that is the right address, write it into the settings.",
    details: { from: origin, to, because },
  });
}
