import type { AnyMessage, Stream } from "@agentclientprotocol/sdk";
import type { Readable, Writable } from "node:stream";
import { isObject } from "../../kernel/json.ts";
import { workerError } from "./worker-error.ts";

/** Bytes of one message. A whole file as text fits. */
const MAX_MESSAGE = 8_000_000;
/**
 * Lines that are no message, before the agent counts as one that does not speak the protocol. Some
 * print a greeting.
 */
const MAX_STRAY = 20;
/** Messages of one try. One per piece of text of the longest try. */
const MAX_MESSAGES = 200_000;

/**
 * The messages of an agent, one JSON text per line. Lines that are none go to `onStray`; too many
 * of them, one that is too long, or too many messages end the stream with an error, also given to
 * `onBroken`.
 */
export function messageStream(
  pipes: { readonly stdin: Writable; readonly stdout: Readable },
  options: {
    readonly onMessage: () => void;
    readonly onStray: (line: string) => void;
    readonly onBroken: (error: Error) => void;
  },
): Stream {
  return {
    readable: new ReadableStream<AnyMessage>({
      async start(controller) {
        try {
          for await (const message of readMessages(pipes.stdout, options)) {
            controller.enqueue(message);
          }
          controller.close();
        } catch (error) {
          const broken = error instanceof Error ? error : new Error(String(error));
          options.onBroken(broken);
          controller.error(broken);
        }
      },
    }),
    writable: new WritableStream<AnyMessage>({
      write: (message) =>
        new Promise((resolve) => {
          // Whether it was taken is told by the agent's answer, or by its end.
          if (!pipes.stdin.writable) return resolve();
          pipes.stdin.write(`${JSON.stringify(message)}\n`, () => resolve());
        }),
    }),
  };
}

async function* readMessages(
  stdout: Readable,
  options: { onMessage: () => void; onStray: (line: string) => void },
): AsyncGenerator<AnyMessage> {
  let parts: Buffer[] = [];
  let size = 0;
  let strays = 0;
  let messages = 0;
  for await (const chunk of stdout as AsyncIterable<Buffer>) {
    let from = 0;
    for (let at = chunk.indexOf(10); at >= 0; at = chunk.indexOf(10, from)) {
      const line = Buffer.concat([...parts, chunk.subarray(from, at)]).toString("utf8");
      parts = [];
      size = 0;
      from = at + 1;
      if (line.trim() === "") continue;
      const message = messageIn(line);
      if (message) {
        if (++messages > MAX_MESSAGES) {
          throw workerError("WORKER_FLOODED", `The agent sent more than ${MAX_MESSAGES} messages.`);
        }
        options.onMessage();
        yield message;
      } else {
        options.onStray(line);
        if (++strays > MAX_STRAY) {
          throw workerError(
            "WORKER_PROTOCOL",
            `The agent wrote ${strays} lines that are no message of the protocol.`,
          );
        }
      }
    }
    size += chunk.length - from;
    if (size > MAX_MESSAGE) {
      throw workerError(
        "WORKER_FLOODED",
        `The agent sent a line of more than ${MAX_MESSAGE} bytes.`,
      );
    }
    parts.push(chunk.subarray(from));
  }
}

function messageIn(line: string): AnyMessage | undefined {
  try {
    const value: unknown = JSON.parse(line);
    return isObject(value) && value["jsonrpc"] === "2.0" ? (value as AnyMessage) : undefined;
  } catch {
    return undefined;
  }
}
