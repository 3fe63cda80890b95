import { once } from "node:events";
import { connect } from "node:net";
import { expect, test } from "vitest";
import { systemClock, type Clock } from "../kernel/clock.ts";
import { SuspendDetector } from "./suspend-detector.ts";
import { startTestServer } from "./test-server.ts";

/**
 * The machine's clock, whose monotonic time can be moved on, as it is for a process that was
 * stopped.
 */
function movedClock(): Clock & { movedMs: number } {
  const clock = {
    ...systemClock,
    movedMs: 0,
    monotonic: () => systemClock.monotonic() + clock.movedMs,
  };
  return clock;
}

test("a stop of the process is known at once, and forgotten after a while", () => {
  const clock = movedClock();
  const stillness = new SuspendDetector(clock);

  const before = stillness.endedWithin(10_000);
  clock.movedMs = 9_000;
  const after = stillness.endedWithin(10_000);
  clock.movedMs += 1_500;
  const later = stillness.endedWithin(1_000);
  stillness.stop();

  expect([before, after, later]).toEqual([false, true, false]);
});

test.for([
  [0, /^HTTP\/1\.1 408 [\s\S]*REQUEST_TOO_SLOW/],
  [9_000, /^HTTP\/1\.1 503 [\s\S]*retry-after: 1\r\n[\s\S]*SERVER_STOOD_STILL/],
] as const)(
  "a head that is late after a stop of %i ms is answered %s",
  async ([stoppedMs, expected]) => {
    const clock = movedClock();
    await using server = await startTestServer({ clock, limits: { headMs: 1_000 } });
    const socket = connect({ port: server.port, host: "127.0.0.1" });
    let answer = "";
    socket.setEncoding("utf8").on("data", (part: string) => (answer += part));

    socket.write("GET /v1/me HTTP/1.1\r\nHost: localhost\r\n");
    clock.movedMs = stoppedMs;
    await once(socket, "close");

    expect(answer).toMatch(expected);
  },
);
