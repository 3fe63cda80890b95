import type { OutgoingHttpHeaders } from "node:http";
import type { FastifyReply, FastifyRequest } from "fastify";
import { messageOf } from "../kernel/errors.ts";
import { endWhenRevoked } from "./guard.ts";
import type { ServerParts } from "./server.ts";
import type { SseStream } from "./sse.ts";

/** An answer that is a stream of events. */
export interface StreamAnswer {
  /** What is streamed, for the log: `a job`. */
  readonly what: string;
  /** Sent at once, so that the reader knows that it is connected. */
  readonly firstFrame: string;
  /** Said when it ends before its time. Default: a hint to come back. */
  readonly farewell?: string | undefined;
  readonly headers?: OutgoingHttpHeaders;
  /** Further fields of a line of the log. */
  readonly fields?: Readonly<Record<string, string>>;
  /** Sends all there is; resolves at its end or at the reader's. */
  readonly send: (stream: SseStream) => Promise<void>;
}

/**
 * Answers a request with a stream. A stream that breaks ends with a hint to come back; one whose
 * token is revoked ends.
 */
export async function answerWithStream(
  parts: ServerParts,
  request: FastifyRequest,
  reply: FastifyReply,
  answer: StreamAnswer,
): Promise<void> {
  const { what, firstFrame, farewell, send } = answer;
  const fields = { request: request.id, ...answer.fields };

  reply.hijack();
  const headers = { ...(reply.getHeaders() as OutgoingHttpHeaders), ...answer.headers };
  const stream = parts.streams.open(reply.raw, headers, firstFrame, farewell);
  const cancel = endWhenRevoked(parts, request, stream);

  try {
    await send(stream);
    stream.end();
  } catch (error) {
    if (!stream.ended) {
      parts.logger.warn(
        { ...fields, error: messageOf(error) },
        `stream of ${what} broke; its reader is asked to come back`,
      );
    }
    stream.endEarly();
  } finally {
    cancel();
  }

  if (stream.wasCut) {
    parts.logger.warn(
      fields,
      `reader of ${what} was cut off because it did not read; it can resume`,
    );
  }
}

/** Writes frames to one reader until their end or the reader's. */
export async function writeFrames<Item>(
  stream: SseStream,
  items: AsyncIterable<Item>,
  frameOf: (item: Item) => string | Buffer | undefined | Promise<string | Buffer | undefined>,
): Promise<void> {
  for await (const item of items) {
    if (stream.ended) break;
    const frame = await frameOf(item);
    if (frame !== undefined) stream.write(frame);
    if (stream.isFull) await stream.roomAgain();
  }
}
