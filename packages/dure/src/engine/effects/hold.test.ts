import { expect, test, vi } from "vitest";
import { offlineModel } from "../../models/offline.ts";
import { chatAgent } from "../agent/agent.ts";
import { defineService, flow } from "../service/service.ts";
import { startTestEngine } from "../test-engine.ts";

const helper = chatAgent({ name: "helper", prompt: "Answer briefly." });

/** As of a process that stood still for a while. */
const STALE = { isFresh: false };

test("a process that stood still asks no model for a turn that was given to another meanwhile", async () => {
  const gate = Promise.withResolvers<void>();
  const begun = Promise.withResolvers<void>();
  let calls = 0;
  const model = offlineModel("counted", () => `answer ${++calls}`);
  const patient = defineService({
    name: "patient",
    agents: { helper },
    flows: {
      DEFAULT: flow(async (turn) => {
        begun.resolve();
        await gate.promise;
        return turn.done({ message: (await turn.agent("helper", "…")).text });
      }),
    },
  });
  await using t = await startTestEngine(patient, { offline: [model], engine: { proof: STALE } });
  const turn = t.engine.turn({ session: "s1", message: "hello" });
  const id = await turn.turnId;
  await begun.promise;

  await t.database.query(
    { text: "update dure.turns set holder = 'process_other', epoch = epoch + 2 where id = $1" },
    [id],
  );
  gate.resolve();
  await expect.poll(() => t.engine.running).toBe(0);

  expect(calls).toBe(0);
});

test("a turn that is still held goes on after a pause, at the price of one statement per model call", async () => {
  const chat = defineService({
    name: "chat",
    agents: { helper },
    flows: {
      DEFAULT: flow(async (turn) => turn.done({ message: (await turn.agent("helper", "…")).text })),
    },
  });
  await using t = await startTestEngine(chat, { engine: { proof: STALE } });
  await t.say("warm up");
  const looks = vi.spyOn(t.database, "query");

  const done = await t.engine.turn({ session: "s1", message: "hello", service: "chat" }).done;

  expect(done.error).toBeUndefined();
  expect(looks.mock.calls.filter(([statement]) => statement.name === "turn_held")).toHaveLength(1);
});

test("a memory whose session has gone on since it was read is not folded", async () => {
  const chat = defineService({
    name: "chat",
    agents: { helper },
    flows: {
      DEFAULT: flow(async (turn) => turn.done({ message: (await turn.agent("helper", "…")).text })),
    },
  });
  await using t = await startTestEngine(chat, { engine: { proof: STALE } });
  await t.say("hello", { session: "s1" });
  const [row] = await t.database.query<{ rev: number; incarnation: string }>({
    text: "select memory_rev as rev, incarnation from dure.sessions where id = 's1'",
  });

  expect(await t.engine.store.confirmFold("s1", row!)).toBe(true);
  await t.say("more", { session: "s1" });
  expect(await t.engine.store.confirmFold("s1", row!)).toBe(false);
});
