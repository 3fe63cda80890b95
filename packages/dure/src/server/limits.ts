/**
 * What a server allows unless its team says otherwise. `INPUT_TABLE` shows all of it to people;
 * docs/guides/limits.md is that table. A number without another source is measured or chosen in the
 * attack table's test (team/attacks.test.ts).
 */
export const SERVER_LIMITS = {
  /** Bytes of UTF-8 in one message. Source: docs/spec/conversation §6. */
  messageBytes: 64 * 1024,
  /** Requests per minute of one address that is not this machine's. */
  perAddress: 1_200,
  /**
   * Requests per minute of this machine's own addresses: a brake for a runaway loop, not for a
   * benchmark.
   */
  perLoopback: 600_000,
  /** Tries to log in per minute and address. */
  logins: 30,
  /** How long a closing server waits for answers under way, milliseconds. */
  drainMs: 10_000,

  /** Bytes of a request's first line and headers together. Source: Node's own default. */
  headBytes: 16 * 1024,
  /**
   * For the head of a request to come in, from the opening of the connection or the end of the
   * request before, milliseconds.
   */
  headMs: 10_000,
  /**
   * For a whole request to come in, milliseconds; 4 MiB at 70 kB/s. An answer may take as long as
   * it takes.
   */
  requestMs: 60_000,
  /** Between two pieces of a body, milliseconds. */
  bodyIdleMs: 10_000,
  /**
   * A connection without a request, milliseconds: longer than nginx keeps one to its upstream (60
   * s), so that the proxy closes first.
   */
  keepAliveMs: 72_000,

  /** Bytes of a body that holds a plan, or a report of tests. 10,000 ports of 400 bytes. */
  planBytes: 4 * 1024 * 1024,
  /**
   * For reading one plan in its thread, milliseconds. The largest honest plans (10,000 ports) take
   * 2 to 6 s.
   */
  planMs: 10_000,
  /** Levels of arrays and objects in one body. */
  jsonDepth: 32,
  /**
   * Members of all objects and arrays of one body: two lists of 10,000 ports, and what stands
   * beside them.
   */
  jsonValues: 25_000,
  /** Slots of one message. Forms have tens. */
  slots: 256,

  /** Connections that are open, in all. */
  connections: 4_000,
  /**
   * Connections of one address that is not this machine's; of IPv6, of one /64 network. A trusted
   * proxy has no such limit.
   */
  connectionsPerAddress: 250,
  /** Connections of one of this machine's own addresses. */
  connectionsPerLoopback: 2_000,
  /** Streams that are open, in all. */
  streams: 1_000,
  /** Streams to one address that is not this machine's. */
  streamsPerAddress: 100,
  /** Streams to one of this machine's own addresses. */
  streamsPerLoopback: 750,
  /** Streams with one token. */
  streamsPerToken: 200,
  /** Bytes that may wait for one reader before no more is fetched for it. */
  bufferBytes: 64 * 1024,
  /**
   * Bytes that may wait for all readers together; beyond, the reader with most of them is cut off.
   * It can resume.
   */
  streamsBytes: 64 * 1024 * 1024,
  /**
   * A reader that has not emptied its full buffer within this is cut off, milliseconds. It can
   * resume.
   */
  stallMs: 30_000,
} as const;

export type ServerLimitKey = keyof typeof SERVER_LIMITS;

/** Bytes of a body beside its message: slots, ids, quoting. */
const BESIDE_MESSAGE_BYTES = 64 * 1024;
/** JSON may write one byte of text as `\u0041`. */
const BYTES_PER_ESCAPE = 6;

/**
 * Bytes of the largest body that may hold a message of so many bytes, however its JSON is spelt.
 * Pure.
 */
export function bodyBytesFor(messageBytes: number): number {
  return messageBytes * BYTES_PER_ESCAPE + BESIDE_MESSAGE_BYTES;
}
