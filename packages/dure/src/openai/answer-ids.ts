const ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";
const KINDS = ["chatcmpl", "resp", "msg", "fc", "in"] as const;

/** An id of OpenAI's kind for a turn. Pure. */
export function idFor(kind: (typeof KINDS)[number], turnId: string): string {
  return `${kind}_${turnId.replace(/^turn_/, "")}`;
}

/** The turn that has such an id. Pure. */
export function turnOf(id: string): string {
  return id.replace(/^(chatcmpl|resp|msg)_/, "turn_");
}

/**
 * When a turn was accepted, seconds since the epoch: the same for the same key. Pure. Its id begins
 * with the time; see kernel/ids.ts.
 */
export function acceptedAt(turnId: string): number {
  const digits = Array.from(turnId.replace(/^turn_/, "").slice(0, 10));
  const at = digits.reduce((time, digit) => time * 32 + ALPHABET.indexOf(digit), 0);

  return Math.floor(at / 1_000);
}
