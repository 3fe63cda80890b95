import { createParser, type EventSourceMessage } from "eventsource-parser";
import type { Clock } from "../kernel/clock.ts";
import { DureError, messageOf } from "../kernel/errors.ts";
import { onlyDefined } from "../kernel/json.ts";

export interface SseOptions {
  readonly clock: Clock;
  /** A body without a byte (comments count) for this long is given up, milliseconds. */
  readonly silenceMs: number;
  /** The server asked to wait this long before the next connection, milliseconds. */
  readonly onRetry?: (ms: number) => void;
  /** A place without an event: what was read up to here is behind it. */
  readonly onId?: ((id: string) => void) | undefined;
}

/** One frame may hold a whole `DONE`; anything longer is not dure's. Characters. */
const MAX_FRAME = 8 * 1024 * 1024;

/**
 * The frames of one SSE response, as they come. Returns when the body ends, throws when it is cut
 * or silent; the body is released in every case.
 */
export async function* readFrames(
  response: Response,
  options: SseOptions,
): AsyncGenerator<EventSourceMessage> {
  if (response.body === null) return;

  const reader = response.body.getReader();
  const ready: EventSourceMessage[] = [];

  const parser = createParser({
    onEvent: (message) => ready.push(message),
    maxBufferSize: MAX_FRAME,
    ...onlyDefined({ onRetry: options.onRetry, onId: options.onId }),
  });

  const decoder = new TextDecoder();

  try {
    while (true) {
      const part = await readWithin(reader, options);
      if (part.done) return;
      parser.feed(decoder.decode(part.value, { stream: true }));
      while (ready.length > 0) yield ready.shift()!;
    }
  } finally {
    // The connection may be gone already: nothing is left to release.
    await reader.cancel().catch(() => undefined);
  }
}

/** The JSON behind `data:`. */
export function frameData(frame: EventSourceMessage): unknown {
  try {
    return JSON.parse(frame.data);
  } catch (cause) {
    throw new DureError(
      "FRAME_UNREADABLE",
      `The ${frame.event ?? "unnamed"} frame ${frame.id ?? "without id"} is not JSON: ${messageOf(cause)}.`,
      {
        hint: "Check that no proxy between here and the server rewrites event streams.",
        cause,
      },
    );
  }
}

async function readWithin(
  reader: ReadableStreamDefaultReader<Uint8Array>,
  { clock, silenceMs }: SseOptions,
): Promise<ReadableStreamReadResult<Uint8Array>> {
  let cancel: () => void = () => undefined;
  const silence = new Promise<never>((_, reject) => {
    cancel = clock.after(silenceMs, () => reject(new Error(`no byte for ${silenceMs} ms`)));
  });

  try {
    return await Promise.race([reader.read(), silence]);
  } finally {
    cancel();
  }
}
