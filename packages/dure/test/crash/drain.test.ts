import { expect, test } from "vitest";
import { FULL } from "../../src/kernel/test-tiers.ts";
import { expectTransferred, expectWholeStream } from "./checks.ts";
import { within } from "./server-process.ts";
import { World } from "./world.ts";

/**
 * A rolling upgrade: the old process is asked to end while a turn runs, the new one stands beside
 * it. Source: docs/spec/platform §3, §8.
 */
const TEXT = "홍길동에게 5만원 바로 보내줘";

test(
  "a server that is asked to end lets the turn end that runs there, and its reader gets the whole of it",
  { ...FULL, timeout: 180_000 },
  async () => {
    await using world = await World.start();
    await using old = world.serve();
    await using next = world.serve();
    await Promise.all([old.url, next.url]);
    let url = old.url;
    world.bank.addFaults({ kind: "delay", when: "before", ms: 1_000 });
    const session = world.newSession();
    const reader = world.send({ session, text: TEXT, key: "all" }, () => url);
    await world.until(
      "the bank was not called",
      () => world.bank.faults().every(({ kind }) => kind !== "delay"),
      () => old.log,
    );

    old.signal("SIGTERM");
    url = next.url;
    const done = await within(reader.done, "the turn did not end", () => [...old.log, ...next.log]);

    await expectTransferred(world, session, reader.turnId!, done);
    expect(world.provider.counts).toEqual({ intent: 1, slots: 1, receipt: 1 }); // no agent began anew
    expect(await old.exit).toBe(0);
    expect(old.log.join("\n")).not.toContain("did not stop in good order");
    await expectWholeStream(world, reader);
  },
);

test(
  "a turn longer than the drain goes on in the other process, and its streams go on there",
  { ...FULL, timeout: 180_000 },
  async () => {
    await using world = await World.start();
    await using old = world.serve("plain", { drain: "1s" });
    await using next = world.serve();
    await Promise.all([old.url, next.url]);
    let url = old.url;
    const session = world.newSession();
    const held = world.provider.hold("slots", "before");
    const reader = world.send({ session, text: TEXT, key: "all" }, () => url);
    await within(held, "the slots were not asked for", () => old.log);
    const watching = await fetch(`${await old.url}/v1/agent/turns/${reader.turnId!}/stream`);

    old.signal("SIGTERM");
    url = next.url;
    const watched = await within(watching.text(), "the stream did not end", () => old.log);
    const done = await within(reader.done, "the other process did not end the turn", () => [
      ...old.log,
      ...next.log,
    ]);

    expect(watched).toMatch(/^retry: \d+$/m);
    await expectTransferred(world, session, reader.turnId!, done);
    // Only the call that was cut off is made again.
    expect(world.provider.counts).toEqual({ intent: 1, slots: 2, receipt: 1 });
    expect(await old.exit).toBe(0);
    await expectWholeStream(world, reader);
    expect(await world.turnsOf(session)).toEqual([{ id: reader.turnId, status: "done" }]);
  },
);
