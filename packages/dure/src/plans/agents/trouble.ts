/**
 * What keeps an agent from its model, read from its words: agents tell it in prose, and some end
 * with exit code 0 after it.
 */
export interface AgentTrouble {
  readonly kind: "login" | "rate-limit";
  /** When its provider takes calls again, milliseconds since 1970; undefined: it did not say. */
  readonly until?: number | undefined;
  /** The line that says it. */
  readonly line: string;
}

const LOGIN = [
  /authentication[ _](?:required|error|failed)/i,
  /\b401\b.{0,40}\bunauthorized\b|\bunauthorized\b.{0,40}\b401\b|\bAPI Error: 401\b|status 401\b/i,
  /invalid (?:x-)?api[ -]?key|incorrect api key|api key (?:is )?(?:missing|not (?:set|valid|found))/i,
  /please (?:run|use) [`'"]?\/?(?:login|auth)|not (?:logged|signed) in|(?:log|sign) ?in (?:again|first)/i,
  /oauth token (?:has )?(?:expired|been revoked)|refresh token (?:was|has)/i,
  /please set an auth method|no auth(?:entication)? (?:method|type)|must specify the [A-Z_]+_API_KEY/i,
  /missing environment variable:? [`'"]?[A-Z_]*(?:KEY|TOKEN)/i,
  /credit balance is too low|billing (?:is )?(?:not active|hard limit)/i,
];

const RATE_LIMIT = [
  /\b429\b.{0,60}(?:too many|rate|quota|limit|error|status)|(?:status|error|code):? 429\b/i,
  /too many requests|rate[ _-]?limit(?:ed|s? (?:exceeded|reached|error))|rate_limit_(?:error|exceeded)/i,
  /(?:usage|session|weekly|5-hour|opus) limit (?:reached|exceeded)|(?:hit|reached) your (?:\w+ )?limit/i,
  /quota (?:exceeded|exhausted|reached)|RESOURCE_EXHAUSTED|exceeded your current quota/i,
  /overloaded_error|\b529\b.{0,40}overloaded/i,
];

/** A line that tells of a failure, and is no report about code: how programs begin such lines. */
const BEGINS_AS_TROUBLE =
  /^\W*(?:\[?(?:API )?error\b|fatal\b|failed\b|invalid\b|unauthorized\b|authentication\b|please \b|not (?:logged|signed)\b|you've (?:hit|reached)|you have (?:hit|reached|exceeded)|claude (?:ai )?usage limit|usage limit|credit balance|rate limit|too many requests|quota\b|oauth\b|missing environment|stream error|unexpected status|exceeded retry limit|no auth)/i;

/** Characters at the end of an output that are read. */
const MOST = 20_000;
/** Lines of a program that did nothing but fail. */
const FEW_LINES = 12;

/**
 * The trouble that words tell of. Pure.
 *
 * @param text of an error, or all that a program wrote.
 * @param options.isError the program failed, or these are the words of an error. Else only a few
 *   lines that begin as trouble do count: an agent may write about rate limits.
 */
export function troubleIn(
  text: string,
  { isError, now }: { readonly isError: boolean; readonly now: number },
): AgentTrouble | undefined {
  const lines = text
    .slice(-MOST)
    .split("\n")
    .map((line) => line.trim())
    .filter(Boolean);
  if (!isError && lines.length > FEW_LINES) return undefined;
  const candidates = isError ? lines : lines.filter((line) => BEGINS_AS_TROUBLE.test(line));
  const limited = lastOf(candidates, RATE_LIMIT);
  if (limited !== undefined) {
    const until = untilIn(limited, now) ?? untilIn(lines.join(" "), now);
    return { kind: "rate-limit", until, line: limited.slice(0, 300) };
  }
  const login = lastOf(candidates, LOGIN);
  return login === undefined ? undefined : { kind: "login", line: login.slice(0, 300) };
}

function lastOf(lines: readonly string[], patterns: readonly RegExp[]): string | undefined {
  return lines.findLast((line) => patterns.some((pattern) => pattern.test(line)));
}

const UNITS: Readonly<Record<string, number>> = {
  s: 1_000,
  sec: 1_000,
  second: 1_000,
  m: 60_000,
  min: 60_000,
  minute: 60_000,
  h: 3_600_000,
  hour: 3_600_000,
  d: 86_400_000,
  day: 86_400_000,
};
const FOR =
  /(?:try again|retry(?:ing)?|reset\w*|wait)\D{0,20}?((?:\d+(?:\.\d+)?\s*(?:d(?:ays?)?|h(?:ours?)?|m(?:in(?:utes?)?)?|s(?:ec(?:onds?)?)?)\b[\s,and]*)+)/i;
const PART = /(\d+(?:\.\d+)?)\s*(d(?:ays?)?|h(?:ours?)?|m(?:in(?:utes?)?)?|s(?:ec(?:onds?)?)?)\b/gi;

/** The moment that a text names: `|1767225600`, `retry-after: 30`, `try again in 3 h 5 min`. Pure. */
function untilIn(text: string, now: number): number | undefined {
  const epoch = /\|(\d{10})\b/.exec(text)?.[1];
  if (epoch !== undefined) return soon(Number(epoch) * 1_000, now);
  const seconds = /retry[-_ ]after["']?\s*[:=]?\s*(\d{1,6})\b(?!\s*(?:m|h|d))/i.exec(text)?.[1];
  if (seconds !== undefined) return soon(now + Number(seconds) * 1_000, now);
  const span = FOR.exec(text)?.[1];
  if (span === undefined) return undefined;
  const ms = [...span.matchAll(PART)].reduce(
    (sum, [, amount, unit]) => sum + Number(amount) * unitMs(unit!),
    0,
  );
  return soon(now + ms, now);
}

function unitMs(unit: string): number {
  const word = unit.toLowerCase().replace(/s$/, "") || "s";
  return UNITS[word] ?? UNITS[word[0]!]!;
}

/** What lies behind, or further than a week, is no promise to count on. */
function soon(at: number, now: number): number | undefined {
  return at > now && at - now < 7 * 86_400_000 ? at : undefined;
}
