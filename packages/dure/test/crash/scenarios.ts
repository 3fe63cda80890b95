import { expect } from "vitest";
import { expectTransferred } from "./checks.ts";
import type { Scenario } from "./kill-row.ts";
import { within } from "./server-process.ts";

/**
 * Of this test's own service: understands, fills slots, books, words a receipt, sends a hook, all
 * in one turn.
 */
export const ALL_AT_ONCE: Scenario = {
  name: "all in one",
  begin: async () => ({ text: "홍길동에게 5만원 바로 보내줘", key: "all" }),
  calls: { intent: 1, slots: 1, receipt: 1 },
  hooks: 1,
  bookings: 1,
  expectEnd: expectTransferred,
};

/** Of the example `transfer`: the turn that reads recipient and amount and asks for a yes. */
export const FILLING: Scenario = {
  name: "transfer, filling",
  begin: async () => ({ text: "홍길동에게 5만원 보내줘", key: "fill", service: "transfer" }),
  calls: { intent: 1, slots: 1 },
  hooks: 0,
  bookings: 0,
  async expectEnd(_world, _session, _turn, done) {
    expect(done).toMatchObject({
      next_action: "CONFIRM",
      ui_hint: { confirm_id: expect.any(String) as string },
      state_snapshot: { stage: "READY", slots: HONG },
    });
    expect(done).not.toHaveProperty("error");
  },
};

/** Of the example `transfer`: the yes, the booking, the receipt; no model is asked. */
export const CONFIRMING: Scenario = {
  name: "transfer, confirming",
  async begin(world, session, server) {
    const fill = await FILLING.begin(world, session, server);
    const asked = await within(
      world.send({ session, ...fill }, () => server.url).done,
      "nothing was asked",
      () => server.log,
    );
    return {
      text: "확인",
      key: "confirm",
      service: "transfer",
      confirmId: (asked["ui_hint"] as { confirm_id: string }).confirm_id,
    };
  },
  calls: {},
  hooks: 0,
  bookings: 1,
  async expectEnd(world, _session, turn, done) {
    expect(done).toMatchObject({
      next_action: "DONE",
      receipt: { status: "booked", ...HONG },
      state_snapshot: { stage: "EXECUTED" },
    });
    expect(done).not.toHaveProperty("error");
    expect(await world.completedOf(turn)).toEqual(["EXECUTED"]);
  },
};

const HONG = { target: "홍길동", amount: 50_000 };
