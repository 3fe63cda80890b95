import { expect, onTestFinished } from "vitest";
import { testDatabase } from "../../src/durable/test-database.ts";
import { chatAgent } from "../../src/engine/agent/agent.ts";
import type { AnyTool } from "../../src/engine/agent/tool.ts";
import type { EngineOptions } from "../../src/engine/engine.ts";
import { defineService, flow, type Service } from "../../src/engine/service/service.ts";
import { startTestEngine } from "../../src/engine/test-engine.ts";
import type { Done } from "../../src/kernel/turn-events.ts";
import { offlineModel } from "../../src/models/offline.ts";
import { bookingTool, OF_THE_DATABASE, REFUSED, type Moment, type Stage } from "./stage.ts";

const SESSION = "table";

function innOf(book: AnyTool): Service {
  const waiter = chatAgent({
    name: "waiter",
    prompt: "Wait.",
    tools: { book },
    card: { policy: { maxAttempts: 1, backoffSec: 0 } },
  });
  return defineService({
    name: "inn",
    agents: { waiter },
    flows: {
      DEFAULT: flow(async (turn) => turn.done({ message: (await turn.agent("waiter", "…")).text })),
    },
  });
}

/** A table is booked when the one who talks has said yes to it. */
export async function approvalStage(
  moment: Moment,
  engine: Partial<EngineOptions>,
): Promise<Stage> {
  const stack = new AsyncDisposableStack();
  onTestFinished(() => stack.disposeAsync());
  const { url } = stack.use(await testDatabase());
  const { book, booked } = bookingTool(() => moment.at("call of a yes"), { by: "person" });
  const model = offlineModel("waiter", async ({ messages }) => {
    const isBooked = messages.at(-1)!.role === "tool";
    if (isBooked) await moment.at("yes");
    if (moment.provider.isAway) return REFUSED;
    return isBooked ? "It is booked." : { toolCalls: [{ name: "book", args: {} }] };
  });
  const t = stack.use(
    await startTestEngine(innOf(book), { on: { url }, offline: [model], engine: { ...engine } }),
  );
  await moment.opened(url);
  const dones: Done[] = [];

  /** Sends a message until it is taken, and waits for its end, as a client does in an outage. */
  const say = async (message: string, key: string): Promise<void> => {
    const ended = async (): Promise<Done | undefined> => {
      try {
        const { turnId } = await t.engine.accept({ session: SESSION, message }, { key });
        const text = "select done from dure.turns where id = $1 and status = 'done'";
        return (await t.database.query<{ done: Done }>({ text }, [turnId]))[0]?.done;
      } catch {
        return undefined; // the database is away
      }
    };
    await expect.poll(ended, { timeout: 100_000 }).toBeDefined();
    dones.push((await ended())!);
  };
  const openQuestions = (): Promise<unknown> =>
    t.database.query({ text: "select title from dure.escalations where status = 'open'" });

  return {
    run: async () => {
      await say("a table, please", "k1");
      await moment.at("open question");
      await say("yes", "k2");
      await moment.isOver;
    },
    assertDone: async () => {
      expect(dones[0]).toMatchObject({ nextAction: "CONFIRM" });
      expect(dones.at(-1)).toMatchObject({ message: "It is booked." });
      await expect.poll(openQuestions).toEqual([]); // that the model was away closes beside the turn
    },
    assertHonest: async () => {
      expect([...booked.values()]).toEqual([1]);
      expect(JSON.stringify(dones)).not.toMatch(OF_THE_DATABASE);
    },
    excuse: async () => dones.at(-1)!.message,
    retry: () => say("yes", "k3"),
  };
}
