/** What a server allows unless its team says otherwise. One table, so that what `dure doctor` prints is what holds. */
export const SERVER_LIMITS = {
  /** Bytes of UTF-8 in one message. Source: docs/spec/conversation §6. */
  messageBytes: 64 * 1024,
  /** Requests per minute of one address that is not this machine's. Source: our choice. */
  perAddress: 1_200,
  /** Requests per minute of this machine's own addresses. Source: our choice: a brake for a runaway loop, not for a benchmark. */
  perLoopback: 600_000,
  /** Tries to log in per minute and address. Source: our choice. */
  logins: 30,
  /** How long a closing server waits for answers under way, milliseconds. Source: our choice. */
  drainMs: 10_000,
} as const;

/** Bytes of a body beside its message: slots, ids, quoting. Source: our choice. */
const BESIDE_MESSAGE_BYTES = 64 * 1024;
/** JSON may write one byte of text as `\u0041`. */
const BYTES_PER_ESCAPE = 6;

/** Bytes of the largest body that may hold a message of so many bytes, however its JSON is spelt. Pure. */
export function bodyBytesFor(messageBytes: number): number {
  return messageBytes * BYTES_PER_ESCAPE + BESIDE_MESSAGE_BYTES;
}
