import { FULL } from "../../kernel/test-tiers.ts";
import { expect, onTestFinished, test } from "vitest";
import { Leases, type Lease } from "../../durable/leases.ts";
import { testDatabase } from "../../durable/test-database.ts";
import { systemClock } from "../../kernel/clock.ts";
import { silentLogger } from "../../kernel/logger.ts";
import { boundMs } from "../../kernel/test-bounds.ts";
import { DirectChannel } from "./channel.ts";
import { wordsIn } from "./channel-message.ts";
import { planOf, startTestRuns, type TestRuns } from "../runs/test-runs.ts";
import type { ChannelMessage } from "../../wire/runs.ts";

interface Stage {
  readonly runs: TestRuns;
  readonly run: string;
  /**
   * The channel of a port, as one leader of the run has it; a later leader has a lease of its own.
   */
  readonly channel: (port: string, lease?: Lease) => DirectChannel;
  /** The next leader's: the one before has lost the run. */
  readonly leadAgain: () => Promise<Lease>;
}

/** A run that the test alone leads. */
async function open(): Promise<Stage> {
  const stack = new AsyncDisposableStack();
  onTestFinished(() => stack.disposeAsync());
  const { url } = stack.use(await testDatabase());
  const runs = stack.use(await startTestRuns({ url, build: async () => ({ status: "stopped" }) }));
  await runs.runs.stop();
  const { id: run } = await runs.runs.run(
    { plan: planOf({ a: "", b: "" }), repository: "/r", by: "me" },
    { signal: new AbortController().signal },
  );
  const { database, notifications } = runs;
  const leases = new Leases({
    database,
    lease: runs.lease,
    logger: silentLogger,
    clock: systemClock,
  });
  const leadAgain = (): Promise<Lease> => leases.takeOver(`run:${run}`);
  const first = await leadAgain();
  const channel = (port: string, lease = first): DirectChannel =>
    new DirectChannel({ database, records: runs.runs.records, notifications, lease, run, port });
  return { runs, run, channel, leadAgain };
}

const say = (channel: DirectChannel, key: string, text: string): Promise<number> =>
  channel.send({ key, from: "implementer", to: "tester", type: "query", payload: { text } });
const textOf = (message: ChannelMessage | undefined): string | undefined =>
  message && wordsIn(message.payload);

test("messages are taken in their order, by their receiver alone; sent again they are the same", async () => {
  const { channel } = await open();
  const [ofA, ofB] = [channel("a"), channel("b")];

  const ids = [
    await say(ofA, "1", "one"),
    await say(ofA, "2", "two"),
    await say(ofB, "1", "elsewhere"),
    await say(ofA, "1", "one again"),
  ];

  expect(ids[3]).toBe(ids[0]);
  expect(await ofA.take("implementer")).toBeUndefined();
  const heard: (string | undefined)[] = [];
  for (let message = await ofA.take("tester"); message; message = await ofA.take("tester")) {
    heard.push(textOf(message));
    await ofA.processed(message.id);
  }
  expect(heard).toEqual(["one", "two"]);
  expect(textOf(await ofB.take("tester"))).toBe("elsewhere");
  await expect(
    ofA.send({ key: "3", from: "tester", to: "tester", type: "query", payload: {} }),
  ).rejects.toMatchObject({ code: "CHANNEL_FOREIGN" });
});

test("after the death of a leader only unprocessed messages come again; it writes no more", async () => {
  const { channel, leadAgain } = await open();
  const before = channel("a");
  for (const [key, text] of [
    ["1", "done"],
    ["2", "taken"],
    ["3", "waiting"],
  ] as const) {
    await say(before, key, text);
  }
  await before.processed((await before.take("tester"))!.id);
  expect(textOf(await before.take("tester"))).toBe("taken");

  const after = channel("a", await leadAgain());

  await expect(say(before, "4", "from the grave")).rejects.toThrow();
  await expect(before.take("tester")).rejects.toThrow();
  const { signal } = new AbortController();
  await expect(before.inbox("tester", "query", { signal }).next()).rejects.toThrow();
  const heard: (string | undefined)[] = [];
  const over = new AbortController();
  for await (const message of after.inbox("tester", "query", { signal: over.signal })) {
    heard.push(textOf(message));
    if (heard.length === 2) over.abort();
  }
  expect(heard).toEqual(["taken", "waiting"]);
  expect(await say(after, "3", "waiting")).toBeTypeOf("number");
  expect(await after.take("tester", "query")).toBeUndefined();
});

test(
  "a receiver is woken by what is said, in 99 of 100 times under 50 ms",
  { ...FULL, timeout: 60_000 },
  async () => {
    const { channel } = await open();
    const direct = channel("a");
    const over = new AbortController();
    const waits: number[] = [];
    let saidAt = 0;
    let isHeard = Promise.withResolvers<void>();
    const listening = (async () => {
      for await (const _message of direct.inbox("tester", "query", { signal: over.signal })) {
        waits.push(performance.now() - saidAt);
        isHeard.resolve();
      }
    })();

    for (let number = 0; number < 100; number++) {
      isHeard = Promise.withResolvers();
      saidAt = performance.now();
      await say(direct, `key ${number}`, "Is it in cents?");
      await isHeard.promise;
    }
    over.abort();
    await listening;

    expect(waits).toHaveLength(100);
    expect(waits.toSorted((one, other) => one - other)[98]).toBeLessThan(boundMs(50));
  },
);

test("what a person has said is there for its member at once, until it has read it", async () => {
  const { runs, run, channel } = await open();
  const member = channel("a");
  const said = { to: "implementer", text: "The colour is teal." } as const;

  await runs.runs.commands.say(run, "a", said, { by: "me" });
  const [letter, ...others] = await member.letters("implementer");

  expect([textOf(letter), letter?.deliveredAt, others]).toEqual([said.text, null, []]);
  expect(await member.letters("tester")).toEqual([]);
  await member.processed(letter!.id);
  expect(await member.letters("implementer")).toEqual([]);
});
