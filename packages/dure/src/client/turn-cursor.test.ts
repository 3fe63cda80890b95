import fc from "fast-check";
import { expect, test } from "vitest";
import { admit, lastEventId, reconnected, TURN_BEGIN, type TurnCursor } from "./turn-cursor.ts";

interface Wire {
  readonly id: string | undefined;
  readonly event: string;
  readonly data: string;
}

/**
 * Chunks as the server stores them; each is sent live as its tokens, the last one with the chunk's
 * id.
 */
function liveFrames(chunks: readonly (readonly string[])[]): Wire[] {
  return chunks.flatMap((tokens, chunk) =>
    tokens.map((token, index) => ({
      id: index === tokens.length - 1 ? `t.${chunk + 1}` : undefined,
      event: "LLM_TOKEN",
      data: JSON.stringify(token),
    })),
  );
}

/** What a resumed reader gets: whole chunks behind its id. */
function storedFrames(chunks: readonly (readonly string[])[], after: number): Wire[] {
  return chunks.slice(after).map((tokens, index) => ({
    id: `t.${after + index + 1}`,
    event: "LLM_TOKEN",
    data: JSON.stringify(tokens.join("")),
  }));
}

function read(cursor: TurnCursor, frames: readonly Wire[]): { cursor: TurnCursor; text: string } {
  let text = "";
  let now = cursor;
  for (const message of frames) {
    const admitted = admit(now, message);
    now = admitted.cursor;
    if (admitted.frame?.type === "LLM_TOKEN") text += admitted.frame.data;
  }
  return { cursor: now, text };
}

test("text is read once wherever the connections are cut", () => {
  const token = fc.string({ minLength: 1, maxLength: 4 });
  const chunks = fc.array(fc.array(token, { minLength: 1, maxLength: 5 }), {
    minLength: 1,
    maxLength: 6,
  });
  fc.assert(
    fc.property(
      chunks,
      fc.array(fc.record({ frames: fc.nat(8), live: fc.boolean() }), { maxLength: 5 }),
      (stored, cuts) => {
        let cursor = TURN_BEGIN;
        let text = "";
        for (const { frames, live } of [...cuts, { frames: 1000, live: true }]) {
          cursor = reconnected(cursor);
          const after = Number(lastEventId(cursor)?.slice(2) ?? 0);
          const source = live
            ? liveFrames(stored.slice(after)).map((frame) => shift(frame, after))
            : storedFrames(stored, after);
          const part = read(cursor, source.slice(0, frames));
          cursor = part.cursor;
          text += part.text;
        }

        expect(text).toBe(stored.flat().join(""));
      },
    ),
  );
});

test("a restart after the cut is not mistaken for text that was already seen", () => {
  const seen = read({ ...TURN_BEGIN, turnId: "t", seq: 1 }, [
    { id: undefined, event: "LLM_TOKEN", data: '"abc"' },
  ]);

  const restart = {
    id: "t.2",
    event: "AGENT_START",
    data: '{"agent":"a","label":"l","restart":true}',
  };
  const after = read(reconnected(seen.cursor), [
    restart,
    { id: undefined, event: "LLM_TOKEN", data: '"xyz"' },
  ]);

  expect(after.text).toBe("xyz");
});

test("an event that was already read, and one of an unknown type, change nothing", () => {
  const cursor = { ...TURN_BEGIN, turnId: "t", seq: 7 };

  expect(admit(cursor, { id: "t.7", event: "DONE", data: "{}" })).toEqual({ cursor });
  expect(admit(cursor, { id: "t.8", event: "NEWER_THAN_US", data: "{}" })).toEqual({ cursor });
});

function shift(frame: Wire, by: number): Wire {
  return frame.id === undefined ? frame : { ...frame, id: `t.${Number(frame.id.slice(2)) + by}` };
}
