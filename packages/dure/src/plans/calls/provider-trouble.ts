import type { IncomingHttpHeaders } from "node:http";
import { troubleIn } from "../agents/trouble.ts";

/**
 * What keeps a provider from serving calls: `limited`, it takes no more now; `key`, it refuses the
 * key or the account; `failing`, it answers with errors, or not at all.
 */
export interface ProviderTrouble {
  readonly kind: "limited" | "key" | "failing";
  /** Of its answer; undefined: there was none. */
  readonly status: number | undefined;
  /** When it takes calls again, milliseconds since 1970, where it says so. */
  readonly until: number | undefined;
  /** Its own words, in one line; may be empty. */
  readonly says: string;
  readonly since: number;
  /** Calls in a row that came to this. */
  readonly times: number;
}

interface RefusedCall {
  readonly status: number | undefined;
  readonly headers: IncomingHttpHeaders;
  readonly says: string;
  readonly now: number;
}

const KINDS: Readonly<Record<number, ProviderTrouble["kind"]>> = {
  401: "key",
  402: "key",
  403: "key",
  429: "limited",
  // Anthropic's for "overloaded".
  529: "limited",
};

/** The trouble behind an answer; undefined: a request that was wrong says nothing of the provider. Pure. */
export function troubleOf({
  status,
  headers,
  says,
  now,
}: RefusedCall): ProviderTrouble | undefined {
  const told = troubleIn(says, { isError: true, now });
  const kind = kindOf(status, told?.kind === "login");
  if (kind === undefined) return undefined;
  const until = untilIn(headers, now) ?? (kind === "limited" ? told?.until : undefined);

  return { kind, status, until, says, since: now, times: 1 };
}

/** Pure. */
function kindOf(
  status: number | undefined,
  tellsOfLogin: boolean,
): ProviderTrouble["kind"] | undefined {
  if (status === undefined) return "failing";
  const known = KINDS[status];
  if (known !== undefined) return known;
  if (status >= 500) return "failing";

  // Some refuse an account that is not paid as a wrong request.
  return status === 400 && tellsOfLogin ? "key" : undefined;
}

/** What lies further is no promise to count on, milliseconds. */
const WEEK_MS = 7 * 86_400_000;

/** Source: RFC 9110, Retry-After; `retry-after-ms` of OpenAI. */
function untilIn(headers: IncomingHttpHeaders, now: number): number | undefined {
  const at = momentIn(headers, now);
  return at !== undefined && at > now && at - now < WEEK_MS ? Math.round(at) : undefined;
}

function momentIn(headers: IncomingHttpHeaders, now: number): number | undefined {
  const after = headers["retry-after"];
  const ms = numberIn(headers["retry-after-ms"]);
  if (ms !== undefined) return now + ms;
  const seconds = numberIn(after);
  if (seconds !== undefined) return now + seconds * 1_000;

  return after === undefined ? undefined : Date.parse(after);
}

function numberIn(header: string | readonly string[] | undefined): number | undefined {
  const isNumber = typeof header === "string" && /^\d{1,10}(?:\.\d+)?$/.test(header);
  return isNumber ? Number(header) : undefined;
}
