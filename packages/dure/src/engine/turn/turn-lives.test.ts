// @module-tag slow
import { EventEmitter, once } from "node:events";
import { expect, test } from "vitest";
import { defineService, flow, type Service } from "../service/service.ts";
import { startTestEngine, type TestEngine } from "../test-engine.ts";

/** How often a turn may lose its process. */

/** More than a turn has that gets no further. */
const DEATHS = 12;

/** A service in which a process dies `DEATHS` times: in one step, or in the next one each time. */
class DeadlyService {
  readonly #deaths = new EventEmitter();
  readonly #goesOn: boolean;
  #count = 0;

  constructor({ goesOn }: { goesOn: boolean }) {
    this.#goesOn = goesOn;
  }

  get service(): Service {
    return defineService({
      name: "deadly",
      agents: {},
      flows: {
        DEFAULT: flow(async (turn) => {
          for (let step = 0; step < DEATHS; step++) {
            await turn.step(`step ${step}`, () => this.#work(step));
          }
          return turn.done({ message: "done" });
        }),
      },
    });
  }

  #work(step: number): Promise<number> | number {
    const isDeath = this.#count < DEATHS && (!this.#goesOn || step === this.#count);
    if (!isDeath) return step;
    this.#count += 1;
    this.#deaths.emit("death");
    return new Promise(() => {});
  }

  nextDeath(): Promise<unknown> {
    return once(this.#deaths, "death");
  }
}

/** The last event of a turn all of whose processes die, as long as it lets them. */
async function endOf(deadly: DeadlyService): Promise<unknown> {
  await using stack = new AsyncDisposableStack();
  let living: TestEngine = stack.use(await startTestEngine(deadly.service));
  const first = living;
  let death = deadly.nextDeath();
  const { turnId } = await living.engine.accept({ session: "s1", message: "go" });
  let end: unknown;
  const ended = endedOf(first, turnId).then((last) => (end = last));
  for (;;) {
    await Promise.race([death, ended]);
    if (end !== undefined) return end;
    living.fence();
    death = deadly.nextDeath();
    const dead = living.processId;
    living = stack.use(await startTestEngine(deadly.service, { on: first }));
    await living.engine.store.release(dead);
    await living.engine.pickUp();
  }
}

async function endedOf({ engine }: TestEngine, turn: string): Promise<unknown> {
  let last: unknown;
  for await (const { event } of engine.read(turn)) last = event;
  return last;
}

test("a turn that ends its process in the same step each time is given up", async () => {
  const end = await endOf(new DeadlyService({ goesOn: false }));

  expect(end).toMatchObject({ type: "DONE", data: { error: { code: "TURN_POISONED" } } });
});

test("a turn that loses a process at each of its steps comes to its end", async () => {
  const end = await endOf(new DeadlyService({ goesOn: true }));

  expect(end).toMatchObject({ type: "DONE", data: { message: "done" } });
});
