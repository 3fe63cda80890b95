import { expect, test } from "vitest";
import { eventually } from "../../test/until.ts";
import { StateTeller } from "./state-teller.ts";
import { RecordingPort } from "./test-port.ts";

const RUDA = { id: "ruda", agent: "ruda", displayName: "루다" };

function aTeller(): { port: RecordingPort; teller: StateTeller } {
  const port = new RecordingPort({ readSince: async () => [] });
  return { port, teller: new StateTeller(port) };
}

test("a state is told after what it promises is stored", async () => {
  const { port, teller } = aTeller();
  const stored = Promise.withResolvers<void>();
  teller.tell(RUDA, "starting");
  await teller.settled();

  teller.tell(RUDA, "ready", undefined, stored.promise);
  for (let count = 0; count < 10; count++) await Promise.resolve();
  expect(port.stateOf("ruda")).toBe("starting");
  stored.resolve();

  await eventually(() => expect(port.stateOf("ruda")).toBe("ready"));
});

test("a state that was passed while it waited is not told", async () => {
  const { port, teller } = aTeller();
  const stored = Promise.withResolvers<void>();
  teller.tell(RUDA, "ready", undefined, stored.promise);

  teller.tell(RUDA, "reconnecting");
  stored.resolve();
  await teller.settled();

  expect(port.states.map(({ state }) => state)).toEqual(["reconnecting"]);
});
