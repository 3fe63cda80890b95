import { isObject } from "../kernel/json.ts";
import { fromWire } from "../kernel/wire.ts";
import {
  overConnections,
  type Connection,
  type ConnectionParts,
  type Next,
} from "./connections.ts";
import { frameData } from "./sse.ts";

export type FollowOptions = Pick<ConnectionParts, "onConnection" | "signal">;
export type FollowParts = ConnectionParts;

/** What a stream of something with an end brings. */
interface StreamKind<News> {
  /** A frame in the words of the client: how the thing stands, or an event of it. */
  readonly read: (event: string | undefined, data: unknown) => News;
  /** Whether it has ended with this. */
  readonly isEnd: (news: News) => boolean;
  /**
   * `at-once`: nothing can follow an end. `by-server`: it may be taken up again, so the server is
   * the one who hangs up.
   */
  readonly ends: "at-once" | "by-server";
}

/**
 * A thing as it stands, then its events without gap or duplicate, until it has ended, over any
 * number of connections. Where events are gone for good, the thing as it stands comes again. Throws
 * a refusal; everything else is another connection.
 */
export async function* followStream<News>(
  parts: FollowParts,
  kind: StreamKind<News>,
): AsyncGenerator<News, void> {
  let position: string | undefined;
  const read = async function* ({
    isEmpty,
    frames,
    askedMs,
  }: Connection): AsyncGenerator<News, Next> {
    if (isEmpty) return "nothing";

    let isOver = false;

    for await (const frame of frames) {
      if (frame.event === "reset") {
        position = undefined;
        return "another";
      }
      if (frame.id === position) continue;
      position = frame.id;
      const data = frameData(frame);
      if (!isObject(data)) continue;
      const news = kind.read(frame.event, fromWire(data));
      isOver = kind.isEnd(news);
      yield news;
      if (isOver && kind.ends === "at-once") return "nothing";
    }

    // A server that closes says when to come back; one that has told the end does not.
    return isOver && askedMs() === 0 ? "nothing" : "another";
  };

  yield* overConnections(parts, { position: () => position, read });
}
