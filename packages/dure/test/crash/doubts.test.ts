import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { FULL } from "../../src/kernel/test-tiers.ts";
import { within, type ServerProcess } from "./server-process.ts";
import { World } from "./world.ts";

/**
 * What goes away while a form waits for the answer to a doubt, and while that answer comes. After it
 * the doubt stands, or its answer has counted once, and the yes behind it pays once as shown.
 */
let world: World;
let server: ServerProcess;

beforeAll(async () => {
  world = await World.start();
}, 120_000);

/** One that has left, because the machine stood still, fails no other test. */
beforeEach(async () => {
  await world.reset();
  server = await world.running(server);
}, 120_000);

afterAll(async () => world?.[Symbol.asyncDispose](), 120_000);

const CHANGE = "정하준님으로 바꾸기";

interface Asked {
  readonly message: string;
  readonly next_action: string;
  readonly ui_hint: { readonly buttons: readonly string[]; readonly confirm_id: string };
  readonly state_snapshot: { readonly slots: object };
}

interface Saying {
  readonly text: string;
  readonly confirmId?: string | undefined;
}

/** Says it at the server that runs, and follows its turn to wherever it goes on. */
function say(session: string, { text, confirmId }: Saying) {
  said += 1;
  const message = { session, text, key: `said-${said}`, service: "transfer" };
  const sent = confirmId === undefined ? message : { ...message, confirmId };
  const reader = world.send(sent, () => server.url);
  const done = within(reader.done, `“${text}” was not answered`, () => server.log);
  done.catch(() => {}); // it is awaited later
  return { reader, done: done as Promise<unknown> as Promise<Asked> };
}
let said = 0;

async function doubted(session: string): Promise<Asked> {
  await say(session, { text: "홍길동에게 5만원 보내줘" }).done;
  const asked = await say(session, { text: "정하준" }).done;
  expect(asked.ui_hint.buttons[0]).toBe(CHANGE);
  return asked;
}

async function restart(): Promise<void> {
  await server.kill();
  server = world.serve();
  await server.url;
}

/** The answer has counted: said again it is old, and the yes pays once what was shown. */
async function expectPaidOnce(session: string, doubt: Asked, asked: Asked): Promise<void> {
  expect(asked).toMatchObject({
    next_action: "CONFIRM",
    state_snapshot: { slots: { target: "정하준", amount: 50_000 } },
  });
  const { confirm_id: confirmId } = doubt.ui_hint;
  const old = await say(session, { text: CHANGE, confirmId }).done;
  expect(old.message).toContain(asked.message.split("\n").at(-1));
  expect(world.bookingsOf(session)).toBe(0);

  await say(session, { text: "확인", confirmId: old.ui_hint.confirm_id }).done;
  await say(session, { text: "확인", confirmId: old.ui_hint.confirm_id }).done;

  const mine = world.bank.bookings().filter(({ key }) => key.startsWith(`${session}/`));
  expect(mine).toMatchObject([{ to: "정하준", amount: 50_000 }]);
}

test(
  "killed after a doubt is asked: its button counts at the process that follows",
  { ...FULL, timeout: 120_000 },
  async () => {
    const session = world.newSession();
    const doubt = await doubted(session);

    await restart();
    const { confirm_id: confirmId } = doubt.ui_hint;
    const asked = await say(session, { text: CHANGE, confirmId }).done;

    await expectPaidOnce(session, doubt, asked);
  },
);

test(
  "killed while a doubt is answered: the answer counts once",
  { ...FULL, timeout: 120_000 },
  async () => {
    const session = world.newSession();
    const doubt = await doubted(session);
    world.bank.addFaults({ kind: "delay", when: "before", ms: 30_000, on: "preview", times: 1 });
    const { confirm_id: confirmId } = doubt.ui_hint;
    const { reader, done } = say(session, { text: CHANGE, confirmId });
    await world.until(
      "the bank was not looked at",
      () => world.bank.faults().length === 0,
      () => server.log,
    );

    await restart();
    const asked = await done;

    expect(reader.connections).toBeGreaterThan(0);
    await expectPaidOnce(session, doubt, asked);
  },
);

test.each(["accept_turn", "finish_turn"])(
  "the database goes away behind %s of a doubt's answer: it counts once",
  { ...FULL, timeout: 120_000 },
  async (statement) => {
    const session = world.newSession();
    const doubt = await doubted(session);
    const cut = world.proxy.cut(
      1,
      ({ name }, { from, type }) => name === statement && from === "client" && type === "S",
      { everyLine: true },
    );
    const { confirm_id: confirmId } = doubt.ui_hint;

    const asked = await say(session, { text: CHANGE, confirmId }).done;

    await cut.reached;
    await expectPaidOnce(session, doubt, asked);
  },
);

test(
  "the provider breaks off as other words come to a doubt: killed then, its button still counts",
  { ...FULL, timeout: 120_000 },
  async () => {
    const session = world.newSession();
    const doubt = await doubted(session);
    const held = world.provider.hold("slots", "before");
    const words = say(session, { text: "7만원으로 해줘" });
    await held;

    await restart();
    const changed = await words.done;
    const { confirm_id: confirmId } = doubt.ui_hint;
    const asked = await say(session, { text: CHANGE, confirmId }).done;

    expect(changed.ui_hint).toEqual(doubt.ui_hint);
    expect(asked).toMatchObject({
      next_action: "CONFIRM",
      state_snapshot: { slots: { target: "정하준", amount: 70_000 } },
    });
    expect(world.bookingsOf(session)).toBe(0);
  },
);
