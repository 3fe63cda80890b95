// @module-tag slow
import { afterAll, beforeAll, expect, test } from "vitest";
import { expectTransferred, expectWholeStream } from "./checks.ts";
import { within, type ServerProcess } from "./server-process.ts";
import { printTable, type Row } from "./table.ts";
import { World } from "./world.ts";

const rows: Row[] = [];
let world: World;
let first: ServerProcess;
let second: ServerProcess;

beforeAll(async () => {
  world = await World.start();
  first = world.serve();
  second = world.serve();
  await Promise.all([first.url, second.url]);
}, 120_000);

afterAll(async () => {
  await world?.[Symbol.asyncDispose]();
  printTable("Two confirmations under different keys before the first DONE", rows);
}, 120_000);

test.each([
  {
    how: "to one process",
    servers: (): [ServerProcess, ServerProcess] => [first, first],
    kill: false,
  },
  {
    how: "to two processes",
    servers: (): [ServerProcess, ServerProcess] => [first, second],
    kill: false,
  },
  {
    how: "to a process that is killed while it books",
    servers: (): [ServerProcess, ServerProcess] => [first, first],
    kill: true,
  },
])(
  "two confirmations sent $how book once",
  { timeout: 180_000 },
  async ({ how, servers, kill }) => {
    await world.reset();
    world.bank.addFaults({ kind: "ignore_keys", times: "always" });
    const session = world.newSession();
    const [one, two] = servers();
    const question = await within(
      world.send({ session, text: "홍길동에게 5만원 보내줘", key: "ask" }, () => one.url).done,
      "nothing was asked",
      () => one.log,
    );
    expect(question).toMatchObject({ next_action: "CONFIRM", state_snapshot: { stage: "READY" } });
    world.bank.addFaults({ kind: "delay", when: "after", ms: 700 });
    let url = one.url;

    const yes = world.send({ session, text: "네", key: "yes-1" }, () => url);
    await world.until(
      "the bank was not called",
      () => world.bookingsOf(session) === 1,
      () => one.log,
    );
    const yesAgain = world.send({ session, text: "네", key: "yes-2" }, () =>
      two === one ? url : two.url,
    );
    await world.until(
      "the second yes was not accepted",
      () => yesAgain.turnId !== undefined,
      () => two.log,
    );
    if (kill) {
      await one.kill();
      first = world.serve();
      url = first.url;
    }
    const done = await within(yes.done, "the first yes did not end", () => one.log);
    const doneAgain = await within(yesAgain.done, "the second yes did not end", () => two.log);

    await expectTransferred(world, session, yes.turnId!, done);
    expect(doneAgain).toMatchObject({ message: "안녕하세요.", state_snapshot: { stage: "INIT" } });
    expect(yesAgain.turnId).not.toBe(yes.turnId);
    expect((await world.turnsOf(session)).map(({ status }) => status)).toEqual([
      "done",
      "done",
      "done",
    ]);
    const events =
      (await expectWholeStream(world, yes)) + (await expectWholeStream(world, yesAgain));
    rows.push({ sent: how, bookings: world.bookingsOf(session), "events read": events });
  },
);
