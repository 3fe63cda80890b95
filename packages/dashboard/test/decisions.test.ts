import type { SlotInfo, StageMachine } from "dure/client";
import { describe, expect, test } from "vitest";
import { slotChanges, slotFields } from "../src/panel/slots.ts";
import { layoutStages } from "../src/panel/stage-layout.ts";
import { spanOf } from "../src/when.ts";

const TRANSFER: StageMachine = {
  initial: "INIT",
  terminal: ["EXECUTED", "FAILED", "CANCELLED", "UNSUPPORTED"],
  transitions: [
    ["INIT", "FILLING"], ["INIT", "READY"], ["FILLING", "READY"], ["READY", "FILLING"], ["READY", "CONFIRMED"],
    ["FILLING", "CANCELLED"], ["READY", "CANCELLED"], ["FILLING", "UNSUPPORTED"], ["CONFIRMED", "EXECUTED"], ["CONFIRMED", "FAILED"], ["EXECUTED", "INIT"],
  ],
};

describe("the drawing of the stages", () => {
  test("puts the way through on the left in its order and the ends on the right near their sources", () => {
    const { boxes } = layoutStages(TRANSFER);

    const left = boxes.filter((box) => !box.terminal).toSorted((a, b) => a.y - b.y);
    const right = boxes.filter((box) => box.terminal).toSorted((a, b) => a.y - b.y);
    expect(left.map((box) => box.stage)).toEqual(["INIT", "FILLING", "READY", "CONFIRMED"]);
    expect(right.map((box) => box.stage)).toEqual(["UNSUPPORTED", "CANCELLED", "EXECUTED", "FAILED"]);
    expect(Math.max(...left.map((box) => box.x + box.width))).toBeLessThan(Math.min(...right.map((box) => box.x)));
  });

  test("draws every change but the reset, and marks the one that goes back", () => {
    const { arrows } = layoutStages(TRANSFER);

    expect(arrows).toHaveLength(TRANSFER.transitions.length - 1);
    expect(arrows.filter((arrow) => arrow.back).map(({ from, to }) => [from, to])).toEqual([["READY", "FILLING"]]);
  });

  test("holds with no ends, with a loop and with a stage that nothing leads to", () => {
    const { boxes, arrows } = layoutStages({ initial: "A", terminal: [], transitions: [["A", "B"], ["B", "A"], ["LOST", "B"]] });

    expect(boxes.map((box) => box.stage).toSorted()).toEqual(["A", "B", "LOST"]);
    expect(arrows).toHaveLength(3);
  });
});

describe("the slot card", () => {
  const slots: SlotInfo[] = [
    { name: "target", label: "받는 분", required: true, type: "text" },
    { name: "amount", label: "금액", required: true, type: "integer" },
  ];
  const fields = slotFields(slots, { slots: { target: "엄마", amount: 50_000 }, meta: { slot_errors: { amount: "너무 커요" } } });

  test("shows what the state holds and what is wrong with it", () => {
    expect(fields.map(({ value, error }) => [value, error])).toEqual([["엄마", undefined], ["50000", "너무 커요"]]);
  });

  test("sends what was changed and nothing else, in the slot's type", () => {
    expect(slotChanges(fields, { target: "엄마", amount: "70,000" })).toEqual({ amount: 70_000 });
    expect(slotChanges(fields, { target: "" })).toEqual({ target: null });
    expect(slotChanges(fields, { amount: "오만원" })).toEqual({ amount: "오만원" });
  });
});

test("a span is told in the unit in which it is read", () => {
  expect([840, 2_140, 185_000].map(spanOf)).toEqual(["840 ms", "2.1 s", "3 m 05 s"]);
});
