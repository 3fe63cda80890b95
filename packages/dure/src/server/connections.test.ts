import { IncomingMessage, ServerResponse } from "node:http";
import { Socket } from "node:net";
import { expect, test } from "vitest";
import { systemClock } from "../kernel/clock.ts";
import { boundsOf, type GivenLimits } from "./bounds.ts";
import { Connections, type StreamReader } from "./connections.ts";

/** Opens streams under these limits; each gives how to close it, or the code of its refusal. */
function openStreams(limits: GivenLimits) {
  const parts = { limits: boundsOf(limits), clock: systemClock, isProxy: () => false };
  const connections = new Connections(parts);
  return (reader: StreamReader): (() => void) | string => {
    const response = new ServerResponse(new IncomingMessage(new Socket()));
    try {
      connections.openStream(reader, response);
    } catch (error) {
      return (error as { code: string }).code;
    }
    return () => void response.emit("close");
  };
}

const from = (address: string, token?: string): StreamReader => ({ address, token });

test("one token has so many streams, wherever they come from, and another token its own", () => {
  const open = openStreams({ streamsPerToken: 2 });
  const first = open(from("203.0.113.1", "one"));
  open(from("203.0.113.2", "one"));

  expect(open(from("203.0.113.3", "one"))).toBe("STREAMS_PER_TOKEN");
  expect(open(from("203.0.113.3", "two"))).toBeTypeOf("function");
  (first as () => void)();
  expect(open(from("203.0.113.3", "one"))).toBeTypeOf("function");
});

test("one address has so many streams, whatever its tokens, and this machine another number", () => {
  const open = openStreams({ streamsPerAddress: 2, streamsPerLoopback: 3 });
  for (const token of ["one", "two"]) {
    open(from("203.0.113.1", token));
    open(from("127.0.0.1", token));
  }

  expect(open(from("203.0.113.1", "three"))).toBe("STREAMS_PER_ADDRESS");
  expect(open(from("203.0.113.2", "three"))).toBeTypeOf("function");
  expect(open(from("127.0.0.1", "three"))).toBeTypeOf("function");
  expect(open(from("127.0.0.1", "four"))).toBe("STREAMS_PER_ADDRESS");
});

test("the server has so many streams in all, and those that leave make room, once each", () => {
  const open = openStreams({ streams: 2 });
  const first = open(from("203.0.113.1")) as () => void;
  open(from("203.0.113.2"));

  expect(open(from("203.0.113.3"))).toBe("STREAMS_FULL");
  first();
  first();
  expect(open(from("203.0.113.3"))).toBeTypeOf("function");
  expect(open(from("203.0.113.4"))).toBe("STREAMS_FULL");
});
