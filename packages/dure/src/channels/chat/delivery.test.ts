import { expect, test } from "vitest";
import { silentLogger } from "../../kernel/logger.ts";
import { TestClock } from "../../kernel/test-clock.ts";
import { Deliveries } from "./delivery.ts";
import { MemoryState } from "./memory-state.ts";
import { TestChat } from "./test-chat-adapter.ts";

/** An adapter whose requests end when they are told to. */
function waiting(): {
  clock: TestClock;
  deliveries: Deliveries;
  take: () => Promise<Response>;
  end: () => void;
} {
  const clock = new TestClock();
  const deliveries = new Deliveries({ clock, logger: silentLogger, account: "ruda" });
  const { promise: ended, resolve: end } = Promise.withResolvers<void>();
  const adapter = new TestChat().adapter("bot1", "ruda_bot");
  adapter.handleWebhook = async (_request, options) => {
    options?.waitUntil?.(ended);
    return new Response("taken");
  };
  const state = new MemoryState(clock);
  const take = (): Promise<Response> =>
    deliveries.take(adapter, new Request("https://dure.example/"), state);

  return { clock, deliveries, take, end };
}

test("a request that is not stored in eight seconds is asked for again", async () => {
  const { clock, take } = waiting();

  const answer = take();
  await clock.pass(8_001);

  expect((await answer).status).toBe(503);
});

test("a hundred requests are stored at once, and the next ones are told to come again", async () => {
  const { take, end } = waiting();

  const answers = Array.from({ length: 102 }, take);
  end();
  const statuses = (await Promise.all(answers)).map(({ status }) => status);

  expect(statuses.filter((status) => status === 200)).toHaveLength(100);
  expect(statuses.slice(100)).toEqual([503, 503]);
});

test("what fails outside of a request is a line of the log, unless it is repeated", async () => {
  const { deliveries } = waiting();
  const failing = (): Promise<void> => Promise.reject(new Error("the store is away"));
  const waitUntil = undefined;

  await deliveries.keep(failing(), { isRepeated: false, waitUntil });
  await expect(deliveries.keep(failing(), { isRepeated: true, waitUntil })).rejects.toThrow(
    "the store is away",
  );
});
