import { expect, test } from "vitest";
import { escalationFor, TRIGGERS, type TriggerName } from "../plans/ask/triggers.ts";
import { LIFT } from "../rooms/decide/guard-stop.ts";
import { UNSURE_ACTIONS, UNSURE_THREAD_ACTIONS } from "../rooms/out/unsure.ts";
import { inLocale } from "./action-words.ts";

const KOREAN = /[가-힣]/;

const ofPlans = (Object.keys(TRIGGERS) as TriggerName[]).flatMap(
  (trigger) =>
    escalationFor(trigger, {
      tenant: "",
      run: "run_1",
      plan: "login",
      port: "price",
      title: "-",
      hasOrchestrator: true,
    }).suggestedActions,
);
const ofRooms = [LIFT, ...UNSURE_ACTIONS, ...UNSURE_THREAD_ACTIONS];

const own = [...ofRooms, ...ofPlans];
const each = [...new Map(own.map((action) => [action.code, action])).values()];

test.each(each)("the answer $code is Korean or English, never both", (action) => {
  const [korean, english] = [inLocale(action, "ko").label, inLocale(action, "en").label];

  expect(korean).toMatch(KOREAN);
  expect(english).not.toMatch(KOREAN);
  expect(korean).not.toContain(" / ");
});

test("an answer of a tool keeps the label that the tool gave it", () => {
  const action = { value: "blue", label: "The blue one" };

  expect(inLocale(action, "ko")).toEqual(action);
});
