import { expect, test } from "vitest";
import { Client } from "./client.ts";
import { Random } from "./random.ts";
import { Follower } from "./readers.ts";

/** Answers every request with a stream of these events, and leaves it open. */
class Streams extends Client {
  readonly #ids: readonly string[];

  constructor(ids: readonly string[]) {
    super({
      servers: [],
      token: "",
      journal: { note: () => {} },
      random: new Random(1),
      onViolation: () => {},
      signal: new AbortController().signal,
    });
    this.#ids = ids;
  }

  override async ask<Result>(
    _request: unknown,
    use: (response: Response) => Promise<Result>,
  ): Promise<Result> {
    const text = this.#ids.map((id) => `id: ${id}\nevent: run.end\ndata: {}\n\n`).join("");
    const body = new ReadableStream<Uint8Array>({
      start: (controller) => controller.enqueue(new TextEncoder().encode(text)),
    });
    return use(new Response(body));
  }
}

test("a follower that is past the event it was to read has read it", async () => {
  const follower: Follower = new Follower(new Streams(["1.7.1", "1.8.2"]), "follower-1");
  await follower.follow(() => (follower.last === "1.8.2" ? "1.7.1" : undefined));
  expect(follower.ids).toEqual(["1.7.1", "1.8.2"]);
});
