/** What a provider says to a request that it does not take. */
export interface Refusal {
  readonly status: number;
  readonly body: object;
  readonly headers?: Readonly<Record<string, string>> | undefined;
}

/** JSON as it came over the wire: nothing is known of it. */
export type Wire = Readonly<Record<string, unknown>>;

export function isWire(value: unknown): value is Wire {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

export function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

/** The first problem that one of the rules finds. */
export function firstOf(rules: readonly (() => string | undefined)[]): string | undefined {
  for (const rule of rules) {
    const problem = rule();

    if (problem !== undefined) return problem;
  }

  return undefined;
}

/** Half of a surrogate pair is no UTF-8, and JSON writes it as an escape. */
export function halfProblem(body: Wire): string | undefined {
  return /\\ud[89a-f]/u.test(JSON.stringify(body))
    ? "The request body is not valid JSON: invalid surrogate in string"
    : undefined;
}

/** A value as a word of a message. */
export function wordOf(value: unknown): string {
  if (typeof value === "string") return value;
  return JSON.stringify(value ?? null);
}

/** Bytes of a token, about. */
const TOKEN_BYTES = 4;

/** About how many tokens a request is. */
export function requestTokens({ tools, system, messages }: Wire): number {
  const text = JSON.stringify([tools ?? null, system ?? null, messages ?? null]);
  return Math.ceil(Buffer.byteLength(text) / TOKEN_BYTES);
}
